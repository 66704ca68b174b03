/* Why outputs are not those expected, where only inputs and outputs are known: what would make them agree is tried. */
#include "parity/expected.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Pairs --------------------------------------------------------------------------------------------------------- */

/* n_outputs: there is none. */
static size_t find_output(const struct ox_expecting *e, const char *name)
{
    size_t i = 0;
    while (i < e->n_outputs && strcmp(ox_session_output_name(e->session, i), name) != 0)
        i++;
    return i;
}

static size_t first_unpaired(const struct ox_expecting *e)
{
    for (size_t i = 0; i < e->n_outputs; i++) {
        size_t k = 0;
        while (k < e->n_pairs && e->pairs[k].output != i)
            k++;
        if (k == e->n_pairs)
            return i;
    }
    return e->n_outputs;
}

static void add_pair(struct ox_expecting *e, size_t output, const struct ox_expected *expected)
{
    e->pairs[e->n_pairs++] =
        (struct ox_expected_pair){.output = output,
                                  .name = ox_session_output_name(e->session, output),
                                  .expected = ox_datum_ref(expected->value),
                                  .metrics = expected->metrics};
}

/* By name; what is left on both sides by place, if it is as many. */
static enum ox_status pair_outputs(struct ox_expecting *e, const struct ox_expected *expected,
                                   size_t n, struct ox_error *err)
{
    size_t n_left = 0, first = n;
    e->pairs = calloc(n + 1, sizeof *e->pairs);
    bool *left = calloc(n + 1, sizeof *left);
    if (!e->pairs || !left) {
        free(left);
        return ox_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        const size_t output = find_output(e, expected[i].name);
        left[i] = output == e->n_outputs;
        if (left[i]) {
            first = n_left++ ? first : i;
            continue;
        }
        add_pair(e, output, &expected[i]);
    }
    if (n_left && n_left == e->n_outputs - e->n_pairs) {
        const size_t output = first_unpaired(e);
        ox_cause_add(e->causes, 96, "outputs-renamed",
                     "A has no output '%.80s': what is expected under names that it does not have "
                     "is taken by place, '%.80s' of A first (--pair '%.80s=%.80s')",
                     expected[first].name, ox_session_output_name(e->session, output),
                     ox_session_output_name(e->session, output), expected[first].name);
        for (size_t i = 0; i < n; i++)
            if (left[i])
                add_pair(e, first_unpaired(e), &expected[i]);
    }
    free(left);
    return OX_OK;
}

static bool same_but_ones(const struct ox_tensor *a, const struct ox_tensor *b)
{
    unsigned i = 0, k = 0;
    for (;;) {
        while (i < a->rank && a->dims[i] == 1)
            i++;
        while (k < b->rank && b->dims[k] == 1)
            k++;
        if (i == a->rank || k == b->rank)
            return i == a->rank && k == b->rank;
        if (a->dims[i++] != b->dims[k++])
            return false;
    }
}

/* Dimensions of 1 that one side alone has hide nothing else. */
static enum ox_status drop_ones(struct ox_expecting *e, struct ox_expected_pair *pair,
                                struct ox_error *err)
{
    const struct ox_tensor *x = ox_datum_get_tensor(e->outputs[pair->output]);
    const struct ox_tensor *y = ox_datum_get_tensor(pair->expected);
    char is[OX_LABEL_SIZE], other[OX_LABEL_SIZE];
    struct ox_tensor *view = NULL;
    struct ox_datum *datum = NULL;
    if (!x || !y || ox_tensor_same_dims(x, y) || !same_but_ones(x, y))
        return OX_OK;
    OX_TRY(ox_tensor_view(&view, y, x->rank, x->dims, err));
    enum ox_status status = ox_datum_of_tensor(&datum, view, err);
    ox_tensor_release(view);
    OX_TRY(status);
    ox_cause_add(e->causes, 94, "output-shape",
                 "'%.80s' is %s, what is expected %s: dimensions of 1 were dropped or added",
                 pair->name, ox_tensor_print_dims(is, sizeof is, x),
                 ox_tensor_print_dims(other, sizeof other, y));
    ox_datum_release(pair->expected);
    pair->expected = datum;
    return OX_OK;
}

/* Whether something departs. */
static enum ox_status measure_pairs(struct ox_expecting *e, bool *departs, struct ox_error *err)
{
    *departs = false;
    for (size_t i = 0; i < e->n_pairs; i++) {
        struct ox_expected_pair *pair = &e->pairs[i];
        struct ox_metrics m;
        OX_TRY(drop_ones(e, pair, err));
        OX_TRY(ox_expecting_compare(e, pair, e->outputs[pair->output], pair->expected, &m, err));
        pair->agrees = m.agree;
        pair->max_abs = m.max_abs;
        *departs = *departs || !m.agree;
    }
    return OX_OK;
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

static enum ox_status start(struct ox_expecting *e, const struct ox_expected *expected, size_t n,
                            bool *departs, struct ox_error *err)
{
    e->causes = calloc(1, sizeof *e->causes);
    if (!e->causes)
        return ox_no_memory(err);
    ox_arena_init(&e->causes->arena, ox_env_budget(e->env));
    OX_TRY(ox_expecting_open(e, e->model, &e->session, err));
    e->n_inputs = ox_session_n_inputs(e->session);
    e->n_outputs = ox_session_n_outputs(e->session);
    e->outputs = calloc(e->n_outputs + 1, sizeof(struct ox_datum *));
    if (!e->outputs)
        return ox_no_memory(err);
    OX_TRY(ox_session_run(e->session, e->inputs, e->outputs, err));
    e->n_runs = 1;
    OX_TRY(pair_outputs(e, expected, n, err));
    return measure_pairs(e, departs, err);
}

static enum ox_status try_all(struct ox_expecting *e, struct ox_error *err)
{
    static const struct {
        enum ox_status (*run)(struct ox_expecting *, struct ox_error *);
        size_t most_runs;
    } families[] = {{ox_expecting_exchange, 1},
                    {ox_expecting_forms, 1},
                    {ox_expecting_inputs, OX_MOST_OF_INPUTS},
                    {ox_expecting_nodes, OX_MOST_READINGS}};
    for (size_t i = 0; i < OX_COUNT(families) && !e->n_agree; i++) {
        e->most_runs = families[i].most_runs;
        OX_TRY(families[i].run(e, err));
    }
    return OX_OK;
}

/* Where nothing agrees. */
static void conclude(struct ox_expecting *e)
{
    if (e->nearest < 1)
        ox_cause_add(e->causes, 50, "nearer",
                     "nearer, not equal: with %s the largest difference of '%s' is %.3g, %.3g as "
                     "it is",
                     e->nearest_text, e->nearest_output, e->nearest_to, e->nearest_from);
    ox_cause_add(e->causes, 5, "unexplained",
                 "%zu other readings of inputs, outputs and nodes were tried (%zu runs), and under "
                 "none of them what is expected agrees%s; a reference that can be run (--engine, "
                 "or a second model) lets --bisect name the node",
                 e->n_readings, e->n_runs, ox_expecting_is_full(e) ? " (no more are tried)" : "");
}

static void release(struct ox_expecting *e)
{
    for (size_t i = 0; i < e->n_pairs; i++)
        ox_datum_release(e->pairs[i].expected);
    for (size_t i = 0; e->outputs && i < e->n_outputs; i++)
        ox_datum_release(e->outputs[i]);
    ox_session_release(e->session);
    ox_model_release(e->newer);
    free(e->pairs);
    free(e->outputs);
}

enum ox_status ox_parity_explain_expected(struct ox_parity_causes **out, struct ox_model *model,
                                          struct ox_datum *const *inputs,
                                          const struct ox_expected *expected, size_t n_expected,
                                          const struct ox_parity_options *options, size_t *n_runs,
                                          struct ox_error *err)
{
    struct ox_expecting e = {
        .model = model, .env = model->env, .options = options, .inputs = inputs, .nearest = 1};
    bool departs = false;
    enum ox_status status = start(&e, expected, n_expected, &departs, err);
    if (status == OX_OK && departs) {
        status = try_all(&e, err);
        if (status == OX_OK && !e.n_agree)
            conclude(&e);
    }
    if (status == OX_OK && e.causes->failed)
        status = ox_no_memory(err);
    release(&e);
    if (status != OX_OK) {
        ox_parity_causes_release(e.causes);
        return status;
    }
    *n_runs = e.n_runs;
    *out = e.causes;
    return OX_OK;
}
