/* BeamSearch (com.microsoft): of each prompt the sequences of the highest sums of log-probabilities. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/contrib/beams.h"
#include "ops/infer.h"

#define COMMON                                                                                     \
    .min_length = 2, .beams = 3, .returned = 4, .length_penalty = 5, .repetition_penalty = 6,      \
    .vocab_mask = 7, .prefix_vocab_mask = 8, .attention_mask = 9, .decoder_ids = 10,               \
    .processor = 11

static const struct ox_generation_inputs places = {COMMON};
static const struct ox_generation_inputs whisper_places = {COMMON, .temperature = 14};

/* Scores become logarithms of probabilities. */
static void log_probabilities(const struct ox_run *r, const struct ox_generation *g)
{
    for (size_t row = 0; row < g->rows; row++) {
        double *scores = g->scores + row * g->vocabulary, most = -INFINITY, sum = 0;
        for (size_t i = 0; i < g->vocabulary; i++)
            most = scores[i] > most ? scores[i] : most;
        for (size_t i = 0; i < g->vocabulary; i++)
            sum += exp(scores[i] - most);
        for (size_t i = 0; i < g->vocabulary; i++)
            scores[i] = ox_generation_round(r, scores[i] - most - log(sum));
    }
}

static void add_beams(const struct ox_run *r, const struct ox_generation *g,
                      const struct ox_beams *b)
{
    for (size_t i = 0; i < g->rows * g->vocabulary; i++)
        g->scores[i] = ox_generation_round(r, g->scores[i] + b->scores[i / g->vocabulary]);
}

/* Output 2, [steps, batch, beams, vocabulary]: of steps that were not made 0. */
static enum ox_status make_history(struct ox_run *r, const struct ox_generation *g,
                                   struct ox_tensor **history, struct ox_error *err)
{
    const int64_t dims[] = {(int64_t)(g->longest - g->prompt), (int64_t)g->batch, (int64_t)g->beams,
                            (int64_t)g->vocabulary};
    if (*history || !ox_run_wants(r, 2))
        return OX_OK;
    OX_TRY(ox_run_out(r, 2, OX_FLOAT32, 4, dims, history, err));
    if ((*history)->n)
        memset((*history)->data, 0, (*history)->n * ox_dtype_size((*history)->dtype));
    return OX_OK;
}

static void note_scores(const struct ox_generation *g, struct ox_tensor *history)
{
    const size_t n = g->rows * g->vocabulary;
    if (history && n)
        ox_elements_convert(history->dtype,
                            (char *)history->data +
                                (g->length - g->prompt) * n * ox_dtype_size(history->dtype),
                            OX_FLOAT64, g->scores, n, true);
}

static enum ox_status put_sequences(struct ox_run *r, const struct ox_generation *g,
                                    const struct ox_beams *b, struct ox_error *err)
{
    const int64_t dims[] = {(int64_t)g->batch, (int64_t)g->returned, (int64_t)g->longest};
    struct ox_tensor *ids, *scores = NULL;
    OX_TRY(ox_run_out(r, 0, OX_INT32, 3, dims, &ids, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 2, dims, &scores, err));
    for (size_t i = 0; i < g->batch * g->returned; i++) {
        const struct ox_hypothesis *h = b->kept + i / g->returned * g->beams + i % g->returned;
        int32_t *to = (int32_t *)ids->data + i * g->longest;
        memcpy(to, h->ids, h->length * sizeof *to);
        for (size_t k = h->length; k < g->longest; k++)
            to[k] = g->pad;
        if (scores)
            ox_elements_convert(scores->dtype,
                                (char *)scores->data + i * ox_dtype_size(scores->dtype), OX_FLOAT64,
                                &h->score, 1, true);
    }
    return OX_OK;
}

static enum ox_status search(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                             struct ox_error *err)
{
    struct ox_beams b;
    struct ox_tensor *history = NULL;
    OX_TRY(ox_beams_open(r, g, &b, err));
    while (b.n_done < g->batch && g->length < g->longest) {
        OX_TRY(ox_decoder_step(r, g, d, g->length > g->prompt ? b.from : NULL, err));
        log_probabilities(r, g);
        OX_TRY(ox_generation_process(r, g, err));
        add_beams(r, g, &b);
        OX_TRY(make_history(r, g, &history, err));
        note_scores(g, history);
        OX_TRY(ox_beams_step(r, g, &b, err));
    }
    OX_TRY(make_history(r, g, &history, err));
    OX_TRY(ox_beams_end(r, g, &b, err));
    return put_sequences(r, g, &b, err);
}

static enum ox_status run_with(struct ox_run *r, const struct ox_generation_inputs *at,
                               struct ox_error *err)
{
    struct ox_generation g;
    struct ox_decoder d = {0};
    OX_TRY(ox_generation_open(r, at, &g, err));
    enum ox_status status = ox_decoder_open(r, &g, &d, err);
    if (status == OX_OK)
        status = search(r, &g, &d, err);
    ox_decoder_close(&d);
    return status;
}

static enum ox_status run_beam_search(struct ox_run *r, struct ox_error *err)
{
    return run_with(r, &places, err);
}

/* What it has beyond BeamSearch is asked for by outputs of its own; extra_decoding_ids, input 13, serve those alone. */
static enum ox_status run_whisper(struct ox_run *r, struct ox_error *err)
{
    if (ox_run_wants(r, 3) || ox_run_int(r, "decoder_output_cross_qk", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "output cross_qk is not served");
    if (ox_run_wants(r, 4))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "output non_speech_probs is not served");
    return run_with(r, &whisper_places, err);
}

static void infer_whisper(struct ox_infer *c)
{
    ox_generation_infer(c, &whisper_places);
}

static void infer_beam_search(struct ox_infer *c)
{
    ox_generation_infer(c, &places);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_beam_search[] = {
    {MS, "BeamSearch", 1, OX_OP_HALF, .infer = infer_beam_search, .run = run_beam_search},
    {MS, "WhisperBeamSearch", 1, OX_OP_HALF, .infer = infer_whisper, .run = run_whisper},
    {0}};
