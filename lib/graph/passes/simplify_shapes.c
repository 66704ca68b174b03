/* Targets of Reshape that are computed from the sizes of its own input become constants: where the result has an axis of the input in
 * its place a 0 copies it, and one more unknown size is -1. Nodes that only change the shape, one after the other, become one. */
#include "graph/match.h"

enum { MOST_RANK = 16 };

static bool moves_nothing(const struct ox_node *node)
{
    return ox_is_op(node, "Reshape") || ox_is_op(node, "Flatten") || ox_is_op(node, "Squeeze") ||
           ox_is_op(node, "Unsqueeze");
}

/* A Transpose that only moves axes of size 1. Behind a product it is left alone: attention is known by it. */
static bool moves_ones(struct ox_rewrite *rw, const struct ox_node *node)
{
    const struct ox_value *x = ox_is_op(node, "Transpose") ? ox_input(node, 0) : NULL;
    int rank = x && !rw->to_run ? ox_rank_of(rw, x) : -1;
    const struct ox_attr *perm = ox_node_attr(node, "perm");
    int64_t last = -1;
    if (rank < 0 || !perm || perm->ref || perm->type != OX_ATTR_INTS || perm->n != (size_t)rank ||
        (x->producer && ox_is_op(x->producer, "MatMul")))
        return false;
    for (size_t i = 0; i < perm->n; i++) {
        int64_t axis = perm->ints[i], size;
        if (axis < 0 || axis >= rank)
            return false;
        if (ox_expr_is_int(ox_dim_expr(rw, x, (int)axis), &size) && size == 1)
            continue;
        if (axis < last)
            return false;
        last = axis;
    }
    return true;
}

static bool may_be_empty(const struct ox_expr *dim)
{
    int64_t least;
    return !ox_expr_least(dim, &least) || least < 1;
}

/* The constant target that makes the shape of y of x; its rank, or -1: there is none that is right for all sizes. Beside an unknown
 * size (-1) nothing may be empty: it could not be told. */
static int target_of(struct ox_rewrite *rw, const struct ox_value *x, const struct ox_value *y,
                     int64_t *target)
{
    int rank = ox_rank_of(rw, y), rank_of_x = ox_rank_of(rw, x);
    bool unknown = false, empty = false;
    if (rank < 0 || rank > MOST_RANK || rank_of_x < 0)
        return -1;
    for (int i = 0; i < rank; i++) {
        const struct ox_expr *dim = ox_dim_expr(rw, y, i);
        bool copied = dim && i < rank_of_x && dim == ox_dim_expr(rw, x, i);
        int64_t size;
        if (ox_expr_is_int(dim, &size) && size != 0) {
            target[i] = size;
        } else if (copied) {
            target[i] = 0;
            empty |= may_be_empty(dim);
        } else if (!unknown) {
            target[i] = -1;
            unknown = true;
        } else {
            return -1;
        }
    }
    return unknown && empty ? -1 : rank;
}

/* Whether the target is a constant that says the same already. */
static bool says(struct ox_rewrite *rw, const struct ox_node *node, const int64_t *target, int rank)
{
    size_t n;
    const struct ox_value *given = ox_input(node, 1);
    if (!ox_is_op(node, "Reshape") || !given || !ox_rw_stored(rw, given))
        return false;
    const int64_t *ints = ox_const_ints(rw, given, &n);
    bool same = ints && n == (size_t)rank;
    for (int i = 0; same && i < rank; i++)
        same = ints[i] == target[i];
    return same;
}

static void become_reshape(struct ox_rewrite *rw, struct ox_node *node, struct ox_value *x)
{
    int64_t target[MOST_RANK];
    struct ox_value *y = node->outputs[0];
    int rank = target_of(rw, x, y, target);
    if (rank < 0 || (node->inputs[0] == x && says(rw, node, target, rank)))
        return;
    struct ox_value *shape = ox_rw_ints(rw, y->name, (size_t)rank, target);
    if (!shape)
        return;
    ox_rw_clear_attrs(rw, node);
    ox_rw_become(rw, node, "Reshape", "", (struct ox_value *[]){x, shape}, 2);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *x = ox_input(node, 0);
    if (!moves_nothing(node) || !x || node->n_outputs != 1 || !node->outputs[0] ||
        ox_node_opset(node) < 5)
        return;
    const struct ox_node *first = ox_rw_only_user(rw, x) ? x->producer : NULL;
    if (first && first->graph == node->graph && !ox_rw_gone(rw, first) &&
        (moves_nothing(first) || moves_ones(rw, first)) && ox_input(first, 0))
        become_reshape(rw, node, first->inputs[0]);
    else if (ox_is_op(node, "Reshape") && ox_input(node, 1) && !ox_rw_stored(rw, node->inputs[1]))
        become_reshape(rw, node, x);
}

enum ox_status ox_pass_simplify_shapes(struct ox_rewrite *rw, struct ox_graph *graph,
                                       struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
