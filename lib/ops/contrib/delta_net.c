/* GatedDeltaNet of com.microsoft: a matrix of state for each head of each sequence, updated token by token; sequences lie one behind the
 * other, and their first updates may be kept. In double, rounded once.
 * The recurrence (Yang et al., Gated Delta Networks, 2024): S = e^g S + k (b (v - (e^g S)^T k))^T, y = scale S^T q. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/dense.h"
#include "kernels/states.h"
#include "ops/contrib/packed_sequences.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/real_math.h"
#include "ops/rules.h"

enum { QUERY, KEY, VALUE, ENDS, DECAY, BETA, STATE, A_LOG, DT_BIAS, COUNTS, ACTIVE };
enum gate { GATE_NONE, GATE_SOFTPLUS, GATE_SIGMOID };

static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};

/* A rule's parts by its place in `rules`; -1: unknown. */
static int find_rule(const char *name)
{
    for (int i = 0; name && i < (int)OX_COUNT(rules); i++)
        if (strcmp(name, rules[i]) == 0)
            return i;
    return name ? -1 : 3;
}

static bool rule_decays(int rule)
{
    return rule & 1;
}

static bool rule_corrects(int rule)
{
    return rule & 2;
}

struct delta_net {
    struct ox_sequences s;
    unsigned lead; /* axes of tokens: 1, or a batch and a length */
    size_t tokens, k_heads, v_heads, k_size, v_size;
    const double *q, *k, *v;
    size_t q_step, k_step, v_step; /* from token to token */
    const double *decay, *beta, *a_log, *dt_bias;
    size_t decay_size, dt_size; /* values of a head: 1 or k_size */
    enum gate gate;
    double lower, scale;
    bool sigmoid_beta, normalizes, captures;
    double *y, *state, *update;
    size_t update_row, work_room;
    double *work; /* work_room of each head of each sequence */
};

/* ---- The recurrence ----------------------------------------------------------------------------------------------- */

static void load_key(const struct delta_net *d, const double *from, double *to)
{
    double squares = 1e-12;
    for (size_t i = 0; i < d->k_size; i++)
        squares += from[i] * from[i];
    const double by = d->normalizes ? 1 / sqrt(squares) : 1;
    for (size_t i = 0; i < d->k_size; i++)
        to[i] = from[i] * by;
}

/* e^g, `decay_size` of them. */
static void load_factors(const struct delta_net *d, size_t token, size_t head, double *to)
{
    const double *raw = d->decay + (token * d->v_heads + head) * d->decay_size;
    for (size_t i = 0; i < d->decay_size; i++) {
        double g = raw[i];
        if (d->gate != GATE_NONE)
            g += d->dt_bias[head * d->dt_size + (d->dt_size == 1 ? 0 : i)];
        if (d->gate == GATE_SOFTPLUS)
            g = -exp(d->a_log[head]) * ox_softplus(g);
        if (d->gate == GATE_SIGMOID)
            g = d->lower * ox_sigmoid(exp(d->a_log[head]) * g);
        to[i] = exp(g);
    }
}

/* What a token changed: factors of all tokens, then keys, then what was added. */
static void keep_update(const struct delta_net *d, size_t b, size_t slot, size_t head,
                        const double *factors, const double *key, const double *added)
{
    const size_t width = d->decay ? d->decay_size : 1, per_key = d->v_heads / d->k_heads;
    double *row = d->update + b * d->update_row;
    double *to = row + (slot * d->v_heads + head) * width;
    for (size_t i = 0; i < width; i++)
        to[i] = d->decay ? factors[i] : 1;
    row += d->s.capacity * d->v_heads * width;
    if (head % per_key == 0)
        memcpy(row + (slot * d->k_heads + head / per_key) * d->k_size, key,
               d->k_size * sizeof *key);
    row += d->s.capacity * d->k_heads * d->k_size;
    memcpy(row + (slot * d->v_heads + head) * d->v_size, added, d->v_size * sizeof *added);
}

/* One row of the state, [v_size][k_size]: the value that it adds, and what it gives. */
static double step_row(const struct delta_net *d, double *state, const double *factors,
                       const double *key, double value, const double *rate)
{
    for (size_t i = 0; d->decay && i < d->k_size; i++)
        state[i] *= factors[d->decay_size == 1 ? 0 : i];
    if (rate)
        value = *rate * (value - ox_dot(state, key, d->k_size));
    for (size_t i = 0; i < d->k_size; i++)
        state[i] += key[i] * value;
    return value;
}

static void delta_task(void *arg, size_t task)
{
    const struct delta_net *d = arg;
    const size_t b = task / d->v_heads, head = task % d->v_heads;
    const size_t shared = head / (d->v_heads / d->k_heads);
    double *query = d->work + task * d->work_room, *key = query + d->k_size,
           *factors = key + d->k_size, *added = factors + d->k_size;
    double *state = d->state + task * d->v_size * d->k_size;
    for (size_t token = d->s.starts[b]; token < d->s.starts[b + 1]; token++) {
        const double *value = d->v + token * d->v_step + head * d->v_size;
        double rate = d->beta ? d->beta[token * d->v_heads + head] : 0;
        rate = d->sigmoid_beta ? ox_sigmoid(rate) : rate;
        load_key(d, d->q + token * d->q_step + shared * d->k_size, query);
        load_key(d, d->k + token * d->k_step + shared * d->k_size, key);
        if (d->decay)
            load_factors(d, token, head, factors);
        for (size_t m = 0; m < d->v_size; m++) {
            double *row = state + m * d->k_size;
            added[m] = step_row(d, row, factors, key, value[m], d->beta ? &rate : NULL);
            d->y[(token * d->v_heads + head) * d->v_size + m] =
                d->scale * ox_dot(row, query, d->k_size);
        }
        const size_t slot = token - d->s.starts[b];
        if (d->captures && slot < d->s.captured[b])
            keep_update(d, b, slot, head, factors, key, added);
    }
}

/* ---- What comes in ------------------------------------------------------------------------------------------------ */

static bool has_dims(const struct ox_tensor *t, unsigned lead, const struct ox_tensor *like,
                     size_t a, size_t b, bool two)
{
    bool fits = t->rank == lead + 1 + two && (size_t)t->dims[lead] == a &&
                (!two || (size_t)t->dims[lead + 1] == b);
    for (unsigned i = 0; fits && i < lead; i++)
        fits = t->dims[i] == like->dims[i];
    return fits;
}

/* Queries, keys and values in one row of a token; the state tells what is what. */
static enum ox_status read_packed(struct ox_run *r, struct delta_net *d, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, QUERY), *past = ox_run_in(r, STATE);
    size_t values, keys;
    if (!past || past->rank != 4 || q->rank < 2 || q->rank > 3)
        return ox_run_fail(r, err, OX_INPUT, "packed queries of rank %u, with%s a state of rank 4",
                           q->rank, past && past->rank == 4 ? "" : "out");
    d->lead = q->rank - 1;
    d->v_heads = (size_t)past->dims[1];
    d->v_size = (size_t)past->dims[2];
    d->k_size = (size_t)past->dims[3];
    const size_t width = (size_t)q->dims[d->lead];
    if (OX_MUL_OVERFLOWS(d->v_heads, d->v_size, &values) || values > width || !d->k_size ||
        (width - values) % 2 || (width - values) / 2 % d->k_size)
        return ox_run_fail(r, err, OX_INPUT,
                           "packed queries have rows of %zu, for %zu values and keys of %zu", width,
                           values, d->k_size);
    keys = (width - values) / 2;
    d->k_heads = keys / d->k_size;
    d->q_step = d->k_step = d->v_step = width;
    OX_TRY(ox_real_in(r, QUERY, &d->q, err));
    d->k = d->q + keys;
    d->v = d->k + keys;
    return OX_OK;
}

static enum ox_status read_heads(struct ox_run *r, struct delta_net *d, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, QUERY), *k = ox_run_in(r, KEY),
                           *v = ox_run_in(r, VALUE);
    if (!k != !v)
        return ox_run_fail(r, err, OX_INPUT, "key and value come together");
    if (!k)
        return read_packed(r, d, err);
    if (q->rank < 3 || q->rank > 4 || v->rank != q->rank || !ox_tensor_same_dims(q, k))
        return ox_run_fail(r, err, OX_INPUT,
                           "query and key are not alike [tokens, heads, size], or value has "
                           "another rank");
    d->lead = q->rank - 2;
    d->k_heads = (size_t)q->dims[d->lead];
    d->k_size = (size_t)q->dims[d->lead + 1];
    d->v_heads = (size_t)v->dims[d->lead];
    d->v_size = (size_t)v->dims[d->lead + 1];
    if (!has_dims(v, d->lead, q, d->v_heads, d->v_size, true) ||
        OX_MUL_OVERFLOWS(d->k_heads, d->k_size, &d->q_step) ||
        OX_MUL_OVERFLOWS(d->v_heads, d->v_size, &d->v_step))
        return ox_run_fail(r, err, OX_INPUT, "value has other tokens than query");
    d->k_step = d->q_step;
    OX_TRY(ox_real_in(r, QUERY, &d->q, err));
    OX_TRY(ox_real_in(r, KEY, &d->k, err));
    return ox_real_in(r, VALUE, &d->v, err);
}

static enum ox_status read_sequences(struct ox_run *r, struct delta_net *d, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, QUERY), *past = ox_run_in(r, STATE);
    if (!d->k_heads || !d->k_size || !d->v_heads || d->v_heads % d->k_heads)
        return ox_run_fail(r, err, OX_INPUT, "%zu heads of values for %zu of keys of size %zu",
                           d->v_heads, d->k_heads, d->k_size);
    if (!ox_dims_count(d->lead, q->dims, &d->tokens))
        return ox_run_fail(r, err, OX_LIMIT, "too many tokens");
    if (ox_run_has(r, ENDS) && d->lead != 1)
        return ox_run_fail(r, err, OX_INPUT, "cu_seqlens of tokens in a batch");
    if (ox_run_has(r, ENDS))
        OX_TRY(ox_sequences_read(r, ENDS, d->tokens, &d->s, err));
    else if (d->lead == 2 || past)
        OX_TRY(ox_sequences_even(r, (size_t)(d->lead == 2 ? q : past)->dims[0], d->tokens, &d->s,
                                 err));
    else
        return ox_run_fail(r, err, OX_INPUT, "neither cu_seqlens nor a state tell the sequences");
    return ox_sequences_captures(r, COUNTS, &d->s, err);
}

static enum ox_status read_gate(struct ox_run *r, struct delta_net *d, struct ox_error *err)
{
    static const struct {
        const char *name;
        enum gate gate;
    } known[] = {{"none", GATE_NONE},
                 {"softplus", GATE_SOFTPLUS},
                 {"qwen", GATE_SOFTPLUS},
                 {"sigmoid", GATE_SIGMOID},
                 {"kda", GATE_SIGMOID}};
    const char *gate = ox_run_string(r, "gate_activation"),
               *rate = ox_run_string(r, "beta_activation");
    size_t i = 0;
    while (gate && i < OX_COUNT(known) && strcmp(known[i].name, gate) != 0)
        i++;
    if (i == OX_COUNT(known))
        return ox_run_fail(r, err, OX_INPUT, "gate_activation '%.40s' is unknown", gate);
    d->gate = known[i].gate;
    d->sigmoid_beta = rate && strcmp(rate, "sigmoid") == 0;
    if (rate && !d->sigmoid_beta && strcmp(rate, "none") != 0)
        return ox_run_fail(r, err, OX_INPUT, "beta_activation '%.40s' is unknown", rate);
    d->lower = (double)ox_run_float(r, "gate_lower_bound", -5);
    if (!isfinite(d->lower) || d->lower >= 0)
        return ox_run_fail(r, err, OX_INPUT, "gate_lower_bound is %g", d->lower);
    return OX_OK;
}

/* What makes a gate of the raw decay. */
static enum ox_status read_gate_parts(struct ox_run *r, struct delta_net *d, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, A_LOG), *bias = ox_run_in(r, DT_BIAS);
    if ((d->gate == GATE_NONE) != !a || (d->gate == GATE_NONE) != !bias)
        return ox_run_fail(r, err, OX_INPUT, "a_log and dt_bias are for gate_activation, both");
    if (!a)
        return OX_OK;
    if (!d->decay)
        return ox_run_fail(r, err, OX_INPUT, "gate_activation without decay");
    d->dt_size = bias->n == d->v_heads ? 1 : d->k_size;
    if (a->n != d->v_heads || bias->n != d->v_heads * d->dt_size ||
        (d->dt_size > 1 && d->decay_size == 1))
        return ox_run_fail(r, err, OX_INPUT,
                           "a_log has %zu elements and dt_bias %zu, for %zu heads of %zu decays",
                           a->n, bias->n, d->v_heads, d->decay_size);
    OX_TRY(ox_real_in(r, A_LOG, &d->a_log, err));
    return ox_real_in(r, DT_BIAS, &d->dt_bias, err);
}

static enum ox_status read_rates(struct ox_run *r, struct delta_net *d, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, QUERY), *decay = ox_run_in(r, DECAY),
                           *beta = ox_run_in(r, BETA);
    const char *name = ox_run_string(r, "update_rule");
    const int rule = find_rule(name);
    if (rule < 0)
        return ox_run_fail(r, err, OX_INPUT, "update_rule '%.40s' is unknown", name);
    if (rule_decays(rule) != (decay != NULL) || rule_corrects(rule) != (beta != NULL))
        return ox_run_fail(r, err, OX_INPUT, "update_rule '%s' %s decay and %s beta", rules[rule],
                           rule_decays(rule) ? "needs" : "forbids",
                           rule_corrects(rule) ? "needs" : "forbids");
    const bool by_key = decay && decay->rank == d->lead + 2;
    d->decay_size = by_key ? d->k_size : 1;
    if (decay && !has_dims(decay, d->lead, q, d->v_heads, d->k_size, by_key))
        return ox_run_fail(r, err, OX_INPUT, "decay is not [tokens, %zu], nor [tokens, %zu, %zu]",
                           d->v_heads, d->v_heads, d->k_size);
    if (beta && !has_dims(beta, d->lead, q, d->v_heads, 0, false))
        return ox_run_fail(r, err, OX_INPUT, "beta is not [tokens, %zu]", d->v_heads);
    OX_TRY(ox_real_in(r, DECAY, &d->decay, err));
    OX_TRY(ox_real_in(r, BETA, &d->beta, err));
    OX_TRY(read_gate(r, d, err));
    return read_gate_parts(r, d, err);
}

/* ---- What goes out ------------------------------------------------------------------------------------------------ */

static enum ox_status state_dims(struct ox_run *r, const struct delta_net *d, int64_t dims[4],
                                 size_t *n, struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, STATE);
    const size_t sizes[4] = {d->s.batch, d->v_heads, d->v_size, d->k_size};
    for (size_t i = 0; i < 4; i++)
        dims[i] = (int64_t)sizes[i];
    if (!ox_dims_count(4, dims, n))
        return ox_run_fail(r, err, OX_LIMIT, "the state is too large");
    if (past && (past->rank != 4 || memcmp(past->dims, dims, 4 * sizeof *dims) != 0))
        return ox_run_fail(r, err, OX_INPUT, "initial_state is not [%zu, %zu, %zu, %zu]", sizes[0],
                           sizes[1], sizes[2], sizes[3]);
    return OX_OK;
}

static enum ox_status make_state(struct ox_run *r, struct delta_net *d, int64_t dims[4],
                                 struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, STATE);
    size_t n;
    OX_TRY(state_dims(r, d, dims, &n, err));
    d->state = ox_real_scratch(r, n, err);
    if (!d->state)
        return OX_NO_MEMORY;
    if (past)
        ox_real_load(past, 0, n, d->state);
    return OX_OK;
}

static void output_dims(const struct delta_net *d, const struct ox_tensor *q, int64_t dims[4])
{
    memcpy(dims, q->dims, d->lead * sizeof *dims);
    dims[d->lead] = (int64_t)d->v_heads;
    dims[d->lead + 1] = (int64_t)d->v_size;
}

static void read_scale(const struct ox_run *r, struct delta_net *d)
{
    d->scale = (double)ox_run_float(r, "scale", 0);
    d->scale = d->scale == 0 ? 1 / sqrt((double)d->k_size) : d->scale;
    d->normalizes = ox_run_int(r, "qk_l2_norm", 0) != 0;
}

static enum ox_status make_update(struct ox_run *r, struct delta_net *d, int64_t dims[2],
                                  struct ox_error *err)
{
    const struct ox_tensor *active = ox_run_in(r, ACTIVE);
    const size_t width = d->decay ? d->decay_size : 1;
    size_t decays, keys, values, row, n;
    if (active && (active->rank != 1 || active->n != 1))
        return ox_run_fail(r, err, OX_INPUT, "state_update_active is not of shape [1]");
    if (!ox_run_wants(r, 2))
        return OX_OK;
    if (OX_MUL_OVERFLOWS(d->v_heads, width, &decays) ||
        OX_MUL_OVERFLOWS(d->k_heads, d->k_size, &keys) ||
        OX_MUL_OVERFLOWS(d->v_heads, d->v_size, &values) || OX_ADD_OVERFLOWS(decays, keys, &row) ||
        OX_ADD_OVERFLOWS(row, values, &row) || OX_MUL_OVERFLOWS(row, d->s.capacity, &row) ||
        row > INT64_MAX)
        return ox_run_fail(r, err, OX_LIMIT, "the update is too large");
    dims[0] = (int64_t)d->s.batch;
    dims[1] = (int64_t)row;
    if (!ox_dims_count(2, dims, &n))
        return ox_run_fail(r, err, OX_LIMIT, "the update is too large");
    d->update_row = row;
    d->update = ox_real_scratch(r, n, err);
    d->captures = !active || ox_tensor_get_int(active, 0) != 0;
    return d->update ? OX_OK : OX_NO_MEMORY;
}

static enum ox_status run_delta_net(struct ox_run *r, struct ox_error *err)
{
    struct delta_net d = {.lead = 1};
    const struct ox_tensor *q = ox_run_in(r, QUERY);
    int64_t dims[4], state[4], update[2];
    size_t n, n_work, tasks;
    OX_TRY(read_heads(r, &d, err));
    OX_TRY(read_sequences(r, &d, err));
    OX_TRY(read_rates(r, &d, err));
    OX_TRY(make_state(r, &d, state, err));
    OX_TRY(make_update(r, &d, update, err));
    output_dims(&d, q, dims);
    read_scale(r, &d);
    if (!ox_dims_count(d.lead + 2, dims, &n) || OX_MUL_OVERFLOWS(d.k_size, 3, &d.work_room) ||
        OX_ADD_OVERFLOWS(d.work_room, d.v_size, &d.work_room) ||
        OX_MUL_OVERFLOWS(d.s.batch, d.v_heads, &tasks) ||
        OX_MUL_OVERFLOWS(tasks, d.work_room, &n_work))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large");
    d.y = ox_real_scratch(r, n, err);
    d.work = ox_real_scratch(r, n_work, err);
    if (!d.y || !d.work)
        return OX_NO_MEMORY;
    ox_parallel(r->env, tasks, delta_task, &d);
    OX_TRY(ox_env_poll(r->env, err));
    OX_TRY(ox_real_out(r, 0, q->dtype, d.lead + 2, dims, d.y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_real_out(r, 1, OX_FLOAT32, 4, state, d.state, err));
    return d.update ? ox_real_out(r, 2, OX_FLOAT32, 2, update, d.update, err) : OX_OK;
}

/* ---- In float32, some rows of the state at a time ------------------------------------------------------------------ */

enum { COLS = OX_STATE_COLS };

struct blocks {
    const struct delta_net *d;
    const struct ox_states *kernels;
    const float *q, *k, *v, *past; /* past: NULL: zeros */
    size_t q_step, k_step;
    float *factors, *rates; /* of each token and head; NULL: none */
    float *y, *state;       /* state: NULL: nobody wants it */
    size_t n, room;         /* blocks of a head, and floats of a slot */
    float *work;
};

/* A block of values of a head, from the first token of its sequence to the last. */
static void block_task(void *arg, size_t i, size_t slot)
{
    const struct blocks *j = arg;
    const struct delta_net *d = j->d;
    const size_t matrix = i / j->n, first = i % j->n * COLS, b = matrix / d->v_heads,
                 head = matrix % d->v_heads, shared = head / (d->v_heads / d->k_heads);
    const size_t n = d->v_size - first < COLS ? d->v_size - first : COLS;
    const size_t at = (matrix * d->v_size + first) * d->k_size;
    float *state = j->work + slot * j->room, *v = state + d->k_size * COLS, *y = v + COLS,
          *factor = y + COLS;
    memset(state, 0, j->room * sizeof *state);
    for (size_t c = 0; j->past && c < n; c++)
        for (size_t m = 0; m < d->k_size; m++)
            state[m * COLS + c] = j->past[at + c * d->k_size + m];
    for (size_t m = 0; m < d->k_size; m++)
        factor[m] = 1;
    for (size_t token = d->s.starts[b]; token < d->s.starts[b + 1]; token++) {
        const size_t place = token * d->v_heads + head;
        struct ox_state_token made = {.k = j->k + token * j->k_step + shared * d->k_size,
                                      .factor = factor,
                                      .v = v,
                                      .corrects = j->rates,
                                      .rate = j->rates ? j->rates[place] : 0,
                                      .queries = 1,
                                      .q = j->q + token * j->q_step + shared * d->k_size,
                                      .scale = (float)d->scale,
                                      .y = y};
        if (j->factors && d->decay_size > 1)
            made.factor = j->factors + place * d->k_size;
        for (size_t m = 0; j->factors && d->decay_size == 1 && m < d->k_size; m++)
            factor[m] = j->factors[place];
        memcpy(v, j->v + token * d->v_step + head * d->v_size + first, n * sizeof *v);
        j->kernels->token(d->k_size, state, &made);
        memcpy(j->y + place * d->v_size + first, y, n * sizeof *y);
    }
    for (size_t c = 0; j->state && c < n; c++)
        for (size_t m = 0; m < d->k_size; m++)
            j->state[at + c * d->k_size + m] = state[m * COLS + c];
}

/* [tokens, heads, size], each head of length 1. */
static const float *normalized(struct ox_run *r, const struct delta_net *d, const double *from,
                               size_t step, struct ox_error *err)
{
    const size_t heads = d->tokens * d->k_heads;
    float *to = ox_run_work(r, heads * d->k_size, sizeof *to, err);
    double *head = to ? ox_real_scratch(r, d->k_size, err) : NULL;
    for (size_t i = 0; head && i < heads; i++) {
        load_key(d, from + i / d->k_heads * step + i % d->k_heads * d->k_size, head);
        for (size_t m = 0; m < d->k_size; m++)
            to[i * d->k_size + m] = (float)head[m];
    }
    return head ? to : NULL;
}

static enum ox_status prepare_blocks(struct ox_run *r, struct blocks *j, struct ox_error *err)
{
    const struct delta_net *d = j->d;
    const size_t places = d->tokens * d->v_heads;
    const struct ox_tensor *q = ox_run_in(r, QUERY), *k = ox_run_in(r, KEY),
                           *v = ox_run_in(r, VALUE), *past = ox_run_in(r, STATE);
    j->q = q->data;
    j->k = k ? k->data : j->q + (d->k - d->q);
    j->v = v ? v->data : j->q + (d->v - d->q);
    j->q_step = d->q_step;
    j->k_step = d->k_step;
    j->past = past ? past->data : NULL;
    if (d->normalizes) {
        j->q_step = j->k_step = d->k_heads * d->k_size;
        j->q = normalized(r, d, d->q, d->q_step, err);
        j->k = j->q ? normalized(r, d, d->k, d->k_step, err) : NULL;
        if (!j->k)
            return err->status;
    }
    if (d->beta && !(j->rates = ox_run_work(r, places, sizeof *j->rates, err)))
        return err->status;
    for (size_t i = 0; d->beta && i < places; i++)
        j->rates[i] = (float)(d->sigmoid_beta ? ox_sigmoid(d->beta[i]) : d->beta[i]);
    if (!d->decay)
        return OX_OK;
    double *factors = ox_real_scratch(r, d->decay_size, err);
    j->factors = ox_run_work(r, places * d->decay_size, sizeof *j->factors, err);
    if (!factors || !j->factors)
        return err->status;
    for (size_t i = 0; i < places; i++) {
        load_factors(d, i / d->v_heads, i % d->v_heads, factors);
        for (size_t m = 0; m < d->decay_size; m++)
            j->factors[i * d->decay_size + m] = (float)factors[m];
    }
    return OX_OK;
}

static enum ox_status fast_delta_net(struct ox_run *r, struct ox_error *err)
{
    struct delta_net d = {.lead = 1};
    struct ox_tensor *y, *state = NULL;
    int64_t dims[4], of_state[4];
    size_t n, n_state;
    for (size_t i = 0; i <= STATE; i++)
        if (i != ENDS && ox_run_has(r, i) && !ox_fast_in(r, i))
            return OX_UNSUPPORTED;
    if (ox_run_wants(r, 2))
        return OX_UNSUPPORTED;
    OX_TRY(read_heads(r, &d, err));
    OX_TRY(read_sequences(r, &d, err));
    OX_TRY(read_rates(r, &d, err));
    OX_TRY(state_dims(r, &d, of_state, &n_state, err));
    OX_TRY(make_update(r, &d, NULL, err));
    read_scale(r, &d);
    output_dims(&d, ox_run_in(r, QUERY), dims);
    if (d.k_size % 2 || !ox_dims_count(d.lead + 2, dims, &n) || !n)
        return OX_UNSUPPORTED;
    struct blocks j = {.d = &d,
                       .kernels = ox_states(ox_cpu()),
                       .n = (d.v_size + COLS - 1) / COLS,
                       .room = (d.k_size + 2) * COLS + d.k_size};
    OX_TRY(prepare_blocks(r, &j, err));
    j.work = ox_run_work(r, ox_slots(r->env), j.room * sizeof *j.work, err);
    if (!j.work)
        return err->status;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, d.lead + 2, dims, &y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 4, of_state, &state, err));
    j.y = y->data;
    j.state = state ? state->data : NULL;
    ox_spread(r->env, d.s.batch * d.v_heads * j.n,
              12 * (double)n_state * ((double)d.tokens / (double)d.s.batch + 1), block_task, &j);
    return ox_env_poll(r->env, err);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

/* Sizes as far as they can be told; NULL: not known. */
struct sizes {
    const struct ox_expr *tokens[2], *batch, *k_heads, *k_size, *v_heads, *v_size;
    unsigned lead; /* 0: not known */
};

static void infer_sizes(struct ox_infer *c, struct sizes *s)
{
    unsigned rank;
    const struct ox_expr *const *q;
    const bool packed = !ox_infer_has(c, KEY) && !ox_infer_has(c, VALUE);
    s->v_heads = ox_infer_dim(c, STATE, 1);
    s->v_size = ox_infer_dim(c, STATE, 2);
    s->k_size = ox_infer_dim(c, STATE, 3);
    s->batch = ox_infer_dim(c, STATE, 0);
    if (ox_infer_has(c, ENDS))
        s->batch = ox_infer_equal(c, s->batch,
                                  ox_infer_sub(c, ox_infer_dim(c, ENDS, 0), ox_infer_num(c, 1)),
                                  "sequences and states");
    if (!ox_infer_shape(c, QUERY, &rank, &q))
        return;
    const unsigned inner = packed ? 1 : 2;
    if (rank <= inner || rank > inner + 2) {
        ox_infer_conflict(c, "query has rank %u", rank);
        return;
    }
    s->lead = rank - inner;
    for (unsigned i = 0; i < s->lead; i++)
        s->tokens[i] = q[i];
    if (s->lead == 2)
        s->batch = ox_infer_equal(c, q[0], s->batch, "batches and states");
    if (packed) {
        const struct ox_expr *keys =
            ox_infer_sub(c, q[s->lead], ox_infer_mul(c, s->v_heads, s->v_size));
        s->k_heads =
            ox_infer_floordiv(c, ox_infer_floordiv(c, keys, ox_infer_num(c, 2)), s->k_size);
        return;
    }
    s->k_heads = ox_infer_equal(c, q[s->lead], ox_infer_dim(c, KEY, s->lead), "heads of keys");
    s->k_size = ox_infer_equal(c, q[s->lead + 1], s->k_size, "sizes of keys");
    s->v_heads = ox_infer_equal(c, ox_infer_dim(c, VALUE, s->lead), s->v_heads, "heads of values");
    s->v_size =
        ox_infer_equal(c, ox_infer_dim(c, VALUE, s->lead + 1), s->v_size, "sizes of values");
}

static void infer_update(struct ox_infer *c, const struct sizes *s)
{
    unsigned rank = 0;
    const struct ox_expr *decays = s->v_heads;
    const bool decay = ox_infer_has(c, DECAY);
    if (decay && (!s->lead || !ox_infer_shape(c, DECAY, &rank, NULL)))
        decays = NULL;
    else if (decay && rank == s->lead + 2)
        decays = ox_infer_mul(c, decays, s->k_size);
    const struct ox_expr *row = ox_infer_add(c, decays, ox_infer_mul(c, s->k_heads, s->k_size));
    row = ox_infer_add(c, row, ox_infer_mul(c, s->v_heads, s->v_size));
    const int64_t capacity = ox_infer_int_attr(c, "state_update_capacity", 0);
    const struct ox_expr *dims[2] = {s->batch, ox_infer_mul(c, row, ox_infer_num(c, capacity))};
    ox_infer_set_shape(c, 2, 2, dims);
}

static void infer_delta_net(struct ox_infer *c)
{
    struct sizes s = {.lead = 0};
    ox_infer_same_dtype(c, 0, QUERY);
    const char *rule = ox_infer_string_attr(c, "update_rule");
    const int64_t capacity = ox_infer_int_attr(c, "state_update_capacity", 0);
    if (find_rule(rule) < 0)
        ox_infer_conflict(c, "update_rule '%.40s' is unknown", rule);
    if (capacity < 0 || capacity > 8)
        ox_infer_conflict(c, "state_update_capacity is %" PRId64 ", not 0 to 8", capacity);
    if (ox_infer_has(c, KEY) != ox_infer_has(c, VALUE))
        ox_infer_conflict(c, "key and value come together");
    ox_rule_rank(c, STATE, 4);
    infer_sizes(c, &s);
    if (s.lead) {
        const struct ox_expr *y[4] = {s.tokens[0], s.tokens[1]};
        y[s.lead] = s.v_heads;
        y[s.lead + 1] = s.v_size;
        ox_infer_set_shape(c, 0, s.lead + 2, y);
    }
    const struct ox_expr *state[4] = {s.batch, s.v_heads, s.v_size, s.k_size};
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_shape(c, 1, 4, state);
    if (ox_infer_n_out(c) > 2)
        infer_update(c, &s);
}

const struct ox_op ox_ops_delta_net[] = {{"com.microsoft", "GatedDeltaNet", 1, OX_OP_HALF,
                                          .infer = infer_delta_net, .run = run_delta_net,
                                          .fast = fast_delta_net},
                                         {0}};
