/* Normalizer: features of a row divided by their greatest, their sum or their length. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/folds.h"
#include "kernels/inline.h"
#include "ops/fast/fast.h"
#include "ops/ml/ml_common.h"
#include "ops/real.h"

enum { CHUNK = 512 }; /* elements worked on at a time */
static const double NS_AN_ELEMENT = 0.5;

enum norm { NORM_MAX, NORM_L1, NORM_L2 };

/* What the elements are divided by; those of a sum of zero stay as they are. */
static double norm_of(enum norm norm, const double *v, size_t n, size_t step)
{
    double sum = norm == NORM_MAX ? -INFINITY : 0;
    for (size_t i = 0; i < n; i++) {
        double x = v[i * step];
        if (norm == NORM_MAX)
            sum = x > sum ? x : sum;
        else
            sum += norm == NORM_L1 ? fabs(x) : x * x;
    }
    if (norm == NORM_L2)
        sum = sqrt(sum);
    return sum == 0 ? 1 : sum;
}

/* The same of neighbours, in parts that do not wait for each other. */
static double norm_of_row(enum norm norm, const double *v, size_t n)
{
    enum { ABREAST = 8 };
    double part[ABREAST];
    size_t i = 0;
    if (n < ABREAST)
        return norm_of(norm, v, n, 1);
    for (size_t k = 0; k < ABREAST; k++)
        part[k] = norm == NORM_MAX ? -INFINITY : 0;
    for (; i + ABREAST <= n; i += ABREAST) {
        const double *x = v + i;
        if (norm == NORM_MAX)
            for (size_t k = 0; k < ABREAST; k++)
                part[k] = x[k] > part[k] ? x[k] : part[k];
        else
            for (size_t k = 0; k < ABREAST; k++)
                part[k] += norm == NORM_L1 ? fabs(x[k]) : x[k] * x[k];
    }
    for (size_t k = 0; i < n; i++, k++) {
        if (norm == NORM_MAX)
            part[k] = v[i] > part[k] ? v[i] : part[k];
        else
            part[k] += norm == NORM_L1 ? fabs(v[i]) : v[i] * v[i];
    }
    for (size_t k = 1; k < ABREAST; k++)
        part[0] = norm != NORM_MAX ? part[0] + part[k] : part[k] > part[0] ? part[k] : part[0];
    const double by = norm == NORM_L2 ? sqrt(part[0]) : part[0];
    return by == 0 ? 1 : by;
}

struct normalizing {
    const struct ox_tensor *x;
    const float *floats; /* x, where it is so taken */
    struct ox_tensor *y;
    enum norm norm;
    size_t cols, inner; /* elements of a norm, and from one of them to the next */
    bool quick;
    size_t together; /* norms that follow each other and are loaded at once; 1 but for inner of 1 */
    double *slab;    /* together * cols * inner */
};

/* Those of floats: the inverse of what they are divided by is exact enough in double, and of no float infinite. Long rows are summed
 * in parts that do not wait for each other. */
INLINE double inverse_norm(enum norm norm, const float *x, size_t n)
{
    enum { ABREAST = 8 };
    double sum[ABREAST] = {0};
    float max[ABREAST];
    size_t i = 0;
    for (size_t k = 0; k < ABREAST; k++)
        max[k] = -INFINITY;
    for (; i + ABREAST <= n; i += ABREAST)
        for (size_t k = 0; k < ABREAST; k++) {
            const float v = x[i + k];
            if (norm == NORM_MAX)
                max[k] = v > max[k] ? v : max[k];
            else
                sum[k] += norm == NORM_L1 ? (double)fabsf(v) : (double)v * (double)v;
        }
    for (; i < n; i++) {
        const float v = x[i];
        max[0] = v > max[0] ? v : max[0];
        sum[0] += norm == NORM_L1 ? (double)fabsf(v) : (double)v * (double)v;
    }
    for (size_t k = 1; n >= ABREAST && k < ABREAST; k++) {
        max[0] = max[k] > max[0] ? max[k] : max[0];
        sum[0] += sum[k];
    }
    const double by = norm == NORM_MAX ? (double)max[0] : norm == NORM_L2 ? sqrt(sum[0]) : sum[0];
    return by == 0 ? 1 : 1 / by;
}

INLINE void normalize_rows(enum norm norm, size_t rows, size_t n, const float *x, float *y)
{
    for (size_t row = 0; row < rows; row++, x += n, y += n) {
        const double by = inverse_norm(norm, x, n);
        for (size_t i = 0; i < n; i++)
            y[i] = (float)((double)x[i] * by);
    }
}

/* Built for the numbers of columns that are short of what a loop is worth. */
INLINE void normalize_columns(enum norm norm, size_t rows, size_t n, const float *x, float *y)
{
    switch (n) {
    case 2:
        normalize_rows(norm, rows, 2, x, y);
        break;
    case 3:
        normalize_rows(norm, rows, 3, x, y);
        break;
    case 4:
        normalize_rows(norm, rows, 4, x, y);
        break;
    default:
        normalize_rows(norm, rows, n, x, y);
    }
}

enum { LONG_ROW = 8, LONGER_ROW = 32, TOGETHER = 64 };

/* Long rows by what a float holds; false: their sum is beyond that. */
static bool normalize_long(size_t n, const float *x, float *y)
{
    const struct ox_rows *t = ox_fast_rows();
    float by = t->sum_of_abs(n, x);
    if (isinf(by))
        return false;
    by = by == 0 ? 1 : by;
    t->binary[OX_BINARY_DIV][OX_ROW_RIGHT_ONE](n, x, &by, y);
    return true;
}

/* By the greatest elements of rows together. NaN is not one here, other than in the fold. */
static void normalize_by_greatest(size_t rows, size_t n, const float *x, float *y)
{
    const struct ox_fold *greatest = ox_folds(ox_cpu())->of[OX_FOLD_GREATEST][OX_FLOAT32];
    for (size_t some; rows > 0; rows -= some, x += some * n, y += some * n) {
        float by[TOGETHER];
        int nan = 0;
        some = rows < TOGETHER ? rows : TOGETHER;
        greatest->start(by, some);
        greatest->rows(by, x, some, n);
        for (size_t i = 0; i < some; i++) {
            by[i] = by[i] == 0 ? 1 : by[i];
            nan |= by[i] != by[i];
        }
        if (nan)
            normalize_rows(NORM_MAX, some, n, x, y);
        else
            ox_fast_divide_rows(some, n, x, by, y);
    }
}

/* By the sums of rows together; those that are no floats of full precision are divided by in double. */
static void normalize_by_sums(size_t rows, size_t n, const float *x, float *y)
{
    const struct ox_fold *sums = ox_folds(ox_cpu())->of[OX_FOLD_SUM_OF_ABS][OX_FLOAT32];
    for (size_t some; rows > 0; rows -= some, x += some * n, y += some * n) {
        double sum[TOGETHER];
        float by[TOGETHER];
        int plain = 1;
        some = rows < TOGETHER ? rows : TOGETHER;
        sums->start(sum, some);
        sums->rows(sum, x, some, n);
        for (size_t i = 0; i < some; i++) {
            by[i] = sum[i] == 0 ? 1 : (float)sum[i];
            plain &= (by[i] >= FLT_MIN) & (by[i] <= FLT_MAX);
        }
        if (plain)
            ox_fast_divide_rows(some, n, x, by, y);
        else
            normalize_rows(NORM_L1, some, n, x, y);
    }
}

static void normalize_floats(void *arg, size_t from, size_t to)
{
    const struct normalizing *s = arg;
    const size_t n = s->cols;
    const float *x = s->floats + from * n;
    float *y = (float *)s->y->data + from * n;
    if (s->norm == NORM_L2) {
        normalize_columns(NORM_L2, to - from, n, x, y);
    } else if (n < LONG_ROW && s->norm == NORM_L1) {
        normalize_columns(NORM_L1, to - from, n, x, y);
    } else if (n < LONG_ROW) {
        normalize_columns(NORM_MAX, to - from, n, x, y);
    } else if (s->norm == NORM_MAX) {
        normalize_by_greatest(to - from, n, x, y);
    } else if (n < LONGER_ROW) {
        normalize_by_sums(to - from, n, x, y);
    } else {
        for (size_t row = from; row < to; row++, x += n, y += n)
            if (!normalize_long(n, x, y))
                normalize_rows(NORM_L1, 1, n, x, y);
    }
}

static void normalize_slab(const struct normalizing *s, double *slab)
{
    for (size_t k = 0; k < s->inner; k++) {
        const double by = s->inner == 1 ? norm_of_row(s->norm, slab, s->cols)
                                        : norm_of(s->norm, slab + k, s->cols, s->inner);
        const double inverse = 1 / by;
        if (s->quick && s->inner == 1 && isnormal(inverse))
            for (size_t i = 0; i < s->cols; i++)
                slab[i] *= inverse;
        else
            for (size_t i = 0; i < s->cols; i++)
                slab[i * s->inner + k] /= by;
    }
}

static void normalize_slabs(const struct normalizing *s)
{
    const size_t n = s->cols * s->inner;
    for (size_t at = 0, some; at < s->x->n; at += some) {
        some = s->x->n - at < s->together * n ? s->x->n - at : s->together * n;
        ox_real_load(s->x, at, some, s->slab);
        for (size_t i = 0; i < some; i += n)
            normalize_slab(s, s->slab + i);
        ox_real_store(s->y, at, some, s->slab);
    }
}

/* Integers count as floats, as the result does. */
static enum ox_status take_floats(struct ox_run *r, const struct ox_tensor *x, const float **out,
                                  struct ox_error *err)
{
    *out = x->data;
    if (x->dtype == OX_FLOAT32)
        return OX_OK;
    float *floats = ox_run_work(r, x->n, sizeof *floats, err);
    if (!floats)
        return err->status;
    ox_real_convert(OX_FLOAT32, floats, x->dtype, x->data, x->n);
    *out = floats;
    return OX_OK;
}

/* Along the second axis (of a list along its only one), as onnxruntime does for every rank. */
static enum ox_status normalize(struct ox_run *r, bool quick, struct ox_error *err)
{
    static const char *const names[] = {"MAX", "L1", "L2"};
    const struct ox_tensor *x = ox_run_in(r, 0);
    const char *name = ox_run_string(r, "norm");
    size_t norm = 0, cols = 0, inner = 1;
    while (name && norm < OX_COUNT(names) && strcmp(name, names[norm]) != 0)
        norm++;
    if (norm == OX_COUNT(names))
        return ox_run_fail(r, err, OX_INPUT, "attribute norm is '%s'", name);
    OX_TRY(ox_ml_columns(r, x, &cols, err));
    for (unsigned i = 2; i < x->rank; i++)
        inner *= (size_t)x->dims[i];
    struct normalizing s = {
        .x = x, .norm = (enum norm)norm, .cols = cols, .inner = inner, .quick = quick};
    quick = quick && inner == 1 && x->dtype != OX_FLOAT64;
    if (quick)
        OX_TRY(take_floats(r, x, &s.floats, err));
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &s.y, err));
    s.together = inner == 1 && cols && cols < CHUNK ? CHUNK / cols : 1;
    if (!quick && !(s.slab = ox_real_scratch(r, s.together * cols * inner, err)))
        return OX_NO_MEMORY;
    if (quick && x->n)
        ox_fast_spread(r->env, x->n / cols, CHUNK / cols + 1, (double)cols * NS_AN_ELEMENT,
                       normalize_floats, &s);
    else if (x->n)
        normalize_slabs(&s);
    return OX_OK;
}

static enum ox_status run_normalizer(struct ox_run *r, struct ox_error *err)
{
    return normalize(r, false, err);
}

static enum ox_status fast_normalizer(struct ox_run *r, struct ox_error *err)
{
    return normalize(r, true, err);
}

static void infer_normalizer(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
}

const struct ox_op ox_ops_normalizer[] = {{"ai.onnx.ml", "Normalizer", 1, OX_OP_DOUBLE,
                                           .infer = infer_normalizer, .run = run_normalizer,
                                           .fast = fast_normalizer},
                                          {0}};
