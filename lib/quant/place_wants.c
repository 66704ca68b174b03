/* Kinds of operators by how they bear integers, and which values may become such. */
#include "graph/match.h"
#include "quant/place_own.h"

const char *const ox_place_heavy[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", NULL};
const char *const ox_place_movers[] = {
    "Reshape", "Flatten", "Squeeze", "Unsqueeze",    "Transpose",    "Slice",    "MaxPool",
    "Gather",  "Split",   "Expand",  "DepthToSpace", "SpaceToDepth", "Identity", NULL};
const char *const ox_place_mixers[] = {
    "Add",       "Mul",    "Concat",  "AveragePool", "GlobalAveragePool",
    "LeakyRelu", "Resize", "Sigmoid", NULL};
const char *const ox_place_clippers[] = {"Relu", "Clip", NULL};

static void want(bool *wanted, const struct ox_value *value)
{
    if (value)
        wanted[value->id] = true;
}

static bool sums_wanted(const struct ox_node *node, const bool *wanted)
{
    if (!ox_is_op(node, "Add") || node->n_inputs != 2 || !node->n_outputs)
        return false;
    return node->inputs[0] && node->inputs[1] && wanted[node->inputs[0]->id] &&
           wanted[node->inputs[1]->id];
}

/* Backwards from products and convolutions, through what may run on integers with them. */
void ox_place_wants(const struct ox_graph *graph, bool *wanted)
{
    for (size_t i = graph->n_nodes; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        bool leads = false;
        for (size_t k = 0; k < node->n_outputs; k++)
            leads |= node->outputs[k] && wanted[node->outputs[k]->id];
        if (!node->n_inputs || !node->n_outputs)
            continue;
        if (ox_is_any_op(node, ox_place_heavy)) {
            want(wanted, node->inputs[0]);
            want(wanted, node->n_inputs > 1 ? node->inputs[1] : NULL);
            want(wanted, node->outputs[0]);
        } else if (leads &&
                   (ox_is_any_op(node, ox_place_movers) || ox_is_any_op(node, ox_place_clippers))) {
            want(wanted, node->inputs[0]);
        } else if (leads && ox_is_any_op(node, ox_place_mixers)) {
            for (size_t k = 0; k < (ox_is_op(node, "Resize") ? 1 : node->n_inputs); k++)
                want(wanted, node->inputs[k]);
        }
    }
    /* What clips the output of one of them takes its place. */
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        if (ox_is_any_op(node, ox_place_clippers) && node->n_inputs && node->inputs[0] &&
            node->n_outputs && wanted[node->inputs[0]->id])
            want(wanted, node->outputs[0]);
        if (sums_wanted(node, wanted))
            want(wanted, node->outputs[0]);
    }
}
