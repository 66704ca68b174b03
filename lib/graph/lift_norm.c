/* Linear layers over sequences: batch norm wants a matrix, so exporters lay the sequence flat before it. Channels are last before and
 * after, so the product can take the norm in as Mul and Add, which the passes behind this one put into its weights and bias. */
#include <math.h>

#include "graph/match.h"

enum { SCALE = 1, BIAS, MEAN, VARIANCE, N_VECTORS = 4 };

static bool is_flattening(struct ox_rewrite *rw, const struct ox_node *node, int64_t *channels)
{
    const struct ox_type *type = ox_rw_type(rw, node->outputs[0]);
    return (ox_is_op(node, "Reshape") || ox_is_op(node, "Flatten")) && type && type->has_rank &&
           type->rank == 2 && ox_expr_is_int(type->dims[1], channels);
}

/* The product of which `flat` is the only user, and whose columns are the channels; NULL. */
static struct ox_node *product_of(struct ox_rewrite *rw, const struct ox_node *flat,
                                  int64_t channels)
{
    struct ox_value *y = flat->inputs[0];
    struct ox_node *product = y ? y->producer : NULL;
    const struct ox_type *type = product ? ox_rw_type(rw, y) : NULL;
    int64_t last;
    bool fits = product && ox_is_op(product, "MatMul") && ox_rw_only_user(rw, y) == flat && type &&
                type->has_rank && type->rank > 0 && type->elem == OX_FLOAT32 &&
                ox_expr_is_int(type->dims[type->rank - 1], &last) && last == channels;
    return fits ? product : NULL;
}

/* What batch norm multiplies each channel by, and adds then. */
static bool factors(struct ox_rewrite *rw, const struct ox_node *norm, int64_t channels, float *by,
                    float *plus)
{
    const float *vectors[1 + N_VECTORS] = {NULL};
    for (size_t i = SCALE; i <= VARIANCE; i++) {
        const struct ox_value *value = ox_input(norm, i);
        const struct ox_tensor *tensor =
            value && ox_rw_stored(rw, value) ? ox_rw_const(rw, value) : NULL;
        if (!tensor || tensor->dtype != OX_FLOAT32 || tensor->n != (size_t)channels)
            return false;
        vectors[i] = tensor->data;
    }
    const double epsilon = (double)ox_attr_float(norm, "epsilon", 1e-5f);
    for (int64_t i = 0; i < channels; i++) {
        const double factor =
            (double)vectors[SCALE][i] / sqrt((double)vectors[VARIANCE][i] + epsilon);
        by[i] = (float)factor;
        plus[i] = (float)((double)vectors[BIAS][i] - (double)vectors[MEAN][i] * factor);
    }
    return true;
}

/* `op` of x and a vector of the channels, before `before`; NULL. */
static struct ox_value *along_channels(struct ox_rewrite *rw, struct ox_node *before,
                                       const char *op, struct ox_value *x, int64_t channels,
                                       const float *vector)
{
    const struct ox_type *type = ox_rw_type(rw, x);
    struct ox_value *in[2] = {x, ox_rw_floats(rw, x->name, 1, &channels, vector)};
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
        !is_flattening(rw, flat, &channels) || !product_of(rw, flat, channels))
        return;
    float *by = ox_rw_scratch(rw, (size_t)channels, sizeof *by);
    float *plus = ox_rw_scratch(rw, (size_t)channels, sizeof *plus);
    if (!by || !plus || !factors(rw, norm, channels, by, plus) || !ox_rw_bypass(rw, norm, x))
        return;
    struct ox_value *y = along_channels(rw, flat, "Mul", flat->inputs[0], channels, by);
    if (y)
        y = along_channels(rw, flat, "Add", y, channels, plus);
    ox_rw_set_input(rw, flat, 0, y);
}

enum ox_status ox_pass_lift_norm(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, "BatchNormalization", look_at, err);
}
