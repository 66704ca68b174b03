/* Conv. */
#include "ops/conv.h"

#include <string.h>

#include "common/threads.h"
#include "kernels/gemm.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/kernel_tables.h"
#include "ops/rules.h"

enum { PIXELS = 256, CHANNELS = 128 }; /* a task's share at most */

struct split {
    struct ox_plain_conv *conv;
    size_t pixel_blocks, channel_blocks, rows;
    bool pointwise; /* the matrix of taps is the input itself */
};

/* Output positions [*lo, *hi) of the last axis for which that tap reaches inside. */
static void line_range(const struct ox_window *w, int64_t tap, int64_t *lo, int64_t *hi)
{
    unsigned d = w->n - 1;
    int64_t shift = tap * w->dilation[d] - w->before[d], s = w->stride[d];
    *lo = shift >= 0 ? 0 : (-shift + s - 1) / s;
    *hi = w->in[d] <= shift ? 0 : (w->in[d] - shift + s - 1) / s;
    if (*hi > w->out[d])
        *hi = w->out[d];
}

/* Offset of the input element under the tap at output position 0 of the last axis, which may itself lie outside; false when another axis
 * is outside. */
static bool line_start(const struct ox_window *w, const int64_t *at, const int64_t *tap,
                       ptrdiff_t *from)
{
    ptrdiff_t offset = 0;
    unsigned last = w->n - 1;
    for (unsigned d = 0; d < last; d++) {
        int64_t to = at[d] * w->stride[d] - w->before[d] + tap[d] * w->dilation[d];
        if (to < 0 || to >= w->in[d])
            return false;
        offset = offset * (ptrdiff_t)w->in[d] + (ptrdiff_t)to;
    }
    *from = offset * (ptrdiff_t)w->in[last] + (ptrdiff_t)(tap[last] * w->dilation[last]) -
            (ptrdiff_t)w->before[last];
    return true;
}

static bool adjacent(const ptrdiff_t *at, unsigned n)
{
    if (at[0] < 0 || at[n - 1] - at[0] != (ptrdiff_t)n - 1)
        return false;
    for (unsigned q = 1; q < n; q++)
        if (at[q] != at[q - 1] + 1)
            return false;
    return true;
}

#define STAMP "ops/conv_tmpl.h"
#include "common/stamp_floats.h"

static void conv_task(void *arg, size_t i)
{
    const struct split *s = arg;
    struct ox_plain_conv *cv = s->conv;
    size_t pixel = i % s->pixel_blocks * PIXELS;
    i /= s->pixel_blocks;
    size_t channel = i % s->channel_blocks * s->rows;
    i /= s->channel_blocks;
    size_t group = i % cv->groups, image = i / cv->groups;
    size_t depth = cv->in_group * cv->w.taps;
    size_t n_work = ox_gemm_panels(PIXELS, depth < OX_GEMM_KC ? depth : OX_GEMM_KC, OX_GEMM_NR_MAX);
    size_t elem = ox_dtype_size(cv->dtype), n_table = s->pointwise ? 0 : cv->w.taps * PIXELS;
    void *work = ox_task_alloc(&cv->state, n_work, elem);
    ptrdiff_t *table = ox_task_alloc(&cv->state, n_table, sizeof *table);
    if (work && table) {
        if (cv->dtype == OX_FLOAT32)
            conv_block_f32(cv, s, image, group, channel, pixel, work, table);
        else
            conv_block_f64(cv, s, image, group, channel, pixel, work, table);
    }
    ox_task_free(&cv->state, work, n_work, elem);
    ox_task_free(&cv->state, table, n_table, sizeof *table);
}

static void direct_task(void *arg, size_t i)
{
    const struct split *s = arg;
    size_t channels = s->conv->groups * s->conv->out_group;
    if (s->conv->dtype == OX_FLOAT32)
        direct_plane_f32(s->conv, i / channels, i % channels);
    else
        direct_plane_f64(s->conv, i / channels, i % channels);
}

static bool is_pointwise(const struct ox_window *w)
{
    if (w->taps != 1)
        return false;
    for (unsigned d = 0; d < w->n; d++)
        if (w->stride[d] != 1 || w->before[d] || w->in[d] != w->out[d])
            return false;
    return true;
}

static enum ox_status pack(struct ox_run *r, struct ox_plain_conv *cv, struct ox_error *err)
{
    size_t depth = cv->in_group * cv->w.taps, all;
    unsigned mr = cv->dtype == OX_FLOAT32 ? ox_gemm_f32()->mr : ox_gemm_f64()->mr;
    cv->packed_group = ox_gemm_panels(cv->out_group, depth, mr);
    if (OX_MUL_OVERFLOWS(cv->packed_group, cv->groups, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the weights are too large");
    void *packed = ox_run_scratch(r, all, ox_dtype_size(cv->dtype), err);
    if (!packed)
        return OX_NO_MEMORY;
    if (cv->dtype == OX_FLOAT32)
        pack_weights_f32(cv, packed);
    else
        pack_weights_f64(cv, packed);
    cv->packed = packed;
    return OX_OK;
}

enum ox_status ox_plain_conv_run(struct ox_run *r, struct ox_plain_conv *cv, struct ox_error *err)
{
    size_t channels = cv->groups * cv->out_group;
    if (!cv->images || !channels || !cv->w.n_out)
        return OX_OK;
    size_t depth = cv->in_group * cv->w.taps, n_table;
    if (OX_MUL_OVERFLOWS(cv->w.taps, (size_t)PIXELS, &n_table))
        return ox_run_fail(r, err, OX_LIMIT, "the kernel is too large");
    struct split s = {.conv = cv, .rows = cv->out_group, .channel_blocks = 1};
    cv->state = (struct ox_task_state){.budget = ox_env_budget(r->env)};
    if (cv->out_group < 4 && depth <= OX_GEMM_KC) {
        ox_parallel(r->env, cv->images * channels, direct_task, &s);
        return ox_env_poll(r->env, err);
    }
    OX_TRY(pack(r, cv, err));
    s.pointwise = is_pointwise(&cv->w);
    s.pixel_blocks = (cv->w.n_out + PIXELS - 1) / PIXELS;
    if (cv->images * cv->groups * s.pixel_blocks < 16 && cv->out_group > CHANNELS) {
        s.rows = CHANNELS;
        s.channel_blocks = (cv->out_group + CHANNELS - 1) / CHANNELS;
    }
    ox_parallel(r->env, cv->images * cv->groups * s.channel_blocks * s.pixel_blocks, conv_task, &s);
    OX_TRY(ox_env_poll(r->env, err));
    return cv->state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

enum ox_status ox_plain_conv_plan(struct ox_run *r, const struct ox_tensor *x,
                                  const struct ox_tensor *weights, const struct ox_tensor *bias,
                                  struct ox_plain_conv *cv, int64_t *dims, struct ox_error *err)
{
    *cv = (struct ox_plain_conv){0};
    if (x->rank < 3 || weights->rank != x->rank)
        return ox_run_fail(r, err, OX_INPUT,
                           "the input's rank is %u, the weights' %u: not the same, or under 3",
                           x->rank, weights->rank);
    int64_t groups = ox_run_int(r, "group", 1), in = x->dims[1], out = weights->dims[0];
    if (groups < 1 || in % groups || out % groups || weights->dims[1] != in / groups)
        return ox_run_fail(r, err, OX_INPUT,
                           "%lld groups do not fit %lld input channels and weights [%lld, %lld, "
                           "...]",
                           (long long)groups, (long long)in, (long long)out,
                           (long long)weights->dims[1]);
    OX_TRY(ox_run_check_list(r, bias, out, "bias", err));
    OX_TRY(ox_window_init(r, x, weights->dims + 2, false, &cv->w, err));
    cv->images = (size_t)x->dims[0];
    cv->groups = (size_t)groups;
    cv->in_group = (size_t)(in / groups);
    cv->out_group = (size_t)(out / groups);
    dims[0] = x->dims[0];
    dims[1] = out;
    memcpy(dims + 2, cv->w.out, cv->w.n * sizeof *dims);
    return OX_OK;
}

static enum ox_status run_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *w = ox_run_in(r, 1), *b = ox_run_in(r, 2);
    int64_t dims[OX_WINDOW_AXES + 2];
    struct ox_plain_conv *cv = ox_run_scratch(r, 1, sizeof *cv, err);
    if (!cv)
        return OX_NO_MEMORY;
    OX_TRY(ox_plain_conv_plan(r, x, w, b, cv, dims, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    cv->dtype = y->dtype;
    cv->x = x->data;
    cv->weights = w->data;
    cv->bias = b ? b->data : NULL;
    cv->y = y->data;
    return ox_plain_conv_run(r, cv, err);
}

void ox_infer_conv(struct ox_infer *c, size_t ix, size_t iw)
{
    unsigned rank, rank_w;
    const struct ox_expr *const *x;
    const struct ox_expr *const *w;
    bool has_x = ox_infer_shape(c, ix, &rank, &x), has_w = ox_infer_shape(c, iw, &rank_w, &w);
    if (!has_x && !has_w) {
        ox_infer_unknown(c, 0, "the input's rank is not known");
        return;
    }
    if (has_x && has_w && rank != rank_w) {
        ox_infer_conflict(c, "the input's rank is %u, the weights' %u", rank, rank_w);
        return;
    }
    rank = has_x ? rank : rank_w;
    if (rank < 3) {
        ox_infer_conflict(c, "the input's rank is %u, not at least 3", rank);
        return;
    }
    int64_t groups = ox_infer_int_attr(c, "group", 1);
    const struct ox_expr **dims = ox_infer_dims(c, rank), **none = ox_infer_dims(c, rank);
    if (!dims || !none)
        return;
    if (has_x && has_w)
        ox_infer_equal(c, x[1], ox_infer_mul(c, w[1], ox_infer_num(c, groups)),
                       "the number of input channels");
    dims[0] = has_x ? x[0] : NULL;
    dims[1] = has_w ? w[0] : NULL;
    if (ox_infer_window(c, rank - 2, has_x ? x + 2 : none, has_w ? w + 2 : none, false, dims + 2))
        ox_infer_set_shape(c, 0, rank, dims);
}

void ox_infer_conv_bias(struct ox_infer *c, const struct ox_expr *channels)
{
    const struct ox_expr *own;
    if (ox_infer_by_rules_alone(c) || !ox_infer_has(c, 2) || !ox_rule_rank(c, 2, 1))
        return; /* the standard's inference does not look at it */
    if ((own = ox_infer_dim(c, 2, 0)))
        ox_infer_equal(c, channels, own, "the number of output channels");
}

static void infer_conv(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *w;
    ox_infer_conv(c, 0, 1);
    if (ox_infer_shape(c, 1, &rank, &w) && rank > 0)
        ox_infer_conv_bias(c, w[0]);
}

const struct ox_op ox_ops_conv[] = {
    {"", "Conv", 1, .infer = infer_conv, .run = run_conv, .fast = ox_fast_conv},
    {"", "Conv", 11, .infer = infer_conv, .run = run_conv, .fast = ox_fast_conv},
    {"", "Conv", 22, .infer = infer_conv, .run = run_conv, .fast = ox_fast_conv},
    {0}};
