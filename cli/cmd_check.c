#include <stdlib.h>
#include <string.h>

#include "commas.h"
#include "render_check.h"

struct args {
    bool full;
    bool lint;
    bool werror;
    bool stats;
    int format;
    int severity;
    struct opt_strings disable; /* ids; each may be a list with commas */
    const char *explain;
    struct target_args targets;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {
    {0, "full", OPT_FLAG, FIELD(full), NULL, NULL,
     "infer types and shapes too and report every conflict"},
    {0, "lint", OPT_FLAG, FIELD(lint), NULL, NULL, "add advice on what is valid but will hurt"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", CHECK_FORMATS, "form of the output"},
    {0, "severity", OPT_CHOICE, FIELD(severity), "LEVEL", "info|warning|error",
     "show findings of that level and above"},
    {0, "disable", OPT_STRINGS, FIELD(disable), "ID,...", NULL, "leave these findings out"},
    {0, "werror", OPT_FLAG, FIELD(werror), NULL, NULL, "a model with warnings is invalid too"},
    TARGET_OPTIONS(FIELD(targets)),
    {0, "explain", OPT_STRING, FIELD(explain), "ID", NULL,
     "tell what a finding means and exit; 'all' lists them"},
    {0, "stats", OPT_FLAG, FIELD(stats), NULL, NULL,
     "say on standard error what was read, how long it took and the memory it needed"},
    OPT_END};

static bool is_disabled(const struct args *args, const char *id)
{
    for (size_t i = 0; i < args->disable.n; i++)
        if (commas_have(args->disable.items[i], id))
            return true;
    return false;
}

static const struct ox_finding_kind *kind_of(const char *id, size_t n)
{
    size_t n_kinds;
    const struct ox_finding_kind *kinds = ox_finding_kinds(&n_kinds);
    for (size_t i = 0; i < n_kinds; i++)
        if (strlen(kinds[i].id) == n && memcmp(kinds[i].id, id, n) == 0)
            return &kinds[i];
    return NULL;
}

static enum ox_status explain(struct cli *cli, const char *id)
{
    if (strcmp(id, "all") == 0) {
        size_t n;
        const struct ox_finding_kind *kinds = ox_finding_kinds(&n);
        for (size_t i = 0; i < n; i++)
            ox_strbuf_printf(&cli->out, "%-28s %-8s %s\n", kinds[i].id,
                             ox_severity_name(kinds[i].severity), kinds[i].title);
        return OX_OK;
    }
    const struct ox_finding_kind *kind = kind_of(id, strlen(id));
    if (!kind)
        return cli_fail(cli, OX_USAGE, "check: no finding is called '%s'; --explain all lists them",
                        id);
    ox_strbuf_printf(&cli->out, "%s (%s): %s\n\n%s\n", kind->id, ox_severity_name(kind->severity),
                     kind->title, kind->explanation);
    return OX_OK;
}

static enum ox_status verify_disabled(struct cli *cli, const struct args *args)
{
    const char *word;
    size_t n;
    for (size_t i = 0; i < args->disable.n; i++)
        for (const char *at = args->disable.items[i]; commas_next(&at, &word, &n);)
            if (!kind_of(word, n))
                return cli_fail(cli, OX_USAGE, "check: --disable: no finding is called '%.*s'",
                                (int)n, word);
    return OX_OK;
}

/* --severity names levels upwards, the library's enum counts downwards. */
static bool is_shown(const struct args *args, const struct ox_finding *finding)
{
    return (int)finding->severity <= OX_INFO - args->severity && !is_disabled(args, finding->id);
}

static void print_stats(struct cli *cli, const struct ox_model *model, const char *path,
                        double start)
{
    const double ms = (cli_seconds() - start) * 1e3;
    struct ox_model_size size;
    ox_model_size(model, &size);
    cli_warn(cli,
             "%s: %.2f ms; %llu bytes in the file, %llu of them payload that was not read; %llu "
             "bytes of memory, %llu resident at most",
             path, ms, (unsigned long long)size.file_bytes, (unsigned long long)size.payload_bytes,
             (unsigned long long)ox_env_memory_peak(cli->env),
             (unsigned long long)cli_peak_resident());
}

static void judge(struct cli *cli, const struct args *args, struct check_report *report,
                  const struct ox_findings *findings, const struct ox_finding **shown)
{
    for (size_t i = 0; i < ox_findings_count(findings); i++) {
        const struct ox_finding *finding = ox_findings_at(findings, i);
        if (is_disabled(args, finding->id))
            continue;
        size_t *counts[] = {&report->n_errors, &report->n_warnings, &report->n_infos};
        ++*counts[finding->severity];
        if (is_shown(args, finding))
            shown[report->n_findings++] = finding;
    }
    /* They say nothing about the model's validity. */
    for (size_t i = 0; i < report->targets->n_findings; i++)
        if (is_shown(args, &report->targets->findings[i]))
            shown[report->n_findings++] = &report->targets->findings[i];
    report->findings = shown;
    report->valid = !report->n_errors && !(args->werror && report->n_warnings);
    render_check(cli, (enum check_format)args->format, report);
}

/* A file that is no model: its one finding goes out in the chosen form too. */
static enum ox_status unreadable(struct cli *cli, const struct args *args, const char *path,
                                 const struct ox_error *err)
{
    const struct ox_finding finding = {
        .id = "file.unreadable", .severity = OX_ERROR, .message = err->message};
    const struct ox_finding *shown = &finding;
    struct check_report report = {
        .model = path, .error = err, .findings = &shown, .n_findings = 1, .n_errors = 1};
    if (args->format != CHECK_TEXT)
        render_check(cli, (enum check_format)args->format, &report);
    return cli_error(cli, err);
}

static enum ox_status check_one(struct cli *cli, void *args_, const char *path)
{
    const struct args *args = args_;
    struct ox_error err = {0};
    struct ox_model *model = NULL;
    struct ox_findings *findings = NULL;
    const struct ox_finding **shown = NULL;
    struct target_report targets = {0};
    const double start = cli_seconds();
    enum ox_status status = ox_model_open(&model, cli->env, path, &err);
    if (status != OX_OK)
        return unreadable(cli, args, path, &err);
    cli_forget_reading(cli);
    const struct ox_check_options what = {.full = args->full, .lint = args->lint};
    status = ox_check(&findings, model, &what, &err);
    if (status != OX_OK) {
        cli_error(cli, &err);
        goto cleanup;
    }
    if (target_asked(&args->targets)) {
        status = target_report_fill(cli, &args->targets, model, path, &targets);
        if (status != OX_OK)
            goto cleanup;
        for (size_t i = 0; args->lint && i < targets.n; i++)
            ox_target_advise(findings, targets.verdicts[i]);
        if (args->format >= CHECK_SARIF)
            status = target_report_findings(cli, path, &targets);
        if (status != OX_OK)
            goto cleanup;
    }
    shown = malloc((ox_findings_count(findings) + targets.n_findings + 1) * sizeof *shown);
    if (!shown) {
        status = cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", path);
        goto cleanup;
    }
    struct check_report report = {.model = path,
                                  .readable = true,
                                  .ir_version = ox_model_ir_version(model),
                                  .opened = model,
                                  .targets = &targets};
    judge(cli, args, &report, findings, shown);
    if (args->stats)
        print_stats(cli, model, path, start);
    if (!report.valid)
        status = cli_fail(cli, OX_NEGATIVE, "%s: invalid: %zu error%s, %zu warning%s", path,
                          report.n_errors, report.n_errors == 1 ? "" : "s", report.n_warnings,
                          report.n_warnings == 1 ? "" : "s");
    status = cli_worse(status, target_report_status(cli, &args->targets, path, &targets));
cleanup:
    target_findings_release(&targets);
    target_report_release(&targets);
    free(shown);
    ox_findings_release(findings);
    ox_model_release(model);
    return status;
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    struct args *args = args_;
    if (args->explain)
        return explain(cli, args->explain);
    enum ox_status status = verify_disabled(cli, args);
    bool done = false;
    if (status == OX_OK)
        status = target_prepare(cli, &args->targets, &done);
    if (status != OX_OK || done)
        return status;
    if (!n_operands && !cli->common.files_from) /* says what is missing */
        return cli_each_model(cli, args, operands, n_operands, check_one);
    render_check_begin(cli, (enum check_format)args->format);
    status = cli_flush(cli);
    if (status == OX_OK)
        status = cli_each_model(cli, args, operands, n_operands, check_one);
    render_check_end(cli, (enum check_format)args->format);
    return status;
}

static bool finding_entry(size_t i, const char **id, const char **title)
{
    size_t n;
    const struct ox_finding_kind *kinds = ox_finding_kinds(&n);
    if (i >= n)
        return false;
    *id = kinds[i].id;
    *title = kinds[i].title;
    return true;
}

const struct command command_check = {
    .name = "check",
    .summary = "Tell everything that is wrong with a model",
    .operands = "MODEL|FOLDER...",
    .several = true,
    .description =
        "Holds models against the standard: protobuf form, IR version, opset imports, every node "
        "against its operator's "
        "schema at that opset, single assignment, topological order, scoping in subgraphs and "
        "functions, sizes of "
        "initializers, external data, sparse tensors, training information, metadata. Everything "
        "that is wrong is found in one "
        "pass, each finding with a stable id, its place, the values at fault and a hint. Weights "
        "are not read.\n\n"
        "With --full types and shapes are inferred as well, and what contradicts itself is an "
        "error.\n\n"
        "With --lint there is advice on what is valid but will hurt: dead nodes and weights, "
        "duplicated weights, fixed "
        "batch dimensions, float64, initializers that are inputs, external data, quantization that "
        "no runtime fuses. Weights are read "
        "only where two look alike.\n\n"
        "Of the forms, sarif (2.1.0), junit and github (workflow commands) are for continuous "
        "integration.\n\n"
        "With --target the model is held against a runtime as released: does it load, and if not, "
        "why, and what is "
        "the smallest change; which nodes does a provider take, and which fall back. The tables "
        "are from the packages "
        "themselves where --target list says measured or listed.\n\n"
        "A file that is no model at all ends in exit status 3, one that breaks a rule in 1.",
    .examples = "  onnxtool check --full --lint model.onnx\n"
                "  onnxtool check -f sarif *.onnx > check.sarif\n"
                "  onnxtool check -f json -j 2 --files-from list.txt\n"
                "  onnxtool check --target onnxruntime=1.16 --target onnxruntime:cuda model.onnx\n"
                "  onnxtool check --explain node.unknown-op\n",
    .list_title = "FINDINGS",
    .list_entry = finding_entry,
    .options = options,
    .args_bytes = sizeof(struct args),
    .run = run,
};
