/* Settings of the generation operators of com.microsoft, and what they make of scores. */
#include "ops/contrib/generate.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/infer.h"

enum ox_status ox_generation_int(struct ox_run *r, size_t i, const char *what, int64_t fallback,
                                 int64_t least, int64_t *out, struct ox_error *err)
{
    const struct ox_tensor *t = i ? ox_run_in(r, i) : NULL;
    *out = fallback;
    if (!t)
        return OX_OK;
    if (t->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not one", what, t->n);
    *out = ox_tensor_get_int(t, 0);
    if (*out < least)
        return ox_run_fail(r, err, OX_INPUT, "%s is %" PRId64 ", less than %" PRId64, what, *out,
                           least);
    return OX_OK;
}

static enum ox_status read_number(struct ox_run *r, size_t i, const char *what, double fallback,
                                  double *out, struct ox_error *err)
{
    const struct ox_tensor *t = i ? ox_run_in(r, i) : NULL;
    *out = fallback;
    if (!t)
        return OX_OK;
    if (t->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not one", what, t->n);
    *out = ox_tensor_get_double(t, 0);
    return OX_OK;
}

static enum ox_status read_token(struct ox_run *r, const char *name, int64_t fallback, int32_t *out,
                                 struct ox_error *err)
{
    const int64_t token = ox_run_int(r, name, fallback);
    if (token < INT32_MIN || token > INT32_MAX)
        return ox_run_fail(r, err, OX_INPUT, "attribute %s is %" PRId64 ", no token", name, token);
    *out = (int32_t)token;
    return OX_OK;
}

static enum ox_status read_lengths(struct ox_run *r, struct ox_generation *g, struct ox_error *err)
{
    enum { MOST = 1 << 24 };
    int64_t longest, shortest, beams, returned;
    OX_TRY(ox_generation_int(r, 1, "max_length", 0, 1, &longest, err));
    OX_TRY(ox_generation_int(r, g->at->min_length, "min_length", 0, 0, &shortest, err));
    OX_TRY(ox_generation_int(r, g->at->beams, "num_beams", 1, 1, &beams, err));
    OX_TRY(ox_generation_int(r, g->at->returned, "num_return_sequences", 1, 1, &returned, err));
    if (longest > MOST || beams > MOST || returned > beams)
        return ox_run_fail(r, err, OX_INPUT,
                           "max_length is %" PRId64 ", num_beams %" PRId64
                           ", num_return_sequences %" PRId64,
                           longest, beams, returned);
    g->longest = (size_t)longest;
    g->shortest = (size_t)shortest;
    g->beams = (size_t)beams;
    g->returned = (size_t)returned;
    return OX_OK;
}

static enum ox_status read_numbers(struct ox_run *r, struct ox_generation *g, struct ox_error *err)
{
    OX_TRY(read_number(r, g->at->length_penalty, "length_penalty", 1, &g->length_penalty, err));
    OX_TRY(read_number(r, g->at->repetition_penalty, "repetition_penalty", 1,
                       &g->repetition_penalty, err));
    OX_TRY(read_number(r, g->at->temperature, "temperature", 1, &g->temperature, err));
    if (!(g->repetition_penalty > 0) || !(g->temperature > 0))
        return ox_run_fail(r, err, OX_INPUT,
                           "repetition_penalty is %g, temperature %g: they are positive",
                           g->repetition_penalty, g->temperature);
    return OX_OK;
}

enum ox_status ox_generation_open(struct ox_run *r, const struct ox_generation_inputs *at,
                                  struct ox_generation *g, struct ox_error *err)
{
    const int64_t ngram = ox_run_int(r, "no_repeat_ngram_size", 0);
    *g = (struct ox_generation){.at = at, .ngram = ngram > 0 ? (size_t)ngram : 0};
    OX_TRY(read_token(r, "eos_token_id", 0, &g->eos, err));
    OX_TRY(read_token(r, "pad_token_id", 0, &g->pad, err));
    OX_TRY(read_token(r, "decoder_start_token_id", -1, &g->start, err));
    OX_TRY(read_lengths(r, g, err));
    OX_TRY(ox_timestamps_open(r, at->processor, &g->timestamps, err));
    return read_numbers(r, g, err);
}

double ox_generation_round(const struct ox_run *r, double score)
{
    return r->oracle ? score : (double)(float)score;
}

/* ---- What changes scores ------------------------------------------------------------------------------------------ */

/* Each token that a row has counts once. */
static void penalize_repetition(const struct ox_run *r, const struct ox_generation *g,
                                const int32_t *ids, double *scores)
{
    for (size_t i = 0; i < g->length; i++) {
        const int32_t token = ids[i];
        size_t k = 0;
        while (ids[k] != token)
            k++;
        if (k < i || token < 0 || (size_t)token >= g->vocabulary)
            continue;
        double *score = &scores[token];
        *score = ox_generation_round(r, *score < 0 ? *score * g->repetition_penalty
                                                   : *score / g->repetition_penalty);
    }
}

/* Not what would end an n-gram that the row has. */
static void block_ngrams(const struct ox_generation *g, const int32_t *ids, double *scores)
{
    const size_t before = g->ngram - 1;
    for (size_t at = 0; g->length >= g->ngram && at + before < g->length; at++) {
        const int32_t token = ids[at + before];
        if (!memcmp(ids + at, ids + g->length - before, before * sizeof *ids) && token >= 0 &&
            (size_t)token < g->vocabulary)
            scores[token] = -(double)FLT_MAX;
    }
}

static void mask_scores(const struct ox_generation *g, const int32_t *mask, double *scores)
{
    for (size_t i = 0; mask && i < g->vocabulary; i++)
        if (mask[i] == 0)
            scores[i] = -(double)FLT_MAX;
}

/* NULL: it is omitted. */
static enum ox_status read_mask(struct ox_run *r, const struct ox_generation *g, size_t i,
                                const char *what, const int32_t **out, struct ox_error *err)
{
    const struct ox_tensor *mask = i ? ox_run_in(r, i) : NULL;
    if (mask && (mask->rank != 2 || (size_t)mask->dims[0] != g->batch ||
                 (size_t)mask->dims[1] != g->vocabulary))
        return ox_run_fail(r, err, OX_INPUT, "%s is not [%zu, %zu]", what, g->batch, g->vocabulary);
    *out = mask ? mask->data : NULL;
    return OX_OK;
}

/* Masks are read when the vocabulary is known. */
static enum ox_status read_masks(struct ox_run *r, struct ox_generation *g, struct ox_error *err)
{
    const struct ox_tensor *all = g->at->vocab_mask ? ox_run_in(r, g->at->vocab_mask) : NULL;
    if (all && all->n != g->vocabulary)
        return ox_run_fail(r, err, OX_INPUT, "vocab_mask has %zu elements for %zu tokens", all->n,
                           g->vocabulary);
    g->vocab_mask = all ? all->data : NULL;
    OX_TRY(read_mask(r, g, g->at->prefix_vocab_mask, "prefix_vocab_mask", &g->prefix_mask, err));
    if (g->length != g->prompt)
        g->prefix_mask = NULL;
    return read_mask(r, g, g->at->presence_mask, "presence_mask", &g->presence_mask, err);
}

/* Those that the mask counts lose the penalty as often. */
static void penalize_presence(const struct ox_run *r, const struct ox_generation *g,
                              const int32_t *mask, double *scores)
{
    for (size_t i = 0; i < g->vocabulary; i++)
        scores[i] = ox_generation_round(r, scores[i] - mask[i] * g->presence_penalty);
}

enum ox_status ox_generation_process(struct ox_run *r, struct ox_generation *g,
                                     struct ox_error *err)
{
    OX_TRY(read_masks(r, g, err));
    for (size_t row = 0; row < g->rows; row++) {
        const int32_t *ids = g->ids + row * g->longest;
        double *scores = g->scores + row * g->vocabulary;
        if (g->repetition_penalty != 1)
            penalize_repetition(r, g, ids, scores);
        if (g->ngram)
            block_ngrams(g, ids, scores);
        mask_scores(g, g->vocab_mask, scores);
        if (g->prefix_mask)
            mask_scores(g, g->prefix_mask + row / g->beams * g->vocabulary, scores);
        if (g->length < g->shortest && g->eos >= 0 && (size_t)g->eos < g->vocabulary)
            scores[g->eos] = -(double)FLT_MAX;
        for (size_t i = 0; g->temperature != 1 && i < g->vocabulary; i++)
            scores[i] = ox_generation_round(r, scores[i] / g->temperature);
        if (g->presence_mask && g->presence_penalty != 0)
            penalize_presence(r, g, g->presence_mask + row / g->beams * g->vocabulary, scores);
        if (g->timestamps.on)
            OX_TRY(ox_timestamps_process(r, &g->timestamps, ids, g->length, scores, g->vocabulary,
                                         err));
    }
    return OX_OK;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static const struct ox_expr *one_value(struct ox_infer *c, size_t i)
{
    size_t n;
    const struct ox_expr *const *values;
    return ox_infer_values(c, i, &n, &values) && n == 1 ? values[0] : NULL;
}

/* Tokens of each row before the first step: of the prompt, or behind an encoder those that the decoder starts from. */
static const struct ox_expr *first_tokens(struct ox_infer *c, const struct ox_generation_inputs *at)
{
    const int64_t type = ox_infer_int_attr(c, "model_type", 0);
    if (type == 0)
        return ox_infer_dim(c, 0, 1);
    return type == 2 && ox_infer_has(c, at->decoder_ids) ? ox_infer_dim(c, at->decoder_ids, 1)
                                                         : ox_infer_num(c, 1);
}

void ox_generation_infer(struct ox_infer *c, const struct ox_generation_inputs *at)
{
    const struct ox_expr *dims[3] = {ox_infer_dim(c, 0, 0)};
    unsigned rank = 1;
    if (at->returned)
        dims[rank++] = one_value(c, at->returned);
    dims[rank++] = one_value(c, 1);
    ox_infer_set_dtype(c, 0, OX_INT32);
    ox_infer_set_shape(c, 0, rank, dims);
    if (!at->returned)
        return;
    const struct ox_expr *steps[4] = {ox_infer_sub(c, dims[2], first_tokens(c, at)), dims[0],
                                      one_value(c, at->beams)};
    for (size_t i = 1; i < 3 && i < ox_infer_n_out(c); i++) {
        ox_infer_set_dtype(c, i, OX_FLOAT32);
        ox_infer_set_shape(c, i, i == 1 ? 2 : 4, i == 1 ? dims : steps);
    }
}
