/* onnxruntime 1.31 merges an Add and the LayerNormalization behind it into one operator, which on processors takes five to seven times as
 * long as the two (128 rows of 768: .50 ms, .08). A Sum says the same and is left alone. */
#include "graph/match.h"
#include "quant/quant.h"

/* What a node normalizes, whole or taken apart, where it is what takes the mean away; NULL. */
static struct ox_value *normalized(const struct ox_node *node)
{
    if (!node->n_inputs || !node->inputs[0])
        return NULL;
    if (ox_is_op(node, "LayerNormalization"))
        return node->inputs[0];
    const struct ox_node *mean = ox_is_op(node, "Sub") && node->n_inputs == 2 && node->inputs[1]
                                     ? node->inputs[1]->producer
                                     : NULL;
    return mean && ox_is_op(mean, "ReduceMean") && mean->inputs[0] == node->inputs[0]
               ? node->inputs[0]
               : NULL;
}

enum ox_status ox_quant_lone_norms(struct ox_quant *q, struct ox_graph *graph, struct ox_error *err)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_value *x = normalized(graph->nodes[i]);
        struct ox_node *add = x ? x->producer : NULL;
        if (add && ox_is_op(add, "Add") && add->n_inputs == 2 && !ox_value_stored(add->inputs[0]) &&
            !ox_value_stored(add->inputs[1]) && ox_quant_is_float(ox_quant_dtype(q, x)))
            OX_TRY(ox_quant_make_sum(q, add, err));
    }
    return OX_OK;
}
