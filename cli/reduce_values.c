/* The run whose values become constants. */
#include <stdlib.h>

#include "reduce.h"

static enum ox_status run_for(struct run *run, const struct ox_run_options *options,
                              struct ox_datum **values)
{
    struct ox_error err = {0};
    if (ox_session_new(&run->session, run->model, options, &err) != OX_OK)
        return run->n_missing ? err.status : cli_error(run->cli, &err);
    run->n_inputs = ox_session_n_inputs(run->session);
    run->n_outputs = ox_session_n_outputs(run->session);
    run->inputs = calloc(run->n_inputs + 1, sizeof *run->inputs);
    if (!run->inputs)
        return cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", run->model_path);
    enum ox_status status = run_read_inputs(run);
    if (status == OX_OK)
        status = run_draw_inputs(run);
    if (status == OX_OK)
        status = run_require_inputs(run);
    if (status == OX_OK && ox_session_run(run->session, run->inputs, values, &err) != OX_OK)
        status = cli_error(run->cli, &err);
    return status;
}

enum ox_status reduce_values(void *arg, struct ox_model *model, const char *const *names, size_t n,
                             struct ox_datum **values, struct ox_error *err)
{
    struct reduce *reduce = arg;
    struct run run = {
        .cli = reduce->cli, .args = &reduce->args->run, .model_path = reduce->path, .model = model};
    const struct ox_run_options options = {.level = 2,
                                           .once = true,
                                           .outputs = names,
                                           .n_outputs = n,
                                           .on_missing = run_report_missing,
                                           .missing_arg = &run};
    enum ox_status status = run_for(&run, &options, values);
    run_release_data(run.inputs, run.n_inputs);
    free(run.inputs);
    ox_session_release(run.session);
    if (status == OX_OK)
        return OX_OK;
    run_release_data(values, n);
    if (status == OX_USAGE) {
        *err = (struct ox_error){.status = status};
        snprintf(err->message, sizeof err->message, "%.300s: its inputs cannot be made",
                 reduce->path);
        return status;
    }
    cli_warn(reduce->cli,
             "%s: warning: does not run here: what is cut off becomes inputs, never constants",
             reduce->path);
    return OX_OK;
}
