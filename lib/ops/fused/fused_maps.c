/* Operators on feature maps whose channels are the last axis: pools, Resize, and a factor and addend a channel. */
#include <math.h>
#include <string.h>

#include "kernels/maps.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/resize.h"
#include "ops/rules.h"
#include "ops/window.h"

static bool is_narrow(const struct ox_tensor *x)
{
    return x->dtype == OX_UINT8 || x->dtype == OX_INT8;
}

static bool is_map(const struct ox_tensor *x)
{
    return x && (x->rank == 3 || x->rank == 4);
}

static enum ox_status check_maps(struct ox_run *r, const struct ox_tensor *x, struct ox_error *err)
{
    if (!is_map(x) || x->dtype != OX_FLOAT32)
        return ox_run_fail(r, err, OX_INPUT, "the data is no float32 of rank 3 or 4");
    return OX_OK;
}

static size_t channels_of(const struct ox_tensor *x)
{
    return (size_t)x->dims[x->rank - 1];
}

/* ---- Pools ------------------------------------------------------------------------------------------------------ */

static enum ox_status run_pool(struct ox_run *r, enum ox_pool_kind kind, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *shape, *y;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    if (!is_map(x) || !(is_narrow(x) && kind == OX_POOL_MAX))
        OX_TRY(check_maps(r, x, err));
    OX_TRY(ox_fused_first(r, x, true, &shape, err));
    OX_TRY(ox_window_init(r, shape, NULL, ox_run_int(r, "ceil_mode", 0) != 0, w, err));
    int64_t dims[4] = {x->dims[0]};
    memcpy(dims + 1, w->out, w->n * sizeof *dims);
    dims[x->rank - 1] = x->dims[x->rank - 1];
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    if (!y->n)
        return OX_OK;
    if (is_narrow(x))
        return ox_int8_max_pool(r, x, w, y, err);
    struct ox_pooling p = {.kind = kind,
                           .batch = (size_t)x->dims[0],
                           .channels = channels_of(x),
                           .in_pixel = channels_of(x),
                           .out_pixel = channels_of(x),
                           .kernel = {1, 1},
                           .stride = {1, 1},
                           .dilation = {1, 1},
                           .in = {1, 1},
                           .out = {1, 1}};
    for (unsigned d = 0, k = 2 - w->n; d < w->n; d++, k++) { /* 1-D has height 1 */
        p.kernel[k] = (size_t)w->kernel[d];
        p.stride[k] = (size_t)w->stride[d];
        p.dilation[k] = (size_t)w->dilation[d];
        p.pad[k] = (size_t)w->before[d];
        p.pad_end[k] = (size_t)w->after[d];
        p.in[k] = (size_t)w->in[d];
        p.out[k] = (size_t)w->out[d];
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
    int64_t dims[4] = {x->dims[0], 1, 1, 1};
    dims[x->rank - 1] = x->dims[x->rank - 1];
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    if (!y->n)
        return OX_OK;
    const size_t channels = channels_of(x), pixels = x->n / y->n;
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

/* Of a map of `shape` as if its channels were second: all but out_pixel. */
static enum ox_status plan_resizing(struct ox_run *r, const struct ox_resize *z,
                                    const struct ox_tensor *shape, bool nearest,
                                    struct ox_resizing *how, struct ox_error *err)
{
    const unsigned rank = shape->rank;
    const bool one = rank == 3; /* 1-D has one row */
    const size_t rows = one ? 1 : (size_t)z->axes[2].out, cols = (size_t)z->axes[rank - 1].out;
    size_t *row = ox_run_scratch(r, 2 * (rows + cols), sizeof *row, err);
    float *weights = ox_run_scratch(r, rows + cols, sizeof *weights, err);
    if (!row || !weights)
        return OX_NO_MEMORY;
    row[0] = row[1] = 0;
    weights[0] = 1;
    if (!one)
        OX_TRY(ox_resize_pairs(r, z, 2, row, weights, err));
    OX_TRY(ox_resize_pairs(r, z, rank - 1, row + 2 * rows, weights + rows, err));
    *how = (struct ox_resizing){
        .batch = (size_t)shape->dims[0],
        .channels = (size_t)shape->dims[1],
        .in = {one ? 1 : (size_t)shape->dims[2], (size_t)shape->dims[rank - 1]},
        .out = {rows, cols},
        .in_pixel = (size_t)shape->dims[1],
        .row = row,
        .col = row + 2 * rows,
        .row_weight = nearest ? NULL : weights,
        .col_weight = nearest ? NULL : weights + rows};
    return OX_OK;
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
    const unsigned rank = x->rank, last = rank - 1;
    OX_TRY(ox_fused_first(r, x, true, &shape, err));
    OX_TRY(ox_resize_plan(r, shape, &z, err));
    OX_TRY(ox_fused_slice(r, x->dims[last], &all, &at, err));
    int64_t dims[4] = {x->dims[0]};
    for (unsigned d = 2; d < rank; d++)
        dims[d - 1] = z.axes[d].out;
    dims[last] = all;
    if (z.axes[0].out != x->dims[0] || z.axes[1].out != x->dims[last] ||
        z.how.mode == OX_RESAMPLE_CUBIC || z.how.coordinates == OX_COORD_CROP || z.how.antialias)
        return ox_run_fail(r, err, OX_INTERNAL, "it resizes more than rows and columns");
    bool nearest = z.how.mode == OX_RESAMPLE_NEAREST;
    if (is_narrow(x) && !nearest)
        return ox_run_fail(r, err, OX_INTERNAL, "codes are not resized but to the nearest");
    OX_TRY(is_narrow(x) ? ox_run_out(r, 0, x->dtype, rank, dims, &y, err)
                        : ox_fused_whole(r, IN_JOINED, OX_FLOAT32, rank, dims, &y, err));
    if (!y->n)
        return OX_OK;
    if (!x->n)
        return ox_run_fail(r, err, OX_INPUT, "there are no elements to resize");
    struct ox_resizing how;
    OX_TRY(plan_resizing(r, &z, shape, nearest, &how, err));
    if (is_narrow(x)) {
        copy_pixels(x, how.row, how.col, y);
        return ox_env_poll(r->env, err);
    }
    how.out_pixel = (size_t)all;
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
    if (!x || x->dtype != OX_FLOAT32 || x->rank < 1)
        return ox_run_fail(r, err, OX_INPUT, "the data is no float32 with channels");
    if (!scale || !bias || scale->dtype != OX_FLOAT32 || bias->dtype != OX_FLOAT32 ||
        scale->n != channels_of(x) || bias->n != scale->n)
        return ox_run_fail(r, err, OX_INPUT, "scale and bias are not one float32 for each channel");
    OX_TRY(ox_fused_activation(r, &end, &row, err));
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
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
