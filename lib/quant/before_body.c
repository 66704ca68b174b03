/* What goes through Transpose, Reshape and their like into a body. onnxruntime 1.31 carries a pair of Q and DQ through them to whatever reads
 * them, and writes beyond the inputs of a node whose body reads them. */
#include "graph/match.h"
#include "quant/before.h"
#include "quant/place.h"

static bool carries(const struct ox_node *node)
{
    return ox_place_ort_moves(node) && node->n_inputs && node->inputs[0] && node->n_outputs &&
           node->outputs[0];
}

enum ox_status ox_quant_before_body(struct ox_quant *q, const struct ox_graph *graph,
                                    const bool *captured, const uint8_t **body,
                                    struct ox_error *err)
{
    uint8_t *before = ox_arena_array(&q->arena, graph->n_values + 1, sizeof *before);
    if (!before)
        return ox_no_memory(err);
    for (size_t i = graph->n_nodes; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        if (carries(node))
            before[node->inputs[0]->id] |=
                captured[node->outputs[0]->id] || before[node->outputs[0]->id];
    }
    *body = before;
    return OX_OK;
}

const char *ox_quant_rows_reason(const struct ox_quant_before *before, const struct ox_graph *graph,
                                 const struct ox_node *gather)
{
    if (ox_value_stored(gather->inputs[0])->dtype == OX_FLOAT16 && ox_graph_opset(graph, "") < 19)
        return "DequantizeLinear takes float16 since opset 19";
    if (ox_quant_is_before(before->body, gather->outputs[0]))
        return "onnxruntime carries DequantizeLinear into the body that reads it, and fails";
    return NULL;
}

/* The Q whose rounding the node reads; NULL. */
static struct ox_node *quantizer_of(const struct ox_node *node)
{
    struct ox_node *dq = node->inputs[0]->producer;
    struct ox_node *quantizer =
        dq && ox_is_op(dq, "DequantizeLinear") && dq->inputs[0] ? dq->inputs[0]->producer : NULL;
    return quantizer && ox_is_op(quantizer, "QuantizeLinear") ? quantizer : NULL;
}

static bool is_unread(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    return !ox_quant_n_uses(uses, value) && !value->is_output && !uses->captured[value->id];
}

enum ox_status ox_place_before_bodies(struct ox_place *place, bool *remove, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    struct ox_quant_uses uses;
    bool any = false;
    for (size_t i = 0; i < place->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        struct ox_node *quantizer = !remove[i] && carries(node) ? quantizer_of(node) : NULL;
        if (!quantizer || !(place->uses.captured[node->outputs[0]->id] ||
                            ox_quant_is_before(place->before.body, node->outputs[0])))
            continue;
        node->inputs[0] = quantizer->inputs[0];
        any = true;
    }
    if (!any)
        return OX_OK;
    OX_TRY(ox_quant_find_uses(place->q, graph, &uses, err));
    for (size_t i = graph->n_nodes; i-- > 0;) {
        struct ox_node *node = graph->nodes[i];
        const struct ox_node *quantizer =
            !remove[i] && ox_is_op(node, "DequantizeLinear") && is_unread(&uses, node->outputs[0])
                ? node->inputs[0]->producer
                : NULL;
        if (!quantizer || !ox_is_op(quantizer, "QuantizeLinear"))
            continue;
        remove[i] = true;
        remove[quantizer->index] |= ox_quant_n_uses(&uses, quantizer->outputs[0]) == 1;
    }
    return OX_OK;
}
