/* Which decoder there is, and what its first step takes: behind an encoder, or alone like GPT-2's, which takes tokens, their places, a mask of
 * all tokens so far and past keys and values, and gives scores and the keys and values with the new ones. */
#include <inttypes.h>
#include <string.h>

#include "ops/contrib/generate.h"

enum { IDS, PLACES, MASK, FIRST_PAST, PAST_RANK = 5 };

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
        OX_TRY(ox_run_tensor(r, ox_run_dtype(r, type->elem), PAST_RANK, dims, &past, err));
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
