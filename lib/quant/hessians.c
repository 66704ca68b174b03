#include "quant/hessians.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/strmap.h"
#include "quant/samples.h"
#include "tensor/tensor.h"

struct watch {
    struct ox_env *env;
    struct ox_strmap index;
    struct ox_hessian *hessians;
    size_t n_hessians;
    struct ox_session *session;
    struct ox_samples_from from;
    struct ox_datum **outputs;
};

/* Four rows at a time: each element of the sums is loaded once for all of them. */
static void add_rows(struct ox_hessian *h, const float *x, size_t n_rows)
{
    const size_t k = h->k;
    for (size_t i = 0; i < k; i++) {
        double *to = h->sums + i * k;
        size_t r = 0;
        for (; r + 4 <= n_rows; r += 4) {
            const float *a = x + r * k, *b = a + k, *c = b + k, *d = c + k;
            const double ai = (double)a[i], bi = (double)b[i], ci = (double)c[i], di = (double)d[i];
            for (size_t j = i; j < k; j++)
                to[j] += (ai * (double)a[j] + bi * (double)b[j]) +
                         (ci * (double)c[j] + di * (double)d[j]);
        }
        for (; r < n_rows; r++) {
            const double xi = (double)x[r * k + i];
            for (size_t j = i; j < k; j++)
                to[j] += xi * (double)x[r * k + j];
        }
    }
}

static enum ox_status on_value(void *arg, const char *name, const struct ox_datum *value,
                               struct ox_error *err)
{
    struct watch *watch = arg;
    uint32_t at = ox_strmap_find(&watch->index, name, strlen(name));
    const struct ox_tensor *tensor = at == OX_STRMAP_NONE ? NULL : ox_datum_get_tensor(value);
    if (!tensor || !ox_dtype_is_float(tensor->dtype) || !tensor->rank)
        return OX_OK;
    struct ox_hessian *h = &watch->hessians[at];
    if ((size_t)tensor->dims[tensor->rank - 1] != h->k || !h->k)
        return OX_OK;
    if (!h->sums)
        h->sums = calloc(h->k * h->k, sizeof *h->sums);
    if (!h->sums)
        return ox_no_memory(err);
    struct ox_tensor *real;
    OX_TRY(ox_tensor_convert(&real, ox_env_budget(watch->env), tensor, OX_FLOAT32, false, err));
    add_rows(h, real->data, real->n / h->k);
    h->rows += real->n / h->k;
    ox_tensor_release(real);
    return OX_OK;
}

static enum ox_status run_all(void *arg, struct ox_samples_batch *batch, struct ox_error *err)
{
    struct watch *watch = arg;
    struct ox_session *session = watch->session;
    struct ox_datum **outputs = watch->outputs;
    struct ox_samples *samples;
    for (size_t i = 0; i < watch->n_hessians; i++) {
        free(watch->hessians[i].sums);
        watch->hessians[i].sums = NULL;
        watch->hessians[i].rows = 0;
    }
    OX_TRY(ox_samples_open(&samples, watch->env, session, &watch->from, batch, err));
    enum ox_status status = OX_OK;
    for (bool first = true; status == OX_OK; first = false) {
        struct ox_datum *const *feed;
        bool more = false;
        status = ox_env_poll(watch->env, err);
        if (status == OX_OK)
            status = ox_samples_next(samples, &feed, &more, err);
        if (status != OX_OK || !more)
            break;
        for (size_t i = 0; i < ox_session_n_inputs(session) && status == OX_OK; i++) {
            if (feed[i])
                status = on_value(watch, ox_session_input_name(session, i), feed[i], err);
        }
        if (status == OX_OK)
            status = ox_session_run(session, feed, outputs, err);
        for (size_t i = 0; i < ox_session_n_outputs(session); i++) {
            ox_datum_release(outputs[i]);
            outputs[i] = NULL;
        }
        batch->wider = first ? ox_samples_wider(samples, status) : 0;
        ox_samples_blame(samples, status, err);
    }
    ox_samples_release(samples);
    return status;
}

enum ox_status ox_hessians_find(struct ox_hessian *hessians, size_t n, struct ox_model *model,
                                const char *const *paths, size_t n_paths, struct ox_error *err)
{
    struct watch watch = {
        .env = model->env, .hessians = hessians, .n_hessians = n, .from = {paths, n_paths, NULL}};
    struct ox_run_options run = {.level = 2, .on_value = on_value, .value_arg = &watch};
    const char **watched = calloc(n + 1, sizeof *watched);
    enum ox_first_axis *first = ox_first_axes(model);
    enum ox_status status = OX_OK;
    watch.from.first = first;
    ox_strmap_init(&watch.index);
    OX_TRY_CLEANUP(watched && first ? OX_OK : ox_no_memory(err));
    for (size_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)i;
        bool is_new;
        watched[i] = hessians[i].name;
        if (!ox_strmap_add(&watch.index, hessians[i].name, strlen(hessians[i].name), &at, &is_new))
            OX_TRY_CLEANUP(ox_no_memory(err));
    }
    run.watched = watched;
    run.n_watched = n;
    OX_TRY_CLEANUP(ox_session_new(&watch.session, model, &run, err));
    watch.outputs = calloc(ox_session_n_outputs(watch.session) + 1, sizeof(struct ox_datum *));
    OX_TRY_CLEANUP(watch.outputs ? OX_OK : ox_no_memory(err));
    OX_TRY_CLEANUP(ox_samples_try(run_all, &watch, err));
cleanup:
    free(watch.outputs);
    free(watched);
    free(first);
    ox_session_release(watch.session);
    ox_strmap_release(&watch.index);
    return status;
}

void ox_hessian_shrink(double *sums, size_t k, uint64_t rows)
{
    double chance = 0, all = 0;
    for (size_t i = 0; i < k; i++) {
        for (size_t j = i + 1; j < k; j++) {
            const double sizes = sums[i * k + i] * sums[j * k + j];
            const double r2 = sizes > 0 ? fmin(sums[i * k + j] * sums[i * k + j] / sizes, 1) : 0;
            chance += (1 - r2) * (1 - r2) / (double)rows;
            all += r2;
        }
    }
    const double keep = all > chance ? 1 - chance / all : 0;
    for (size_t i = 0; i < k; i++) {
        for (size_t j = i + 1; j < k; j++)
            sums[i * k + j] *= keep;
    }
}
