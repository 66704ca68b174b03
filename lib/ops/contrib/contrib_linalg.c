/* Products and distances of com.microsoft: CDist Inverse SparseToDenseMatMul. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/compute.h"
#include "kernels/dense.h"
#include "kernels/distances.h"
#include "kernels/doubles.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

/* ---- Inverse ----------------------------------------------------------------------------------------------------- */

struct inverses {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    size_t n, some; /* rows of a matrix, matrices of a task */
    double *work;   /* of each slot */
    size_t *pivots;
};

static void invert_some(void *arg, size_t i, size_t slot)
{
    const struct inverses *j = arg;
    const size_t n = j->n, size = n * n, count = j->x->n / size;
    double *a = j->work + slot * size;
    for (size_t at = i * j->some; at < count && at < (i + 1) * j->some; at++) {
        ox_real_load(j->x, at * size, size, a);
        ox_doubles(ox_cpu())->invert(n, a, j->pivots + slot * n);
        ox_real_store(j->y, at * size, size, a);
    }
}

static enum ox_status run_inverse(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return ox_run_fail(r, err, OX_INPUT, "X (rank %u) is no square matrix", x->rank);
    size_t n = (size_t)x->dims[x->rank - 1];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &y, err));
    if (x->n == 0)
        return OX_OK;
    struct inverses j = {.x = x, .y = y, .n = n};
    const size_t slots = ox_slots(r->env), count = x->n / (n * n);
    j.work = ox_real_scratch(r, slots * n * n, err);
    j.pivots = ox_run_scratch(r, slots * n, sizeof *j.pivots, err);
    if (!j.work || !j.pivots)
        return OX_NO_MEMORY;
    const double by_step = 30, wide = (double)n; /* as ox_spread() counts */
    j.some = 1 + 4096 / (n * n * n);
    ox_spread(r->env, (count - 1) / j.some + 1, by_step * (double)count * wide * wide * wide,
              invert_some, &j);
    return ox_env_poll(r->env, err);
}

/* ---- CDist ------------------------------------------------------------------------------------------------------- */

static enum ox_status run_cdist(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 1);
    const char *metric = ox_run_string(r, "metric");
    bool root = metric && strcmp(metric, "euclidean") == 0;
    if (metric && !root && strcmp(metric, "sqeuclidean") != 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute metric is '%s'", metric);
    if (a->rank != 2 || b->rank != 2 || a->dims[1] != b->dims[1])
        return ox_run_fail(r, err, OX_INPUT, "A and B are no matrices of equal columns");
    const double *x, *y;
    OX_TRY(ox_real_in(r, 0, &x, err));
    OX_TRY(ox_real_in(r, 1, &y, err));
    size_t m = (size_t)a->dims[0], n = (size_t)b->dims[0], k = (size_t)a->dims[1], all;
    if (OX_MUL_OVERFLOWS(m, n, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the result is too big");
    double *out = ox_real_scratch(r, all, err);
    if (!out)
        return OX_NO_MEMORY;
    for (size_t i = 0; all && i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < k; p++)
                sum += (x[i * k + p] - y[j * k + p]) * (x[i * k + p] - y[j * k + p]);
            out[i * n + j] = root ? sqrt(sum) : sum;
        }
    return ox_real_out(r, 0, a->dtype, 2, (const int64_t[]){a->dims[0], b->dims[0]}, out, err);
}

/* Of rows of A against all of B, whose columns lie one behind the other; differences before they are squared leave near points their
 * digits. */
struct distances {
    const float *x, *turned;
    float *out;
    size_t n, k;
    bool root;
};

static void distance_rows(void *arg, size_t from, size_t to)
{
    const struct distances *j = arg;
    const struct ox_rows *t = ox_fast_rows();
    float *out = j->out + from * j->n;
    t->distances(to - from, j->n, j->k, j->x + from * j->k, j->turned, j->n, out);
    if (j->root)
        t->unary[OX_UNARY_SQRT]((to - from) * j->n, out, out, 0, 0);
}

struct wide_distances {
    const double *x, *columns;
    double *out;
    size_t n, n_columns, k;
    bool root;
};

static void wide_rows(void *arg, size_t from, size_t to)
{
    const struct wide_distances *j = arg;
    double *out = j->out + from * j->n;
    ox_distances(ox_cpu())->squares(to - from, j->n, j->k, j->x + from * j->k, j->columns,
                                    j->n_columns, out);
    for (size_t i = 0; j->root && i < (to - from) * j->n; i++)
        out[i] = sqrt(out[i]);
}

/* The same of doubles. */
static enum ox_status wide_cdist(struct ox_run *r, const struct ox_tensor *a,
                                 const struct ox_tensor *b, bool root, struct ox_error *err)
{
    enum { ROWS = 32 };
    const double *from = b->data;
    struct wide_distances j = {
        .x = a->data, .n = (size_t)b->dims[0], .k = (size_t)b->dims[1], .root = root};
    struct ox_tensor *y;
    size_t n;
    j.n_columns = (j.n + OX_DISTANCE_COLUMNS - 1) / OX_DISTANCE_COLUMNS * OX_DISTANCE_COLUMNS;
    if (OX_MUL_OVERFLOWS(j.n_columns, j.k, &n))
        return OX_UNSUPPORTED;
    double *columns = ox_run_work(r, n, sizeof *columns, err);
    if (!columns)
        return err->status;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT64, 2, (const int64_t[]){a->dims[0], b->dims[0]}, &y, err));
    for (size_t p = 0; p < j.k; p++)
        for (size_t i = 0; i < j.n_columns; i++)
            columns[p * j.n_columns + i] = i < j.n ? from[i * j.k + p] : 0;
    j.columns = columns;
    j.out = y->data;
    ox_fast_spread(r->env, (size_t)a->dims[0], ROWS, 0.06 * (double)j.n * (double)j.k, wide_rows,
                   &j);
    return OX_OK;
}

static enum ox_status fast_cdist(struct ox_run *r, struct ox_error *err)
{
    enum { DEEP = 1 << 12, ROWS = 32 }; /* longer sums of floats would lose digits */
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 1);
    const char *metric = ox_run_string(r, "metric");
    const bool root = metric && strcmp(metric, "euclidean") == 0;
    if ((metric && !root && strcmp(metric, "sqeuclidean") != 0) || a->rank != 2 || b->rank != 2 ||
        a->dims[1] != b->dims[1] || a->n == 0 || b->n == 0)
        return OX_UNSUPPORTED;
    if (a->dtype == OX_FLOAT64)
        return wide_cdist(r, a, b, root, err);
    if (!ox_fast_in(r, 0) || a->dims[1] > DEEP)
        return OX_UNSUPPORTED;
    struct distances j = {
        .x = a->data, .n = (size_t)b->dims[0], .k = (size_t)b->dims[1], .root = root};
    struct ox_tensor *y;
    float *turned = ox_run_work(r, b->n, sizeof *turned, err);
    if (!turned)
        return err->status;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 2, (const int64_t[]){a->dims[0], b->dims[0]}, &y, err));
    ox_compute(ox_cpu())->transpose(j.n, j.k, b->data, j.k, turned, j.n);
    j.turned = turned;
    j.out = y->data;
    ox_fast_spread(r->env, (size_t)a->dims[0], ROWS, 0.03 * (double)j.n * (double)j.k,
                   distance_rows, &j);
    return OX_OK;
}

static void infer_cdist(struct ox_infer *c)
{
    const struct ox_expr *dims[2] = {ox_infer_dim(c, 0, 0), ox_infer_dim(c, 1, 0)};
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_set_shape(c, 0, 2, dims);
}

/* ---- SparseToDenseMatMul ----------------------------------------------------------------------------------------- */

static enum ox_status run_sparse_matmul(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *a = r->in[0];
    const struct ox_tensor *b = r->in[1]->tensor, *places = a->indices, *values = a->tensor;
    bool ta = ox_run_int(r, "transA", 0) != 0, tb = ox_run_int(r, "transB", 0) != 0;
    double alpha = (double)ox_run_float(r, "alpha", 1);
    if (a->kind != OX_DATUM_SPARSE || a->rank != 2 || !b || b->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "A is no sparse matrix, or B no matrix");
    int64_t rows = a->dims[ta ? 1 : 0], depth = a->dims[ta ? 0 : 1], width = b->dims[tb ? 0 : 1];
    if (b->dims[tb ? 1 : 0] != depth)
        return ox_run_fail(r, err, OX_INPUT, "A has %" PRId64 " columns, B %" PRId64 " rows", depth,
                           b->dims[tb ? 1 : 0]);
    const double *right = ox_real_all(r, b, err);
    int64_t dims[2] = {rows, width};
    size_t all, n = (size_t)width, k_rows = (size_t)b->dims[1];
    if (!ox_dims_count(2, dims, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the result is too big");
    double *y = ox_real_scratch(r, all, err);
    if (!y || (!right && b->n))
        return OX_NO_MEMORY;
    for (size_t e = 0; e < values->n; e++) {
        int64_t at[2] = {ox_tensor_get_int(places, places->rank == 2 ? 2 * e : e), 0};
        if (places->rank == 2) {
            at[1] = ox_tensor_get_int(places, 2 * e + 1);
        } else if (a->dims[1]) {
            at[1] = at[0] % a->dims[1];
            at[0] /= a->dims[1];
        }
        if (at[0] < 0 || at[0] >= a->dims[0] || at[1] < 0 || at[1] >= a->dims[1])
            return ox_run_fail(r, err, OX_INPUT, "element %zu of A lies outside of it", e);
        size_t row = (size_t)at[ta ? 1 : 0], k = (size_t)at[ta ? 0 : 1];
        double value = ox_tensor_get_double(values, e) * alpha;
        for (size_t j = 0; j < n; j++)
            y[row * n + j] += value * right[tb ? j * k_rows + k : k * n + j];
    }
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, b->dtype, 2, dims, &out, err));
    ox_elements_convert(out->dtype, out->data, OX_FLOAT64, y, all, false);
    return OX_OK;
}

static void infer_sparse_matmul(struct ox_infer *c)
{
    const struct ox_type *a = ox_infer_type(c, 0);
    bool ta = ox_infer_int_attr(c, "transA", 0) != 0, tb = ox_infer_int_attr(c, "transB", 0) != 0;
    ox_infer_same_dtype(c, 0, 1);
    const struct ox_expr *dims[2] = {NULL, ox_infer_dim(c, 1, tb ? 0 : 1)};
    if (a && a->has_rank && a->rank == 2)
        dims[0] = a->dims[ta ? 1 : 0];
    ox_infer_set_shape(c, 0, 2, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_linalg[] = {
    {MS, "CDist", 1, OX_OP_DOUBLE, .infer = infer_cdist, .run = run_cdist, .fast = fast_cdist},
    {MS, "Inverse", 1, .infer = ox_rule_same, .run = run_inverse},
    {MS, "SparseToDenseMatMul", 1, OX_OP_ANY_KIND, .infer = infer_sparse_matmul,
     .run = run_sparse_matmul},
    {0}};
