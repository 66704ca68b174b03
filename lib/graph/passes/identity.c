/* Nodes that pass their input on: Identity, Dropout when it infers, Cast to the same type, Transpose, Reshape, Concat, Slice, Pad and
 * arithmetic that change nothing; pairs of which the second undoes the first; and Expand before what broadcasts. */
#include <string.h>

#include "graph/match.h"

static bool keeps_order(const struct ox_node *node, int rank)
{
    size_t n;
    const int64_t *perm = ox_attr_ints(node, "perm", &n);
    if (!perm)
        return rank >= 0 && rank <= 1;
    if (rank >= 0 && (size_t)rank != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (perm[i] != (int64_t)i)
            return false;
    return true;
}

static bool is_training_dropout(struct ox_rewrite *rw, const struct ox_node *node)
{
    double mode;
    if (node->n_outputs > 1 && node->outputs[1] &&
        (ox_rw_n_uses(rw, node->outputs[1]) || ox_rw_is_pinned(rw, node->outputs[1])))
        return true;
    if (ox_node_opset(node) < 7)
        return ox_attr_int(node, "is_test", 0) == 0;
    return ox_input(node, 2) && (!ox_const_scalar(rw, node->inputs[2], &mode) || mode != 0);
}

/* A constant whose elements all are `want`; those that may be large weights are not looked at. */
static bool is_all(struct ox_rewrite *rw, const struct ox_value *constant, double want)
{
    enum { MOST = 1 << 16 };
    const struct ox_stored *stored = ox_rw_stored(rw, constant);
    size_t n;
    if (stored->dtype == OX_STRING || !ox_dims_count(stored->rank, stored->dims, &n) || n == 0 ||
        n > MOST)
        return false;
    const struct ox_tensor *tensor = ox_rw_const(rw, constant);
    for (size_t i = 0; tensor && i < n; i++)
        if (ox_tensor_get_double(tensor, i) != want)
            return false;
    return tensor;
}

/* x + 0, x * 1, x / 1, x - 0, where the constant does not widen x. x + 0 turns -0 into 0, which nobody tells apart; the others are
 * exact. */
static struct ox_value *neutral(struct ox_rewrite *rw, const struct ox_node *node)
{
    bool add = ox_is_op(node, "Add"), sub = ox_is_op(node, "Sub"), mul = ox_is_op(node, "Mul"),
         div = ox_is_op(node, "Div");
    if (!(add || sub || mul || div) || node->n_inputs != 2)
        return NULL;
    for (size_t k = 0; k < (add || mul ? 2u : 1u); k++) {
        struct ox_value *x = node->inputs[k];
        const struct ox_value *constant = node->inputs[1 - k];
        const struct ox_stored *stored = constant ? ox_rw_stored(rw, constant) : NULL;
        double scalar;
        if (!x || !stored)
            continue;
        const bool one =
            (int)stored->rank <= ox_rank_of(rw, x) && ox_const_scalar(rw, constant, &scalar);
        if ((one || ox_same_shape(rw, x, node->outputs[0])) &&
            is_all(rw, constant, mul || div ? 1 : 0))
            return x;
    }
    return NULL;
}

/* Slices that do not step backwards, and pads that do not cancel: those that keep the shape keep all. */
static bool keeps_ends(struct ox_rewrite *rw, const struct ox_node *node)
{
    const bool slice = ox_is_op(node, "Slice");
    const struct ox_value *given = ox_input(node, slice ? 4 : 1);
    if (slice && !given)
        return true;
    size_t n;
    const int64_t *values = given ? ox_const_ints(rw, given, &n) : ox_attr_ints(node, "pads", &n);
    if (!values)
        return false;
    for (size_t i = 0; i < n; i++)
        if (slice ? values[i] < 1 : values[i] != 0)
            return false;
    return true;
}

static bool is_one_of(const struct ox_node *node, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ox_is_op(node, names[i]))
            return true;
    return false;
}

/* The input that the node's only output equals; NULL. */
static struct ox_value *passed_on(struct ox_rewrite *rw, const struct ox_node *node)
{
    static const char *const many[] = {"Concat", "Sum", "Max", "Min", "Mean"};
    /* What copies where the output has the shape of the input; a reduction gives back what it is given one element of. */
    static const char *const copies[] = {
        "Reshape", "Flatten",   "Expand",     "Slice",     "Pad",        "Squeeze",  "Unsqueeze",
        "Tile",    "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"};
    struct ox_value *x = ox_input(node, 0);
    if (!x || node->domain[0])
        return NULL;
    if (ox_is_op(node, "Identity"))
        return x;
    if (ox_is_op(node, "Dropout"))
        return is_training_dropout(rw, node) ? NULL : x;
    if (ox_is_op(node, "Cast")) {
        enum ox_dtype dtype = ox_dtype_of_value(rw, x);
        return dtype != OX_UNDEFINED && ox_attr_int(node, "to", 0) == (int64_t)dtype ? x : NULL;
    }
    if (ox_is_op(node, "Transpose"))
        return keeps_order(node, ox_rank_of(rw, x)) ? x : NULL;
    if (is_one_of(node, many, OX_COUNT(many)))
        return node->n_inputs == 1 ? x : NULL;
    if (is_one_of(node, copies, OX_COUNT(copies))) {
        const bool ends = ox_is_op(node, "Slice") || ox_is_op(node, "Pad");
        return (!ends || keeps_ends(rw, node)) && ox_same_shape(rw, x, node->outputs[0]) ? x : NULL;
    }
    return neutral(rw, node);
}

/* Transpose after Transpose: one, of both permutations. */
static void merge_transposes(struct ox_rewrite *rw, struct ox_node *node)
{
    enum { MOST = 16 };
    const struct ox_node *first = ox_made_by(rw, ox_input(node, 0), "Transpose", false);
    size_t n, n_first;
    const int64_t *perm = ox_attr_ints(node, "perm", &n);
    const int64_t *before = first ? ox_attr_ints(first, "perm", &n_first) : NULL;
    if (!perm || !before || n != n_first || n > MOST || !first->inputs[0])
        return;
    int64_t both[MOST];
    for (size_t i = 0; i < n; i++) {
        if (perm[i] < 0 || perm[i] >= (int64_t)n)
            return;
        both[i] = before[perm[i]];
    }
    ox_rw_set_input(rw, node, 0, first->inputs[0]);
    rw->failed |= !ox_node_set_ints(node, "perm", both, n);
}

/* Reshape after whatever only changes the shape: of the first input at once, unless the target copies dimensions. */
static void merge_reshapes(struct ox_rewrite *rw, struct ox_node *node)
{
    static const char *const names[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
    struct ox_value *x = ox_input(node, 0);
    const struct ox_node *first = NULL;
    for (size_t i = 0; x && i < OX_COUNT(names) && !first; i++)
        first = ox_made_by(rw, x, names[i], false);
    size_t n;
    const int64_t *shape = ox_input(node, 1) ? ox_const_ints(rw, node->inputs[1], &n) : NULL;
    if (!first || !shape || !first->inputs[0])
        return;
    for (size_t i = 0; i < n; i++)
        if (shape[i] == 0)
            return;
    ox_rw_set_input(rw, node, 0, first->inputs[0]);
}

/* Cast to a wider type of the same kind and back is nothing. */
static bool undo_cast(struct ox_rewrite *rw, struct ox_node *node)
{
    const struct ox_node *first = ox_made_by(rw, ox_input(node, 0), "Cast", false);
    if (!first || !first->inputs[0])
        return false;
    enum ox_dtype from = ox_dtype_of_value(rw, first->inputs[0]);
    int64_t middle = ox_attr_int(first, "to", 0), to = ox_attr_int(node, "to", 0);
    return ox_cast_is_exact(from, (enum ox_dtype)middle) && to == (int64_t)from &&
           ox_rw_bypass(rw, node, first->inputs[0]);
}

static bool broadcasts(const struct ox_node *node)
{
    static const char *const names[] = {
        "Add",  "And",         "Div", "Equal", "Greater", "GreaterOrEqual",
        "Less", "LessOrEqual", "Max", "Mean",  "Min",     "Mul",
        "Or",   "Pow",         "Sub", "Sum",   "Where",   "Xor"};
    return is_one_of(node, names, OX_COUNT(names)) &&
           ox_node_opset(node) >= 8; /* some took equal shapes alone before */
}

static bool has_shape_of_output(struct ox_rewrite *rw, const struct ox_node *node, size_t except)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        if (i != except && ox_input(node, i) &&
            ox_same_shape(rw, node->inputs[i], node->outputs[0]))
            return true;
    return false;
}

/* An input that another one is as large as need not be expanded: gates of channels, masks, scales. */
static void skip_expand(struct ox_rewrite *rw, struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_node *first = ox_made_by(rw, ox_input(node, i), "Expand", false);
        const struct ox_value *x = first ? ox_input(first, 0) : NULL;
        if (x && x->graph == rw->graph && has_shape_of_output(rw, node, i))
            ox_rw_set_input(rw, node, i, first->inputs[0]);
    }
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *same = node->outputs[0] ? passed_on(rw, node) : NULL;
    if (!node->outputs[0] || (same && ox_rw_bypass(rw, node, same)))
        return;
    if (ox_is_op(node, "Transpose"))
        merge_transposes(rw, node);
    else if (ox_is_op(node, "Reshape") && ox_node_opset(node) >= 5)
        merge_reshapes(rw, node);
    else if (ox_is_op(node, "Cast"))
        undo_cast(rw, node);
    else if (broadcasts(node))
        skip_expand(rw, node);
}

enum ox_status ox_pass_identity(struct ox_rewrite *rw, struct ox_graph *graph, struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
