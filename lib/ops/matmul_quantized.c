/* MatMulInteger and QLinearMatMul: products and sums of the integers, exact in double. */
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/matmul.h"
#include "ops/quantized.h"
#include "ops/real.h"

/* How a zero point or scale of a factor applies: one, one a row of A (column of B), or one a row (column) of each matrix. */
static enum ox_status factor_param(struct ox_run *r, const char *what, size_t i,
                                   const struct ox_tensor *data, bool left,
                                   struct ox_quant_param *out, struct ox_error *err)
{
    const struct ox_tensor *param = ox_run_in(r, i);
    unsigned rank = data->rank;
    if (rank >= 2) {
        unsigned axis = left ? rank - 2 : rank - 1;
        size_t lines = data->dims[rank - 1 - (left ? 0 : 1)]
                           ? data->n / (size_t)data->dims[rank - 1 - (left ? 0 : 1)]
                           : 0;
        /* Of the left each matrix has its own rows: they simply go on. */
        if (param && left && param->n == lines && param->n > 1) {
            *out = (struct ox_quant_param){param, param->n, (size_t)data->dims[rank - 1]};
            return OX_OK;
        }
        return ox_quant_param_init(r, what, param, data, axis, out, err);
    }
    if (left) {
        *out = (struct ox_quant_param){param, 1, 1};
        return !param || param->n == 1
                   ? OX_OK
                   : ox_run_fail(r, err, OX_INPUT, "%s has %zu elements for a vector", what,
                                 param->n);
    }
    return ox_quant_param_init(r, what, param, data, 0, out, err);
}

/* Data less its zero point. Zero points of each matrix's columns go by [.., 1, N]. */
static double *load(struct ox_run *r, const char *what, const struct ox_tensor *data, size_t i_zero,
                    bool left, struct ox_error *err)
{
    const struct ox_tensor *zero = ox_run_in(r, i_zero);
    struct ox_quant_param param = {NULL, 1, 1};
    unsigned rank = data->rank;
    size_t n = rank ? (size_t)data->dims[rank - 1] : 1;
    size_t k = rank > 1 ? (size_t)data->dims[rank - 2] : 1;
    bool columns = !left && rank > 2 && zero && zero->n > 1 && zero->n != n && n && k &&
                   zero->n == data->n / k;
    if (!columns && factor_param(r, what, i_zero, data, left, &param, err) != OX_OK)
        return NULL;
    double *out = ox_quant_load(r, data, &param, err);
    for (size_t i = 0; out && columns && i < data->n; i++)
        out[i] -= ox_tensor_get_double(zero, i / (n * k) * n + i % n);
    return out;
}

static enum ox_status multiply(struct ox_run *r, size_t ia, size_t ia_zero, size_t ib,
                               size_t ib_zero, struct ox_matmul *mm, double **sums, size_t *n,
                               struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, ia), *b = ox_run_in(r, ib);
    OX_TRY(ox_matmul_plan(r, a, b, mm, err));
    if (!ox_dims_count(mm->rank, mm->dims, n))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large");
    struct ox_error own = {0};
    struct ox_error *e = err ? err : &own;
    e->status = OX_OK;
    double *x = load(r, "a_zero_point", a, ia_zero, true, e);
    double *y = x ? load(r, "b_zero_point", b, ib_zero, false, e) : NULL;
    *sums = y ? ox_real_scratch(r, *n, e) : NULL;
    if (!*sums)
        return e->status != OX_OK ? e->status : OX_NO_MEMORY;
    return ox_matmul_run(r, mm, OX_FLOAT64, x, y, *sums, err);
}

static void infer_matmul_integer(struct ox_infer *c)
{
    ox_infer_set_dtype(c, 0, OX_INT32);
    ox_infer_matmul(c, 0, 1);
}

static enum ox_status run_matmul_integer(struct ox_run *r, struct ox_error *err)
{
    struct ox_matmul mm;
    double *sums = NULL;
    size_t n;
    OX_TRY(multiply(r, 0, 2, 1, 3, &mm, &sums, &n, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_INT32, mm.rank, mm.dims, &y, err));
    for (size_t i = 0; i < n; i++) /* wraps in 32 bits, as the standard allows */
        ((uint32_t *)y->data)[i] = (uint32_t)(uint64_t)(int64_t)sums[i];
    return OX_OK;
}

static void infer_qlinear_matmul(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 7);
    ox_infer_matmul(c, 0, 3);
}

/* Scale of the matrix line that element i of the result takes: per row of the left, per column of the right. */
static double line_scale(const struct ox_tensor *scale, size_t line, size_t lines_a_matrix)
{
    if (scale->n == 1)
        return ox_tensor_get_double(scale, 0);
    return ox_tensor_get_double(scale, (scale->n == lines_a_matrix ? line % lines_a_matrix : line) %
                                           scale->n);
}

static enum ox_status check_scale(struct ox_run *r, const char *what, size_t i,
                                  const struct ox_tensor *data, bool left, struct ox_error *err)
{
    const struct ox_tensor *scale = ox_run_in(r, i);
    unsigned rank = data->rank;
    size_t lines = rank < 2 ? 1 : (size_t)data->dims[left ? rank - 2 : rank - 1];
    size_t other = rank < 2 ? 1 : (size_t)data->dims[left ? rank - 1 : rank - 2];
    size_t all = other ? data->n / other : 0;
    if (scale->n == 1 || scale->n == lines || scale->n == all)
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not 1, %zu or %zu", what, scale->n,
                       lines, all);
}

static enum ox_status run_qlinear_matmul(struct ox_run *r, struct ox_error *err)
{
    struct ox_matmul mm;
    double *sums = NULL;
    size_t n;
    OX_TRY(multiply(r, 0, 2, 3, 5, &mm, &sums, &n, err));
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 3);
    const struct ox_tensor *a_scale = ox_run_in(r, 1), *b_scale = ox_run_in(r, 4);
    const struct ox_tensor *y_scale = ox_run_in(r, 6), *y_zero = ox_run_in(r, 7);
    OX_TRY(check_scale(r, "a_scale", 1, a, true, err));
    OX_TRY(check_scale(r, "b_scale", 4, b, false, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, y_zero->dtype, mm.rank, mm.dims, &y, err));
    size_t cols = b->rank == 1 ? 1 : (size_t)b->dims[b->rank - 1];
    size_t rows = a->rank == 1 ? 1 : (size_t)a->dims[a->rank - 2];
    size_t all_rows = cols ? n / cols : 0;
    bool fits_y = (y_scale->n == 1 || y_scale->n == rows || y_scale->n == all_rows) &&
                  (y_zero->n == 1 || y_zero->n == rows || y_zero->n == all_rows);
    if (!fits_y)
        return ox_run_fail(r, err, OX_INPUT, "y_scale and y_zero_point have %zu and %zu elements",
                           y_scale->n, y_zero->n);
    for (size_t i = 0; i < all_rows; i++) {
        double left = line_scale(a_scale, i, rows), down = line_scale(y_scale, i, rows);
        double zero = line_scale(y_zero, i, rows);
        for (size_t j = 0; j < cols; j++) {
            size_t matrix = rows ? i / rows : 0;
            double right = line_scale(b_scale, matrix * cols + j, cols);
            ox_quant_store(y, i * cols + j,
                           sums[i * cols + j] * ox_quant_factor(a_scale->dtype, left, right, down),
                           zero);
        }
    }
    return OX_OK;
}

const struct ox_op ox_ops_matmul_quantized[] = {
    {"", "MatMulInteger", 10, .infer = infer_matmul_integer, .run = run_matmul_integer,
     .fast = ox_int8_matmul_integer, .prepare = ox_int8_prepare_matmul_integer},
    {"", "QLinearMatMul", 10, .infer = infer_qlinear_matmul, .run = run_qlinear_matmul,
     .fast = ox_int8_qlinear_matmul, .prepare = ox_int8_prepare_qlinear_matmul},
    {"", "QLinearMatMul", 21, .infer = infer_qlinear_matmul, .run = run_qlinear_matmul,
     .fast = ox_int8_qlinear_matmul, .prepare = ox_int8_prepare_qlinear_matmul},
    {0}};
