/* FusedMatMul: the last axis of the data by a matrix of weights, with what follows it. Inputs: data [..., k], weights [k, n] ([n, k] with
 * transB), bias [n], scale [n], residual of the output's shape. y = act(factor scale (data weights) + bias + residual). */
#include <string.h>

#include "kernels/fixed24.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"

enum { ONCE_ROWS = 512 };

enum { IN_X, IN_WEIGHTS, IN_BIAS, IN_SCALE, IN_RESIDUAL };

struct packed_product {
    size_t k, n;
    float *weights;          /* NULL: they are read in place, as few rows like it best */
    float *bias;             /* NULL: none */
    struct ox_fixed24 fixed; /* for few rows alone; words NULL: the weights are too uneven */
};

static enum ox_status check(struct ox_run *r, size_t *k, size_t *n, bool *turned,
                            struct ox_error *err)
{
    const struct ox_tensor *w = ox_run_in(r, IN_WEIGHTS);
    if (!w || w->dtype != OX_FLOAT32 || w->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "the weights are no float32 of rank 2");
    *turned = ox_run_int(r, "transB", 0) != 0;
    *k = (size_t)w->dims[*turned];
    *n = (size_t)w->dims[!*turned];
    for (size_t i = IN_BIAS; i <= IN_SCALE; i++) {
        const struct ox_tensor *v = ox_run_in(r, i);
        if (v && (v->dtype != OX_FLOAT32 || v->rank != 1 || v->n != *n))
            return ox_run_fail(r, err, OX_INPUT, "input %zu has not %zu elements", i, *n);
    }
    return OX_OK;
}

/* Weights times the scale of their column, in memory of their own. */
static const float *scaled(struct ox_run *r, size_t k, size_t n, bool turned, struct ox_error *err)
{
    const struct ox_tensor *w = ox_run_in(r, IN_WEIGHTS), *scale = ox_run_in(r, IN_SCALE);
    if (!scale)
        return w->data;
    float *out = ox_run_work(r, w->n, sizeof *out, err);
    const float *from = w->data, *by = scale->data;
    for (size_t i = 0; out && i < (turned ? n : k); i++)
        for (size_t j = 0; j < (turned ? k : n); j++) {
            size_t at = i * (turned ? k : n) + j;
            out[at] = from[at] * by[turned ? i : j];
        }
    return out;
}

static size_t rows_of(const struct ox_tensor *x, size_t k)
{
    return k ? x->n / k : 0;
}

enum { HEAD = (sizeof(struct packed_product) + 63) / 64 * 64 };

/* The two forms in which weights are kept. */
enum { FIXED, PANELS };

/* Few rows wait for weights, and less so for those of 24 bits. */
static bool wants_fixed(size_t rows, size_t k, size_t n)
{
    return rows > 0 && rows <= OX_FIXED24_ROWS && k > 0 &&
           n >= ox_fixed24_least(ox_cpu(), rows) / k;
}

/* The weights stay beside them, for when there are more rows. */
static enum ox_status keep_fixed(struct ox_run *r, size_t k, size_t n, bool turned,
                                 struct ox_error *err)
{
    const struct ox_tensor *w = ox_run_in(r, IN_WEIGHTS);
    const size_t floats = ox_fixed24_room(n, k);
    if (r->prepared->state)
        return OX_OK;
    if (floats > SIZE_MAX / 16)
        return ox_run_fail(r, err, OX_LIMIT, "the weights are too large");
    const size_t key[] = {FIXED, k, n, turned};
    bool made;
    struct packed_product *p =
        ox_run_keep_shared(r, key, sizeof key, HEAD + floats * sizeof(float), &made, err);
    if (!p)
        return OX_NO_MEMORY;
    if (made)
        return OX_OK;
    *p = (struct packed_product){.k = k, .n = n};
    if (ox_fixed24_pack(ox_fixed24_kernels(ox_cpu()), r->env, n, k, w->data, turned ? 1 : n,
                        turned ? k : 1, (float *)(void *)((char *)p + HEAD), &p->fixed))
        return OX_OK;
    ox_prepared_release(r->prepared, ox_env_budget(r->env));
    p = ox_run_keep(r, sizeof *p, err);
    if (!p)
        return OX_NO_MEMORY;
    *p = (struct packed_product){.k = k, .n = n};
    return OX_OK;
}

static void fill(const struct ox_compute *t, const struct ox_run *r, size_t k, size_t n,
                 bool turned, const float *from, struct packed_product *p)
{
    const struct ox_tensor *bias = ox_run_in(r, IN_BIAS);
    *p = (struct packed_product){.k = k, .n = n, .weights = (float *)(void *)((char *)p + HEAD)};
    if (bias) {
        p->bias = p->weights + (ox_dense_packed(t, k, n) + 15) / 16 * 16;
        memcpy(p->bias, bias->data, n * sizeof(float));
    }
    ox_dense_pack(t, r->env, k, n, from, OX_WEIGHT_F32, turned ? 1 : n, turned ? k : 1, p->weights);
}

static enum ox_status prepare_product(struct ox_run *r, struct ox_error *err)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const struct ox_tensor *x = ox_run_in(r, IN_X);
    size_t k, n;
    bool turned;
    for (size_t i = IN_WEIGHTS; i <= IN_SCALE; i++)
        if (ox_run_has(r, i) && !r->fixed[i])
            return OX_OK;
    OX_TRY(check(r, &k, &n, &turned, err));
    /* What is used once is packed a block at a time, where it is used, unless there are so many rows that it would be packed
     * again and again; what has few rows is better read as it lies, until there are more. */
    size_t rows = x ? rows_of(x, k) : 0;
    if (!r->once && !ox_run_has(r, IN_SCALE) && wants_fixed(rows, k, n)) {
        OX_TRY(keep_fixed(r, k, n, turned, err));
        r->prepared->again = true;
        return OX_OK;
    }
    if (!ox_run_has(r, IN_SCALE) &&
        ((r->once && rows <= ONCE_ROWS) ||
         ox_dense_leaves_weights(t, rows, n, k, turned ? 1 : n, turned ? k : 1))) {
        r->prepared->again = true;
        return OX_OK;
    }
    ox_prepared_release(r->prepared, ox_env_budget(r->env)); /* what few rows read */
    size_t packed = ox_dense_packed(t, k, n), head = HEAD / sizeof(float), floats;
    if (packed > SIZE_MAX / 16 || OX_ADD_OVERFLOWS(packed, n + head + 16, &floats))
        return ox_run_fail(r, err, OX_LIMIT, "the weights are too large");
    const size_t key[] = {PANELS, k, n, turned};
    bool made;
    struct packed_product *p =
        ox_run_keep_shared(r, key, sizeof key, floats * sizeof(float), &made, err);
    const float *from = p && !made ? scaled(r, k, n, turned, err) : NULL;
    if (!p || (!made && !from))
        return OX_NO_MEMORY;
    if (!made)
        fill(t, r, k, n, turned, from, p);
    for (size_t i = IN_WEIGHTS; i <= IN_SCALE; i++)
        if (ox_run_has(r, i))
            ox_run_absorb(r, i);
    return OX_OK;
}

static enum ox_status set_weights(struct ox_run *r, struct ox_dense *d, struct ox_error *err)
{
    const struct packed_product *p = ox_run_state(r);
    if (p && p->weights) {
        d->k = p->k;
        d->n = p->n;
        d->packed = p->weights;
        d->end.col_bias = p->bias;
        return OX_OK;
    }
    bool turned;
    OX_TRY(check(r, &d->k, &d->n, &turned, err));
    d->b = scaled(r, d->k, d->n, turned, err);
    if (!d->b)
        return OX_NO_MEMORY;
    d->weights = r->prepared && !r->prepared->done; /* constant, for prepare() asks again */
    d->b_row = turned ? 1 : d->n;
    d->b_col = turned ? d->k : 1;
    d->end.col_bias = ox_run_has(r, IN_BIAS) ? ox_run_in(r, IN_BIAS)->data : NULL;
    return OX_OK;
}

static enum ox_status run_product(struct ox_run *r, struct ox_error *err)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const struct ox_tensor *x = ox_run_in(r, IN_X), *residual = ox_run_in(r, IN_RESIDUAL);
    struct ox_dense d = {.end = {.scale = ox_run_float(r, "factor", 1)}};
    OX_TRY(set_weights(r, &d, err));
    if (!x || x->dtype != OX_FLOAT32 || x->rank < 1 || x->rank > OX_MOST_RANK ||
        x->dims[x->rank - 1] != (int64_t)d.k)
        return ox_run_fail(r, err, OX_INPUT,
                           "the left side has %lld columns, the right side %zu rows",
                           x && x->rank ? (long long)x->dims[x->rank - 1] : 0, d.k);
    int64_t dims[OX_MOST_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = (int64_t)d.n;
    struct ox_tensor *y;
    struct ox_fused_row row;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    if (!y->n)
        return OX_OK;
    if (residual && (residual->dtype != OX_FLOAT32 || residual->rank != y->rank ||
                     memcmp(residual->dims, y->dims, y->rank * sizeof *y->dims) != 0))
        return ox_run_fail(r, err, OX_INPUT, "the residual has not the output's shape");
    OX_TRY(ox_fused_activation(r, &d.end, &row, err));
    d.m = y->n / d.n;
    d.a = x->data;
    d.a_row = d.k;
    d.a_col = 1;
    d.c = y->data;
    d.c_row = d.n;
    d.end.residual = residual ? residual->data : NULL;
    d.end.residual_ld = d.n;
    const struct packed_product *p = ox_run_state(r);
    if (p && p->fixed.words && d.m <= OX_FIXED24_ROWS) {
        ox_fixed24_run(t, r->env, &p->fixed, &d);
        return ox_env_poll(r->env, err);
    }
    float *work = ox_run_work(r, ox_dense_work(t, r->env, &d), sizeof *work, err);
    if (!work)
        return OX_NO_MEMORY;
    ox_dense_run(t, r->env, &d, work);
    return ox_env_poll(r->env, err);
}

static void infer_product(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    ox_infer_same_dtype(c, 0, IN_X);
    if (!ox_infer_shape(c, IN_X, &rank, &x) || rank < 1)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    for (unsigned i = 0; i + 1 < rank; i++)
        dims[i] = x[i];
    dims[rank - 1] = ox_infer_dim(c, IN_WEIGHTS, ox_infer_int_attr(c, "transB", 0) ? 0 : 1);
    ox_infer_set_shape(c, 0, rank, dims);
}

const struct ox_op ox_ops_fused_product[] = {{OX_OWN_DOMAIN, "FusedMatMul", 1, OX_OP_ANY_ADDRESS,
                                              .infer = infer_product, .run = run_product,
                                              .prepare = prepare_product},
                                             {0}};
