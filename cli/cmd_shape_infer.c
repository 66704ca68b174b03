#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "input_dims.h"
#include "prove.h"
#include "render_shapes.h"

enum format { FORMAT_TABLE, FORMAT_JSON };

struct args {
    const char *out;
    struct opt_strings inputs;
    struct opt_strings set;
    struct opt_strings free_dims;
    struct opt_strings explain;
    bool freeze, no_verify;
    bool empty;
    bool strict;
    bool overwrite;
    int format;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {
    {'o', "output", OPT_STRING, FIELD(out), "OUT", NULL,
     "write the model with the inferred types in it"},
    {0, "input", OPT_NAMED, FIELD(inputs), "NAME=DIMS", NULL,
     "dimensions of an input, 1x3xHxW: numbers, names, or ? where any will do"},
    {0, "set", OPT_NAMED, FIELD(set), "NAME=N", NULL,
     "a number for a name in the dimensions of inputs, or for an element of one (size[0])"},
    {0, "empty", OPT_FLAG, FIELD(empty), NULL, NULL,
     "open dimensions of inputs may be 0: all formulas then hold for empty inputs too, where they "
     "would take them to be at least 1"},
    {0, "freeze", OPT_FLAG, FIELD(freeze), NULL, NULL,
     "with -o, declare the inputs with the dimensions given, which must be numbers all"},
    {0, "free", OPT_NAMED, FIELD(free_dims), "INPUT=DIMS", NULL,
     "with -o, make dimensions of an input dynamic: NxCx224x224, or N for the first"},
    {0, "no-verify", OPT_FLAG, FIELD(no_verify), NULL, NULL,
     "with --free, do not run both models on inputs drawn at random"},
    {0, "strict", OPT_FLAG, FIELD(strict), NULL, NULL,
     "contradictions and what cannot be inferred are errors"},
    {0, "overwrite", OPT_FLAG, FIELD(overwrite), NULL, NULL,
     "with -o, replace stored types that disagree"},
    {0, "explain", OPT_STRINGS, FIELD(explain), "NAME", NULL,
     "tell instead where that value's unknown or made-up dimensions are from"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "table|json", "form of the output"},
    OPT_END};

/* ---- A model ------------------------------------------------------------------------------------------------------ */

/* "NAME=N" of --set, taken apart. */
struct sizes {
    char **names;
    int64_t *sizes;
    size_t n;
};

static void sizes_release(struct sizes *sizes)
{
    for (size_t i = 0; sizes->names && i < sizes->n; i++)
        free(sizes->names[i]);
    free(sizes->names);
    free(sizes->sizes);
}

static enum ox_status sizes_split(struct cli *cli, const struct opt_strings *set,
                                  struct sizes *sizes)
{
    *sizes = (struct sizes){.n = set->n,
                            .names = calloc(set->n + 1, sizeof(char *)),
                            .sizes = calloc(set->n + 1, sizeof(int64_t))};
    if (!sizes->names || !sizes->sizes)
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < set->n; i++) {
        char *name = sizes->names[i] = strdup(set->items[i]), *end;
        if (!name)
            return cli_fail(cli, OX_NO_MEMORY, "out of memory");
        char *equals = strrchr(name, '=');
        errno = 0;
        if (equals)
            sizes->sizes[i] = strtoll(equals + 1, &end, 10);
        if (!equals || equals == name || end == equals + 1 || *end)
            return cli_fail(cli, OX_USAGE, "--set %s: what is needed is NAME=N", set->items[i]);
        if (errno || sizes->sizes[i] < 0)
            return cli_fail(cli, OX_USAGE, "--set %s: N is from 0 to %" PRId64, set->items[i],
                            INT64_MAX);
        *equals = '\0';
    }
    return OX_OK;
}

static enum ox_status infer_model(struct cli *cli, const struct args *args, struct ox_model *model,
                                  struct ox_shapes **shapes)
{
    struct input_dims inputs;
    struct sizes sizes = {0};
    enum ox_status status = input_dims_split(cli, &args->inputs, &inputs);
    if (status == OX_OK)
        status = sizes_split(cli, &args->set, &sizes);
    if (status == OX_OK) {
        const struct ox_shapes_options with = {.strict = args->strict,
                                               .may_be_empty = args->empty,
                                               .input_names = inputs.names,
                                               .input_dims = inputs.dims,
                                               .n_overrides = inputs.n,
                                               .symbols = (const char *const *)sizes.names,
                                               .sizes = sizes.sizes,
                                               .n_symbols = sizes.n};
        struct ox_error err;
        status = ox_shapes_infer(shapes, model, &with, NULL, &err);
        if (status != OX_OK)
            cli_error(cli, &err);
    }
    sizes_release(&sizes);
    input_dims_release(&inputs);
    return status;
}

static enum ox_status free_dims(struct cli *cli, const struct args *args, struct ox_model *model,
                                const char *path)
{
    struct input_dims inputs;
    struct ox_model *before = NULL;
    struct ox_error err;
    enum ox_status status = input_dims_split(cli, &args->free_dims, &inputs);
    if (status != OX_OK) {
        input_dims_release(&inputs);
        return status;
    }
    if (!args->no_verify)
        status = ox_model_copy(&before, model, &err);
    if (status == OX_OK)
        status = ox_shapes_free_dims(model, inputs.names, inputs.dims, inputs.n, &err);
    if (status != OX_OK)
        cli_error(cli, &err);
    else if (before)
        status = prove_freed(cli, path, before, model);
    ox_model_release(before);
    input_dims_release(&inputs);
    return status;
}

/* Contradictions, and with --strict what is not known, on standard error. */
static enum ox_status report(struct cli *cli, const struct args *args, struct ox_shapes *shapes,
                             const char *path)
{
    const struct ox_findings *findings = ox_shapes_findings(shapes);
    struct ox_shape_entry entry;
    for (size_t i = 0; i < ox_findings_count(findings); i++) {
        const struct ox_finding *finding = ox_findings_at(findings, i);
        const char *op = finding->op_type ? finding->op_type : "",
                   *node = finding->node ? finding->node : "";
        if (args->strict)
            cli_fail(cli, OX_NEGATIVE, "%s: %s '%s': %s", path, op, node, finding->message);
        else
            cli_warn(cli, "%s: warning: %s '%s': %s", path, op, node, finding->message);
    }
    if (!args->strict)
        return OX_OK;
    for (size_t i = 0; i < ox_shapes_count(shapes) && ox_shapes_unknown(shapes); i++) {
        if (!ox_shapes_at(shapes, i, &entry))
            return cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", path);
        if (!entry.known)
            cli_fail(cli, OX_NEGATIVE, "%s: '%s' is not known%s%s", path, entry.name,
                     entry.reason ? ": " : "", entry.reason ? entry.reason : "");
    }
    return ox_findings_count(findings) || ox_shapes_unknown(shapes) ? OX_NEGATIVE : OX_OK;
}

/* ---- A model, whole ------------------------------------------------------------------------------------------------ */

static enum ox_status write_model(struct cli *cli, const struct args *args,
                                  const struct ox_shapes *shapes, struct ox_model *model)
{
    struct ox_error err;
    enum ox_status status = args->freeze ? ox_shapes_freeze(shapes, model, &err)
                                         : ox_shapes_store(shapes, model, args->overwrite, &err);
    return status == OX_OK ? cli_save_model(cli, model, args->out, NULL) : cli_error(cli, &err);
}

static enum ox_status one_model(struct cli *cli, void *args_, const char *path)
{
    const struct args *args = args_;
    struct ox_model *model;
    struct ox_shapes *shapes = NULL;
    struct ox_error err;
    enum ox_status status = cli_open(cli, &model, path, &err);
    if (status != OX_OK)
        return cli_error(cli, &err);
    cli_forget_reading(cli);
    if (args->free_dims.n)
        status = free_dims(cli, args, model, path);
    if (status == OX_OK)
        status = infer_model(cli, args, model, &shapes);
    if (status == OX_OK) {
        bool good = true;
        status = report(cli, args, shapes, path);
        if (args->explain.n) {
            status = cli_worse(status, render_shapes_explained(cli, shapes, &args->explain,
                                                               args->format == FORMAT_JSON, path));
        } else if (args->format == FORMAT_JSON) {
            good = render_shapes_json(cli, shapes, path);
        } else if (!args->out) {
            if (cli->several) {
                ox_strbuf_name(&cli->out, path, 0);
                ox_strbuf_puts(&cli->out, ":\n");
            }
            status = cli_worse(status, render_shapes_table(cli, shapes, path));
        }
        if (!good)
            status = cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", path);
        if (args->out && status == OX_OK)
            status = write_model(cli, args, shapes, model);
    }
    ox_shapes_release(shapes);
    ox_model_release(model);
    return status;
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    if (args->out && (n_operands != 1 || cli->common.files_from || cli->common.log))
        return cli_fail(cli, OX_USAGE, "shape-infer: -o takes one model");
    if (args->overwrite && !args->out)
        return cli_fail(cli, OX_USAGE, "shape-infer: --overwrite is of no use without -o");
    if (args->freeze && !args->out)
        return cli_fail(cli, OX_USAGE, "shape-infer: --freeze is of no use without -o");
    if (args->free_dims.n && !args->out)
        return cli_fail(cli, OX_USAGE, "shape-infer: --free is of no use without -o");
    if (args->free_dims.n && args->freeze)
        return cli_fail(cli, OX_USAGE, "shape-infer: --free and --freeze contradict each other");
    if (args->no_verify && !args->free_dims.n)
        return cli_fail(cli, OX_USAGE, "shape-infer: --no-verify is of no use without --free");
    if (!args->out)
        return cli_each_model(cli, args_, operands, n_operands, one_model);
    const enum ox_status status = cli_one_model(cli, operands, n_operands);
    return status == OX_OK ? one_model(cli, args_, operands[0]) : status;
}

const struct command command_shape_infer = {
    .name = "shape-infer",
    .summary = "Infer types and shapes of all values",
    .operands = "MODEL|FOLDER...",
    .several = true,
    .description =
        "Tells the type and shape of every value: of the graph, its subgraphs and the "
        "functions. A dimension is a number, an "
        "expression over the names of the inputs' dimensions (batch, seq+1, 4*H), or ? "
        "where nothing is known; a size that only "
        "the data tell has a name of its own (NonZero_3.count), and so have the elements of "
        "short integer inputs (size[0], k.value). Values that compute "
        "shapes are followed through the graph.\n\n"
        "Contradictions are warnings that name both sides; with --strict they, and "
        "values that are not known in full, are "
        "errors.\n\n"
        "With -o the types are written into the model, as value_info. Stored ones that "
        "disagree are kept unless --overwrite "
        "is given. With --freeze the inputs are declared with the dimensions of --input "
        "and --set. With --free an input's dimension that was exported as a number "
        "becomes dynamic again; the targets of Reshape and Expand that hold the old size "
        "are put right, and where another constant needs it the exit code is 1 and nothing "
        "is written. The result is run: at the old size, where it must give the same, and at twice "
        "that size and more; of a batch, against as many runs of the model as it was.\n\n"
        "--explain leads from a value that is not known, or known by a made-up name, back "
        "to the cause: each step a value, the node that makes it and the reason.",
    .examples = "  onnxtool shape-infer model.onnx\n"
                "  onnxtool shape-infer --input image=1x3x224x224 model.onnx\n"
                "  onnxtool shape-infer -f json model.onnx\n"
                "  onnxtool shape-infer --explain logits model.onnx\n"
                "  onnxtool shape-infer -o inferred.onnx model.onnx\n"
                "  onnxtool shape-infer --set batch=1 --freeze -o fixed.onnx model.onnx\n"
                "  onnxtool shape-infer --free image=N -o dynamic.onnx model.onnx\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .run = run,
};
