/* Clip: bounds by attribute (1, 6) or by input (11). */
#include <float.h>

#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/rules.h"

/* A missing bound is the least or greatest finite number of the type. */
struct clip {
    const void *min, *max; /* an element each, or NULL */
};

#define T_LOWEST T_MIN
#define T_HIGHEST T_MAX
#define STAMP "ops/clip_tmpl.h"
#include "common/stamp_integers.h"
#undef T_LOWEST
#undef T_HIGHEST
#define T_LOWEST (sizeof(T) == sizeof(float) ? -(T)FLT_MAX : -(T)DBL_MAX)
#define T_HIGHEST (sizeof(T) == sizeof(float) ? (T)FLT_MAX : (T)DBL_MAX)
#define STAMP "ops/clip_tmpl.h"
#include "common/stamp_floats.h"

/* The narrow types by way of float, with their own greatest number where a bound is missing. */
static void clip_narrow(const struct ox_row *row, const struct clip *bounds, enum ox_dtype dtype,
                        float most)
{
    enum { CHUNK = 256 };
    float low = -most, high = most, values[CHUNK];
    if (bounds->min)
        ox_elements_convert(OX_FLOAT32, &low, dtype, bounds->min, 1, true);
    if (bounds->max)
        ox_elements_convert(OX_FLOAT32, &high, dtype, bounds->max, 1, true);
    const struct clip wide = {&low, &high};
    for (size_t at = 0; at < row->n; at += CHUNK) {
        size_t n = row->n - at < CHUNK ? row->n - at : CHUNK;
        struct ox_row part = {.n = n, .in = {values}, .step = {1}, .out = values};
        ox_elements_convert(OX_FLOAT32, values, dtype, (const uint16_t *)row->in[0] + at, n, true);
        clip_f32(&part, &wide);
        ox_elements_convert(dtype, (uint16_t *)row->out + at, OX_FLOAT32, values, n, true);
    }
}

static void clip_half(const struct ox_row *row, const void *arg)
{
    clip_narrow(row, arg, OX_FLOAT16, 65504.0f);
}

static void clip_bfloat(const struct ox_row *row, const void *arg)
{
    clip_narrow(row, arg, OX_BFLOAT16, 0x1.FEp127f);
}

static const struct ox_kernels clip_kernels = {
    {OX_KERNELS_NUMBER(clip), [OX_FLOAT16] = clip_half, [OX_BFLOAT16] = clip_bfloat}};

static enum ox_status run_clip_attributes(struct ox_run *r, struct ox_error *err)
{
    bool wide = ox_run_in(r, 0)->dtype == OX_FLOAT64;
    float low = ox_run_float(r, "min", -FLT_MAX), high = ox_run_float(r, "max", FLT_MAX);
    double wide_low = (double)low, wide_high = (double)high;
    struct clip bounds = {NULL, NULL};
    if (ox_run_attr(r, "min") || r->opset >= 6)
        bounds.min = wide ? (const void *)&wide_low : &low;
    if (ox_run_attr(r, "max") || r->opset >= 6)
        bounds.max = wide ? (const void *)&wide_high : &high;
    return ox_run_elementwise(r, &clip_kernels, 1, OX_UNDEFINED, &bounds, err);
}

static enum ox_status bound_of(struct ox_run *r, size_t i, const void **bound, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    *bound = NULL;
    if (!t)
        return OX_OK;
    if (t->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "%s must be a scalar, but has %zu elements",
                           i == 1 ? "min" : "max", t->n);
    *bound = t->data;
    return OX_OK;
}

static enum ox_status run_clip(struct ox_run *r, struct ox_error *err)
{
    struct clip bounds;
    OX_TRY(bound_of(r, 1, &bounds.min, err));
    OX_TRY(bound_of(r, 2, &bounds.max, err));
    return ox_run_elementwise(r, &clip_kernels, 1, OX_UNDEFINED, &bounds, err);
}

static void infer_clip(struct ox_infer *c)
{
    size_t n, one;
    const struct ox_expr *const *values, *const *bound;
    ox_rule_same(c);
    if (!ox_rule_values(c, 0, &n, &values) || n > OX_RULE_VALUES)
        return;
    const struct ox_expr **clipped = ox_infer_dims(c, (unsigned)n);
    if (!clipped)
        return;
    for (size_t i = 0; i < n; i++)
        clipped[i] = values[i];
    for (size_t k = 1; k <= 2; k++) {
        if (!ox_infer_has(c, k))
            continue;
        bool known = ox_rule_values(c, k, &one, &bound) && one == 1;
        for (size_t i = 0; i < n; i++) {
            if (!known)
                clipped[i] = NULL;
            else
                clipped[i] = k == 1 ? ox_infer_max(c, clipped[i], bound[0])
                                    : ox_infer_min(c, clipped[i], bound[0]);
        }
    }
    ox_infer_set_values(c, 0, n, clipped);
}

const struct ox_op ox_ops_clip[] = {
    {"", "Clip", 1, .infer = ox_rule_same, .run = run_clip_attributes},
    {"", "Clip", 11, .flags = OX_OP_HALF, .infer = infer_clip, .run = run_clip,
     .fast = ox_fast_clip},
    {0}};
