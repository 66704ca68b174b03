/* Concat of float16. onnxruntime 1.31 makes its QLinearConcat of any between Q and DQ, which takes scales of float32 alone. It makes none where an
 * input is what came before it was quantized. */
#include "graph/match.h"
#include "quant/place.h"

static struct ox_node *maker(const struct ox_value *value, const char *op_type)
{
    struct ox_node *node = value ? value->producer : NULL;
    return node && ox_is_op(node, op_type) ? node : NULL;
}

static bool is_fused(const struct ox_node *concat)
{
    for (size_t i = 0; i < concat->n_inputs; i++) {
        const struct ox_node *dq = maker(concat->inputs[i], "DequantizeLinear");
        const struct ox_stored *scale = dq ? ox_value_stored(dq->inputs[1]) : NULL;
        if (!scale || scale->dtype != OX_FLOAT16)
            return false;
    }
    return ox_is_op(concat, "Concat");
}

static bool is_read_once(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    return ox_quant_n_uses(uses, value) == 1 && !value->is_output && !uses->captured[value->id];
}

enum ox_status ox_place_half_concats(struct ox_place *place, bool *remove, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(place->q, graph, &uses, err));
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_node *concat = graph->nodes[i];
        bool parted = remove[i] || !is_fused(concat);
        for (size_t k = 0; k < concat->n_inputs && !parted; k++) {
            const struct ox_node *dq = concat->inputs[k]->producer;
            const struct ox_node *quantizer = maker(dq->inputs[0], "QuantizeLinear");
            parted = quantizer != NULL;
            if (!parted)
                continue;
            concat->inputs[k] = quantizer->inputs[0];
            remove[dq->index] |= is_read_once(&uses, dq->outputs[0]);
            remove[quantizer->index] |=
                remove[dq->index] && is_read_once(&uses, quantizer->outputs[0]);
        }
    }
    return OX_OK;
}
