/* onnxruntime 1.31 puts channels last between convolutions on integers and takes a cubic Resize along, for which it then has no kernel:
 * it refuses the model. So what a cubic Resize is made of stays in float. */
#include <string.h>

#include "graph/match.h"
#include "quant/place.h"

static bool is_op(const struct ox_node *node, const char *op_type)
{
    return !*node->domain && strcmp(node->op_type, op_type) == 0;
}

static bool is_cubic(const struct ox_node *node)
{
    return is_op(node, "Resize") && strcmp(ox_attr_string(node, "mode", ""), "cubic") == 0;
}

static bool is_end(const struct ox_node *node)
{
    return is_op(node, "Conv") || is_op(node, "ConvTranspose") || is_op(node, "MatMul") ||
           is_op(node, "Gemm");
}

enum ox_status ox_place_before_cubic(struct ox_place *place, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    bool *before = NULL;
    for (size_t i = graph->n_nodes; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        bool leads = is_cubic(node);
        for (size_t k = 0; before && !leads && !is_end(node) && k < node->n_outputs; k++)
            leads = node->outputs[k] && before[node->outputs[k]->id];
        if (leads && !before)
            before = ox_arena_array(&place->q->arena, place->n_marks, sizeof *before);
        if (leads && !before)
            return ox_no_memory(err);
        for (size_t k = 0; leads && k < node->n_inputs; k++) {
            if (node->inputs[k])
                before[node->inputs[k]->id] = true;
        }
    }
    place->before_cubic = before;
    return OX_OK;
}
