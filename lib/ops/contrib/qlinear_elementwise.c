/* QLinearAdd QLinearMul QLinearLeakyRelu QLinearSigmoid QLinearWhere QLinearConcat: by tables over the 256 codes. */
#include <math.h>
#include <string.h>

#include "ops/broadcast.h"
#include "ops/contrib/qlinear.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/rules.h"

/* ---- Two operands ------------------------------------------------------------------------------------------------- */

struct pair_job {
    double a[256], b[256]; /* codes' values in units of the result's scale */
    double zero, low, high;
};

static uint8_t clamp(const struct pair_job *job, double q)
{
    q = rint(q) + job->zero;
    return (uint8_t)(int)(q > job->low ? q < job->high ? q : job->high : job->low);
}

static void add_row(const struct ox_row *row, const void *arg)
{
    const struct pair_job *job = arg;
    const uint8_t *a = row->in[0], *b = row->in[1];
    uint8_t *out = row->out;
    for (size_t i = 0; i < row->n; i++)
        out[i] = clamp(job, job->a[a[i * row->step[0]]] + job->b[b[i * row->step[1]]]);
}

static void mul_row(const struct ox_row *row, const void *arg)
{
    const struct pair_job *job = arg;
    const uint8_t *a = row->in[0], *b = row->in[1];
    uint8_t *out = row->out;
    for (size_t i = 0; i < row->n; i++)
        out[i] = clamp(job, job->a[a[i * row->step[0]]] * job->b[b[i * row->step[1]]]);
}

static enum ox_status run_pair(struct ox_run *r, bool product, struct ox_error *err)
{
    const struct ox_tensor *in[2] = {ox_run_in(r, 0), ox_run_in(r, 3)};
    struct ox_qparam a, b, c;
    struct ox_broadcast plan;
    struct ox_tensor *y;
    OX_TRY(ox_q8_only(r, in[0], err));
    OX_TRY(ox_qparam_in(r, 1, 2, &a, err));
    OX_TRY(ox_qparam_in(r, 4, 5, &b, err));
    OX_TRY(ox_qparam_in(r, 6, 7, &c, err));
    OX_TRY(ox_broadcast_init(&plan, r, 2, in, err));
    OX_TRY(ox_run_out(r, 0, in[0]->dtype, plan.rank, plan.dims, &y, err));
    struct pair_job job = {.zero = c.zero, .low = 0, .high = 255};
    if (y->dtype == OX_INT8) {
        job.low = -128;
        job.high = 127;
    }
    ox_qtable(y->dtype, &a, job.a);
    ox_qtable(y->dtype, &b, job.b);
    for (int i = 0; i < 256; i++) {
        job.a[i] /= c.scale;
        job.b[i] /= product ? 1 : c.scale;
    }
    const void *data[2] = {in[0]->data, in[1]->data};
    const size_t sizes[2] = {1, 1};
    ox_broadcast_run(&plan, r->env, data, sizes, y->data, 1, product ? mul_row : add_row, &job);
    return OX_OK;
}

static enum ox_status run_qlinear_add(struct ox_run *r, struct ox_error *err)
{
    return run_pair(r, false, err);
}

static enum ox_status run_qlinear_mul(struct ox_run *r, struct ox_error *err)
{
    return run_pair(r, true, err);
}

/* ---- One operand -------------------------------------------------------------------------------------------------- */

static void look_up(const struct ox_tensor *x, const uint8_t codes[256], uint8_t *out)
{
    const uint8_t *in = x->data;
    for (size_t i = 0; i < x->n; i++)
        out[i] = codes[in[i]];
}

enum ox_status ox_qlinear_function(struct ox_run *r, enum ox_fused kind, double alpha,
                                   uint8_t codes[256], struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const double parameters[2] = {alpha, 0};
    struct ox_qparam from, to;
    double table[256];
    OX_TRY(ox_q8_only(r, x, err));
    OX_TRY(ox_qparam_in(r, 1, 2, &from, err));
    OX_TRY(ox_qparam_in(r, 3, 4, &to, err));
    ox_qtable(x->dtype, &from, table);
    ox_fused_apply(kind, parameters, table, 256);
    ox_qrecode(table, x->dtype, &to, codes);
    return OX_OK;
}

static enum ox_status run_function(struct ox_run *r, enum ox_fused kind, double alpha,
                                   struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *y;
    uint8_t codes[256];
    OX_TRY(ox_qlinear_function(r, kind, alpha, codes, err));
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &y, err));
    look_up(x, codes, y->data);
    return OX_OK;
}

static enum ox_status run_qlinear_leaky_relu(struct ox_run *r, struct ox_error *err)
{
    return run_function(r, OX_FUSED_LEAKY_RELU, (double)ox_run_float(r, "alpha", 0.01f), err);
}

static enum ox_status run_qlinear_sigmoid(struct ox_run *r, struct ox_error *err)
{
    return run_function(r, OX_FUSED_SIGMOID, 0, err);
}

enum ox_status ox_qlinear_recode(struct ox_run *r, size_t i, const struct ox_qparam *to,
                                 enum ox_dtype dtype, uint8_t codes[256], struct ox_error *err)
{
    struct ox_qparam from;
    double table[256];
    OX_TRY(ox_q8_only(r, ox_run_in(r, i), err));
    OX_TRY(ox_qparam_in(r, i + 1, i + 2, &from, err));
    ox_qtable(ox_run_in(r, i)->dtype, &from, table);
    ox_qrecode(table, dtype, to, codes);
    return OX_OK;
}

/* ---- QLinearWhere ------------------------------------------------------------------------------------------------- */

struct where_job {
    uint8_t x[256], y[256];
};

static void where_row(const struct ox_row *row, const void *arg)
{
    const struct where_job *job = arg;
    const bool *condition = row->in[0];
    const uint8_t *x = row->in[1], *y = row->in[2];
    uint8_t *out = row->out;
    for (size_t i = 0; i < row->n; i++)
        out[i] =
            condition[i * row->step[0]] ? job->x[x[i * row->step[1]]] : job->y[y[i * row->step[2]]];
}

static enum ox_status run_qlinear_where(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in[3] = {ox_run_in(r, 0), ox_run_in(r, 1), ox_run_in(r, 4)};
    struct ox_qparam to;
    struct where_job job;
    struct ox_broadcast plan;
    struct ox_tensor *z;
    OX_TRY(ox_qparam_in(r, 7, 8, &to, err));
    OX_TRY(ox_qlinear_recode(r, 1, &to, in[1]->dtype, job.x, err));
    OX_TRY(ox_qlinear_recode(r, 4, &to, in[1]->dtype, job.y, err));
    OX_TRY(ox_broadcast_init(&plan, r, 3, in, err));
    OX_TRY(ox_run_out(r, 0, in[1]->dtype, plan.rank, plan.dims, &z, err));
    const void *data[3] = {in[0]->data, in[1]->data, in[2]->data};
    const size_t sizes[3] = {1, 1, 1};
    ox_broadcast_run(&plan, r->env, data, sizes, z->data, 1, where_row, &job);
    return OX_OK;
}

/* ---- QLinearConcat ------------------------------------------------------------------------------------------------ */

enum ox_status ox_qlinear_concat_out(struct ox_run *r, struct ox_qparam *to, unsigned *axis,
                                     struct ox_tensor **out, struct ox_error *err)
{
    const struct ox_tensor *first = ox_run_in(r, 2);
    int64_t dims[OX_MOST_RANK];
    OX_TRY(ox_qparam_in(r, 0, 1, to, err));
    if (r->n_in < 5 || (r->n_in - 2) % 3 || !first || first->rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "%zu inputs are no tensors with scale and zero point",
                           r->n_in);
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", 0), first->rank, axis, err));
    memcpy(dims, first->dims, first->rank * sizeof *dims);
    dims[*axis] = 0;
    for (size_t i = 2; i < r->n_in; i += 3) {
        const struct ox_tensor *x = ox_run_in(r, i);
        bool fits = x && x->rank == first->rank;
        for (unsigned d = 0; fits && d < x->rank; d++)
            fits = d == *axis || x->dims[d] == dims[d];
        if (!fits || OX_ADD_OVERFLOWS(dims[*axis], x->dims[*axis], &dims[*axis]))
            return ox_run_fail(r, err, OX_INPUT, "input %zu does not fit beside input 2", i);
    }
    return ox_run_out(r, 0, ox_run_in(r, 1)->dtype, first->rank, dims, out, err);
}

static enum ox_status run_qlinear_concat(struct ox_run *r, struct ox_error *err)
{
    struct ox_qparam to;
    struct ox_tensor *y;
    unsigned axis;
    OX_TRY(ox_qlinear_concat_out(r, &to, &axis, &y, err));
    if (y->n == 0)
        return OX_OK;
    size_t outer = 1, inner = 1, at = 0;
    for (unsigned d = 0; d < axis; d++)
        outer *= (size_t)y->dims[d];
    for (unsigned d = axis + 1; d < y->rank; d++)
        inner *= (size_t)y->dims[d];
    size_t pitch = (size_t)y->dims[axis] * inner;
    for (size_t i = 2; i < r->n_in; i += 3) {
        const struct ox_tensor *x = ox_run_in(r, i);
        size_t part = (size_t)x->dims[axis] * inner;
        uint8_t codes[256];
        OX_TRY(ox_qlinear_recode(r, i, &to, y->dtype, codes, err));
        const uint8_t *from = x->data;
        for (size_t o = 0; o < outer; o++)
            for (size_t k = 0; k < part; k++)
                ((uint8_t *)y->data)[o * pitch + at + k] = codes[from[o * part + k]];
        at += part;
    }
    return OX_OK;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void infer_broadcast_of(struct ox_infer *c, const size_t *inputs, size_t n)
{
    unsigned rank = 0;
    for (size_t k = 0; k < n; k++) {
        unsigned own;
        if (!ox_infer_shape(c, inputs[k], &own, NULL))
            return;
        rank = own > rank ? own : rank;
    }
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    for (unsigned d = 0; d < rank; d++)
        dims[d] = ox_infer_num(c, 1);
    for (size_t k = 0; k < n; k++) {
        unsigned own;
        const struct ox_expr *const *in;
        ox_infer_shape(c, inputs[k], &own, &in);
        for (unsigned d = 0; d < own; d++)
            dims[rank - own + d] = ox_infer_broadcast_dim(c, dims[rank - own + d], in[d]);
    }
    ox_infer_set_shape(c, 0, rank, dims);
}

void ox_infer_qlinear_pair(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    infer_broadcast_of(c, (const size_t[]){0, 3}, 2);
}

static void infer_qlinear_where(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 1);
    infer_broadcast_of(c, (const size_t[]){0, 1, 4}, 3);
}

static void infer_qlinear_concat(struct ox_infer *c)
{
    unsigned rank, axis;
    const struct ox_expr *const *first;
    ox_infer_same_dtype(c, 0, 1);
    if (!ox_infer_shape(c, 2, &rank, &first) ||
        !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 0), rank, &axis))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    for (unsigned d = 0; d < rank; d++)
        dims[d] = first[d];
    for (size_t i = 5; i < ox_infer_n_in(c); i += 3) {
        unsigned own;
        const struct ox_expr *const *x;
        bool known = ox_infer_shape(c, i, &own, &x);
        if (known && own != rank) {
            ox_infer_conflict(c, "input %zu has rank %u, input 2 has rank %u", i, own, rank);
            return;
        }
        dims[axis] = ox_infer_add(c, dims[axis], known ? x[axis] : NULL);
        for (unsigned d = 0; known && d < rank; d++)
            if (d != axis)
                dims[d] = ox_infer_equal(c, dims[d], x[d], "dimensions beside the axis");
    }
    ox_infer_set_shape(c, 0, rank, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_qlinear_elementwise[] = {
    {MS, "QLinearAdd", 1, .infer = ox_infer_qlinear_pair, .run = run_qlinear_add,
     .fast = ox_int8_add, .prepare = ox_int8_prepare_add},
    {MS, "QLinearConcat", 1, .infer = infer_qlinear_concat, .run = run_qlinear_concat,
     .fast = ox_int8_concat},
    {MS, "QLinearLeakyRelu", 1, .infer = ox_rule_same, .run = run_qlinear_leaky_relu,
     .fast = ox_int8_leaky_relu},
    {MS, "QLinearMul", 1, .infer = ox_infer_qlinear_pair, .run = run_qlinear_mul,
     .fast = ox_int8_multiply, .prepare = ox_int8_prepare_multiply},
    {MS, "QLinearSigmoid", 1, .infer = ox_rule_same, .run = run_qlinear_sigmoid,
     .fast = ox_int8_sigmoid},
    {MS, "QLinearWhere", 1, .infer = infer_qlinear_where, .run = run_qlinear_where,
     .fast = ox_int8_where},
    {0}};
