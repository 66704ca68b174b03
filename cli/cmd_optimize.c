#include "commas.h"
#include "optimize.h"

#include <stdlib.h>
#include <string.h>

#include "extract_option.h"
#include "input_dims.h"
#include "optimize_half.h"

enum format { FORMAT_TEXT, FORMAT_JSON };

enum {
    BEYOND_EDGES = 16
}; /* what inputs are drawn times to find all that overflows: more than a proof's 10 */

#define FIELD(name) offsetof(struct optimize_args, name)

static const struct opt options[] = {
    {'o', "output", OPT_STRING, FIELD(out), "OUT", NULL, "write the optimized model"},
    {0, "passes", OPT_STRING, FIELD(passes), "NAME,...", NULL, "run these passes only"},
    {0, "skip", OPT_STRING, FIELD(skip), "NAME,...", NULL, "run all passes but these"},
    {0, "list", OPT_FLAG, FIELD(list), NULL, NULL, "list the passes"},
    {0, "level", OPT_INT, FIELD(level), "N", NULL, "1: folding and clearing away; 2: all (2)"},
    {0, "fold-limit", OPT_SIZE, FIELD(fold_limit), "SIZE", NULL,
     "most that folded constants may add to the model (16M, or a tenth of its constants)"},
    {0, "for", OPT_STRINGS, FIELD(targets), "TARGET", NULL,
     "come down to the opset that this runtime takes, and make only what it takes; as check "
     "--target"},
    {0, "extract", OPT_STRING, FIELD(extract), "IN,...:OUT,...", NULL,
     "take the part between these values alone"},
    {0, "inline", OPT_FLAG, FIELD(inline_functions), NULL, NULL,
     "put the bodies of the model's functions where they are called"},
    {0, "dedup", OPT_FLAG, FIELD(dedup), NULL, NULL, "keep equal weights once"},
    {0, "freeze", OPT_NAMED, FIELD(freeze), "NAME=DIMS", NULL,
     "fix the dimensions of an input, 1x3x224x224, or a dimension that has a name, 1"},
    {0, "empty", OPT_FLAG, FIELD(empty), NULL, NULL,
     "open dimensions of inputs may be 0; else they are taken to be at least 1"},
    {0, "fp16", OPT_FLAG, FIELD(fp16), NULL, NULL,
     "compute in float16, but for what overflows or the target (onnxruntime's CPU from "
     "1.31 on, unless --for names one) has no kernels for; inputs and outputs stay"},
    {0, "bf16", OPT_FLAG, FIELD(bf16), NULL, NULL, "the same in bfloat16"},
    {0, "half-io", OPT_FLAG, FIELD(half_io), NULL, NULL,
     "of --fp16 and --bf16: inputs and outputs in that type too"},
    {0, "no-verify", OPT_FLAG, FIELD(no_verify), NULL, NULL,
     "do not hold the result against the model"},
    {0, "samples", OPT_INT, FIELD(samples), "N", NULL, "random inputs to draw for that (2)"},
    {0, "rtol", OPT_DOUBLE, FIELD(rtol), "R", NULL,
     "relative tolerance of outputs (1e-3; of halves made here 2e-2; where weights are halves, "
     "or an SQNR of 25 dB, of bfloat16 20; where the model quantizes 40, to 16 bits 60)"},
    {0, "atol", OPT_DOUBLE, FIELD(atol), "A", NULL,
     "absolute tolerance of outputs (1e-5; of halves 2e-2)"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "text|json", "form of the report"},
    OPT_END};

static void defaults(void *args_)
{
    struct optimize_args *args = args_;
    args->level = 2;
    args->samples = 2;
    args->rtol = args->atol = -1;
}

static enum ox_status no_memory(struct optimize_job *job)
{
    return cli_fail(job->cli, OX_NO_MEMORY, "%s: out of memory", job->path);
}

/* ---- Which passes ------------------------------------------------------------------------------------------------- */

static enum ox_status add_step(struct optimize_job *job, const char *name, size_t n)
{
    struct optimize_step *steps = realloc(job->steps, (job->n_steps + 1) * sizeof *steps);
    if (!steps)
        return no_memory(job);
    job->steps = steps;
    steps[job->n_steps] = (struct optimize_step){.name = strndup(name, n)};
    return steps[job->n_steps++].name ? OX_OK : no_memory(job);
}

static enum ox_status verify_passes(struct optimize_job *job, const char *names)
{
    size_t n;
    const struct ox_pass_info *all = ox_passes(&n);
    const char *word;
    size_t length;
    while (commas_next(&names, &word, &length)) {
        bool known = false;
        for (size_t i = 0; i < n; i++)
            known |= all[i].standard && strlen(all[i].name) == length &&
                     memcmp(all[i].name, word, length) == 0;
        if (!known)
            return cli_fail(job->cli, OX_USAGE,
                            "optimize: there is no pass '%.*s'; --list has them", (int)length,
                            word);
    }
    return OX_OK;
}

/* Those of --passes in the order given, or all of the level but those of --skip. */
static enum ox_status choose_passes(struct optimize_job *job)
{
    size_t n;
    const struct ox_pass_info *all = ox_passes(&n);
    const struct optimize_args *args = job->args;
    enum ox_status status = verify_passes(job, args->passes);
    if (status == OX_OK)
        status = verify_passes(job, args->skip);
    for (size_t i = 0; i < n && status == OX_OK && !args->passes; i++)
        if (all[i].standard && all[i].level <= args->level && !commas_have(args->skip, all[i].name))
            status = add_step(job, all[i].name, strlen(all[i].name));
    const char *names = args->passes, *word;
    size_t length;
    while (status == OX_OK && commas_next(&names, &word, &length))
        status = add_step(job, word, length);
    return status;
}

static void list_passes(struct cli *cli)
{
    size_t n;
    const struct ox_pass_info *all = ox_passes(&n);
    for (size_t i = 0; i < n; i++) {
        if (all[i].standard)
            ox_strbuf_printf(&cli->out, "%-24s %d  %s\n", all[i].name, all[i].level, all[i].help);
    }
}

/* ---- Rewriting ---------------------------------------------------------------------------------------------------- */

static enum ox_status prove(struct optimize_job *job, struct ox_model *model, struct proof *proof)
{
    struct ox_error err;
    struct proof_options how = {.samples = (unsigned)job->args->samples,
                                .seed = 1,
                                .env = job->cli->env,
                                .path = job->path,
                                .edges = true,
                                .empty = job->args->empty,
                                .tolerance = {.nan_agrees = true}};
    const struct optimize_args *args = job->args;
    const bool half = job->half.n_half || job->half.n_weights;
    how.tolerance.rtol = args->rtol >= 0 ? args->rtol : half ? 2e-2 : 1e-3;
    how.tolerance.atol = args->atol >= 0 ? args->atol : half ? 2e-2 : 1e-5;
    enum ox_status status = OX_OK;
    if (args->rtol < 0 && args->atol < 0) {
        if (half)
            how.enough_db = args->fp16 ? ENOUGH_FOR_HALF : ENOUGH_FOR_BRAIN;
        else
            status = prove_enough(job->expected, &how.enough_db, &err);
    }
    if (status == OX_OK)
        status = prove_equal(proof, job->expected, model, &how, &err);
    if (status != OX_OK)
        return cli_error(job->cli, &err);
    if (!proof->agree || !args->targets.n)
        return OX_OK;
    return for_targets_judge(job->cli, &job->targets, model, &proof->agree, proof->reason);
}

/* The steps that are not rolled back, on a copy of the model as it is. *counts get the changes of each. */
static enum ox_status run_passes(struct optimize_job *job, struct ox_model *from,
                                 const struct optimize_step *only, struct ox_model **out)
{
    const char **names = calloc(job->n_steps + 1, sizeof(*names));
    struct ox_optimize_report report = {0};
    struct ox_error err;
    size_t n = 0;
    if (!names)
        return no_memory(job);
    for (size_t i = 0; i < job->n_steps; i++) {
        if (only ? &job->steps[i] == only : !job->steps[i].rolled_back)
            names[n++] = job->steps[i].name;
    }
    enum ox_status status = ox_model_copy(out, from, &err);
    if (status == OX_OK) /* of no pass too, which corrects stored types and counts nodes */
        status = ox_optimize(*out,
                             &(struct ox_optimize_options){.level = (int)job->args->level,
                                                           .passes = names,
                                                           .n_passes = n,
                                                           .fold_bytes = job->args->fold_limit,
                                                           .may_be_empty = job->args->empty},
                             &report, &err);
    free(names);
    if (status != OX_OK)
        return cli_error(job->cli, &err);
    for (size_t i = 0; i < report.n_passes; i++) {
        for (size_t k = 0; k < job->n_steps; k++) {
            if (strcmp(job->steps[k].name, report.passes[i].pass) == 0)
                job->steps[k].changes += report.passes[i].changes;
        }
    }
    job->nodes_after = report.nodes_after ? report.nodes_after : job->nodes_after;
    if (!job->nodes_before)
        job->nodes_before = report.nodes_before;
    return OX_OK;
}

/* The model becomes that one; what it is a copy of stays until the end. */
static enum ox_status accept(struct optimize_job *job, struct ox_model *model)
{
    struct ox_model **kept = realloc(job->kept, (job->n_kept + 1) * sizeof(*kept));
    if (!kept) {
        ox_model_release(model);
        return no_memory(job);
    }
    job->kept = kept;
    kept[job->n_kept++] = model;
    job->current = model;
    return OX_OK;
}

/* Together they are not equal: one by one, leaving out those after which the model is another. */
static enum ox_status one_by_one(struct optimize_job *job)
{
    struct ox_model *base = job->current;
    for (size_t i = 0; i < job->n_steps; i++)
        job->steps[i].changes = 0;
    for (size_t i = 0; i < job->n_steps; i++) {
        struct ox_model *next = NULL;
        struct proof proof = {.agree = true};
        struct optimize_step *step = &job->steps[i];
        size_t after = job->nodes_after;
        enum ox_status status = run_passes(job, base, step, &next);
        if (status == OX_OK && step->changes)
            status = prove(job, next, &proof);
        if (status != OX_OK) {
            ox_model_release(next);
            return status;
        }
        if (!proof.agree) {
            step->rolled_back = true;
            step->changes = 0;
            snprintf(step->reason, sizeof step->reason, "%s", proof.reason);
            cli_warn(job->cli, "%s: warning: pass %s is rolled back: %s", job->path, step->name,
                     step->reason);
            job->nodes_after = after;
            ox_model_release(next);
            continue;
        }
        status = accept(job, next);
        if (status != OX_OK)
            return status;
        base = next;
    }
    return prove(job, job->current, &job->proof);
}

static enum ox_status freeze_inputs(struct optimize_job *job)
{
    struct input_dims inputs;
    struct ox_shapes *shapes = NULL;
    struct ox_error err;
    enum ox_status status = input_dims_split(job->cli, &job->args->freeze, &inputs);
    if (status == OX_OK) {
        struct ox_shapes_options with = {
            .input_names = inputs.names, .input_dims = inputs.dims, .n_overrides = inputs.n};
        status = ox_shapes_infer(&shapes, job->current, &with, NULL, &err);
        if (status == OX_OK)
            status = ox_shapes_freeze(shapes, job->current, &err);
        if (status != OX_OK)
            cli_error(job->cli, &err);
    }
    ox_shapes_release(shapes);
    input_dims_release(&inputs);
    return status;
}

static enum ox_status extract(struct optimize_job *job)
{
    struct ox_shapes *shapes = NULL;
    struct ox_error err;
    enum ox_status status = ox_shapes_infer(&shapes, job->current, NULL, NULL, &err);
    if (status == OX_OK)
        status = extract_part("optimize", job->args->extract, job->current, shapes, &err);
    ox_shapes_release(shapes);
    return status == OX_OK ? OX_OK : cli_error(job->cli, &err);
}

static enum ox_status go_on_with_copy(struct optimize_job *job)
{
    struct ox_model *next = NULL;
    struct ox_error err;
    enum ox_status status = ox_model_copy(&next, job->current ? job->current : job->original, &err);
    return status == OX_OK ? accept(job, next) : cli_error(job->cli, &err);
}

/* The model as it is meant: what the result is held against. */
static enum ox_status begin(struct optimize_job *job)
{
    struct ox_error err;
    enum ox_status status = cli_open_sorted(job->cli, &job->original, job->path, &err);
    if (status != OX_OK)
        return cli_error(job->cli, &err);
    status = go_on_with_copy(job);
    job->expected = job->original;
    if (status == OX_OK && job->args->extract)
        status = extract(job);
    if (status == OX_OK && job->args->freeze.n)
        status = freeze_inputs(job);
    if (status == OX_OK && (job->args->extract || job->args->freeze.n)) {
        job->expected = job->current;
        status = go_on_with_copy(job);
    }
    return status;
}

static enum ox_status optimize(struct optimize_job *job)
{
    struct ox_model *next = NULL;
    struct ox_error err;
    enum ox_status status = begin(job);
    if (status == OX_OK && job->args->inline_functions) {
        status = ox_inline_functions(job->current, &job->inlined, &err);
        status = status == OX_OK ? OX_OK : cli_error(job->cli, &err);
    }
    if (status == OX_OK && job->args->targets.n)
        status = for_targets_begin(job->cli, job->path, &job->args->targets, job->current,
                                   &job->targets);
    if (status == OX_OK && job->args->dedup) {
        status = ox_share_weights(job->current, &job->shared, &err);
        status = status == OX_OK ? OX_OK : cli_error(job->cli, &err);
    }
    next = NULL;
    if (status == OX_OK)
        status = run_passes(job, job->current, NULL, &next);
    if (status == OX_OK && !job->args->no_verify) {
        status = prove(job, next, &job->proof);
        job->proven = status == OX_OK;
        if (job->proven && !job->proof.agree) {
            ox_model_release(next);
            return one_by_one(job);
        }
    }
    if (status == OX_OK)
        return accept(job, next);
    ox_model_release(next);
    return status;
}

/* The proof comes before: it gives both models the same inputs. */
static enum ox_status narrow_ends(struct optimize_job *job, struct ox_model *model)
{
    struct ox_error err;
    struct ox_optimize_report report;
    static const char *const pass[] = {"narrow-ends"};
    const struct ox_optimize_options with = {
        .passes = pass, .n_passes = 1, .may_be_empty = job->args->empty};
    enum ox_status status = ox_optimize(model, &with, &report, &err);
    job->narrowed = status == OX_OK && report.n_passes > 0;
    return status == OX_OK ? OX_OK : cli_error(job->cli, &err);
}

static enum ox_status try_half(struct optimize_job *job, float factor, struct ox_model **next)
{
    struct ox_error err;
    enum ox_status status = ox_model_copy(next, job->current, &err);
    if (status != OX_OK)
        return cli_error(job->cli, &err);
    status = half_model(job->cli, job->path, *next, job->args->fp16 ? OX_FLOAT16 : OX_BFLOAT16,
                        factor, job->targets.targets, &job->half, &job->n_wide);
    if (status == OX_OK && !job->args->no_verify)
        status = prove(job, *next, &job->proof);
    return status;
}

/* After the passes, so that these see one type. What overflows on large inputs alone may stay in halves where the proof does not
 * find it. */
static enum ox_status to_half(struct optimize_job *job)
{
    struct ox_model *next = NULL;
    enum ox_status status = try_half(job, 1, &next);
    if (status == OX_OK && !job->args->no_verify && !job->proof.agree) {
        ox_model_release(next);
        next = NULL;
        status = try_half(job, BEYOND_EDGES, &next);
    }
    if (status == OX_OK && job->args->half_io)
        status = narrow_ends(job, next);
    if (status == OX_OK)
        return accept(job, next);
    ox_model_release(next);
    return status;
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static enum ox_status finish(struct optimize_job *job)
{
    bool taken = true;
    if (job->args->targets.n && !job->proven) {
        enum ox_status judged =
            for_targets_judge(job->cli, &job->targets, job->current, &taken, job->proof.reason);
        if (judged != OX_OK)
            return judged;
    }
    if (!taken)
        return cli_fail(job->cli, OX_NEGATIVE, "%s: the result is not written: %s", job->path,
                        job->proof.reason);
    if (job->proven && !job->proof.agree)
        return cli_fail(job->cli, OX_NEGATIVE,
                        "%s: the result is not equal, and is not written: %s", job->path,
                        job->proof.reason);
    if (job->proven && !job->proof.samples)
        cli_warn(job->cli, "%s: warning: the result was not verified: %s", job->path,
                 job->proof.reason);
    if (job->args->format == FORMAT_JSON)
        optimize_print_json(job);
    else if (!job->cli->common.quiet)
        optimize_print_text(job);
    return job->args->out ? cli_save_model(job->cli, job->current, job->args->out, NULL) : OX_OK;
}

static void release(struct optimize_job *job)
{
    while (job->n_kept)
        ox_model_release(job->kept[--job->n_kept]);
    free(job->kept);
    ox_model_release(job->original);
    for_targets_release(&job->targets);
    for (size_t i = 0; i < job->n_steps; i++)
        free(job->steps[i].name);
    free(job->steps);
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct optimize_args *args = args_;
    if (args->list) {
        list_passes(cli);
        return OX_OK;
    }
    if (args->passes && args->skip)
        return cli_fail(cli, OX_USAGE, "optimize: --passes and --skip exclude each other");
    if (args->fp16 && args->bf16)
        return cli_fail(cli, OX_USAGE, "optimize: --fp16 and --bf16 exclude each other");
    if (args->half_io && !args->fp16 && !args->bf16)
        return cli_fail(cli, OX_USAGE, "optimize: --half-io goes with --fp16 or --bf16");
    if (args->level < 1 || args->level > 2)
        return cli_fail(cli, OX_USAGE, "optimize: levels are 1 and 2");
    if (args->samples < 1 || args->samples > 1000 || args->rtol < -1 || args->atol < -1 ||
        args->rtol != args->rtol || args->atol != args->atol)
        return cli_fail(cli, OX_USAGE,
                        "optimize: --samples takes 1 to 1000, and tolerances are not negative");
    enum ox_status status = cli_one_model(cli, operands, n_operands);
    if (status != OX_OK)
        return status;
    cli_start_timer(cli, operands[0]);
    struct optimize_job job = {.cli = cli, .args = args, .path = operands[0]};
    status = choose_passes(&job);
    if (status == OX_OK)
        status = optimize(&job);
    if (status == OX_OK && (args->fp16 || args->bf16) && !(job.proven && !job.proof.agree))
        status = to_half(&job);
    if (status == OX_OK)
        status = finish(&job);
    release(&job);
    return status;
}

const struct command command_optimize = {
    .name = "optimize",
    .summary = "Rewrite a model to a faster equal one in standard operators",
    .operands = "MODEL",
    .description =
        "Does what run -O2 does before it runs, as far as the result is standard ONNX: folds "
        "constants, clears away what is of no use, merges and fuses operators.\n\n"
        "The result is run beside the model, on random inputs and on edges (zeros, other signs, "
        "large "
        "values). If outputs depart, passes are tried one by one; those after which the model is "
        "another are rolled back and named.",
    .examples = "  onnxtool optimize model.onnx -o fast.onnx\n"
                "  onnxtool optimize --inline --dedup --level 1 model.onnx -o small.onnx\n"
                "  onnxtool optimize --for onnxruntime=1.16 --freeze input=1x3x224x224 model.onnx "
                "-o edge.onnx\n"
                "  onnxtool optimize --list\n",
    .options = options,
    .args_bytes = sizeof(struct optimize_args),
    .defaults = defaults,
    .run = run,
};
