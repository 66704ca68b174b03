/* A quantized model against the one that it was made of, in step over samples. */
#include <stdlib.h>

#include "common/env.h"
#include "model/model.h"
#include "quant/samples.h"
#include "tensor/tensor.h"

struct debug {
    struct ox_model *a, *b; /* quantized and original */
    struct ox_samples_from from;
    uint64_t most; /* samples; 0: all */
    struct ox_parity *parity;
    struct ox_env *env;
    const struct ox_session *quantized, *original;
    size_t n_inputs; /* of the quantized model */
    struct ox_datum **inputs, **a_outputs, **b_outputs;
};

static void release_all(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; data && i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}

static enum ox_status run_one(struct debug *d, struct ox_datum *const *feed, struct ox_error *err)
{
    enum ox_status status = ox_parity_feed(d->env, d->original, feed, d->quantized, d->inputs, err);
    if (status == OX_OK)
        status = ox_parity_run(d->parity, d->inputs, feed, d->a_outputs, d->b_outputs, err);
    release_all(d->inputs, d->n_inputs);
    release_all(d->a_outputs, ox_session_n_outputs(d->quantized));
    release_all(d->b_outputs, ox_session_n_outputs(d->original));
    return status;
}

static enum ox_status run_all(struct debug *d, struct ox_samples_batch *batch, struct ox_error *err)
{
    struct ox_samples *samples;
    OX_TRY(ox_samples_open(&samples, d->env, d->original, &d->from, batch, err));
    enum ox_status status = OX_OK;
    uint64_t n = 0;
    for (; status == OX_OK && (d->most == 0 || n < d->most); n++) {
        struct ox_datum *const *feed;
        bool more = false;
        status = ox_env_poll(d->env, err);
        if (status == OX_OK)
            status = ox_samples_next(samples, &feed, &more, err);
        if (status != OX_OK || !more)
            break;
        status = run_one(d, feed, err);
        batch->wider = ox_samples_wider(samples, status);
    }
    if (status == OX_OK && n == 0)
        status = ox_fail(err, OX_INPUT, "no sample was found");
    ox_samples_release(samples);
    return status;
}

static enum ox_status compare(void *arg, struct ox_samples_batch *batch, struct ox_error *err)
{
    const struct ox_parity_options options = {.own = true,
                                              .metrics.tolerance = {.rtol = 1e-3, .atol = 1e-5}};
    struct debug *d = arg;
    enum ox_status status = OX_OK;
    ox_parity_release(d->parity); /* of a batch that did not run */
    d->parity = NULL;
    OX_TRY(ox_parity_new(&d->parity, d->a, d->b, &options, err));
    d->quantized = ox_parity_session(d->parity, 0);
    d->original = ox_parity_session(d->parity, 1);
    d->n_inputs = ox_session_n_inputs(d->quantized);
    d->inputs = calloc(d->n_inputs + 1, sizeof *d->inputs);
    d->a_outputs = calloc(ox_session_n_outputs(d->quantized) + 1, sizeof *d->a_outputs);
    d->b_outputs = calloc(ox_session_n_outputs(d->original) + 1, sizeof *d->b_outputs);
    if (!d->inputs || !d->a_outputs || !d->b_outputs)
        status = ox_no_memory(err);
    if (status == OX_OK)
        status = run_all(d, batch, err);
    free(d->inputs);
    free(d->a_outputs);
    free(d->b_outputs);
    return status;
}

enum ox_status ox_quant_debug(struct ox_parity **out, struct ox_model *quantized,
                              struct ox_model *original, const char *const *samples,
                              size_t n_samples, uint64_t most, struct ox_error *err)
{
    enum ox_first_axis *first = ox_first_axes(original);
    if (!first)
        return ox_no_memory(err);
    struct debug d = {.a = quantized,
                      .b = original,
                      .from = {samples, n_samples, first},
                      .most = most,
                      .env = original->env};
    enum ox_status status = ox_samples_try(compare, &d, err);
    free(first);
    if (status == OX_OK)
        *out = d.parity;
    else
        ox_parity_release(d.parity);
    return status;
}
