/* The decoder of generation operators, run step by step. */
#include <inttypes.h>
#include <string.h>

#include "ops/contrib/generate.h"

enum ox_status ox_decoder_give(struct ox_decoder *d, size_t i, struct ox_tensor *tensor,
                               struct ox_error *err)
{
    ox_datum_release(d->in[i]);
    d->in[i] = NULL;
    enum ox_status status = ox_datum_of_tensor(&d->in[i], tensor, err);
    ox_tensor_release(tensor);
    return status;
}

enum ox_status ox_decoder_put(struct ox_run *r, struct ox_decoder *d, size_t i, size_t rows,
                              size_t columns, const int32_t *values, struct ox_error *err)
{
    const int64_t dims[] = {(int64_t)rows, (int64_t)columns};
    struct ox_tensor *t;
    OX_TRY(ox_run_tensor(r, OX_INT32, 2, dims, &t, err));
    if (t->n)
        memcpy(t->data, values, t->n * sizeof *values);
    return ox_decoder_give(d, i, t, err);
}

/* Rows `from` of an axis of `of`, n of them. */
static enum ox_status pick(struct ox_run *r, const struct ox_tensor *of, unsigned axis,
                           const size_t *from, size_t n, struct ox_tensor **out,
                           struct ox_error *err)
{
    int64_t dims[OX_MOST_RANK];
    size_t before = 1, bytes = ox_dtype_size(of->dtype);
    memcpy(dims, of->dims, of->rank * sizeof *dims);
    dims[axis] = (int64_t)n;
    for (unsigned d = 0; d < axis; d++)
        before *= (size_t)of->dims[d];
    for (unsigned d = axis + 1; d < of->rank; d++)
        bytes *= (size_t)of->dims[d];
    OX_TRY(ox_run_tensor(r, of->dtype, of->rank, dims, out, err));
    const size_t rows = (size_t)of->dims[axis];
    for (size_t i = 0; bytes && i < before; i++)
        for (size_t k = 0; k < n; k++)
            memcpy((char *)(*out)->data + (i * n + k) * bytes,
                   (const char *)of->data + (i * rows + from[k]) * bytes, bytes);
    return OX_OK;
}

static const struct ox_tensor *made(const struct ox_decoder *d, size_t i)
{
    return d->out[i] && d->out[i]->kind == OX_DATUM_TENSOR ? d->out[i]->tensor : NULL;
}

/* Of each row of the next step: of which of the last one it goes on. Of the first step a batch's row is that of all of its beams. */
static bool find_rows(const struct ox_generation *g, struct ox_decoder *d, const size_t *from)
{
    bool same = d->steps > 1 || g->beams == 1;
    for (size_t row = 0; row < g->rows; row++) {
        const size_t old = from ? from[row] : row;
        d->spread[row] = d->steps == 1 ? old / g->beams : old;
        same &= d->spread[row] == row;
    }
    return same;
}

/* Inputs of the next step that are outputs of the last one, or the same for all beams of a batch. */
static enum ox_status carry_rows(struct ox_run *r, const struct ox_generation *g,
                                 struct ox_decoder *d, const size_t *from, struct ox_error *err)
{
    const size_t had = d->steps == 1 ? g->batch : g->rows;
    const bool same = find_rows(g, d, from);
    for (size_t i = 0; i < d->n_in; i++) {
        const int64_t output = (d->steps == 1 ? d->after_first : d->after)[i];
        if (output == OX_DECODER_OTHER || (output == OX_DECODER_FIXED && (same || d->steps > 1)))
            continue;
        const struct ox_tensor *of = output == OX_DECODER_FIXED
                                         ? (d->in[i] ? d->in[i]->tensor : NULL)
                                         : made(d, (size_t)output);
        const unsigned axis = output == OX_DECODER_FIXED ? 0 : d->axis;
        struct ox_tensor *next;
        if (!of || of->rank <= axis || (size_t)of->dims[axis] != had)
            return ox_run_fail(r, err, OX_INPUT, "input %zu of its decoder would not have %zu rows",
                               i, had);
        if (same)
            next = ox_tensor_ref(of);
        else
            OX_TRY(pick(r, of, axis, d->spread, g->rows, &next, err));
        OX_TRY(ox_decoder_give(d, i, next, err));
    }
    return OX_OK;
}

/* Scores of each row's last token; of the first step a batch's are those of all of its beams. */
static enum ox_status read_scores(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                                  struct ox_error *err)
{
    const struct ox_tensor *logits = d->n_out ? made(d, 0) : NULL;
    const size_t rows = d->steps ? g->rows : g->batch;
    const int64_t wanted = ox_run_int(r, "vocab_size", 0);
    if (!logits || logits->rank != 3 || (size_t)logits->dims[0] != rows || logits->dims[1] < 1 ||
        logits->dims[2] < 1 || wanted > logits->dims[2])
        return ox_run_fail(r, err, OX_INPUT,
                           "its decoder made no scores [%zu, tokens, at least %" PRId64 "]", rows,
                           wanted > 0 ? wanted : 1);
    const size_t width = (size_t)logits->dims[2], tokens = (size_t)logits->dims[1];
    const size_t vocabulary = wanted > 0 ? (size_t)wanted : width;
    size_t all;
    if (g->vocabulary && g->vocabulary != vocabulary)
        return ox_run_fail(r, err, OX_INPUT, "its decoder scores %zu tokens after %zu", vocabulary,
                           g->vocabulary);
    g->vocabulary = vocabulary;
    if (!g->scores) {
        if (OX_MUL_OVERFLOWS(g->rows, vocabulary, &all))
            return ox_run_fail(r, err, OX_LIMIT, "the scores are too many");
        g->scores = ox_run_scratch(r, all, sizeof *g->scores, err);
        if (!g->scores)
            return OX_NO_MEMORY;
    }
    for (size_t row = 0; row < g->rows; row++) {
        const size_t from = (d->steps ? row : row / g->beams) * tokens + tokens - 1;
        ox_elements_convert(OX_FLOAT64, g->scores + row * vocabulary, logits->dtype,
                            (const char *)logits->data +
                                from * width * ox_dtype_size(logits->dtype),
                            vocabulary, true);
    }
    return OX_OK;
}

enum ox_status ox_decoder_step(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                               const size_t *from, struct ox_error *err)
{
    OX_TRY(ox_env_poll(r->env, err));
    if (d->steps) {
        OX_TRY(carry_rows(r, g, d, from, err));
        OX_TRY(d->feed(r, g, d, err));
    }
    if (d->steps || !d->is_run) {
        for (size_t i = 0; i < d->most_out; i++) {
            ox_datum_release(d->out[i]);
            d->out[i] = NULL;
        }
        OX_TRY(
            r->subgraph(r, d->steps ? d->graph : d->first, d->in, d->n_in, d->out, d->n_out, err));
    }
    OX_TRY(read_scores(r, g, d, err));
    d->steps++;
    return OX_OK;
}

void ox_decoder_close(struct ox_decoder *d)
{
    for (size_t i = 0; d->in && i < d->n_in; i++)
        ox_datum_release(d->in[i]);
    for (size_t i = 0; d->out && i < d->most_out; i++)
        ox_datum_release(d->out[i]);
}

enum ox_status ox_decoder_put_last(struct ox_run *r, const struct ox_generation *g,
                                   struct ox_decoder *d, size_t i, struct ox_error *err)
{
    const int64_t dims[] = {(int64_t)g->rows, 1};
    struct ox_tensor *ids;
    OX_TRY(ox_run_tensor(r, OX_INT32, 2, dims, &ids, err));
    for (size_t row = 0; row < g->rows; row++)
        ((int32_t *)ids->data)[row] = g->ids[row * g->longest + g->length - 1];
    return ox_decoder_give(d, i, ids, err);
}

enum ox_status ox_decoder_open_rows(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                                    const int32_t *prompt, struct ox_error *err)
{
    size_t all;
    g->length = g->prompt;
    if (g->prompt >= g->longest)
        return ox_run_fail(r, err, OX_INPUT, "max_length is %zu, the prompt has %zu already",
                           g->longest, g->prompt);
    if (OX_MUL_OVERFLOWS(g->batch, g->beams, &g->rows) ||
        OX_MUL_OVERFLOWS(g->rows, g->longest, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the sequences are too many");
    g->ids = ox_run_scratch(r, all + 1, sizeof *g->ids, err);
    d->spread = ox_run_scratch(r, g->rows + 1, sizeof *d->spread, err);
    if (!g->ids || !d->spread)
        return OX_NO_MEMORY;
    for (size_t row = 0; row < g->rows; row++)
        memcpy(g->ids + row * g->longest, prompt + row / g->beams * g->prompt,
               g->prompt * sizeof *g->ids);
    return OX_OK;
}
