/* VarlenCausalConvWithState of com.microsoft: a causal convolution of each channel along sequences that lie one behind the other,
 * each with a state before it. In double, rounded once. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/contrib/packed_sequences.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/real_math.h"
#include "ops/rules.h"

enum { X, WEIGHT, ENDS, BIAS, STATE, COUNTS, DELTA, MASK };

struct packed_conv {
    struct ox_sequences s;
    size_t channels, taps, dilation, held; /* held: tokens of a state */
    const double *x, *w, *bias, *past;     /* bias may be NULL */
    double *y, *state, *update;            /* update: NULL: nobody wants it */
    bool silu;
    struct ox_task_state memory;
};

/* One channel of one sequence. */
static void channel_task(void *arg, size_t task)
{
    struct packed_conv *p = arg;
    const size_t b = task / p->channels, c = task % p->channels, start = p->s.starts[b];
    const size_t length = p->s.starts[b + 1] - start, n = p->held + length;
    double *line = ox_task_alloc(&p->memory, n + 1, sizeof *line);
    if (!line)
        return;
    memcpy(line, p->past + task * p->held, p->held * sizeof *line);
    for (size_t t = 0; t < length; t++)
        line[p->held + t] = p->x[(start + t) * p->channels + c];
    for (size_t t = 0; t < length; t++) {
        double sum = p->bias ? p->bias[c] : 0;
        for (size_t j = 0; j < p->taps; j++)
            sum += p->w[c * p->taps + j] * line[t + j * p->dilation];
        p->y[(start + t) * p->channels + c] = p->silu ? sum * ox_sigmoid(sum) : sum;
    }
    memcpy(p->state + task * p->held, line + length, p->held * sizeof *line);
    for (size_t t = 0; p->update && t < p->s.captured[b]; t++)
        p->update[(b * p->s.capacity + t) * p->channels + c] = line[p->held + t];
    ox_task_free(&p->memory, line, n + 1, sizeof *line);
}

static enum ox_status read_sizes(struct ox_run *r, struct packed_conv *p, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, X), *w = ox_run_in(r, WEIGHT),
                           *bias = ox_run_in(r, BIAS), *past = ox_run_in(r, STATE);
    const char *name = ox_run_string(r, "activation");
    const int64_t dilation = ox_run_int(r, "dilation", 1);
    p->silu = name && (!strcmp(name, "silu") || !strcmp(name, "swish"));
    if (name && !p->silu && strcmp(name, "none") != 0)
        return ox_run_fail(r, err, OX_INPUT, "activation '%.40s' is unknown", name);
    if (ox_run_has(r, DELTA) || ox_run_has(r, MASK) || ox_run_int(r, "group_size", 1) != 1 ||
        ox_run_int(r, "delta_offset", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED,
                           "kernel_delta and previous_mask are a GPU's alone");
    if (x->rank != 2 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 ||
        w->dims[2] < 1)
        return ox_run_fail(r, err, OX_INPUT,
                           "input and weight are not [tokens, channels] and [channels, 1, taps]");
    p->channels = (size_t)x->dims[1];
    p->taps = (size_t)w->dims[2];
    p->dilation = (size_t)dilation;
    if (dilation < 1 || OX_MUL_OVERFLOWS(p->taps - 1, p->dilation, &p->held))
        return ox_run_fail(r, err, OX_INPUT, "dilation is %" PRId64, dilation);
    if (bias && (bias->rank != 1 || bias->n != p->channels))
        return ox_run_fail(r, err, OX_INPUT, "bias has %zu elements, not %zu", bias->n,
                           p->channels);
    OX_TRY(ox_sequences_read(r, ENDS, (size_t)x->dims[0], &p->s, err));
    OX_TRY(ox_sequences_captures(r, COUNTS, &p->s, err));
    if (past->rank != 3 || (size_t)past->dims[0] != p->s.batch ||
        (size_t)past->dims[1] != p->channels || (size_t)past->dims[2] != p->held)
        return ox_run_fail(r, err, OX_INPUT, "initial_state is not [%zu, %zu, %zu]", p->s.batch,
                           p->channels, p->held);
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
    OX_TRY(ox_real_in(r, X, &p.x, err));
    OX_TRY(ox_real_in(r, WEIGHT, &p.w, err));
    OX_TRY(ox_real_in(r, BIAS, &p.bias, err));
    OX_TRY(ox_real_in(r, STATE, &p.past, err));
    p.y = ox_real_scratch(r, x->n, err);
    p.state = ox_real_scratch(r, past->n, err);
    p.update = ox_run_wants(r, 2) ? ox_real_scratch(r, n_update, err) : NULL;
    if (!p.y || !p.state || (ox_run_wants(r, 2) && !p.update))
        return OX_NO_MEMORY;
    p.memory.budget = ox_env_budget(r->env);
    ox_parallel(r->env, p.s.batch * p.channels, channel_task, &p);
    OX_TRY(ox_env_poll(r->env, err));
    if (p.memory.no_memory)
        return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
    OX_TRY(ox_real_out(r, 0, x->dtype, 2, x->dims, p.y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_real_out(r, 1, past->dtype, 3, past->dims, p.state, err));
    return p.update ? ox_real_out(r, 2, x->dtype, 3, update, p.update, err) : OX_OK;
}

static void infer_packed_conv(struct ox_infer *c)
{
    const int64_t dilation = ox_infer_int_attr(c, "dilation", 1);
    const int64_t capacity = ox_infer_int_attr(c, "state_update_capacity", 0);
    for (size_t i = 0; i < ox_infer_n_out(c); i++)
        ox_infer_same_dtype(c, i, 0);
    if (dilation < 1)
        ox_infer_conflict(c, "dilation is %" PRId64, dilation);
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
    const struct ox_expr *taps = ox_infer_dim(c, WEIGHT, 2), *one = ox_infer_num(c, 1);
    const struct ox_expr *held =
        ox_infer_mul(c, ox_infer_sub(c, taps, one), ox_infer_num(c, dilation));
    held = ox_infer_equal(c, held, ox_infer_dim(c, STATE, 2), "the length of the state");
    const struct ox_expr *state[3] = {batch, channels, held};
    const struct ox_expr *update[3] = {batch, ox_infer_num(c, capacity), channels};
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_shape(c, 1, 3, state);
    if (ox_infer_n_out(c) > 2)
        ox_infer_set_shape(c, 2, 3, update);
}

const struct ox_op ox_ops_packed_conv[] = {{"com.microsoft", "VarlenCausalConvWithState", 1,
                                            OX_OP_HALF, .infer = infer_packed_conv,
                                            .run = run_packed_conv},
                                           {0}};
