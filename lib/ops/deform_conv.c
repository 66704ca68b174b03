/* DeformConv (any rank, sampled linearly between the 2^n neighbours) and CausalConvWithState: computed in double. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/gemm.h"
#include "ops/conv.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

enum { PIXELS = 64 };

struct deform {
    struct ox_plain_conv cv;        /* sizes; x, weights, bias as doubles */
    size_t offset_groups, channels; /* channels: of the input */
    const double *offset, *mask;
    struct ox_tensor *y;
    size_t blocks;
};

/* The value between grid points; what lies outside of the plane counts as 0. */
static double sample(const struct ox_window *w, const double *plane, const double *at)
{
    int64_t low[OX_WINDOW_AXES];
    double high_part[OX_WINDOW_AXES], sum = 0;
    for (unsigned d = 0; d < w->n; d++) {
        if (!(at[d] > -1 && at[d] < (double)w->in[d]))
            return 0;
        low[d] = (int64_t)floor(at[d]);
        high_part[d] = at[d] - (double)low[d];
    }
    for (size_t corner = 0; corner < (size_t)1 << w->n; corner++) {
        double weight = 1;
        size_t offset = 0;
        for (unsigned d = 0; d < w->n && weight != 0; d++) {
            bool high = corner >> (w->n - 1 - d) & 1;
            int64_t to = low[d] + (high ? 1 : 0);
            weight *= high ? high_part[d] : 1 - high_part[d];
            if (to < 0 || to >= w->in[d])
                weight = 0;
            else
                offset = offset * (size_t)w->in[d] + (size_t)to;
        }
        if (weight != 0)
            sum += weight * plane[offset];
    }
    return sum;
}

/* Column of all taps of all channels of the group under output pixel `pixel`, at out[p * PIXELS]. */
static void sample_pixel(const struct deform *df, size_t image, size_t group, size_t pixel,
                         double *out)
{
    const struct ox_window *w = &df->cv.w;
    size_t rest = pixel, per_offset = df->channels / df->offset_groups;
    int64_t at[OX_WINDOW_AXES] = {0}, tap[OX_WINDOW_AXES] = {0};
    double place[OX_WINDOW_AXES];
    for (unsigned d = w->n; d-- > 0;) {
        at[d] = (int64_t)(rest % (size_t)w->out[d]) * w->stride[d] - w->before[d];
        rest /= (size_t)w->out[d];
    }
    for (size_t t = 0; t < w->taps; t++) {
        for (size_t c = 0; c < df->cv.in_group; c++) {
            size_t channel = group * df->cv.in_group + c, set = channel / per_offset;
            size_t tap_at = (image * df->offset_groups + set) * w->taps + t;
            for (unsigned d = 0; d < w->n; d++)
                place[d] = (double)(at[d] + tap[d] * w->dilation[d]) +
                           df->offset[(tap_at * w->n + d) * w->n_out + pixel];
            double v = sample(
                w, (const double *)df->cv.x + (image * df->channels + channel) * w->n_in, place);
            if (df->mask)
                v *= df->mask[tap_at * w->n_out + pixel];
            out[(c * w->taps + t) * PIXELS] = v;
        }
        for (unsigned d = w->n; d-- > 0 && ++tap[d] == w->kernel[d];)
            tap[d] = 0;
    }
}

static void deform_task(void *arg, size_t i)
{
    struct deform *df = arg;
    struct ox_plain_conv *cv = &df->cv;
    size_t pixel = i % df->blocks * PIXELS, plane = i / df->blocks;
    size_t group = plane % cv->groups, image = plane / cv->groups, n_out = cv->w.n_out;
    size_t count = n_out - pixel < PIXELS ? n_out - pixel : PIXELS;
    size_t depth = cv->in_group * cv->w.taps, rows = cv->out_group;
    size_t n_work = ox_gemm_work(rows, PIXELS, depth);
    double *columns = ox_task_alloc(&cv->state, depth, PIXELS * sizeof *columns);
    double *sums = ox_task_alloc(&cv->state, rows, PIXELS * sizeof *sums);
    double *work = ox_task_alloc(&cv->state, n_work, sizeof *work);
    if (columns && sums && work) {
        for (size_t j = 0; j < count; j++)
            sample_pixel(df, image, group, pixel + j, columns + j);
        ox_gemm_run_f64(ox_gemm_f64(), ox_gemm_way(rows, n_out, depth, 1, PIXELS, 1), rows, count,
                        depth, (const double *)cv->weights + group * rows * depth, depth, 1,
                        columns, PIXELS, 1, sums, PIXELS, false, work);
        for (size_t m = 0; m < rows; m++) {
            size_t channel = group * rows + m;
            for (size_t j = 0; cv->bias && j < count; j++)
                sums[m * PIXELS + j] += ((const double *)cv->bias)[channel];
            ox_real_store(df->y, (image * cv->groups * rows + channel) * n_out + pixel, count,
                          sums + m * PIXELS);
        }
    }
    ox_task_free(&cv->state, columns, depth, PIXELS * sizeof *columns);
    ox_task_free(&cv->state, sums, rows, PIXELS * sizeof *sums);
    ox_task_free(&cv->state, work, n_work, sizeof *work);
}

/* Whether t is [images, channels, out...]. */
static enum ox_status check_map(struct ox_run *r, const char *what, const struct ox_tensor *t,
                                const int64_t *dims, size_t channels, unsigned rank,
                                struct ox_error *err)
{
    bool fits = t->rank == rank && t->dims[0] == dims[0] && t->dims[1] >= 0 &&
                (size_t)t->dims[1] == channels;
    for (unsigned d = 2; fits && d < rank; d++)
        fits = t->dims[d] == dims[d];
    if (fits)
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT, "%s is not [%lld, %zu, and the output's %u spatial sizes]",
                       what, (long long)dims[0], channels, rank - 2);
}

static enum ox_status run_deform_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *offset = ox_run_in(r, 2), *mask = ox_run_in(r, 4);
    struct deform *df = ox_run_scratch(r, 1, sizeof *df, err);
    int64_t dims[OX_WINDOW_AXES + 2];
    if (!df)
        return OX_NO_MEMORY;
    OX_TRY(ox_plain_conv_plan(r, x, ox_run_in(r, 1), ox_run_in(r, 3), &df->cv, dims, err));
    if (df->cv.w.n > 8)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "%u spatial axes: at most 8", df->cv.w.n);
    int64_t groups = ox_run_int(r, "offset_group", 1);
    if (groups < 1 || x->dims[1] % groups)
        return ox_run_fail(r, err, OX_INPUT, "%lld offset groups do not divide %lld channels",
                           (long long)groups, (long long)x->dims[1]);
    df->offset_groups = (size_t)groups;
    df->channels = (size_t)x->dims[1];
    size_t maps;
    if (OX_MUL_OVERFLOWS(df->offset_groups, df->cv.w.taps, &maps))
        return ox_run_fail(r, err, OX_LIMIT, "the kernel is too large");
    OX_TRY(check_map(r, "offset", offset, dims, maps * df->cv.w.n, x->rank, err));
    if (mask)
        OX_TRY(check_map(r, "mask", mask, dims, maps, x->rank, err));
    const double *data, *weights, *bias;
    OX_TRY(ox_real_in(r, 0, &data, err));
    OX_TRY(ox_real_in(r, 1, &weights, err));
    OX_TRY(ox_real_in(r, 2, &df->offset, err));
    OX_TRY(ox_real_in(r, 3, &bias, err));
    OX_TRY(ox_real_in(r, 4, &df->mask, err));
    df->cv.x = data;
    df->cv.weights = weights;
    df->cv.bias = bias;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &df->y, err));
    if (!df->y->n)
        return OX_OK;
    df->cv.state.budget = ox_env_budget(r->env);
    df->blocks = (df->cv.w.n_out + PIXELS - 1) / PIXELS;
    ox_parallel(r->env, df->cv.images * df->cv.groups * df->blocks, deform_task, df);
    OX_TRY(ox_env_poll(r->env, err));
    return df->cv.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

static void infer_deform_conv(struct ox_infer *c)
{
    ox_infer_conv(c, 0, 1);
}

/* ---- CausalConvWithState ----------------------------------------------------------------------------------------- */

static bool is_silu(const char *activation)
{
    return activation && (!strcmp(activation, "silu") || !strcmp(activation, "swish"));
}

static void infer_causal_conv(struct ox_infer *c)
{
    const char *activation = ox_infer_string_attr(c, "activation");
    if (activation && !is_silu(activation) && strcmp(activation, "none") != 0)
        ox_infer_conflict(c, "activation '%.40s' is unknown", activation);
    ox_rule_rank(c, 0, 3);
    ox_rule_rank(c, 1, 3);
    ox_rule_rank(c, 2, 1);
    ox_rule_rank(c, 3, 3);
    ox_infer_same_shape(c, 0, 0);
    unsigned rank;
    const struct ox_expr *const *x;
    const struct ox_expr **dims = ox_infer_dims(c, 3);
    if (!dims || !ox_infer_shape(c, 0, &rank, &x) || rank != 3)
        return;
    ox_infer_equal(c, x[1], ox_infer_dim(c, 1, 0), "channels and filters");
    ox_infer_equal(c, x[1], ox_infer_dim(c, 2, 0), "channels and biases");
    ox_infer_equal(c, x[0], ox_infer_dim(c, 3, 0), "batches");
    ox_infer_equal(c, x[1], ox_infer_dim(c, 3, 1), "channels of the state");
    ox_infer_equal(c, ox_infer_dim(c, 1, 1), ox_infer_num(c, 1), "channels of a filter");
    dims[0] = x[0];
    dims[1] = x[1];
    dims[2] = ox_infer_sub(c, ox_infer_dim(c, 1, 2), ox_infer_num(c, 1));
    ox_infer_equal(c, dims[2], ox_infer_dim(c, 3, 2), "the length of the state");
    if (ox_infer_n_out(c) < 2)
        return;
    ox_infer_set_shape(c, 1, 3, dims);
}

static enum ox_status check_causal(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *w = ox_run_in(r, 1), *b = ox_run_in(r, 2);
    const struct ox_tensor *past = ox_run_in(r, 3);
    if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 ||
        w->dims[2] < 1)
        return ox_run_fail(r, err, OX_INPUT,
                           "input and weight are not [batch, channels, length] "
                           "and [channels, 1, k]");
    if (b && (b->rank != 1 || b->dims[0] != x->dims[1]))
        return ox_run_fail(r, err, OX_INPUT, "bias has %zu elements, not %lld", b->n,
                           (long long)x->dims[1]);
    if (past && (past->rank != 3 || past->dims[0] != x->dims[0] || past->dims[1] != x->dims[1] ||
                 past->dims[2] != w->dims[2] - 1))
        return ox_run_fail(r, err, OX_INPUT, "past_state is not [%lld, %lld, %lld]",
                           (long long)x->dims[0], (long long)x->dims[1], (long long)w->dims[2] - 1);
    return OX_OK;
}

static enum ox_status run_causal_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *w = ox_run_in(r, 1), *past = ox_run_in(r, 3);
    const char *activation = ox_run_string(r, "activation");
    bool silu = is_silu(activation);
    if (activation && !silu && strcmp(activation, "none") != 0)
        return ox_run_fail(r, err, OX_INPUT, "activation '%.40s' is unknown", activation);
    OX_TRY(check_causal(r, err));
    size_t k = (size_t)w->dims[2], length = (size_t)x->dims[2], channels = (size_t)x->dims[1];
    size_t planes = (size_t)x->dims[0] * channels;
    int64_t state_dims[3] = {x->dims[0], x->dims[1], w->dims[2] - 1};
    const double *weights, *bias;
    OX_TRY(ox_real_in(r, 1, &weights, err));
    OX_TRY(ox_real_in(r, 2, &bias, err));
    struct ox_tensor *y, *state = NULL;
    OX_TRY(ox_run_out(r, 0, x->dtype, 3, x->dims, &y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, x->dtype, 3, state_dims, &state, err));
    size_t padded_length;
    if (OX_ADD_OVERFLOWS(length, k - 1, &padded_length))
        return ox_run_fail(r, err, OX_LIMIT, "the kernel is too large");
    double *padded = ox_real_scratch(r, padded_length, err);
    double *out = ox_real_scratch(r, length, err);
    if (!padded || !out)
        return OX_NO_MEMORY;
    for (size_t p = 0; p < planes && channels; p++) {
        if (past)
            ox_real_load(past, p * (k - 1), k - 1, padded);
        ox_real_load(x, p * length, length, padded + k - 1);
        for (size_t t = 0; t < length; t++)
            out[t] = bias ? bias[p % channels] : 0;
        for (size_t j = 0; j < k; j++)
            for (size_t t = 0; t < length; t++)
                out[t] += weights[p % channels * k + j] * padded[t + j];
        /* The activation sees the convolution in its own type. */
        if (silu)
            ox_real_round(y->dtype, out, length);
        for (size_t t = 0; silu && t < length; t++)
            out[t] = out[t] / (1 + exp(-out[t]));
        ox_real_store(y, p * length, length, out);
        if (state)
            ox_real_store(state, p * (k - 1), k - 1, padded + length);
    }
    return ox_env_poll(r->env, err);
}

/* In float32, which a few products a sum allow. */
struct causal {
    size_t k, length, channels;
    const float *x, *w, *bias, *past; /* the last two may be NULL */
    float *y, *state;                 /* NULL: not wanted */
    bool silu;
};

/* Element i of a plane behind its past. */
static float causal_at(const struct causal *c, size_t plane, size_t i)
{
    if (i >= c->k - 1)
        return c->x[plane * c->length + i - (c->k - 1)];
    return c->past ? c->past[plane * (c->k - 1) + i] : 0;
}

static void causal_plane(const struct causal *c, size_t plane)
{
    const size_t k = c->k, length = c->length, early = length < k - 1 ? length : k - 1;
    const float *w = c->w + plane % c->channels * k, *x = c->x + plane * length;
    const float bias = c->bias ? c->bias[plane % c->channels] : 0;
    float *y = c->y + plane * length;
    for (size_t t = 0; t < early; t++) {
        float sum = bias;
        for (size_t j = 0; j < k; j++)
            sum += w[j] * causal_at(c, plane, t + j);
        y[t] = sum;
    }
    for (size_t t = early; t < length; t++)
        y[t] = bias;
    for (size_t j = 0; j < k && early < length; j++)
        for (size_t t = early; t < length; t++)
            y[t] += w[j] * x[t + j - (k - 1)];
    for (size_t i = 0; c->state && i < k - 1; i++)
        c->state[plane * (k - 1) + i] = causal_at(c, plane, length + i);
}

static void causal_task(void *arg, size_t from, size_t to)
{
    const struct causal *c = arg;
    float *y = c->y + from * c->length;
    for (size_t plane = from; plane < to; plane++)
        causal_plane(c, plane);
    if (c->silu)
        ox_fast_rows()->unary[OX_UNARY_SWISH]((to - from) * c->length, y, y, 1, 0);
}

enum ox_status ox_fast_causal_conv(struct ox_run *r, struct ox_error *err)
{
    enum { FEW = 64, GRAIN = 2048 };
    const struct ox_tensor *x = ox_fast_in(r, 0), *w = ox_fast_in(r, 1), *b = ox_run_in(r, 2);
    const struct ox_tensor *past = ox_run_in(r, 3);
    const char *activation = ox_run_string(r, "activation");
    const bool silu = is_silu(activation);
    if (!x || !w || (activation && !silu && strcmp(activation, "none") != 0) ||
        check_causal(r, err) != OX_OK || w->dims[2] > FEW)
        return OX_UNSUPPORTED;
    const int64_t state_dims[3] = {x->dims[0], x->dims[1], w->dims[2] - 1};
    struct ox_tensor *y, *state = NULL;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 3, x->dims, &y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 3, state_dims, &state, err));
    struct causal c = {.k = (size_t)w->dims[2],
                       .length = (size_t)x->dims[2],
                       .channels = (size_t)x->dims[1],
                       .x = x->data,
                       .w = w->data,
                       .bias = b ? b->data : NULL,
                       .past = past ? past->data : NULL,
                       .y = y->data,
                       .state = state ? state->data : NULL,
                       .silu = silu};
    const size_t work = c.length * c.k + 2 * c.k;
    ox_fast_spread(r->env, (size_t)x->dims[0] * c.channels, GRAIN / work + 1, 0.5 * (double)work,
                   causal_task, &c);
    return ox_env_poll(r->env, err);
}

const struct ox_op ox_ops_deform_conv[] = {{"", "DeformConv", 19, .infer = infer_deform_conv,
                                            .run = run_deform_conv, .fast = ox_fast_deform_conv},
                                           {"", "DeformConv", 22, .infer = infer_deform_conv,
                                            .run = run_deform_conv, .fast = ox_fast_deform_conv},
                                           {"", "CausalConvWithState", 27, OX_OP_HALF,
                                            .infer = infer_causal_conv, .run = run_causal_conv,
                                            .fast = ox_fast_causal_conv},
                                           {0}};
