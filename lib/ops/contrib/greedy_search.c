/* GreedySearch and Sampling (com.microsoft): a row goes on with one token, that of the highest score or one by chance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/contrib/generate.h"
#include "ops/infer.h"

#define COMMON                                                                                     \
    .min_length = 2, .repetition_penalty = 3, .vocab_mask = 4, .prefix_vocab_mask = 5,             \
    .attention_mask = 6

static const struct ox_generation_inputs places = {COMMON};
static const struct ox_generation_inputs sampling_places = {COMMON, .presence_mask = 7};

enum { MODULUS = 2147483647 }; /* of the generator */

/* What a row goes on with. */
struct choice {
    int32_t (*next)(struct choice *c, const struct ox_generation *g, size_t row);
    /* Of Sampling. */
    double top, filtered;
    size_t kept;     /* tokens at the least */
    uint64_t random; /* the generator's state */
    struct ranked *ranked;
    struct ox_tensor *filtered_out; /* NULL: not asked for */
};

static int32_t best_token(struct choice *c, const struct ox_generation *g, size_t row)
{
    const double *scores = g->scores + row * g->vocabulary;
    size_t best = 0;
    (void)c;
    for (size_t i = 1; i < g->vocabulary; i++)
        if (scores[i] > scores[best])
            best = i;
    return (int32_t)best;
}

/* A row that met eos is padded, that token too, as in onnxruntime. */
static bool append_tokens(struct ox_generation *g, struct choice *c, bool *ended)
{
    bool all = true;
    for (size_t row = 0; row < g->rows; row++) {
        const int32_t token = c->next(c, g, row);
        ended[row] |= token == g->eos;
        all &= ended[row];
        g->ids[row * g->longest + g->length] = ended[row] ? g->pad : token;
    }
    g->length++;
    return all;
}

/* ---- By chance ---------------------------------------------------------------------------------------------------- */

struct ranked {
    double score;
    size_t token;
};

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->score < y->score ? -1 : x->score > y->score;
}

/* Takes out the least likely tokens that have a chance of 1 - top_p or less together. */
static void filter_row(const struct ox_generation *g, const struct choice *c, double *scores)
{
    const size_t n = g->vocabulary;
    double sum = 0, so_far = 0;
    for (size_t i = 0; i < n; i++)
        c->ranked[i] = (struct ranked){scores[i], i};
    qsort(c->ranked, n, sizeof *c->ranked, by_score);
    const double most = c->ranked[n - 1].score;
    for (size_t i = 0; i < n; i++)
        sum += exp(c->ranked[i].score - most);
    for (size_t i = 0; i + c->kept < n; i++) {
        so_far += exp(c->ranked[i].score - most) / sum;
        if (so_far <= 1 - c->top)
            scores[c->ranked[i].token] = c->filtered;
    }
}

static enum ox_status filter(struct ox_run *r, struct ox_generation *g, struct choice *c,
                             struct ox_error *err)
{
    const int64_t dims[] = {(int64_t)g->batch, (int64_t)g->vocabulary};
    if (!c->ranked && !(c->ranked = ox_run_scratch(r, g->vocabulary, sizeof *c->ranked, err)))
        return OX_NO_MEMORY;
    for (size_t row = 0; row < g->rows; row++)
        filter_row(g, c, g->scores + row * g->vocabulary);
    if (ox_run_wants(r, 1) && !c->filtered_out)
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 2, dims, &c->filtered_out, err));
    if (c->filtered_out)
        ox_elements_convert(c->filtered_out->dtype, c->filtered_out->data, OX_FLOAT64, g->scores,
                            c->filtered_out->n, true);
    return OX_OK;
}

/* The generator of C++'s default_random_engine in libstdc++, so that a seed gives onnxruntime's tokens: a number in [0, 1) of two draws. */
static uint64_t draw(struct choice *c)
{
    enum { FACTOR = 16807 };
    c->random = c->random * FACTOR % MODULUS;
    return c->random - 1;
}

static double draw_real(struct choice *c)
{
    const double range = MODULUS - 1;
    const double low = (double)draw(c), high = (double)draw(c);
    return (low + high * range) / (range * range);
}

static int32_t random_token(struct choice *c, const struct ox_generation *g, size_t row)
{
    const double *scores = g->scores + row * g->vocabulary;
    double most = -INFINITY, sum = 0, so_far = 0;
    for (size_t i = 0; i < g->vocabulary; i++)
        most = scores[i] > most ? scores[i] : most;
    for (size_t i = 0; i < g->vocabulary; i++)
        sum += exp(scores[i] - most);
    const double at = draw_real(c) * sum;
    size_t token = 0;
    for (size_t i = 0; i < g->vocabulary; i++) {
        so_far += exp(scores[i] - most);
        token = i;
        if (so_far > at)
            break;
    }
    return (int32_t)token;
}

/* ---- Step by step -------------------------------------------------------------------------------------------------- */

static enum ox_status search(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                             struct choice *c, struct ox_error *err)
{
    bool *ended = ox_run_scratch(r, g->rows + 1, sizeof *ended, err), all = g->rows == 0;
    struct ox_tensor *y;
    if (!ended)
        return OX_NO_MEMORY;
    while (!all && g->length < g->longest) {
        OX_TRY(ox_decoder_step(r, g, d, NULL, err));
        OX_TRY(ox_generation_process(r, g, err));
        if (c->next != best_token)
            OX_TRY(filter(r, g, c, err));
        all = append_tokens(g, c, ended);
    }
    const int64_t dims[] = {(int64_t)g->batch, (int64_t)g->longest};
    OX_TRY(ox_run_out(r, 0, OX_INT32, 2, dims, &y, err));
    for (size_t i = 0; i < y->n; i++)
        ((int32_t *)y->data)[i] = i % g->longest < g->length ? g->ids[i] : g->pad;
    return OX_OK;
}

static enum ox_status run_search(struct ox_run *r, struct ox_generation *g, struct choice *c,
                                 struct ox_error *err)
{
    struct ox_decoder d = {0};
    enum ox_status status = ox_decoder_open(r, g, &d, err);
    if (status == OX_OK)
        status = search(r, g, &d, c, err);
    ox_decoder_close(&d);
    return status;
}

static enum ox_status run_greedy(struct ox_run *r, struct ox_error *err)
{
    struct ox_generation g;
    struct choice c = {.next = best_token};
    OX_TRY(ox_generation_open(r, &places, &g, err));
    return run_search(r, &g, &c, err);
}

static enum ox_status run_sampling(struct ox_run *r, struct ox_error *err)
{
    struct ox_generation g;
    struct choice c = {.next = random_token,
                       .top = (double)ox_run_float(r, "top_p", 0),
                       .filtered = (double)ox_run_float(r, "filter_value", -1e20F)};
    const int64_t kept = ox_run_int(r, "min_tokens_to_keep", 0);
    int64_t seed;
    if (ox_run_int(r, "custom", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "attribute custom is not served");
    c.kept = kept > 1 ? (size_t)kept : 1;
    OX_TRY(ox_generation_open(r, &sampling_places, &g, err));
    OX_TRY(ox_generation_int(r, 8, "seed", (int64_t)(r->seed >> 33), INT64_MIN, &seed, err));
    c.random = (uint64_t)seed % MODULUS;
    c.random += c.random == 0;
    g.temperature = (double)ox_run_float(r, "temperature", 1);
    g.presence_penalty = (double)ox_run_float(r, "presence_penalty", 0);
    return run_search(r, &g, &c, err);
}

static void infer_greedy(struct ox_infer *c)
{
    ox_generation_infer(c, &places);
}

static void infer_sampling(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *ids;
    ox_generation_infer(c, &places);
    const int64_t vocabulary = ox_infer_int_attr(c, "vocab_size", 0);
    if (ox_infer_n_out(c) < 2 || !ox_infer_shape(c, 0, &rank, &ids) || rank != 2)
        return;
    const struct ox_expr *dims[] = {ids[0], vocabulary > 0 ? ox_infer_num(c, vocabulary) : NULL};
    ox_infer_set_dtype(c, 1, OX_FLOAT32);
    ox_infer_set_shape(c, 1, 2, dims);
}

const struct ox_op ox_ops_greedy_search[] = {
    {"com.microsoft", "GreedySearch", 1, OX_OP_HALF, .infer = infer_greedy, .run = run_greedy},
    {"com.microsoft", "Sampling", 1, OX_OP_HALF | OX_OP_RANDOM, .infer = infer_sampling,
     .run = run_sampling},
    {0}};
