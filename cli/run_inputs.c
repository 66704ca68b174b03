#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

void run_release_data(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; data && i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}

/* The index of the input of that name; n_inputs when there is none. */
static size_t find_input(const struct run *run, const char *name, size_t n)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        const char *candidate = ox_session_input_name(run->session, i);
        if (strlen(candidate) == n && memcmp(candidate, name, n) == 0)
            return i;
    }
    return run->n_inputs;
}

static enum ox_status unknown_input(struct run *run, const char *name, size_t n)
{
    struct ox_strbuf names = {0};
    for (size_t i = 0; i < run->n_inputs; i++)
        ox_strbuf_printf(&names, "%s%s", i ? ", " : "", ox_session_input_name(run->session, i));
    enum ox_status status =
        cli_fail(run->cli, OX_USAGE, "%s: has no input '%.*s'; its inputs: %s", run->model_path,
                 (int)n, name, names.data ? names.data : "none");
    ox_strbuf_release(&names);
    return status;
}

static enum ox_status read_value(struct run *run, size_t at, const char *path)
{
    struct ox_error err = {0};
    struct ox_datum *value;
    const struct ox_port *port = ox_session_input(run->session, at);
    enum ox_status status = ox_datum_read_pb(&value, run->cli->env, path, port->type, &err);
    if (status != OX_OK)
        return cli_error(run->cli, &err);
    ox_datum_release(run->inputs[at]);
    run->inputs[at] = value;
    return OX_OK;
}

/* "NAME=FILE"; "FILE" alone where the model has one input that must be given. A name may hold '=' itself, so the longest one
 * that is an input counts. */
static enum ox_status read_input(struct run *run, const char *setting)
{
    size_t at = run->n_inputs;
    const char *path = setting;
    for (const char *p = strchr(setting, '='); p; p = strchr(p + 1, '=')) {
        size_t found = find_input(run, setting, (size_t)(p - setting));
        if (found < run->n_inputs) {
            at = found;
            path = p + 1;
        }
    }
    if (at < run->n_inputs)
        return read_value(run, at, path);
    size_t n_required = 0;
    for (size_t i = 0; i < run->n_inputs; i++)
        n_required += ox_session_input_required(run->session, i);
    const char *equals = strchr(setting, '=');
    if (equals && access(setting, F_OK) != 0)
        return unknown_input(run, setting, (size_t)(equals - setting));
    if (n_required == 1 || run->n_inputs == 1)
        return read_value(run, 0, setting);
    return cli_fail(run->cli, OX_USAGE, "%s: has %zu inputs: say --input NAME=%s", run->model_path,
                    run->n_inputs, setting);
}

enum ox_status run_read_inputs(struct run *run)
{
    for (size_t i = 0; i < run->args->inputs.n; i++) {
        enum ox_status status = read_input(run, run->args->inputs.items[i]);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

enum ox_status run_read_test_inputs(struct run *run, const char *dir)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        struct ox_strbuf path = {0};
        ox_strbuf_printf(&path, "%s/input_%zu.pb", dir, i);
        enum ox_status status =
            path.failed ? cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", dir) : OX_OK;
        bool there = status == OX_OK && access(path.data, F_OK) == 0;
        if (there)
            status = read_value(run, i, path.data);
        ox_strbuf_release(&path);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

enum ox_status run_require_inputs(struct run *run)
{
    struct ox_strbuf names = {0};
    for (size_t i = 0; i < run->n_inputs; i++)
        if (!run->inputs[i] && ox_session_input_required(run->session, i))
            ox_strbuf_printf(&names, "%s%s: %s", names.len ? ", " : "",
                             ox_session_input_name(run->session, i),
                             ox_session_input(run->session, i)->type);
    enum ox_status status = OX_OK;
    if (names.len)
        status = cli_fail(run->cli, OX_USAGE, "%s: inputs are missing (--input NAME=FILE): %s",
                          run->model_path, names.data);
    ox_strbuf_release(&names);
    return status;
}
