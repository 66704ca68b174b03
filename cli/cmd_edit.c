#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commas.h"
#include "name_pairs.h"

enum format { FORMAT_TEXT, FORMAT_JSON };

struct args {
    const char *out, *prefix, *prune;
    struct opt_strings rename, rename_node, rename_dim, insert, metadata, inlined, kept;
    int64_t ir_version;
    bool free_constants, dense;
    double sparse; /* share of zeros; NaN: not asked for */
    int format;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {
    {'o', "output", OPT_STRING, FIELD(out), "OUT", NULL, "write the edited model"},
    {0, "rename", OPT_NAMED, FIELD(rename), "OLD=NEW", NULL,
     "another name for an input, an output or any other value"},
    {0, "rename-node", OPT_NAMED, FIELD(rename_node), "OLD=NEW", NULL, "... for a node"},
    {0, "rename-dim", OPT_NAMED, FIELD(rename_dim), "OLD=NEW", NULL,
     "... for a dimension, in formulas too; one that is there makes both the same"},
    {0, "prefix", OPT_STRING, FIELD(prefix), "PREFIX", NULL,
     "put it before the names of all other values and nodes"},
    {0, "insert", OPT_STRINGS, FIELD(insert), "VALUE=WHAT", NULL,
     "put WHAT in behind a value: an operator, \"Cast<to = 10>\", or a graph, \"(x) => (y) { y = "
     "Neg(x) }\"; in the order given, under names as they are by then"},
    {0, "free-constants", OPT_FLAG, FIELD(free_constants), NULL, NULL,
     "constants that are listed as inputs are inputs no more"},
    {0, "inline", OPT_STRINGS, FIELD(inlined), "NAME,...", NULL,
     "put bodies in the place of nodes: of these functions of the model, NAME or DOMAIN:NAME, and "
     "of operators that the standard defines by others in one way for all nodes (HardSwish)"},
    {0, "inline-except", OPT_STRINGS, FIELD(kept), "NAME,...", NULL,
     "... of all functions of the model but these"},
    {0, "prune", OPT_STRING, FIELD(prune), "N:M", NULL,
     "keep the N largest of each M neighbours of weights along the axis that convolutions and "
     "products sum over, the others become 0; 2:4 is what sparse tensor cores take"},
    {0, "sparse-initializers", OPT_DOUBLE, FIELD(sparse), "SHARE", NULL,
     "store initializers as sparse ones of which that share is zeros, 0.5, where it is smaller"},
    {0, "dense-initializers", OPT_FLAG, FIELD(dense), NULL, NULL,
     "store sparse initializers as others"},
    {0, "ir-version", OPT_INT, FIELD(ir_version), "N", NULL, "declare that IR version"},
    {0, "metadata", OPT_NAMED, FIELD(metadata), "KEY=VALUE", NULL,
     "set it; without VALUE take the key out"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "text|json", "form of the report"},
    OPT_END};

static void defaults(void *args)
{
    ((struct args *)args)->sparse = NAN;
}

struct job {
    struct cli *cli;
    const struct args *args;
    const char *path;
    struct ox_model *model, *edited;
    struct ox_relabeled told;
    unsigned keep, of; /* --prune; 0 */
    struct ox_pruned pruned;
    size_t n_sparse, n_dense, n_inlined;
};

/* ---- What is asked for -------------------------------------------------------------------------------------------- */

static enum ox_status relabel(struct job *job)
{
    const struct args *args = job->args;
    const struct opt_strings *const lists[] = {&args->rename, &args->rename_node, &args->rename_dim,
                                               &args->metadata};
    static const char *const names[] = {"rename", "rename-node", "rename-dim", "metadata"};
    enum { METADATA = 3, N_LISTS };
    struct ox_name_pair *pairs[N_LISTS] = {NULL};
    struct ox_error err;
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < N_LISTS && status == OX_OK; i++)
        status = name_pairs_read(job->cli, lists[i], names[i],
                                 i == METADATA ? "KEY=VALUE" : "OLD=NEW", false, &pairs[i]);
    const struct ox_relabel_options with = {.prefix = args->prefix,
                                            .values = pairs[0],
                                            .n_values = args->rename.n,
                                            .nodes = pairs[1],
                                            .n_nodes = args->rename_node.n,
                                            .dims = pairs[2],
                                            .n_dims = args->rename_dim.n,
                                            .metadata = pairs[METADATA],
                                            .n_metadata = args->metadata.n,
                                            .ir_version = args->ir_version,
                                            .free_constants = args->free_constants};
    if (status == OX_OK &&
        (status = ox_relabel(&job->edited, job->model, &with, &job->told, &err)) != OX_OK)
        cli_error(job->cli, &err);
    for (size_t i = 0; i < N_LISTS; i++)
        free(pairs[i]);
    return status;
}

static enum ox_status insert(struct job *job)
{
    const struct opt_strings *given = &job->args->insert;
    struct ox_name_pair *pairs = NULL;
    struct ox_error err;
    enum ox_status status = name_pairs_read(job->cli, given, "insert", "VALUE=WHAT", false, &pairs);
    for (size_t i = 0; i < given->n && status == OX_OK; i++) {
        status = ox_insert(job->edited, pairs[i].from, pairs[i].to, &err);
        if (status != OX_OK)
            cli_error(job->cli, &err);
    }
    free(pairs);
    return status;
}

static enum ox_status put_bodies(struct job *job)
{
    const struct args *args = job->args;
    const bool except = args->kept.n > 0;
    struct ox_error err;
    size_t n = 0;
    if (!args->inlined.n && !except)
        return OX_OK;
    const char **names = commas_split(except ? &args->kept : &args->inlined, &n);
    if (!names)
        return cli_fail(job->cli, OX_NO_MEMORY, "out of memory");
    enum ox_status status = ox_inline_named(job->edited, names, n, except, &job->n_inlined, &err);
    free((void *)names);
    return status == OX_OK ? OX_OK : cli_error(job->cli, &err);
}

static enum ox_status change_weights(struct job *job)
{
    const struct args *args = job->args;
    struct ox_error err;
    enum ox_status status = OX_OK;
    if (args->dense)
        status = ox_densify_initializers(job->edited, &job->n_dense, &err);
    if (status == OX_OK && job->of)
        status = ox_prune_weights(job->edited, job->keep, job->of, &job->pruned, &err);
    if (status == OX_OK && !isnan(args->sparse))
        status = ox_sparsify_initializers(job->edited, args->sparse, &job->n_sparse, &err);
    return status == OX_OK ? OX_OK : cli_error(job->cli, &err);
}

/* Weights that were changed are in the file, where one message holds them. */
static enum ox_status save(struct job *job)
{
    struct ox_error err;
    const char *out = job->args->out;
    job->cli->model_out |= strcmp(out, "-") == 0;
    enum ox_status status = job->pruned.n_weights ? cli_save_large(job->edited, out, NULL, &err)
                                                  : ox_model_save(job->edited, out, NULL, &err);
    return status == OX_OK ? OX_OK : cli_error(job->cli, &err);
}

/* ---- What comes of it --------------------------------------------------------------------------------------------- */

static void put_count(struct ox_strbuf *out, size_t n, const char *one, const char *many, bool *any)
{
    if (n)
        ox_strbuf_printf(out, "%s%zu %s", *any ? ", " : ": ", n, n == 1 ? one : many);
    *any |= n != 0;
}

static void report_text(struct job *job)
{
    const struct ox_relabeled *told = &job->told;
    struct ox_strbuf *out = &job->cli->out;
    bool any = false;
    ox_strbuf_name(out, job->args->out, 0);
    put_count(out, told->n_values, "value renamed", "values renamed", &any);
    put_count(out, told->n_nodes, "node renamed", "nodes renamed", &any);
    put_count(out, told->n_dims, "dimension renamed", "dimensions renamed", &any);
    put_count(out, told->n_inputs, "constant no input any more", "constants no inputs any more",
              &any);
    put_count(out, job->args->insert.n, "insertion", "insertions", &any);
    put_count(out, job->n_inlined, "node gave way to its body", "nodes gave way to their bodies",
              &any);
    put_count(out, job->n_dense, "initializer made dense", "initializers made dense", &any);
    put_count(out, job->pruned.n_weights, "weight pruned", "weights pruned", &any);
    put_count(out, job->pruned.n_left, "weight not to be pruned", "weights not to be pruned", &any);
    put_count(out, job->n_sparse, "initializer made sparse", "initializers made sparse", &any);
    ox_strbuf_putc(out, '\n');
}

static void report_json(struct job *job)
{
    struct ox_json json;
    ox_json_init(&json, &job->cli->out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.edit/1");
    cli_json_string(&json, "model", job->path);
    ox_json_key(&json, "renamed");
    ox_json_object(&json);
    cli_json_uint(&json, "values", job->told.n_values);
    cli_json_uint(&json, "nodes", job->told.n_nodes);
    cli_json_uint(&json, "dimensions", job->told.n_dims);
    ox_json_end_object(&json);
    cli_json_uint(&json, "freed_inputs", job->told.n_inputs);
    cli_json_uint(&json, "insertions", job->args->insert.n);
    cli_json_uint(&json, "inlined", job->n_inlined);
    ox_json_key(&json, "pruned");
    ox_json_object(&json);
    cli_json_uint(&json, "weights", job->pruned.n_weights);
    cli_json_uint(&json, "left", job->pruned.n_left);
    cli_json_uint(&json, "zeroed", job->pruned.n_zeroed);
    ox_json_end_object(&json);
    cli_json_uint(&json, "made_sparse", job->n_sparse);
    cli_json_uint(&json, "made_dense", job->n_dense);
    ox_json_end_object(&json);
    ox_strbuf_putc(&job->cli->out, '\n');
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static enum ox_status run_job(struct job *job)
{
    struct ox_error err;
    if (ox_model_open(&job->model, job->cli->env, job->path, &err) != OX_OK)
        return cli_error(job->cli, &err);
    enum ox_status status = relabel(job);
    if (status == OX_OK)
        status = insert(job);
    if (status == OX_OK)
        status = put_bodies(job);
    if (status == OX_OK)
        status = change_weights(job);
    if (status == OX_OK)
        status = cli_check_result(job->cli, job->edited, job->args->out);
    if (status == OX_OK)
        status = save(job);
    if (status == OX_OK && job->args->format == FORMAT_JSON)
        report_json(job);
    else if (status == OX_OK && !job->cli->common.quiet)
        report_text(job);
    return status;
}

static bool read_pattern(struct job *job)
{
    int n = 0;
    const char *text = job->args->prune;
    return !text || (sscanf(text, "%2u:%2u%n", &job->keep, &job->of, &n) == 2 && !text[n] &&
                     job->keep > 0 && job->keep < job->of && job->of <= 64);
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    enum ox_status status = cli_one_model(cli, operands, n_operands);
    if (status != OX_OK)
        return status;
    if (!args->out)
        return cli_fail(cli, OX_USAGE, "edit: needs -o OUT");
    if (args->ir_version < 0)
        return cli_fail(cli, OX_USAGE, "edit: --ir-version takes a number from 1");
    if (args->inlined.n && args->kept.n)
        return cli_fail(cli, OX_USAGE, "edit: --inline and --inline-except exclude each other");
    if (!isnan(args->sparse) && !(args->sparse >= 0 && args->sparse <= 1))
        return cli_fail(cli, OX_USAGE, "edit: --sparse-initializers takes a share from 0 to 1");
    struct job job = {.cli = cli, .args = args, .path = operands[0]};
    if (!read_pattern(&job))
        return cli_fail(cli, OX_USAGE,
                        "edit: --prune takes N:M, 2:4, with N below M and M up to 64");
    cli_start_timer(cli, job.path);
    status = run_job(&job);
    ox_model_release(job.edited);
    ox_model_release(job.model);
    return status;
}

const struct command command_edit = {
    .name = "edit",
    .summary = "Change names in a model, put operators in, and what it says of itself",
    .operands = "MODEL",
    .description =
        "Renames values, nodes and dimensions everywhere in a model: its graphs, stored types, "
        "quantization annotations. Bodies of functions have names of their own, which stay. Names "
        "change together, so that two may be exchanged; one that is not there, and two that would "
        "be the same, are errors.\n\n"
        "--insert puts operators behind a value, for all that take it: behind an output they make "
        "it, behind an input they stand between it and the model. They are read by the operator "
        "sets that the model imports; types of what follows are inferred anew.\n\n"
        "--prune changes what the model computes, and no more than that: it is to be trained on. "
        "`dump -f tensors` tells which weights are 2:4 sparse. Sparse initializers hold the same "
        "values: "
        "onnxruntime takes them for any operator, the standard's full check for none.\n\n"
        "Otherwise weights are not read. External data stays where it is, and is copied to another "
        "folder "
        "that OUT is in. A result that is not valid is told on standard error. --ir-version "
        "changes the number alone; convert-opset lowers it with what needs it.",
    .examples = "  onnxtool edit model.onnx --rename input.1=image --rename 'Identity:0=logits' -o "
                "named.onnx\n"
                "  onnxtool edit model.onnx --rename-dim unk__17=batch -o named.onnx\n"
                "  onnxtool edit model.onnx --insert 'logits=Softmax<axis = -1>' -o soft.onnx\n"
                "  onnxtool edit model.onnx --insert 'y=(x) => (y) { a = Constant<value_ints = "
                "[0]>() y = Unsqueeze(x, a) }' -o more.onnx\n"
                "  onnxtool edit model.onnx --inline pkg.torch:gelu,HardSwish -o plain.onnx\n"
                "  onnxtool edit model.onnx --prune 2:4 -o pruned.onnx\n"
                "  onnxtool edit pruned.onnx --sparse-initializers 0.7 -o small.onnx\n"
                "  onnxtool edit old.onnx --free-constants --metadata author= -o clean.onnx\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .defaults = defaults,
    .run = run,
};
