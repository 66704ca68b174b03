#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* ---- Who is held against whom -------------------------------------------------------------------------------------- */

static enum ox_status read_level(struct parity *p, size_t i, int *level)
{
    const struct parity_args *args = p->args;
    /* Of expected outputs nothing inside is compared. */
    const bool inside = (args->layers || args->bisect) && p->n_sides > 1;
    *level = inside && !args->run.simulate ? 0 : 2;
    if (!args->levels.n)
        return OX_OK;
    const char *text = args->levels.items[i < args->levels.n ? i : args->levels.n - 1];
    if (strlen(text) != 1 || *text < '0' || *text > '2')
        return cli_fail(p->cli, OX_USAGE, "parity: there is no level -O%s; levels are 0, 1 and 2",
                        text);
    *level = *text - '0';
    return OX_OK;
}

/* A second run of A with inputs of its own. */
static enum ox_status plan_other_seed(struct parity *p)
{
    const struct parity_args *args = p->args;
    char *end;
    uint64_t seed = strtoull(args->other_seed, &end, 10);
    if (end == args->other_seed || *end)
        return cli_fail(p->cli, OX_USAGE, "parity: --against-seed takes a number as seed, not '%s'",
                        args->other_seed);
    p->sides[1] = (struct parity_side){.model_path = p->sides[0].model_path,
                                       .draws = true,
                                       .seed_gap = seed - strtoull(args->run.random, NULL, 10)};
    p->n_sides = 2;
    return OX_OK;
}

static enum ox_status plan_sides(struct parity *p, const char *const *operands, size_t n_operands)
{
    const struct parity_args *args = p->args;
    size_t n_engines = args->engines.n;
    if (n_operands == 2 && n_engines > 2)
        return cli_fail(p->cli, OX_USAGE, "parity: two models take one engine or two, not %zu",
                        n_engines);
    p->sides = calloc(n_engines + 2, sizeof *p->sides);
    if (!p->sides)
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    struct parity_side *sides = p->sides;
    sides[0].model_path = operands[0];
    sides[0].cpu = args->cpus.n ? args->cpus.items[0] : NULL;
    p->n_sides = 1;
    if (args->other_seed) {
        enum ox_status status = plan_other_seed(p);
        if (status != OX_OK)
            return status;
    } else if (n_operands == 2) {
        sides[1].model_path = operands[1];
        for (size_t i = 0; i < 2 && n_engines; i++)
            sides[i].engine = args->engines.items[i < n_engines ? i : 0];
        p->n_sides = 2;
    } else if (n_engines) {
        for (size_t i = 0; i < n_engines; i++)
            sides[1 + i] =
                (struct parity_side){.model_path = operands[0], .engine = args->engines.items[i]};
        p->n_sides = 1 + n_engines;
    } else if (!args->expected && (args->levels.n > 1 || args->cpus.n || args->perturb)) {
        sides[1].model_path = operands[0];
        p->n_sides = 2;
    }
    if (args->cpus.n > 1 && p->n_sides > 1)
        sides[1].cpu = args->cpus.items[1];
    if (p->n_sides == 1)
        p->expected = args->expected ? args->expected : "the expected outputs";
    return OX_OK;
}

static void name_side(const struct parity *p, struct parity_side *side)
{
    bool one_model = p->n_sides < 2 || strcmp(p->sides[0].model_path, p->sides[1].model_path) == 0;
    if (side->draws)
        snprintf(side->label, sizeof side->label, "%.200s from seed %.40s", side->model_path,
                 p->args->other_seed);
    else if (side->engine && one_model)
        snprintf(side->label, sizeof side->label, "%s", side->engine);
    else if (side->engine)
        snprintf(side->label, sizeof side->label, "%.150s by %.60s", side->model_path,
                 side->engine);
    else if (side->cpu)
        snprintf(side->label, sizeof side->label, "%.200s on %.40s", side->model_path, side->cpu);
    else if (p->args->levels.n > 1)
        snprintf(side->label, sizeof side->label, "%.200s -O%d", side->model_path, side->level);
    else
        snprintf(side->label, sizeof side->label, "%.250s", side->model_path);
}

/* ---- Opening ------------------------------------------------------------------------------------------------------- */

static enum ox_status open_model(struct parity *p, struct parity_side *side)
{
    struct ox_error err = {0};
    if (side != p->sides && strcmp(side->model_path, p->sides[0].model_path) == 0) {
        side->run.model = p->sides[0].run.model;
        side->shares_model = true;
        return OX_OK;
    }
    if (cli_open_sorted(p->cli, &side->run.model, side->model_path, &err) != OX_OK)
        return cli_error(p->cli, &err);
    return OX_OK;
}

uint64_t parity_seed(const struct parity_side *side)
{
    const char *given = side->run.args->random;
    return (given ? strtoull(given, NULL, 10) : 0) + side->seed_gap;
}

/* Also for a side that an engine runs: it says what the inputs and outputs are. */
static enum ox_status open_session(struct parity *p, struct parity_side *side)
{
    struct run *run = &side->run;
    struct ox_error err = {0};
    bool foreign = side->engine || side->cpu;
    bool single = p->args->samples < 2 && p->sets.n < 2;
    struct ox_run_options options = {.level = foreign ? 0 : side->level,
                                     .saturating = !foreign && run->args->simulate,
                                     .once = single,
                                     .lean = single,
                                     .seed = parity_seed(side),
                                     .on_missing = run_report_missing,
                                     .missing_arg = run};
    enum ox_status status = ox_session_new(&run->session, run->model, &options, &err);
    if (status != OX_OK)
        return run->n_missing ? status : cli_error(p->cli, &err);
    run->n_inputs = ox_session_n_inputs(run->session);
    run->n_outputs = ox_session_n_outputs(run->session);
    run->inputs = calloc(run->n_inputs + 1, sizeof(struct ox_datum *));
    run->outputs = calloc(run->n_outputs + 1, sizeof(struct ox_datum *));
    if (!run->inputs || !run->outputs)
        return cli_fail(p->cli, OX_NO_MEMORY, "%s: out of memory", side->model_path);
    return OX_OK;
}

enum ox_status parity_open_sides(struct parity *p, const char *const *operands, size_t n_operands)
{
    enum ox_status status = plan_sides(p, operands, n_operands);
    for (size_t i = 0; i < p->n_sides && status == OX_OK; i++) {
        struct parity_side *side = &p->sides[i];
        side->run =
            (struct run){.cli = p->cli, .args = &p->args->run, .model_path = side->model_path};
        status = read_level(p, i, &side->level);
        if (status == OX_OK && !side->engine && side->run.args->simulate && side->level < 2)
            status = cli_fail(p->cli, OX_USAGE, "parity: --simulate is of -O2");
        if (status == OX_OK)
            status = open_model(p, side);
        if (status == OX_OK && side->engine)
            status = parity_find_engine(p, side);
        if (status == OX_OK)
            status = open_session(p, side);
        name_side(p, side);
    }
    bool inside = p->args->layers || p->args->bisect;
    if (status == OX_OK && p->args->layers && p->n_sides == 1)
        status = cli_fail(p->cli, OX_USAGE,
                          "%s: --layers takes something to hold it against that can be run: of "
                          "what is expected outputs alone are known; --bisect tries what would "
                          "make them agree",
                          operands[0]);
    if (status == OX_OK && inside && p->n_sides > 2)
        status =
            cli_fail(p->cli, OX_USAGE,
                     "%s: --layers and --bisect take one thing to hold it against", operands[0]);
    if (status == OX_OK && p->args->layers && !parity_walks(p))
        status = cli_fail(p->cli, OX_USAGE,
                          "%s: --layers can't look inside a run with another --cpu; "
                          "--bisect runs prefixes of the model",
                          operands[0]);
    return status;
}

void parity_release_sides(struct parity *p)
{
    ox_parity_release(p->layers);
    ox_session_release(p->trace_session);
    ox_trace_release(p->trace);
    for (size_t i = p->n_sides; i-- > 0;) {
        struct run *run = &p->sides[i].run;
        run_release_data(run->inputs, run->n_inputs);
        run_release_data(run->outputs, run->n_outputs);
        run_release_data(p->sides[i].double_outputs, run->n_outputs);
        free(run->inputs);
        free(run->outputs);
        free(p->sides[i].double_outputs);
        run_release_data(p->sides[i].saturated_outputs, run->n_outputs);
        free(p->sides[i].saturated_outputs);
        ox_session_release(p->sides[i].double_session);
        run_release_data(p->sides[i].tipped_outputs, run->n_outputs);
        free(p->sides[i].tipped_outputs);
        ox_session_release(p->sides[i].tipped_session);
        ox_ties_release(p->sides[i].near_ties);
        ox_session_release(p->sides[i].saturating_session);
        parity_release_record(&p->sides[i]);
        ox_session_release(run->session);
        if (!p->sides[i].shares_model)
            ox_model_release(run->model);
    }
    free(p->sides);
    ox_parity_causes_release(p->causes);
}

/* ---- Running ------------------------------------------------------------------------------------------------------- */

static enum ox_status run_foreign(struct parity *p, struct parity_side *side)
{
    struct run *run = &side->run;
    const char **names = calloc(run->n_outputs + 1, sizeof *names);
    if (!names)
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < run->n_outputs; i++)
        names[i] = ox_session_output_name(run->session, i);
    enum ox_status status =
        parity_run_engine(p, side, side->model_path, NULL, names, run->n_outputs, run->outputs);
    free(names);
    return status;
}

/* What files give is the same for both; the rest is drawn anew. */
static enum ox_status draw(struct parity *p, struct parity_side *side)
{
    struct run *run = &side->run;
    run_release_data(run->inputs, run->n_inputs);
    run->sample = side->seed_gap + p->sides[0].run.sample;
    for (size_t i = 0; i < run->n_inputs; i++)
        if (p->given[i])
            run->inputs[i] = ox_datum_ref(p->sides[0].run.inputs[i]);
    enum ox_status status = run_draw_inputs(run);
    return status == OX_OK ? run_require_inputs(run) : status;
}

/* Feeds a side with what A is fed. */
static enum ox_status feed(struct parity *p, size_t i)
{
    struct run *run = &p->sides[i].run, *first = &p->sides[0].run;
    struct ox_error err = {0};
    if (!i)
        return OX_OK;
    if (p->sides[i].draws)
        return draw(p, &p->sides[i]);
    run_release_data(run->inputs, run->n_inputs);
    if (ox_parity_feed(p->cli->env, first->session, p->wide, run->session, run->inputs, &err) !=
        OX_OK)
        return cli_error(p->cli, &err);
    return run_require_inputs(run);
}

/* The outputs of a side for the current inputs. */
static enum ox_status run_side(struct parity *p, size_t i)
{
    struct parity_side *side = &p->sides[i];
    struct run *run = &side->run;
    struct ox_error err = {0};
    run_release_data(run->outputs, run->n_outputs);
    enum ox_status status = feed(p, i);
    if (status != OX_OK)
        return status;
    if (side->engine || side->cpu)
        return run_foreign(p, side);
    if (ox_session_run(run->session, run->inputs, run->outputs, &err) != OX_OK)
        return cli_error(p->cli, &err);
    return OX_OK;
}

/* ---- In step ------------------------------------------------------------------------------------------------------- */

bool parity_is_ours(const struct parity_side *side)
{
    return !side->engine && !side->cpu;
}

/* Of one model at two levels prefixes tell more: what is fused there has no values inside that could be compared. */
bool parity_walks(const struct parity *p)
{
    bool all_ours = true, told = true;
    for (size_t i = 0; i < p->n_sides; i++) {
        all_ours = all_ours && parity_is_ours(&p->sides[i]);
        told = told && !p->sides[i].cpu;
    }
    if (p->n_sides != 2 || !(p->args->layers ? told : all_ours))
        return false;
    bool levels = p->sides[1].shares_model && p->sides[0].level != p->sides[1].level;
    return p->args->layers || (p->args->bisect && !levels);
}

static enum ox_status open_walk(struct parity *p)
{
    struct ox_error err = {0};
    struct ox_parity_options options = {.a_level = p->sides[0].engine ? 0 : p->sides[0].level,
                                        .b_level = p->sides[1].engine ? 0 : p->sides[1].level,
                                        .own = true,
                                        .saturating = p->args->run.simulate,
                                        .seed = parity_seed(p->sides),
                                        .oracle = p->args->oracle && p->args->layers,
                                        .perturb = p->args->perturb};
    for (size_t i = 0; i < 2; i++) {
        options.recorded[i] = p->sides[i].engine ? parity_recorded : NULL;
        options.recorded_arg[i] = &p->sides[i];
    }
    parity_options_for(p, NULL, &options.metrics);
    if (ox_parity_new(&p->layers, p->sides[0].run.model, p->sides[1].run.model, &options, &err) !=
        OX_OK)
        return cli_error(p->cli, &err);
    return OX_OK;
}

/* Where a side could not go on, what departs before may be why. */
static void name_first(struct parity *p, struct ox_error *err)
{
    struct ox_parity_layer layer;
    struct ox_parity_causes *causes = NULL;
    struct ox_error ignored;
    const size_t first = ox_parity_first(p->layers);
    if (!ox_parity_layer(p->layers, first, &layer))
        return;
    size_t at = strlen(err->message), size = sizeof err->message;
    at += (size_t)snprintf(err->message + at, size - at,
                           "; what departs first is '%.128s' of node '%.128s' (%.64s)",
                           layer.b_name, layer.b_node, layer.b_op);
    if (ox_parity_explain(&causes, p->layers, first, p->sides[0].run.inputs, p->sides[1].run.inputs,
                          &ignored) == OX_OK &&
        ox_parity_causes_count(causes) && at < size)
        snprintf(err->message + at, size - at, ": %s", ox_parity_causes_at(causes, 0)->text);
    ox_parity_causes_release(causes);
}

static enum ox_status walk(struct parity *p)
{
    struct run *a = &p->sides[0].run, *b = &p->sides[1].run;
    struct ox_error err = {0};
    run_release_data(a->outputs, a->n_outputs);
    run_release_data(b->outputs, b->n_outputs);
    enum ox_status status = feed(p, 1);
    if (status == OX_OK && !p->layers)
        status = open_walk(p);
    if (status == OX_OK)
        status = parity_record(p);
    if (status != OX_OK)
        return status;
    status = ox_parity_run(p->layers, a->inputs, b->inputs, a->outputs, b->outputs, &err);
    if (status == OX_OK)
        parity_take_outputs(p);
    if (status == OX_INPUT)
        name_first(p, &err);
    return status == OX_OK ? OX_OK : cli_error(p->cli, &err);
}

enum ox_status parity_reload_sample(struct parity *p, uint64_t sample)
{
    enum ox_status status = parity_load_sample(p, sample);
    for (size_t i = 1; i < p->n_sides && status == OX_OK; i++)
        status = feed(p, i);
    return status == OX_OK && p->layers ? parity_record(p) : status;
}

/* ---- Trace --------------------------------------------------------------------------------------------------------- */

/* A once more, every value looked at. */
static enum ox_status run_trace(struct parity *p)
{
    struct run *a = &p->sides[0].run;
    struct ox_error err = {0};
    enum ox_status status = OX_OK;
    if (!p->trace) {
        status = ox_trace_new(&p->trace, a->model, &err);
        const struct ox_run_options options = {.on_value = ox_trace_value, .value_arg = p->trace};
        if (status == OX_OK)
            status = ox_session_new(&p->trace_session, a->model, &options, &err);
        if (status != OX_OK)
            return cli_error(p->cli, &err);
    }
    struct ox_datum **outputs = calloc(a->n_outputs + 1, sizeof(struct ox_datum *));
    if (!outputs)
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    if (ox_session_run(p->trace_session, a->inputs, outputs, &err) != OX_OK)
        status = cli_error(p->cli, &err);
    run_release_data(outputs, a->n_outputs);
    free(outputs);
    return status;
}

enum ox_status parity_run_sample(struct parity *p)
{
    enum ox_status status = OX_OK;
    if (parity_walks(p))
        status = walk(p);
    else
        for (size_t i = 0; i < p->n_sides && status == OX_OK; i++)
            status = run_side(p, i);
    if (status == OX_OK && p->args->run.trace)
        status = run_trace(p);
    return status;
}
