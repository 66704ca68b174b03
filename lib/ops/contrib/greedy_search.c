/* GreedySearch (com.microsoft): the token of the highest score, step by step. */
#include <string.h>

#include "ops/contrib/generate.h"
#include "ops/infer.h"

static const struct ox_generation_inputs places = {.min_length = 2,
                                                   .repetition_penalty = 3,
                                                   .vocab_mask = 4,
                                                   .prefix_vocab_mask = 5,
                                                   .attention_mask = 6};

static int32_t best_token(const double *scores, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (scores[i] > scores[best])
            best = i;
    return (int32_t)best;
}

/* A row that met eos is padded, that token too, as in onnxruntime. */
static bool append_best(struct ox_generation *g, bool *ended)
{
    bool all = true;
    for (size_t row = 0; row < g->rows; row++) {
        const int32_t token = best_token(g->scores + row * g->vocabulary, g->vocabulary);
        ended[row] |= token == g->eos;
        all &= ended[row];
        g->ids[row * g->longest + g->length] = ended[row] ? g->pad : token;
    }
    g->length++;
    return all;
}

static enum ox_status search(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                             struct ox_error *err)
{
    bool *ended = ox_run_scratch(r, g->rows + 1, sizeof *ended, err), all = g->rows == 0;
    struct ox_tensor *y;
    if (!ended)
        return OX_NO_MEMORY;
    while (!all && g->length < g->longest) {
        OX_TRY(ox_decoder_step(r, g, d, NULL, err));
        OX_TRY(ox_generation_process(r, g, err));
        all = append_best(g, ended);
    }
    const int64_t dims[] = {(int64_t)g->batch, (int64_t)g->longest};
    OX_TRY(ox_run_out(r, 0, OX_INT32, 2, dims, &y, err));
    for (size_t i = 0; i < y->n; i++)
        ((int32_t *)y->data)[i] = i % g->longest < g->length ? g->ids[i] : g->pad;
    return OX_OK;
}

static enum ox_status run_greedy(struct ox_run *r, struct ox_error *err)
{
    struct ox_generation g;
    struct ox_decoder d = {0};
    OX_TRY(ox_generation_open(r, &places, &g, err));
    enum ox_status status = ox_decoder_open(r, &g, &d, err);
    if (status == OX_OK)
        status = search(r, &g, &d, err);
    ox_decoder_close(&d);
    return status;
}

static void infer_greedy(struct ox_infer *c)
{
    ox_generation_infer(c, &places);
}

const struct ox_op ox_ops_greedy_search[] = {
    {"com.microsoft", "GreedySearch", 1, OX_OP_HALF, .infer = infer_greedy, .run = run_greedy},
    {0}};
