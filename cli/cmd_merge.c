#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commas.h"
#include "name_pairs.h"

enum format { FORMAT_TEXT, FORMAT_JSON };

struct args {
    const char *out;
    struct opt_strings map, shared, outputs;
    const char *prefixes[2];
    bool apart;
    int format;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {
    {'o', "output", OPT_STRING, FIELD(out), "OUT", NULL, "write the merged model"},
    {0, "map", OPT_STRINGS, FIELD(map), "OUT=IN", NULL,
     "feed B's input IN from A's output OUT (default: those of one name, or the only two)"},
    {0, "apart", OPT_FLAG, FIELD(apart), NULL, NULL,
     "connect nothing that --map does not: both models side by side"},
    {0, "shared", OPT_STRINGS, FIELD(shared), "NAME,...", NULL,
     "inputs that both models have and that become one"},
    {0, "prefix1", OPT_STRING, FIELD(prefixes[0]), "PREFIX", NULL,
     "put it before all names of A's values and nodes"},
    {0, "prefix2", OPT_STRING, FIELD(prefixes[1]), "PREFIX", NULL, "... and of B's"},
    {0, "outputs", OPT_STRINGS, FIELD(outputs), "NAME,...", NULL,
     "these are the outputs of the whole (default: A's that feed nothing, and B's), values between "
     "nodes too; what they do not need is left out"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "text|json", "form of the report"},
    OPT_END};

struct job {
    struct cli *cli;
    const struct args *args;
    const char *const *paths;
    struct ox_model *models[2], *whole;
    struct ox_merge_report report;
};

/* ---- What is asked for -------------------------------------------------------------------------------------------- */

static enum ox_status merge_with(struct job *job, const struct ox_name_pair *pairs)
{
    const struct args *args = job->args;
    struct ox_error err;
    size_t n_shared = 0;
    const char **shared = commas_split(&args->shared, &n_shared);
    if (!shared)
        return cli_fail(job->cli, OX_NO_MEMORY, "out of memory");
    const struct ox_merge_options with = {.pairs = pairs,
                                          .n_pairs = args->map.n,
                                          .apart = args->apart,
                                          .shared = shared,
                                          .n_shared = n_shared,
                                          .prefixes = {args->prefixes[0], args->prefixes[1]}};
    enum ox_status status =
        ox_merge(&job->whole, job->models[0], job->models[1], &with, &job->report, &err);
    free((void *)shared);
    for (char *line = job->report.problems.data, *end; line && (end = strchr(line, '\n'));
         line = end + 1)
        cli_fail(job->cli, status, "%.*s", (int)(end - line), line);
    return status == OX_OK ? OX_OK : cli_error(job->cli, &err);
}

static enum ox_status merge(struct job *job)
{
    struct ox_name_pair *pairs = NULL;
    enum ox_status status =
        name_pairs_read(job->cli, &job->args->map, "map", "OUT=IN", true, &pairs);
    if (status == OX_OK)
        status = merge_with(job, pairs);
    free(pairs);
    return status;
}

static enum ox_status take_outputs(struct job *job)
{
    struct ox_shapes *shapes = NULL;
    struct ox_error err;
    size_t n = 0;
    const char **names = commas_split(&job->args->outputs, &n);
    enum ox_status status = names ? OX_OK : ox_no_memory(&err);
    if (names && !n && job->args->outputs.n) {
        free((void *)names);
        return cli_fail(job->cli, OX_USAGE, "merge: --outputs names no value");
    }
    if (status == OX_OK && n)
        status = ox_shapes_infer(&shapes, job->whole, NULL, NULL, &err);
    if (status == OX_OK && n)
        status = ox_extract(job->whole, shapes, NULL, 0, names, n, &err);
    ox_shapes_release(shapes);
    free((void *)names);
    return status == OX_OK ? OX_OK : cli_error(job->cli, &err);
}

/* ---- What comes of it --------------------------------------------------------------------------------------------- */

/* Weights that lay in files of their own go to one beside the model, and so they do where one message cannot hold them. */
static enum ox_status save(struct job *job)
{
    struct ox_error err;
    const char *out = job->args->out;
    const bool to_file = strcmp(out, "-") != 0;
    job->cli->model_out |= !to_file;
    enum ox_status status = job->report.external && to_file
                                ? ox_external_pack(job->whole, out, NULL, NULL, &err)
                                : cli_save_large(job->whole, out, NULL, &err);
    return status == OX_OK ? OX_OK : cli_error(job->cli, &err);
}

static void put_count(struct ox_strbuf *out, const char *before, size_t n, const char *one,
                      const char *many)
{
    if (n)
        ox_strbuf_printf(out, "%s%zu %s", before, n, n == 1 ? one : many);
}

static void report_text(struct job *job)
{
    const struct ox_merge_report *report = &job->report;
    struct ox_strbuf *out = &job->cli->out;
    ox_strbuf_name(out, job->args->out, 0);
    ox_strbuf_printf(out, ": %zu output%s connected", report->n_connected,
                     report->n_connected == 1 ? "" : "s");
    put_count(out, ", ", report->n_shared, "input shared", "inputs shared");
    put_count(out, "; both had ", report->n_renamed_values, "value's name", "values' names");
    put_count(out, report->n_renamed_values ? ", " : "; both had ", report->n_renamed_nodes,
              "node's name", "nodes' names");
    put_count(out, (report->n_renamed_values || report->n_renamed_nodes) ? ", " : "; both had ",
              report->n_renamed_functions, "function's name", "functions' names");
    ox_strbuf_putc(out, '\n');
    if (report->notes.len)
        ox_strbuf_puts(out, report->notes.data);
}

static void json_lines(struct ox_json *json, const char *key, const char *lines)
{
    struct ox_strbuf one = {0};
    ox_json_key(json, key);
    ox_json_array(json);
    for (const char *end; lines && (end = strchr(lines, '\n')); lines = end + 1) {
        ox_strbuf_clear(&one);
        ox_strbuf_add(&one, lines, (size_t)(end - lines));
        ox_json_string(json, ox_strbuf_text(&one, json->out));
    }
    ox_json_end_array(json);
    ox_strbuf_release(&one);
}

static void report_json(struct job *job, bool merged)
{
    const struct ox_merge_report *report = &job->report;
    struct ox_json json;
    ox_json_init(&json, &job->cli->out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.merge/1");
    cli_json_string(&json, "a", job->paths[0]);
    cli_json_string(&json, "b", job->paths[1]);
    cli_json_bool(&json, "merged", merged);
    cli_json_uint(&json, "connected", report->n_connected);
    cli_json_uint(&json, "shared", report->n_shared);
    ox_json_key(&json, "renamed");
    ox_json_object(&json);
    cli_json_uint(&json, "values", report->n_renamed_values);
    cli_json_uint(&json, "nodes", report->n_renamed_nodes);
    cli_json_uint(&json, "functions", report->n_renamed_functions);
    ox_json_end_object(&json);
    json_lines(&json, "notes", report->notes.data);
    json_lines(&json, "problems", report->problems.data);
    ox_json_end_object(&json);
    ox_strbuf_putc(&job->cli->out, '\n');
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static enum ox_status run_job(struct job *job)
{
    struct ox_error err;
    for (size_t i = 0; i < 2; i++)
        if (cli_open_sorted(job->cli, &job->models[i], job->paths[i], &err) != OX_OK)
            return cli_error(job->cli, &err);
    enum ox_status status = merge(job);
    if (status == OX_OK)
        status = take_outputs(job);
    if (status == OX_OK)
        status = cli_check_result(job->cli, job->whole, job->args->out);
    if (status == OX_OK)
        status = save(job);
    if (job->args->format == FORMAT_JSON &&
        (status == OX_OK || (!job->whole && job->report.problems.len)))
        report_json(job, status == OX_OK);
    else if (status == OX_OK && !job->cli->common.quiet)
        report_text(job);
    return status;
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    struct job job = {.cli = cli, .args = args, .paths = operands};
    if (n_operands != 2)
        return cli_fail(cli, OX_USAGE, "merge: takes two models");
    if (!args->out)
        return cli_fail(cli, OX_USAGE, "merge: needs -o OUT");
    if (strcmp(operands[0], "-") == 0 && strcmp(operands[1], "-") == 0)
        return cli_fail(cli, OX_USAGE, "merge: standard input is one model");
    cli_start_timer(cli, operands[0]);
    enum ox_status status = run_job(&job);
    ox_model_release(job.whole);
    ox_model_release(job.models[0]);
    ox_model_release(job.models[1]);
    ox_merge_report_release(&job.report);
    return status;
}

const struct command command_merge = {
    .name = "merge",
    .summary = "Make one model of two",
    .operands = "A B",
    .description =
        "Outputs of A feed inputs of B. The whole has the inputs and outputs of both that are "
        "left, "
        "under their names; without --map outputs and inputs of the same name are connected, or "
        "A's only output and B's only input. Types and shapes of what is connected must agree.\n\n"
        "What else is called alike is renamed in one of the two: values and nodes begin with a/ or "
        "b/, functions with a_ or b_; a function that both have is kept once. Dimensions of "
        "one name stay one where a connection says that they are; B's get a number else. An input "
        "or an output of the whole is never renamed but by --prefix1 and --prefix2: where two "
        "would be called alike nothing is written.\n\n"
        "Of different versions of an operator set the newer one is taken where no operator that "
        "the older model uses changed; else the convert-opset command that helps is told. All "
        "that is in the way is told at once, exit status 1.\n\n"
        "External data of both goes to OUT.data, equal tensors once, and so do large weights where "
        "one "
        "message would pass 2 GB.",
    .examples =
        "  onnxtool merge preprocess.onnx model.onnx -o whole.onnx\n"
        "  onnxtool merge --map hidden=x --map mask=attention_mask A.onnx B.onnx -o C.onnx\n"
        "  onnxtool merge --apart --prefix1 l/ --prefix2 r/ --shared image L.onnx R.onnx -o "
        "both.onnx\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .run = run,
};
