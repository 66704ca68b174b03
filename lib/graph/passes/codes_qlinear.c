/* QLinearConv, and QLinearAdd, QLinearMul and QLinearGlobalAveragePool of com.microsoft become the operators of our own domain that
 * have their inputs and give their codes, and can have the channels of their maps last. */
#include <math.h>

#include "graph/passes/codes.h"

enum { TAPS = 256 }; /* of ox_integer_conv_can() */

static bool is_narrow(struct ox_rewrite *rw, const struct ox_value *value, enum ox_dtype *dtype)
{
    *dtype = value ? ox_dtype_of_value(rw, value) : OX_UNDEFINED;
    return *dtype == OX_UINT8 || *dtype == OX_INT8;
}

/* Whether inputs i and i + 1 are one scale and a zero point of that type, which may be left out. */
static bool is_one(struct ox_rewrite *rw, const struct ox_node *node, size_t i, enum ox_dtype dtype)
{
    const struct ox_value *zero = ox_input(node, i + 1);
    double scale, point;
    return ox_input(node, i) && ox_const_scalar(rw, node->inputs[i], &scale) && scale > 0 &&
           isfinite(scale) && ox_dtype_of_value(rw, node->inputs[i]) == OX_FLOAT32 &&
           (!zero || (ox_dtype_of_value(rw, zero) == dtype && ox_const_scalar(rw, zero, &point)));
}

/* Whether it is a constant of one element or a list of n. */
static bool is_each(struct ox_rewrite *rw, const struct ox_value *value, enum ox_dtype dtype,
                    int64_t n)
{
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    size_t count;
    return stored && stored->dtype == dtype && stored->rank <= 1 &&
           ox_dims_count(stored->rank, stored->dims, &count) && (count == 1 || count == (size_t)n);
}

static void become(struct ox_rewrite *rw, struct ox_node *node, const char *op_type)
{
    ox_rw_become(rw, node, op_type, OX_OWN_DOMAIN, node->inputs, node->n_inputs);
}

static void on_conv(struct ox_rewrite *rw, struct ox_node *node)
{
    enum { X, X_SCALE, W = 3, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };
    enum ox_dtype x, w, y;
    if (!is_narrow(rw, ox_input(node, X), &x) || !is_narrow(rw, ox_input(node, W), &w) ||
        !is_narrow(rw, ox_input(node, Y_ZERO), &y) || !is_one(rw, node, X_SCALE, x) ||
        !is_one(rw, node, Y_SCALE, y))
        return;
    const struct ox_stored *weights = ox_rw_stored(rw, node->inputs[W]);
    if (!weights || weights->rank < 3 || weights->rank > 4 || weights->dims[1] < 1 ||
        ox_rw_stored(rw, node->inputs[X]) || ox_rank_of(rw, node->inputs[X]) != (int)weights->rank)
        return;
    const int64_t n = weights->dims[0];
    int64_t taps = 1;
    for (unsigned d = 2; d < weights->rank; d++)
        taps = weights->dims[d] > TAPS ? TAPS + 1 : taps * weights->dims[d];
    if (taps < 1 || taps > TAPS || !is_each(rw, ox_input(node, W_SCALE), OX_FLOAT32, n) ||
        !is_each(rw, ox_input(node, W_ZERO), w, n) ||
        (ox_input(node, BIAS) && !is_each(rw, node->inputs[BIAS], OX_INT32, n)))
        return;
    if (x == OX_INT8) /* see saturates() of ops/int8/int8.c */
        rw->failed |= !ox_node_set_int(node, "exact", 1);
    become(rw, node, "IntegerConv");
}

static void on_pair(struct ox_rewrite *rw, struct ox_node *node, const char *op_type)
{
    enum { A, A_SCALE, B = 3, B_SCALE, Y_SCALE = 6 };
    enum ox_dtype a, b;
    if (is_narrow(rw, ox_input(node, A), &a) && is_narrow(rw, ox_input(node, B), &b) && a == b &&
        is_one(rw, node, A_SCALE, a) && is_one(rw, node, B_SCALE, a) &&
        is_one(rw, node, Y_SCALE, a))
        become(rw, node, op_type);
}

static void on_average(struct ox_rewrite *rw, struct ox_node *node)
{
    enum { X, X_SCALE, Y_SCALE = 3 };
    enum ox_dtype x;
    if (!is_narrow(rw, ox_input(node, X), &x) || ox_rank_of(rw, node->inputs[X]) != 4 ||
        ox_attr_int(node, "channels_last", 0) || !is_one(rw, node, X_SCALE, x) ||
        !is_one(rw, node, Y_SCALE, x))
        return;
    ox_rw_clear_attrs(rw, node);
    become(rw, node, "IntegerGlobalAveragePool");
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    static const char *const contrib = "com.microsoft";
    if (node->n_outputs != 1 || !node->outputs[0])
        return;
    if (ox_is_op(node, "QLinearConv"))
        on_conv(rw, node);
    else if (ox_is_domain_op(node, contrib, "QLinearAdd"))
        on_pair(rw, node, "IntegerAdd");
    else if (ox_is_domain_op(node, contrib, "QLinearMul"))
        on_pair(rw, node, "IntegerMul");
    else if (ox_is_domain_op(node, contrib, "QLinearGlobalAveragePool"))
        on_average(rw, node);
}

enum ox_status ox_pass_codes_qlinear(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
