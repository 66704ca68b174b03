/* MaxPool, AveragePool, LpPool, their global forms, MaxUnpool. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/rules.h"
#include "ops/window.h"

enum pool_kind { POOL_MAX, POOL_AVERAGE, POOL_LP };

struct pool {
    struct ox_window w;
    enum pool_kind kind;
    enum ox_dtype dtype;
    const void *x;
    void *y;
    int64_t *indices;   /* NULL: not wanted */
    bool column_major;  /* indices count with the first spatial axis fastest */
    bool count_padding; /* padding counts in the average */
    double p;
    size_t planes, chunk; /* chunk: planes a task */
};

/* The part of the input under one window, walked line by line of the last axis. */
struct box {
    const struct ox_window *w;
    int64_t at[OX_WINDOW_AXES]; /* output position */
    int64_t lo[OX_WINDOW_AXES], hi[OX_WINDOW_AXES], tap[OX_WINDOW_AXES];
    ptrdiff_t from, step; /* the line's first element in the plane, and the way to its next */
    int64_t length;
};

static void box_start(struct box *box, const struct ox_window *w)
{
    box->w = w;
    memset(box->at, 0, w->n * sizeof *box->at);
}

static void box_next(struct box *box)
{
    for (unsigned d = box->w->n; d-- > 0 && ++box->at[d] == box->w->out[d];)
        box->at[d] = 0;
}

static void box_place(struct box *box)
{
    const struct ox_window *w = box->w;
    box->from = 0;
    for (unsigned d = 0; d < w->n; d++)
        box->from =
            box->from * (ptrdiff_t)w->in[d] +
            (ptrdiff_t)(box->at[d] * w->stride[d] - w->before[d] + box->tap[d] * w->dilation[d]);
}

/* To the first line; false when the window lies in padding alone. */
static bool box_taps(struct box *box)
{
    const struct ox_window *w = box->w;
    for (unsigned d = 0; d < w->n; d++) {
        ox_window_range(w, d, box->at[d], &box->lo[d], &box->hi[d]);
        if (box->lo[d] == box->hi[d])
            return false;
        box->tap[d] = box->lo[d];
    }
    box->length = box->hi[w->n - 1] - box->lo[w->n - 1];
    box->step = (ptrdiff_t)w->dilation[w->n - 1];
    box_place(box);
    return true;
}

static bool box_line(struct box *box)
{
    for (unsigned d = box->w->n - 1; d-- > 0;) {
        if (++box->tap[d] < box->hi[d]) {
            box_place(box);
            return true;
        }
        box->tap[d] = box->lo[d];
    }
    return false;
}

/* Taps that lie on the input or its padding: a last window in ceil mode may reach further. */
static double padded_taps(const struct box *box)
{
    const struct ox_window *w = box->w;
    double n = 1;
    for (unsigned d = 0; d < w->n; d++) {
        int64_t room = w->in[d] + w->after[d] - (box->at[d] * w->stride[d] - w->before[d]);
        int64_t taps = (room + w->dilation[d] - 1) / w->dilation[d];
        n *= (double)(taps < w->kernel[d] ? taps : w->kernel[d]);
    }
    return n;
}

/* Index within the plane as the node counts. */
static int64_t place(const struct pool *p, int64_t index)
{
    if (!p->column_major)
        return index;
    int64_t coordinate[OX_WINDOW_AXES] = {0}, result = 0;
    for (unsigned d = p->w.n; d-- > 0;) {
        coordinate[d] = index % p->w.in[d];
        index /= p->w.in[d];
    }
    for (unsigned d = p->w.n; d-- > 0;)
        result = result * p->w.in[d] + coordinate[d];
    return result;
}

static double lp_term(double v, double p)
{
    if (p == 2)
        return v * v;
    if (p == 3)
        return fabs(v) * v * v;
    return p == 1 ? fabs(v) : pow(fabs(v), p);
}

static double lp_root(double sum, double p)
{
    if (p == 2)
        return sqrt(sum);
    return p == 1 ? sum : pow(sum, 1 / p);
}

#define IS_NAN(v) isnan(v)
#define T float
#define LOWEST (-INFINITY)
#define NAME(x) x##_f32
#include "ops/pooling_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "ops/pooling_tmpl.h"
#undef T
#undef NAME
#undef LOWEST
#undef IS_NAN
#define IS_NAN(v) 0
#define MAX_ONLY 1
#define T int8_t
#define LOWEST INT8_MIN
#define NAME(x) x##_i8
#include "ops/pooling_tmpl.h"
#undef T
#undef NAME
#undef LOWEST
#define T uint8_t
#define LOWEST 0
#define NAME(x) x##_u8
#include "ops/pooling_tmpl.h"

static void pool_task(void *arg, size_t i)
{
    const struct pool *p = arg;
    bool narrow = p->dtype == OX_FLOAT32;
    size_t end = p->planes - i * p->chunk < p->chunk ? p->planes : (i + 1) * p->chunk;
    for (size_t plane = i * p->chunk; plane < end; plane++) {
        if (p->kind == POOL_AVERAGE)
            (narrow ? average_plane_f32 : average_plane_f64)(p, plane);
        else if (p->kind == POOL_LP)
            (narrow ? lp_plane_f32 : lp_plane_f64)(p, plane);
        else if (p->dtype == OX_INT8)
            max_plane_i8(p, plane);
        else if (p->dtype == OX_UINT8)
            max_plane_u8(p, plane);
        else
            (narrow ? max_plane_f32 : max_plane_f64)(p, plane);
    }
}

static enum ox_status pool_all(struct ox_run *r, struct pool *p, struct ox_error *err)
{
    if (!p->planes || !p->w.n_out)
        return OX_OK;
    size_t cost;
    if (OX_MUL_OVERFLOWS(p->w.n_out, p->w.taps, &cost))
        cost = SIZE_MAX;
    p->chunk = cost >= 65536 ? 1 : 65536 / (cost ? cost : 1); /* windows may be empty */
    ox_parallel(r->env, (p->planes + p->chunk - 1) / p->chunk, pool_task, p);
    return ox_env_poll(r->env, err);
}

/* p of the Lp operators: a float in version 1, an integer since. */
static enum ox_status read_p(struct ox_run *r, double *p, struct ox_error *err)
{
    *p = r->opset < 2 ? (double)ox_run_float(r, "p", 2) : (double)ox_run_int(r, "p", 2);
    return *p > 0 ? OX_OK : ox_run_fail(r, err, OX_INPUT, "p is %g, not positive", *p);
}

static enum ox_status run_pool(struct ox_run *r, enum pool_kind kind, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct pool *p = ox_run_scratch(r, 1, sizeof *p, err);
    if (!p)
        return OX_NO_MEMORY;
    bool ceil_mode = ox_run_int(r, "ceil_mode", 0) != 0;
    OX_TRY(ox_window_init(r, x, NULL, ceil_mode, &p->w, err));
    int64_t dims[OX_WINDOW_AXES + 2] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, p->w.out, p->w.n * sizeof *dims);
    if (kind == POOL_LP)
        OX_TRY(read_p(r, &p->p, err));
    struct ox_tensor *y, *indices = NULL;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    if (kind == POOL_MAX && ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_INT64, x->rank, dims, &indices, err));
    p->kind = kind;
    p->dtype = y->dtype;
    p->x = x->data;
    p->y = y->data;
    p->indices = indices ? indices->data : NULL;
    p->column_major = ox_run_int(r, "storage_order", 0) != 0;
    p->count_padding = ox_run_int(r, "count_include_pad", 0) != 0;
    p->planes = (size_t)x->dims[0] * (size_t)x->dims[1];
    return pool_all(r, p, err);
}

static enum ox_status run_max_pool(struct ox_run *r, struct ox_error *err)
{
    return run_pool(r, POOL_MAX, err);
}

static enum ox_status run_average_pool(struct ox_run *r, struct ox_error *err)
{
    return run_pool(r, POOL_AVERAGE, err);
}

static enum ox_status run_lp_pool(struct ox_run *r, struct ox_error *err)
{
    return run_pool(r, POOL_LP, err);
}

/* ---- Global pools: one window over all spatial axes -------------------------------------------------------------- */

static void infer_global(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    if (!ox_infer_shape(c, 0, &rank, &x)) {
        ox_infer_unknown(c, 0, "the input's rank is not known");
        return;
    }
    if (!ox_rule_rank_least(c, 0, 2))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    for (unsigned d = 0; d < rank; d++)
        dims[d] = d < 2 ? x[d] : ox_infer_num(c, 1);
    ox_infer_set_shape(c, 0, rank, dims);
}

static enum ox_status run_global(struct ox_run *r, enum pool_kind kind, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if (x->rank < 2 || x->rank > OX_WINDOW_AXES + 2)
        return ox_run_fail(r, err, OX_INPUT, "the input's rank is %u, not at least 2", x->rank);
    struct pool *p = ox_run_scratch(r, 1, sizeof *p, err);
    if (!p)
        return OX_NO_MEMORY;
    size_t planes = (size_t)x->dims[0] * (size_t)x->dims[1];
    size_t n_in = 1;
    if (!ox_dims_count(x->rank - 2, x->dims + 2, &n_in))
        return ox_run_fail(r, err, OX_LIMIT, "the input is too large");
    /* The spatial axes together are one. */
    p->w = (struct ox_window){.n = 1, .n_in = n_in, .taps = n_in, .n_out = 1};
    p->w.in[0] = p->w.kernel[0] = (int64_t)n_in;
    p->w.out[0] = p->w.stride[0] = p->w.dilation[0] = 1;
    int64_t dims[OX_WINDOW_AXES + 2] = {x->dims[0], x->dims[1]};
    for (unsigned d = 2; d < x->rank; d++)
        dims[d] = 1;
    if (kind == POOL_LP)
        OX_TRY(read_p(r, &p->p, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    p->kind = kind;
    p->dtype = y->dtype;
    p->x = x->data;
    p->y = y->data;
    p->planes = planes;
    return pool_all(r, p, err);
}

static enum ox_status run_global_max(struct ox_run *r, struct ox_error *err)
{
    return run_global(r, POOL_MAX, err);
}

static enum ox_status run_global_average(struct ox_run *r, struct ox_error *err)
{
    return run_global(r, POOL_AVERAGE, err);
}

static enum ox_status run_global_lp(struct ox_run *r, struct ox_error *err)
{
    return run_global(r, POOL_LP, err);
}

/* ---- MaxUnpool ---------------------------------------------------------------------------------------------------- */

/* The output's shape by input 2. */
static void infer_unpool_given(struct ox_infer *c, unsigned rank)
{
    const struct ox_expr *const *values;
    size_t n;

    ox_rule_rank(c, 2, 1);
    ox_infer_equal(c, ox_infer_dim(c, 2, 0), ox_infer_num(c, rank), "output_shape and axes");
    if (ox_infer_values(c, 2, &n, &values) && n == rank)
        ox_infer_set_shape(c, 0, rank, values);
    else
        ox_infer_set_shape(c, 0, rank, ox_infer_dims(c, rank));
}

static void infer_unpool(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    const int64_t *kernel, *strides, *pads;

    ox_rule_rank_least(c, 0, 3);
    ox_rule_rank_least(c, 1, 3);
    if (!(ox_infer_shape(c, 0, &rank, &x) || ox_infer_shape(c, 1, &rank, &x)) || rank < 3)
        return;
    unsigned axes = rank - 2;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims || !ox_infer_window_list(c, "kernel_shape", axes, 1, &kernel) ||
        !ox_infer_window_list(c, "strides", axes, 1, &strides) ||
        !ox_infer_window_list(c, "pads", 2 * (size_t)axes, 0, &pads) || !kernel)
        return;
    if (ox_infer_has(c, 2)) {
        infer_unpool_given(c, rank);
        return;
    }
    dims[0] = x[0];
    dims[1] = x[1];
    for (unsigned d = 0; d < axes; d++) {
        const struct ox_expr *steps = ox_infer_sub(c, x[2 + d], ox_infer_num(c, 1));
        dims[2 + d] =
            ox_infer_add(c, ox_infer_mul(c, steps, ox_infer_num(c, strides ? strides[d] : 1)),
                         ox_infer_num(c, kernel[d] - (pads ? pads[d] + pads[axes + d] : 0)));
    }
    ox_infer_set_shape(c, 0, rank, dims);
}

/* The size before pooling, by which indices count. */
static enum ox_status unpooled(struct ox_run *r, const struct ox_tensor *x, int64_t *dims,
                               struct ox_error *err)
{
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    OX_TRY(ox_window_read(r, x, NULL, w, err));
    int64_t pads[2 * OX_WINDOW_AXES] = {0};
    OX_TRY(ox_window_list(r, "pads", 2 * (size_t)w->n, 0, pads, NULL, err));
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (unsigned d = 0; d < w->n; d++) {
        int64_t size;
        if (OX_MUL_OVERFLOWS(w->in[d] - 1, w->stride[d], &size) ||
            OX_ADD_OVERFLOWS(size, w->kernel[d] - pads[d] - pads[w->n + d], &size) || size < 0)
            return ox_run_fail(r, err, OX_INPUT,
                               "spatial axis %u of the output would have a size out of range", d);
        dims[2 + d] = w->in[d] ? size : 0;
    }
    return OX_OK;
}

static enum ox_status unpool_target(struct ox_run *r, const struct ox_tensor *x,
                                    const int64_t *from, int64_t *dims, struct ox_error *err)
{
    const struct ox_tensor *shape = ox_run_in(r, 2);
    memcpy(dims, from, x->rank * sizeof *dims);
    if (!shape)
        return OX_OK;
    if (shape->rank != 1 || shape->n != x->rank)
        return ox_run_fail(r, err, OX_INPUT, "output_shape has %zu elements, not %u", shape->n,
                           x->rank);
    for (unsigned d = 0; d < x->rank; d++) {
        dims[d] = ox_tensor_get_int(shape, d);
        if (dims[d] < from[d])
            return ox_run_fail(r, err, OX_INPUT,
                               "output_shape[%u] is %lld where the pooled tensor came from %lld", d,
                               (long long)dims[d], (long long)from[d]);
    }
    return OX_OK;
}

/* Where an index of the smaller tensor lies in the larger one. */
static size_t place_in(size_t index, unsigned rank, const int64_t *from, const int64_t *dims)
{
    size_t at = 0, pitch = 1;
    for (unsigned d = rank; d-- > 0;) {
        at += index % (size_t)from[d] * pitch;
        index /= (size_t)from[d];
        pitch *= (size_t)dims[d];
    }
    return at;
}

static enum ox_status run_unpool(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *indices = ox_run_in(r, 1);
    int64_t from[OX_WINDOW_AXES + 2], dims[OX_WINDOW_AXES + 2];
    if (indices->n != x->n || indices->rank != x->rank ||
        memcmp(indices->dims, x->dims, x->rank * sizeof *x->dims) != 0)
        return ox_run_fail(r, err, OX_INPUT, "I has not the shape of X");
    OX_TRY(unpooled(r, x, from, err));
    OX_TRY(unpool_target(r, x, from, dims, err));
    struct ox_tensor *y;
    size_t n_from;
    if (!ox_dims_count(x->rank, from, &n_from))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large");
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    size_t size = ox_dtype_size(y->dtype);
    if (y->n)
        memset(y->data, 0, y->n * size);
    const int64_t *index = indices->data;
    const bool same = memcmp(from, dims, x->rank * sizeof *dims) == 0;
    for (size_t i = 0; i < x->n; i++) {
        if (index[i] < 0 || (size_t)index[i] >= n_from)
            return ox_run_fail(r, err, OX_INPUT, "I[%zu] is %lld, outside of [0, %zu)", i,
                               (long long)index[i], n_from);
        const size_t at = same ? (size_t)index[i] : place_in((size_t)index[i], x->rank, from, dims);
        if (size == sizeof(float))
            memcpy((char *)y->data + at * sizeof(float), (const char *)x->data + i * sizeof(float),
                   sizeof(float));
        else
            memcpy((char *)y->data + at * size, (const char *)x->data + i * size, size);
    }
    return OX_OK;
}

#define POOL(name, since, kernel, faster)                                                          \
    {                                                                                              \
        "", name, since, .infer = ox_infer_pool, .run = kernel, .fast = faster                     \
    }
#define MAX_POOL(since)                                                                            \
    {                                                                                              \
        "", "MaxPool", since, .flags = OX_OP_DOUBLE, .infer = ox_infer_pool, .run = run_max_pool,  \
                              .fast = ox_fast_max_pool                                             \
    }
#define GLOBAL(name, since, kernel, faster)                                                        \
    {                                                                                              \
        "", name, since, .infer = infer_global, .run = kernel, .fast = faster                      \
    }

const struct ox_op ox_ops_pooling[] = {
    POOL("AveragePool", 1, run_average_pool, ox_fast_average_pool),
    POOL("AveragePool", 7, run_average_pool, ox_fast_average_pool),
    POOL("AveragePool", 10, run_average_pool, ox_fast_average_pool),
    POOL("AveragePool", 11, run_average_pool, ox_fast_average_pool),
    POOL("AveragePool", 19, run_average_pool, ox_fast_average_pool),
    POOL("AveragePool", 22, run_average_pool, ox_fast_average_pool),
    MAX_POOL(1),
    MAX_POOL(8),
    MAX_POOL(10),
    MAX_POOL(11),
    MAX_POOL(12),
    MAX_POOL(22),
    POOL("LpPool", 1, run_lp_pool, NULL),
    POOL("LpPool", 2, run_lp_pool, NULL),
    POOL("LpPool", 11, run_lp_pool, NULL),
    POOL("LpPool", 18, run_lp_pool, NULL),
    POOL("LpPool", 22, run_lp_pool, NULL),
    GLOBAL("GlobalAveragePool", 1, run_global_average, ox_fast_global_average),
    GLOBAL("GlobalAveragePool", 22, run_global_average, ox_fast_global_average),
    GLOBAL("GlobalMaxPool", 1, run_global_max, ox_fast_global_max),
    GLOBAL("GlobalMaxPool", 22, run_global_max, ox_fast_global_max),
    GLOBAL("GlobalLpPool", 1, run_global_lp, NULL),
    GLOBAL("GlobalLpPool", 2, run_global_lp, NULL),
    GLOBAL("GlobalLpPool", 22, run_global_lp, NULL),
    {"", "MaxUnpool", 9, .infer = infer_unpool, .run = run_unpool},
    {"", "MaxUnpool", 11, .infer = infer_unpool, .run = run_unpool},
    {"", "MaxUnpool", 22, .infer = infer_unpool, .run = run_unpool},
    {0}};
