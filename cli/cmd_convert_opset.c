#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "converter_steps.h"
#include "optimize_target.h"
#include "prove.h"
#include "target_goals.h"

enum format { FORMAT_TEXT, FORMAT_JSON };

struct args {
    struct opt_strings to, targets;
    const char *out;
    bool dry_run, steps;
    bool no_verify;
    int64_t samples;
    double rtol, atol;
    int format;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {
    {0, "to", OPT_NAMED, FIELD(to), "[DOMAIN=]N", NULL,
     "the version to come to, of ai.onnx unless a domain is named"},
    {0, "target", OPT_STRINGS, FIELD(targets), "RUNTIME[=V]", NULL,
     "come down to the newest versions that this runtime takes; check --target list has them"},
    {'o', "output", OPT_STRING, FIELD(out), "OUT", NULL, "write the converted model"},
    {'n', "dry-run", OPT_FLAG, FIELD(dry_run), NULL, NULL,
     "only tell what would be changed and what cannot be"},
    {0, "steps", OPT_FLAG, FIELD(steps), NULL, NULL,
     "list the steps down that onnx's own converter lacks and that are taken here"},
    {0, "no-verify", OPT_FLAG, FIELD(no_verify), NULL, NULL,
     "do not run both models on inputs drawn at random"},
    {0, "samples", OPT_INT, FIELD(samples), "N", NULL, "inputs to draw for that (2)"},
    {0, "rtol", OPT_DOUBLE, FIELD(rtol), "R", NULL,
     "relative tolerance of outputs (1e-3; where a model quantizes or has halves for weights,"
     " or an SQNR of 40 dB, of 16 bits 60, of float16 25, of bfloat16 20)"},
    {0, "atol", OPT_DOUBLE, FIELD(atol), "A", NULL, "absolute tolerance of outputs (1e-5)"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "text|json", "form of the report"},
    OPT_END};

static void defaults(void *args_)
{
    struct args *args = args_;
    args->samples = 2;
    args->rtol = args->atol = -1;
}

/* ---- The goals ---------------------------------------------------------------------------------------------------- */

/* The domains point into `copies`, one a goal. */
static enum ox_status parse_goals(struct cli *cli, const struct args *args, char **copies,
                                  struct ox_opset_goal *goals)
{
    for (size_t i = 0; i < args->to.n; i++) {
        copies[i] = strdup(args->to.items[i]);
        if (!copies[i])
            return cli_fail(cli, OX_NO_MEMORY, "out of memory");
        char *equals = strrchr(copies[i], '='), *end;
        const char *number = equals ? equals + 1 : copies[i];
        goals[i].domain = equals ? copies[i] : "";
        if (equals)
            *equals = '\0';
        long long version = strtoll(number, &end, 10);
        if (!*number || *end || version < 1 || version > 1000000)
            return cli_fail(cli, OX_USAGE, "convert-opset: --to takes N or DOMAIN=N, not '%s'",
                            args->to.items[i]);
        goals[i].version = version;
    }
    return OX_OK;
}

/* ---- The report --------------------------------------------------------------------------------------------------- */

struct job {
    struct cli *cli;
    const struct args *args;
    const char *path;
    struct ox_model *before, *after;
    struct ox_conversion *conversion;
    struct ox_opset_goal *goals; /* with room for two more */
    size_t n_goals;
    struct for_targets targets;
    bool proven;
    struct proof proof;
};

static void print_place(struct ox_strbuf *out, const struct ox_convert_note *note)
{
    if (*note->graph) {
        ox_strbuf_name(out, note->graph, 256);
        ox_strbuf_putc(out, '.');
    }
    ox_strbuf_name(out, note->node, 256);
    ox_strbuf_puts(out, " (");
    if (*note->domain) {
        ox_strbuf_name(out, note->domain, 256);
        ox_strbuf_putc(out, '.');
    }
    ox_strbuf_name(out, note->op_type, 256);
    ox_strbuf_putc(out, ')');
}

static void print_text(const struct job *job)
{
    struct ox_strbuf *out = &job->cli->out;
    size_t n_blocked = ox_conversion_blocked(job->conversion);
    int64_t ir_before, ir_after = ox_conversion_ir(job->conversion, &ir_before), version;
    for (size_t i = 0; i < ox_conversion_count(job->conversion); i++) {
        const struct ox_convert_note *note = ox_conversion_at(job->conversion, i);
        ox_strbuf_puts(out, "blocked: ");
        print_place(out, note);
        ox_strbuf_printf(out, ", opset %lld to %lld: %s\n", (long long)note->from,
                         (long long)note->to, note->reason);
    }
    if (job->cli->common.quiet)
        return;
    if (n_blocked) {
        ox_strbuf_printf(out, "%zu node%s cannot be converted\n", n_blocked,
                         n_blocked == 1 ? "" : "s");
        return;
    }
    for (size_t i = 0; i < ox_model_n_opsets(job->before); i++) {
        int64_t now = 0;
        const char *domain = ox_model_opset(job->before, i, &version);
        ox_model_opset(job->after, i, &now);
        if (version == now)
            continue;
        ox_strbuf_name(out, domain, 256);
        ox_strbuf_printf(out, " %lld to %lld\n", (long long)version, (long long)now);
    }
    if (ir_before != ir_after)
        ox_strbuf_printf(out, "IR version %lld to %lld\n", (long long)ir_before,
                         (long long)ir_after);
    size_t n_changed = ox_conversion_changed(job->conversion);
    ox_strbuf_printf(out, "%zu node%s rewritten\n", n_changed, n_changed == 1 ? "" : "s");
    if (!job->proven || !job->proof.samples || !job->proof.agree)
        return;
    ox_strbuf_printf(out, "verified on %u random input%s: largest difference %.3g, relative %.3g",
                     job->proof.samples, job->proof.samples == 1 ? "" : "s", job->proof.max_abs,
                     job->proof.max_rel);
    if (isfinite(job->proof.least_db))
        ox_strbuf_printf(out, ", SQNR %.1f dB", job->proof.least_db);
    ox_strbuf_putc(out, '\n');
}

static void json_blocked(struct ox_json *json, const struct ox_conversion *conversion)
{
    ox_json_key(json, "blocked");
    ox_json_array(json);
    for (size_t i = 0; i < ox_conversion_count(conversion); i++) {
        const struct ox_convert_note *note = ox_conversion_at(conversion, i);
        ox_json_object(json);
        cli_json_string(json, "graph", note->graph);
        cli_json_string(json, "node", note->node);
        cli_json_string(json, "op_type", note->op_type);
        cli_json_string(json, "domain", note->domain);
        cli_json_int(json, "from", note->from);
        cli_json_int(json, "to", note->to);
        cli_json_string(json, "reason", note->reason);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void json_opsets(struct ox_json *json, const char *key, const struct ox_model *model)
{
    int64_t version;
    ox_json_key(json, key);
    ox_json_object(json);
    for (size_t i = 0; i < ox_model_n_opsets(model); i++) {
        ox_json_key(json, ox_model_opset(model, i, &version));
        ox_json_int(json, version);
    }
    ox_json_end_object(json);
}

static void json_proof(struct ox_json *json, const struct job *job)
{
    ox_json_key(json, "verified");
    if (!job->proven) {
        ox_json_null(json);
        return;
    }
    ox_json_object(json);
    cli_json_uint(json, "samples", job->proof.samples);
    cli_json_bool(json, "agree", job->proof.agree && job->proof.samples);
    cli_json_double(json, "max_abs", job->proof.max_abs);
    cli_json_double(json, "max_rel", job->proof.max_rel);
    if (isfinite(job->proof.least_db))
        cli_json_double(json, "sqnr_db", job->proof.least_db);
    if (job->proof.reason[0]) {
        cli_json_string(json, "reason", job->proof.reason);
    }
    ox_json_end_object(json);
}

static void print_json(const struct job *job)
{
    struct ox_json json;
    int64_t ir_before, ir_after = ox_conversion_ir(job->conversion, &ir_before);
    ox_json_init(&json, &job->cli->out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.convert-opset/1");
    cli_json_string(&json, "model", job->path);
    json_opsets(&json, "from", job->before);
    json_opsets(&json, "to", job->after);
    ox_json_key(&json, "ir_version");
    ox_json_object(&json);
    cli_json_int(&json, "from", ir_before);
    cli_json_int(&json, "to", ir_after);
    ox_json_end_object(&json);
    cli_json_bool(&json, "converted", ox_conversion_blocked(job->conversion) == 0);
    cli_json_uint(&json, "rewritten", ox_conversion_changed(job->conversion));
    json_blocked(&json, job->conversion);
    json_proof(&json, job);
    ox_json_end_object(&json);
    ox_strbuf_putc(&job->cli->out, '\n');
}

/* ---- Targets ------------------------------------------------------------------------------------------------------ */

/* Domains that the model has newer than the targets take them. */
static enum ox_status add_target_goals(struct job *job)
{
    struct ox_error err;
    enum ox_status status = ox_targets_new(&job->targets.targets, job->cli->env, &err);
    for (size_t i = 0; i < job->args->targets.n && status == OX_OK; i++)
        status = ox_targets_add(job->targets.targets, job->args->targets.items[i], &err);
    if (status != OX_OK)
        return cli_error(job->cli, &err);
    job->n_goals += target_goals(job->targets.targets, job->before, job->goals + job->n_goals);
    return OX_OK;
}

/* What keeps them from loading the result is no matter of versions: functions, operators of nobody's. */
static enum ox_status ask_targets(struct job *job)
{
    bool good;
    char reason[OX_ERROR_BYTES];
    enum ox_status status = for_targets_judge(job->cli, &job->targets, job->after, &good, reason);
    if (status == OX_OK && !good)
        cli_warn(job->cli, "%s: warning: as converted, %s", job->path, reason);
    return status;
}

/* ---- The conversion ----------------------------------------------------------------------------------------------- */

static enum ox_status verify(struct job *job)
{
    const struct args *args = job->args;
    struct proof_options how = {.samples = (unsigned)args->samples,
                                .seed = 1,
                                .env = job->cli->env,
                                .path = job->path,
                                .tolerance = {.rtol = args->rtol >= 0 ? args->rtol : 1e-3,
                                              .atol = args->atol >= 0 ? args->atol : 1e-5,
                                              .nan_agrees = true}};
    struct ox_error err;
    enum ox_status status = OX_OK;
    if (args->rtol < 0 && args->atol < 0)
        status = prove_enough(job->before, &how.enough_db, &err);
    if (status == OX_OK)
        status = prove_equal(&job->proof, job->before, job->after, &how, &err);
    if (status != OX_OK)
        return cli_error(job->cli, &err);
    job->proven = true;
    if (!job->proof.agree)
        return cli_fail(job->cli, OX_NEGATIVE,
                        "%s: the converted model is not equal, and is not written: %s", job->path,
                        job->proof.reason);
    if (!job->proof.samples)
        cli_warn(job->cli, "%s: warning: the result was not verified: %s", job->path,
                 job->proof.reason);
    return OX_OK;
}

static enum ox_status convert(struct job *job)
{
    struct ox_error err;
    const struct args *args = job->args;
    enum ox_status status = cli_open_sorted(job->cli, &job->before, job->path, &err);
    if (status == OX_OK && args->targets.n) {
        status = add_target_goals(job);
        if (status != OX_OK)
            return status;
    }
    if (status == OX_OK)
        status = ox_model_copy(&job->after, job->before, &err);
    if (status == OX_OK)
        status = ox_convert_opset(&job->conversion, job->after, job->goals, job->n_goals, &err);
    if (status != OX_OK)
        return cli_error(job->cli, &err);
    size_t n_blocked = ox_conversion_blocked(job->conversion);
    if (n_blocked)
        status = cli_fail(job->cli, OX_NEGATIVE, "%s: %zu node%s cannot be converted", job->path,
                          n_blocked, n_blocked == 1 ? "" : "s");
    else if (args->targets.n)
        status = ask_targets(job);
    if (status == OX_OK && !args->no_verify && !args->dry_run)
        status = verify(job);
    if (args->format == FORMAT_JSON)
        print_json(job);
    else
        print_text(job);
    if (status == OX_OK && args->out && !args->dry_run)
        status = cli_save_model(job->cli, job->after, args->out, NULL);
    return status;
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    if (args->steps) {
        converter_steps_print(&cli->out);
        return OX_OK;
    }
    if (!args->to.n && !args->targets.n)
        return cli_fail(cli, OX_USAGE, "convert-opset: --to says to which version");
    if (args->samples < 1 || args->samples > 1000)
        return cli_fail(cli, OX_USAGE, "convert-opset: --samples takes a number from 1 to 1000");
    if ((!(args->rtol >= 0) && args->rtol != -1) || (!(args->atol >= 0) && args->atol != -1))
        return cli_fail(cli, OX_USAGE, "convert-opset: tolerances are not negative");
    enum ox_status status = cli_one_model(cli, operands, n_operands);
    if (status != OX_OK)
        return status;
    cli_start_timer(cli, operands[0]);
    char **copies = calloc(args->to.n + 1, sizeof *copies);
    struct ox_opset_goal *goals = calloc(args->to.n + 2, sizeof *goals);
    struct job job = {
        .cli = cli, .args = args, .path = operands[0], .goals = goals, .n_goals = args->to.n};
    status = copies && goals ? parse_goals(cli, args, copies, goals)
                             : cli_fail(cli, OX_NO_MEMORY, "out of memory");
    if (status == OX_OK)
        status = convert(&job);
    for_targets_release(&job.targets);
    ox_conversion_release(job.conversion);
    ox_model_release(job.after);
    ox_model_release(job.before);
    for (size_t i = 0; copies && i < args->to.n; i++)
        free(copies[i]);
    free(copies);
    free(goals);
    return status;
}

const struct command command_convert_opset = {
    .name = "convert-opset",
    .summary = "Convert a model to another version of its operator sets",
    .operands = "MODEL",
    .description =
        "Makes a model mean the same under another version of ai.onnx, or of another domain, "
        "newer or older: in the graph, its subgraphs and its functions. Where an operator is too "
        "new "
        "it is replaced by others.\n\n"
        "Every node that cannot be converted is listed with the reason, and then nothing is "
        "written: exit status 1. Names, metadata and external data stay. The IR version "
        "follows.\n\n"
        "Both models are run on inputs drawn at random, and the result is not written unless "
        "outputs agree. Without -o it is only reported.",
    .examples = "  onnxtool convert-opset model.onnx --to 17 -o model17.onnx\n"
                "  onnxtool convert-opset model.onnx --target onnxruntime=1.12 -o for12.onnx\n"
                "  onnxtool convert-opset model.onnx --to 13 --to ai.onnx.ml=3 --dry-run\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .defaults = defaults,
    .run = run,
};
