/* Operators on feature maps whose channels are the last axis: pools, Resize, and a factor and addend a channel. */
#include <math.h>
#include <string.h>

#include "kernels/maps.h"
#include "ops/fused.h"
#include "ops/infer.h"
#include "ops/int8.h"
#include "ops/resize.h"
#include "ops/rules.h"
#include "ops/window.h"

static bool is_narrow(const struct ox_tensor *x)
{
    return x->dtype == OX_UINT8 || x->dtype == OX_INT8;
}

static enum ox_status check_maps(struct ox_run *r, const struct ox_tensor *x, struct ox_error *err)
{
    if (!x || x->dtype != OX_FLOAT32 || x->rank != 4)
        return ox_run_fail(r, err, OX_INPUT, "the data is no float32 of rank 4");
    return OX_OK;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------ */

static enum ox_status run_pool(struct ox_run *r, enum ox_pool_kind kind, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *shape, *y;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    if (!x || x->rank != 4 || !(is_narrow(x) && kind == OX_POOL_MAX))
        OX_TRY(check_maps(r, x, err));
    OX_TRY(ox_fused_first(r, x, true, &shape, err));
    OX_TRY(ox_window_init(r, shape, NULL, ox_run_int(r, "ceil_mode", 0) != 0, w, err));
    const int64_t dims[4] = {x->dims[0], w->out[0], w->out[1], x->dims[3]};
    OX_TRY(ox_run_out(r, 0, x->dtype, 4, dims, &y, err));
    if (!y->n)
        return OX_OK;
    if (is_narrow(x)) {
        ox_int8_max_pool(r, x, w, y);
        return ox_env_poll(r->env, err);
    }
    struct ox_pooling p = {.kind = kind,
                           .batch = (size_t)x->dims[0],
                           .channels = (size_t)x->dims[3],
                           .in_pixel = (size_t)x->dims[3],
                           .out_pixel = (size_t)x->dims[3]};
    for (unsigned d = 0; d < 2; d++) {
        p.kernel[d] = (size_t)w->kernel[d];
        p.stride[d] = (size_t)w->stride[d];
        p.dilation[d] = (size_t)w->dilation[d];
        p.pad[d] = (size_t)w->before[d];
        p.pad_end[d] = (size_t)w->after[d];
        p.in[d] = (size_t)w->in[d];
        p.out[d] = (size_t)w->out[d];
    }
    ox_maps_pool(ox_compute(ox_cpu()), r->env, &p, x->data, y->data);
    return ox_env_poll(r->env, err);
}

enum ox_status ox_fused_max_pool(struct ox_run *r, struct ox_error *err)
{
    return run_pool(r, OX_POOL_MAX, err);
}

static enum ox_status run_average_pool(struct ox_run *r, struct ox_error *err)
{
    bool padded = ox_run_int(r, "count_include_pad", 0) != 0;
    return run_pool(r, padded ? OX_POOL_AVERAGE_PADDED : OX_POOL_AVERAGE, err);
}

static enum ox_status run_global(struct ox_run *r, bool max, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *y;
    OX_TRY(check_maps(r, x, err));
    OX_TRY(
        ox_run_out(r, 0, OX_FLOAT32, 4, (const int64_t[]){x->dims[0], 1, 1, x->dims[3]}, &y, err));
    size_t channels = (size_t)x->dims[3], pixels = (size_t)(x->dims[1] * x->dims[2]);
    if (!y->n)
        return OX_OK;
    if (!pixels)
        return ox_run_fail(r, err, OX_INPUT, "there are no pixels to pool");
    ox_maps_pool_global(ox_compute(ox_cpu()), r->env, max, (size_t)x->dims[0], channels, pixels,
                        x->data, channels, y->data, channels);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_global_max(struct ox_run *r, struct ox_error *err)
{
    return run_global(r, true, err);
}

static enum ox_status run_global_average(struct ox_run *r, struct ox_error *err)
{
    return run_global(r, false, err);
}

/* ---- Resize ----------------------------------------------------------------------------------------------------- */

/* Codes of the pixels that tables of two indices a place name. */
static void copy_pixels(const struct ox_tensor *x, const size_t *row, const size_t *col,
                        struct ox_tensor *y)
{
    size_t channels = (size_t)x->dims[3], across = (size_t)x->dims[2];
    uint8_t *out = y->data;
    for (int64_t n = 0; n < y->dims[0]; n++) {
        const uint8_t *image =
            (const uint8_t *)x->data + (size_t)(n * x->dims[1]) * across * channels;
        for (int64_t i = 0; i < y->dims[1]; i++)
            for (int64_t j = 0; j < y->dims[2]; j++, out += channels)
                memcpy(out, image + (row[2 * i] * across + col[2 * j]) * channels, channels);
    }
}

/* Of floats the output may be a slice of a larger one, as in fused_conv.c. */
static enum ox_status run_resize(struct ox_run *r, struct ox_error *err)
{
    enum { IN_JOINED = 4 };
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *shape, *y;
    struct ox_resize z;
    int64_t all, at;
    if (!x || x->rank != 4 || !is_narrow(x))
        OX_TRY(check_maps(r, x, err));
    OX_TRY(ox_fused_first(r, x, true, &shape, err));
    OX_TRY(ox_resize_plan(r, shape, &z, err));
    OX_TRY(ox_fused_slice(r, x->dims[3], &all, &at, err));
    const int64_t dims[4] = {x->dims[0], z.axes[2].out, z.axes[3].out, all};
    if (z.axes[0].out != x->dims[0] || z.axes[1].out != x->dims[3] ||
        z.how.mode == OX_RESAMPLE_CUBIC || z.how.coordinates == OX_COORD_CROP || z.how.antialias)
        return ox_run_fail(r, err, OX_INTERNAL, "it resizes more than rows and columns");
    bool nearest = z.how.mode == OX_RESAMPLE_NEAREST;
    if (is_narrow(x) && !nearest)
        return ox_run_fail(r, err, OX_INTERNAL, "codes are not resized but to the nearest");
    OX_TRY(is_narrow(x) ? ox_run_out(r, 0, x->dtype, 4, dims, &y, err)
                        : ox_fused_whole(r, IN_JOINED, 4, dims, &y, err));
    if (!y->n)
        return OX_OK;
    if (!x->n)
        return ox_run_fail(r, err, OX_INPUT, "there are no elements to resize");
    size_t rows = (size_t)dims[1], cols = (size_t)dims[2];
    size_t *row = ox_run_scratch(r, 2 * (rows + cols), sizeof *row, err);
    float *weights = ox_run_scratch(r, rows + cols, sizeof *weights, err);
    if (!row || !weights)
        return OX_NO_MEMORY;
    OX_TRY(ox_resize_pairs(r, &z, 2, row, weights, err));
    OX_TRY(ox_resize_pairs(r, &z, 3, row + 2 * rows, weights + rows, err));
    if (is_narrow(x)) {
        copy_pixels(x, row, row + 2 * rows, y);
        return ox_env_poll(r->env, err);
    }
    const struct ox_resizing how = {.batch = (size_t)dims[0],
                                    .channels = (size_t)x->dims[3],
                                    .in = {(size_t)x->dims[1], (size_t)x->dims[2]},
                                    .out = {rows, cols},
                                    .in_pixel = (size_t)x->dims[3],
                                    .out_pixel = (size_t)all,
                                    .row = row,
                                    .col = row + 2 * rows,
                                    .row_weight = nearest ? NULL : weights,
                                    .col_weight = nearest ? NULL : weights + rows};
    ox_maps_resize(ox_compute(ox_cpu()), r->env, &how, x->data, (float *)y->data + at);
    return ox_env_poll(r->env, err);
}

/* ---- A factor and an addend a channel --------------------------------------------------------------------------- */

struct affine {
    const struct ox_epilogue *end;
    const struct ox_compute *table;
    const float *x, *scale, *bias;
    float *y;
    size_t channels, pixels, grain;
};

static void affine_chunk(void *arg, size_t i, size_t slot)
{
    const struct affine *a = arg;
    size_t n = a->channels, first = i * a->grain;
    size_t last = a->pixels - first < a->grain ? a->pixels : first + a->grain;
    (void)slot;
    for (size_t p = first; p < last; p++) {
        const float *x = a->x + p * n;
        float *y = a->y + p * n;
        for (size_t c = 0; c < n; c++)
            y[c] = x[c] * a->scale[c] + a->bias[c];
    }
    float *y = a->y + first * n;
    if (a->end->act == OX_ACT_ROW)
        a->end->row(a->end->row_arg, (last - first) * n, y);
    else if (a->end->act != OX_ACT_NONE)
        a->table->finish((last - first) * n, a->end, y);
}

/* Inputs: data, scale, bias (a channel each). */
static enum ox_status run_affine(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *scale = ox_run_in(r, 1), *bias = ox_run_in(r, 2);
    struct ox_epilogue end = {.act = OX_ACT_NONE};
    struct ox_fused_row row;
    struct ox_tensor *y;
    OX_TRY(check_maps(r, x, err));
    if (!scale || !bias || scale->dtype != OX_FLOAT32 || bias->dtype != OX_FLOAT32 ||
        scale->n != (size_t)x->dims[3] || bias->n != scale->n)
        return ox_run_fail(r, err, OX_INPUT, "scale and bias are not one float32 for each channel");
    OX_TRY(ox_fused_activation(r, &end, &row, err));
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, 4, x->dims, &y, err));
    if (!y->n)
        return OX_OK;
    enum { CHUNK = 8192 };
    struct affine a = {.end = &end,
                       .table = ox_compute(ox_cpu()),
                       .x = x->data,
                       .scale = scale->data,
                       .bias = bias->data,
                       .y = y->data,
                       .channels = scale->n,
                       .pixels = y->n / scale->n};
    a.grain = a.channels < CHUNK ? CHUNK / a.channels : 1;
    ox_spread(r->env, (a.pixels + a.grain - 1) / a.grain, (double)y->n * 8, affine_chunk, &a);
    return ox_env_poll(r->env, err);
}

const struct ox_op ox_ops_fused_maps[] = {
    {OX_OWN_DOMAIN, "AveragePool", 1, .run = run_average_pool},
    {OX_OWN_DOMAIN, "ChannelAffine", 1, .infer = ox_rule_same, .run = run_affine},
    {OX_OWN_DOMAIN, "GlobalAveragePool", 1, .run = run_global_average},
    {OX_OWN_DOMAIN, "GlobalMaxPool", 1, .run = run_global_max},
    {OX_OWN_DOMAIN, "MaxPool", 1, .run = ox_fused_max_pool},
    {OX_OWN_DOMAIN, "Resize", 1, .run = run_resize},
    {0}};
