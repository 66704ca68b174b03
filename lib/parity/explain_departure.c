/* Why a value departs: the part of both graphs where it happens is cut out, and looked at from all sides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity/causes.h"

/* What the walk has seen already: whose error it is. */
static void explain_origin(struct ox_explaining *e)
{
    struct ox_metrics all, own;
    ox_meter_read(e->pair->meter, &all);
    if (!e->pair->own)
        return;
    ox_meter_read(e->pair->own, &own);
    if (!own.agree && isnan(own.max_abs))
        ox_cause_add(e->causes, 20, "own",
                     "the difference arises in this node: fed B's inputs, A's node departs too");
    else if (!own.agree)
        ox_cause_add(e->causes, 20, "own",
                     "the difference arises in this node: fed B's inputs, A's "
                     "node is off by %.3g",
                     own.max_abs);
    else
        ox_cause_add(e->causes, 60, "inherited",
                     "fed B's inputs, A's node is off by %.3g only: what departs here has come in "
                     "with its inputs, each within the tolerance, and was made larger",
                     own.max_abs);
}

/* What was passed by on the way here. */
static void explain_rounding(struct ox_explaining *e)
{
    const struct ox_parity *p = e->parity;
    if (p->n_rounded)
        ox_cause_add(e->causes, 10, "rounded-before",
                     "%zu %s by no more than 16-bit floats round, the first in node '%.200s'",
                     p->n_rounded, p->n_rounded == 1 ? "other value departs" : "others depart",
                     p->pairs[p->compared[p->rounded]].b_node);
}

static enum ox_status start_explaining(struct ox_explaining *e, struct ox_env *env,
                                       struct ox_error *err)
{
    e->causes = calloc(1, sizeof *e->causes);
    if (!e->causes)
        return ox_no_memory(err);
    ox_arena_init(&e->causes->arena, ox_env_budget(env));
    return OX_OK;
}

static enum ox_status finish_explaining(struct ox_explaining *e, enum ox_status status,
                                        struct ox_parity_causes **out, struct ox_error *err)
{
    if (status == OX_OK && e->causes->failed)
        status = ox_no_memory(err);
    ox_datum_release(e->a_out);
    ox_datum_release(e->b_out);
    if (status == OX_OK)
        *out = e->causes;
    else
        ox_parity_causes_release(e->causes);
    return status;
}

enum ox_status ox_parity_explain(struct ox_parity_causes **out, struct ox_parity *parity, size_t i,
                                 struct ox_datum *const *a_inputs, struct ox_datum *const *b_inputs,
                                 struct ox_error *err)
{
    if (i >= parity->n_compared)
        return ox_fail(err, OX_USAGE, "there is no layer %zu", i);
    const struct ox_pair *pair = &parity->pairs[parity->compared[i]];
    struct ox_explaining e = {
        .parity = parity, .pair = pair, .a_inputs = a_inputs, .b_inputs = b_inputs};
    enum ox_status status;
    OX_TRY(start_explaining(&e, parity->env, err));
    ox_region_cut(&e.a, parity, true, pair->a);
    ox_region_cut(&e.b, parity, false, pair->b);
    OX_TRY_CLEANUP(ox_parity_fetch(parity, pair, a_inputs, b_inputs, &e.a_out, &e.b_out, err));
    explain_origin(&e);
    explain_rounding(&e);
    OX_TRY_CLEANUP(ox_explain_nodes(&e, err));
    OX_TRY_CLEANUP(ox_explain_values(&e, err));
    OX_TRY_CLEANUP(ox_explain_nonfinite(&e, err));
    status = ox_explain_condition(&e, err);
cleanup:
    return finish_explaining(&e, status, out, err);
}

/* What the numbers alone tell of a value whose inside can't be seen. */
static enum ox_status explain_unseen(struct ox_explaining *e, struct ox_error *err)
{
    struct ox_datum *own = NULL;
    ox_explain_random(e, &e->b, "the model");
    OX_TRY(ox_explain_dropout(e, err));
    OX_TRY(ox_explain_values(e, err));
    OX_TRY(ox_explain_products(e, err));
    /* How far our own value moves: the other one's inputs can't be nudged inside. */
    OX_TRY(ox_explain_fetch(e, false, &e->pair->b->name, 1, &own, err));
    if (!own)
        return OX_OK;
    ox_datum_release(e->b_out);
    e->b_out = own;
    return ox_explain_condition(e, err);
}

enum ox_status ox_parity_explain_value(struct ox_parity_causes **out, struct ox_model *model,
                                       const char *value, const struct ox_datum *a,
                                       const struct ox_datum *b, struct ox_datum *const *inputs,
                                       const struct ox_parity_options *options,
                                       struct ox_error *err)
{
    struct ox_parity *parity = NULL;
    struct ox_explaining e = {.a_inputs = inputs, .b_inputs = inputs};
    enum ox_status status;
    OX_TRY(start_explaining(&e, model->env, err));
    OX_TRY_CLEANUP(ox_parity_new(&parity, model, model, options, err));
    e.parity = parity;
    uint32_t at = ox_strmap_find(&parity->walkers[OX_ROLE_B].pair_of, value, strlen(value));
    if (at == OX_STRMAP_NONE) {
        status = ox_fail(err, OX_USAGE, "the model makes no value '%s'", value);
        goto cleanup;
    }
    struct ox_pair *pair = &parity->pairs[at];
    e.pair = pair;
    ox_region_cut(&e.b, parity, false, pair->b);
    if (!pair->meter)
        OX_TRY_CLEANUP(ox_meter_new(&pair->meter, parity->env, &parity->options.metrics, err));
    OX_TRY_CLEANUP(ox_meter_add(pair->meter, a, b, err));
    e.a_out = ox_datum_ref(a);
    e.b_out = ox_datum_ref(b);
    status = explain_unseen(&e, err);
cleanup:
    status = finish_explaining(&e, status, out, err);
    ox_parity_release(parity);
    return status;
}
