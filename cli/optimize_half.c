#include "optimize_half.h"
#include "prove.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names of values that were larger than a half can be. */
struct wide {
    char **names;
    size_t n, cap;
    bool failed;
};

static bool is_wide(const struct ox_datum *value)
{
    const struct ox_tensor *tensor = ox_datum_get_tensor(value);
    if (!tensor || ox_tensor_dtype(tensor) != OX_FLOAT32)
        return false;
    const float *values = ox_tensor_data(tensor);
    for (size_t i = 0; i < ox_tensor_count(tensor); i++) {
        if (fabsf(values[i]) > 65504.0f && !isinf(values[i]))
            return true;
    }
    return false;
}

static enum ox_status on_value(void *arg, const char *name, const struct ox_datum *value,
                               struct ox_error *err)
{
    struct wide *wide = arg;
    (void)err;
    if (wide->failed || !is_wide(value))
        return OX_OK;
    for (size_t i = 0; i < wide->n; i++) {
        if (strcmp(wide->names[i], name) == 0)
            return OX_OK;
    }
    if (wide->n == wide->cap) {
        size_t cap = wide->cap ? wide->cap * 2 : 16;
        char **names = realloc(wide->names, cap * sizeof *names);
        wide->failed = !names;
        if (!names)
            return OX_OK;
        wide->names = names;
        wide->cap = cap;
    }
    wide->names[wide->n] = strdup(name);
    wide->failed = !wide->names[wide->n];
    wide->n += !wide->failed;
    return OX_OK;
}

static enum ox_status run_once(struct cli *cli, struct ox_session *session, uint64_t seed,
                               int64_t open, float factor, struct ox_error *err)
{
    size_t n_in = ox_session_n_inputs(session), n_out = ox_session_n_outputs(session);
    struct ox_datum **in = calloc(n_in + 1, sizeof(*in)), **out = calloc(n_out + 1, sizeof(*out));
    enum ox_status status = in && out ? OX_OK : ox_no_memory(err);
    if (status == OX_OK)
        status = prove_draw(session, seed, open, in, err);
    for (size_t i = 0; i < n_in && factor != 1 && status == OX_OK; i++)
        status = prove_scale(&in[i], cli->env, factor, err);
    if (status == OX_OK)
        status = ox_session_run(session, in, out, err);
    for (size_t i = 0; in && i < n_in; i++)
        ox_datum_release(in[i]);
    for (size_t i = 0; out && i < n_out; i++)
        ox_datum_release(out[i]);
    free(in);
    free(out);
    return status;
}

/* Whether the model does not run so, rather than that nothing can be run any more. */
static bool is_its_own(enum ox_status status)
{
    return status == OX_INPUT || status == OX_UNSUPPORTED;
}

/* Sizes that do not fit each other (a mask's, of past and present) tell nothing. Of a model that runs with none only the weights are
 * looked at. */
static enum ox_status find_wide(struct cli *cli, const char *path, struct ox_model *model,
                                float factor, struct wide *wide)
{
    /* Masks leave something out only where there is room. */
    static const int64_t open[] = {1, 2, 3, 8};
    struct ox_session *session = NULL;
    struct ox_error err;
    struct ox_run_options with = {.on_value = on_value, .value_arg = wide};
    enum ox_status status = ox_session_new(&session, model, &with, &err);
    bool any = false;
    for (size_t k = 0; k < sizeof open / sizeof *open && session; k++) {
        status = run_once(cli, session, 7 + 100 * (uint64_t)k, open[k], factor, &err);
        any |= status == OX_OK;
        if (status != OX_OK && !is_its_own(status))
            break;
    }
    ox_session_release(session);
    if (is_its_own(status) && any)
        return OX_OK;
    if (is_its_own(status)) {
        cli_warn(cli, "%s: warning: what overflows was not looked for: %s", path, err.message);
        return OX_OK;
    }
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}

/* A file that loads in the release of this week alone is of no use. */
static enum ox_status default_target(struct cli *cli, struct ox_targets **out)
{
    struct ox_error err;
    enum ox_status status = ox_targets_new(out, cli->env, &err);
    if (status == OX_OK)
        status = ox_targets_add(*out, "onnxruntime>=1.31", &err);
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}

enum ox_status half_model(struct cli *cli, const char *path, struct ox_model *model,
                          enum ox_dtype dtype, float factor, const struct ox_targets *targets,
                          struct ox_half_report *report, size_t *n_wide)
{
    struct wide wide = {0};
    struct ox_targets *own = NULL;
    struct ox_error err;
    enum ox_status status = targets ? OX_OK : default_target(cli, &own);
    if (status == OX_OK && dtype == OX_FLOAT16)
        status = find_wide(cli, path, model, factor, &wide);
    if (status == OX_OK && wide.failed)
        status = cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", path);
    if (status == OX_OK) {
        struct ox_half_options with = {.dtype = dtype,
                                       .wide = (const char *const *)wide.names,
                                       .n_wide = wide.n,
                                       .targets = targets ? targets : own};
        status = ox_to_half(model, &with, report, &err);
        if (status != OX_OK)
            cli_error(cli, &err);
    }
    ox_targets_release(own);
    *n_wide = wide.n;
    while (wide.n)
        free(wide.names[--wide.n]);
    free(wide.names);
    return status;
}
