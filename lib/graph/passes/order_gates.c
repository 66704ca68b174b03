/* Exporters of PyTorch put the gates of LSTM and GRU in the standard's order by a Concat of Slices of each weight. The weights stay
 * where they are, and a node of our own says where the gates are (ops/rnn/ordered_rnn.c): nothing is copied, and what was packed is not
 * needed twice. */
#include <string.h>

#include "graph/match.h"
#include "ops/rnn/rnn.h"

enum { W = 1, R = 2, B = 3, MOST_INPUTS = 8, MOST_GATES = 4 };

/* Weights as they were before, and where the standard's gates are in them. */
struct weights {
    const struct ox_value *stored; /* [gates * hidden, depth] */
    int64_t at[MOST_GATES];
};

static bool is_int(struct ox_rewrite *rw, const struct ox_value *value, int64_t *out)
{
    size_t n;
    const int64_t *ints = value ? ox_const_ints(rw, value, &n) : NULL;
    if (!ints || n != 1)
        return false;
    *out = *ints;
    return true;
}

/* The gate that a Slice takes, whole, of weights with so many rows a gate; -1. */
static int64_t gate_of(struct ox_rewrite *rw, const struct ox_node *slice, int64_t rows,
                       int64_t gates)
{
    int64_t from, to, axis, step = 1;
    if (!slice || !is_int(rw, ox_input(slice, 1), &from) || !is_int(rw, ox_input(slice, 2), &to) ||
        !is_int(rw, ox_input(slice, 3), &axis) || axis != 0 ||
        (ox_input(slice, 4) && !is_int(rw, ox_input(slice, 4), &step)) || step != 1)
        return -1;
    to = to > rows * gates ? rows * gates : to;
    return from >= 0 && from < rows * gates && from % rows == 0 && to == from + rows ? from / rows
                                                                                     : -1;
}

/* Unsqueeze of a Concat of all gates of one stored matrix. */
static bool find_weights(struct ox_rewrite *rw, const struct ox_value *value, int64_t rows,
                         int64_t gates, struct weights *w)
{
    const struct ox_node *unsqueeze = value ? ox_made_by(rw, value, "Unsqueeze", false) : NULL;
    int64_t axis;
    unsigned seen = 0;
    const struct ox_node *concat = unsqueeze && is_int(rw, ox_input(unsqueeze, 1), &axis) && !axis
                                       ? ox_made_by(rw, unsqueeze->inputs[0], "Concat", false)
                                       : NULL;
    if (!concat || concat->n_inputs != (size_t)gates || ox_attr_int(concat, "axis", 1) != 0)
        return false;
    for (size_t i = 0; i < concat->n_inputs; i++) {
        const struct ox_node *slice = ox_made_by(rw, concat->inputs[i], "Slice", false);
        w->at[i] = gate_of(rw, slice, rows, gates);
        if (w->at[i] < 0 || (i && slice->inputs[0] != w->stored))
            return false;
        w->stored = slice->inputs[0];
        seen |= 1U << w->at[i];
    }
    const struct ox_stored *stored = ox_rw_stored(rw, w->stored);
    return seen + 1 == 1U << gates && stored && stored->dtype == OX_FLOAT32 && stored->rank == 2 &&
           stored->dims[0] == gates * rows;
}

/* The stored matrix with an axis more. NULL: it cannot be read. */
static struct ox_value *whole(struct ox_rewrite *rw, const struct ox_value *stored)
{
    const struct ox_tensor *tensor = ox_rw_const(rw, stored);
    struct ox_tensor *view;
    struct ox_error err;
    if (!tensor)
        return NULL;
    const int64_t dims[3] = {1, tensor->dims[0], tensor->dims[1]};
    if (ox_tensor_view(&view, tensor, 3, dims, &err) != OX_OK) {
        rw->failed = true;
        return NULL;
    }
    struct ox_value *value = ox_rw_constant(rw, stored->name, view);
    ox_tensor_release(view);
    return value;
}

/* Stored biases [1, 2 * gates * hidden] in the weights' order. NULL: they are others. */
static struct ox_value *order_biases(struct ox_rewrite *rw, const struct ox_value *biases,
                                     size_t rows, size_t gates, const int64_t *at)
{
    const struct ox_tensor *from = ox_rw_stored(rw, biases) ? ox_const_floats(rw, biases) : NULL;
    if (!from || from->rank != 2 || from->dims[0] != 1 || from->n != 2 * gates * rows)
        return NULL;
    float *to = ox_rw_scratch(rw, from->n, sizeof *to);
    for (size_t i = 0; to && i < 2 * gates; i++)
        memcpy(to + (i / gates * gates + (size_t)at[i % gates]) * rows,
               (const float *)from->data + i * rows, rows * sizeof *to);
    return to ? ox_rw_floats(rw, biases->name, 2, from->dims, to) : NULL;
}

/* Nodes that lead to a value, as long as nothing else needs what they make: before they are folded. */
static void drop_unused(struct ox_rewrite *rw, struct ox_value *value)
{
    struct ox_node *node = value->producer;
    if (!node || ox_rw_gone(rw, node) || node->n_outputs != 1 || ox_rw_n_uses(rw, value) ||
        ox_rw_is_pinned(rw, value))
        return;
    ox_rw_remove(rw, node);
}

/* Unsqueeze, Concat and Slices that put weights in order. */
static void drop_order(struct ox_rewrite *rw, struct ox_value *ordered)
{
    struct ox_node *unsqueeze = ordered->producer;
    if (!unsqueeze || ox_rw_gone(rw, unsqueeze))
        return;
    struct ox_node *concat = unsqueeze->inputs[0]->producer;
    drop_unused(rw, ordered);
    drop_unused(rw, concat->outputs[0]);
    for (size_t i = 0; i < concat->n_inputs; i++)
        drop_unused(rw, concat->inputs[i]);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    const bool lstm = ox_is_op(node, "LSTM");
    const int64_t gates = lstm ? 4 : 3, rows = ox_attr_int(node, "hidden_size", 0);
    const char *direction = ox_attr_string(node, "direction", "forward");
    struct ox_value *in[MOST_INPUTS] = {NULL};
    struct weights w = {NULL}, r = {NULL};
    if (!(lstm || ox_is_op(node, "GRU")) || node->n_inputs < B || node->n_inputs > MOST_INPUTS ||
        rows < 1 || rows > INT32_MAX || strcmp(direction, "bidirectional") == 0 ||
        ox_node_opset(node) < 13 || ox_attr_int(node, "layout", 0) != 0 ||
        ox_dtype_of_value(rw, ox_input(node, 0)) != OX_FLOAT32 ||
        !find_weights(rw, ox_input(node, W), rows, gates, &w) ||
        !find_weights(rw, ox_input(node, R), rows, gates, &r) ||
        memcmp(w.at, r.at, sizeof w.at) != 0 || (!lstm && w.at[gates - 1] != gates - 1))
        return;
    for (size_t i = 0; i < node->n_inputs; i++)
        in[i] = ox_input(node, i);
    if (in[B])
        in[B] = order_biases(rw, in[B], (size_t)rows, (size_t)gates, w.at);
    if (ox_input(node, B) && !in[B])
        return;
    struct ox_value *const ordered[] = {in[W], in[R]};
    in[W] = whole(rw, w.stored);
    in[R] = whole(rw, r.stored);
    if (!in[W] || !in[R])
        return;
    ox_rw_become(rw, node, node->op_type, OX_OWN_DOMAIN, in, node->n_inputs);
    if (!ox_node_set_ints(node, OX_RNN_GATES, w.at, (size_t)gates))
        rw->failed = true;
    drop_order(rw, ordered[0]);
    drop_order(rw, ordered[1]);
}

enum ox_status ox_pass_order_gates(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
