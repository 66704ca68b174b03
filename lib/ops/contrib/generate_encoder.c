/* Generation with an encoder before the decoder (com.microsoft), like T5's and Whisper's. The encoder gives keys and values to attend to; where
 * it takes the decoder's first tokens too, as older exporters have it, also what the decoder would make of them. Inputs and outputs are
 * known by their names: past_X is what the step before gave as present_X. */
#include <string.h>

#include "ops/contrib/generate.h"

#define IDS "input_ids"
#define MASK "encoder_attention_mask"
#define HIDDEN "encoder_hidden_states"

static bool is_name(const struct ox_value *value, const char *name)
{
    return value && value->name && !strcmp(value->name, name);
}

/* OX_DECODER_OTHER: there is none. */
static int64_t output_named(const struct ox_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_outputs; i++)
        if (is_name(graph->outputs[i], name))
            return (int64_t)i;
    return OX_DECODER_OTHER;
}

/* The output that becomes an input of the next step: past_X of present_X, the encoder's states of themselves. */
static int64_t output_for(const struct ox_graph *graph, const struct ox_value *input)
{
    static const char past[] = "past_", present[] = "present_";
    const char *name = input && input->name ? input->name : "";
    if (strncmp(name, past, sizeof past - 1) != 0)
        return !strcmp(name, HIDDEN) ? output_named(graph, name) : OX_DECODER_OTHER;
    for (size_t i = 0; i < graph->n_outputs; i++) {
        const struct ox_value *value = graph->outputs[i];
        if (value && value->name && !strncmp(value->name, present, sizeof present - 1) &&
            !strcmp(value->name + sizeof present - 1, name + sizeof past - 1))
            return (int64_t)i;
    }
    return OX_DECODER_OTHER;
}

static enum ox_status unknown_input(struct ox_run *r, const char *graph,
                                    const struct ox_value *value, struct ox_error *err)
{
    return ox_run_fail(r, err, OX_UNSUPPORTED,
                       "input '%.128s' of its %s is none that is known: names are those of "
                       "onnxruntime's transformers",
                       value && value->name ? value->name : "", graph);
}

static enum ox_status feed_last(struct ox_run *r, const struct ox_generation *g,
                                struct ox_decoder *d, struct ox_error *err)
{
    return ox_decoder_put_last(r, g, d, 0, err);
}

/* Which tokens each row begins with: the same one, or those of an input. */
static enum ox_status read_start(struct ox_run *r, struct ox_generation *g, bool from_input,
                                 const int32_t **prompt, struct ox_error *err)
{
    const struct ox_tensor *given =
        from_input && g->at->decoder_ids ? ox_run_in(r, g->at->decoder_ids) : NULL;
    if (given && (given->rank != 2 || (size_t)given->dims[0] != g->batch || given->dims[1] < 1))
        return ox_run_fail(r, err, OX_INPUT, "decoder_input_ids is not [%zu, tokens]", g->batch);
    g->prompt = given ? (size_t)given->dims[1] : 1;
    if (given) {
        *prompt = given->data;
        return OX_OK;
    }
    if (g->start < 0)
        return ox_run_fail(r, err, OX_INPUT, "there is no decoder_start_token_id");
    int32_t *ids = ox_run_scratch(r, g->batch + 1, sizeof *ids, err);
    for (size_t i = 0; ids && i < g->batch; i++)
        ids[i] = g->start;
    *prompt = ids;
    return ids ? OX_OK : OX_NO_MEMORY;
}

/* 1 where the encoder's input is no padding before the first token. */
static enum ox_status read_mask(struct ox_run *r, const struct ox_generation *g,
                                struct ox_datum **out, struct ox_error *err)
{
    const struct ox_tensor *ids = ox_run_in(r, 0);
    struct ox_tensor *mask;
    if (g->at->attention_mask && ox_run_has(r, g->at->attention_mask)) {
        const struct ox_datum *given = r->in[g->at->attention_mask];
        if (given->tensor->n != ids->n)
            return ox_run_fail(r, err, OX_INPUT,
                               "attention_mask does not have the shape of input_ids");
        *out = ox_datum_ref(given);
        return OX_OK;
    }
    if (ids->dtype != OX_INT32)
        return ox_run_fail(r, err, OX_INPUT, "input_ids are no tokens, and need an attention_mask");
    OX_TRY(ox_run_tensor(r, OX_INT32, ids->rank, ids->dims, &mask, err));
    const size_t length = g->batch ? ids->n / g->batch : 0;
    bool begun = false;
    for (size_t i = 0; i < ids->n; i++) {
        begun = (begun && i % length) || ((const int32_t *)ids->data)[i] != g->pad;
        ((int32_t *)mask->data)[i] = begun;
    }
    enum ox_status status = ox_datum_of_tensor(out, mask, err);
    ox_tensor_release(mask);
    return status;
}

/* Runs the encoder: d->out are its outputs. */
static enum ox_status encode(struct ox_run *r, struct ox_decoder *d, const struct ox_graph *encoder,
                             struct ox_datum *mask, struct ox_datum *start, struct ox_error *err)
{
    struct ox_datum **in = ox_run_scratch(r, encoder->n_inputs + 1, sizeof(struct ox_datum *), err);
    if (!in)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < encoder->n_inputs; i++) {
        const struct ox_value *value = encoder->inputs[i];
        if (is_name(value, "encoder_input_ids"))
            in[i] = r->in[0];
        else if (is_name(value, MASK))
            in[i] = mask;
        else if (is_name(value, "decoder_input_ids"))
            in[i] = start;
        else
            return unknown_input(r, "encoder", value, err);
    }
    return r->subgraph(r, encoder, in, encoder->n_inputs, d->out, encoder->n_outputs, err);
}

/* Keys or values of no token: [batch, heads, 0, size], with the heads of what is attended to. */
static enum ox_status put_empty(struct ox_run *r, const struct ox_generation *g,
                                struct ox_decoder *d, size_t i, struct ox_error *err)
{
    enum { RANK = 4 };
    const struct ox_tensor *like = NULL;
    for (size_t k = 0; k < d->n_in && !like; k++)
        if (d->after[k] == OX_DECODER_FIXED && !is_name(d->graph->inputs[k], MASK) && d->in[k] &&
            d->in[k]->tensor && d->in[k]->tensor->rank == RANK)
            like = d->in[k]->tensor;
    if (!like)
        return ox_run_fail(r, err, OX_INPUT,
                           "its encoder gives no keys [batch, heads, tokens, size]");
    const int64_t dims[RANK] = {(int64_t)g->batch, like->dims[1], 0, like->dims[3]};
    struct ox_tensor *past;
    OX_TRY(ox_run_tensor(r, like->dtype, RANK, dims, &past, err));
    return ox_decoder_give(d, i, past, err);
}

/* Where each input of the decoder comes from. */
static enum ox_status connect(struct ox_run *r, struct ox_decoder *d,
                              const struct ox_graph *encoder, struct ox_datum *mask,
                              struct ox_error *err)
{
    for (size_t i = 0; i < d->n_in; i++) {
        const struct ox_value *value = d->graph->inputs[i];
        if (is_name(value, IDS) && i == 0)
            continue;
        const int64_t own = output_for(d->graph, value), of = output_for(encoder, value);
        d->after[i] = own == OX_DECODER_OTHER ? OX_DECODER_FIXED : own;
        d->after_first[i] = d->is_run ? of : d->after[i];
        if (is_name(value, MASK)) {
            d->in[i] = ox_datum_ref(mask);
            d->after_first[i] = OX_DECODER_FIXED;
        } else if (d->after_first[i] == OX_DECODER_OTHER ||
                   (own == OX_DECODER_OTHER && of == OX_DECODER_OTHER)) {
            return unknown_input(r, "decoder", value, err);
        } else if (!d->is_run && own == OX_DECODER_OTHER) {
            d->in[i] = ox_datum_ref(d->out[of]);
        }
    }
    return OX_OK;
}

static enum ox_status open_with(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                                const struct ox_graph *encoder, struct ox_datum *mask,
                                const int32_t *prompt, struct ox_error *err)
{
    OX_TRY(ox_decoder_put(r, d, 0, g->batch, g->prompt, prompt, err));
    OX_TRY(encode(r, d, encoder, mask, d->in[0], err));
    OX_TRY(connect(r, d, encoder, mask, err));
    for (size_t i = 0; !d->is_run && i < d->n_in; i++)
        if (d->after[i] >= 0)
            OX_TRY(put_empty(r, g, d, i, err));
    return OX_OK;
}

enum ox_status ox_decoder_open_encoded(struct ox_run *r, struct ox_generation *g,
                                       struct ox_decoder *d, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const struct ox_graph *encoder = ox_run_graph(r, "encoder");
    const int32_t *prompt = NULL;
    struct ox_datum *mask = NULL;
    if (!encoder)
        return ox_run_fail(r, err, OX_INPUT, "attribute 'encoder' holds no graph");
    if (x->rank < 2 || d->n_in == 0 || !is_name(d->graph->inputs[0], IDS))
        return ox_run_fail(r, err, OX_INPUT,
                           "input_ids has rank %u, or the first input of its decoder is not " IDS,
                           x->rank);
    g->batch = (size_t)x->dims[0];
    d->feed = feed_last;
    d->is_run = output_named(encoder, "logits") == 0;
    d->first = d->is_run ? encoder : d->graph;
    const size_t most = encoder->n_outputs > d->n_out ? encoder->n_outputs : d->n_out;
    d->out = ox_run_scratch(r, most + 1, sizeof(struct ox_datum *), err);
    d->after_first = ox_run_scratch(r, d->n_in + 1, sizeof *d->after_first, err);
    if (!d->out || !d->after_first)
        return OX_NO_MEMORY;
    d->most_out = most;
    d->after_first[0] = OX_DECODER_OTHER;
    OX_TRY(read_start(r, g, ox_run_int(r, "model_type", 0) == 2, &prompt, err));
    OX_TRY(ox_decoder_open_rows(r, g, d, prompt, err));
    for (size_t i = 0; i < d->n_in; i++)
        if (is_name(d->graph->inputs[i], MASK) && !mask)
            OX_TRY(read_mask(r, g, &mask, err));
    for (size_t i = 0; i < encoder->n_inputs; i++)
        if (is_name(encoder->inputs[i], MASK) && !mask)
            OX_TRY(read_mask(r, g, &mask, err));
    enum ox_status status = open_with(r, g, d, encoder, mask, prompt, err);
    ox_datum_release(mask);
    return status;
}
