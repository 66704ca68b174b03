/* The decoder of generation operators, run step by step: a subgraph like GPT-2's, which takes tokens, their places, a mask of all tokens so
 * far and past keys and values, and gives scores and the keys and values with the new ones. */
#include <inttypes.h>
#include <string.h>

#include "ops/contrib/generate.h"

enum { IDS, PLACES, MASK, FIRST_PAST, PAST_RANK = 5 };

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

enum ox_status ox_decoder_pick(struct ox_run *r, const struct ox_tensor *of, unsigned axis,
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
            OX_TRY(ox_decoder_pick(r, of, axis, d->spread, g->rows, &next, err));
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

/* ---- Like GPT-2's ------------------------------------------------------------------------------------------------- */

static enum ox_status feed_token(struct ox_run *r, const struct ox_generation *g,
                                 struct ox_decoder *d, struct ox_error *err)
{
    const size_t columns = g->length, fresh = columns - g->prompt;
    const int64_t one[] = {(int64_t)g->rows, 1}, all[] = {one[0], (int64_t)columns};
    struct ox_tensor *places, *mask;
    OX_TRY(ox_decoder_put_last(r, g, d, IDS, err));
    OX_TRY(ox_run_tensor(r, OX_INT32, 2, one, &places, err));
    for (size_t row = 0; row < g->rows; row++)
        ((int32_t *)places->data)[row] = d->place[row / g->beams] + (int32_t)fresh - 1;
    OX_TRY(ox_decoder_give(d, PLACES, places, err));
    OX_TRY(ox_run_tensor(r, OX_INT32, 2, all, &mask, err));
    for (size_t row = 0; row < g->rows; row++) {
        int32_t *to = (int32_t *)mask->data + row * columns;
        memcpy(to, d->mask + row / g->beams * g->prompt, g->prompt * sizeof *to);
        for (size_t i = g->prompt; i < columns; i++)
            to[i] = 1;
    }
    return ox_decoder_give(d, MASK, mask, err);
}

/* Where no mask is given padding is masked. Places count the tokens that are no padding, whatever the mask, as in onnxruntime. */
static enum ox_status feed_prompt(struct ox_run *r, const struct ox_generation *g,
                                  struct ox_decoder *d, struct ox_error *err)
{
    const struct ox_tensor *ids = ox_run_in(r, 0);
    const struct ox_tensor *mask =
        g->at->attention_mask ? ox_run_in(r, g->at->attention_mask) : NULL;
    const int32_t *tokens = ids->data;
    int32_t *places = ox_run_scratch(r, ids->n + 1, sizeof *places, err);
    if (mask && (mask->n != ids->n || mask->rank != 2 || mask->dims[0] != ids->dims[0]))
        return ox_run_fail(r, err, OX_INPUT, "attention_mask does not have the shape of input_ids");
    d->mask = ox_run_scratch(r, ids->n + 1, sizeof *d->mask, err);
    d->place = ox_run_scratch(r, g->batch + 1, sizeof *d->place, err);
    if (!places || !d->mask || !d->place)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < ids->n; i++) {
        int32_t *place = &d->place[i / g->prompt];
        d->mask[i] = mask ? ((const int32_t *)mask->data)[i] : tokens[i] != g->pad;
        places[i] = tokens[i] != g->pad ? (*place)++ : 0;
    }
    OX_TRY(ox_decoder_put(r, d, IDS, g->batch, g->prompt, tokens, err));
    OX_TRY(ox_decoder_put(r, d, PLACES, g->batch, g->prompt, places, err));
    return ox_decoder_put(r, d, MASK, g->batch, g->prompt, d->mask, err);
}

/* No keys and values: [2, batch, heads, 0, size]. */
static enum ox_status feed_no_past(struct ox_run *r, const struct ox_generation *g,
                                   struct ox_decoder *d, struct ox_error *err)
{
    for (size_t i = FIRST_PAST; i < d->n_in; i++) {
        const struct ox_value *value = d->first->inputs[i];
        const struct ox_type *type = value->type;
        int64_t dims[PAST_RANK] = {2, (int64_t)g->batch, 0, 0, 0};
        struct ox_tensor *past;
        if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank || type->rank != PAST_RANK ||
            !ox_expr_is_int(type->dims[2], &dims[2]) || !ox_expr_is_int(type->dims[4], &dims[4]))
            return ox_run_fail(r, err, OX_INPUT,
                               "input '%.128s' of its decoder does not tell the heads and their "
                               "size: [2, batch, heads, past, size]",
                               value->name);
        const bool wide = r->oracle && (type->elem == OX_FLOAT16 || type->elem == OX_BFLOAT16 ||
                                        type->elem == OX_FLOAT32);
        OX_TRY(ox_run_tensor(r, wide ? OX_FLOAT64 : type->elem, PAST_RANK, dims, &past, err));
        OX_TRY(ox_decoder_give(d, i, past, err));
    }
    return OX_OK;
}

static enum ox_status open_graphs(struct ox_run *r, struct ox_decoder *d, struct ox_error *err)
{
    d->graph = ox_run_graph(r, "decoder");
    d->first = ox_run_graph(r, "init_decoder");
    if (!d->graph)
        return ox_run_fail(r, err, OX_INPUT, "attribute 'decoder' holds no graph");
    d->first = d->first ? d->first : d->graph;
    if (d->graph->n_inputs != d->first->n_inputs || d->graph->n_outputs != d->first->n_outputs)
        return ox_run_fail(r, err, OX_INPUT,
                           "its decoder and init_decoder have other inputs or outputs");
    d->n_in = d->graph->n_inputs;
    d->n_out = d->most_out = d->graph->n_outputs;
    d->in = ox_run_scratch(r, d->n_in + 1, sizeof(struct ox_datum *), err);
    d->out = ox_run_scratch(r, d->n_out + 1, sizeof(struct ox_datum *), err);
    d->after = ox_run_scratch(r, d->n_in + 1, sizeof *d->after, err);
    if (!d->in || !d->out || !d->after)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < d->n_in; i++)
        d->after[i] = OX_DECODER_OTHER;
    return OX_OK;
}

static enum ox_status open_alone(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                                 struct ox_error *err)
{
    const struct ox_tensor *ids = ox_run_in(r, 0);
    if (d->n_in < FIRST_PAST || d->n_out != d->n_in - FIRST_PAST + 1)
        return ox_run_fail(r, err, OX_UNSUPPORTED,
                           "a decoder of %zu inputs and %zu outputs: it takes input_ids, "
                           "position_ids, attention_mask and pasts, and gives logits and as many "
                           "presents",
                           d->n_in, d->n_out);
    if (ids->rank != 2 || ids->dtype != OX_INT32 || ids->dims[1] < 1)
        return ox_run_fail(r, err, OX_INPUT,
                           "input_ids has rank %u or no token, not [batch, sequence] of int32",
                           ids->rank);
    d->axis = 1;
    d->feed = feed_token;
    for (size_t i = FIRST_PAST; i < d->n_in; i++)
        d->after[i] = (int64_t)(i - FIRST_PAST + 1);
    d->after_first = d->after;
    g->batch = (size_t)ids->dims[0];
    g->prompt = (size_t)ids->dims[1];
    OX_TRY(ox_decoder_open_rows(r, g, d, ids->data, err));
    OX_TRY(feed_prompt(r, g, d, err));
    return feed_no_past(r, g, d, err);
}

enum ox_status ox_decoder_open(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                               struct ox_error *err)
{
    const int64_t type = ox_run_int(r, "model_type", 0);
    OX_TRY(open_graphs(r, d, err));
    if (type == 0)
        return open_alone(r, g, d, err);
    if ((type == 1 || type == 2) && g->at->beams)
        return ox_decoder_open_encoded(r, g, d, err);
    return ox_run_fail(r, err, OX_UNSUPPORTED,
                       "model_type %" PRId64 " is not served: 0 (a decoder alone)%s", type,
                       g->at->beams ? ", 1 and 2 (behind an encoder) are" : " is");
}
