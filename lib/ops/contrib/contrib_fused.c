/* Operators of com.microsoft that are others of the standard run together: activations with a bias, products and convolutions
 * with an activation behind them. */
#include <math.h>
#include <string.h>

#include "ops/broadcast.h"
#include "ops/contrib/contrib.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/matmul.h"
#include "ops/product.h"
#include "ops/random_source.h"
#include "ops/real.h"
#include "ops/rules.h"

/* ---- Activations -------------------------------------------------------------------------------------------------- */

struct activation_job {
    const struct ox_tensor *x, *skip; /* skip: added, of the same shape; NULL */
    const double *bias;               /* over the last axis; NULL */
    size_t n_bias;
    enum ox_fused kind;
    double parameters[2];
    struct ox_tensor *y;
};

enum { STRETCH = 512 };

static void activation_task(void *arg, size_t from, size_t to)
{
    const struct activation_job *job = arg;
    double v[STRETCH], more[STRETCH];
    for (size_t at = from; at < to; at += STRETCH) {
        size_t n = to - at < STRETCH ? to - at : STRETCH;
        ox_real_load(job->x, at, n, v);
        size_t place = job->bias ? at % job->n_bias : 0;
        for (size_t i = 0; job->bias && i < n; i++) {
            v[i] += job->bias[place];
            place = place + 1 == job->n_bias ? 0 : place + 1;
        }
        if (job->skip) {
            ox_real_load(job->skip, at, n, more);
            for (size_t i = 0; i < n; i++)
                v[i] += more[i];
        }
        ox_fused_apply(job->kind, job->parameters, v, n);
        ox_real_store(job->y, at, n, v);
    }
}

/* Output 0 from input 0, with the list of input 1 (may be omitted) added along the last axis and input i_skip as it is. */
static enum ox_status run_activation(struct ox_run *r, enum ox_fused kind, double alpha,
                                     size_t i_skip, struct ox_error *err)
{
    struct activation_job job = {.x = ox_run_in(r, 0), .kind = kind, .parameters = {alpha, 0}};
    const struct ox_tensor *bias = ox_run_in(r, 1);
    if (bias) {
        int64_t last = job.x->rank ? job.x->dims[job.x->rank - 1] : 1;
        OX_TRY(ox_run_check_list(r, bias, last, "bias", err));
        OX_TRY(ox_real_in(r, 1, &job.bias, err));
        job.n_bias = bias->n;
    }
    job.skip = i_skip ? ox_run_in(r, i_skip) : NULL;
    if (job.skip && !ox_tensor_same_dims(job.skip, job.x))
        return ox_run_fail(r, err, OX_INPUT, "skip does not have the shape of X");
    OX_TRY(ox_run_out(r, 0, job.x->dtype, job.x->rank, job.x->dims, &job.y, err));
    ox_ranges_run(r->env, job.x->n, OX_GRAIN, activation_task, &job);
    return OX_OK;
}

static enum ox_status run_gelu(struct ox_run *r, struct ox_error *err)
{
    return run_activation(r, OX_FUSED_GELU, 0, 0, err);
}

static enum ox_status run_fast_gelu(struct ox_run *r, struct ox_error *err)
{
    return run_activation(r, OX_FUSED_FAST_GELU, 0, 0, err);
}

static enum ox_status run_quick_gelu(struct ox_run *r, struct ox_error *err)
{
    return run_activation(r, OX_FUSED_QUICK_GELU, (double)ox_run_float(r, "alpha", 1.702f), 0, err);
}

static enum ox_status run_bias_add(struct ox_run *r, struct ox_error *err)
{
    return run_activation(r, OX_FUSED_NONE, 0, 2, err);
}

/* ---- BiasSoftmax BiasDropout -------------------------------------------------------------------------------------- */

/* Data and bias broadcast together, without shrinking or growing the data. */
static enum ox_status add_bias(struct ox_run *r, struct ox_tensor **sum, struct ox_error *err)
{
    const struct ox_tensor *in[2] = {ox_run_in(r, 0), ox_run_in(r, 1)};
    struct ox_broadcast b;
    OX_TRY(ox_broadcast_init(&b, r, 2, in, err));
    OX_TRY(ox_broadcast_into_first(&b, r, in[0], err));
    return ox_call_standard(r, "Add", 14, in, 2, sum, err);
}

static enum ox_status run_bias_softmax(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *sum, *y;
    OX_TRY(add_bias(r, &sum, err));
    const struct ox_tensor *in[1] = {sum};
    enum ox_status status = ox_call_standard(r, "Softmax", 11, in, 1, &y, err);
    ox_tensor_release(sum);
    OX_TRY(status);
    status = ox_run_out_tensor(r, 0, y, err);
    ox_tensor_release(y);
    return status;
}

/* Without training nothing is dropped; in training as Dropout draws. */
static enum ox_status drop_sum(struct ox_run *r, struct ox_tensor *sum, struct ox_error *err)
{
    const struct ox_tensor *training = ox_run_in(r, 4);
    double ratio = ox_real_scalar(r, 3, 0.5);
    bool drops = training && training->n && ox_tensor_get_int(training, 0) && ratio != 0;
    struct ox_tensor *mask = NULL;
    if (drops && !(ratio > 0 && ratio < 1))
        return ox_run_fail(r, err, OX_INPUT, "ratio is %g, outside [0, 1)", ratio);
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_BOOL, sum->rank, sum->dims, &mask, err));
    if (drops)
        ox_random_drop(sum, ratio,
                       ox_run_attr(r, "seed") ? (uint64_t)ox_run_int(r, "seed", 0) : r->seed, sum,
                       mask);
    else if (mask)
        memset(mask->data, 1, mask->n);
    return OX_OK;
}

static enum ox_status run_bias_dropout(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *residual = ox_run_in(r, 2);
    struct ox_tensor *sum;
    OX_TRY(add_bias(r, &sum, err));
    enum ox_status status = drop_sum(r, sum, err);
    if (residual && status == OX_OK) {
        const struct ox_tensor *in[2] = {sum, residual};
        struct ox_tensor *more = NULL;
        status = ox_call_standard(r, "Add", 14, in, 2, &more, err);
        if (status == OX_OK) {
            ox_tensor_release(sum);
            sum = more;
        }
    }
    if (status == OX_OK)
        status = ox_run_out_tensor(r, 0, sum, err);
    ox_tensor_release(sum);
    return status;
}

/* ---- Products and convolutions ------------------------------------------------------------------------------------ */

static enum ox_status give_activated(struct ox_run *r, enum ox_fused kind,
                                     const double parameters[2], struct ox_tensor *y,
                                     struct ox_error *err)
{
    ox_fused_apply_tensor(kind, parameters, y);
    enum ox_status status = ox_run_out_tensor(r, 0, y, err);
    ox_tensor_release(y);
    return status;
}

/* activation_alpha and so on, with the defaults that onnxruntime has for each. */
static void read_parameters(const struct ox_run *r, enum ox_fused kind, double p[2])
{
    float alpha = kind == OX_FUSED_LEAKY_RELU ? 0.01f : kind == OX_FUSED_HARD_SIGMOID ? 0.2f : 0;
    float beta = kind == OX_FUSED_HARD_SIGMOID ? 0.5f : 0;
    p[0] = (double)ox_run_float(r, "activation_alpha", alpha);
    p[1] = (double)ox_run_float(r, "activation_beta", beta);
}

static enum ox_status run_fused_gemm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in[3] = {ox_run_in(r, 0), ox_run_in(r, 1), ox_run_in(r, 2)};
    enum ox_fused kind;
    double p[2];
    struct ox_tensor *y;
    OX_TRY(ox_fused_of(r, ox_run_string(r, "activation"), &kind, err));
    read_parameters(r, kind, p);
    OX_TRY(ox_call_standard(r, "Gemm", 13, in, 3, &y, err));
    return give_activated(r, kind, p, y, err);
}

/* Conv, then Z added, then the activation. */
static enum ox_status run_fused_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in[3] = {ox_run_in(r, 0), ox_run_in(r, 1), ox_run_in(r, 2)};
    const struct ox_tensor *z = ox_run_in(r, 3);
    enum ox_fused kind;
    size_t n;
    const float *given = ox_run_floats(r, "activation_params", &n);
    struct ox_tensor *y, *sum = NULL;
    OX_TRY(ox_fused_of(r, ox_run_string(r, "activation"), &kind, err));
    size_t needs = kind == OX_FUSED_LEAKY_RELU                              ? 1
                   : kind == OX_FUSED_CLIP || kind == OX_FUSED_HARD_SIGMOID ? 2
                                                                            : 0;
    if (n < needs)
        return ox_run_fail(r, err, OX_INPUT, "activation_params has %zu elements, not %zu", n,
                           needs);
    const double p[2] = {n > 0 ? (double)given[0] : 0, n > 1 ? (double)given[1] : 0};
    OX_TRY(ox_call_standard(r, "Conv", 11, in, 3, &y, err));
    if (z) {
        const struct ox_tensor *both[2] = {y, z};
        enum ox_status status = ox_tensor_same_dims(y, z)
                                    ? ox_call_standard(r, "Add", 14, both, 2, &sum, err)
                                    : ox_run_fail(r, err, OX_INPUT, "Z and Y differ in shape");
        ox_tensor_release(y);
        OX_TRY(status);
        y = sum;
    }
    return give_activated(r, kind, p, y, err);
}

/* ---- FusedMatMul -------------------------------------------------------------------------------------------------- */

/* A factor as the product sees it: its matrices' rows and columns, and the strides of the leading axes. With `batch`
 * transposed its first axis is that of the rows. */
struct factor {
    const struct ox_tensor *t;
    unsigned n_batch;
    int64_t dims[OX_MOST_RANK];
    size_t steps[OX_MOST_RANK];
    int64_t rows, cols;
    size_t row, col;
};

static enum ox_status read_factor(struct ox_run *r, size_t i, bool trans, bool batch,
                                  struct factor *f, struct ox_error *err)
{
    const struct ox_tensor *t = f->t = ox_run_in(r, i);
    size_t strides[OX_MOST_RANK], stride = 1;
    if (t->rank == 0 || t->rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "factor %zu has rank %u", i, t->rank);
    for (unsigned d = t->rank; d-- > 0;) {
        strides[d] = stride;
        stride *= (size_t)t->dims[d];
    }
    f->n_batch = 0;
    if (t->rank == 1) { /* a row on the left, a column on the right */
        f->rows = i ? t->dims[0] : 1;
        f->cols = i ? 1 : t->dims[0];
        f->row = i ? 1 : 0;
        f->col = i ? 0 : 1;
        return OX_OK;
    }
    if (batch && t->rank < 3)
        return ox_run_fail(r, err, OX_INPUT, "factor %zu of rank %u has no batch to transpose", i,
                           t->rank);
    unsigned row_axis = batch ? 0 : t->rank - 2, col_axis = t->rank - 1;
    for (unsigned d = 0; d + 2 < t->rank; d++) {
        unsigned axis = batch ? d + 1 : d;
        f->dims[f->n_batch] = t->dims[axis];
        f->steps[f->n_batch++] = strides[axis];
    }
    unsigned first = trans ? col_axis : row_axis, second = trans ? row_axis : col_axis;
    f->rows = t->dims[first];
    f->cols = t->dims[second];
    f->row = strides[first];
    f->col = strides[second];
    return OX_OK;
}

/* Batches of the result, and where each factor's matrix of each begins. */
static enum ox_status plan_batches(struct ox_run *r, const struct factor f[2], int64_t *dims,
                                   unsigned *n_batch, struct ox_product *p, size_t **at,
                                   struct ox_error *err)
{
    unsigned n = f[0].n_batch > f[1].n_batch ? f[0].n_batch : f[1].n_batch;
    size_t index[OX_MOST_RANK] = {0}, steps[2][OX_MOST_RANK], offset[2] = {0, 0};
    for (unsigned d = 0; d < n; d++) {
        dims[d] = 1;
        for (unsigned k = 0; k < 2; k++) {
            bool has = d + f[k].n_batch >= n;
            unsigned own = d + f[k].n_batch - n;
            int64_t size = has ? f[k].dims[own] : 1;
            steps[k][d] = size == 1 ? 0 : f[k].steps[own];
            if (size != 1 && dims[d] != 1 && size != dims[d])
                return ox_run_fail(r, err, OX_INPUT, "batches of %lld and %lld do not broadcast",
                                   (long long)dims[d], (long long)size);
            dims[d] = size == 1 ? dims[d] : size;
        }
    }
    *n_batch = n;
    if (!ox_dims_count(n, dims, &p->batches))
        return ox_run_fail(r, err, OX_LIMIT, "too many batches");
    for (unsigned k = 0; k < 3; k++)
        if (!(at[k] = ox_run_scratch(r, p->batches, sizeof **at, err)))
            return OX_NO_MEMORY;
    for (size_t q = 0; q < p->batches; q++) {
        at[0][q] = offset[0];
        at[1][q] = offset[1];
        at[2][q] = q * p->m * p->n;
        for (unsigned d = n; d-- > 0;) {
            offset[0] += steps[0][d];
            offset[1] += steps[1][d];
            if (++index[d] < (size_t)dims[d])
                break;
            offset[0] -= steps[0][d] * index[d];
            offset[1] -= steps[1][d] * index[d];
            index[d] = 0;
        }
    }
    return OX_OK;
}

static void scale_tensor(struct ox_tensor *t, float alpha)
{
    double v[STRETCH], *wide = t->data;
    if (t->dtype == OX_FLOAT64) {
        for (size_t i = 0; alpha != 1 && i < t->n; i++)
            wide[i] *= (double)alpha;
        return;
    }
    for (size_t at = 0; alpha != 1 && at < t->n; at += STRETCH) {
        size_t n = t->n - at < STRETCH ? t->n - at : STRETCH;
        ox_real_load(t, at, n, v);
        for (size_t i = 0; i < n; i++)
            v[i] *= (double)alpha;
        ox_real_store(t, at, n, v);
    }
}

static enum ox_status fused_product(struct ox_run *r, bool fused, struct ox_tensor **y,
                                    struct ox_error *err)
{
    struct factor f[2];
    int64_t dims[OX_MOST_RANK + 2];
    size_t *at[3];
    unsigned rank = 0;
    bool trans_a = ox_run_int(r, "transA", 0) != 0, trans_b = ox_run_int(r, "transB", 0) != 0;
    bool batch_a = ox_run_int(r, "transBatchA", 0) != 0;
    bool batch_b = ox_run_int(r, "transBatchB", 0) != 0;
    OX_TRY(read_factor(r, 0, trans_a, batch_a, &f[0], err));
    OX_TRY(read_factor(r, 1, trans_b, batch_b, &f[1], err));
    if (f[0].cols != f[1].rows)
        return ox_run_fail(r, err, OX_INPUT, "%lld columns on the left, %lld rows on the right",
                           (long long)f[0].cols, (long long)f[1].rows);
    struct ox_product p = {.m = (size_t)f[0].rows,
                           .n = (size_t)f[1].cols,
                           .k = (size_t)f[0].cols,
                           .a = f[0].t->data,
                           .b = f[1].t->data,
                           .a_row = f[0].row,
                           .a_col = f[0].col,
                           .b_row = f[1].row,
                           .b_col = f[1].col,
                           .ldc = (size_t)f[1].cols,
                           .fused = fused};
    OX_TRY(plan_batches(r, f, dims, &rank, &p, at, err));
    if (f[0].t->rank > 1)
        dims[rank++] = f[0].rows;
    if (f[1].t->rank > 1)
        dims[rank++] = f[1].cols;
    OX_TRY(ox_run_out(r, 0, f[0].t->dtype, rank, dims, y, err));
    p.dtype = (*y)->dtype;
    p.c = (*y)->data;
    p.a_at = at[0];
    p.b_at = at[1];
    p.c_at = at[2];
    OX_TRY(ox_product_run(r, &p, err));
    scale_tensor(*y, ox_run_float(r, "alpha", 1));
    return OX_OK;
}

static enum ox_status run_fused_matmul(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *y;
    return fused_product(r, false, &y, err);
}

/* Of doubles: products are not rounded before they are added. Those of floats that stay here have no quicker form. */
static enum ox_status fast_fused_matmul(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *y;
    return fused_product(r, true, &y, err);
}

static enum ox_status run_fused_matmul_activation(struct ox_run *r, struct ox_error *err)
{
    enum ox_fused kind;
    double p[2];
    struct ox_tensor *y;
    OX_TRY(ox_fused_of(r, ox_run_string(r, "activation"), &kind, err));
    read_parameters(r, kind, p);
    OX_TRY(fused_product(r, false, &y, err));
    ox_fused_apply_tensor(kind, p, y);
    return OX_OK;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void infer_bias_dropout(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
    if (ox_infer_n_out(c) > 1) {
        ox_infer_set_dtype(c, 1, OX_BOOL);
        ox_infer_same_shape(c, 1, 0);
    }
}

static void infer_fused_gemm(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_standard(c, "Gemm", 13);
}

static void infer_fused_conv(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_standard(c, "Conv", 11);
}

/* Axes of factor i as the product sees them: batches, rows, columns. */
static const struct ox_expr **factor_dims(struct ox_infer *c, size_t i, bool trans, bool batch,
                                          unsigned *rank)
{
    const struct ox_expr *const *in;
    if (!ox_infer_shape(c, i, rank, &in) || *rank == 0 || (batch && *rank < 3))
        return NULL;
    const struct ox_expr **dims = ox_infer_dims(c, *rank);
    if (!dims)
        return NULL;
    for (unsigned d = 0; d < *rank; d++)
        dims[d] = in[d];
    for (unsigned d = 0; batch && d + 1 < *rank; d++)
        dims[d] = in[d + 2 < *rank ? d + 1 : 0];
    if (trans && *rank > 1) {
        const struct ox_expr *row = dims[*rank - 2];
        dims[*rank - 2] = dims[*rank - 1];
        dims[*rank - 1] = row;
    }
    return dims;
}

static void infer_fused_matmul(struct ox_infer *c)
{
    unsigned ra, rb;
    ox_infer_same_dtype(c, 0, 0);
    const struct ox_expr **a = factor_dims(c, 0, ox_infer_int_attr(c, "transA", 0) != 0,
                                           ox_infer_int_attr(c, "transBatchA", 0) != 0, &ra);
    const struct ox_expr **b = factor_dims(c, 1, ox_infer_int_attr(c, "transB", 0) != 0,
                                           ox_infer_int_attr(c, "transBatchB", 0) != 0, &rb);
    if (a && b)
        ox_infer_product(c, ra, a, rb, b);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_fused[] = {
    {MS, "BiasAdd", 1, .infer = ox_rule_same, .run = run_bias_add},
    {MS, "BiasDropout", 1, OX_OP_RANDOM, .infer = infer_bias_dropout, .run = run_bias_dropout},
    {MS, "BiasGelu", 1, .infer = ox_rule_same, .run = run_gelu, .fast = ox_fast_bias_gelu},
    {MS, "BiasSoftmax", 1, .infer = ox_rule_same, .run = run_bias_softmax},
    {MS, "FastGelu", 1, .infer = ox_rule_same, .run = run_fast_gelu, .fast = ox_fast_bias_gelu},
    {MS, "FusedConv", 1, .infer = infer_fused_conv, .run = run_fused_conv},
    {MS, "FusedGemm", 1, .infer = infer_fused_gemm, .run = run_fused_gemm},
    {MS, "FusedMatMul", 1, OX_OP_DOUBLE, .infer = infer_fused_matmul, .run = run_fused_matmul,
     .fast = fast_fused_matmul},
    {MS, "FusedMatMulActivation", 1, .infer = infer_fused_matmul,
     .run = run_fused_matmul_activation},
    {MS, "Gelu", 1, .infer = ox_rule_same, .run = run_gelu, .fast = ox_fast_unary},
    {MS, "QuickGelu", 1, OX_OP_DOUBLE, .infer = ox_rule_same, .run = run_quick_gelu,
     .fast = ox_fast_unary},
    {MS, "TransposeMatMul", 1, OX_OP_DOUBLE, .infer = infer_fused_matmul, .run = run_fused_matmul,
     .fast = fast_fused_matmul},
    {0}};
