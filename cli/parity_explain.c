/* The first value that departs, and why. */
#include "parity.h"

/* The first output that departs from what is expected; NULL: none does. */
static const struct parity_output *departing(const struct parity *p, struct ox_metrics *metrics)
{
    for (size_t i = 0; i < p->n_outputs; i++) {
        ox_meter_read(p->outputs[i].meter, metrics);
        if (!metrics->agree)
            return &p->outputs[i];
    }
    return NULL;
}

/* Where outputs alone are known: what would make A's agree, on the sample where the first that departs is worst. */
static enum ox_status explain_expected(struct parity *p)
{
    struct run *a = &p->sides[0].run;
    struct parity_wants wants = {0};
    struct ox_metrics metrics;
    struct ox_error err = {0};
    const struct ox_parity_options options = {.a_level = p->sides[0].level,
                                              .saturating = p->args->run.simulate,
                                              .seed = parity_seed(p->sides)};
    const struct parity_output *output = departing(p, &metrics);
    if (!output)
        return OX_OK;
    const uint64_t sample = metrics.worst.found ? metrics.worst.sample : 0;
    enum ox_status status = p->n_samples > 1 ? parity_reload_sample(p, sample) : OX_OK;
    if (status == OX_OK)
        status = parity_take_expected(p, sample, &wants);
    if (status == OX_OK &&
        ox_parity_explain_expected(&p->causes, a->model, a->inputs, wants.items, wants.n, &options,
                                   &p->suspect.n_runs, &err) != OX_OK)
        status = cli_error(p->cli, &err);
    parity_release_wants(&wants);
    if (status == OX_OK && ox_parity_causes_count(p->causes))
        p->suspect.value = output->name;
    return status;
}

enum ox_status parity_explain(struct parity *p)
{
    struct ox_parity_layer layer;
    struct ox_error err = {0};
    if (p->args->bisect && p->n_sides == 1)
        return explain_expected(p);
    if (p->args->bisect && p->n_sides == 2 && !parity_walks(p))
        return parity_bisect_prefixes(p);
    p->first = p->layers ? ox_parity_first(p->layers) : SIZE_MAX;
    if (p->first == SIZE_MAX || !ox_parity_layer(p->layers, p->first, &layer))
        return OX_OK;
    enum ox_status status =
        p->n_samples > 1 ? parity_reload_sample(p, layer.metrics.worst.sample) : OX_OK;
    if (status == OX_OK &&
        ox_parity_explain(&p->causes, p->layers, p->first, p->sides[0].run.inputs,
                          p->sides[1].run.inputs, &err) != OX_OK)
        status = cli_error(p->cli, &err);
    return status;
}

const struct ox_parity_cause *parity_cause(const struct parity *p, size_t i)
{
    const size_t n = ox_parity_causes_count(p->causes);
    if (i < n)
        return ox_parity_causes_at(p->causes, i);
    return i == n && p->ties[0] ? &p->tie : NULL;
}

bool parity_first_layer(const struct parity *p, struct ox_parity_layer *layer)
{
    *layer = (struct ox_parity_layer){
        .b_node = p->suspect.node, .b_op = p->suspect.op_type, .b_name = p->suspect.value};
    return p->suspect.value ||
           (p->first != SIZE_MAX && ox_parity_layer(p->layers, p->first, layer));
}
