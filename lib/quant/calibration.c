/* The table of a calibration: what was seen of each tensor, and the ranges that follow. */
#include <stdlib.h>
#include <string.h>

#include "quant/calibrate.h"

enum ox_status ox_calibration_new(struct ox_calibration **out, struct ox_env *env,
                                  struct ox_error *err)
{
    struct ox_calibration *c = calloc(1, sizeof *c);
    if (!c)
        return ox_no_memory(err);
    c->env = env;
    ox_strmap_init(&c->index);
    *out = c;
    return OX_OK;
}

void ox_calibration_forget(struct ox_calibration *c)
{
    for (size_t i = 0; i < c->n_tensors; i++) {
        ox_stats_release(&c->tensors[i].stats);
        free(c->tensors[i].name);
        free(c->tensors[i].abs);
    }
    for (size_t i = 0; i < c->n_kept; i++)
        ox_kept_release(&c->kept[i], c->n_inputs);
    free(c->tensors);
    ox_strmap_release(&c->index);
    c->tensors = NULL;
    c->n_tensors = c->cap_tensors = c->n_kept = 0;
}

void ox_calibration_release(struct ox_calibration *c)
{
    if (!c)
        return;
    ox_calibration_forget(c);
    for (size_t i = 0; i < c->n_inputs; i++)
        free(c->inputs[i]);
    free(c->inputs);
    free(c);
}

struct ox_calibrated *ox_calibration_find(const struct ox_calibration *c, const char *name)
{
    uint32_t at = ox_strmap_find(&c->index, name, strlen(name));
    return at == OX_STRMAP_NONE ? NULL : &c->tensors[at];
}

struct ox_calibrated *ox_calibration_tensor_of(struct ox_calibration *c, const char *name, size_t n)
{
    uint32_t at = ox_strmap_find(&c->index, name, n);
    if (at != OX_STRMAP_NONE)
        return &c->tensors[at];
    if (c->n_tensors == c->cap_tensors) {
        size_t cap = c->cap_tensors ? 2 * c->cap_tensors : 64;
        struct ox_calibrated *grown = realloc(c->tensors, cap * sizeof *grown);
        if (!grown)
            return NULL;
        c->tensors = grown;
        c->cap_tensors = cap;
    }
    char *copy = strndup(name, n);
    at = (uint32_t)c->n_tensors;
    if (!copy || !ox_strmap_add(&c->index, copy, n, &at, NULL)) {
        free(copy);
        return NULL;
    }
    c->tensors[at] = (struct ox_calibrated){.name = copy};
    return &c->tensors[c->n_tensors++];
}

const char *ox_calibration_guessed(const struct ox_calibration *c)
{
    return c->guessed ? c->inputs[c->guessed - 1] : NULL;
}

uint64_t ox_calibration_samples(const struct ox_calibration *c)
{
    return c->n_samples;
}

size_t ox_calibration_n_tensors(const struct ox_calibration *c)
{
    return c->n_tensors;
}

const char *ox_calibration_tensor(const struct ox_calibration *c, size_t i)
{
    return c->tensors[i].name;
}

struct ox_qrange ox_calibrated_range(struct ox_calibrated *seen, enum ox_quant_method method,
                                     const struct ox_quant_options *options, unsigned n_levels)
{
    struct ox_chosen *memo = &seen->chosen[method];
    const bool symmetric = options->symmetric_activation;
    if (memo->known && memo->symmetric == symmetric && memo->bins == options->bins &&
        memo->percentile == options->percentile && memo->n_levels == n_levels)
        return memo->range;
    struct ox_stats stats = seen->stats;
    uint64_t bins[2 * OX_BINS];
    memcpy(bins, seen->stats.bins, sizeof bins);
    stats.bins = bins;
    if (options->bins)
        ox_stats_coarsen(&stats, options->bins);
    *memo = (struct ox_chosen){
        true,
        symmetric,
        options->percentile,
        options->bins,
        n_levels,
        ox_range_choose(&stats, method, options->percentile, n_levels, symmetric)};
    return memo->range;
}

bool ox_calibration_range(const struct ox_calibration *c, size_t i, enum ox_quant_method method,
                          const struct ox_quant_options *options, double *least, double *most)
{
    struct ox_calibrated *tensor = &c->tensors[i];
    if (!tensor->given && !tensor->stats.bins)
        return false;
    struct ox_qrange range = {tensor->rmin, tensor->rmax};
    if (!tensor->given)
        range = ox_calibrated_range(tensor, method, options, 256);
    *least = (double)range.least;
    *most = (double)range.most;
    return true;
}
