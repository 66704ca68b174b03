/* Layer and RMS normalization that exporters write in parts, as one node:
 *
 *     (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + shift
 *     x / sqrt(mean(x^2) + epsilon) * scale
 *
 * with the last axis to be averaged over, the square as Pow or Mul, the quotient as Div or as Mul with Reciprocal. */
#include "graph/match.h"

/* What is averaged over the last axis; NULL. */
static struct ox_value *mean_of(struct ox_rewrite *rw, const struct ox_value *value)
{
    struct ox_node *mean = ox_made_by(rw, value, "ReduceMean", false);
    size_t n = 0;
    if (!mean || ox_attr_int(mean, "keepdims", 1) != 1)
        return NULL;
    const int64_t *axes = mean->n_inputs > 1 ? ox_const_ints(rw, mean->inputs[1], &n)
                                             : ox_attr_ints(mean, "axes", &n);
    if (!axes || n != 1 || (axes[0] != -1 && axes[0] != ox_rank_of(rw, mean->inputs[0]) - 1))
        return NULL;
    return mean->inputs[0];
}

static struct ox_value *square_of(struct ox_rewrite *rw, const struct ox_value *value)
{
    struct ox_node *pow = ox_made_by(rw, value, "Pow", false);
    struct ox_node *mul = ox_made_by(rw, value, "Mul", false);
    if (pow)
        return ox_const_is(rw, pow->inputs[1], 2) ? pow->inputs[0] : NULL;
    return mul && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : NULL;
}

/* x when the value is x - mean(x). */
static struct ox_value *centred(struct ox_rewrite *rw, const struct ox_value *value)
{
    struct ox_node *sub = ox_made_by(rw, value, "Sub", false);
    return sub && mean_of(rw, sub->inputs[1]) == sub->inputs[0] ? sub->inputs[0] : NULL;
}

/* Whether two values are the same, or both are x - mean(x). */
static bool is_same(struct ox_rewrite *rw, const struct ox_value *a, const struct ox_value *b)
{
    struct ox_value *x = centred(rw, a);
    return a == b || (x && centred(rw, b) == x);
}

/* The node that divides `v` by the root; NULL. */
static struct ox_node *quotient(struct ox_rewrite *rw, const struct ox_value *root,
                                const struct ox_value *v)
{
    struct ox_node *user = ox_rw_only_user(rw, root);
    if (!user)
        return NULL;
    if (ox_is_op(user, "Div") && user->inputs[1] == root && is_same(rw, user->inputs[0], v))
        return user;
    bool inverts =
        ox_is_op(user, "Reciprocal") ||
        (ox_is_op(user, "Div") && user->inputs[1] == root && ox_const_is(rw, user->inputs[0], 1));
    struct ox_node *mul = inverts ? ox_used_by(rw, user->outputs[0], "Mul") : NULL;
    struct ox_value *other = mul ? ox_other_input(mul, user->outputs[0]) : NULL;
    return other && is_same(rw, other, v) ? mul : NULL;
}

/* The only user of the node's output when it is that operator with a constant of n elements in the last axis. */
static struct ox_node *with_row(struct ox_rewrite *rw, const struct ox_node *node,
                                const char *op_type, int64_t n, struct ox_value **row)
{
    struct ox_node *user = ox_used_by(rw, node->outputs[0], op_type);
    struct ox_value *other = user ? ox_other_input(user, node->outputs[0]) : NULL;
    const struct ox_stored *stored = other ? ox_rw_stored(rw, other) : NULL;
    size_t elements;
    if (!stored || stored->dtype != OX_FLOAT32 || stored->rank < 1 ||
        stored->dims[stored->rank - 1] != n ||
        !ox_dims_count(stored->rank, stored->dims, &elements) || elements != (size_t)n ||
        ox_rank_of(rw, node->outputs[0]) < (int)stored->rank)
        return NULL;
    *row = other;
    return user;
}

static void fuse(struct ox_rewrite *rw, struct ox_node *root)
{
    struct ox_node *add = ox_made_by(rw, root->inputs[0], "Add", true);
    struct ox_value *variance = NULL, *v = NULL, *inputs[3] = {NULL};
    double epsilon = 0;
    for (size_t i = 0; add && i < 2 && !variance; i++) {
        if (ox_const_scalar(rw, add->inputs[i], &epsilon))
            variance = add->inputs[1 - i];
    }
    v = variance ? mean_of(rw, variance) : NULL;
    v = v ? square_of(rw, v) : NULL;
    struct ox_node *last = v ? quotient(rw, root->outputs[0], v) : NULL;
    if (!last || ox_dtype_of_value(rw, v) != OX_FLOAT32 || ox_rank_of(rw, v) < 1)
        return;
    struct ox_value *x = centred(rw, v);
    int64_t n = ox_dim_of(rw, v, -1);
    inputs[0] = x ? x : v;
    struct ox_node *scaled = n > 0 ? with_row(rw, last, "Mul", n, &inputs[1]) : NULL;
    last = scaled ? scaled : last;
    struct ox_node *shifted = scaled ? with_row(rw, last, "Add", n, &inputs[2]) : NULL;
    last = shifted ? shifted : last;
    ox_rw_become(rw, last, "Norm", OX_OWN_DOMAIN, inputs, shifted ? 3 : scaled ? 2 : 1);
    ox_rw_clear_attrs(rw, last);
    rw->failed |= !ox_node_set_int(last, "centred", x != NULL) ||
                  !ox_node_set_float(last, "epsilon", (float)epsilon);
}

enum ox_status ox_pass_fuse_norm(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, "Sqrt", fuse, err);
}
