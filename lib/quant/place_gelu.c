/* onnxruntime copies a DequantizeLinear for each node that reads it, and then finds no Gelu in parts whose first and last one read it: these
 * are five passes over floats instead of one. So one node reads it, a sum of nothing else. */
#include "graph/match.h"
#include "quant/place.h"

/* What erf is taken of but for a constant factor; NULL: the node is no erf of that. */
static struct ox_value *inside_erf(const struct ox_node *erf)
{
    static const char *const factors[] = {"Div", "Mul", NULL};
    const struct ox_node *scaled =
        ox_is_op(erf, "Erf") && erf->inputs[0] ? erf->inputs[0]->producer : NULL;
    if (!scaled || !ox_is_any_op(scaled, factors) || scaled->n_inputs != 2)
        return NULL;
    for (size_t i = 0; i < 2; i++) {
        if (scaled->inputs[i] && scaled->inputs[1 - i] && ox_value_stored(scaled->inputs[1 - i]))
            return scaled->inputs[i];
    }
    return NULL;
}

enum ox_status ox_place_gelus(struct ox_place *place, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    struct ox_quant_uses uses;
    if (place->q->options->compat_ort)
        return OX_OK;
    OX_TRY(ox_quant_find_uses(place->q, graph, &uses, err));
    for (size_t i = 0, n = graph->n_nodes; i < n; i++) {
        struct ox_value *x = inside_erf(graph->nodes[i]);
        if (!x || !x->producer || !ox_is_op(x->producer, "DequantizeLinear") || x->is_output ||
            uses.captured[x->id] || ox_quant_n_uses(&uses, x) != 2)
            continue;
        struct ox_value *one = ox_graph_add_value(graph, ox_quant_name(place->q, x->name, "_once"));
        if (!one)
            return ox_no_memory(err);
        ox_quant_read_instead(graph, x, one);
        if (!ox_graph_add_node(graph, "Sum", "", "", &x, 1, &one, 1))
            return ox_no_memory(err);
    }
    return OX_OK;
}
