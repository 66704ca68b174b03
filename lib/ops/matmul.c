/* MatMul and Gemm. */
#include <math.h>
#include <string.h>

#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/matmul.h"
#include "ops/op.h"
#include "ops/product.h"

/* ---- MatMul: numpy's rule ---------------------------------------------------------------------------------------- */

void ox_infer_product(struct ox_infer *c, unsigned ra, const struct ox_expr *const *a, unsigned rb,
                      const struct ox_expr *const *b)
{
    ox_infer_equal(c, a[ra - 1], b[rb == 1 ? 0 : rb - 2], "the inner dimension");
    unsigned batch_a = ra > 2 ? ra - 2 : 0, batch_b = rb > 2 ? rb - 2 : 0;
    unsigned batch = batch_a > batch_b ? batch_a : batch_b;
    const struct ox_expr **dims = ox_infer_dims(c, batch + 2);
    if (!dims)
        return;
    for (unsigned d = 0; d < batch; d++) {
        bool in_a = d + batch_a >= batch, in_b = d + batch_b >= batch;
        const struct ox_expr *x = in_a ? a[d + batch_a - batch] : NULL;
        const struct ox_expr *y = in_b ? b[d + batch_b - batch] : NULL;
        dims[d] = in_a && in_b ? ox_infer_broadcast_dim(c, x, y) : in_a ? x : y;
    }
    unsigned rank = batch;
    if (ra > 1)
        dims[rank++] = a[ra - 2];
    if (rb > 1)
        dims[rank++] = b[rb - 1];
    ox_infer_set_shape(c, 0, rank, dims);
}

void ox_infer_matmul(struct ox_infer *c, size_t ia, size_t ib)
{
    unsigned ra, rb;
    const struct ox_expr *const *a;
    const struct ox_expr *const *b;
    if (!ox_infer_shape(c, ia, &ra, &a) || !ox_infer_shape(c, ib, &rb, &b)) {
        ox_infer_unknown(c, 0, "the rank of a factor is not known");
        return;
    }
    if (ra == 0 || rb == 0) {
        ox_infer_conflict(c, "a factor is a scalar");
        return;
    }
    ox_infer_product(c, ra, a, rb, b);
}

static void infer_matmul(struct ox_infer *c)
{
    ox_infer_matmul(c, 0, 1);
}

/* Offsets of each batch's matrix in a factor whose leading dimensions are broadcast. */
static size_t *batch_offsets(struct ox_run *r, const struct ox_matmul *mm, const int64_t *dims,
                             unsigned rank, struct ox_error *err)
{
    size_t *at = ox_run_scratch(r, mm->batches, sizeof *at, err);
    if (!at || mm->batches == 0)
        return at;
    unsigned own = rank > 2 ? rank - 2 : 0;
    size_t matrix = rank == 1 ? 0 : (size_t)dims[rank - 1] * (size_t)dims[rank - 2];
    size_t *step = ox_run_scratch(r, mm->n_batch, sizeof *step, err);
    int64_t *index = ox_run_scratch(r, mm->n_batch, sizeof *index, err);
    if (!step || !index)
        return NULL;
    for (unsigned d = own; d-- > 0;) {
        step[mm->n_batch - own + d] = dims[d] == 1 ? 0 : matrix;
        matrix *= (size_t)dims[d];
    }
    size_t offset = 0;
    for (size_t q = 0; q < mm->batches; q++) {
        at[q] = offset;
        for (unsigned d = mm->n_batch; d-- > 0;) {
            offset += step[d];
            if (++index[d] < mm->dims[d])
                break;
            offset -= step[d] * (size_t)index[d];
            index[d] = 0;
        }
    }
    return at;
}

static enum ox_status broadcast_batch(struct ox_run *r, const struct ox_tensor *a,
                                      const struct ox_tensor *b, struct ox_matmul *mm,
                                      struct ox_error *err)
{
    unsigned batch_a = a->rank > 2 ? a->rank - 2 : 0, batch_b = b->rank > 2 ? b->rank - 2 : 0;
    mm->n_batch = batch_a > batch_b ? batch_a : batch_b;
    mm->dims = ox_run_scratch(r, mm->n_batch + 2, sizeof *mm->dims, err);
    if (!mm->dims)
        return OX_NO_MEMORY;
    for (unsigned d = 0; d < mm->n_batch; d++) {
        int64_t x = d + batch_a >= mm->n_batch ? a->dims[d + batch_a - mm->n_batch] : 1;
        int64_t y = d + batch_b >= mm->n_batch ? b->dims[d + batch_b - mm->n_batch] : 1;
        if (x != y && x != 1 && y != 1)
            return ox_run_fail(r, err, OX_INPUT, "batch dimensions %lld and %lld do not broadcast",
                               (long long)x, (long long)y);
        mm->dims[d] = x == 1 ? y : x;
    }
    return ox_dims_count(mm->n_batch, mm->dims, &mm->batches)
               ? OX_OK
               : ox_run_fail(r, err, OX_LIMIT, "too many batches");
}

/* joined: matrices by a right side that is one matrix are one tall matrix. */
static enum ox_status plan(struct ox_run *r, const struct ox_tensor *a, const struct ox_tensor *b,
                           bool joined, struct ox_matmul *mm, struct ox_error *err)
{
    *mm = (struct ox_matmul){0};
    if (a->rank == 0 || b->rank == 0)
        return ox_run_fail(r, err, OX_INPUT, "a factor is a scalar");
    OX_TRY(broadcast_batch(r, a, b, mm, err));
    int64_t k = a->dims[a->rank - 1], k_b = b->dims[b->rank == 1 ? 0 : b->rank - 2];
    if (k != k_b)
        return ox_run_fail(r, err, OX_INPUT,
                           "the left side has %lld columns, the right side %lld rows", (long long)k,
                           (long long)k_b);
    mm->k = (size_t)k;
    mm->m = a->rank == 1 ? 1 : (size_t)a->dims[a->rank - 2];
    mm->n = b->rank == 1 ? 1 : (size_t)b->dims[b->rank - 1];
    mm->rank = mm->n_batch;
    if (a->rank > 1)
        mm->dims[mm->rank++] = (int64_t)mm->m;
    if (b->rank > 1)
        mm->dims[mm->rank++] = (int64_t)mm->n;
    if (joined && b->n == mm->k * mm->n && a->rank > 1) {
        mm->m *= mm->batches;
        mm->batches = 1;
        return OX_OK;
    }
    mm->a_at = batch_offsets(r, mm, a->dims, a->rank, err);
    mm->b_at = batch_offsets(r, mm, b->dims, b->rank, err);
    mm->c_at = ox_run_scratch(r, mm->batches, sizeof *mm->c_at, err);
    if (!mm->a_at || !mm->b_at || !mm->c_at)
        return OX_NO_MEMORY;
    for (size_t q = 0; q < mm->batches; q++)
        mm->c_at[q] = q * mm->m * mm->n;
    return OX_OK;
}

enum ox_status ox_matmul_plan(struct ox_run *r, const struct ox_tensor *a,
                              const struct ox_tensor *b, struct ox_matmul *mm, struct ox_error *err)
{
    return plan(r, a, b, false, mm, err);
}

/* Batches of the left side that lie one after the other by a right side shared by all are one tall matrix. */
static void join_batches(struct ox_matmul *mm)
{
    for (size_t q = 0; q < mm->batches; q++)
        if (mm->b_at[q] != 0 || mm->a_at[q] != q * mm->m * mm->k)
            return;
    mm->m *= mm->batches;
    mm->batches = 1;
}

enum ox_status ox_matmul_run(struct ox_run *r, struct ox_matmul *mm, enum ox_dtype dtype,
                             const void *a, const void *b, void *c, struct ox_error *err)
{
    if (mm->batches > 1)
        join_batches(mm);
    struct ox_product p = {.dtype = dtype,
                           .m = mm->m,
                           .n = mm->n,
                           .k = mm->k,
                           .fused = mm->fused,
                           .a = a,
                           .a_row = mm->k,
                           .a_col = 1,
                           .b = b,
                           .b_row = mm->n,
                           .b_col = 1,
                           .c = c,
                           .ldc = mm->n,
                           .batches = mm->batches,
                           .a_at = mm->a_at,
                           .b_at = mm->b_at,
                           .c_at = mm->c_at};
    return ox_product_run(r, &p, err);
}

static enum ox_status multiply(struct ox_run *r, bool fused, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 1);
    struct ox_matmul mm;
    OX_TRY(plan(r, a, b, true, &mm, err));
    mm.fused = fused;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, a->dtype, mm.rank, mm.dims, &y, err));
    return ox_matmul_run(r, &mm, y->dtype, a->data, b->data, y->data, err);
}

static enum ox_status run_matmul(struct ox_run *r, struct ox_error *err)
{
    return multiply(r, false, err);
}

static enum ox_status fast_matmul(struct ox_run *r, struct ox_error *err)
{
    return ox_run_in(r, 0)->dtype == OX_FLOAT64 ? multiply(r, true, err) : ox_fast_matmul(r, err);
}

/* ---- Gemm: alpha A' B' + beta C ---------------------------------------------------------------------------------- */

static void infer_gemm(struct ox_infer *c)
{
    unsigned ra, rb;
    const struct ox_expr *const *a;
    const struct ox_expr *const *b;
    bool has_a = ox_infer_shape(c, 0, &ra, &a), has_b = ox_infer_shape(c, 1, &rb, &b);
    if ((has_a && ra != 2) || (has_b && rb != 2)) {
        ox_infer_conflict(c, "a factor of rank %u is no matrix", has_a && ra != 2 ? ra : rb);
        return;
    }
    bool ta = ox_infer_int_attr(c, "transA", 0) != 0, tb = ox_infer_int_attr(c, "transB", 0) != 0;
    if (has_a && has_b)
        ox_infer_equal(c, a[ta ? 0 : 1], b[tb ? 1 : 0], "the inner dimension");
    const struct ox_expr **dims = ox_infer_dims(c, 2);
    if (!dims)
        return;
    dims[0] = has_a ? a[ta ? 1 : 0] : NULL;
    dims[1] = has_b ? b[tb ? 0 : 1] : NULL;
    ox_infer_set_shape(c, 0, 2, dims);
}

/* How C spreads over the result: element strides of its rows and columns. */
struct spread {
    const struct ox_tensor *c;
    size_t row, col;
};

static enum ox_status spread_c(struct ox_run *r, const struct ox_tensor *c, int64_t m, int64_t n,
                               struct spread *out, struct ox_error *err)
{
    *out = (struct spread){.c = c};
    if (!c)
        return OX_OK;
    int64_t rows = c->rank == 2 ? c->dims[0] : 1;
    int64_t cols = c->rank >= 1 && c->rank <= 2 ? c->dims[c->rank - 1] : 1;
    /* Before version 7 only an attribute allows broadcasting. */
    bool strict = r->opset < 7 && ox_run_int(r, "broadcast", 0) == 0;
    bool fits = c->rank <= 2 && (rows == m || rows == 1) && (cols == n || cols == 1);
    if (!fits || (strict && (c->rank != 2 || rows != m || cols != n)))
        return ox_run_fail(r, err, OX_INPUT, "C (rank %u, %lld x %lld) does not %s %lld x %lld",
                           c->rank, (long long)rows, (long long)cols,
                           strict ? "equal" : "broadcast to", (long long)m, (long long)n);
    out->row = rows == 1 ? 0 : (size_t)cols;
    out->col = cols == 1 ? 0 : 1;
    return OX_OK;
}

static int64_t scale_int(double sum)
{
    if (!(sum > -9.2233720368547758e18))
        return sum < 0 ? INT64_MIN : 0;
    return sum >= 9.2233720368547758e18 ? INT64_MAX : (int64_t)sum;
}

#define T float
#define NAME(x) x##_f32
#include "ops/matmul_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "ops/matmul_tmpl.h"
#undef T
#undef NAME
#define INTEGER 1
#define T uint32_t
#define NAME(x) x##_u32
#define SIGNED int32_t
#include "ops/matmul_tmpl.h"
#undef T
#undef NAME
#undef SIGNED
#define T uint64_t
#define NAME(x) x##_u64
#define SIGNED int64_t
#include "ops/matmul_tmpl.h"

static enum ox_status gemm(struct ox_run *r, bool fused, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 1);
    if (a->rank != 2 || b->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "factors of rank %u and %u are no matrices", a->rank,
                           b->rank);
    bool ta = ox_run_int(r, "transA", 0) != 0, tb = ox_run_int(r, "transB", 0) != 0;
    int64_t m = a->dims[ta ? 1 : 0], k = a->dims[ta ? 0 : 1];
    int64_t k_b = b->dims[tb ? 1 : 0], n = b->dims[tb ? 0 : 1];
    if (k != k_b)
        return ox_run_fail(r, err, OX_INPUT,
                           "the left side has %lld columns, the right side %lld rows", (long long)k,
                           (long long)k_b);
    struct spread spread;
    OX_TRY(spread_c(r, ox_run_in(r, 2), m, n, &spread, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, a->dtype, 2, (const int64_t[]){m, n}, &y, err));
    struct ox_product p = {.dtype = y->dtype,
                           .m = (size_t)m,
                           .n = (size_t)n,
                           .k = (size_t)k,
                           .a = a->data,
                           .a_row = ta ? 1 : (size_t)k,
                           .a_col = ta ? (size_t)m : 1,
                           .b = b->data,
                           .b_row = tb ? 1 : (size_t)n,
                           .b_col = tb ? (size_t)k : 1,
                           .c = y->data,
                           .ldc = (size_t)n,
                           .fused = fused,
                           .batches = 1};
    OX_TRY(ox_product_run(r, &p, err));
    float alpha = ox_run_float(r, "alpha", 1), beta = ox_run_float(r, "beta", 1);
    switch (y->dtype) {
    case OX_FLOAT32:
        add_c_f32(y, &spread, alpha, beta);
        break;
    case OX_FLOAT64:
        add_c_f64(y, &spread, alpha, beta);
        break;
    case OX_INT32:
    case OX_UINT32:
        add_c_u32(y, &spread, alpha, beta);
        break;
    default:
        add_c_u64(y, &spread, alpha, beta);
        break;
    }
    return OX_OK;
}

static enum ox_status run_gemm(struct ox_run *r, struct ox_error *err)
{
    return gemm(r, false, err);
}

static enum ox_status fast_gemm(struct ox_run *r, struct ox_error *err)
{
    return ox_run_in(r, 0)->dtype == OX_FLOAT64 ? gemm(r, true, err) : ox_fast_gemm(r, err);
}

const struct ox_op ox_ops_matmul[] = {
    {"", "MatMul", 1, OX_OP_DOUBLE, .infer = infer_matmul, .run = run_matmul, .fast = fast_matmul},
    {"", "MatMul", 9, OX_OP_DOUBLE, .infer = infer_matmul, .run = run_matmul, .fast = fast_matmul},
    {"", "MatMul", 13, OX_OP_DOUBLE, .infer = infer_matmul, .run = run_matmul, .fast = fast_matmul},
    {"", "Gemm", 1, .infer = infer_gemm, .run = run_gemm},
    {"", "Gemm", 6, .infer = infer_gemm, .run = run_gemm},
    {"", "Gemm", 7, OX_OP_DOUBLE, .infer = infer_gemm, .run = run_gemm, .fast = fast_gemm},
    {"", "Gemm", 9, OX_OP_DOUBLE, .infer = infer_gemm, .run = run_gemm, .fast = fast_gemm},
    {"", "Gemm", 11, .infer = infer_gemm, .run = run_gemm, .fast = fast_gemm},
    {"", "Gemm", 13, OX_OP_DOUBLE, .infer = infer_gemm, .run = run_gemm, .fast = fast_gemm},
    {0}};
