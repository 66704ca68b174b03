/* ConvTranspose of stride 1 is Conv by the flipped kernel, whose channels change places within each group, and with padding that
 * reaches as far as the kernel: all the ways of Conv serve it then (Dumoulin and Visin, "A guide to convolution arithmetic for deep
 * learning", 4.1). */
#include "graph/match.h"
#include "graph/passes/channels.h"

enum { AXES = 2 };

/* The padding of the convolution: before each axis, and then after. false: it would cut. */
static bool pads_of(const struct ox_node *node, const int64_t *kernel, size_t axes, int64_t *out)
{
    enum { REACH_MOST = 1 << 20 };
    size_t n_pads, n_dilations;
    const int64_t *pads = ox_attr_ints(node, "pads", &n_pads);
    const int64_t *dilations = ox_attr_ints(node, "dilations", &n_dilations);
    if ((n_pads && n_pads != 2 * axes) || (n_dilations && n_dilations != axes))
        return false;
    for (size_t i = 0; i < 2 * axes; i++) {
        const int64_t step = n_dilations ? dilations[i % axes] : 1;
        if (step < 1 || step > REACH_MOST || kernel[i % axes] < 1 || kernel[i % axes] > REACH_MOST)
            return false;
        out[i] = step * (kernel[i % axes] - 1) - (n_pads ? pads[i] : 0);
        if (out[i] < 0 || (n_pads && pads[i] < 0))
            return false;
    }
    return true;
}

/* [in][out / groups][taps] becomes [out][in / groups][taps], the last tap first. */
static void flip(const float *from, size_t groups, const int64_t *dims, size_t taps, float *to)
{
    const size_t k = (size_t)dims[0] / groups, n = (size_t)dims[1];
    for (size_t o = 0; o < groups * n; o++)
        for (size_t u = 0; u < k; u++, to += taps)
            for (size_t tap = 0; tap < taps; tap++)
                to[tap] = from[((o / n * k + u) * n + o % n) * taps + taps - 1 - tap];
}

static struct ox_value *flipped(struct ox_rewrite *rw, const struct ox_value *weights,
                                size_t groups)
{
    const struct ox_tensor *tensor = ox_rw_const(rw, weights);
    float *data = tensor && tensor->n ? ox_rw_scratch(rw, tensor->n, sizeof *data) : NULL;
    if (!data)
        return NULL;
    int64_t dims[2 + AXES] = {tensor->dims[1] * (int64_t)groups, tensor->dims[0] / (int64_t)groups};
    for (unsigned i = 2; i < tensor->rank; i++)
        dims[i] = tensor->dims[i];
    flip(tensor->data, groups, tensor->dims,
         tensor->n / (size_t)(tensor->dims[0] * tensor->dims[1]), data);
    return ox_rw_floats(rw, weights->name, tensor->rank, dims, data);
}

/* Whether images are known to be smaller than the kernel: each phase of a transposed convolution leaves the taps out that meet none
 * of a row's pixels, where the tiles of a convolution go past several rows. */
static bool is_small(struct ox_rewrite *rw, const struct ox_value *x, const int64_t *kernel,
                     size_t axes)
{
    for (size_t i = 0; i < axes; i++) {
        const int64_t size = ox_dim_of(rw, x, 2 + (int)i);
        if (size >= 0 && size < kernel[i])
            return true;
    }
    return false;
}

void ox_flip_transposed(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *const value = ox_input(node, 1);
    const struct ox_stored *weights = value ? ox_rw_stored(rw, value) : NULL;
    const int64_t groups = ox_attr_int(node, "group", 1);
    int64_t pads[2 * AXES];
    if (!weights || weights->dtype != OX_FLOAT32 || weights->rank < 3 || weights->rank > 2 + AXES ||
        groups < 1 || weights->dims[0] % groups != 0 || !ox_input(node, 0) ||
        !ox_attr_all_are(node, "strides", 1) || !ox_attr_all_are(node, "output_padding", 0) ||
        is_small(rw, node->inputs[0], weights->dims + 2, weights->rank - 2) ||
        !pads_of(node, weights->dims + 2, weights->rank - 2, pads))
        return;
    struct ox_value *in[] = {node->inputs[0], flipped(rw, value, (size_t)groups),
                             ox_input(node, 2)};
    if (!in[1])
        return;
    ox_rw_become(rw, node, "Conv", "", in, in[2] ? 3 : 2);
    rw->failed |= !ox_node_set_ints(node, "pads", pads, 2 * (weights->rank - 2));
}
