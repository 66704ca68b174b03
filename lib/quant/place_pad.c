/* Padding between integers. onnxruntime has no Q and DQ around Pad, but runs it on integers that are given to it, so it is written so: what a
 * skip connection adds to its input then needs no floats. */
#include <string.h>

#include "graph/match.h"
#include "quant/place_own.h"

enum ox_status ox_place_pads_same(const struct ox_place *place, const struct ox_node *pad,
                                  bool *same, struct ox_error *err)
{
    const struct ox_attr *mode = ox_node_attr(pad, "mode");
    const char *name = mode && mode->type == OX_ATTR_STRING && mode->n ? mode->s.p : "constant";
    *same = strcmp(name, "reflect") == 0 || strcmp(name, "edge") == 0 || strcmp(name, "wrap") == 0;
    if (strcmp(name, "constant") != 0)
        return OX_OK;
    if (ox_graph_opset(place->graph, "") < 11) {
        *same = ox_quant_float_attr(pad, "value", 0) == 0;
        return OX_OK;
    }
    *same = pad->n_inputs < 3 || !pad->inputs[2];
    const struct ox_stored *stored = *same ? NULL : ox_value_stored(pad->inputs[2]);
    if (!stored || !ox_quant_is_float(stored->dtype))
        return OX_OK;
    struct ox_tensor *value;
    enum ox_dtype real;
    OX_TRY(ox_quant_values(place->q, pad->inputs[2], &value, &real, err));
    *same = value->n == 1 && *(float *)value->data == 0;
    ox_tensor_release(value);
    return OX_OK;
}

/* The integers that movers make a value of; NULL: there are none. */
static struct ox_value *integers_behind(struct ox_place *place, struct ox_value *value)
{
    while (value && !ox_place_is_marked(place, value)) {
        const struct ox_node *node = value->producer;
        bool moved = node && ox_place_ort_moves(node) &&
                     !(ox_is_op(node, "MaxPool") && ox_graph_opset(place->graph, "") < 12);
        if (!moved || node->n_outputs != 1 || !ox_place_can(place, value) ||
            ox_quant_unwanted(place->q, node))
            return NULL;
        value = node->inputs[0];
    }
    return value;
}

/* Its output becomes integers, if need be by clipping. */
static bool makes_codes(struct ox_place *place, const struct ox_node *node)
{
    const struct ox_value *out = node->outputs[0];
    if (ox_place_is_marked(place, out))
        return true;
    const struct ox_node *user = ox_place_only_user(place, out);
    return user && ox_is_any_op(user, ox_place_clippers) && user->outputs[0] &&
           ox_place_is_marked(place, user->outputs[0]);
}

/* A sum or the like, all else of which are integers already. */
static bool waits_for(struct ox_place *place, const struct ox_node *user,
                      const struct ox_value *value)
{
    if (!user || !ox_is_any_op(user, ox_place_mixers) || ox_is_op(user, "Resize") ||
        !user->outputs[0] || ox_quant_unwanted(place->q, user) || !makes_codes(place, user))
        return false;
    for (size_t i = 0; i < user->n_inputs; i++) {
        const struct ox_value *in = user->inputs[i];
        if (in != value && (!in || !ox_place_is_marked(place, in)))
            return false;
    }
    return true;
}

enum ox_status ox_place_pads(struct ox_place *place, struct ox_error *err)
{
    const struct ox_quant_options *options = place->q->options;
    /* There is no Pad of other integers, nor any before opset 11. */
    if (ox_dtype_bits(options->activation_type) != 8 || ox_graph_opset(place->graph, "") < 11)
        return OX_OK;
    for (size_t i = 0; i < place->n_nodes; i++) {
        struct ox_node *pad = place->graph->nodes[i];
        if (!ox_is_op(pad, "Pad") || place->gone[i] || !pad->n_inputs || !pad->inputs[0] ||
            !pad->n_outputs || !pad->outputs[0] || ox_quant_unwanted(place->q, pad))
            continue;
        struct ox_value *out = pad->outputs[0], *from = integers_behind(place, pad->inputs[0]);
        bool asked = ox_place_is_marked(place, out)
                         ? !ox_place_mark(place, out)->share
                         : waits_for(place, ox_place_only_user(place, out), out);
        bool same = false;
        if (from && asked && from != out && ox_place_can(place, out))
            OX_TRY(ox_place_pads_same(place, pad, &same, err));
        if (!same)
            continue;
        for (struct ox_value *value = out; value != from; value = value->producer->inputs[0])
            ox_place_same(place, value, from);
    }
    return OX_OK;
}

/* Q and DQ around it are of one scale. */
static bool is_between(const struct ox_node *dq, const struct ox_node *q)
{
    return dq && q && ox_is_op(dq, "DequantizeLinear") && ox_is_op(q, "QuantizeLinear") &&
           dq->n_inputs == 3 && q->n_inputs == 3 && dq->inputs[1] == q->inputs[1] &&
           dq->inputs[2] == q->inputs[2];
}

static enum ox_status pad_integers(struct ox_place *place, const struct ox_node *pad,
                                   const struct ox_node *dq, const struct ox_node *q,
                                   struct ox_error *err)
{
    struct ox_value *inputs[4] = {dq->inputs[0], pad->inputs[1], dq->inputs[2],
                                  pad->n_inputs > 3 ? pad->inputs[3] : NULL};
    const size_t n = pad->n_inputs > 3 ? 4 : 3;
    struct ox_node *made =
        ox_graph_add_node(place->graph, "Pad", "", pad->name, inputs, n, q->outputs, 1);
    return made && ox_quant_copy_attrs(made, pad, NULL) ? OX_OK : ox_no_memory(err);
}

enum ox_status ox_place_pad_integers(struct ox_place *place, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    struct ox_quant_uses uses;
    const size_t n = graph->n_nodes;
    if (place->q->options->compat_ort)
        return OX_OK;
    bool *remove = ox_arena_array(&place->q->arena, 2 * n + 1, sizeof *remove);
    if (!remove)
        return ox_no_memory(err);
    OX_TRY(ox_quant_find_uses(place->q, graph, &uses, err));
    for (size_t i = 0; i < n; i++) {
        const struct ox_node *pad = graph->nodes[i];
        const struct ox_value *out = pad->n_outputs ? pad->outputs[0] : NULL;
        if (!ox_is_op(pad, "Pad") || pad->n_inputs < 2 || !pad->inputs[0] || !out ||
            out->is_output || uses.captured[out->id] || ox_quant_n_uses(&uses, out) != 1)
            continue;
        const struct ox_node *dq = pad->inputs[0]->producer;
        const struct ox_node *q = uses.uses[uses.first[out->id]].node;
        if (!is_between(dq, q))
            continue;
        OX_TRY(pad_integers(place, pad, dq, q, err));
        remove[pad->index] = remove[q->index] = true;
    }
    if (graph->n_nodes == n)
        return OX_OK;
    ox_graph_remove_nodes(graph, remove);
    return ox_quant_drop_unread(place->q, graph, "DequantizeLinear", NULL, err);
}
