/* --bisect where an engine's inside can't be seen: prefixes of the model are cut out and run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parity.h"

/* Our own value of that name. */
static enum ox_status run_own(struct parity *p, struct parity_side *side, const char *name,
                              struct ox_datum **out, struct ox_error *err)
{
    struct ox_session *session = NULL;
    const struct ox_run_options options = {.level = side->level, .outputs = &name, .n_outputs = 1};
    enum ox_status status = ox_session_new(&session, side->run.model, &options, err);
    (void)p;
    if (status == OX_OK)
        status = ox_session_run(session, side->run.inputs, out, err);
    ox_session_release(session);
    return status;
}

/* The model down to that value, in a file. */
static enum ox_status write_prefix(struct parity *p, struct parity_side *side, const char *name,
                                   const char *path, struct ox_error *err)
{
    struct ox_model *model = NULL;
    struct ox_shapes *shapes = NULL;
    const struct ox_save_options options = {.format = OX_FORMAT_PROTOBUF, .inline_external = true};
    enum ox_status status = ox_model_open(&model, p->cli->env, side->model_path, err);
    if (status == OX_OK)
        status = ox_model_sort(model, NULL, err);
    if (status == OX_OK)
        status = ox_shapes_infer(&shapes, model, NULL, NULL, err);
    if (status == OX_OK)
        status = ox_extract(model, shapes, NULL, 0, &name, 1, err);
    if (status == OX_OK)
        status = ox_model_save(model, path, &options, err);
    ox_shapes_release(shapes);
    ox_model_release(model);
    return status;
}

static enum ox_status run_prefix(struct parity *p, struct parity_side *side, const char *name,
                                 struct ox_datum **out, struct ox_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/onnxtool-prefix-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        *err = (struct ox_error){.status = OX_IO};
        snprintf(err->message, sizeof err->message, "%.900s: no file can be made", path);
        return OX_IO;
    }
    close(fd);
    enum ox_status status = write_prefix(p, side, name, path, err);
    if (status == OX_OK) {
        status = parity_run_engine(p, side, path, &name, 1, out);
        if (status != OX_OK) {
            *err = (struct ox_error){.status = status};
            snprintf(err->message, sizeof err->message, "%.300s: the prefix up to '%.300s' failed",
                     side->model_path, name);
        }
    }
    unlink(path);
    return status;
}

/* A value as both sides make it. */
static enum ox_status run_both(struct parity *p, const char *name, struct ox_datum **values,
                               struct ox_error *err)
{
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < 2 && status == OX_OK; i++) {
        struct parity_side *side = &p->sides[i];
        status = side->engine || side->cpu ? run_prefix(p, side, name, &values[i], err)
                                           : run_own(p, side, name, &values[i], err);
    }
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

static enum ox_status probe(void *arg, const char *name, bool *departs, struct ox_error *err)
{
    struct parity *p = arg;
    struct ox_datum *values[2] = {NULL, NULL};
    struct ox_meter *meter = NULL;
    struct ox_metrics_options options;
    enum ox_status status = run_both(p, name, values, err);
    parity_options_for(p, NULL, &options);
    if (status == OX_OK)
        status = ox_meter_new(&meter, p->cli->env, &options, err);
    if (status == OX_OK)
        status = ox_meter_add(meter, values[0], values[1], err);
    if (status == OX_OK) {
        struct ox_metrics metrics;
        ox_meter_read(meter, &metrics);
        *departs = !metrics.agree;
        if (*departs)
            keep(p, name, values);
        cli_note(p->cli, "%s: '%s' %s", p->sides[0].model_path, name,
                 metrics.agree ? "agrees" : metrics.reason);
    }
    ox_meter_release(meter);
    ox_datum_release(values[0]);
    ox_datum_release(values[1]);
    return status;
}

/* What the values of the suspect tell. */
static enum ox_status explain(struct parity *p, struct ox_error *err)
{
    /* At level 0 every value is there to be asked for. */
    struct ox_parity_options options = {.a_level = 0};
    struct ox_datum **values = p->probed_values;
    parity_options_for(p, NULL, &options.metrics);
    if (!p->probed || strcmp(p->probed, p->suspect.value) != 0) {
        parity_release_prefixes(p);
        enum ox_status status = run_both(p, p->suspect.value, values, err);
        if (status != OX_OK)
            return status;
    }
    return ox_parity_explain_value(&p->causes, p->sides[0].run.model, p->suspect.value, values[0],
                                   values[1], p->sides[0].run.inputs, &options, err);
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
        if (ox_parity_bisect(p->sides[0].run.model, p->sides[1].run.model, output->name, probe, p,
                             &p->suspect, &err) != OX_OK ||
            (p->suspect.value && explain(p, &err) != OX_OK))
            return cli_error(p->cli, &err);
        return OX_OK;
    }
    return OX_OK;
}
