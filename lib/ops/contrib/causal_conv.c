/* CausalConvWithState and VarlenCausalConvWithState of com.microsoft: a causal convolution of each channel along sequences, each with a
 * state before it; of the latter they lie one behind the other. In double, rounded once. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/contrib/packed_sequences.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/real_math.h"
#include "ops/rules.h"

/* Filters [channels, taps] and what follows them. */
struct filters {
    size_t channels, taps, dilation, held; /* held: tokens of a state */
    const double *w, *bias;                /* bias may be NULL */
    bool silu;
};

/* The taps of filter c over line[t] to line[t + held]. */
static double filter_at(const struct filters *f, size_t c, const double *line)
{
    double sum = f->bias ? f->bias[c] : 0;
    for (size_t j = 0; j < f->taps; j++)
        sum += f->w[c * f->taps + j] * line[j * f->dilation];
    return f->silu ? sum * ox_sigmoid(sum) : sum;
}

/* Weights are input 1; `bias` is the place of the other. */
static enum ox_status read_filters(struct ox_run *r, size_t channels, size_t bias_at,
                                   struct filters *f, struct ox_error *err)
{
    const struct ox_tensor *w = ox_run_in(r, 1), *bias = ox_run_in(r, bias_at);
    const char *name = ox_run_string(r, "activation");
    const int64_t dilation = ox_run_int(r, "dilation", 1);
    f->silu = name && (!strcmp(name, "silu") || !strcmp(name, "swish"));
    if (name && !f->silu && strcmp(name, "none") != 0)
        return ox_run_fail(r, err, OX_INPUT, "activation '%.40s' is unknown", name);
    if (w->rank != 3 || (size_t)w->dims[0] != channels || w->dims[1] != 1 || w->dims[2] < 1)
        return ox_run_fail(r, err, OX_INPUT, "weight is not [%zu, 1, taps]", channels);
    f->channels = channels;
    f->taps = (size_t)w->dims[2];
    f->dilation = (size_t)dilation;
    if (dilation < 1 || OX_MUL_OVERFLOWS(f->taps - 1, f->dilation, &f->held) || f->held > INT64_MAX)
        return ox_run_fail(r, err, OX_INPUT, "dilation is %" PRId64, dilation);
    if (bias && (bias->rank != 1 || bias->n != channels))
        return ox_run_fail(r, err, OX_INPUT, "bias has %zu elements, not %zu", bias->n, channels);
    return OX_OK;
}

static enum ox_status load_filters(struct ox_run *r, size_t bias_at, struct filters *f,
                                   struct ox_error *err)
{
    OX_TRY(ox_real_in(r, 1, &f->w, err));
    return ox_real_in(r, bias_at, &f->bias, err);
}

/* Tokens of a state, (taps - 1) * dilation. */
static const struct ox_expr *infer_held(struct ox_infer *c)
{
    const int64_t dilation = ox_infer_int_attr(c, "dilation", 1);
    if (dilation < 1)
        ox_infer_conflict(c, "dilation is %" PRId64, dilation);
    return ox_infer_mul(c, ox_infer_sub(c, ox_infer_dim(c, 1, 2), ox_infer_num(c, 1)),
                        ox_infer_num(c, dilation));
}

/* ---- In float32, a row of channels at a time ---------------------------------------------------------------------- */

struct token_conv {
    const struct filters *f;
    size_t batch;
    const size_t *starts; /* batch + 1 */
    const float *x, *bias;
    float *w;    /* [taps, channels] */
    float *past; /* [batch, held, channels] */
    float *y;
};

/* Place i of sequence b, of which the first `held` are its state. */
static const float *token_at(const struct token_conv *p, size_t b, size_t i)
{
    const size_t channels = p->f->channels, held = p->f->held;
    return i < held ? p->past + (b * held + i) * channels
                    : p->x + (p->starts[b] + i - held) * channels;
}

static void token_task(void *arg, size_t from, size_t to)
{
    const struct token_conv *p = arg;
    const size_t channels = p->f->channels;
    size_t b = 0;
    for (size_t token = from; token < to; token++) {
        float *y = p->y + token * channels;
        while (token >= p->starts[b + 1])
            b++;
        for (size_t c = 0; c < channels; c++)
            y[c] = p->bias ? p->bias[c] : 0;
        for (size_t j = 0; j < p->f->taps; j++) {
            const float *x = token_at(p, b, token - p->starts[b] + j * p->f->dilation);
            const float *w = p->w + j * channels;
            for (size_t c = 0; c < channels; c++)
                y[c] += w[c] * x[c];
        }
    }
    float *y = p->y + from * channels;
    if (p->f->silu)
        ox_fast_rows()->unary[OX_UNARY_SWISH]((to - from) * channels, y, y, 1, 0);
}

/* [batch, rows, cols] to [batch, cols, rows] where `turned`; else as they are. */
static void copy_state(bool turned, size_t batch, size_t rows, size_t cols, const float *from,
                       float *to)
{
    if (!turned && batch * rows * cols > 0)
        memcpy(to, from, batch * rows * cols * sizeof *to);
    for (size_t b = 0; turned && b < batch; b++, from += rows * cols, to += rows * cols)
        for (size_t row = 0; row < rows; row++)
            for (size_t col = 0; col < cols; col++)
                to[col * rows + row] = from[row * cols + col];
}

/* p->f, p->batch, p->starts and p->y are set. past: its states (NULL: zeros) and state: those behind (NULL: nobody wants them),
 * channels first where `turned`. */
static enum ox_status convolve_tokens(struct ox_run *r, struct token_conv *p, size_t bias_at,
                                      const float *past, float *state, bool turned,
                                      struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *w = ox_run_in(r, 1),
                           *bias = ox_run_in(r, bias_at);
    const size_t channels = p->f->channels, held = p->f->held, n = p->batch * held * channels;
    p->x = x->data;
    p->bias = bias ? bias->data : NULL;
    p->w = ox_run_work(r, w->n + 1, sizeof *p->w, err);
    p->past = p->w ? ox_run_work(r, n + 1, sizeof *p->past, err) : NULL;
    float *behind = p->past && state ? ox_run_work(r, n + 1, sizeof *behind, err) : NULL;
    if (!p->past || (state && !behind))
        return err->status;
    copy_state(true, 1, channels, p->f->taps, w->data, p->w);
    if (past)
        copy_state(turned, p->batch, channels, held, past, p->past);
    else
        memset(p->past, 0, n * sizeof *p->past);
    ox_fast_spread(r->env, p->starts[p->batch], 2048 / (channels + 1) + 1,
                   0.5 * (double)channels * (double)p->f->taps, token_task, p);
    for (size_t i = 0; state && i < p->batch * held; i++) {
        const size_t b = i / held, length = p->starts[b + 1] - p->starts[b];
        memcpy(behind + i * channels, token_at(p, b, length + i % held), channels * sizeof *behind);
    }
    if (state)
        copy_state(turned, p->batch, held, channels, behind, state);
    return ox_env_poll(r->env, err);
}

/* ---- VarlenCausalConvWithState ------------------------------------------------------------------------------------ */

enum { X, WEIGHT, ENDS, BIAS, STATE, COUNTS, DELTA, MASK };

struct packed_conv {
    struct ox_sequences s;
    struct filters f;
    const double *x, *past;
    double *y, *state, *update; /* update: NULL: nobody wants it */
    struct ox_task_state memory;
};

/* One channel of one sequence. */
static void channel_task(void *arg, size_t task)
{
    struct packed_conv *p = arg;
    const size_t channels = p->f.channels, held = p->f.held;
    const size_t b = task / channels, c = task % channels, start = p->s.starts[b];
    const size_t length = p->s.starts[b + 1] - start, n = held + length;
    double *line = ox_task_alloc(&p->memory, n + 1, sizeof *line);
    if (!line)
        return;
    memcpy(line, p->past + task * held, held * sizeof *line);
    for (size_t t = 0; t < length; t++)
        line[held + t] = p->x[(start + t) * channels + c];
    for (size_t t = 0; t < length; t++)
        p->y[(start + t) * channels + c] = filter_at(&p->f, c, line + t);
    memcpy(p->state + task * held, line + length, held * sizeof *line);
    for (size_t t = 0; p->update && t < p->s.captured[b]; t++)
        p->update[(b * p->s.capacity + t) * channels + c] = line[held + t];
    ox_task_free(&p->memory, line, n + 1, sizeof *line);
}

static enum ox_status read_sizes(struct ox_run *r, struct packed_conv *p, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, X), *past = ox_run_in(r, STATE);
    if (ox_run_has(r, DELTA) || ox_run_has(r, MASK) || ox_run_int(r, "group_size", 1) != 1 ||
        ox_run_int(r, "delta_offset", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED,
                           "kernel_delta and previous_mask are a GPU's alone");
    if (x->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "input is not [tokens, channels]");
    OX_TRY(read_filters(r, (size_t)x->dims[1], BIAS, &p->f, err));
    OX_TRY(ox_sequences_read(r, ENDS, (size_t)x->dims[0], &p->s, err));
    OX_TRY(ox_sequences_captures(r, COUNTS, &p->s, err));
    if (past->rank != 3 || (size_t)past->dims[0] != p->s.batch ||
        (size_t)past->dims[1] != p->f.channels || (size_t)past->dims[2] != p->f.held)
        return ox_run_fail(r, err, OX_INPUT, "initial_state is not [%zu, %zu, %zu]", p->s.batch,
                           p->f.channels, p->f.held);
    return OX_OK;
}

static enum ox_status run_packed_conv(struct ox_run *r, struct ox_error *err)
{
    struct packed_conv p = {.update = NULL};
    const struct ox_tensor *x = ox_run_in(r, X), *past = ox_run_in(r, STATE);
    OX_TRY(read_sizes(r, &p, err));
    const int64_t update[3] = {(int64_t)p.s.batch, (int64_t)p.s.capacity, x->dims[1]};
    size_t n_update;
    if (!ox_dims_count(3, update, &n_update))
        return ox_run_fail(r, err, OX_LIMIT, "the update is too large");
    OX_TRY(load_filters(r, BIAS, &p.f, err));
    OX_TRY(ox_real_in(r, X, &p.x, err));
    OX_TRY(ox_real_in(r, STATE, &p.past, err));
    p.y = ox_real_scratch(r, x->n, err);
    p.state = ox_real_scratch(r, past->n, err);
    p.update = ox_run_wants(r, 2) ? ox_real_scratch(r, n_update, err) : NULL;
    if (!p.y || !p.state || (ox_run_wants(r, 2) && !p.update))
        return OX_NO_MEMORY;
    p.memory.budget = ox_env_budget(r->env);
    ox_parallel(r->env, p.s.batch * p.f.channels, channel_task, &p);
    OX_TRY(ox_env_poll(r->env, err));
    if (p.memory.no_memory)
        return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
    OX_TRY(ox_real_out(r, 0, x->dtype, 2, x->dims, p.y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_real_out(r, 1, past->dtype, 3, past->dims, p.state, err));
    return p.update ? ox_real_out(r, 2, x->dtype, 3, update, p.update, err) : OX_OK;
}

static enum ox_status fast_packed_conv(struct ox_run *r, struct ox_error *err)
{
    struct packed_conv p = {.update = NULL};
    const struct ox_tensor *x = ox_fast_in(r, X), *past = ox_fast_in(r, STATE);
    struct ox_tensor *y, *state = NULL, *update = NULL;
    if (!x || !x->n || !past || !ox_fast_in(r, WEIGHT))
        return OX_UNSUPPORTED;
    OX_TRY(read_sizes(r, &p, err));
    const int64_t dims[3] = {(int64_t)p.s.batch, (int64_t)p.s.capacity, x->dims[1]};
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 2, x->dims, &y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 3, past->dims, &state, err));
    if (ox_run_wants(r, 2))
        OX_TRY(ox_run_out(r, 2, OX_FLOAT32, 3, dims, &update, err));
    struct token_conv t = {.f = &p.f, .batch = p.s.batch, .starts = p.s.starts, .y = y->data};
    OX_TRY(convolve_tokens(r, &t, BIAS, past->data, state ? state->data : NULL, true, err));
    for (size_t i = 0; update && i < p.s.batch * p.s.capacity; i++) {
        const size_t b = i / p.s.capacity, slot = i % p.s.capacity, n = p.f.channels;
        float *to = (float *)update->data + i * n;
        memset(to, 0, n * sizeof *to);
        if (slot < p.s.captured[b])
            memcpy(to, t.x + (p.s.starts[b] + slot) * n, n * sizeof *to);
    }
    return OX_OK;
}

static void infer_packed_conv(struct ox_infer *c)
{
    const int64_t capacity = ox_infer_int_attr(c, "state_update_capacity", 0);
    for (size_t i = 0; i < ox_infer_n_out(c); i++)
        ox_infer_same_dtype(c, i, 0);
    if (capacity < 0 || capacity > 8)
        ox_infer_conflict(c, "state_update_capacity is %" PRId64 ", not 0 to 8", capacity);
    ox_rule_rank(c, X, 2);
    ox_rule_rank(c, WEIGHT, 3);
    ox_rule_rank(c, ENDS, 1);
    ox_rule_rank(c, BIAS, 1);
    ox_rule_rank(c, STATE, 3);
    ox_infer_same_shape(c, 0, X);
    const struct ox_expr *channels = ox_infer_dim(c, X, 1), *batch = ox_infer_dim(c, STATE, 0);
    channels = ox_infer_equal(c, channels, ox_infer_dim(c, WEIGHT, 0), "channels and filters");
    channels = ox_infer_equal(c, channels, ox_infer_dim(c, BIAS, 0), "channels and biases");
    channels = ox_infer_equal(c, channels, ox_infer_dim(c, STATE, 1), "channels of the state");
    const struct ox_expr *ends = ox_infer_sub(c, ox_infer_dim(c, ENDS, 0), ox_infer_num(c, 1));
    batch = ox_infer_equal(c, batch, ends, "sequences and states");
    const struct ox_expr *held =
        ox_infer_equal(c, infer_held(c), ox_infer_dim(c, STATE, 2), "the length of the state");
    const struct ox_expr *state[3] = {batch, channels, held};
    const struct ox_expr *update[3] = {batch, ox_infer_num(c, capacity), channels};
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_shape(c, 1, 3, state);
    if (ox_infer_n_out(c) > 2)
        ox_infer_set_shape(c, 2, 3, update);
}

/* ---- CausalConvWithState ------------------------------------------------------------------------------------------ */

/* What the schema has and is not served, and what it is where it is not there. */
static const struct {
    const char *name;
    int64_t plain;
} unserved[] = {{"ndim", 1},           {"input_channel_offset", 0},
                {"input_channels", 0}, {"state_channels_last", -1},
                {"state_length", 0},   {"state_update_capacity", 0}};

static const char *find_unserved(const struct ox_run *r)
{
    for (size_t i = 0; i < OX_COUNT(unserved); i++)
        if (ox_run_int(r, unserved[i].name, unserved[i].plain) != unserved[i].plain)
            return unserved[i].name;
    return ox_run_wants(r, 2) ? "the output state_update" : NULL;
}

struct causal_conv {
    struct filters f;
    bool last; /* channels stand behind the tokens */
    size_t batch, length, slots;
    const double *x, *past; /* past: NULL: zeros */
    double *y, *state;      /* state: NULL: nobody wants it */
    struct ox_task_state memory;
};

/* Where token 0 of a channel lies among sequences of that length, and how far the next is. */
static size_t channel_at(const struct causal_conv *p, size_t task, size_t length, size_t *step)
{
    const size_t channels = p->f.channels;
    *step = p->last ? channels : 1;
    return p->last ? task / channels * length * channels + task % channels : task * length;
}

static void causal_task(void *arg, size_t task)
{
    struct causal_conv *p = arg;
    const size_t held = p->f.held, n = held + p->length, slot = p->batch * p->f.channels * held;
    double *line = ox_task_alloc(&p->memory, n + 1, sizeof *line);
    size_t step, x_step;
    if (!line)
        return;
    const size_t at = channel_at(p, task, held, &step),
                 x_at = channel_at(p, task, p->length, &x_step);
    for (size_t t = 0; t < held; t++)
        line[t] = p->past ? p->past[(p->slots - 1) * slot + at + t * step] : 0;
    for (size_t t = 0; t < p->length; t++)
        line[held + t] = p->x[x_at + t * x_step];
    for (size_t t = 0; t < p->length; t++)
        p->y[x_at + t * x_step] = filter_at(&p->f, task % p->f.channels, line + t);
    /* The last slot is the state behind all tokens; those before it end a token earlier each, at the first at the earliest. */
    for (size_t i = 0; p->state && i < p->slots && (!i || i < p->length); i++)
        for (size_t t = 0; t < held; t++)
            p->state[(p->slots - 1 - i) * slot + at + t * step] = line[p->length - i + t];
    ox_task_free(&p->memory, line, n + 1, sizeof *line);
}

/* Dimensions of a state: those of the input with `held` tokens, behind as many slots where there is a window. */
static unsigned state_dims(const struct causal_conv *p, const struct ox_tensor *x, int64_t window,
                           int64_t *dims)
{
    const unsigned lead = window > 0;
    dims[0] = window;
    memcpy(dims + lead, x->dims, x->rank * sizeof *dims);
    dims[lead + (p->last ? 1 : x->rank - 1)] = (int64_t)p->f.held;
    return x->rank + lead;
}

static enum ox_status read_causal(struct ox_run *r, struct causal_conv *p, unsigned *rank,
                                  int64_t *dims, size_t *n_state, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *past = ox_run_in(r, 3);
    const int64_t window = ox_run_int(r, "state_window", 0);
    const char *name = find_unserved(r);
    if (name)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "it has %s, which is not served", name);
    if (window < 0 || window > 8)
        return ox_run_fail(r, err, OX_INPUT, "state_window is %" PRId64 ", not 0 to 8", window);
    p->last = ox_run_int(r, "channels_last", 0) != 0;
    if (x->rank < 3 || (!p->last && x->rank != 3) || x->rank + 1 >= OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u", x->rank);
    size_t channels;
    if (!ox_dims_count(p->last ? x->rank - 2 : 1, x->dims + (p->last ? 2 : 1), &channels))
        return ox_run_fail(r, err, OX_LIMIT, "too many channels");
    p->batch = (size_t)x->dims[0];
    p->length = (size_t)x->dims[p->last ? 1 : 2];
    p->slots = window > 0 ? (size_t)window : 1;
    OX_TRY(read_filters(r, channels, 2, &p->f, err));
    *rank = state_dims(p, x, window, dims);
    if (!ox_dims_count(*rank, dims, n_state))
        return ox_run_fail(r, err, OX_LIMIT, "the state is too large");
    if (past && (past->rank != *rank || memcmp(past->dims, dims, *rank * sizeof *dims) != 0))
        return ox_run_fail(r, err, OX_INPUT,
                           "past_state is not shaped as the input with %zu tokens%s", p->f.held,
                           window ? " behind a window of states" : "");
    return OX_OK;
}

static enum ox_status run_causal(struct ox_run *r, struct ox_error *err)
{
    struct causal_conv p = {.state = NULL};
    const struct ox_tensor *x = ox_run_in(r, 0);
    int64_t dims[OX_MOST_RANK];
    unsigned rank = 0;
    size_t n_state, tasks;
    OX_TRY(read_causal(r, &p, &rank, dims, &n_state, err));
    if (OX_MUL_OVERFLOWS(p.batch, p.f.channels, &tasks))
        return ox_run_fail(r, err, OX_LIMIT, "too many channels");
    OX_TRY(load_filters(r, 2, &p.f, err));
    OX_TRY(ox_real_in(r, 0, &p.x, err));
    OX_TRY(ox_real_in(r, 3, &p.past, err));
    p.y = ox_real_scratch(r, x->n, err);
    p.state = ox_run_wants(r, 1) ? ox_real_scratch(r, n_state, err) : NULL;
    if (!p.y || (ox_run_wants(r, 1) && !p.state))
        return OX_NO_MEMORY;
    p.memory.budget = ox_env_budget(r->env);
    ox_parallel(r->env, tasks, causal_task, &p);
    OX_TRY(ox_env_poll(r->env, err));
    if (p.memory.no_memory)
        return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
    OX_TRY(ox_real_out(r, 0, x->dtype, x->rank, x->dims, p.y, err));
    return p.state ? ox_real_out(r, 1, x->dtype, rank, dims, p.state, err) : OX_OK;
}

/* Channels behind the tokens. */
static enum ox_status fast_causal_last(struct ox_run *r, struct ox_error *err)
{
    struct causal_conv p = {.state = NULL};
    struct ox_sequences s;
    const struct ox_tensor *x = ox_fast_in(r, 0), *past = ox_run_in(r, 3);
    struct ox_tensor *y, *state = NULL;
    int64_t dims[OX_MOST_RANK];
    unsigned rank = 0;
    size_t n_state, tokens;
    if (!x || !ox_fast_in(r, 1))
        return OX_UNSUPPORTED;
    OX_TRY(read_causal(r, &p, &rank, dims, &n_state, err));
    if (!x->n || OX_MUL_OVERFLOWS(p.batch, p.length, &tokens))
        return OX_UNSUPPORTED;
    OX_TRY(ox_sequences_even(r, p.batch, tokens, &s, err));
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, rank, dims, &state, err));
    struct token_conv t = {.f = &p.f, .batch = p.batch, .starts = s.starts, .y = y->data};
    return convolve_tokens(r, &t, 2, past ? past->data : NULL, state ? state->data : NULL, false,
                           err);
}

static enum ox_status fast_causal(struct ox_run *r, struct ox_error *err)
{
    if (find_unserved(r) || ox_run_int(r, "state_window", 0))
        return OX_UNSUPPORTED;
    if (ox_run_int(r, "channels_last", 0))
        return fast_causal_last(r, err);
    return ox_run_int(r, "dilation", 1) == 1 ? ox_fast_causal_conv(r, err) : OX_UNSUPPORTED;
}

static void infer_causal(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    const bool last = ox_infer_int_attr(c, "channels_last", 0) != 0;
    const int64_t window = ox_infer_int_attr(c, "state_window", 0);
    ox_infer_same_dtype(c, 0, 0);
    if (ox_infer_n_out(c) > 1)
        ox_infer_same_dtype(c, 1, 0);
    for (size_t i = 0; i < OX_COUNT(unserved); i++)
        if (ox_infer_int_attr(c, unserved[i].name, unserved[i].plain) != unserved[i].plain)
            return;
    ox_infer_same_shape(c, 0, 0);
    ox_rule_rank(c, 1, 3);
    ox_rule_rank(c, 2, 1);
    const struct ox_expr *held = infer_held(c);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank < 3 || (!last && rank != 3))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank + 1);
    if (!dims)
        return;
    const struct ox_expr *channels = x[last ? 2 : 1];
    for (unsigned i = 3; i < rank; i++)
        channels = ox_infer_mul(c, channels, x[i]);
    ox_infer_equal(c, channels, ox_infer_dim(c, 1, 0), "channels and filters");
    ox_infer_equal(c, channels, ox_infer_dim(c, 2, 0), "channels and biases");
    const unsigned lead = window > 0;
    dims[0] = ox_infer_num(c, window);
    for (unsigned i = 0; i < rank; i++)
        dims[lead + i] = i == (last ? 1 : 2) ? held : x[i];
    if (ox_infer_has(c, 3) && ox_rule_rank(c, 3, rank + lead))
        for (unsigned i = 0; i < rank + lead; i++)
            ox_infer_equal(c, dims[i], ox_infer_dim(c, 3, i), "the state before");
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_shape(c, 1, rank + lead, dims);
}

const struct ox_op ox_ops_causal_conv[] = {
    {"com.microsoft", "CausalConvWithState", 1, OX_OP_HALF, .infer = infer_causal,
     .run = run_causal, .fast = fast_causal},
    {"com.microsoft", "VarlenCausalConvWithState", 1, OX_OP_HALF, .infer = infer_packed_conv,
     .run = run_packed_conv, .fast = fast_packed_conv},
    {0}};
