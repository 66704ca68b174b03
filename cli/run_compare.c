/* Outputs against those of --test-data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static enum ox_status note(struct run *run, const char *dir, const char *file, size_t output,
                           const struct ox_comparison *result)
{
    struct run_verdict *all = realloc(run->verdicts, (run->n_verdicts + 1) * sizeof *all);
    if (all) {
        run->verdicts = all;
        struct run_verdict *last = &all[run->n_verdicts++];
        *last = (struct run_verdict){strdup(dir), strdup(file), output, *result};
        if (last->folder && last->file)
            return OX_OK;
    }
    return cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", dir);
}

static enum ox_status compare_one(struct run *run, const char *dir, const char *path, size_t i)
{
    const struct ox_tolerance tolerance = {run->args->rtol, run->args->atol, true};
    struct ox_error err = {0};
    struct ox_datum *expected = NULL;
    struct ox_comparison result;
    const struct ox_port *port = ox_session_output(run->session, i);
    enum ox_status status = ox_datum_read_pb(&expected, run->cli->env, path, port->type, &err);
    if (status == OX_OK)
        status = ox_compare(run->outputs[i], expected, &tolerance, &result, &err);
    ox_datum_release(expected);
    if (status != OX_OK)
        return cli_error(run->cli, &err);
    char noise[32] = "";
    if (isfinite(result.sqnr_db))
        snprintf(noise, sizeof noise, ", SQNR %.1f dB", result.sqnr_db);
    status = note(run, dir, path + strlen(dir) + 1, i, &result);
    const char *name = ox_session_output_name(run->session, i);
    if (result.agree) {
        cli_note(run->cli, "%s: output '%s' agrees with %s (largest difference %.3g)",
                 run->model_path, name, path, result.max_abs);
        return status;
    }
    return cli_worse(status,
                     cli_fail(run->cli, OX_NEGATIVE,
                              "%s: output '%s' departs from %s: %s (%llu of %llu elements%s)",
                              run->model_path, name, path, result.reason,
                              (unsigned long long)result.n_mismatched,
                              (unsigned long long)result.n_elements, noise));
}

enum ox_status run_compare(struct run *run, const char *dir)
{
    enum ox_status worst = OX_OK;
    size_t n_compared = 0;
    for (size_t i = 0; i < run->n_outputs; i++) {
        struct ox_strbuf path = {0};
        ox_strbuf_printf(&path, "%s/output_%zu.pb", dir, i);
        if (!path.failed && access(path.data, F_OK) == 0) {
            n_compared++;
            worst = cli_worse(worst, compare_one(run, dir, path.data, i));
        }
        ox_strbuf_release(&path);
    }
    if (n_compared)
        return worst;
    /* Fine where the folder is to feed alone; who looks at the exit status would think that outputs agree. */
    const struct run_args *args = run->args;
    if (args->output || args->format != RUN_TEXT || run_is_timed(args) || args->top ||
        args->profile)
        cli_warn(run->cli, "%s: holds no output_K.pb to compare with", dir);
    else
        worst = cli_fail(run->cli, OX_INPUT, "%s: holds no output_K.pb to compare with", dir);
    return worst;
}

static void verdict_json(const struct run_verdict *v, const char *name, struct ox_json *json)
{
    const struct ox_comparison *r = &v->result;
    ox_json_object(json);
    cli_json_string(json, "name", name);
    cli_json_string(json, "file", v->file);
    cli_json_bool(json, "agrees", r->agree);
    cli_json_uint(json, "elements", r->n_elements);
    cli_json_uint(json, "mismatched", r->n_mismatched);
    cli_json_double(json, "max_abs", r->max_abs);
    cli_json_double(json, "max_rel", r->max_rel);
    cli_json_double(json, "sqnr_db", r->sqnr_db);
    cli_json_string(json, "reason", r->agree ? NULL : r->reason);
    ox_json_end_object(json);
}

void run_verdicts_json(const struct run *run, char *const *names, struct ox_json *json)
{
    if (run->n_verdicts == 0)
        return;
    ox_json_key(json, "test_data");
    ox_json_array(json);
    for (size_t first = 0, end; first < run->n_verdicts; first = end) {
        const char *folder = run->verdicts[first].folder;
        bool agrees = true;
        for (end = first; end < run->n_verdicts; end++) {
            if (strcmp(run->verdicts[end].folder, folder) != 0)
                break;
            agrees = agrees && run->verdicts[end].result.agree;
        }
        ox_json_object(json);
        cli_json_string(json, "folder", folder);
        cli_json_bool(json, "agrees", agrees);
        ox_json_key(json, "outputs");
        ox_json_array(json);
        for (size_t i = first; i < end; i++) {
            const struct run_verdict *v = &run->verdicts[i];
            verdict_json(v, names && names[v->output] ? names[v->output] : "", json);
        }
        ox_json_end_array(json);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

void run_verdicts_text(const struct run *run, struct ox_strbuf *out)
{
    size_t n_sets = 0, n_apart = 0;
    for (size_t i = 0; i < run->n_verdicts; i++) {
        n_sets += !i || strcmp(run->verdicts[i].folder, run->verdicts[i - 1].folder) != 0;
        n_apart += !run->verdicts[i].result.agree;
    }
    ox_strbuf_name(out, run->model_path, 0);
    if (n_apart)
        ox_strbuf_printf(out, ": departs, %zu of %zu outputs", n_apart, run->n_verdicts);
    else
        ox_strbuf_printf(out, ": agrees, %zu output%s", run->n_verdicts,
                         run->n_verdicts == 1 ? "" : "s");
    ox_strbuf_printf(out, " in %zu set%s\n", n_sets, n_sets == 1 ? "" : "s");
}

void run_release_verdicts(struct run *run)
{
    for (size_t i = 0; i < run->n_verdicts; i++) {
        free(run->verdicts[i].folder);
        free(run->verdicts[i].file);
    }
    free(run->verdicts);
}
