/* Layer, RMS, group and instance normalization: computed in double, rounded once. */
#include <math.h>

#include "common/threads.h"
#include "kernels/folds.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"

enum { STRETCH = 512, FEW = 16 };

/* Rows of `n` adjacent elements, each normalized by its own statistics. */
struct rows {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    size_t count, n;
    bool centred; /* subtract the mean */
    bool single;  /* statistics within the range of float32 */
    double epsilon;
    const double *scale, *shift; /* NULL: none; element i takes [i / inner % period] */
    size_t scale_inner, scale_period, shift_inner, shift_period;
    double *mean, *inverse; /* a row; NULL: not wanted */
};

/* What overflows float32 is infinite, the rest as exact as it is. */
static double of_single_range(double v)
{
    return isinf((float)v) ? (double)(float)v : v;
}

/* Elements of x as they lie, where they are doubles, or in `loaded`. */
static const double *reals(const struct rows *s, size_t at, size_t m, double *loaded)
{
    if (s->x->dtype == OX_FLOAT64)
        return (const double *)s->x->data + at;
    ox_real_load(s->x, at, m, loaded);
    return loaded;
}

static void statistics(const struct rows *s, size_t base, double *mean, double *variance)
{
    const struct ox_fold *fold = ox_folds(ox_cpu())->of[OX_FOLD_SUM][OX_FLOAT64];
    double loaded[STRETCH], part[STRETCH], n = (double)s->n;
    *mean = *variance = 0;
    for (int pass = s->centred ? 0 : 1; pass < 2; pass++) {
        double sum = 0;
        for (size_t at = 0; at < s->n; at += STRETCH) {
            size_t m = s->n - at < STRETCH ? s->n - at : STRETCH;
            const double *x = reals(s, base + at, m, loaded);
            for (size_t k = 0; pass && k < m; k++)
                part[k] = (x[k] - *mean) * (x[k] - *mean);
            /* The standard squares in float32 (stash_type): what overflows there is infinite. */
            for (size_t k = 0; pass && s->single && k < m; k++)
                part[k] = of_single_range(part[k]);
            x = pass ? part : x;
            if (m < FEW) { /* a call would take longer */
                for (size_t k = 0; k < m; k++)
                    sum += x[k];
            } else {
                fold->run(&sum, x, m, NULL);
            }
        }
        *(pass ? variance : mean) = (s->single ? of_single_range(sum) : sum) / n;
    }
}

static void apply(double *restrict part, size_t first, size_t m, const double *restrict by,
                  size_t inner, size_t period, bool add)
{
    size_t place = first / inner % period, left = inner - first % inner, run;
    for (size_t k = 0; k < m; k += run) {
        run = inner == 1 ? period - place : left;
        run = run < m - k ? run : m - k;
        const double *from = by + place;
        if (inner == 1 && add)
            for (size_t j = 0; j < run; j++)
                part[k + j] += from[j];
        else if (inner == 1)
            for (size_t j = 0; j < run; j++)
                part[k + j] *= from[j];
        else
            for (size_t j = 0; j < run; j++)
                part[k + j] = add ? part[k + j] + *from : part[k + j] * *from;
        left = run < left ? left - run : inner;
        place += inner == 1 ? run : left == inner;
        place = place < period ? place : 0;
    }
}

static void row_task(void *arg, size_t row)
{
    const struct rows *s = arg;
    size_t base = row * s->n;
    double loaded[STRETCH], made[STRETCH], mean, variance;
    statistics(s, base, &mean, &variance);
    double inverse = 1 / sqrt(variance + s->epsilon);
    if (s->mean)
        s->mean[row] = mean;
    if (s->inverse)
        s->inverse[row] = inverse;
    for (size_t at = 0; at < s->n; at += STRETCH) {
        size_t m = s->n - at < STRETCH ? s->n - at : STRETCH;
        const double *x = reals(s, base + at, m, loaded);
        double *y = s->y->dtype == OX_FLOAT64 ? (double *)s->y->data + base + at : made;
        for (size_t k = 0; k < m; k++)
            y[k] = (x[k] - mean) * inverse;
        if (s->scale)
            apply(y, base + at, m, s->scale, s->scale_inner, s->scale_period, false);
        if (s->shift)
            apply(y, base + at, m, s->shift, s->shift_inner, s->shift_period, true);
        if (y == made)
            ox_real_store(s->y, base + at, m, made);
    }
}

static void infer_same(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
}

/* ---- LayerNormalization and RMSNormalization --------------------------------------------------------------------- */

/* The type of Mean and InvStdDev; OX_UNDEFINED: the attribute names no float type. */
static enum ox_dtype stash_type(int64_t attribute)
{
    switch (attribute) {
    case OX_FLOAT32:
    case OX_FLOAT16:
    case OX_FLOAT64:
    case OX_BFLOAT16:
        return (enum ox_dtype)attribute;
    default:
        return OX_UNDEFINED;
    }
}

static void infer_layer_norm(struct ox_infer *c)
{
    unsigned rank, axis;
    const struct ox_expr *const *x;
    ox_infer_same_shape(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) ||
        !ox_infer_axis(c, ox_infer_int_attr(c, "axis", -1), rank, &axis))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    for (unsigned d = 0; d < rank; d++)
        dims[d] = d < axis ? x[d] : ox_infer_num(c, 1);
    for (size_t i = 1; i < ox_infer_n_out(c); i++) {
        ox_infer_set_dtype(c, i, stash_type(ox_infer_int_attr(c, "stash_type", 1)));
        ox_infer_set_shape(c, i, rank, dims);
    }
}

static void infer_rms_norm(struct ox_infer *c)
{
    unsigned rank, axis;
    enum ox_dtype x = ox_infer_dtype(c, 0), scale = ox_infer_dtype(c, 1);
    ox_infer_same_shape(c, 0, 0);
    ox_infer_same_dtype(c, 0, 1);
    if (ox_infer_shape(c, 0, &rank, NULL))
        ox_infer_axis(c, ox_infer_int_attr(c, "axis", -1), rank, &axis);
    /* The signature has a type for each, but the rule that the standard's checker runs gives Y that of X. */
    if (x && scale && x != scale)
        ox_infer_conflict(c, "X is %s, scale %s", ox_dtype_name(x), ox_dtype_name(scale));
}

/* Spreads input i over x where it is not simply the last axes of it. */
static enum ox_status spread(struct ox_run *r, size_t i, const struct ox_tensor *x,
                             const double **out, size_t *period, struct ox_error *err)
{
    static const char *const names[] = {"X", "Scale", "B"};
    const struct ox_tensor *t = ox_run_in(r, i);
    OX_TRY(ox_real_in(r, i, out, err));
    if (!t)
        return OX_OK;
    unsigned lead = x->rank > t->rank ? x->rank - t->rank : 0;
    bool fits = t->rank <= x->rank, plain = true;
    for (unsigned d = 0; fits && d < t->rank; d++) {
        fits = t->dims[d] == x->dims[lead + d] || t->dims[d] == 1;
        plain = plain && t->dims[d] == x->dims[lead + d];
    }
    if (!fits)
        return ox_run_fail(r, err, OX_INPUT, "%s does not broadcast to X", names[i]);
    *period = t->n;
    if (plain || t->n == 1 || !x->n)
        return OX_OK;
    const double *from = *out;
    double *to = ox_real_scratch(r, x->n, err);
    size_t *index = ox_run_scratch(r, x->rank + 1, sizeof *index, err);
    size_t *step = ox_run_scratch(r, x->rank + 1, sizeof *step, err);
    if (!to || !index || !step)
        return OX_NO_MEMORY;
    size_t pitch = 1, at = 0;
    for (unsigned d = t->rank; d-- > 0;) {
        step[lead + d] = t->dims[d] == 1 ? 0 : pitch;
        pitch *= (size_t)t->dims[d];
    }
    for (size_t k = 0; k < x->n; k++) {
        to[k] = from[at];
        for (unsigned d = x->rank; d-- > 0;) {
            at += step[d];
            if (++index[d] < (size_t)x->dims[d])
                break;
            at -= step[d] * index[d];
            index[d] = 0;
        }
    }
    *out = to;
    *period = x->n;
    return OX_OK;
}

static enum ox_status run_last_axes(struct ox_run *r, bool centred, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    enum ox_dtype stash = stash_type(ox_run_int(r, "stash_type", 1));
    unsigned axis;
    if (stash == OX_UNDEFINED)
        return ox_run_fail(r, err, OX_INPUT, "stash_type is no type of floats");
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", -1), x->rank, &axis, err));
    struct rows s = {.x = x,
                     .count = 1,
                     .n = 1,
                     .centred = centred,
                     .single = x->dtype == OX_FLOAT32,
                     .epsilon = (double)ox_run_float(r, "epsilon", 1e-5f),
                     .scale_inner = 1,
                     .shift_inner = 1};
    OX_TRY(spread(r, 1, x, &s.scale, &s.scale_period, err));
    if (centred)
        OX_TRY(spread(r, 2, x, &s.shift, &s.shift_period, err));
    int64_t *dims = ox_run_scratch(r, x->rank, sizeof *dims, err);
    if (!dims)
        return OX_NO_MEMORY;
    for (unsigned d = 0; d < x->rank; d++) {
        dims[d] = d < axis ? x->dims[d] : 1;
        *(d < axis ? &s.count : &s.n) *= (size_t)x->dims[d];
    }
    OX_TRY(
        ox_run_out(r, 0, centred ? x->dtype : ox_run_in(r, 1)->dtype, x->rank, x->dims, &s.y, err));
    bool want_mean = centred && ox_run_wants(r, 1), want_inverse = centred && ox_run_wants(r, 2);
    if ((want_mean && !(s.mean = ox_real_scratch(r, s.count, err))) ||
        (want_inverse && !(s.inverse = ox_real_scratch(r, s.count, err))))
        return OX_NO_MEMORY;
    if (s.count)
        ox_parallel(r->env, s.count, row_task, &s);
    if (want_mean)
        OX_TRY(ox_real_out(r, 1, stash, x->rank, dims, s.mean, err));
    if (want_inverse)
        OX_TRY(ox_real_out(r, 2, stash, x->rank, dims, s.inverse, err));
    return ox_env_poll(r->env, err);
}

static enum ox_status run_layer_norm(struct ox_run *r, struct ox_error *err)
{
    return run_last_axes(r, true, err);
}

static enum ox_status run_rms_norm(struct ox_run *r, struct ox_error *err)
{
    return run_last_axes(r, false, err);
}

/* ---- InstanceNormalization and GroupNormalization ---------------------------------------------------------------- */

/* Version 18 has a scale a group, version 21 and InstanceNormalization one a channel. */
static enum ox_status run_groups(struct ox_run *r, int64_t groups, bool by_group,
                                 struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *scale = ox_run_in(r, 1), *shift = ox_run_in(r, 2);
    if (x->rank < 2)
        return ox_run_fail(r, err, OX_INPUT, "the input's rank is %u, not at least 2", x->rank);
    if (groups < 0)
        groups = x->dims[1];
    if (groups < 1 ? x->dims[1] != 0 || groups < 0 : x->dims[1] % groups != 0)
        return ox_run_fail(r, err, OX_INPUT, "%lld groups do not divide %lld channels",
                           (long long)groups, (long long)x->dims[1]);
    size_t period = (size_t)(by_group ? groups : x->dims[1]), inner = 1;
    if (scale->n != period || shift->n != period)
        return ox_run_fail(r, err, OX_INPUT, "scale and bias have %zu and %zu elements, not %zu",
                           scale->n, shift->n, period);
    for (unsigned d = 2; d < x->rank; d++)
        inner *= (size_t)x->dims[d];
    struct rows s = {.x = x,
                     .count = (size_t)x->dims[0] * (size_t)groups,
                     .centred = true,
                     .single = x->dtype == OX_FLOAT32,
                     .epsilon = (double)ox_run_float(r, "epsilon", 1e-5f),
                     .scale_period = period,
                     .shift_period = period};
    OX_TRY(ox_real_in(r, 1, &s.scale, err));
    OX_TRY(ox_real_in(r, 2, &s.shift, err));
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &s.y, err));
    if (!x->n)
        return OX_OK;
    s.n = x->n / s.count;
    s.scale_inner = s.shift_inner = by_group ? s.n : inner;
    ox_parallel(r->env, s.count, row_task, &s);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_instance_norm(struct ox_run *r, struct ox_error *err)
{
    return run_groups(r, -1, false, err);
}

static enum ox_status run_group_norm(struct ox_run *r, struct ox_error *err)
{
    int64_t groups = ox_run_int(r, "num_groups", 0);
    return groups < 0 ? ox_run_fail(r, err, OX_INPUT, "num_groups is %lld", (long long)groups)
                      : run_groups(r, groups, r->opset < 21, err);
}

const struct ox_op ox_ops_norm[] = {{"", "LayerNormalization", 17, .infer = infer_layer_norm,
                                     .run = run_layer_norm, .fast = ox_fast_layer_norm},
                                    {"", "RMSNormalization", 23, .infer = infer_rms_norm,
                                     .run = run_rms_norm, .fast = ox_fast_layer_norm},
                                    {"", "InstanceNormalization", 1, .infer = infer_same,
                                     .run = run_instance_norm, .fast = ox_fast_group_norm},
                                    {"", "InstanceNormalization", 6, .infer = infer_same,
                                     .run = run_instance_norm, .fast = ox_fast_group_norm},
                                    {"", "InstanceNormalization", 22, .infer = infer_same,
                                     .run = run_instance_norm, .fast = ox_fast_group_norm},
                                    {"", "GroupNormalization", 18, .infer = infer_same,
                                     .run = run_group_norm, .fast = ox_fast_group_norm},
                                    {"", "GroupNormalization", 21, .infer = infer_same,
                                     .run = run_group_norm, .fast = ox_fast_group_norm},
                                    {0}};
