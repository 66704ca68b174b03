/* Taps of a convolution that meet padding alone, at every output, are left out: those above and below a map that is one line high, and all but the
 * middle one where dilation is wider than the map, as in pyramids of dilated convolutions (DeepLab) of small images. */
#include <math.h>
#include <string.h>

#include "common/forget.h"
#include "graph/match.h"
#include "graph/passes/channels.h"

enum { MOST_SPATIAL = 3, SIZE_MOST = 1 << 28 };

/* A spatial axis: what the node says of it, and which taps are kept with which padding. */
struct axis {
    int64_t in, out, kernel, stride, dilation, begin;
    int64_t first, n, pads[2];
};

/* Whether the tap lies in the map at some output. */
static bool meets(const struct axis *a, int64_t tap)
{
    const int64_t at = tap * a->dilation - a->begin; /* at output 0 */
    const int64_t y = at < 0 ? (-at + a->stride - 1) / a->stride : 0;
    return y < a->out && y * a->stride + at < a->in;
}

/* Outputs of taps [first, first + n) with the padding that they need come to as many. */
static bool comes_out(struct axis *a)
{
    const int64_t reach = (a->n - 1) * a->dilation + 1;
    a->pads[0] = a->begin - a->first * a->dilation;
    const int64_t behind = (a->out - 1) * a->stride + reach - a->in - a->pads[0];
    a->pads[1] = behind > 0 ? behind : 0;
    return (a->in + a->pads[0] + a->pads[1] - reach) / a->stride + 1 == a->out;
}

/* Padding must not become negative: then some taps that meet nothing stay. */
static void crop(struct axis *a)
{
    int64_t last = a->kernel - 1;
    a->first = 0;
    while (a->first < last && !meets(a, a->first) && (a->first + 1) * a->dilation <= a->begin)
        a->first++;
    while (last > a->first && !meets(a, last))
        last--;
    a->n = last - a->first + 1;
    while (!comes_out(a) && a->first + a->n < a->kernel)
        a->n++;
}

static bool in_range(int64_t x, int64_t least)
{
    return x >= least && x <= SIZE_MOST;
}

static bool read_axis(struct ox_rewrite *rw, const struct ox_node *conv, unsigned spatial,
                      unsigned d, struct axis *out)
{
    size_t n_pads;
    const int64_t *pads = ox_attr_ints(conv, "pads", &n_pads);
    if (pads && n_pads != 2 * (size_t)spatial)
        return false;
    *out = (struct axis){.in = ox_dim_of(rw, conv->inputs[0], (int)d + 2),
                         .out = ox_dim_of(rw, conv->outputs[0], (int)d + 2),
                         .kernel = ox_dim_of(rw, conv->inputs[1], (int)d + 2),
                         .stride = ox_conv_of_axis(conv, "strides", spatial, d),
                         .dilation = ox_conv_of_axis(conv, "dilations", spatial, d),
                         .begin = pads ? pads[d] : 0};
    const int64_t end = pads ? pads[spatial + d] : 0;
    if (!in_range(out->in, 1) || !in_range(out->out, 1) || !in_range(out->kernel, 1) ||
        !in_range(out->stride, 1) || !in_range(out->dilation, 1) || !in_range(out->begin, 0) ||
        !in_range(end, 0))
        return false;
    crop(out);
    return comes_out(out);
}

static bool all_finite(const uint8_t *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, from + i * (int64_t)sizeof x, sizeof x);
        if (!isfinite(x))
            return false;
    }
    return true;
}

/* The kept taps of each pair of channels, [pairs][taps of axes]; false: one that is left out is no number, which padding would tell.
 * `from`, floats, may lie at any address. */
static bool copy_kept(const uint8_t *from, size_t pairs, const struct axis *axes, float *to)
{
    const struct axis *z = &axes[0], *y = &axes[1], *x = &axes[2];
    const int64_t size = sizeof *to, behind = x->kernel - x->first - x->n;
    for (size_t line = 0, lines = pairs * (size_t)(z->kernel * y->kernel); line < lines; line++) {
        const int64_t at_y = (int64_t)line % y->kernel,
                      at_z = (int64_t)line / y->kernel % z->kernel;
        const bool kept = at_y >= y->first && at_y < y->first + y->n && at_z >= z->first &&
                          at_z < z->first + z->n;
        if (kept ? !all_finite(from, x->first) ||
                       !all_finite(from + (x->first + x->n) * size, behind)
                 : !all_finite(from, x->kernel))
            return false;
        if (kept) {
            memcpy(to, from + x->first * size, (size_t)(x->n * size));
            to += x->n;
        }
        from += x->kernel * size;
    }
    return true;
}

/* Elements as the file has them where it holds floats as memory does, which saves a copy; else of a tensor, to be released. NULL: they cannot
 * be read. */
static const uint8_t *elements_of(struct ox_rewrite *rw, const struct ox_stored *stored, size_t n,
                                  struct ox_tensor **loaded)
{
    if (stored->place == OX_STORED_RAW && !OX_BIG_ENDIAN && stored->raw_bytes == n * sizeof(float))
        return stored->raw;
    return ox_stored_load(rw->model, stored, loaded, NULL) == OX_OK ? (*loaded)->data : NULL;
}

static struct ox_value *cropped(struct ox_rewrite *rw, const struct ox_value *weights,
                                unsigned spatial, const struct axis *axes)
{
    const struct ox_stored *stored = ox_rw_stored(rw, weights);
    size_t n;
    if (!ox_dims_count(stored->rank, stored->dims, &n) || n == 0)
        return NULL;
    struct axis all[MOST_SPATIAL];
    int64_t dims[2 + MOST_SPATIAL] = {stored->dims[0], stored->dims[1]};
    for (unsigned d = 0; d < MOST_SPATIAL; d++) {
        const unsigned missing = MOST_SPATIAL - spatial;
        all[d] = d < missing ? (struct axis){.kernel = 1, .n = 1} : axes[d - missing];
    }
    for (unsigned d = 0; d < spatial; d++)
        dims[2 + d] = axes[d].n;
    struct ox_tensor *loaded = NULL, *kept = NULL;
    struct ox_value *value = NULL;
    const uint8_t *from = elements_of(rw, stored, n, &loaded);
    if (from &&
        ox_tensor_new(&kept, ox_env_budget(rw->env), OX_FLOAT32, stored->rank, dims, NULL) ==
            OX_OK &&
        copy_kept(from, (size_t)(dims[0] * dims[1]), all, kept->data))
        value = ox_rw_constant(rw, weights->name, kept);
    if (from && !loaded)
        ox_mapping_forget(from, stored->raw_bytes);
    ox_tensor_release(kept);
    ox_tensor_release(loaded);
    return value;
}

void ox_crop_kernel(struct ox_rewrite *rw, struct ox_node *conv)
{
    struct ox_value *const w = ox_input(conv, 0) ? ox_input(conv, 1) : NULL;
    const struct ox_stored *stored = w ? ox_rw_stored(rw, w) : NULL;
    struct axis axes[MOST_SPATIAL];
    int64_t pads[2 * MOST_SPATIAL], kernel[MOST_SPATIAL];
    if (!stored || stored->dtype != OX_FLOAT32 || stored->rank < 3 ||
        stored->rank > 2 + MOST_SPATIAL ||
        strcmp(ox_attr_string(conv, "auto_pad", "NOTSET"), "NOTSET") != 0)
        return;
    const unsigned spatial = stored->rank - 2;
    bool fewer = false;
    for (unsigned d = 0; d < spatial; d++) {
        if (!read_axis(rw, conv, spatial, d, &axes[d]))
            return;
        fewer = fewer || axes[d].n < axes[d].kernel;
        kernel[d] = axes[d].n;
        pads[d] = axes[d].pads[0];
        pads[spatial + d] = axes[d].pads[1];
    }
    struct ox_value *kept = fewer ? cropped(rw, w, spatial, axes) : NULL;
    if (!kept)
        return;
    ox_rw_set_input(rw, conv, 1, kept);
    rw->failed |= !ox_node_set_ints(conv, "pads", pads, 2 * (size_t)spatial);
    if (ox_node_attr(conv, "kernel_shape"))
        rw->failed |= !ox_node_set_ints(conv, "kernel_shape", kernel, spatial);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (ox_is_op(node, "Conv"))
        ox_crop_kernel(rw, node);
}

enum ox_status ox_pass_crop_kernels(struct ox_rewrite *rw, struct ox_graph *graph,
                                    struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
