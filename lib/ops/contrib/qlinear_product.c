/* QGemm MatMulIntegerToFloat DynamicQuantizeMatMul MatMulInteger16: sums of integer products, exact in double. */
#include <math.h>

#include "ops/contrib/contrib.h"
#include "ops/contrib/qlinear.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/matmul.h"
#include "ops/product.h"
#include "ops/quantized.h"
#include "ops/real.h"
#include "ops/saturated.h"

/* ---- QGemm -------------------------------------------------------------------------------------------------------- */

/* Scales of B: one, or one a column of the result. */
static enum ox_status columns_of(struct ox_run *r, const char *what, size_t i, size_t n,
                                 const double **out, size_t *step, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    OX_TRY(ox_real_in(r, i, out, err));
    *step = t && t->n > 1;
    if (t && t->n != 1 && t->n != n)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements for %zu columns", what, t->n, n);
    return OX_OK;
}

struct qgemm {
    size_t m, n, k;
    const struct ox_tensor *a, *b, *c;
    double *sums;
};

static enum ox_status qgemm_sums(struct ox_run *r, struct qgemm *g, struct ox_error *err)
{
    bool ta = ox_run_int(r, "transA", 0) != 0, tb = ox_run_int(r, "transB", 0) != 0;
    g->a = ox_run_in(r, 0);
    g->b = ox_run_in(r, 3);
    g->c = ox_run_in(r, 6);
    if (g->a->rank != 2 || g->b->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "A has rank %u, B %u: no matrices", g->a->rank,
                           g->b->rank);
    g->m = (size_t)g->a->dims[ta ? 1 : 0];
    g->k = (size_t)g->a->dims[ta ? 0 : 1];
    g->n = (size_t)g->b->dims[tb ? 0 : 1];
    if ((size_t)g->b->dims[tb ? 1 : 0] != g->k)
        return ox_run_fail(r, err, OX_INPUT, "A has %zu columns, B %lld rows", g->k,
                           (long long)g->b->dims[tb ? 1 : 0]);
    struct ox_quant_param zero_a = {ox_run_in(r, 2), 1, 1}, zero_b;
    OX_TRY(ox_quant_param_init(r, "a_zero_point", zero_a.tensor, g->a, 0, &zero_a, err));
    OX_TRY(ox_quant_param_init(r, "b_zero_point", ox_run_in(r, 5), g->b, tb ? 0 : 1, &zero_b, err));
    double *a = ox_quant_load(r, g->a, &zero_a, err);
    double *b = a ? ox_quant_load(r, g->b, &zero_b, err) : NULL;
    size_t n_sums;
    if (OX_MUL_OVERFLOWS(g->m, g->n, &n_sums))
        return ox_run_fail(r, err, OX_LIMIT, "the result is too big");
    g->sums = b ? ox_real_scratch(r, n_sums, err) : NULL;
    if (!g->sums)
        return OX_NO_MEMORY;
    struct ox_product p = {.dtype = OX_FLOAT64,
                           .m = g->m,
                           .n = g->n,
                           .k = g->k,
                           .a = a,
                           .b = b,
                           .a_row = ta ? 1 : g->k,
                           .a_col = ta ? g->m : 1,
                           .b_row = tb ? 1 : g->n,
                           .b_col = tb ? g->k : 1,
                           .c = g->sums,
                           .ldc = g->n,
                           .batches = 1};
    return ox_product_run(r, &p, err);
}

/* C, of the scale of the sums, broadcast over them. */
static enum ox_status qgemm_bias(struct ox_run *r, struct qgemm *g, struct ox_error *err)
{
    const struct ox_tensor *c = g->c;
    if (!c)
        return OX_OK;
    size_t rows = c->rank == 2 ? (size_t)c->dims[0] : 1;
    size_t cols = c->rank ? (size_t)c->dims[c->rank - 1] : 1;
    if (c->rank > 2 || (rows != 1 && rows != g->m) || (cols != 1 && cols != g->n))
        return ox_run_fail(r, err, OX_INPUT, "C (%zu x %zu) does not broadcast to %zu x %zu", rows,
                           cols, g->m, g->n);
    for (size_t i = 0; g->n && i < g->m; i++)
        for (size_t j = 0; j < g->n; j++)
            g->sums[i * g->n + j] +=
                ox_tensor_get_double(c, (rows == 1 ? 0 : i) * cols + (cols == 1 ? 0 : j));
    return OX_OK;
}

static enum ox_status run_qgemm(struct ox_run *r, struct ox_error *err)
{
    struct qgemm g = {0};
    const double *scale_a, *scale_b;
    size_t step, unused;
    OX_TRY(qgemm_sums(r, &g, err));
    OX_TRY(qgemm_bias(r, &g, err));
    OX_TRY(columns_of(r, "a_scale", 1, 1, &scale_a, &unused, err));
    OX_TRY(columns_of(r, "b_scale", 4, g.n, &scale_b, &step, err));
    const struct ox_tensor *y_scale = ox_run_in(r, 7), *y_zero = ox_run_in(r, 8);
    double alpha = (double)ox_run_float(r, "alpha", 1);
    double by = y_scale && y_zero ? ox_real_scalar(r, 7, 1) : 1;
    for (size_t i = 0; g.n && i < g.m; i++)
        for (size_t j = 0; j < g.n; j++)
            g.sums[i * g.n + j] *= ox_quant_factor(r->oracle ? OX_FLOAT64 : OX_FLOAT32,
                                                   alpha * scale_a[0], scale_b[j * step], by);
    const int64_t dims[2] = {(int64_t)g.m, (int64_t)g.n};
    if (!y_scale || !y_zero)
        return ox_real_out(r, 0, OX_FLOAT32, 2, dims, g.sums, err);
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, y_zero->dtype, 2, dims, &y, err));
    double zero = ox_real_scalar(r, 8, 0);
    for (size_t i = 0; i < y->n; i++)
        ox_quant_store(y, i, g.sums[i], zero);
    return OX_OK;
}

static void infer_qgemm(struct ox_infer *c)
{
    unsigned ra, rb;
    const struct ox_expr *const *a;
    const struct ox_expr *const *b;
    bool ta = ox_infer_int_attr(c, "transA", 0) != 0, tb = ox_infer_int_attr(c, "transB", 0) != 0;
    if (ox_infer_has(c, 7) && ox_infer_has(c, 8))
        ox_infer_same_dtype(c, 0, 8);
    else
        ox_infer_set_dtype(c, 0, OX_FLOAT32);
    if (!ox_infer_shape(c, 0, &ra, &a) || !ox_infer_shape(c, 3, &rb, &b) || ra != 2 || rb != 2)
        return;
    ox_infer_equal(c, a[ta ? 0 : 1], b[tb ? 1 : 0], "the inner dimension");
    const struct ox_expr *dims[2] = {a[ta ? 1 : 0], b[tb ? 0 : 1]};
    ox_infer_set_shape(c, 0, 2, dims);
}

/* ---- Products to float -------------------------------------------------------------------------------------------- */

/* sums by the scales, with the bias added; output 0. B's scales are one or one a column. */
struct to_float {
    const double *a, *b_scale;
    double a_scale;
    const uint8_t *codes; /* of a, where products saturate; else NULL */
    size_t i_b, i_b_zero, i_b_scale, i_bias;
};

/* Whether products by B's codes are such as ox_run.saturating speaks of: int8 by int8 is exact. */
static bool saturates(const struct ox_run *r, size_t i_b)
{
    return r->saturating && ox_run_in(r, i_b)->dtype == OX_INT8 &&
           ox_run_in(r, 0)->dtype != OX_INT8;
}

static void saturate(const struct to_float *job, const struct ox_matmul *mm,
                     const struct ox_tensor *b, double *sums)
{
    for (size_t q = 0; job->codes && q < mm->batches; q++)
        ox_saturate(&(struct ox_saturated){mm->m, mm->n, mm->k, job->codes + mm->a_at[q],
                                           (const int8_t *)b->data + mm->b_at[q]},
                    1, NULL, 0, sums + mm->c_at[q]);
}

/* One zero point or scale, one a column, or one a column of each matrix of a stack. */
static enum ox_status b_values(struct ox_run *r, const struct to_float *job, double **out,
                               struct ox_error *err)
{
    const struct ox_tensor *b = ox_run_in(r, job->i_b), *zero = ox_run_in(r, job->i_b_zero);
    struct ox_quant_param param = {NULL, 1, 1};
    size_t n = b->rank > 1 ? (size_t)b->dims[b->rank - 1] : 1;
    size_t k = b->rank > 1 ? (size_t)b->dims[b->rank - 2] : b->n;
    bool stacked = zero && zero->n > 1 && zero->n != n && k && zero->n == b->n / k;
    if (!stacked)
        OX_TRY(ox_quant_param_init(r, "b_zero_point", zero, b, b->rank > 1 ? b->rank - 1 : 0,
                                   &param, err));
    *out = ox_quant_load(r, b, &param, err);
    if (!*out)
        return OX_NO_MEMORY;
    for (size_t i = 0; stacked && i < b->n; i++)
        (*out)[i] -= ox_tensor_get_double(zero, i / (n * k) * n + i % n);
    return OX_OK;
}

static enum ox_status product_to_float(struct ox_run *r, const struct to_float *job,
                                       struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, job->i_b);
    const struct ox_tensor *scale = ox_run_in(r, job->i_b_scale), *bias = ox_run_in(r, job->i_bias);
    struct ox_matmul mm;
    double *values;
    const double *by, *add;
    OX_TRY(ox_matmul_plan(r, a, b, &mm, err));
    OX_TRY(b_values(r, job, &values, err));
    OX_TRY(ox_real_in(r, job->i_b_scale, &by, err));
    OX_TRY(ox_real_in(r, job->i_bias, &add, err));
    size_t n = mm.n, m = mm.m, count = mm.batches * m * n;
    if (scale->n != 1 && scale->n != n && !(scale->n == mm.batches * n && b->n == scale->n * mm.k))
        return ox_run_fail(r, err, OX_INPUT, "b_scale has %zu elements for %zu columns", scale->n,
                           n);
    if (bias && bias->n != n)
        return ox_run_fail(r, err, OX_INPUT, "the bias has %zu elements for %zu columns", bias->n,
                           n);
    double *sums = ox_real_scratch(r, count, err);
    if (!sums)
        return OX_NO_MEMORY;
    unsigned rank = mm.rank;
    OX_TRY(ox_matmul_run(r, &mm, OX_FLOAT64, job->a, values, sums, err));
    saturate(job, &mm, b, sums);
    for (size_t i = 0; i < count; i++) {
        size_t column = i % n, matrix = i / (m * n);
        double s = by[scale->n == 1 ? 0 : scale->n == n ? column : matrix * n + column];
        sums[i] = sums[i] * job->a_scale * s + (add ? add[column] : 0);
    }
    return ox_real_out(r, 0, OX_FLOAT32, rank, mm.dims, sums, err);
}

static enum ox_status run_matmul_integer_to_float(struct ox_run *r, struct ox_error *err)
{
    struct to_float job = {.i_b = 1, .i_b_zero = 5, .i_b_scale = 3, .i_bias = 6};
    struct ox_quant_param zero;
    const struct ox_tensor *a = ox_run_in(r, 0), *scale = ox_run_in(r, 2);
    if (scale->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "a_scale has %zu elements, not one", scale->n);
    OX_TRY(ox_quant_param_init(r, "a_zero_point", ox_run_in(r, 4), a, 0, &zero, err));
    job.a = ox_quant_load(r, a, &zero, err);
    job.a_scale = ox_real_scalar(r, 2, 1);
    job.codes = saturates(r, job.i_b) ? a->data : NULL;
    return job.a ? product_to_float(r, &job, err) : OX_NO_MEMORY;
}

/* A as DynamicQuantizeLinear makes it, its zero point taken off again. codes may be NULL. */
static void quantize_a(const struct ox_run *r, const struct ox_tensor *a, double *out,
                       double *scale, uint8_t *codes)
{
    double low = 0, high = 0;
    ox_real_load(a, 0, a->n, out);
    for (size_t i = 0; i < a->n; i++) {
        low = out[i] < low ? out[i] : low;
        high = out[i] > high ? out[i] : high;
    }
    double s = high == low ? 1 : (high - low) / 255;
    if (!r->oracle)
        s = high == low ? 1 : (double)(((float)high - (float)low) / 255.0f);
    double zero = -low / s;
    zero = rint(zero < 0 ? 0 : zero > 255 ? 255 : zero);
    for (size_t i = 0; i < a->n; i++) {
        double q = rint(out[i] / s) + zero;
        q = q < 0 ? 0 : q > 255 ? 255 : q;
        out[i] = q - zero;
        if (codes)
            codes[i] = (uint8_t)q;
    }
    *scale = s;
}

static enum ox_status run_dynamic_quantize_matmul(struct ox_run *r, struct ox_error *err)
{
    struct to_float job = {.i_b = 1, .i_b_zero = 3, .i_b_scale = 2, .i_bias = 4};
    const struct ox_tensor *a = ox_run_in(r, 0);
    double *values = ox_real_scratch(r, a->n, err);
    uint8_t *codes = NULL;
    if (!values ||
        (saturates(r, job.i_b) && !(codes = ox_run_scratch(r, a->n, sizeof *codes, err))))
        return OX_NO_MEMORY;
    quantize_a(r, a, values, &job.a_scale, codes);
    job.a = values;
    job.codes = codes;
    return product_to_float(r, &job, err);
}

static enum ox_status run_matmul_integer16(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 1);
    struct ox_matmul mm;
    struct ox_tensor *y;
    bool is_signed = ox_dtype_is_signed(a->dtype) || ox_dtype_is_signed(b->dtype);
    enum ox_dtype dtype = is_signed ? OX_INT32 : OX_UINT32;
    OX_TRY(ox_matmul_plan(r, a, b, &mm, err));
    OX_TRY(ox_run_out(r, 0, dtype, mm.rank, mm.dims, &y, err));
    int32_t *wide_a = ox_run_scratch(r, a->n, sizeof *wide_a, err);
    int32_t *wide_b = ox_run_scratch(r, b->n, sizeof *wide_b, err);
    if (!wide_a || !wide_b)
        return OX_NO_MEMORY;
    ox_elements_convert(OX_INT32, wide_a, a->dtype, a->data, a->n, false);
    ox_elements_convert(OX_INT32, wide_b, b->dtype, b->data, b->n, false);
    return ox_matmul_run(r, &mm, dtype, wide_a, wide_b, y->data, err);
}

static void infer_to_float(struct ox_infer *c)
{
    ox_infer_set_dtype(c, 0, OX_FLOAT32);
    ox_infer_matmul(c, 0, 1);
}

static void infer_matmul_integer16(struct ox_infer *c)
{
    bool known = ox_infer_dtype(c, 0) != OX_UNDEFINED && ox_infer_dtype(c, 1) != OX_UNDEFINED;
    bool is_signed = known && (ox_dtype_is_signed(ox_infer_dtype(c, 0)) ||
                               ox_dtype_is_signed(ox_infer_dtype(c, 1)));
    if (known)
        ox_infer_set_dtype(c, 0, is_signed ? OX_INT32 : OX_UINT32);
    ox_infer_matmul(c, 0, 1);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_qlinear_product[] = {
    {MS, "DynamicQuantizeMatMul", 1, .infer = infer_to_float, .run = run_dynamic_quantize_matmul},
    {MS, "MatMulInteger16", 1, .infer = infer_matmul_integer16, .run = run_matmul_integer16},
    {MS, "MatMulIntegerToFloat", 1, .infer = infer_to_float, .run = run_matmul_integer_to_float},
    {MS, "QGemm", 1, .infer = infer_qgemm, .run = run_qgemm, .fast = ox_int8_qgemm,
     .prepare = ox_int8_prepare_qgemm},
    {0}};
