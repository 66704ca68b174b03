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

/* What came out as past of the next step, each row going on from row from[i]. */
static enum ox_status carry_past(struct ox_run *r, const struct ox_generation *g,
                                 struct ox_decoder *d, const size_t *from, struct ox_error *err)
{
    const size_t had = d->steps == 1 ? g->batch : g->rows;
    bool same = had == g->rows;
    for (size_t row = 0; row < g->rows; row++) {
        const size_t old = from ? from[row] : row;
        d->spread[row] = d->steps == 1 ? old / g->beams : old;
        same &= d->spread[row] == row;
    }
    for (size_t i = 0; i < d->n_past; i++) {
        const struct ox_tensor *present = made(d, 1 + i);
        struct ox_tensor *past;
        if (!present || present->rank <= d->axis || (size_t)present->dims[d->axis] != had)
            return ox_run_fail(r, err, OX_INPUT, "output %zu of its decoder has not %zu rows",
                               1 + i, had);
        if (same)
            past = ox_tensor_ref(present);
        else
            OX_TRY(ox_decoder_pick(r, present, d->axis, d->spread, g->rows, &past, err));
        OX_TRY(ox_decoder_give(d, d->past + i, past, err));
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
        OX_TRY(carry_past(r, g, d, from, err));
        OX_TRY(d->feed(r, g, d, err));
    }
    for (size_t i = 0; i < d->n_out; i++) {
        ox_datum_release(d->out[i]);
        d->out[i] = NULL;
    }
    OX_TRY(r->subgraph(r, d->steps ? d->graph : d->first, d->in, d->n_in, d->out, d->n_out, err));
    OX_TRY(read_scores(r, g, d, err));
    d->steps++;
    return OX_OK;
}

void ox_decoder_close(struct ox_decoder *d)
{
    for (size_t i = 0; d->in && i < d->n_in; i++)
        ox_datum_release(d->in[i]);
    for (size_t i = 0; d->out && i < d->n_out; i++)
        ox_datum_release(d->out[i]);
}

/* ---- Like GPT-2's ------------------------------------------------------------------------------------------------- */

static enum ox_status feed_token(struct ox_run *r, const struct ox_generation *g,
                                 struct ox_decoder *d, struct ox_error *err)
{
    const size_t columns = g->length, fresh = columns - g->prompt;
    const int64_t one[] = {(int64_t)g->rows, 1}, all[] = {one[0], (int64_t)columns};
    struct ox_tensor *ids, *places, *mask;
    OX_TRY(ox_run_tensor(r, OX_INT32, 2, one, &ids, err));
    for (size_t row = 0; row < g->rows; row++)
        ((int32_t *)ids->data)[row] = g->ids[row * g->longest + columns - 1];
    OX_TRY(ox_decoder_give(d, IDS, ids, err));
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
    for (size_t i = 0; i < d->n_past; i++) {
        const struct ox_value *value = d->first->inputs[d->past + i];
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
        OX_TRY(ox_decoder_give(d, d->past + i, past, err));
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
    d->n_out = d->graph->n_outputs;
    d->in = ox_run_scratch(r, d->n_in + 1, sizeof(struct ox_datum *), err);
    d->out = ox_run_scratch(r, d->n_out + 1, sizeof(struct ox_datum *), err);
    return d->in && d->out ? OX_OK : OX_NO_MEMORY;
}

/* The rows start with the tokens of the prompt. */
static enum ox_status open_rows(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                                struct ox_error *err)
{
    const struct ox_tensor *ids = ox_run_in(r, 0);
    size_t all;
    if (ids->rank != 2 || ids->dtype != OX_INT32 || ids->dims[1] < 1)
        return ox_run_fail(r, err, OX_INPUT,
                           "input_ids has rank %u or no token, not [batch, sequence] of int32",
                           ids->rank);
    g->batch = (size_t)ids->dims[0];
    g->prompt = g->length = (size_t)ids->dims[1];
    if (g->prompt >= g->longest)
        return ox_run_fail(r, err, OX_INPUT, "max_length is %zu, input_ids has %zu already",
                           g->longest, g->prompt);
    if (OX_MUL_OVERFLOWS(g->batch, g->beams, &g->rows) ||
        OX_MUL_OVERFLOWS(g->rows, g->longest, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the sequences are too many");
    g->ids = ox_run_scratch(r, all + 1, sizeof *g->ids, err);
    d->spread = ox_run_scratch(r, g->rows + 1, sizeof *d->spread, err);
    if (!g->ids || !d->spread)
        return OX_NO_MEMORY;
    for (size_t row = 0; row < g->rows; row++)
        memcpy(g->ids + row * g->longest, (const int32_t *)ids->data + row / g->beams * g->prompt,
               g->prompt * sizeof *g->ids);
    return OX_OK;
}

enum ox_status ox_decoder_open(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                               struct ox_error *err)
{
    const int64_t type = ox_run_int(r, "model_type", 0);
    *d = (struct ox_decoder){.axis = 1, .past = FIRST_PAST, .feed = feed_token};
    OX_TRY(open_graphs(r, d, err));
    if (type != 0)
        return ox_run_fail(r, err, OX_UNSUPPORTED,
                           "model_type %" PRId64 " is not served: 0 (a decoder alone)", type);
    if (d->n_in < FIRST_PAST || d->n_out != d->n_in - FIRST_PAST + 1)
        return ox_run_fail(r, err, OX_UNSUPPORTED,
                           "a decoder of %zu inputs and %zu outputs: it takes input_ids, "
                           "position_ids, attention_mask and pasts, and gives logits and as many "
                           "presents",
                           d->n_in, d->n_out);
    d->n_past = d->n_in - FIRST_PAST;
    OX_TRY(open_rows(r, g, d, err));
    OX_TRY(feed_prompt(r, g, d, err));
    return feed_no_past(r, g, d, err);
}
