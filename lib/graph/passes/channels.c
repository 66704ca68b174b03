/* Constants with an element a channel, as the passes read them that put such constants into weights: in double. */
#include "graph/passes/channels.h"

#include <math.h>

#include "graph/match.h"

bool ox_channel_vector(struct ox_rewrite *rw, const struct ox_value *value, int64_t channels,
                       double *out)
{
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    if (!stored || !ox_dtype_is_real(stored->dtype) || stored->rank != 1 ||
        stored->dims[0] != channels)
        return false;
    const struct ox_tensor *tensor = ox_rw_const(rw, value);
    if (tensor)
        ox_elements_convert(OX_FLOAT64, out, tensor->dtype, tensor->data, tensor->n, false);
    return tensor;
}

const double *ox_channel_const(struct ox_rewrite *rw, const struct ox_value *value, int rank,
                               int axis, int64_t channels)
{
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    size_t count;
    if (!stored || !ox_dtype_is_real(stored->dtype) || rank < 2 || (int)stored->rank > rank ||
        !ox_dims_count(stored->rank, stored->dims, &count) ||
        (count != 1 && count != (size_t)channels))
        return NULL;
    axis += (int)stored->rank - (axis < 0 ? 0 : rank);
    if (count != 1 && (axis < 0 || stored->dims[axis] != channels))
        return NULL;
    const struct ox_tensor *tensor = ox_rw_const(rw, value);
    double *out = tensor ? ox_rw_scratch(rw, (size_t)channels, sizeof *out) : NULL;
    for (int64_t i = 0; out && i < channels; i++)
        out[i] = ox_tensor_get_double(tensor, count == 1 ? 0 : (size_t)i);
    return out;
}

bool ox_batch_norm_is_affine(const struct ox_rewrite *rw, const struct ox_node *node)
{
    if (!ox_is_op(node, "BatchNormalization") || ox_attr_int(node, "training_mode", 0) ||
        ox_attr_int(node, "spatial", 1) != 1 ||
        (ox_node_opset(node) < 7 && !ox_attr_int(node, "is_test", 0)))
        return false;
    for (size_t i = 1; i < node->n_outputs; i++)
        if (node->outputs[i] &&
            (ox_rw_n_uses(rw, node->outputs[i]) || ox_rw_is_pinned(rw, node->outputs[i])))
            return false;
    return true;
}

const double *ox_batch_norm_factors(struct ox_rewrite *rw, const struct ox_node *norm,
                                    int64_t channels)
{
    enum { SCALE = 1, BIAS, MEAN, VARIANCE, N_VECTORS = 4 };
    const size_t n = (size_t)channels;
    double *out = ox_rw_scratch(rw, n, (2 + N_VECTORS) * sizeof *out);
    if (!out)
        return NULL;
    double *by = out, *plus = out + n, *vectors[1 + N_VECTORS];
    for (size_t i = SCALE; i <= VARIANCE; i++) {
        vectors[i] = out + (1 + i) * n;
        if (!ox_channel_vector(rw, ox_input(norm, i), channels, vectors[i]))
            return NULL;
    }
    const double epsilon = (double)ox_attr_float(norm, "epsilon", 1e-5f);
    for (size_t i = 0; i < n; i++) {
        by[i] = vectors[SCALE][i] / sqrt(vectors[VARIANCE][i] + epsilon);
        plus[i] = vectors[BIAS][i] - vectors[MEAN][i] * by[i];
        if (!isfinite((float)by[i]) || !isfinite((float)plus[i]))
            return NULL; /* what divides by zero stays as it is */
    }
    return out;
}

struct ox_value *ox_rounded_constant(struct ox_rewrite *rw, const char *name, enum ox_dtype dtype,
                                     unsigned rank, const int64_t *dims, const double *data)
{
    struct ox_tensor *tensor = NULL;
    struct ox_value *out = NULL;
    if (ox_tensor_new(&tensor, ox_env_budget(rw->env), dtype, rank, dims, NULL) == OX_OK) {
        ox_elements_convert(dtype, tensor->data, OX_FLOAT64, data, tensor->n, false);
        out = ox_rw_constant(rw, name, tensor);
    }
    ox_tensor_release(tensor);
    return out;
}

bool ox_attr_all_are(const struct ox_node *node, const char *name, int64_t wanted)
{
    size_t n;
    const int64_t *list = ox_attr_ints(node, name, &n);
    for (size_t i = 0; list && i < n; i++)
        if (list[i] != wanted)
            return false;
    return true;
}

int64_t ox_conv_of_axis(const struct ox_node *conv, const char *name, unsigned spatial, unsigned d)
{
    size_t n;
    const int64_t *list = ox_attr_ints(conv, name, &n);
    return !list ? 1 : n == spatial ? list[d] : 0;
}

bool ox_conv_is_pointwise(struct ox_rewrite *rw, const struct ox_node *node)
{
    enum { IN_WEIGHTS = 1 };
    const struct ox_stored *w;
    if (!ox_is_domain_op(node, OX_OWN_DOMAIN, "FusedConv") || ox_attr_int(node, "transposed", 0) ||
        ox_attr_int(node, "group", 1) != 1 || !(w = ox_rw_stored(rw, node->inputs[IN_WEIGHTS])) ||
        w->rank < 3)
        return false;
    for (unsigned d = 2; d < w->rank; d++)
        if (w->dims[d] != 1)
            return false;
    return ox_attr_all_are(node, "strides", 1) && ox_attr_all_are(node, "pads", 0);
}
