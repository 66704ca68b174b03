#include "ops/contrib/beams.h"

#include <math.h>
#include <string.h>

/* A token that a row of a batch may go on with. */
struct ox_candidate {
    double score;
    size_t place; /* beam * vocabulary + token */
};

enum ox_status ox_beams_open(struct ox_run *r, const struct ox_generation *g, struct ox_beams *b,
                             struct ox_error *err)
{
    const size_t rows = g->rows + 1;
    *b = (struct ox_beams){
        .early = ox_run_int(r, "early_stopping", 0) != 0,
        .kept = ox_run_scratch(r, rows, sizeof *b->kept, err),
        .n_kept = ox_run_scratch(r, g->batch + 1, sizeof *b->n_kept, err),
        .done = ox_run_scratch(r, g->batch + 1, sizeof *b->done, err),
        .scores = ox_run_scratch(r, rows, sizeof *b->scores, err),
        .next = ox_run_scratch(r, rows, sizeof *b->next, err),
        .from = ox_run_scratch(r, rows, sizeof *b->from, err),
        .ids = ox_run_scratch(r, rows, g->longest * sizeof *b->ids, err),
        .best = ox_run_scratch(r, 2 * g->beams, sizeof *b->best, err),
    };
    if (!b->kept || !b->n_kept || !b->done || !b->scores || !b->next || !b->from || !b->ids ||
        !b->best)
        return OX_NO_MEMORY;
    /* All beams are the same at the start: the first one alone goes on. */
    for (size_t row = 0; row < g->rows; row++)
        b->scores[row] = row % g->beams ? -1e9 : 0;
    return OX_OK;
}

/* The n best, of equal ones the first; NaN is none. */
static size_t find_best(const double *scores, size_t count, struct ox_candidate *best, size_t n)
{
    size_t have = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(scores[i]) || (have == n && scores[i] <= best[n - 1].score))
            continue;
        size_t at = have < n ? have++ : n - 1;
        for (; at && best[at - 1].score < scores[i]; at--)
            best[at] = best[at - 1];
        best[at] = (struct ox_candidate){scores[i], i};
    }
    return have;
}

/* Of a sequence of as many tokens as there are now. */
static double score_of(const struct ox_run *r, const struct ox_generation *g, double sum)
{
    return ox_generation_round(r, sum / pow((double)g->length, g->length_penalty));
}

/* Keeps a row that ended where it is better than what is kept. */
static enum ox_status keep(struct ox_run *r, const struct ox_generation *g, struct ox_beams *b,
                           size_t batch, const int32_t *ids, double sum, struct ox_error *err)
{
    struct ox_hypothesis *kept = b->kept + batch * g->beams;
    size_t *n = &b->n_kept[batch];
    const double score = score_of(r, g, sum);
    if (*n == g->beams && !(score > kept[*n - 1].score))
        return OX_OK;
    int32_t *copy = ox_run_scratch(r, g->length, sizeof *copy, err);
    if (!copy)
        return OX_NO_MEMORY;
    memcpy(copy, ids, g->length * sizeof *copy);
    size_t at = *n < g->beams ? (*n)++ : *n - 1;
    for (; at && kept[at - 1].score < score; at--)
        kept[at] = kept[at - 1];
    kept[at] = (struct ox_hypothesis){copy, g->length, score};
    return OX_OK;
}

/* A batch is done when it keeps a sequence a beam and none that goes on can become better than the worst of them. */
static bool is_done(const struct ox_run *r, const struct ox_generation *g, const struct ox_beams *b,
                    size_t batch, double best)
{
    if (b->n_kept[batch] < g->beams)
        return false;
    const double worst = b->kept[(batch + 1) * g->beams - 1].score;
    return b->early || worst >= score_of(r, g, best);
}

static enum ox_status choose(struct ox_run *r, const struct ox_generation *g, struct ox_beams *b,
                             size_t batch, struct ox_error *err)
{
    const size_t first = batch * g->beams;
    const size_t n = find_best(g->scores + first * g->vocabulary, g->beams * g->vocabulary, b->best,
                               2 * g->beams);
    size_t beam = 0;
    for (size_t i = 0; i < n && beam < g->beams; i++) {
        const int32_t token = (int32_t)(b->best[i].place % g->vocabulary);
        const size_t row = first + b->best[i].place / g->vocabulary;
        if (token == g->eos) {
            if (i < g->beams)
                OX_TRY(keep(r, g, b, batch, g->ids + row * g->longest, b->best[i].score, err));
            continue;
        }
        b->next[first + beam] = token;
        b->from[first + beam] = row;
        b->scores[first + beam++] = b->best[i].score;
    }
    if (beam < g->beams)
        return ox_run_fail(
            r, err, OX_INPUT,
            "%zu of %zu beams find a next token among %zu: the others are eos or NaN", beam,
            g->beams, g->vocabulary);
    if (is_done(r, g, b, batch, b->best[0].score)) {
        b->done[batch] = true;
        b->n_done++;
    }
    return OX_OK;
}

enum ox_status ox_beams_step(struct ox_run *r, struct ox_generation *g, struct ox_beams *b,
                             struct ox_error *err)
{
    for (size_t batch = 0; batch < g->batch; batch++) {
        const size_t first = batch * g->beams;
        if (!b->done[batch]) {
            OX_TRY(choose(r, g, b, batch, err));
            continue;
        }
        for (size_t row = first; row < first + g->beams; row++) {
            b->next[row] = g->pad;
            b->from[row] = first;
            b->scores[row] = 0;
        }
    }
    for (size_t row = 0; row < g->rows; row++) {
        int32_t *to = b->ids + row * g->longest;
        memcpy(to, g->ids + b->from[row] * g->longest, g->length * sizeof *to);
        to[g->length] = b->next[row];
    }
    int32_t *old = g->ids;
    g->ids = b->ids;
    b->ids = old;
    g->length++;
    return OX_OK;
}

enum ox_status ox_beams_end(struct ox_run *r, const struct ox_generation *g, struct ox_beams *b,
                            struct ox_error *err)
{
    for (size_t row = 0; row < g->rows; row++)
        if (!b->done[row / g->beams])
            OX_TRY(keep(r, g, b, row / g->beams, g->ids + row * g->longest, b->scores[row], err));
    return OX_OK;
}
