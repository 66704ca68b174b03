/* Attention: a block of queries of one head at a time, in double; the scores are never all in memory unless asked for. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/gemm.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/rules.h"

enum { QUERIES = 64 };

struct attention {
    size_t batch, q_heads, kv_heads, queries, keys, past, size,
        v_size;                           /* keys: all, past ones too */
    bool flat;                            /* inputs and Y are [batch, length, heads * size] */
    const double *q, *k, *v;              /* k, v: [batch, kv_heads, keys, size] */
    const struct ox_tensor *mask, *valid; /* valid: nonpad_kv_seqlen */
    size_t mask_step[3], mask_keys;       /* elements between batches, heads, queries */
    bool causal;
    int64_t left, right; /* window; -1: open */
    double scale, softcap;
    enum ox_dtype type,
        precision; /* what each step of the function body rounds to; precision: in the softmax */
    int64_t mode;
    struct ox_tensor *y, *scores; /* scores: the fourth output or NULL */
    size_t blocks;
    struct ox_task_state state;
};

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

struct lengths {
    int64_t batch, heads, length, size;
};

/* Of Q, K or V, in either form. */
static enum ox_status read_lengths(struct ox_run *r, const char *what, const struct ox_tensor *t,
                                   const char *attr, struct lengths *out, struct ox_error *err)
{
    if (t->rank == 4) {
        *out = (struct lengths){t->dims[0], t->dims[1], t->dims[2], t->dims[3]};
        return OX_OK;
    }
    int64_t heads = ox_run_int(r, attr, 0);
    if (t->rank != 3 || heads < 1 || t->dims[2] % heads)
        return ox_run_fail(r, err, OX_INPUT,
                           "%s is of rank %u, and %s %lld does not divide its last dimension", what,
                           t->rank, attr, (long long)heads);
    *out = (struct lengths){t->dims[0], heads, t->dims[1], t->dims[2] / heads};
    return OX_OK;
}

static enum ox_status read_sizes(struct ox_run *r, struct attention *a, struct ox_error *err)
{
    const struct ox_tensor *q = ox_run_in(r, 0), *k = ox_run_in(r, 1), *v = ox_run_in(r, 2);
    struct lengths lq = {0}, lk = {0}, lv = {0};
    OX_TRY(read_lengths(r, "Q", q, "q_num_heads", &lq, err));
    OX_TRY(read_lengths(r, "K", k, "kv_num_heads", &lk, err));
    OX_TRY(read_lengths(r, "V", v, "kv_num_heads", &lv, err));
    if (q->rank != k->rank || k->rank != v->rank || lq.batch != lk.batch || lk.batch != lv.batch ||
        lk.heads != lv.heads || lk.length != lv.length || lq.size != lk.size)
        return ox_run_fail(r, err, OX_INPUT,
                           "Q, K and V do not agree in rank, batch, heads, "
                           "length or head size");
    if (lk.heads < 1 || lq.heads % lk.heads)
        return ox_run_fail(r, err, OX_INPUT, "%lld query heads are no multiple of %lld key heads",
                           (long long)lq.heads, (long long)lk.heads);
    a->flat = q->rank == 3;
    a->batch = (size_t)lq.batch;
    a->q_heads = (size_t)lq.heads;
    a->kv_heads = (size_t)lk.heads;
    a->queries = (size_t)lq.length;
    a->keys = (size_t)lk.length;
    a->size = (size_t)lq.size;
    a->v_size = (size_t)lv.size;
    return OX_OK;
}

static enum ox_status read_mask(struct ox_run *r, struct attention *a, struct ox_error *err)
{
    const struct ox_tensor *m = a->mask = ox_run_in(r, 3);
    if (!m)
        return OX_OK;
    size_t full[4] = {a->batch, a->q_heads, a->queries, a->keys}, pitch = 1;
    bool fits = m->rank >= 1 && m->rank <= 4;
    for (unsigned d = m->rank; fits && d-- > 0;) {
        unsigned place = 4 - m->rank + d;
        size_t own = (size_t)m->dims[d];
        if (place == 3) {
            a->mask_keys = own;
            fits = own <= full[3];
        } else {
            fits = own == full[place] || own == 1;
            a->mask_step[place] = own == 1 ? 0 : pitch;
        }
        pitch *= own;
    }
    return fits ? OX_OK
                : ox_run_fail(r, err, OX_INPUT,
                              "attn_mask does not broadcast to [%zu, %zu, %zu, %zu]", full[0],
                              full[1], full[2], full[3]);
}

static enum ox_status read_valid(struct ox_run *r, struct attention *a, struct ox_error *err)
{
    const struct ox_tensor *n = a->valid = ox_run_in(r, 6);
    if (!n)
        return OX_OK;
    if (ox_run_has(r, 4))
        return ox_run_fail(r, err, OX_INPUT, "nonpad_kv_seqlen stands beside past_key");
    if (n->rank != 1 || n->n != a->batch)
        return ox_run_fail(r, err, OX_INPUT, "nonpad_kv_seqlen has %zu elements, not %zu", n->n,
                           a->batch);
    for (size_t i = 0; i < n->n; i++) {
        int64_t v = ox_tensor_get_int(n, i);
        if (v < 0 || (uint64_t)v > a->keys)
            return ox_run_fail(r, err, OX_INPUT,
                               "nonpad_kv_seqlen[%zu] is %lld, outside of [0, %zu]", i,
                               (long long)v, a->keys);
    }
    return OX_OK;
}

static enum ox_status read_attributes(struct ox_run *r, struct attention *a, struct ox_error *err)
{
    a->type = a->precision = ox_run_in(r, 0)->dtype;
    a->causal = ox_run_int(r, "is_causal", 0) != 0;
    a->softcap = (double)ox_run_float(r, "softcap", 0);
    a->mode = ox_run_int(r, "qk_matmul_output_mode", 0);
    a->left = ox_run_int(r, "left_window_size", -1);
    a->right = ox_run_int(r, "right_window_size", -1);
    a->scale =
        ox_run_attr(r, "scale") ? (double)ox_run_float(r, "scale", 1) : 1 / sqrt((double)a->size);
    int64_t precision = ox_run_int(r, "softmax_precision", 0);
    if (!r->oracle && ox_dtype_is_real(precision))
        a->precision = (enum ox_dtype)precision;
    else if (precision && !r->oracle)
        return ox_run_fail(r, err, OX_INPUT, "softmax_precision %lld is no floating type",
                           (long long)precision);
    if (a->mode < 0 || a->mode > 3)
        return ox_run_fail(r, err, OX_INPUT, "qk_matmul_output_mode is %lld, outside of [0, 3]",
                           (long long)a->mode);
    if (a->left < -1 || a->right < -1)
        return ox_run_fail(r, err, OX_INPUT, "a window of %lld and %lld", (long long)a->left,
                           (long long)a->right);
    return OX_OK;
}

/* Keys or values of past and present, [batch, kv_heads, keys, size]; given out where wanted. */
static enum ox_status join_past(struct ox_run *r, const struct attention *a, size_t i,
                                size_t i_past, size_t i_out, size_t size, const double **all,
                                struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, i_past), *now = ox_run_in(r, i);
    size_t fresh = a->keys - a->past, n;
    int64_t dims[4] = {(int64_t)a->batch, (int64_t)a->kv_heads, (int64_t)a->keys, (int64_t)size};
    if (past && (past->rank != 4 || past->dims[0] != dims[0] || past->dims[1] != dims[1] ||
                 (size_t)past->dims[2] != a->past || past->dims[3] != dims[3]))
        return ox_run_fail(r, err, OX_INPUT, "past_%s is not [%lld, %lld, %zu, %lld]",
                           i == 1 ? "key" : "value", (long long)dims[0], (long long)dims[1],
                           a->past, (long long)dims[3]);
    if (!ox_dims_count(4, dims, &n))
        return ox_run_fail(r, err, OX_LIMIT, "keys and values are too large");
    double *out = ox_real_scratch(r, n, err);
    if (!out)
        return OX_NO_MEMORY;
    for (size_t head = 0; head < a->batch * a->kv_heads; head++) {
        double *to = out + head * a->keys * size;
        if (past)
            ox_real_load(past, head * a->past * size, a->past * size, to);
        to += a->past * size;
        if (!a->flat) {
            ox_real_load(now, head * fresh * size, fresh * size, to);
            continue;
        }
        for (size_t s = 0; s < fresh; s++)
            ox_real_load(
                now, ((head / a->kv_heads * fresh + s) * a->kv_heads + head % a->kv_heads) * size,
                size, to + s * size);
    }
    *all = out;
    return ox_run_wants(r, i_out) ? ox_real_out(r, i_out, now->dtype, 4, dims, out, err) : OX_OK;
}

/* ---- Computing --------------------------------------------------------------------------------------------------- */

/* What is added to the scores of one query; false: every key is shut out. */
static bool row_bias(const struct attention *a, size_t batch, size_t head, size_t query,
                     double *bias)
{
    int64_t keys = (int64_t)a->keys, valid = keys, offset = (int64_t)a->past;
    if (a->valid) {
        valid = ox_tensor_get_int(a->valid, batch);
        offset = valid - (int64_t)a->queries;
    }
    int64_t place = offset + (int64_t)query, lo = 0, hi = valid;
    if (a->causal && place + 1 < hi)
        hi = place + 1;
    if (a->left >= 0 && a->left < keys + (int64_t)a->queries && place - a->left > lo)
        lo = place - a->left;
    if (a->right >= 0 && a->right < keys + (int64_t)a->queries && place + a->right + 1 < hi)
        hi = place + a->right + 1;
    size_t at = batch * a->mask_step[0] + head * a->mask_step[1] + query * a->mask_step[2];
    bool any = false;
    for (int64_t j = 0; j < keys; j++) {
        double value = j >= lo && j < hi ? 0 : -INFINITY;
        if (a->mask && (size_t)j >= a->mask_keys) {
            value = -INFINITY;
        } else if (a->mask && value == 0) {
            double given = ox_tensor_get_double(a->mask, at + (size_t)j);
            value = a->mask->dtype != OX_BOOL ? given : given != 0 ? 0 : -INFINITY;
        }
        bias[j] = value;
        any = any || value != -INFINITY;
    }
    return any;
}

static void softmax(enum ox_dtype type, double *x, size_t n)
{
    double most = -INFINITY, sum = 0;
    ox_real_round(type, x, n);
    for (size_t j = 0; j < n; j++)
        most = x[j] > most ? x[j] : most;
    for (size_t j = 0; j < n; j++)
        x[j] = x[j] == -INFINITY ? x[j] : x[j] - most;
    ox_real_round(type, x, n);
    for (size_t j = 0; j < n; j++)
        x[j] = exp(x[j]);
    ox_real_round(type, x, n);
    for (size_t j = 0; j < n; j++)
        sum += x[j];
    ox_real_round(type, &sum, 1);
    for (size_t j = 0; j < n && sum != 0; j++)
        x[j] /= sum;
    ox_real_round(type, x, n);
}

static void softcap(const struct attention *a, double *x)
{
    for (size_t j = 0; j < a->keys; j++)
        x[j] /= a->softcap;
    ox_real_round(a->type, x, a->keys);
    for (size_t j = 0; j < a->keys; j++)
        x[j] = tanh(x[j]);
    ox_real_round(a->type, x, a->keys);
    for (size_t j = 0; j < a->keys; j++)
        x[j] *= a->softcap;
    ox_real_round(a->type, x, a->keys);
}

/* One row of raw products to probabilities; the stage asked for is given out at `at`. */
static void finish_row(const struct attention *a, size_t batch, size_t head, size_t query,
                       double *row, double *bias)
{
    size_t at = ((batch * a->q_heads + head) * a->queries + query) * a->keys;
    ox_real_round(a->type, row, a->keys);
    if (a->scores && a->mode == 0)
        ox_real_store(a->scores, at, a->keys, row);
    if (a->softcap > 0)
        softcap(a, row);
    if (a->scores && a->mode == 1)
        ox_real_store(a->scores, at, a->keys, row);
    bool any = row_bias(a, batch, head, query, bias);
    for (size_t j = 0; j < a->keys; j++)
        row[j] += bias[j];
    ox_real_round(a->type, row, a->keys);
    if (a->scores && a->mode == 2)
        ox_real_store(a->scores, at, a->keys, row);
    if (any)
        softmax(a->precision, row, a->keys);
    else
        memset(row, 0, a->keys * sizeof *row);
    ox_real_round(a->type, row, a->keys);
    if (a->scores && a->mode == 3)
        ox_real_store(a->scores, at, a->keys, row);
}

static void attention_task(void *arg, size_t i)
{
    struct attention *a = arg;
    size_t first = i % a->blocks * QUERIES, head = i / a->blocks % a->q_heads;
    size_t batch = i / a->blocks / a->q_heads;
    size_t rows = a->queries - first < QUERIES ? a->queries - first : QUERIES;
    size_t kv = batch * a->kv_heads + head / (a->q_heads / a->kv_heads);
    size_t n_work = ox_gemm_work(rows, a->keys, a->size),
           n_back = ox_gemm_work(rows, a->v_size, a->keys);
    n_work = n_work > n_back ? n_work : n_back;
    size_t all = (rows + 1) * a->keys + rows * a->v_size + n_work;
    double *scores = ox_task_alloc(&a->state, all, sizeof *scores);
    if (!scores)
        return;
    double *bias = scores + rows * a->keys, *out = bias + a->keys, *work = out + rows * a->v_size;
    size_t q_row = a->flat ? a->q_heads * a->size : a->size;
    const double *q = a->flat ? a->q + (batch * a->queries + first) * q_row + head * a->size
                              : a->q + ((batch * a->q_heads + head) * a->queries + first) * q_row;
    ox_gemm_run_f64(ox_gemm_f64(), ox_gemm_way(a->queries, a->keys, a->size, 1, 1, a->size), rows,
                    a->keys, a->size, q, q_row, 1, a->k + kv * a->keys * a->size, 1, a->size,
                    scores, a->keys, false, work);
    for (size_t s = 0; s < rows; s++)
        finish_row(a, batch, head, first + s, scores + s * a->keys, bias);
    ox_gemm_run_f64(ox_gemm_f64(), ox_gemm_way(a->queries, a->v_size, a->keys, 1, a->v_size, 1),
                    rows, a->v_size, a->keys, scores, a->keys, 1, a->v + kv * a->keys * a->v_size,
                    a->v_size, 1, out, a->v_size, false, work);
    for (size_t s = 0; s < rows; s++) {
        size_t at = a->flat ? ((batch * a->queries + first + s) * a->q_heads + head) * a->v_size
                            : ((batch * a->q_heads + head) * a->queries + first + s) * a->v_size;
        ox_real_store(a->y, at, a->v_size, out + s * a->v_size);
    }
    ox_task_free(&a->state, scores, all, sizeof *scores);
}

static enum ox_status make_outputs(struct ox_run *r, struct attention *a, struct ox_error *err)
{
    enum ox_dtype dtype = ox_run_in(r, 0)->dtype;
    int64_t b = (int64_t)a->batch, h = (int64_t)a->q_heads, s = (int64_t)a->queries, hidden;
    int64_t dims[4] = {b, h, s, (int64_t)a->v_size};
    if (OX_MUL_OVERFLOWS(h, (int64_t)a->v_size, &hidden))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large");
    OX_TRY(ox_run_out(r, 0, dtype, a->flat ? 3 : 4,
                      a->flat ? (const int64_t[]){b, s, hidden} : dims, &a->y, err));
    if (ox_run_wants(r, 3))
        OX_TRY(ox_run_out(r, 3, dtype, 4, (const int64_t[]){b, h, s, (int64_t)a->keys}, &a->scores,
                          err));
    return OX_OK;
}

/* Times the root of the scale: Q and K each take half of it, against overflow. */
static enum ox_status rescale(struct ox_run *r, const struct attention *a, size_t n,
                              const double **values, struct ox_error *err)
{
    double *out = ox_real_scratch(r, n, err), factor = sqrt(a->scale);
    if (!out)
        return OX_NO_MEMORY;
    ox_real_round(a->type, &factor, 1);
    for (size_t i = 0; i < n; i++)
        out[i] = (*values)[i] * factor;
    ox_real_round(a->type, out, n);
    *values = out;
    return OX_OK;
}

static enum ox_status run_attention(struct ox_run *r, struct ox_error *err)
{
    struct attention a = {0};
    OX_TRY(read_sizes(r, &a, err));
    OX_TRY(read_attributes(r, &a, err));
    if (ox_run_has(r, 4) != ox_run_has(r, 5))
        return ox_run_fail(r, err, OX_INPUT, "past_key and past_value go together");
    if (ox_run_has(r, 4)) {
        if (ox_run_in(r, 4)->rank != 4)
            return ox_run_fail(r, err, OX_INPUT, "past_key is of rank %u, not 4",
                               ox_run_in(r, 4)->rank);
        a.past = (size_t)ox_run_in(r, 4)->dims[2];
        if (OX_ADD_OVERFLOWS(a.keys, a.past, &a.keys))
            return ox_run_fail(r, err, OX_LIMIT, "the past is too long");
    }
    OX_TRY(read_mask(r, &a, err));
    OX_TRY(read_valid(r, &a, err));
    OX_TRY(ox_real_in(r, 0, &a.q, err));
    OX_TRY(join_past(r, &a, 1, 4, 1, a.size, &a.k, err));
    OX_TRY(rescale(r, &a, ox_run_in(r, 0)->n, &a.q, err));
    OX_TRY(rescale(r, &a, a.batch * a.kv_heads * a.keys * a.size, &a.k, err));
    OX_TRY(join_past(r, &a, 2, 5, 2, a.v_size, &a.v, err));
    OX_TRY(make_outputs(r, &a, err));
    a.blocks = (a.queries + QUERIES - 1) / QUERIES;
    a.state.budget = ox_env_budget(r->env);
    if (a.y->n || a.scores)
        ox_parallel(r->env, a.batch * a.q_heads * a.blocks, attention_task, &a);
    OX_TRY(ox_env_poll(r->env, err));
    return a.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

/* ---- Shape rule -------------------------------------------------------------------------------------------------- */

static const struct ox_expr *divided(struct ox_infer *c, const struct ox_expr *e, int64_t by)
{
    return by > 0 ? ox_infer_floordiv(c, e, ox_infer_num(c, by)) : NULL;
}

static void check_windows(struct ox_infer *c)
{
    static const char *const names[] = {"left_window_size", "right_window_size"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        int64_t size = ox_infer_int_attr(c, names[i], -1);
        if (size < -1)
            ox_infer_conflict(c, "%s is %lld, neither -1 nor a size", names[i], (long long)size);
    }
}

static void infer_attention(struct ox_infer *c)
{
    unsigned rank_q, rank_k, rank_v;
    const struct ox_expr *const *q;
    const struct ox_expr *const *k;
    const struct ox_expr *const *v;
    if (!ox_infer_shape(c, 0, &rank_q, &q) || !ox_infer_shape(c, 1, &rank_k, &k) ||
        !ox_infer_shape(c, 2, &rank_v, &v)) {
        ox_infer_unknown(c, 0, "the rank of Q, K or V is not known");
        return;
    }
    check_windows(c);
    ox_rule_rank(c, 4, 4);
    ox_rule_rank(c, 5, 4);
    if ((rank_q != 3 && rank_q != 4) || rank_k != rank_q || rank_v != rank_q) {
        ox_infer_conflict(c, "Q, K and V are of ranks %u, %u, %u: not all 3 or all 4", rank_q,
                          rank_k, rank_v);
        return;
    }
    bool flat = rank_q == 3;
    int64_t n_q = ox_infer_int_attr(c, "q_num_heads", 0),
            n_kv = ox_infer_int_attr(c, "kv_num_heads", 0);
    if (flat && (n_q < 1 || n_kv < 1)) {
        ox_infer_conflict(c, "q_num_heads or kv_num_heads is missing with inputs of rank 3");
        return;
    }
    const struct ox_expr *batch = q[0], *length = q[flat ? 1 : 2];
    const struct ox_expr *heads = flat ? ox_infer_num(c, n_q) : q[1];
    const struct ox_expr *kv_heads = flat ? ox_infer_num(c, n_kv) : k[1];
    const struct ox_expr *size = flat ? divided(c, k[2], n_kv) : k[3];
    const struct ox_expr *v_size = flat ? divided(c, v[2], n_kv) : v[3];
    const struct ox_expr *keys = k[flat ? 1 : 2];
    if (ox_infer_has(c, 4))
        keys = ox_infer_add(c, keys, ox_infer_dim(c, 4, 2));
    const struct ox_expr *y[4] = {batch, heads, length, v_size};
    const struct ox_expr *y_flat[3] = {batch, length, ox_infer_mul(c, heads, v_size)};
    const struct ox_expr *key[4] = {batch, kv_heads, keys, size};
    const struct ox_expr *value[4] = {batch, kv_heads, keys, v_size};
    const struct ox_expr *scores[4] = {batch, heads, length, keys};
    ox_infer_set_shape(c, 0, flat ? 3 : 4, flat ? y_flat : y);
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_shape(c, 1, 4, key);
    if (ox_infer_n_out(c) > 2)
        ox_infer_set_shape(c, 2, 4, value);
    if (ox_infer_n_out(c) > 3)
        ox_infer_set_shape(c, 3, 4, scores);
}

const struct ox_op ox_ops_attention[] = {{"", "Attention", 23, OX_OP_HALF, .infer = infer_attention,
                                          .run = run_attention, .fast = ox_fast_attention},
                                         {"", "Attention", 24, OX_OP_HALF, .infer = infer_attention,
                                          .run = run_attention, .fast = ox_fast_attention},
                                         {"", "Attention", 25, OX_OP_HALF, .infer = infer_attention,
                                          .run = run_attention, .fast = ox_fast_attention},
                                         {0}};
