/* Linear layers over sequences: batch norm wants a matrix, so exporters lay the sequence flat before it. Channels are last before and
 * after, so the product can take the norm in as Mul and Add, which the passes behind this one put into its weights and bias. */
#include "graph/match.h"
#include "graph/passes/channels.h"

static bool is_flattening(struct ox_rewrite *rw, const struct ox_node *node, int64_t *channels)
{
    const struct ox_type *type = ox_rw_type(rw, node->outputs[0]);
    return (ox_is_op(node, "Reshape") || ox_is_op(node, "Flatten")) && type && type->has_rank &&
           type->rank == 2 && ox_expr_is_int(type->dims[1], channels);
}

/* Whether `flat` is the only user of a product whose columns are the channels. */
static bool flattens_product(struct ox_rewrite *rw, const struct ox_node *flat, int64_t channels)
{
    const struct ox_value *y = flat->inputs[0];
    return y && ox_made_by(rw, y, "MatMul", true) && ox_rw_only_user(rw, y) == flat &&
           ox_dtype_of_value(rw, y) == OX_FLOAT32 && ox_dim_of(rw, y, -1) == channels;
}

/* `op` of x and a vector of the channels, before `before`; NULL. */
static struct ox_value *along_channels(struct ox_rewrite *rw, struct ox_node *before,
                                       const char *op, struct ox_value *x, int64_t channels,
                                       const double *vector)
{
    const struct ox_type *type = ox_rw_type(rw, x);
    struct ox_value *in[2] = {x,
                              ox_rounded_constant(rw, x->name, OX_FLOAT32, 1, &channels, vector)};
    struct ox_value *out =
        ox_rw_value(rw, x->name, ox_rw_tensor_type(rw, OX_FLOAT32, type->rank, type->dims));
    return in[1] && out && ox_rw_insert(rw, before, op, "", before->name, in, 2, &out, 1) ? out
                                                                                          : NULL;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *norm)
{
    struct ox_value *x = norm->inputs[0];
    struct ox_node *flat = x ? x->producer : NULL;
    int64_t channels;
    if (!ox_batch_norm_is_affine(rw, norm) || !flat || ox_rw_only_user(rw, x) != norm ||
        !is_flattening(rw, flat, &channels) || !flattens_product(rw, flat, channels))
        return;
    const double *by = ox_batch_norm_factors(rw, norm, channels);
    if (!by || !ox_rw_bypass(rw, norm, x))
        return;
    struct ox_value *y = along_channels(rw, flat, "Mul", flat->inputs[0], channels, by);
    if (y)
        y = along_channels(rw, flat, "Add", y, channels, by + channels);
    ox_rw_set_input(rw, flat, 0, y);
}

enum ox_status ox_pass_lift_norm(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, "BatchNormalization", look_at, err);
}
