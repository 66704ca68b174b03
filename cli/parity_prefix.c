/* --bisect where an engine's inside can't be seen: prefixes of the model are cut out and run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parity.h"

/* A part of a model: what `outputs` need when `inputs` are given (none: the model's own). */
struct part {
    const char *const *inputs, *const *outputs;
    size_t n_inputs, n_outputs;
};

static enum ox_status cut_out(struct parity *p, const struct parity_side *side,
                              const struct part *part, struct ox_model **out, struct ox_error *err)
{
    struct ox_model *model = NULL;
    struct ox_shapes *shapes = NULL;
    bool assumed;
    enum ox_status status = ox_model_open(&model, p->cli->env, side->model_path, err);
    if (status == OX_OK)
        status = ox_model_assume_contrib(model, &assumed, err);
    if (status == OX_OK)
        status = ox_model_sort(model, NULL, err);
    if (status == OX_OK)
        status = ox_shapes_infer(&shapes, model, NULL, NULL, err);
    if (status == OX_OK)
        status = ox_extract(model, shapes, part->inputs, part->n_inputs, part->outputs,
                            part->n_outputs, err);
    ox_shapes_release(shapes);
    if (status == OX_OK)
        *out = model;
    else
        ox_model_release(model);
    return status;
}

/* What our session of a part is fed. */
static enum ox_status run_fed(struct ox_session *session, const struct parity_feed *feed,
                              struct ox_datum **out, struct ox_error *err)
{
    size_t n = ox_session_n_inputs(session);
    struct ox_datum **inputs = calloc(n + 1, sizeof *inputs);
    if (!inputs)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < feed->n; k++)
            if (strcmp(ox_session_input_name(session, i), feed->names[k]) == 0)
                inputs[i] = feed->values[k];
    enum ox_status status = ox_session_run(session, inputs, out, err);
    free(inputs);
    return status;
}

/* By ourselves. */
static enum ox_status run_own(struct parity *p, const struct parity_side *side, int level,
                              const struct part *part, const struct parity_feed *feed,
                              struct ox_datum **out, struct ox_error *err)
{
    struct ox_session *session = NULL;
    struct ox_model *model = NULL;
    const struct ox_run_options options = {.level = level,
                                           .saturating = side->run.args->simulate,
                                           .seed = parity_seed(side),
                                           .outputs = part->outputs,
                                           .n_outputs = part->n_outputs};
    enum ox_status status = feed ? cut_out(p, side, part, &model, err) : OX_OK;
    if (status == OX_OK)
        status = ox_session_new(&session, feed ? model : side->run.model, &options, err);
    if (status == OX_OK)
        status = feed ? run_fed(session, feed, out, err)
                      : ox_session_run(session, side->run.inputs, out, err);
    ox_session_release(session);
    ox_model_release(model);
    return status;
}

/* By a program of its own, which reads the part from a file. */
static enum ox_status run_foreign(struct parity *p, struct parity_side *side,
                                  const struct part *part, const struct parity_feed *feed,
                                  struct ox_datum **out, struct ox_error *err)
{
    const struct ox_save_options options = {.format = OX_FORMAT_PROTOBUF, .inline_external = true};
    const char *tmp = getenv("TMPDIR");
    struct ox_model *model = NULL;
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/onnxtool-prefix-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        *err = (struct ox_error){.status = OX_IO};
        snprintf(err->message, sizeof err->message, "%.900s: no file can be made", path);
        return OX_IO;
    }
    close(fd);
    enum ox_status status = cut_out(p, side, part, &model, err);
    if (status == OX_OK)
        status = ox_model_save(model, path, &options, err);
    ox_model_release(model);
    if (status == OX_OK) {
        status = parity_run_engine(p, side, path, feed, part->outputs, part->n_outputs, out);
        if (status != OX_OK) {
            *err = (struct ox_error){.status = status};
            snprintf(err->message, sizeof err->message, "%.300s: the part up to '%.300s' failed",
                     side->model_path, part->outputs[0]);
        }
    }
    unlink(path);
    return status;
}

/* outputs[0] as both sides make it. */
static enum ox_status run_both(struct parity *p, const struct part *part,
                               const struct parity_feed *feed, struct ox_datum **values,
                               struct ox_error *err)
{
    enum ox_status status = OX_OK;
    struct ox_datum **made = calloc(part->n_outputs + 1, sizeof(struct ox_datum *));
    if (!made)
        return ox_no_memory(err);
    for (size_t i = 0; i < 2 && status == OX_OK; i++) {
        struct parity_side *side = &p->sides[i];
        status = parity_is_ours(side) ? run_own(p, side, side->level, part, feed, made, err)
                                      : run_foreign(p, side, part, feed, made, err);
        if (status == OX_OK)
            values[i] = ox_datum_ref(made[0]);
        run_release_data(made, part->n_outputs);
    }
    free(made);
    return status;
}

/* The search ends at the last value that departed: it need not be run once more to be explained. */
static void keep(struct parity *p, const char *name, struct ox_datum *const *values)
{
    parity_release_prefixes(p);
    p->probed = strdup(name);
    for (size_t i = 0; i < 2 && p->probed; i++)
        p->probed_values[i] = ox_datum_ref(values[i]);
}

void parity_release_prefixes(struct parity *p)
{
    run_release_data(p->probed_values, 2);
    free(p->probed);
    p->probed = NULL;
}

/* Few codes, a step apart: what was rounded lay near a half. */
static bool is_tie(const struct ox_metrics *m)
{
    enum { LEAST = 2, SHARE = 50 };
    const bool codes = m->a_dtype == OX_UINT8 || m->a_dtype == OX_INT8 || m->a_dtype == OX_UINT16 ||
                       m->a_dtype == OX_INT16;
    return codes && m->a_dtype == m->b_dtype && m->max_abs == 1 &&
           (m->n_mismatched <= LEAST || m->n_mismatched <= m->n_elements / SHARE);
}

static enum ox_status judge(struct parity *p, struct ox_datum *const *values, const char *name,
                            bool *departs, struct ox_metrics *metrics, struct ox_error *err)
{
    struct ox_meter *meter = NULL;
    struct ox_metrics_options options;
    parity_options_for(p, NULL, &options);
    enum ox_status status = ox_meter_new(&meter, p->cli->env, &options, err);
    if (status == OX_OK)
        status = ox_meter_add(meter, values[0], values[1], err);
    if (status == OX_OK) {
        ox_meter_read(meter, metrics);
        *departs = !metrics->agree && !(p->past_ties && is_tie(metrics));
        cli_note(p->cli, "%s: '%s' %s", p->sides[0].model_path, name,
                 metrics->agree ? "agrees" : metrics->reason);
    }
    ox_meter_release(meter);
    return status;
}

static enum ox_status probe(void *arg, const char *name, bool *departs, struct ox_error *err)
{
    struct parity *p = arg;
    const struct part part = {.outputs = &name, .n_outputs = 1};
    struct ox_datum *values[2] = {NULL, NULL};
    struct ox_metrics metrics = {.agree = false};
    enum ox_status status = run_both(p, &part, NULL, values, err);
    if (status == OX_OK)
        status = judge(p, values, name, departs, &metrics, err);
    if (status == OX_OK && p->past_ties)
        *departs = *departs && !(metrics.sqnr_db > p->departs_db);
    if (status == OX_OK && *departs) {
        keep(p, name, values);
        p->probed_metrics = metrics;
    }
    run_release_data(values, 2);
    return status;
}

/* A part that may begin inside the model, fed what our reference kernels make of what enters it. */
static enum ox_status probe_part(void *arg, const char *const *inputs, size_t n_inputs,
                                 const char *const *outputs, size_t n_outputs, bool *departs,
                                 struct ox_error *err)
{
    struct parity *p = arg;
    const struct part before = {.outputs = inputs, .n_outputs = n_inputs};
    const struct part part = {inputs, outputs, n_inputs, n_outputs};
    struct ox_datum *values[2] = {NULL, NULL};
    struct ox_metrics metrics;
    struct ox_datum **entering = calloc(n_inputs + 1, sizeof(struct ox_datum *));
    const struct parity_feed feed = {inputs, entering, n_inputs};
    enum ox_status status = entering ? OX_OK : ox_no_memory(err);
    if (status == OX_OK && n_inputs)
        status = run_own(p, &p->sides[0], 0, &before, NULL, entering, err);
    if (status == OX_OK)
        status = run_both(p, &part, n_inputs ? &feed : NULL, values, err);
    if (status == OX_OK)
        status = judge(p, values, outputs[0], departs, &metrics, err);
    run_release_data(values, 2);
    if (entering)
        run_release_data(entering, n_inputs);
    free(entering);
    return status;
}

/* The side that may compute several nodes as one. */
static const char *suspected_side(const struct parity *p)
{
    const struct parity_side *a = &p->sides[0], *b = &p->sides[1];
    bool is_b = parity_is_ours(a) != parity_is_ours(b) ? parity_is_ours(a) : b->level >= a->level;
    return is_b ? b->label : a->label;
}

/* What the values of the suspect tell. */
static enum ox_status explain(struct parity *p, struct ox_error *err)
{
    /* At level 0 every value is there to be asked for. */
    struct ox_parity_options options = {.a_level = 0};
    struct ox_datum **values = p->probed_values;
    const struct part part = {.outputs = &p->suspect.value, .n_outputs = 1};
    const struct ox_parity_parts parts = {probe_part, p, suspected_side(p)};
    struct ox_error ignored = {0};
    parity_options_for(p, NULL, &options.metrics);
    if (!p->probed || strcmp(p->probed, p->suspect.value) != 0) {
        parity_release_prefixes(p);
        enum ox_status status = run_both(p, &part, NULL, values, err);
        if (status != OX_OK)
            return status;
    }
    enum ox_status status =
        ox_parity_explain_value(&p->causes, p->sides[0].run.model, p->suspect.value, values[0],
                                values[1], p->sides[0].run.inputs, &options, err);
    /* Evidence on top: an engine may refuse a part whose whole it runs. Only of one model are the parts the same. */
    if (status == OX_OK && strcmp(p->sides[0].model_path, p->sides[1].model_path) == 0)
        ox_parity_explain_fusion(p->causes, p->sides[0].run.model, p->suspect.value, &parts,
                                 &ignored);
    return status;
}

/* ---- Past ties ----------------------------------------------------------------------------------------------------- */

/* Whether the node itself is at fault, alone or with those that an engine computes as one with it. */
static bool is_at_fault(const struct parity *p)
{
    for (size_t i = 0; i < ox_parity_causes_count(p->causes); i++) {
        const char *id = ox_parity_causes_at(p->causes, i)->id;
        if (strcmp(id, "own") == 0 || strcmp(id, "fused") == 0)
            return true;
    }
    return false;
}

/* The first value that departs as far as the output does, or nearly, and why. */
static enum ox_status search_farther(struct parity *p, const char *output, double db,
                                     struct ox_error *err)
{
    p->departs_db = db;
    parity_release_prefixes(p);
    enum ox_status status = ox_parity_bisect(p->sides[0].run.model, p->sides[1].run.model, output,
                                             probe, p, &p->suspect, err);
    return status == OX_OK && p->suspect.value ? explain(p, err) : status;
}

/* A tie explains what departs only if no node behind it is at fault. Values nearer to the output than the fault are as far apart as
 * the output, or nearly; before it there is no more than ties have made. */
static enum ox_status look_past_tie(struct parity *p, const char *output, double output_db,
                                    struct ox_error *err)
{
    enum { STEP_DB = 10, MOST_STEPS = 3 };
    const struct ox_parity_suspect tie = p->suspect;
    struct ox_parity_causes *causes = p->causes;
    const struct ox_metrics metrics = p->probed_metrics;
    size_t n_runs = tie.n_runs;
    enum ox_status status = OX_OK;
    bool found = false;
    p->past_ties = true;
    for (int i = 1; i <= MOST_STEPS && !found && status == OX_OK; i++) {
        p->causes = NULL;
        status = search_farther(p, output, output_db + STEP_DB * i, err);
        n_runs += p->suspect.n_runs;
        found = status == OX_OK && p->suspect.value && is_at_fault(p);
        if (!found)
            ox_parity_causes_release(p->causes);
    }
    p->past_ties = false;
    /* The tie is known, whatever became of the engine behind it. */
    const bool failed = status != OX_OK && status != OX_NO_MEMORY;
    if (found)
        ox_parity_causes_release(causes);
    else {
        p->causes = causes;
        p->suspect = tie;
    }
    p->suspect.n_runs = n_runs;
    p->tie = (struct ox_parity_cause){"ties", p->ties};
    if (found)
        snprintf(p->ties, sizeof p->ties,
                 "passed by on the way here, for they do not explain the output: the first are in "
                 "'%.128s' (%.64s), where %llu of %llu codes are one step apart",
                 tie.value, tie.op_type, (unsigned long long)metrics.n_mismatched,
                 (unsigned long long)metrics.n_elements);
    else if (failed)
        snprintf(p->ties, sizeof p->ties,
                 "%llu of %llu codes are one step apart; what lies behind could not be searched: "
                 "%.300s",
                 (unsigned long long)metrics.n_mismatched, (unsigned long long)metrics.n_elements,
                 err->message);
    else
        snprintf(p->ties, sizeof p->ties,
                 "%llu of %llu codes are one step apart, and no node behind that was found to "
                 "depart when fed the same: ties alone lead to the %.1f dB of the output",
                 (unsigned long long)metrics.n_mismatched, (unsigned long long)metrics.n_elements,
                 output_db);
    return failed ? OX_OK : status;
}

static enum ox_status bisect_output(struct parity *p, const char *output, double output_db,
                                    struct ox_error *err)
{
    enum ox_status status = ox_parity_bisect(p->sides[0].run.model, p->sides[1].run.model, output,
                                             probe, p, &p->suspect, err);
    if (status == OX_OK && p->suspect.value)
        status = explain(p, err);
    const bool tie = status == OX_OK && p->suspect.value && p->probed &&
                     strcmp(p->probed, p->suspect.value) == 0 && is_tie(&p->probed_metrics);
    return tie && strcmp(p->suspect.value, output) != 0 ? look_past_tie(p, output, output_db, err)
                                                        : status;
}

enum ox_status parity_bisect_prefixes(struct parity *p)
{
    struct ox_error err = {0};
    for (size_t i = 0; i < p->n_outputs; i++) {
        const struct parity_output *output = &p->outputs[i];
        struct ox_metrics metrics;
        ox_meter_read(output->meter, &metrics);
        if (output->side != 1 || metrics.agree || !output->in_a || !output->in_b)
            continue;
        enum ox_status status =
            p->n_samples > 1 ? parity_reload_sample(p, metrics.worst.sample) : OX_OK;
        if (status != OX_OK)
            return status;
        status = bisect_output(p, output->name, metrics.sqnr_db, &err);
        return status == OX_OK ? OX_OK : cli_error(p->cli, &err);
    }
    return OX_OK;
}
