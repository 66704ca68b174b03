/* LinearAttention: a matrix of state for each head, updated token by token, in double or in float32. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/dense.h"
#include "kernels/states.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

struct linear {
    size_t batch, steps, q_heads, kv_heads, k_size, v_size;
    const double *q, *k, *v, *decay, *beta;
    size_t decay_size, beta_heads; /* decay values a head: 1 or k_size */
    double *state;                 /* [batch, kv_heads, k_size, v_size] */
    double *y, scale;
    double *work; /* v_size for each batch and head */
};

/* The last dimension of decay (input 4) and beta (5): one of two. */
static void check_width(struct ox_infer *c, size_t i, const char *name, int64_t a, int64_t b)
{
    int64_t width;
    if (ox_infer_has(c, i) && ox_infer_is_num(ox_infer_dim(c, i, 2), &width) && width != a &&
        width != b)
        ox_infer_conflict(c, "%s has rows of %lld, neither %lld nor %lld", name, (long long)width,
                          (long long)a, (long long)b);
}

static void infer_linear(struct ox_infer *c)
{
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
    const char *rule = ox_infer_string_attr(c, "update_rule");
    size_t known = 0;
    while (rule && known < OX_COUNT(rules) && strcmp(rules[known], rule) != 0)
        known++;
    if (known == OX_COUNT(rules))
        ox_infer_conflict(c, "update_rule '%.40s' is unknown", rule);
    int64_t q = ox_infer_int_attr(c, "q_num_heads", 0),
            kv = ox_infer_int_attr(c, "kv_num_heads", 0);
    if (q < 1 || kv < 1 || q % kv) {
        ox_infer_conflict(c, "q_num_heads %lld is no multiple of kv_num_heads %lld", (long long)q,
                          (long long)kv);
        return;
    }
    int64_t width;
    for (size_t i = 0; i < 3; i++) {
        int64_t heads = i ? kv : q;
        ox_rule_rank(c, i, 3);
        if (ox_infer_is_num(ox_infer_dim(c, i, 2), &width) && width % heads)
            ox_infer_conflict(c, "input %zu has rows of %lld, no multiple of %lld heads", i,
                              (long long)width, (long long)heads);
        ox_infer_equal(c, ox_infer_dim(c, 0, 0), ox_infer_dim(c, i, 0), "batches");
        ox_infer_equal(c, ox_infer_dim(c, 0, 1), ox_infer_dim(c, i, 1), "lengths of sequences");
    }
    bool gated = rule && strncmp(rule, "gated", 5) == 0, delta = rule && strstr(rule, "delta");
    if ((gated && !ox_infer_has(c, 4)) || (delta && !ox_infer_has(c, 5)))
        ox_infer_conflict(c, "update_rule '%.40s' needs input '%s'", rule,
                          gated && !ox_infer_has(c, 4) ? "decay" : "beta");
    for (size_t i = 4; i < 6; i++) {
        ox_rule_rank(c, i, 3);
        ox_infer_equal(c, ox_infer_dim(c, 0, 0), ox_infer_dim(c, i, 0), "batches");
        ox_infer_equal(c, ox_infer_dim(c, 0, 1), ox_infer_dim(c, i, 1), "lengths of sequences");
    }
    if (ox_infer_is_num(ox_infer_dim(c, 1, 2), &width))
        check_width(c, 4, "decay", kv, width);
    check_width(c, 5, "beta", kv, 1);
    const struct ox_expr *n = ox_infer_num(c, kv);
    const struct ox_expr *size = ox_infer_floordiv(c, ox_infer_dim(c, 2, 2), n);
    const struct ox_expr *y[3] = {ox_infer_dim(c, 0, 0), ox_infer_dim(c, 0, 1),
                                  ox_infer_mul(c, size, ox_infer_num(c, q))};
    const struct ox_expr *state[4] = {
        y[0], n, ox_infer_floordiv(c, ox_infer_dim(c, 0, 2), ox_infer_num(c, q)), size};
    ox_infer_equal(c, state[2], ox_infer_floordiv(c, ox_infer_dim(c, 1, 2), ox_infer_num(c, kv)),
                   "sizes of query and key");
    ox_rule_rank(c, 3, 4);
    for (unsigned d = 0; d < 4; d++)
        ox_infer_equal(c, state[d], ox_infer_dim(c, 3, d), "the state before");
    ox_infer_set_shape(c, 0, 3, y);
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_shape(c, 1, 4, state);
}

/* One key head of one batch entry with the query heads that share it, from first token to last. */
static void head_task(void *arg, size_t i)
{
    const struct linear *l = arg;
    size_t batch = i / l->kv_heads, head = i % l->kv_heads, group = l->q_heads / l->kv_heads;
    double *state = l->state + i * l->k_size * l->v_size, *update = l->work + i * l->v_size;
    for (size_t t = 0; t < l->steps; t++) {
        size_t token = batch * l->steps + t;
        const double *k = l->k + (token * l->kv_heads + head) * l->k_size;
        const double *v = l->v + (token * l->kv_heads + head) * l->v_size;
        const double *decay =
            l->decay ? l->decay + (token * l->kv_heads + head) * l->decay_size : NULL;
        for (size_t d = 0; decay && d < l->k_size; d++) {
            double factor = exp(decay[l->decay_size == 1 ? 0 : d]);
            for (size_t m = 0; m < l->v_size; m++)
                state[d * l->v_size + m] *= factor;
        }
        memcpy(update, v, l->v_size * sizeof *update);
        if (l->beta) {
            double rate = l->beta[token * l->beta_heads + (l->beta_heads == 1 ? 0 : head)];
            for (size_t d = 0; d < l->k_size; d++)
                for (size_t m = 0; m < l->v_size; m++)
                    update[m] -= state[d * l->v_size + m] * k[d];
            for (size_t m = 0; m < l->v_size; m++)
                update[m] *= rate;
        }
        for (size_t d = 0; d < l->k_size; d++)
            for (size_t m = 0; m < l->v_size; m++)
                state[d * l->v_size + m] += k[d] * update[m];
        for (size_t g = 0; g < group; g++) {
            size_t row = token * l->q_heads + head * group + g;
            double *y = l->y + row * l->v_size;
            for (size_t d = 0; d < l->k_size; d++)
                for (size_t m = 0; m < l->v_size; m++)
                    y[m] += l->scale * l->q[row * l->k_size + d] * state[d * l->v_size + m];
        }
    }
}

static enum ox_status check_token_part(struct ox_run *r, const struct linear *l, const char *what,
                                       const struct ox_tensor *t, size_t one, size_t other,
                                       struct ox_error *err)
{
    bool fits = t->rank == 3 && (size_t)t->dims[0] == l->batch && (size_t)t->dims[1] == l->steps &&
                ((size_t)t->dims[2] == one || (size_t)t->dims[2] == other);
    return fits ? OX_OK
                : ox_run_fail(r, err, OX_INPUT, "%s is not [%zu, %zu, %zu or %zu]", what, l->batch,
                              l->steps, one, other);
}

static enum ox_status read_sizes(struct ox_run *r, struct linear *l, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, 0), *k = ox_run_in(r, 1), *v = ox_run_in(r, 2);
    int64_t n_q = ox_run_int(r, "q_num_heads", 0), n_kv = ox_run_int(r, "kv_num_heads", 0);
    if (q->rank != 3 || k->rank != 3 || v->rank != 3)
        return ox_run_fail(r, err, OX_INPUT, "query, key or value is not of rank 3");
    if (n_q < 1 || n_kv < 1 || n_q % n_kv || q->dims[2] % n_q || v->dims[2] % n_kv)
        return ox_run_fail(r, err, OX_INPUT,
                           "%lld query heads and %lld key heads do not fit hidden sizes %lld and "
                           "%lld",
                           (long long)n_q, (long long)n_kv, (long long)q->dims[2],
                           (long long)v->dims[2]);
    l->batch = (size_t)q->dims[0];
    l->steps = (size_t)q->dims[1];
    l->q_heads = (size_t)n_q;
    l->kv_heads = (size_t)n_kv;
    l->k_size = (size_t)(q->dims[2] / n_q);
    l->v_size = (size_t)(v->dims[2] / n_kv);
    OX_TRY(check_token_part(r, l, "key", k, l->kv_heads * l->k_size, l->kv_heads * l->k_size, err));
    return check_token_part(r, l, "value", v, l->kv_heads * l->v_size, l->kv_heads * l->v_size,
                            err);
}

/* The gates that the rule needs, and no others. */
static enum ox_status read_gates(struct ox_run *r, struct linear *l, struct ox_error *err)
{
    const char *rule = ox_run_string(r, "update_rule");
    rule = rule ? rule : "gated_delta";
    bool delta = !strcmp(rule, "delta") || !strcmp(rule, "gated_delta");
    bool gated = !strcmp(rule, "gated") || !strcmp(rule, "gated_delta");
    if (!delta && !gated && strcmp(rule, "linear") != 0)
        return ox_run_fail(r, err, OX_INPUT, "update_rule '%.40s' is unknown", rule);
    const struct ox_tensor *decay = ox_run_in(r, 4), *beta = ox_run_in(r, 5);
    if (gated != (decay != NULL) || delta != (beta != NULL))
        return ox_run_fail(r, err, OX_INPUT, "update_rule '%s' %s decay and %s beta", rule,
                           gated ? "needs" : "forbids", delta ? "needs" : "forbids");
    if (decay) {
        OX_TRY(check_token_part(r, l, "decay", decay, l->kv_heads, l->kv_heads * l->k_size, err));
        l->decay_size = (size_t)decay->dims[2] == l->kv_heads ? 1 : l->k_size;
        OX_TRY(ox_real_in(r, 4, &l->decay, err));
    }
    if (beta) {
        OX_TRY(check_token_part(r, l, "beta", beta, l->kv_heads, 1, err));
        l->beta_heads = (size_t)beta->dims[2];
        OX_TRY(ox_real_in(r, 5, &l->beta, err));
    }
    return OX_OK;
}

/* What comes out, [batch, steps, q_heads * v_size], and the state; it fits that of the past. */
static enum ox_status output_dims(struct ox_run *r, const struct linear *l, int64_t dims[3],
                                  int64_t state_dims[4], size_t *n_y, size_t *n_state,
                                  struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, 3);
    const size_t state[4] = {l->batch, l->kv_heads, l->k_size, l->v_size};
    for (size_t d = 0; d < 4; d++)
        state_dims[d] = (int64_t)state[d];
    dims[0] = (int64_t)l->batch;
    dims[1] = (int64_t)l->steps;
    if (OX_MUL_OVERFLOWS((int64_t)l->q_heads, (int64_t)l->v_size, &dims[2]) ||
        !ox_dims_count(4, state_dims, n_state) || !ox_dims_count(3, dims, n_y))
        return ox_run_fail(r, err, OX_LIMIT, "the state is too large");
    if (past && (past->rank != 4 || memcmp(past->dims, state_dims, 4 * sizeof *state_dims) != 0))
        return ox_run_fail(r, err, OX_INPUT, "past_state is not [%zu, %zu, %zu, %zu]", l->batch,
                           l->kv_heads, l->k_size, l->v_size);
    return OX_OK;
}

static double scale_of(const struct ox_run *r, const struct linear *l)
{
    const double scale = (double)ox_run_float(r, "scale", 0);
    return scale == 0 ? 1 / sqrt((double)l->k_size) : scale;
}

static enum ox_status run_linear(struct ox_run *r, struct ox_error *err)
{
    struct linear l = {0};
    int64_t dims[3], state_dims[4];
    size_t n_state, n_y;
    const struct ox_tensor *q = ox_run_in(r, 0), *past = ox_run_in(r, 3);
    OX_TRY(read_sizes(r, &l, err));
    OX_TRY(read_gates(r, &l, err));
    OX_TRY(output_dims(r, &l, dims, state_dims, &n_y, &n_state, err));
    OX_TRY(ox_real_in(r, 0, &l.q, err));
    OX_TRY(ox_real_in(r, 1, &l.k, err));
    OX_TRY(ox_real_in(r, 2, &l.v, err));
    l.state = ox_real_scratch(r, n_state, err);
    l.y = ox_real_scratch(r, n_y, err);
    l.work = ox_real_scratch(r, l.batch * l.kv_heads * l.v_size, err);
    if (!l.state || !l.y || !l.work)
        return OX_NO_MEMORY;
    if (past)
        ox_real_load(past, 0, n_state, l.state);
    l.scale = scale_of(r, &l);
    ox_parallel(r->env, l.batch * l.kv_heads, head_task, &l);
    OX_TRY(ox_env_poll(r->env, err));
    OX_TRY(ox_real_out(r, 0, q->dtype, 3, dims, l.y, err));
    if (!ox_run_wants(r, 1))
        return OX_OK;
    return ox_real_out(r, 1, past ? past->dtype : q->dtype, 4, state_dims, l.state, err);
}

/* ---- In float32, by some columns of the state at a time ---------------------------------------------------------------- */

enum { COLS = OX_STATE_COLS };

struct columns {
    const struct linear *l;
    const struct ox_states *kernels;
    const float *q, *k, *v, *past; /* past: NULL: zeros */
    const float *factors;          /* e^decay; NULL */
    float *y, *state;              /* state: NULL: nobody wants it */
    size_t blocks;                 /* of columns */
    size_t room;                   /* floats of a slot */
    float *work;
};

/* Rows [rows][n] to [rows][COLS], or back. */
static void copy_columns(size_t rows, size_t n, const float *from, size_t from_step, float *to,
                         size_t to_step)
{
    for (size_t d = 0; d < rows; d++)
        for (size_t c = 0; c < n; c++)
            to[d * to_step + c] = from[d * from_step + c];
}

/* A block of columns of a key head, from the first token to the last. */
static void columns_task(void *arg, size_t i, size_t slot)
{
    const struct columns *j = arg;
    const struct linear *l = j->l;
    const size_t matrix = i / j->blocks, first = i % j->blocks * COLS, head = matrix % l->kv_heads;
    const size_t n = l->v_size - first < COLS ? l->v_size - first : COLS;
    const size_t group = l->q_heads / l->kv_heads, at = matrix * l->k_size * l->v_size + first;
    float *state = j->work + slot * j->room, *v = state + l->k_size * COLS, *y = v + COLS,
          *factor = y + group * COLS;
    memset(state, 0, j->room * sizeof *state);
    if (j->past)
        copy_columns(l->k_size, n, j->past + at, l->v_size, state, COLS);
    for (size_t d = 0; d < l->k_size; d++)
        factor[d] = 1;
    for (size_t t = 0; t < l->steps; t++) {
        const size_t token = matrix / l->kv_heads * l->steps + t,
                     place = token * l->kv_heads + head;
        const size_t row = token * l->q_heads + head * group;
        struct ox_state_token made = {.k = j->k + place * l->k_size,
                                      .factor = factor,
                                      .v = v,
                                      .corrects = l->beta,
                                      .queries = group,
                                      .q = j->q + row * l->k_size,
                                      .scale = (float)l->scale,
                                      .y = y};
        if (j->factors && l->decay_size > 1)
            made.factor = j->factors + place * l->k_size;
        for (size_t d = 0; j->factors && l->decay_size == 1 && d < l->k_size; d++)
            factor[d] = j->factors[place];
        if (l->beta)
            made.rate = (float)l->beta[token * l->beta_heads + (l->beta_heads == 1 ? 0 : head)];
        copy_columns(1, n, j->v + place * l->v_size + first, 0, v, 0);
        j->kernels->token(l->k_size, state, &made);
        copy_columns(group, n, y, COLS, j->y + row * l->v_size + first, l->v_size);
    }
    if (j->state)
        copy_columns(l->k_size, n, state, COLS, j->state + at, l->v_size);
}

static enum ox_status read_factors(struct ox_run *r, struct columns *j, struct ox_error *err)
{
    const struct ox_tensor *decay = ox_fast_in(r, 4);
    if (!decay)
        return ox_run_has(r, 4) ? OX_UNSUPPORTED : OX_OK;
    float *factors = ox_run_work(r, decay->n, sizeof *factors, err);
    if (!factors)
        return OX_NO_MEMORY;
    ox_fast_rows()->unary[OX_UNARY_EXP](decay->n, decay->data, factors, 0, 0);
    j->factors = factors;
    return OX_OK;
}

static enum ox_status fast_linear(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *q = ox_fast_in(r, 0), *k = ox_fast_in(r, 1), *v = ox_fast_in(r, 2),
                           *past = ox_fast_in(r, 3);
    struct linear l = {0};
    int64_t dims[3], state_dims[4];
    size_t n_state, n_y;
    if (!q || !k || !v || (ox_run_has(r, 3) && !past) || ox_run_int(r, "state_window", 0))
        return OX_UNSUPPORTED;
    OX_TRY(read_sizes(r, &l, err));
    OX_TRY(read_gates(r, &l, err));
    OX_TRY(output_dims(r, &l, dims, state_dims, &n_y, &n_state, err));
    if (n_y == 0 || l.k_size == 0 || l.k_size % 2)
        return OX_UNSUPPORTED;
    l.scale = scale_of(r, &l);
    struct columns j = {.l = &l,
                        .kernels = ox_states(ox_cpu()),
                        .q = q->data,
                        .k = k->data,
                        .v = v->data,
                        .past = past ? past->data : NULL,
                        .blocks = (l.v_size + COLS - 1) / COLS,
                        .room = (l.k_size + 1 + l.q_heads / l.kv_heads) * COLS + l.k_size};
    struct ox_tensor *y, *state = NULL;
    OX_TRY(read_factors(r, &j, err));
    j.work = ox_run_work(r, ox_slots(r->env), j.room * sizeof *j.work, err);
    if (!j.work)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 3, dims, &y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 4, state_dims, &state, err));
    j.y = y->data;
    j.state = state ? state->data : NULL;
    ox_spread(r->env, l.batch * l.kv_heads * j.blocks, 12 * (double)n_state * (double)(l.steps + 1),
              columns_task, &j);
    return ox_env_poll(r->env, err);
}

/* Of com.microsoft: the same, with states of several tokens beside. */
static enum ox_status run_contrib_linear(struct ox_run *r, struct ox_error *err)
{
    if (ox_run_int(r, "state_window", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "state_window is set");
    return run_linear(r, err);
}

static void infer_contrib_linear(struct ox_infer *c)
{
    int64_t q = ox_infer_int_attr(c, "q_num_heads", 0),
            kv = ox_infer_int_attr(c, "kv_num_heads", 0);
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_int_attr(c, "state_window", 0) && q > 0 && kv > 0 && q % kv == 0)
        infer_linear(c);
}

/* Of its own in half types: without a past the state's type is the query's, which only the kernel can see. */
const struct ox_op ox_ops_attention_linear[] = {
    {"", "LinearAttention", 27, OX_OP_HALF, .infer = infer_linear, .run = run_linear,
     .fast = fast_linear},
    {"com.microsoft", "LinearAttention", 1, OX_OP_HALF, .infer = infer_contrib_linear,
     .run = run_contrib_linear, .fast = fast_linear},
    {0}};
