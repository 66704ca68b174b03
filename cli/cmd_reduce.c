#include <string.h>

#include "reduce.h"

enum format { FORMAT_TEXT, FORMAT_JSON };

#define FIELD(name) offsetof(struct reduce_args, name)

static const struct opt options[] = {
    {'o', "output", OPT_STRING, FIELD(out), "OUT", NULL, "write the smallest model that fails"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "What is a failure"},
    {0, "fail-code", OPT_STRING, FIELD(fail_codes), "CODE,...", NULL,
     "these exit statuses alone; of a signal 128 and its number, 'same' that of the whole model, "
     "'timeout' none within --check-timeout (default: any but 0)"},
    {0, "fail-regex", OPT_STRING, FIELD(fail_regex), "REGEX", NULL,
     "a line of what CMD prints matches that extended regular expression, whatever the exit "
     "status; with --fail-code both"},
    {0, "check-timeout", OPT_DOUBLE, FIELD(check_timeout), "SECONDS", NULL,
     "end a check after that time; it did not fail then"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "The search"},
    {0, "cut", OPT_CHOICE, FIELD(cut), "HOW", "both|inputs|constants",
     "what values become whose nodes are cut off: inputs, constants of one run of the model, or "
     "constants where inputs do not fail"},
    {0, "max-checks", OPT_INT, FIELD(max_checks), "N", NULL,
     "be content with what there is after that many checks"},
    {0, "check-output", OPT_STRING, FIELD(check_output), "FILE", NULL,
     "write what CMD printed of the model that OUT is"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "The run that constants are of"},
    {'i', "input", OPT_STRINGS, FIELD(run.inputs), "[NAME=]FILE", NULL,
     "feed an input of the model from a file, as `run` does"},
    {0, "random", OPT_STRING, FIELD(run.random), "SEED", NULL,
     "draw those that are not given by that seed (default 1)"},
    {0, "shape", OPT_NAMED, FIELD(run.shapes), "NAME=DIMS", NULL,
     "shape of a drawn input (default: 1 where open)"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "text|json", "form of the report"},
    OPT_END};

static void defaults(void *args_)
{
    struct reduce_args *args = args_;
    args->run.random = "1";
}

/* ---- Interruptions -------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted; /* by that signal */

/* The command is not of this process group, so that the terminal's Ctrl-C is ours alone. */
static void on_interrupt(int number)
{
    interrupted = number;
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_SIGNALS = sizeof numbers / sizeof *numbers };

static void catch_signals(struct sigaction *before)
{
    struct sigaction ours = {.sa_handler = on_interrupt};
    for (size_t i = 0; i < N_SIGNALS; i++) {
        sigaction(numbers[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &ours, NULL);
    }
}

static void give_signals_back(const struct sigaction *before)
{
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(numbers[i], &before[i], NULL);
}

/* ---- What comes of it ------------------------------------------------------------------------------------------------ */

static void report_text(struct reduce *reduce, const struct ox_reduced *told)
{
    struct ox_strbuf *out = &reduce->cli->out;
    ox_strbuf_name(out, reduce->args->out, 0);
    ox_strbuf_printf(out, ": %zu of %zu node%s after %zu check%s: ", told->n_nodes,
                     told->n_nodes_before, told->n_nodes_before == 1 ? "" : "s", reduce->n_checks,
                     reduce->n_checks == 1 ? "" : "s");
    reduce_put_end(out, reduce, &reduce->last);
    ox_strbuf_putc(out, '\n');
}

static void report_json(struct reduce *reduce, const struct ox_reduced *told, bool fails)
{
    struct ox_json json;
    ox_json_init(&json, &reduce->cli->out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.reduce/1");
    cli_json_string(&json, "model", reduce->path);
    cli_json_bool(&json, "fails", fails);
    cli_json_bool(&json, "complete", told->whole);
    cli_json_uint(&json, "checks", reduce->n_checks);
    cli_json_uint(&json, "nodes_before", told->n_nodes_before);
    cli_json_uint(&json, "nodes", told->n_nodes);
    ox_json_key(&json, "exit_status");
    const struct reduce_end *end = fails ? &reduce->last : &reduce->first;
    if (end->none || end->code < 0)
        ox_json_null(&json);
    else
        ox_json_int(&json, end->code);
    ox_json_key(&json, "printed");
    ox_json_string_n(&json, reduce->printed.data ? reduce->printed.data : "", reduce->printed.len);
    ox_json_end_object(&json);
    ox_strbuf_putc(&reduce->cli->out, '\n');
}

/* The last lines of what the command printed: why it did not fail may be there. */
static void show_printed(const struct reduce *reduce)
{
    enum { LINES = 10 };
    const char *text = reduce->printed.data;
    size_t at = reduce->printed.len, lines = 0;
    while (at > 0 && (lines < LINES || text[at - 1] != '\n'))
        lines += text[--at] == '\n' && at + 1 < reduce->printed.len;
    while (text && at < reduce->printed.len) {
        const size_t n = strcspn(text + at, "\n");
        if (n)
            cli_warn(reduce->cli, "    %.*s", (int)n, text + at);
        at += n + 1;
    }
}

static enum ox_status save(struct reduce *reduce, struct ox_reduction *reduction)
{
    const struct reduce_args *args = reduce->args;
    struct ox_error err;
    reduce->cli->model_out |= strcmp(args->out, "-") == 0;
    enum ox_status status = reduce_save(ox_reduction_model(reduction), args->out, &err);
    if (status == OX_OK && args->check_output)
        status = ox_file_write(args->check_output, reduce->printed.data ? reduce->printed.data : "",
                               reduce->printed.len, &err);
    return status == OX_OK ? OX_OK : cli_error(reduce->cli, &err);
}

static enum ox_status end_search(struct reduce *reduce, struct ox_reduction *reduction,
                                 const struct ox_reduced *told)
{
    enum ox_status status = save(reduce, reduction);
    if (status != OX_OK)
        return status;
    if (reduce->args->format == FORMAT_JSON)
        report_json(reduce, told, true);
    else if (!reduce->cli->common.quiet)
        report_text(reduce, told);
    return reduce->why_stopped
               ? cli_fail(reduce->cli, OX_LIMIT, "%s: %s: %s is the smallest so far", reduce->path,
                          reduce->why_stopped, reduce->args->out)
               : OX_OK;
}

static enum ox_status search(struct reduce *reduce, struct ox_model *model)
{
    const int cut = reduce->args->cut;
    const struct ox_reduce_options with = {.check = reduce_check,
                                           .record = cut == REDUCE_INPUTS ? NULL : reduce_values,
                                           .arg = reduce,
                                           .constants_alone = cut == REDUCE_CONSTANTS};
    struct ox_reduction *reduction = NULL;
    struct ox_reduced told;
    struct ox_error err = {0};
    enum ox_status status = ox_reduce(&reduction, model, &with, &told, &err);
    if (status == OX_OK) {
        status = end_search(reduce, reduction, &told);
    } else if (status == OX_NEGATIVE) {
        struct ox_strbuf end = {0};
        reduce_put_end(&end, reduce, &reduce->first);
        cli_fail(reduce->cli, status, "%s: does not fail: %s", reduce->path,
                 ox_strbuf_text(&end, NULL));
        ox_strbuf_release(&end);
        show_printed(reduce);
        if (reduce->args->format == FORMAT_JSON)
            report_json(reduce, &told, false);
    } else if (status == OX_CANCELLED && reduce->why_stopped) {
        status = cli_fail(reduce->cli, OX_LIMIT,
                          "%s: %s before the whole was checked: nothing is "
                          "written",
                          reduce->path, reduce->why_stopped);
    } else if (*err.message) {
        status = cli_error(reduce->cli, &err);
    }
    ox_reduction_release(reduction);
    return status;
}

/* ---- The command ------------------------------------------------------------------------------------------------------ */

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct reduce_args *args = args_;
    struct reduce reduce = {.cli = cli, .args = args, .interrupted = &interrupted};
    struct sigaction before[N_SIGNALS];
    struct ox_model *model = NULL;
    struct ox_error err = {0};
    if (n_operands < 2)
        return cli_fail(cli, OX_USAGE,
                        "reduce: takes a model and a command: reduce MODEL -o OUT -- CMD");
    if (!args->out)
        return cli_fail(cli, OX_USAGE, "reduce: needs -o OUT");
    if (!(args->check_timeout >= 0) || args->max_checks < 0)
        return cli_fail(cli, OX_USAGE,
                        "reduce: --check-timeout and --max-checks take numbers over 0");
    reduce.path = operands[0];
    reduce.words = operands + 1;
    reduce.n_words = n_operands - 1;
    reduce.first.none = reduce.last.none = true;
    reduce.deadline = cli->common.timeout > 0 ? cli_seconds() + cli->common.timeout : 0;
    enum ox_status status = reduce_read_rules(&reduce);
    if (status == OX_OK && cli_open_sorted(cli, &model, reduce.path, &err) != OX_OK)
        status = cli_error(cli, &err);
    if (status == OX_OK) {
        catch_signals(before);
        status = temp_folder_make(cli, reduce.folder);
        if (status == OX_OK)
            status = search(&reduce, model);
        temp_folder_remove(reduce.folder);
        give_signals_back(before);
    }
    ox_strbuf_release(&reduce.printed);
    ox_model_release(model);
    if (interrupted) {
        cli_flush(cli);
        raise(interrupted);
    }
    return status;
}

const struct command command_reduce = {
    .name = "reduce",
    .summary = "Find the smallest part of a model for which a command still fails",
    .operands = "MODEL [--] CMD [ARG]...",
    .description =
        "Runs CMD with the file of a model, for ever smaller parts of MODEL, and writes the "
        "smallest "
        "one for which it fails as it does for the whole: for a bug report, and to see which "
        "operator it is. {} in the words of CMD stands for the file; without one it comes "
        "last. No shell reads the words (sh -c '...' sh {} is one); what begins with - needs the "
        "-- before it.\n\n"
        "Outputs that are not needed go first; then, by halving, what comes after the first value "
        "that fails, and what comes before; then any nodes that can go, in halves, quarters, at "
        "last "
        "one by one, also past a node whose output is of its input's type. Functions are put where "
        "they are "
        "called, and so are bodies of If, Loop and Scan, if it fails without them; else they are "
        "thinned "
        "out where they are. What feeds a part becomes an input of it, or, where that will not "
        "fail, a "
        "constant: its value in one run of MODEL. Short integer values, which say sizes, are "
        "constants "
        "from the first.\n\n"
        "A part is a valid model if MODEL is one, no part is checked twice, and the same answers "
        "give the "
        "same model. CMD is to feed what inputs a part has: `onnxtool run --random 1`, `onnxtool "
        "parity --engine`, onnxruntime_perf_test -I. Where inputs are fed by name, --cut constants "
        "leaves the "
        "model's own.\n\n"
        "Ctrl-C, --timeout and --max-checks end the search with the smallest model so far. The "
        "exit "
        "status is 1 if MODEL itself does not fail.",
    .examples =
        "  onnxtool reduce model.onnx -o small.onnx -- onnxtool parity {} --engine onnxruntime "
        "--random 1\n"
        "  onnxtool reduce model.onnx -o small.onnx --fail-code same --check-timeout 60 -- "
        "python3 check.py {}\n"
        "  onnxtool reduce model.onnx -o small.onnx --fail-regex 'Could not find an "
        "implementation' -- onnxruntime_perf_test -I -r 1 {} /dev/null\n",
    .options = options,
    .args_bytes = sizeof(struct reduce_args),
    .defaults = defaults,
    .run = run,
};
