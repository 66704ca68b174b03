/* Resize and Upsample. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/fast/fast.h"
#include "ops/real.h"
#include "ops/resample.h"
#include "ops/resize.h"

/* ---- Attributes ------------------------------------------------------------------------------------------------------ */

static int name_at(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return (int)i;
    }
    return -1;
}

static enum ox_status resize_mode(const struct ox_run *r, struct ox_resample *how,
                                  struct ox_error *err)
{
    static const char *const names[] = {"nearest", "linear", "cubic", "bilinear"};
    const char *name = ox_run_string(r, "mode");
    int at = name ? name_at(names, OX_COUNT(names), name) : 0;

    /* Upsample 1 says bilinear; cubic came with Resize 11. */
    if (at < 0 || (at == 2 && r->opset < 11) || (at == 3 && r->opset >= 7))
        return ox_run_fail(r, err, OX_INPUT, "mode '%s' is unknown", name);
    how->mode = at == 3 ? OX_RESAMPLE_LINEAR : (enum ox_resample_mode)at;
    return OX_OK;
}

/* The coordinate modes of all versions are taken by each: none changed its meaning. */
static enum ox_status resize_attrs(const struct ox_run *r, struct ox_resize *z,
                                   struct ox_error *err)
{
    static const char *const coordinates[] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
    const char *coordinate = ox_run_string(r, "coordinate_transformation_mode");
    const char *rounding = ox_run_string(r, "nearest_mode");
    int at = coordinate ? name_at(coordinates, OX_COUNT(coordinates), coordinate) : 0;
    int way = rounding ? name_at(nearest, OX_COUNT(nearest), rounding) : 0;

    OX_TRY(resize_mode(r, &z->how, err));
    if (at < 0)
        return ox_run_fail(r, err, OX_INPUT, "coordinate_transformation_mode '%s' is unknown",
                           coordinate);
    if (way < 0)
        return ox_run_fail(r, err, OX_INPUT, "nearest_mode '%s' is unknown", rounding);
    z->how.coordinates = (enum ox_resample_coordinates)at;
    z->how.nearest = (enum ox_resample_nearest)way;
    z->how.antialias = ox_run_int(r, "antialias", 0) != 0 && z->how.mode != OX_RESAMPLE_NEAREST;
    z->how.exclude_outside = ox_run_int(r, "exclude_outside", 0) != 0;
    z->how.cubic_a = ox_run_float(r, "cubic_coeff_a", -0.75F);
    z->extrapolation = ox_run_float(r, "extrapolation_value", 0);
    return OX_OK;
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------------ */

bool ox_resize_scaled(int64_t dim, double extent, double scale, int64_t *out)
{
    double size = floorf((float)dim * (float)extent * (float)scale);

    if (!(size >= 0 && size < 9e15))
        return false;
    *out = (int64_t)size;
    return true;
}

static enum ox_status axes_by_scales(const struct ox_run *r, struct ox_resize *z,
                                     const unsigned *which, size_t n, const double *scales,
                                     struct ox_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct ox_resample_axis *a = &z->axes[which[i]];
        double extent = z->how.coordinates == OX_COORD_CROP ? a->end - a->start : 1;

        if (!(scales[i] > 0) || !ox_resize_scaled(a->in, extent, scales[i], &a->out))
            return ox_run_fail(r, err, OX_INPUT, "scales[%zu] is %g", i, scales[i]);
        a->scale = scales[i];
    }
    return OX_OK;
}

static enum ox_status axes_by_sizes(const struct ox_run *r, struct ox_resize *z,
                                    const unsigned *which, size_t n, const int64_t *sizes,
                                    struct ox_error *err)
{
    const char *policy = ox_run_string(r, "keep_aspect_ratio_policy");
    bool larger = policy && strcmp(policy, "not_smaller") == 0;
    bool smaller = policy && strcmp(policy, "not_larger") == 0;
    double scale = 0;

    if (policy && !larger && !smaller && strcmp(policy, "stretch") != 0)
        return ox_run_fail(r, err, OX_INPUT, "keep_aspect_ratio_policy '%s' is unknown", policy);
    for (size_t i = 0; i < n; i++) {
        struct ox_resample_axis *a = &z->axes[which[i]];

        if (sizes[i] < 0)
            return ox_run_fail(r, err, OX_INPUT, "sizes[%zu] is %" PRId64, i, sizes[i]);
        a->out = sizes[i];
        a->scale = a->in > 0 ? (double)sizes[i] / (double)a->in : 1;
        if (i == 0 || (larger ? a->scale > scale : a->scale < scale))
            scale = a->scale;
    }
    for (size_t i = 0; i < n && (larger || smaller); i++) {
        struct ox_resample_axis *a = &z->axes[which[i]];
        double size = floor(scale * (double)a->in + 0.5);

        if (!(size < 9e15))
            return ox_run_fail(r, err, OX_INPUT, "sizes[%zu] is %" PRId64, i, sizes[i]);
        a->out = (int64_t)size;
        a->scale = scale;
    }
    return OX_OK;
}

static enum ox_status resize_roi(struct ox_run *r, struct ox_resize *z, const unsigned *which,
                                 size_t n, struct ox_error *err)
{
    const struct ox_tensor *roi = ox_run_in(r, 1);

    if (z->how.coordinates != OX_COORD_CROP)
        return OX_OK;
    if (!roi || roi->n != 2 * n)
        return ox_run_fail(r, err, OX_INPUT, "roi has %zu elements, not %zu", roi ? roi->n : 0,
                           2 * n);
    for (size_t i = 0; i < n; i++) {
        z->axes[which[i]].start = ox_tensor_get_double(roi, i);
        z->axes[which[i]].end = ox_tensor_get_double(roi, n + i);
    }
    return OX_OK;
}

/* Which axes the sizes are for. */
static enum ox_status resize_axes(const struct ox_run *r, const struct ox_tensor *in,
                                  struct ox_resize *z, unsigned *which, size_t *n,
                                  struct ox_error *err)
{
    const int64_t *axes = ox_run_ints(r, "axes", n);

    OX_TRY(ox_move_rank(r, in->rank, err));
    for (unsigned i = 0; i < in->rank; i++) {
        z->axes[i] = (struct ox_resample_axis){in->dims[i], in->dims[i], 1, 0, 1};
        which[i] = i;
    }
    if (axes)
        return ox_move_axes(r, axes, *n, in->rank, which, err);
    *n = in->rank;
    return OX_OK;
}

/* ---- Kernels ---------------------------------------------------------------------------------------------------------- */

static enum ox_status resize_out_dims(const struct ox_run *r, const struct ox_tensor *in,
                                      const struct ox_resize *z, int64_t *dims,
                                      struct ox_error *err)
{
    for (unsigned i = 0; i < in->rank; i++) {
        dims[i] = z->axes[i].out;
        if (dims[i] > 0 && in->dims[i] == 0)
            return ox_run_fail(r, err, OX_INPUT, "axis %u has no elements to resize", i);
    }
    return OX_OK;
}

static enum ox_status resize_nearest(struct ox_run *r, const struct ox_tensor *in,
                                     const struct ox_resize *z, struct ox_error *err)
{
    int64_t dims[OX_MOVE_RANK], *lists[OX_MOVE_RANK];
    struct ox_tensor *out, *fill;

    OX_TRY(resize_out_dims(r, in, z, dims, err));
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    for (unsigned i = 0; i < in->rank; i++) {
        lists[i] = ox_run_scratch(r, (size_t)dims[i], sizeof(*lists[i]), err);
        if (!lists[i])
            return OX_NO_MEMORY;
        if (ox_resample_is_identity(&z->how, &z->axes[i])) {
            for (int64_t k = 0; k < dims[i]; k++)
                lists[i][k] = k;
        } else {
            ox_resample_nearest_list(&z->how, &z->axes[i], lists[i]);
        }
    }
    char zeros[16] = {0};
    bool made = in->dtype != OX_STRING && z->extrapolation != 0;

    if (made)
        OX_TRY(ox_move_scalar(r, in->dtype, z->extrapolation, &fill, err));
    ox_move_lists(in->rank, in->dims, dims, (const int64_t *const *)lists, ox_dtype_size(in->dtype),
                  made ? fill->data : zeros, out->data, in->data);
    if (made)
        ox_tensor_release(fill);
    return ox_move_own(out, err);
}

/* To the nearest integers that the type has; NaN to the least. */
static void to_integers(enum ox_dtype dtype, double *values, size_t n)
{
    const double ones = 6755399441055744.0; /* 3 * 2^51: the last digit of a sum is one */
    const unsigned bits = ox_dtype_bits(dtype);
    const bool is_signed = ox_dtype_is_signed(dtype);
    double high = ldexp(1, (int)bits - is_signed);
    const double low = is_signed ? -high : 0;
    /* Of 64-bit types the largest is no double: the one before the power of two is. */
    high = bits > 53 ? nextafter(high, 0) : high - 1;
    for (size_t i = 0; i < n && dtype == OX_BOOL; i++)
        values[i] = values[i] > 0.5;
    for (size_t i = 0; i < n && dtype != OX_BOOL; i++) {
        const double above = values[i] > low ? values[i] : low;
        const double value = above < high ? above : high;
        values[i] = bits > 32 ? rint(value) : value + ones - ones;
    }
}

/* One axis after the other: the weights of several axes are products. */
static enum ox_status resize_linear(struct ox_run *r, const struct ox_tensor *in,
                                    const struct ox_resize *z, struct ox_error *err)
{
    size_t pair = ox_resample_parts(in->dtype), n = in->n * pair, pieces = 0;
    int64_t dims[OX_MOVE_RANK], now[OX_MOVE_RANK];
    struct ox_tensor *out;

    if (in->dtype == OX_STRING)
        return ox_run_fail(r, err, OX_INPUT, "strings can be resized by mode 'nearest' alone");
    OX_TRY(resize_out_dims(r, in, z, dims, err));
    for (unsigned i = 0; i < in->rank; i++) {
        if (dims[i] == 0)
            return ox_run_out(r, 0, in->dtype, in->rank, dims, &out, err);
    }
    if (in->n == 0)
        return ox_run_out(r, 0, in->dtype, in->rank, dims, &out, err);
    double *values = ox_resample_load(r, in, err);

    if (!values)
        return OX_NO_MEMORY;
    memcpy(now, in->dims, in->rank * sizeof(now[0]));
    for (unsigned i = 0; i < in->rank; i++) {
        const struct ox_resample_axis *a = &z->axes[i];
        size_t taps, outer = 1, inner = pair;

        if (ox_resample_is_identity(&z->how, a))
            continue;
        taps = ox_resample_taps(&z->how, a);
        n = pair;
        now[i] = a->out;
        for (unsigned k = 0; k < in->rank; k++) {
            outer *= k < i ? (size_t)now[k] : 1;
            inner *= k > i ? (size_t)now[k] : 1;
            if (OX_MUL_OVERFLOWS(n, (size_t)now[k], &n))
                return ox_run_fail(r, err, OX_LIMIT, "too many elements");
        }
        size_t entries;

        if (taps == 0 || OX_MUL_OVERFLOWS(taps, (size_t)a->out, &entries))
            return ox_run_fail(r, err, OX_LIMIT, "a scale of %g on axis %u needs too wide a filter",
                               a->scale, i);
        int64_t *index = ox_run_scratch(r, entries, sizeof(*index), err);
        double *weight = ox_real_scratch(r, entries, err);
        double *next = (pieces++ < 4 ? ox_run_work : ox_run_scratch)(r, n, sizeof *next, err);

        if (!index || !weight || !next)
            return OX_NO_MEMORY;
        ox_resample_table(&z->how, a, taps, index, weight);
        ox_resample_apply(r->env, a, outer, inner, taps, index, weight, z->extrapolation, values,
                          next);
        values = next;
    }
    if (in->dtype == OX_BOOL || ox_dtype_is_integer(in->dtype))
        to_integers(in->dtype, values, n);
    return ox_resample_store(r, in->dtype, in->rank, dims, values, err);
}

static enum ox_status resize_run(struct ox_run *r, const struct ox_resize *z, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);

    return z->how.mode == OX_RESAMPLE_NEAREST ? resize_nearest(r, in, z, err)
                                              : resize_linear(r, in, z, err);
}

/* ---- Resize ------------------------------------------------------------------------------------------------------------ */

static enum ox_status scales_of(struct ox_run *r, const struct ox_tensor *scales, size_t n,
                                double *out, struct ox_error *err)
{
    if (scales->n != n)
        return ox_run_fail(r, err, OX_INPUT, "%zu scales for %zu axes", scales->n, n);
    for (size_t i = 0; i < n; i++)
        out[i] = ox_tensor_get_double(scales, i);
    return OX_OK;
}

enum ox_status ox_resize_plan(struct ox_run *r, const struct ox_tensor *in, struct ox_resize *plan,
                              struct ox_error *err)
{
    const struct ox_tensor *scales = ox_run_in(r, 2), *sizes = ox_run_in(r, 3);
    unsigned which[OX_MOVE_RANK];
    double by[OX_MOVE_RANK];
    const int64_t *list;
    size_t n = 0, n_sizes;

    *plan = (struct ox_resize){.extrapolation = 0};
    OX_TRY(resize_attrs(r, plan, err));
    OX_TRY(resize_axes(r, in, plan, which, &n, err));
    OX_TRY(resize_roi(r, plan, which, n, err));
    bool by_sizes = sizes && (sizes->n > 0 || !scales || scales->n == 0);

    if (by_sizes && scales && scales->n > 0)
        return ox_run_fail(r, err, OX_INPUT, "both scales and sizes are given");
    if (by_sizes) {
        OX_TRY(ox_move_list(r, 3, &list, &n_sizes, err));
        if (n_sizes != n)
            return ox_run_fail(r, err, OX_INPUT, "%zu sizes for %zu axes", n_sizes, n);
        OX_TRY(axes_by_sizes(r, plan, which, n, list, err));
    } else {
        if (!scales)
            return ox_run_fail(r, err, OX_INPUT, "neither scales nor sizes are given");
        OX_TRY(scales_of(r, scales, n, by, err));
        OX_TRY(axes_by_scales(r, plan, which, n, by, err));
    }
    return OX_OK;
}

static enum ox_status run_resize(struct ox_run *r, struct ox_error *err)
{
    struct ox_resize z;
    OX_TRY(ox_resize_plan(r, ox_run_in(r, 0), &z, err));
    return resize_run(r, &z, err);
}

/* ---- Upsample and Resize 10 --------------------------------------------------------------------------------------------- */

static enum ox_status plan_by(struct ox_run *r, const double *scales, bool simple,
                              struct ox_resize *z, struct ox_error *err)
{
    unsigned which[OX_MOVE_RANK];
    size_t n = 0;

    *z = (struct ox_resize){.how = {.coordinates = OX_COORD_ASYMMETRIC,
                                    .nearest = simple ? OX_NEAREST_SIMPLE : OX_NEAREST_FLOOR}};
    OX_TRY(resize_mode(r, &z->how, err));
    OX_TRY(resize_axes(r, ox_run_in(r, 0), z, which, &n, err));
    return axes_by_scales(r, z, which, n, scales, err);
}

static enum ox_status run_upsample_by(struct ox_run *r, const double *scales, struct ox_error *err)
{
    struct ox_resize z;

    OX_TRY(plan_by(r, scales, false, &z, err));
    return resize_run(r, &z, err);
}

static enum ox_status run_upsample_image(struct ox_run *r, struct ox_error *err)
{
    double scales[4] = {1, 1, ox_run_float(r, "height_scale", 1),
                        ox_run_float(r, "width_scale", 1)};

    if (ox_run_in(r, 0)->rank != 4)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 4", ox_run_in(r, 0)->rank);
    return run_upsample_by(r, scales, err);
}

static enum ox_status run_upsample_attr(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    double scales[OX_MOVE_RANK];
    size_t n;
    const float *list = ox_run_floats(r, "scales", &n);

    OX_TRY(ox_move_rank(r, in->rank, err));
    if (n != in->rank)
        return ox_run_fail(r, err, OX_INPUT, "%zu scales for %u axes", n, in->rank);
    for (size_t i = 0; i < n; i++)
        scales[i] = list[i];
    return run_upsample_by(r, scales, err);
}

enum ox_status ox_upsample_plan(struct ox_run *r, struct ox_resize *plan, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    double scales[OX_MOVE_RANK];

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(scales_of(r, ox_run_in(r, 1), in->rank, scales, err));
    return plan_by(r, scales, strcmp(r->node->op_type, "Resize") == 0, plan, err);
}

static enum ox_status run_upsample(struct ox_run *r, struct ox_error *err)
{
    struct ox_resize z;

    OX_TRY(ox_upsample_plan(r, &z, err));
    return resize_run(r, &z, err);
}

const struct ox_op ox_ops_resize[] = {
    {"", "Upsample", 1, 0, .infer = ox_infer_upsample, .run = run_upsample_image},
    {"", "Upsample", 7, 0, .infer = ox_infer_upsample, .run = run_upsample_attr},
    {"", "Upsample", 9, 0, .infer = ox_infer_upsample, .run = run_upsample, .fast = ox_fast_resize},
    {"", "Resize", 10, 0, .infer = ox_infer_upsample, .run = run_upsample, .fast = ox_fast_resize},
    {"", "Resize", 11, 0, .infer = ox_infer_resize, .run = run_resize, .fast = ox_fast_resize},
    {0}};
