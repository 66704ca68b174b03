/* NGramHashMapping and VarlenNGramHashMapping (com.microsoft): the n-grams that end at each token, hashed to rows of tables. */
#include <inttypes.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/op.h"

enum { MOST_STATES = 8 }; /* of state_update_capacity */

/* Integers of the ids' type, as they wrap there. */
struct ngrams {
    const struct ox_tensor *ids, *past, *segments, *past_segments;
    enum ox_dtype dtype;
    size_t history, heads, width; /* tokens before one, heads of an order, hashes of a token */
    int64_t *multipliers, *sizes, *offsets; /* offsets: NULL: none */
    int64_t fill;                           /* in place of what is not there */
    int64_t pad, eos;
    bool reset;      /* at eos */
    int64_t *window; /* ids of a sequence behind those of its past */
    int64_t *marks;  /* their segments; NULL: none */
    size_t longest;
};

static int64_t wrap(const struct ngrams *g, uint64_t value)
{
    return g->dtype == OX_INT32 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static enum ox_status read_list(struct ox_run *r, size_t i, const char *what, size_t n, bool more,
                                int64_t **out, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    *out = NULL;
    if (!t)
        return OX_OK;
    if (t->rank != 1 || t->n < n || (!more && t->n > n))
        return ox_run_fail(r, err, OX_INPUT, "%s has rank %u and %zu elements, not %zu", what,
                           t->rank, t->n, n);
    *out = ox_run_scratch(r, t->n + 1, sizeof **out, err);
    if (!*out)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < t->n; k++)
        (*out)[k] = ox_tensor_get_int(t, k);
    return OX_OK;
}

static bool matrix_of(const struct ox_tensor *t, size_t rows, size_t columns)
{
    return !t || (t->rank == 2 && (size_t)t->dims[0] == rows && (size_t)t->dims[1] == columns);
}

/* What both operators have; the optional inputs stand `shift` places further. */
static enum ox_status read_ngrams(struct ox_run *r, struct ngrams *g, size_t shift,
                                  struct ox_error *err)
{
    const struct ox_tensor *eos = ox_run_in(r, 5 + shift);
    const int64_t order = ox_run_int(r, "max_ngram_size", 0);
    const int64_t heads = ox_run_int(r, "n_head_per_ngram", 0);
    *g = (struct ngrams){.ids = ox_run_in(r, 0),
                         .past = ox_run_in(r, 3 + shift),
                         .segments = ox_run_in(r, 6 + shift),
                         .pad = ox_run_int(r, "pad_id", 0)};
    g->dtype = g->ids->dtype;
    if (order < 2 || order > 1 << 20 || heads < 1 || heads > 1 << 20)
        return ox_run_fail(r, err, OX_INPUT,
                           "max_ngram_size is %" PRId64 ", n_head_per_ngram %" PRId64, order,
                           heads);
    if (g->pad != wrap(g, (uint64_t)g->pad))
        return ox_run_fail(r, err, OX_INPUT, "pad_id %" PRId64 " is no id of that type", g->pad);
    if (eos && eos->rank)
        return ox_run_fail(r, err, OX_INPUT, "eos_token_id has rank %u, it is no scalar",
                           eos->rank);
    g->history = (size_t)order - 1;
    g->heads = (size_t)heads;
    g->width = g->history * g->heads;
    g->eos = eos ? ox_tensor_get_int(eos, 0) : 0;
    g->fill = eos ? g->eos : g->pad;
    g->reset = eos && ox_run_int(r, "reset_on_eos", 0) != 0;
    OX_TRY(read_list(r, 1, "multipliers", (size_t)order, true, &g->multipliers, err));
    OX_TRY(read_list(r, 2, "vocab_sizes", g->width, false, &g->sizes, err));
    OX_TRY(read_list(r, 4 + shift, "head_offsets", g->width, false, &g->offsets, err));
    for (size_t k = 0; k < g->width; k++)
        if (g->sizes[k] < 1)
            return ox_run_fail(r, err, OX_INPUT, "vocab_sizes[%zu] is %" PRId64 ", not positive", k,
                               g->sizes[k]);
    return OX_OK;
}

static enum ox_status make_window(struct ox_run *r, struct ngrams *g, struct ox_error *err)
{
    size_t room;
    if (OX_ADD_OVERFLOWS(g->history, g->longest, &room))
        return ox_run_fail(r, err, OX_LIMIT, "a sequence is too long");
    g->window = ox_run_scratch(r, room + 1, sizeof *g->window, err);
    if (g->segments)
        g->marks = ox_run_scratch(r, room + 1, sizeof *g->marks, err);
    return g->window && (g->marks || !g->segments) ? OX_OK : OX_NO_MEMORY;
}

/* Sequence `row` of the past, and of tokens [at, at + n). */
static void open_window(const struct ngrams *g, size_t row, size_t at, size_t n)
{
    for (size_t k = 0; k < g->history; k++)
        g->window[k] = g->past ? ox_tensor_get_int(g->past, row * g->history + k) : g->fill;
    for (size_t k = 0; k < n; k++)
        g->window[g->history + k] = ox_tensor_get_int(g->ids, at + k);
    if (!g->marks)
        return;
    /* A past without segments is of the first one's. */
    for (size_t k = 0; k < n; k++)
        g->marks[g->history + k] = ox_tensor_get_int(g->segments, at + k);
    for (size_t k = 0; k < g->history && n; k++)
        g->marks[k] = g->past_segments ? ox_tensor_get_int(g->past_segments, row * g->history + k)
                                       : g->marks[g->history];
}

/* Hashes of token k of the window's sequence. */
static void hash_token(const struct ngrams *g, size_t k, int64_t *hashes)
{
    const size_t at = g->history + k;
    uint64_t mix = (uint64_t)g->window[at] * (uint64_t)g->multipliers[0];
    bool cut = false;
    for (size_t n = 1; n <= g->history; n++) {
        cut |= g->reset && g->window[at - n] == g->eos;
        cut |= g->marks && g->marks[at - n] != g->marks[at - n + 1];
        const int64_t id = cut ? g->fill : g->window[at - n];
        mix ^= (uint64_t)id * (uint64_t)g->multipliers[n];
        const int64_t value = wrap(g, mix);
        for (size_t h = 0; h < g->heads; h++) {
            const size_t i = (n - 1) * g->heads + h;
            int64_t rest = value % g->sizes[i];
            rest += rest < 0 ? g->sizes[i] : 0;
            hashes[i] = g->offsets ? wrap(g, (uint64_t)rest + (uint64_t)g->offsets[i]) : rest;
        }
    }
}

static void put(struct ox_tensor *t, size_t at, const int64_t *values, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (t->dtype == OX_INT32)
            ((int32_t *)t->data)[at + k] = (int32_t)values[k];
        else
            ((int64_t *)t->data)[at + k] = values[k];
}

static enum ox_status run_hashing(struct ox_run *r, struct ox_error *err)
{
    struct ngrams g;
    struct ox_tensor *hashes, *present = NULL;
    OX_TRY(read_ngrams(r, &g, 0, err));
    if (g.ids->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "input_ids has rank %u, not 2", g.ids->rank);
    const size_t batch = (size_t)g.ids->dims[0], length = (size_t)g.ids->dims[1];
    if (!matrix_of(g.past, batch, g.history) || !matrix_of(g.segments, batch, length))
        return ox_run_fail(r, err, OX_INPUT, "past_ids or segment_ids does not fit the ids");
    for (size_t k = 0; g.offsets && k < g.width; k++) {
        int64_t end;
        if (OX_ADD_OVERFLOWS(g.offsets[k], g.sizes[k], &end) || end != wrap(&g, (uint64_t)end))
            return ox_run_fail(r, err, OX_INPUT,
                               "head_offsets[%zu] plus its vocabulary is no id of that type", k);
    }
    g.longest = length;
    OX_TRY(make_window(r, &g, err));
    int64_t *row = ox_run_scratch(r, g.width, sizeof *row, err);
    if (!row)
        return OX_NO_MEMORY;
    const int64_t dims[] = {(int64_t)batch, (int64_t)length, (int64_t)g.width};
    const int64_t state[] = {(int64_t)batch, (int64_t)g.history};
    OX_TRY(ox_run_out(r, 0, g.dtype, 3, dims, &hashes, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, g.dtype, 2, state, &present, err));
    for (size_t b = 0; b < batch; b++) {
        OX_TRY(ox_env_poll(r->env, err));
        open_window(&g, b, b * length, length);
        for (size_t k = 0; k < length; k++) {
            hash_token(&g, k, row);
            put(hashes, (b * length + k) * g.width, row, g.width);
        }
        if (present)
            put(present, b * g.history, g.window + length, g.history);
    }
    return OX_OK;
}

/* ---- VarlenNGramHashMapping --------------------------------------------------------------------------------------- */

struct packed {
    struct ngrams g;
    size_t batch, capacity;
    int64_t *ends; /* batch + 1 */
    int64_t *captured;
    struct ox_tensor *hashes, *present, *present_segments, *states;
};

/* Where each sequence begins and ends: all of the tokens, and none of them is empty. */
static enum ox_status read_ends(struct ox_run *r, struct packed *p, struct ox_error *err)
{
    const struct ox_tensor *ends = ox_run_in(r, 3);
    if (ends->rank != 1 || ends->n < 2)
        return ox_run_fail(r, err, OX_INPUT,
                           "cumulative_sequence_length has rank %u and %zu elements", ends->rank,
                           ends->n);
    p->batch = ends->n - 1;
    OX_TRY(read_list(r, 3, "cumulative_sequence_length", ends->n, false, &p->ends, err));
    bool fits = p->ends[0] == 0 && p->ends[p->batch] == (int64_t)p->g.ids->n;
    for (size_t b = 0; fits && b < p->batch; b++) {
        fits = p->ends[b + 1] > p->ends[b];
        const size_t length = fits ? (size_t)(p->ends[b + 1] - p->ends[b]) : 0;
        p->g.longest = length > p->g.longest ? length : p->g.longest;
    }
    if (fits)
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT,
                       "cumulative_sequence_length does not rise from 0 to the %zu tokens",
                       p->g.ids->n);
}

static enum ox_status read_packed(struct ox_run *r, struct packed *p, struct ox_error *err)
{
    struct ngrams *g = &p->g;
    const int64_t capacity = ox_run_int(r, "state_update_capacity", 0);
    OX_TRY(read_ngrams(r, g, 1, err));
    g->past_segments = ox_run_in(r, 8);
    if (g->ids->rank != 1)
        return ox_run_fail(r, err, OX_INPUT, "input_ids has rank %u, not 1", g->ids->rank);
    OX_TRY(read_ends(r, p, err));
    if (!matrix_of(g->past, p->batch, g->history) ||
        !matrix_of(g->past_segments, p->batch, g->history) ||
        (g->segments && (g->segments->rank != 1 || g->segments->n != g->ids->n)))
        return ox_run_fail(r, err, OX_INPUT,
                           "past_ids, segment_ids or past_segment_ids does not fit the ids");
    if (!g->segments && (g->past_segments || ox_run_wants(r, 2)))
        return ox_run_fail(r, err, OX_INPUT, "segments of the past need segment_ids");
    if (capacity < 0 || capacity > MOST_STATES || (capacity > 0) != ox_run_has(r, 9))
        return ox_run_fail(r, err, OX_INPUT,
                           "state_update_capacity is %" PRId64
                           ": 0 to 8, and capture_count is there where it is not 0",
                           capacity);
    p->capacity = (size_t)capacity;
    return read_list(r, 9, "capture_count", p->batch, false, &p->captured, err);
}

static enum ox_status make_outputs(struct ox_run *r, struct packed *p, struct ox_error *err)
{
    const struct ngrams *g = &p->g;
    const int64_t dims[] = {(int64_t)g->ids->n, (int64_t)g->width};
    const int64_t state[] = {(int64_t)p->batch, (int64_t)g->history};
    const int64_t states[] = {state[0], (int64_t)p->capacity, state[1]};
    OX_TRY(ox_run_out(r, 0, g->dtype, 2, dims, &p->hashes, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, g->dtype, 2, state, &p->present, err));
    if (ox_run_wants(r, 2))
        OX_TRY(ox_run_out(r, 2, OX_INT32, 2, state, &p->present_segments, err));
    if (ox_run_wants(r, 3))
        OX_TRY(ox_run_out(r, 3, g->dtype, 3, states, &p->states, err));
    return OX_OK;
}

/* The history behind each of the first tokens of a sequence. */
static void put_states(const struct packed *p, size_t b, size_t length)
{
    const struct ngrams *g = &p->g;
    for (size_t k = 0; k < p->capacity; k++) {
        const size_t at = (b * p->capacity + k) * g->history;
        const bool taken = k < length && (int64_t)k < p->captured[b];
        for (size_t i = 0; i < g->history; i++)
            put(p->states, at + i, taken ? g->window + k + 1 + i : &g->pad, 1);
    }
}

static enum ox_status run_packed(struct ox_run *r, struct ox_error *err)
{
    struct packed p = {0};
    struct ngrams *g = &p.g;
    OX_TRY(read_packed(r, &p, err));
    OX_TRY(make_window(r, g, err));
    int64_t *row = ox_run_scratch(r, g->width, sizeof *row, err);
    if (!row)
        return OX_NO_MEMORY;
    OX_TRY(make_outputs(r, &p, err));
    for (size_t b = 0; b < p.batch; b++) {
        const size_t at = (size_t)p.ends[b], length = (size_t)p.ends[b + 1] - at;
        OX_TRY(ox_env_poll(r->env, err));
        open_window(g, b, at, length);
        for (size_t k = 0; k < length; k++) {
            hash_token(g, k, row);
            put(p.hashes, (at + k) * g->width, row, g->width);
        }
        if (p.present)
            put(p.present, b * g->history, g->window + length, g->history);
        if (p.present_segments)
            put(p.present_segments, b * g->history, g->marks + length, g->history);
        if (p.states)
            put_states(&p, b, length);
    }
    return OX_OK;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void infer_history(struct ox_infer *c, size_t i, const struct ox_expr *batch,
                          const struct ox_expr *history)
{
    const struct ox_expr *dims[] = {batch, history};
    if (i < ox_infer_n_out(c))
        ox_infer_set_shape(c, i, 2, dims);
}

/* History and hashes of a token; false with a finding. */
static bool infer_sizes(struct ox_infer *c, int64_t *history, int64_t *width)
{
    const int64_t order = ox_infer_int_attr(c, "max_ngram_size", 0);
    const int64_t heads = ox_infer_int_attr(c, "n_head_per_ngram", 0);
    *history = order - 1;
    ox_infer_same_dtype(c, 0, 0);
    if (order >= 2 && heads >= 1 && !OX_MUL_OVERFLOWS(*history, heads, width))
        return true;
    ox_infer_conflict(c, "max_ngram_size is %" PRId64 ", n_head_per_ngram %" PRId64, order, heads);
    return false;
}

static void infer_hashing(struct ox_infer *c)
{
    int64_t history, width;
    if (!infer_sizes(c, &history, &width))
        return;
    const struct ox_expr *dims[] = {ox_infer_dim(c, 0, 0), ox_infer_dim(c, 0, 1),
                                    ox_infer_num(c, width)};
    ox_infer_set_shape(c, 0, 3, dims);
    infer_history(c, 1, dims[0], ox_infer_num(c, history));
}

static void infer_packed(struct ox_infer *c)
{
    int64_t history, width;
    if (!infer_sizes(c, &history, &width))
        return;
    const struct ox_expr *const n = ox_infer_num(c, history);
    const struct ox_expr *const batch = ox_infer_sub(c, ox_infer_dim(c, 3, 0), ox_infer_num(c, 1));
    const struct ox_expr *dims[] = {ox_infer_dim(c, 0, 0), ox_infer_num(c, width)};
    ox_infer_set_shape(c, 0, 2, dims);
    infer_history(c, 1, batch, n);
    infer_history(c, 2, batch, n);
    const struct ox_expr *states[] = {
        batch, ox_infer_num(c, ox_infer_int_attr(c, "state_update_capacity", 0)), n};
    if (ox_infer_n_out(c) > 3)
        ox_infer_set_shape(c, 3, 3, states);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_ngram_hash[] = {
    {MS, "NGramHashMapping", 1, .infer = infer_hashing, .run = run_hashing},
    {MS, "VarlenNGramHashMapping", 1, .infer = infer_packed, .run = run_packed},
    {0}};
