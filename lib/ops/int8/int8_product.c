/* Products of 8-bit tensors: QLinearMatMul, MatMulInteger, QGemm, and IntegerMatMul of our own domain, which has QLinearMatMul's
 * inputs, a bias (a column each, int32 or float32) behind them, no y_scale and y_zero_point for a float32 result, and `transB`. */
#include <string.h>

#include "ops/fused/fused.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/matmul.h"

struct job {
    const struct ox_int8_ports *ports;
    const struct ox_integer *table;
    bool gemm;   /* matrices alone */
    bool turned; /* w is [n, k] */
    size_t m, n, k, batches;
    const size_t *a_at, *b_at, *c_at; /* elements; NULL: one matrix */
    unsigned rank;
    int64_t dims[OX_MOST_RANK];
};

static void read_form(const struct ox_run *r, struct job *job)
{
    const struct ox_int8_weights *packed = ox_run_state(r);
    const struct ox_tensor *w = ox_run_in(r, job->ports->w);
    job->table = ox_int8_kernels(r, packed ? packed->is_signed : w && w->dtype == OX_INT8);
    job->turned = ox_run_int(r, "transB", 0) != 0;
}

/* By a matrix of weights: x [.., k], however many axes. */
static enum ox_status by_matrix(const struct ox_run *r, unsigned rank, const int64_t *w,
                                struct job *job)
{
    const struct ox_tensor *x = ox_int8_even_empty(r, job->ports->x);
    if (!x || rank != 2 || x->rank < 2 || x->rank > OX_MOST_RANK || (job->gemm && x->rank != 2) ||
        ox_run_int(r, "transA", 0) || ox_run_float(r, "alpha", 1) != 1)
        return OX_UNSUPPORTED;
    job->k = (size_t)w[job->turned];
    job->n = (size_t)w[!job->turned];
    if (!job->k || x->dims[x->rank - 1] != (int64_t)job->k)
        return OX_UNSUPPORTED;
    job->m = x->n / job->k;
    job->batches = 1;
    job->rank = x->rank;
    memcpy(job->dims, x->dims, x->rank * sizeof *job->dims);
    job->dims[x->rank - 1] = (int64_t)job->n;
    return OX_OK;
}

/* Stacks of matrices on both sides. */
static enum ox_status by_stacks(struct ox_run *r, struct job *job, struct ox_error *err)
{
    const struct ox_tensor *x = ox_int8_even_empty(r, job->ports->x);
    const struct ox_tensor *w = ox_int8_even_empty(r, job->ports->w);
    struct ox_matmul mm;
    if (!x || !w || x->rank < 2 || w->rank < 2 || job->turned || job->gemm)
        return OX_UNSUPPORTED;
    OX_TRY(ox_matmul_plan(r, x, w, &mm, err));
    if (mm.rank > OX_MOST_RANK || !mm.k)
        return OX_UNSUPPORTED;
    job->m = mm.m;
    job->n = mm.n;
    job->k = mm.k;
    job->batches = mm.batches;
    job->a_at = mm.a_at;
    job->b_at = mm.b_at;
    job->c_at = mm.c_at;
    job->rank = mm.rank;
    memcpy(job->dims, mm.dims, mm.rank * sizeof *mm.dims);
    return OX_OK;
}

/* `once`: they are of this run alone. */
static void fill_weights(const struct job *job, struct ox_env *env, const uint8_t *w, bool once,
                         struct ox_int8_weights *packed)
{
    const size_t row = job->turned ? 1 : job->n, col = job->turned ? job->k : 1;
    const bool shallow = once && ox_integer_dense_summed(job->table, job->k);
    /* Sums of deep weights first: they read them as they lie, and bring them near. */
    if (!shallow)
        ox_integer_sums(job->n, job->k, w, packed->is_signed, row, col, packed->sums);
    ox_integer_dense_pack(job->table, env, job->k, job->n, w, packed->is_signed, row, col, once,
                          packed->packed);
    if (shallow)
        ox_integer_dense_sums(job->table, job->k, job->n, packed->packed, packed->sums);
}

static size_t bytes_of(const struct job *job)
{
    return ox_int8_weights_bytes(job->n, ox_integer_dense_packed(job->table, job->k, job->n));
}

static struct ox_int8_weights *describe(const struct ox_run *r, const struct job *job, void *block)
{
    const struct ox_tensor *w = ox_run_in(r, job->ports->w);
    struct ox_int8_weights *packed = ox_int8_weights_at(block, job->n, job->k, w);
    if (!ox_int8_weight_zeros(r, job->ports, job->n, packed->zero))
        packed->zero = NULL;
    return packed;
}

static enum ox_status prepare(struct ox_run *r, struct job *job, struct ox_error *err)
{
    const struct ox_tensor *w = ox_int8_in(r, job->ports->w);
    read_form(r, job);
    if (!w || !r->fixed[job->ports->w] ||
        (ox_run_has(r, job->ports->w_zero) && !r->fixed[job->ports->w_zero]) ||
        by_matrix(r, w->rank, w->dims, job) != OX_OK || !ox_int8_fits(r, job->ports, job->n) ||
        bytes_of(job) == SIZE_MAX)
        return OX_OK;
    void *block = ox_run_keep(r, bytes_of(job), err);
    if (!block)
        return OX_NO_MEMORY;
    struct ox_int8_weights *packed = describe(r, job, block);
    fill_weights(job, r->env, w->data, r->once, packed);
    ox_int8_keep_end(r, job->ports, packed);
    ox_run_absorb(r, job->ports->w);
    return OX_OK;
}

static struct ox_integer_dense dense_of(const struct job *job, const struct ox_tensor *x,
                                        const struct ox_integer_end *end)
{
    return (struct ox_integer_dense){.m = job->m,
                                     .n = job->n,
                                     .k = job->k,
                                     .a_row = job->k,
                                     .a_signed = x->dtype == OX_INT8,
                                     .c_row = job->n,
                                     .end = *end};
}

static enum ox_status run_packed(struct ox_run *r, struct job *job,
                                 const struct ox_int8_weights *packed, struct ox_error *err)
{
    struct ox_integer_end end;
    struct ox_tensor *y;
    int32_t in_zero;
    OX_TRY(ox_int8_end(r, job->ports, packed, &end, &in_zero, err));
    OX_TRY(ox_run_out(r, 0, ox_int8_out_dtype(r, job->ports), job->rank, job->dims, &y, err));
    if (!y->n)
        return OX_OK;
    const struct ox_tensor *x = ox_run_in(r, job->ports->x);
    struct ox_integer_dense d = dense_of(job, x, &end);
    d.a = x->data;
    d.packed = packed->packed;
    d.c = y->data;
    void *work = ox_run_work(r, ox_integer_dense_work(job->table, r->env, &d), 1, err);
    if (!work)
        return OX_NO_MEMORY;
    ox_integer_dense_run(job->table, r->env, &d, work);
    return ox_env_poll(r->env, err);
}

/* Stacks: a matrix a task, its right side packed by the way. */
struct stack {
    const struct job *job;
    struct ox_integer_dense dense;
    const uint8_t *a, *b;
    char *c;
    size_t c_size;
    const struct ox_int8_weights *like;
    struct ox_integer_end end;
    int32_t za;
    const int32_t *bias;
    char *blocks; /* a slot: weights, then work, then offsets */
    size_t block, weights_bytes, work_bytes;
};

static void run_one(void *arg, size_t i, size_t slot)
{
    const struct stack *s = arg;
    const struct job *job = s->job;
    char *block = s->blocks + slot * s->block;
    struct ox_integer_dense d = s->dense;
    struct ox_int8_weights own = *s->like;
    own.sums = (int32_t *)(void *)(block + s->weights_bytes + s->work_bytes);
    own.packed = block;
    fill_weights(job, NULL, s->b + job->b_at[i], true, &own);
    ox_integer_offsets(job->n, job->k, own.sums, s->za, own.zero, s->bias, own.sums);
    d.end.offset = own.sums;
    d.packed = own.packed;
    d.a = s->a + job->a_at[i];
    d.c = s->c + job->c_at[i] * s->c_size;
    ox_integer_dense_run(job->table, NULL, &d, block + s->weights_bytes);
}

static size_t padded(size_t n)
{
    return (n + 63) / 64 * 64;
}

static enum ox_status run_stacks(struct ox_run *r, struct job *job, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, job->ports->x), *w = ox_run_in(r, job->ports->w);
    struct stack s = {.job = job, .a = x->data, .b = w->data};
    struct ox_int8_weights *like;
    struct ox_tensor *y;
    int32_t in_zero;
    void *head = ox_run_work(r, ox_int8_weights_bytes(job->n, 0), 1, err);
    if (!head)
        return OX_NO_MEMORY;
    s.like = like = describe(r, job, head);
    memset(like->sums, 0, job->n * sizeof *like->sums);
    OX_TRY(ox_int8_end(r, job->ports, like, &s.end, &in_zero, err));
    /* With sums of 0 the offsets are the bias and what only the sizes decide: taken out again, that is made anew for each. */
    const struct ox_tensor *bias = ox_run_in(r, job->ports->bias);
    if (bias && bias->dtype != OX_INT32 && s.end.type != OX_INTEGER_F32)
        return OX_UNSUPPORTED;
    s.bias = bias && bias->dtype == OX_INT32 ? bias->data : NULL;
    s.za = in_zero + (x->dtype == OX_INT8 ? 128 : 0);
    s.dense = dense_of(job, x, &s.end);
    s.weights_bytes = padded(ox_integer_dense_packed(job->table, job->k, job->n));
    s.work_bytes = padded(ox_integer_dense_work(job->table, NULL, &s.dense));
    s.block = s.weights_bytes + s.work_bytes + padded((job->n + 16) * sizeof(int32_t));
    const enum ox_dtype dtype = ox_int8_out_dtype(r, job->ports);
    OX_TRY(ox_run_out(r, 0, dtype, job->rank, job->dims, &y, err));
    if (!y->n)
        return OX_OK;
    s.c = y->data;
    s.c_size = ox_dtype_size(dtype);
    s.blocks = ox_run_work(r, ox_slots(r->env), s.block, err);
    if (!s.blocks)
        return OX_NO_MEMORY;
    ox_spread(r->env, job->batches, 2.0 * (double)y->n * (double)job->k, run_one, &s);
    return ox_env_poll(r->env, err);
}

/* ---- a right side that is used once and stays as it lies ------------------------------------------------------------ */

enum { LYING_COLUMNS = 64 }; /* of a task */

struct lying {
    const struct job *job;
    const struct ox_tensor *a;
    const uint8_t *b;
    int32_t a_zero;
    struct ox_integer_lying l;
    char *c;
    size_t c_size;
    const struct ox_integer_end *end; /* NULL: c are the sums */
    int16_t *rows;                    /* a slot */
    int32_t *sums;                    /* a slot, where there is an end: m rows of LYING_COLUMNS */
    size_t slot, strips;
};

static void widen_row(const struct lying *s, size_t first, int16_t *to)
{
    const uint8_t *from = (const uint8_t *)s->a->data + first;
    const int8_t *from_signed = (const int8_t *)s->a->data + first;
    const size_t k = s->job->k;
    const int16_t zero = (int16_t)s->a_zero;
    if (s->a->dtype == OX_INT8)
        for (size_t p = 0; p < k; p++)
            to[p] = (int16_t)(from_signed[p] - zero);
    else
        for (size_t p = 0; p < k; p++)
            to[p] = (int16_t)(from[p] - zero);
    if (k % 2)
        to[k] = 0;
}

static void run_strip(void *arg, size_t i, size_t slot)
{
    const struct lying *s = arg;
    const struct job *job = s->job;
    const size_t batch = i / s->strips, col = i % s->strips * LYING_COLUMNS;
    struct ox_integer_lying l = s->l;
    int16_t *rows = s->rows + slot * s->slot;
    for (size_t row = 0; row < job->m; row++)
        widen_row(s, (job->a_at ? job->a_at[batch] : 0) + row * job->k, rows + row * l.a_row);
    l.a = rows;
    l.n = job->n - col < LYING_COLUMNS ? job->n - col : LYING_COLUMNS;
    l.b = s->b + (job->b_at ? job->b_at[batch] : 0) + col;
    char *c = s->c + ((job->c_at ? job->c_at[batch] : 0) + col) * s->c_size;
    l.c = s->end ? s->sums + slot * job->m * LYING_COLUMNS : (int32_t *)(void *)c;
    l.c_row = s->end ? LYING_COLUMNS : job->n;
    job->table->lying(&l);
    if (!s->end)
        return;
    const struct ox_integer_end end = ox_integer_end_at(s->end, col);
    for (size_t row = 0; row < job->m; row++)
        job->table->finish(l.n, l.c + row * l.c_row, 0, &end, c + row * job->n * s->c_size);
}

/* Whether packing would take longer than it saves. */
static bool stays_lying(const struct ox_run *r, const struct job *job)
{
    enum { ENDED_MOST = 64 }; /* rows of which the sums go on from memory that is near */
    const struct ox_tensor *w_zero = ox_run_in(r, job->ports->w_zero);
    return job->table->lying && !job->turned &&
           (job->ports == &ox_int8_ports_plain || job->m <= ENDED_MOST) &&
           job->m <= job->table->lying_most && (!w_zero || w_zero->n == 1);
}

/* What becomes of sums of both sides less their zero points. */
static enum ox_status end_of_sums(struct ox_run *r, const struct job *job,
                                  struct ox_integer_end *end, struct ox_error *err)
{
    int32_t in_zero;
    void *head = ox_run_work(r, ox_int8_weights_bytes(job->n, 0), 1, err);
    if (!head)
        return OX_NO_MEMORY;
    struct ox_int8_weights *like = describe(r, job, head);
    like->zero = NULL;
    memset(like->sums, 0, job->n * sizeof *like->sums);
    return ox_int8_end(r, job->ports, like, end, &in_zero, err);
}

static enum ox_status run_lying(struct ox_run *r, struct job *job, struct ox_error *err)
{
    const struct ox_tensor *w = ox_run_in(r, job->ports->w);
    struct lying s = {.job = job,
                      .a = ox_run_in(r, job->ports->x),
                      .b = w->data,
                      .a_zero = ox_int8_zero(ox_run_in(r, job->ports->x_zero)),
                      .strips = (job->n + LYING_COLUMNS - 1) / LYING_COLUMNS};
    s.l = (struct ox_integer_lying){.rows = job->m,
                                    .k = job->k,
                                    .a_row = (job->k + 1) / 2 * 2,
                                    .b_row = job->n,
                                    .b_signed = w->dtype == OX_INT8,
                                    .b_zero =
                                        (int16_t)ox_int8_zero(ox_run_in(r, job->ports->w_zero))};
    struct ox_integer_end end;
    struct ox_tensor *y;
    if (job->ports != &ox_int8_ports_plain) {
        OX_TRY(end_of_sums(r, job, &end, err));
        s.end = &end;
        s.sums = ox_run_work(r, ox_slots(r->env) * job->m, LYING_COLUMNS * sizeof *s.sums, err);
        if (!s.sums)
            return OX_NO_MEMORY;
    }
    const enum ox_dtype dtype = ox_int8_out_dtype(r, job->ports);
    OX_TRY(ox_run_out(r, 0, dtype, job->rank, job->dims, &y, err));
    s.c = y->data;
    s.c_size = ox_dtype_size(dtype);
    s.slot = job->m * s.l.a_row;
    s.rows = ox_run_work(r, ox_slots(r->env) * s.slot, sizeof *s.rows, err);
    if (!s.rows)
        return OX_NO_MEMORY;
    ox_spread(r->env, job->batches * s.strips, 2.0 * (double)y->n * (double)job->k, run_strip, &s);
    return ox_env_poll(r->env, err);
}

static bool makes_nothing(const struct job *job)
{
    return job->m == 0 || job->n == 0 || job->batches == 0;
}

static enum ox_status run_empty(struct ox_run *r, const struct job *job, struct ox_error *err)
{
    struct ox_tensor *y;
    return ox_run_out(r, 0, ox_int8_out_dtype(r, job->ports), job->rank, job->dims, &y, err);
}

static enum ox_status run(struct ox_run *r, struct job *job, struct ox_error *err)
{
    const struct ox_int8_weights *packed = ox_run_state(r);
    const struct ox_tensor *w = ox_run_in(r, job->ports->w);
    read_form(r, job);
    if (packed) {
        if (by_matrix(r, packed->rank, packed->dims, job) != OX_OK ||
            !ox_int8_fits(r, job->ports, job->n))
            return ox_run_fail(r, err, OX_INPUT, "inputs of other shapes or types than at first");
        return run_packed(r, job, packed, err);
    }
    if (!w)
        return OX_UNSUPPORTED;
    if (by_matrix(r, w->rank, w->dims, job) != OX_OK) {
        OX_TRY(by_stacks(r, job, err));
        if (makes_nothing(job))
            return run_empty(r, job, err);
        if (!ox_int8_fits(r, job->ports, job->n) ||
            (ox_run_has(r, job->ports->w_zero) && ox_run_in(r, job->ports->w_zero)->n != 1) ||
            bytes_of(job) == SIZE_MAX)
            return OX_UNSUPPORTED;
        return stays_lying(r, job) ? run_lying(r, job, err) : run_stacks(r, job, err);
    }
    if (makes_nothing(job))
        return run_empty(r, job, err);
    if (!ox_int8_fits(r, job->ports, job->n) || !ox_int8_in(r, job->ports->w) ||
        bytes_of(job) == SIZE_MAX)
        return OX_UNSUPPORTED;
    if (stays_lying(r, job))
        return run_lying(r, job, err);
    void *block = ox_run_work(r, bytes_of(job), 1, err);
    if (!block)
        return OX_NO_MEMORY;
    struct ox_int8_weights *made = describe(r, job, block);
    fill_weights(job, r->env, w->data, true, made);
    return run_packed(r, job, made, err);
}

enum ox_status ox_int8_qlinear_matmul(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.ports = &ox_int8_ports_qlinear};
    return run(r, &job, err);
}

enum ox_status ox_int8_prepare_qlinear_matmul(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.ports = &ox_int8_ports_qlinear};
    return prepare(r, &job, err);
}

enum ox_status ox_int8_matmul_integer(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.ports = &ox_int8_ports_plain};
    return run(r, &job, err);
}

enum ox_status ox_int8_prepare_matmul_integer(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.ports = &ox_int8_ports_plain};
    return prepare(r, &job, err);
}

enum ox_status ox_int8_qgemm(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.ports = &ox_int8_ports_qgemm, .gemm = true};
    return run(r, &job, err);
}

enum ox_status ox_int8_prepare_qgemm(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.ports = &ox_int8_ports_qgemm, .gemm = true};
    return prepare(r, &job, err);
}

/* ---- IntegerMatMul ------------------------------------------------------------------------------------------------ */

static enum ox_status run_own(struct ox_run *r, struct ox_error *err)
{
    const enum ox_status status = ox_int8_qlinear_matmul(r, err);
    return status == OX_UNSUPPORTED
               ? ox_run_fail(r, err, OX_INPUT, "inputs of shapes or types that do not fit")
               : status;
}

static void infer_own(struct ox_infer *c)
{
    enum { A, B = 3, Y_SCALE = 6, Y_ZERO };
    unsigned rank;
    const struct ox_expr *const *x;
    if (ox_infer_has(c, Y_ZERO))
        ox_infer_same_dtype(c, 0, Y_ZERO);
    else
        ox_infer_set_dtype(c, 0, ox_infer_has(c, Y_SCALE) ? OX_UINT8 : OX_FLOAT32);
    if (!ox_infer_int_attr(c, "transB", 0)) {
        ox_infer_matmul(c, A, B);
        return;
    }
    if (!ox_infer_shape(c, A, &rank, &x) || rank < 1)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    for (unsigned i = 0; dims && i + 1 < rank; i++)
        dims[i] = x[i];
    if (dims) {
        dims[rank - 1] = ox_infer_dim(c, B, 0);
        ox_infer_set_shape(c, 0, rank, dims);
    }
}

const struct ox_op ox_ops_int8_product[] = {{OX_OWN_DOMAIN, "IntegerMatMul", 1, .infer = infer_own,
                                             .run = run_own,
                                             .prepare = ox_int8_prepare_qlinear_matmul},
                                            {0}};
