/* onnxruntime has no HardSwish, on integers or otherwise: it puts HardSigmoid and Mul in its place when it loads a model. Between integers that Mul
 * is one on integers where its other factor is such too. */
#include <string.h>

#include "graph/match.h"
#include "quant/place.h"

/* Of all gates, which lie between 0 and 1. */
struct gates {
    struct ox_qparams params;
    struct ox_value *scale, *zero; /* NULL: there was none yet */
};

/* Whether the node is a HardSwish between integers. */
static bool is_between_integers(const struct ox_quant_uses *uses, const struct ox_node *node)
{
    const struct ox_node *from =
        ox_is_op(node, "HardSwish") && node->inputs[0] ? node->inputs[0]->producer : NULL;
    const struct ox_node *to =
        from && ox_is_op(from, "DequantizeLinear") ? from->inputs[0]->producer : NULL;
    const struct ox_value *out = node->n_outputs ? node->outputs[0] : NULL;
    return to && ox_is_op(to, "QuantizeLinear") && !out->is_output && !uses->captured[out->id] &&
           ox_quant_n_uses(uses, out) == 1 &&
           ox_is_op(uses->uses[uses->first[out->id]].node, "QuantizeLinear");
}

static enum ox_status make_params(struct ox_place *place, const struct ox_value *of,
                                  struct gates *gates, struct ox_error *err)
{
    struct ox_quant *q = place->q;
    gates->params =
        (struct ox_qparams){q->options->activation_type, ox_quant_dtype(q, of), -1, 1, NULL};
    gates->params.pairs = ox_arena_array(&q->arena, 1, sizeof *gates->params.pairs);
    if (!gates->params.pairs)
        return ox_no_memory(err);
    gates->params.pairs[0] = ox_place_pair(place, of, (struct ox_qrange){0, 1});
    return ox_quant_add_params(q, place->graph, &gates->params, ox_quant_name(q, "gate", "_scale"),
                               ox_quant_name(q, "gate", "_zero_point"), &gates->scale, &gates->zero,
                               err);
}

static enum ox_status part(struct ox_place *place, struct ox_node *node, const struct gates *gates,
                           struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    struct ox_value *x = node->inputs[0], *out = node->outputs[0];
    struct ox_value *gate = ox_graph_add_value(graph, ox_quant_name(place->q, out->name, "_gate"));
    struct ox_value *integers = ox_graph_add_value(
        graph, ox_quant_name(place->q, out->name, "_gate_QuantizeLinear_Output"));
    struct ox_value *rounded = ox_graph_add_value(
        graph, ox_quant_name(place->q, out->name, "_gate_DequantizeLinear_Output"));
    if (!gate || !integers || !rounded)
        return ox_no_memory(err);
    struct ox_value *to[] = {gate, gates->scale, gates->zero};
    struct ox_value *from[] = {integers, gates->scale, gates->zero}, *factors[] = {x, rounded};
    const char *q_name = ox_quant_name(place->q, gate->name, "_QuantizeLinear");
    const char *d_name = ox_quant_name(place->q, gate->name, "_DequantizeLinear");
    struct ox_node *made = ox_graph_add_node(graph, "HardSigmoid", "", gate->name, &x, 1, &gate, 1);
    if (!made || !ox_node_set_float(made, "alpha", 1.0f / 6) ||
        !ox_node_set_float(made, "beta", 0.5f) || !q_name || !d_name ||
        !ox_graph_add_node(graph, "QuantizeLinear", "", q_name, to, 3, &integers, 1) ||
        !ox_graph_add_node(graph, "DequantizeLinear", "", d_name, from, 3, &rounded, 1) ||
        !ox_graph_add_node(graph, "Mul", "", node->name, factors, 2, &out, 1))
        return ox_no_memory(err);
    return OX_OK;
}

enum ox_status ox_place_swishes(struct ox_place *place, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    const struct ox_quant_options *options = place->q->options;
    struct ox_quant_uses uses;
    struct gates gates = {.scale = NULL};
    const size_t n = graph->n_nodes;
    /* int8 that several read stays float there. */
    if (options->compat_ort || options->format != OX_QUANT_QDQ ||
        options->activation_type != OX_UINT8)
        return OX_OK;
    OX_TRY(ox_quant_find_uses(place->q, graph, &uses, err));
    bool *remove = ox_arena_array(&place->q->arena, n + 1, sizeof *remove);
    if (!remove)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        struct ox_node *node = graph->nodes[i];
        remove[i] = is_between_integers(&uses, node);
        if (remove[i] &&
            !gates.scale) /* of the output: what is before may be new, of no type yet */
            OX_TRY(make_params(place, node->outputs[0], &gates, err));
        if (remove[i])
            OX_TRY(part(place, node, &gates, err));
    }
    if (!gates.scale)
        return OX_OK;
    bool *all = ox_arena_array(&place->q->arena, graph->n_nodes + 1, sizeof *all);
    if (!all)
        return ox_no_memory(err);
    memcpy(all, remove, n * sizeof *all);
    ox_graph_remove_nodes(graph, all);
    return OX_OK;
}
