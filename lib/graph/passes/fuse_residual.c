/* Codes that are added to what an IntegerConv alone makes become its residual: they are added while its results are near (ops/int8/int8.h). */
#include "graph/match.h"
#include "ops/fused/fused.h"
#include "ops/int8/int8.h"

enum { A, B = 3, SUM_SCALE = 6, SUM_ZERO, Y_SCALE = 6, Y_ZERO, INPUTS = OX_RESIDUAL_Y_SCALE + 2 };

/* The convolution whose result is operand i of a sum and nothing else; NULL. */
static struct ox_node *convolution(struct ox_rewrite *rw, const struct ox_node *sum, size_t i)
{
    struct ox_value *value = sum->inputs[i];
    struct ox_node *node = value ? value->producer : NULL;
    return node && ox_is_domain_op(node, OX_OWN_DOMAIN, "IntegerConv") &&
                   node->graph == sum->graph && ox_rw_only_user(rw, value) == sum &&
                   node->n_inputs <= OX_RESIDUAL && ox_input(node, Y_SCALE) &&
                   ox_attr_int(node, "layout", 0) & OX_OUT_LAST
               ? node
               : NULL;
}

static bool are_equal(struct ox_rewrite *rw, const struct ox_value *a, const struct ox_value *b)
{
    double x = 0, y = 0;
    return a == b ||
           ((!a || ox_const_scalar(rw, a, &x)) && (!b || ox_const_scalar(rw, b, &y)) && x == y);
}

/* Whether the sum reads codes as they are written. */
static bool reads(struct ox_rewrite *rw, const struct ox_node *sum, size_t i,
                  const struct ox_node *conv)
{
    return are_equal(rw, ox_input(sum, i + 1), ox_input(conv, Y_SCALE)) &&
           are_equal(rw, ox_input(sum, i + 2), ox_input(conv, Y_ZERO));
}

/* The convolution's attributes become the sum's, whose limits have names of their own there. */
static bool take_attributes(struct ox_node *sum, struct ox_node *conv)
{
    static const char *const from[] = {"lo", "hi"}, *const to[] = {"sum_lo", "sum_hi"};
    for (size_t i = 0; i < 2; i++)
        if (ox_node_attr(sum, from[i]) &&
            !ox_node_set_int(conv, to[i], ox_attr_int(sum, from[i], 0)))
            return false;
    ox_rw_inherit(sum, conv);
    return true;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *sum)
{
    if (!ox_is_domain_op(sum, OX_OWN_DOMAIN, "IntegerAdd"))
        return;
    struct ox_node *conv = convolution(rw, sum, A);
    const size_t mine = conv ? A : B, other = conv ? B : A;
    if (!conv)
        conv = convolution(rw, sum, B);
    if (!conv || !reads(rw, sum, mine, conv) || ox_rw_stored(rw, sum->inputs[other]) ||
        !ox_same_shape(rw, sum->inputs[mine], sum->inputs[other]))
        return;
    struct ox_value *in[INPUTS] = {NULL};
    for (size_t i = 0; i < conv->n_inputs; i++)
        in[i] = conv->inputs[i];
    for (size_t i = 0; i < 3; i++)
        in[OX_RESIDUAL + i] = sum->inputs[other + i];
    in[OX_RESIDUAL_Y_SCALE] = ox_input(sum, SUM_SCALE);
    in[OX_RESIDUAL_Y_SCALE + 1] = ox_input(sum, SUM_ZERO);
    if (!take_attributes(sum, conv)) {
        rw->failed = true;
        return;
    }
    ox_rw_become(rw, sum, "IntegerConv", OX_OWN_DOMAIN, in, INPUTS);
    ox_rw_remove(rw, conv);
}

enum ox_status ox_pass_fuse_residual(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
