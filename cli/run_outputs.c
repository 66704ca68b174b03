#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run.h"

static enum ox_status make_folder(struct run *run, const char *dir)
{
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return cli_fail(run->cli, OX_IO, "%s: %s", dir, strerror(errno));
    return OX_OK;
}

/* DIR/output_3.pb */
static enum ox_status write_datum(struct run *run, const char *dir, const char *what, size_t i,
                                  const char *name, const struct ox_datum *datum)
{
    struct ox_error err = {0};
    struct ox_strbuf path = {0};
    ox_strbuf_printf(&path, "%s/%s_%zu.pb", dir, what, i);
    enum ox_status status =
        path.failed ? OX_NO_MEMORY : ox_datum_write_pb(datum, name, path.data, &err);
    if (path.failed)
        cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", dir);
    else if (status != OX_OK)
        cli_error(run->cli, &err);
    ox_strbuf_release(&path);
    return status;
}

static enum ox_status write_folder(struct run *run, const char *dir)
{
    enum ox_status status = make_folder(run, dir);
    for (size_t i = 0; i < run->n_outputs && status == OX_OK; i++)
        if (run->outputs[i])
            status = write_datum(run, dir, "output", i, ox_session_output_name(run->session, i),
                                 run->outputs[i]);
    return status;
}

enum ox_status run_save_test_data(struct run *run)
{
    const char *dir = run->args->save_test_data;
    if (!dir)
        return OX_OK;
    enum ox_status status = make_folder(run, dir);
    for (size_t i = 0; i < run->n_inputs && status == OX_OK; i++)
        if (run->inputs[i])
            status = write_datum(run, dir, "input", i, ox_session_input_name(run->session, i),
                                 run->inputs[i]);
    return status == OX_OK ? write_folder(run, dir) : status;
}

static bool is_folder(const char *path)
{
    struct stat info;
    size_t n = strlen(path);
    return (n && path[n - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

struct listed {
    const char *name;
    size_t at;
};

static int by_name(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static int by_place(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* What was computed, in order; Hummingbird's exports of support vectors list an output again, which counts once. How many. */
static size_t list_outputs(const struct run *run, struct listed *list)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < run->n_outputs; i++)
        if (run->outputs[i])
            list[n++] = (struct listed){ox_session_output_name(run->session, i), i};
    qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i < n; i++)
        if (!kept || strcmp(list[kept - 1].name, list[i].name) != 0)
            list[kept++] = list[i];
    qsort(list, kept, sizeof *list, by_place);
    return kept;
}

enum ox_status run_judge_output(struct cli *cli, const char *path)
{
    if (strcmp(path, "-") == 0)
        return cli_fail(cli, OX_USAGE, "run: -f npz prints the outputs; --output names a file");
    const enum ox_tensor_format form = ox_tensor_format_of(path);
    if (is_folder(path) || (form != OX_TENSORS_AUTO && form != OX_TENSORS_IMAGE))
        return OX_OK;
    return cli_fail(
        cli, OX_USAGE,
        "run: --output %s: outputs are written to a .npz, .npy, .json, .csv, .bin, .safetensors "
        "or .pb file, or to a folder, whose name ends in /",
        path);
}

/* .npz, .json and .safetensors take any number of arrays; .npy, .csv, .bin and .pb the only output. */
static enum ox_status write_file(struct run *run, const char *path)
{
    struct ox_error err = {0};
    const char **names = calloc(run->n_outputs + 1, sizeof *names);
    struct ox_datum **values = calloc(run->n_outputs + 1, sizeof *values);
    struct listed *list = calloc(run->n_outputs + 1, sizeof *list);
    enum ox_status status = names && values && list
                                ? OX_OK
                                : cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", path);
    const size_t n = status == OX_OK ? list_outputs(run, list) : 0;
    for (size_t i = 0; i < n; i++) {
        names[i] = list[i].name;
        values[i] = run->outputs[list[i].at];
    }
    const bool pb = ox_tensor_format_of(path) == OX_TENSORS_PB;
    if (status == OX_OK && pb && n != 1)
        status = cli_fail(run->cli, OX_UNSUPPORTED,
                          "%s: a .pb file holds one output, of which there are %zu", path, n);
    else if (status == OX_OK && (pb ? ox_datum_write_pb(values[0], names[0], path, &err)
                                    : ox_values_write(path, n, names, values, &err)) != OX_OK)
        status = cli_error(run->cli, &err);
    free(names);
    free(values);
    free(list);
    return status;
}

enum ox_status run_write_outputs(struct run *run)
{
    const char *path = run->args->output;
    if (!path)
        return OX_OK;
    return is_folder(path) ? write_folder(run, path) : write_file(run, path);
}

/* ---- Printing ------------------------------------------------------------------------------------------------------ */

/* Copies of the outputs' names; NULL: out of memory. */
static char **names_of_outputs(const struct run *run)
{
    char **names = calloc(run->n_outputs + 1, sizeof *names);
    for (size_t i = 0; names && i < run->n_outputs; i++) {
        names[i] = strdup(ox_session_output_name(run->session, i));
        run->cli->out.failed |= !names[i];
    }
    return names;
}

static void print_json(struct run *run)
{
    struct ox_json json;
    char **names = names_of_outputs(run);
    struct ox_session_stats stats;
    ox_session_stats(run->session, &stats);
    if (!run->trace && !run->args->profile && !run->args->top) {
        /* Nothing runs any more, and the text may be as large as what the session holds. */
        ox_session_release(run->session);
        run->session = NULL;
    }
    ox_json_init(&json, &run->cli->out, !run->cli->several);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.run/1");
    cli_json_string(&json, "model", run->model_path);
    ox_json_key(&json, "outputs");
    ox_json_array(&json);
    for (size_t i = 0; i < run->n_outputs; i++) {
        ox_json_object(&json);
        cli_json_string(&json, "name", names && names[i] ? names[i] : "");
        if (run->outputs[i])
            ox_datum_json(&json, run->outputs[i], !run->args->output && !run->args->test_sets);
        if (run->args->output) {
            cli_json_string(&json, "file", run->args->output);
        }
        ox_json_end_object(&json);
    }
    ox_json_end_array(&json);
    run_verdicts_json(run, names, &json);
    run_timing_json(run, &json);
    ox_json_key(&json, "memory");
    ox_json_object(&json);
    cli_json_uint(&json, "peak_rss_bytes", cli_peak_resident());
    cli_json_uint(&json, "arena_bytes", stats.arena_bytes);
    cli_json_uint(&json, "weights_bytes", stats.weights_bytes);
    ox_json_end_object(&json);
    if (run->trace)
        trace_print_json(run->trace, &json);
    ox_json_end_object(&json);
    ox_strbuf_putc(&run->cli->out, '\n');
    run->cli->out.failed |= !names;
    for (size_t i = 0; names && i < run->n_outputs; i++)
        free(names[i]);
    free(names);
}

static void print_text(struct run *run)
{
    struct ox_strbuf *out = &run->cli->out;
    const bool compared = run_is_tested(run->args) && !run->args->select.n;
    if (run->args->test_sets) {
        run_verdicts_text(run, out);
    } else if (run->cli->several) {
        ox_strbuf_name(out, run->model_path, 0);
        ox_strbuf_puts(out, ":\n");
    }
    if (!run->args->output && !compared && !run->args->top)
        for (size_t i = 0; i < run->n_outputs; i++) {
            if (!run->outputs[i])
                continue;
            ox_strbuf_name(out, ox_session_output_name(run->session, i), 256);
            ox_strbuf_puts(out, ": ");
            ox_datum_print(out, run->outputs[i]);
            ox_strbuf_putc(out, '\n');
        }
    if (run->trace)
        trace_print_text(run->trace, out);
    if (run_is_timed(run->args))
        run_timing_text(run, out);
}

enum ox_status run_print(struct run *run)
{
    if (run->args->format == RUN_NPZ)
        return write_file(run, "-");
    if (run->args->format == RUN_JSON)
        print_json(run);
    else if (!run->cli->common.quiet)
        print_text(run);
    enum ox_status status = run->args->top ? run_print_top(run) : OX_OK;
    return cli_worse(status, run_judge_times(run));
}
