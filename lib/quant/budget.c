/* The fewest nodes left in float that a budget of accuracy needs: each node's worth is measured once, then the most worthy go first. */
#include "quant/budget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A node and what the loss would be without it on integers. */
struct candidate {
    const char *name;
    double loss;
};

static int by_loss(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->loss != y->loss)
        return x->loss < y->loss ? -1 : 1;
    return strcmp(x->name, y->name);
}

double ox_budget_loss(const struct ox_judged *judged, enum ox_quant_metric metric, bool sure)
{
    const double more = sure ? 1 + ox_judged_error(judged) : 1; /* of the noise */
    switch (metric) {
    case OX_QUANT_COSINE: /* half of what the noise is of the signal */
        return (1 - judged->cosine) * more;
    case OX_QUANT_TOP1: /* answers are counted */
        return judged->top1_changed;
    default:
        return -judged->sqnr_db + 10 * log10(more);
    }
}

/* In dB more is better: the budget is the least that is wanted. */
static double most_loss(const struct ox_quant_options *options)
{
    return options->metric == OX_QUANT_SQNR ? -options->max_drop : options->max_drop;
}

static enum ox_status collect(struct ox_arena *arena, const struct ox_quant_report *report,
                              struct candidate **out, size_t *n, struct ox_error *err)
{
    size_t rows = ox_quant_report_n_nodes(report);
    *out = ox_arena_array(arena, rows + 1, sizeof **out);
    *n = 0;
    if (!*out)
        return ox_no_memory(err);
    for (size_t i = 0; i < rows; i++) {
        const struct ox_quant_node *node = ox_quant_report_node(report, i);
        if (!node->quantized)
            continue;
        (*out)[*n].name = ox_arena_strdup(arena, node->name);
        if (!(*out)[(*n)++].name)
            return ox_no_memory(err);
    }
    return OX_OK;
}

enum ox_status ox_budget_meet(struct ox_arena *arena, const struct ox_quant_options *options,
                              const struct ox_quant_report *report,
                              enum ox_status (*attempt)(void *arg, const char *const *exclude,
                                                        size_t n_exclude, struct ox_judged *judged,
                                                        struct ox_error *err),
                              void *arg, const char ***excluded, size_t *n_excluded,
                              struct ox_judged *met_by, bool *met, struct ox_error *err)
{
    struct candidate *candidates;
    size_t n, n_kept = options->n_exclude;
    struct ox_judged judged;
    OX_TRY(collect(arena, report, &candidates, &n, err));
    const char **names = ox_arena_array(arena, n_kept + n + 1, sizeof *names);
    if (!names)
        return ox_no_memory(err);
    if (n_kept)
        memcpy(names, options->exclude, n_kept * sizeof *names);
    for (size_t i = 0; i < n; i++) {
        names[n_kept] = candidates[i].name;
        OX_TRY(attempt(arg, names, n_kept + 1, &judged, err));
        candidates[i].loss = ox_budget_loss(&judged, options->metric, false);
    }
    qsort(candidates, n, sizeof *candidates, by_loss);
    size_t used = 0;
    OX_TRY(attempt(arg, names, n_kept, &judged, err));
    *met = ox_budget_loss(&judged, options->metric, true) <= most_loss(options);
    while (!*met && used < n) {
        names[n_kept + used] = candidates[used].name;
        used++;
        OX_TRY(attempt(arg, names, n_kept + used, &judged, err));
        *met = ox_budget_loss(&judged, options->metric, true) <= most_loss(options);
    }
    *met_by = judged;
    *excluded = names;
    *n_excluded = n_kept + used;
    return OX_OK;
}
