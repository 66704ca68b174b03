#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "extract_option.h"
#include "input_dims.h"

#define FIELD(name) offsetof(struct dump_args, name)

static const struct opt options[] = {
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", DUMP_FORMATS, "form of the output"},
    {0, "json", OPT_FLAG, FIELD(json), NULL, NULL,
     "the summary, nodes, tensors, --node or --tensor as JSON"},
    {0, "input", OPT_NAMED, FIELD(inputs), "NAME=DIMS", NULL,
     "dimensions of an input, 1x3x224x224, so that shapes and costs are numbers"},
    {0, "graph", OPT_STRING, FIELD(graph), "PATH", NULL,
     "only the nodes and tensors of that graph: loop_1.body; with dot and svg the one to draw"},
    {0, "node", OPT_STRING, FIELD(node), "NAME", NULL,
     "show a node, by its name, its place (#12) or an output of it"},
    {0, "tensor", OPT_STRING, FIELD(tensor), "NAME", NULL,
     "show the values of a constant, or save them with -o x.npy"},
    {0, "values", OPT_FLAG, FIELD(values), NULL, NULL,
     "with tensors their values too, of large ones a few at each end"},
    {0, "histogram", OPT_FLAG, FIELD(histogram), NULL, NULL,
     "with tensors and --tensor how the values spread, in ten bins of equal width"},
    {0, "data", OPT_FLAG, FIELD(data), NULL, NULL,
     "take files for saved tensors, not models, whatever they look like"},
    {0, "weights", OPT_CHOICE, FIELD(weights), "HOW", "full|sample|none",
     "values of tensors: all, of large ones a few at each end, or none; with none no weight is "
     "read"},
    {0, "extract", OPT_STRING, FIELD(extract), "IN,...:OUT,...", NULL,
     "write with -o the model that leads from these values to those; without IN from the inputs"},
    {'o', "output", OPT_STRING, FIELD(output), "FILE", NULL,
     "write to FILE instead of standard output"},
    OPT_END};

/* ---- What needs the model alone ----------------------------------------------------------------------------------- */

/* What says all that a model holds, and is read back; AUTO: not so. */
static enum ox_format whole_form(int format)
{
    return format == DUMP_TEXT        ? OX_FORMAT_TEXT
           : format == DUMP_JSON      ? OX_FORMAT_JSON
           : format == DUMP_TEXTPROTO ? OX_FORMAT_TEXTPROTO
                                      : OX_FORMAT_AUTO;
}

static enum ox_status print_model(struct dumped *d)
{
    struct ox_error err = {0};
    const struct ox_model_print_options how = {.format = whole_form(d->args->format),
                                               .weights = (enum ox_weights)d->args->weights,
                                               .pretty = !d->cli->several,
                                               .flush = dump_flush,
                                               .flush_arg = d};
    enum ox_status status = ox_model_print(&d->cli->out, d->model, &how, &err);
    if (status != OX_OK && *err.message)
        cli_error(d->cli, &err);
    return status;
}

/* ---- What needs shapes -------------------------------------------------------------------------------------------- */

static enum ox_status infer(struct dumped *d)
{
    struct input_dims inputs;
    struct ox_error err;
    enum ox_status status = input_dims_split(d->cli, &d->args->inputs, &inputs);
    if (status == OX_OK) {
        const struct ox_shapes_options with = {
            .input_names = inputs.names, .input_dims = inputs.dims, .n_overrides = inputs.n};
        status = ox_shapes_infer(&d->shapes, d->model, &with, NULL, &err);
        if (status == OX_OK)
            status = ox_costs_new(&d->costs, d->model, d->shapes, &err);
        if (status != OX_OK)
            cli_error(d->cli, &err);
    }
    input_dims_release(&inputs);
    return status;
}

static enum ox_status draw(struct dumped *d)
{
    static const enum ox_drawing forms[] = {
        [DUMP_DOT] = OX_DRAW_DOT, [DUMP_SVG] = OX_DRAW_SVG, [DUMP_HTML] = OX_DRAW_HTML};
    struct ox_error err = {0};
    const struct ox_draw_options how = {.form = forms[d->args->format],
                                        .graph = d->args->graph,
                                        .no_weights = d->args->weights == OX_WEIGHTS_NONE,
                                        .flush = dump_flush,
                                        .flush_arg = d};
    enum ox_status status = ox_draw(&d->cli->out, d->model, d->shapes, d->costs, &how, &err);
    if (status != OX_OK && *err.message)
        cli_error(d->cli, &err);
    return status;
}

static bool has_external_data(struct dumped *d)
{
    struct ox_weight_list *list;
    bool found = false;
    if (ox_weight_list_new(&list, d->model, NULL) != OX_OK)
        return false;
    for (size_t i = 0; i < ox_weight_list_count(list) && !found; i++)
        found = ox_weight_list_at(list, i)->location != NULL;
    ox_weight_list_release(list);
    return found;
}

static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Beside the model its external data is shared. Elsewhere the weights that are left get a file of their own, for a copy would
 * be of all of them. */
static enum ox_status save_part(struct dumped *d, struct ox_error *err)
{
    const char *target = d->args->output;
    size_t folder = folder_bytes(target);
    bool shared = folder == folder_bytes(d->path) && memcmp(target, d->path, folder) == 0;
    if (shared || strcmp(target, "-") == 0 || !has_external_data(d))
        return ox_model_save(d->model, target, NULL, err);
    struct ox_strbuf location = {0};
    ox_strbuf_printf(&location, "%s.data", target + folder);
    const struct ox_save_options apart = {.external_location = location.data};
    enum ox_status status =
        location.failed ? ox_no_memory(err) : ox_model_save(d->model, target, &apart, err);
    ox_strbuf_release(&location);
    return status;
}

static enum ox_status extract(struct dumped *d)
{
    struct ox_error err;
    if (!d->args->output)
        return cli_fail(d->cli, OX_USAGE, "dump: --extract needs -o FILE");
    enum ox_status status = extract_part("dump", d->args->extract, d->model, d->shapes, &err);
    if (status == OX_OK)
        status = save_part(d, &err);
    return status == OX_OK ? OX_OK : cli_error(d->cli, &err);
}

/* Of saved tensors there is but the one form. */
static enum ox_status show_saved(struct dumped *d)
{
    const struct dump_args *args = d->args;
    if (args->node || args->extract || args->inputs.n ||
        (args->format != DUMP_SUMMARY && args->format != DUMP_TENSORS))
        return cli_fail(d->cli, OX_USAGE,
                        "dump: %s holds tensors and no model: -f tensors, --tensor, --values, "
                        "--histogram and --json show them",
                        d->path);
    return args->tensor ? dump_tensor(d) : dump_tensors(d);
}

static enum ox_status show(struct dumped *d)
{
    if (d->saved)
        return show_saved(d);
    if ((d->args->values && d->args->format != DUMP_TENSORS) ||
        (d->args->histogram && d->args->format != DUMP_TENSORS && !d->args->tensor))
        return cli_fail(d->cli, OX_USAGE, "dump: --values and --histogram are for -f tensors");
    if (d->args->tensor)
        return dump_tensor(d);
    if (!d->args->extract && !d->args->node && whole_form(d->args->format) != OX_FORMAT_AUTO)
        return print_model(d);
    if (!d->args->extract && !d->args->node && d->args->format == DUMP_TENSORS)
        return dump_tensors(d);
    enum ox_status status = infer(d);
    if (status != OX_OK)
        return status;
    if (d->args->extract)
        return extract(d);
    if (d->args->node)
        return dump_node(d);
    switch (d->args->format) {
    case DUMP_NODES:
        return dump_nodes(d);
    case DUMP_DOT:
    case DUMP_SVG:
    case DUMP_HTML:
        return draw(d);
    default:
        return dump_summary(d);
    }
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static enum ox_status dump_one(struct cli *cli, void *args_, const char *path)
{
    const struct dump_args *args = args_;
    struct dumped d = {.cli = cli, .args = args, .path = path};
    struct ox_error err = {0};
    bool own_output = args->output && !args->tensor && !args->extract;
    enum ox_status status = ox_weight_list_of_data(&d.saved, cli->env, path, args->data, &err);
    if (status == OX_OK && !d.saved)
        status = cli_open(cli, &d.model, path, &err);
    if (status == OX_OK && own_output)
        status = ox_outfile_open(&d.file, args->output, &err);
    if (status != OX_OK) {
        ox_weight_list_release(d.saved);
        ox_model_release(d.model);
        return cli_error(cli, &err);
    }
    status = show(&d);
    if (d.file && status == OX_OK) {
        status = dump_flush(&d, &cli->out, &err);
        if (status == OX_OK)
            status = ox_outfile_commit(d.file, &err);
        if (status != OX_OK)
            cli_error(cli, &err);
    } else if (d.file) {
        ox_strbuf_clear(&cli->out);
    }
    ox_outfile_release(d.file);
    ox_costs_release(d.costs);
    ox_shapes_release(d.shapes);
    ox_weight_list_release(d.saved);
    ox_model_release(d.model);
    return status;
}

static enum ox_status verify(struct cli *cli, const struct dump_args *args, size_t n_models)
{
    int chosen = (args->node != NULL) + (args->tensor != NULL) + (args->extract != NULL);
    if (chosen > 1)
        return cli_fail(cli, OX_USAGE, "dump: --node, --tensor and --extract exclude each other");
    if (args->json && !args->node && !args->tensor && args->format != DUMP_SUMMARY &&
        args->format != DUMP_NODES && args->format != DUMP_TENSORS)
        return cli_fail(cli, OX_USAGE,
                        "dump: --json is for the summary, nodes, tensors, --node and --tensor; "
                        "-f json prints the whole model");
    if (args->graph && !args->node && !args->tensor && args->format != DUMP_NODES &&
        args->format != DUMP_TENSORS && args->format != DUMP_DOT && args->format != DUMP_SVG)
        return cli_fail(cli, OX_USAGE,
                        "dump: --graph is for nodes, tensors, dot, svg, --node and --tensor");
    if (args->output && (n_models != 1 || cli->common.files_from || cli->common.log))
        return cli_fail(cli, OX_USAGE, "dump: -o takes one model");
    return OX_OK;
}

static enum ox_status run(struct cli *cli, void *args, const char *const *operands,
                          size_t n_operands)
{
    enum ox_status status = verify(cli, args, n_operands);
    if (status != OX_OK)
        return status;
    const struct dump_args *asked = args;
    if (!asked->json && (asked->format == DUMP_SUMMARY || asked->format == DUMP_NODES ||
                         asked->format == DUMP_TENSORS))
        cli->between = "\n";
    if (!asked->output)
        return cli_each_model(cli, args, operands, n_operands, dump_one);
    status = cli_one_model(cli, operands, n_operands);
    return status == OX_OK ? dump_one(cli, args, operands[0]) : status;
}

const struct command command_dump = {
    .name = "dump",
    .summary = "Show what is in a model or a file of tensors",
    .operands = "MODEL|FOLDER...",
    .several = true,
    .description =
        "Shows a model. Of the forms, the summary (the default) tells file, opsets, inputs and "
        "outputs, operators, parameters, multiply-adds and memory; nodes is a table of what each "
        "node makes and takes; tensors a table of all constants with their ranges; text is ONNX's "
        "textual syntax, json protobuf's JSON mapping and textproto its text format, which are all "
        "read back wherever a model is taken; dot, svg and html draw the graph, the last as one "
        "page to pan, zoom, search and "
        "click in.\n\n"
        "Multiply-adds are those of products, convolutions, attention and recurrences. Of an If "
        "the larger branch counts, a Loop as often as its trip count says, or once where that is "
        "not known. The memory of activations is the most that inputs and values between nodes "
        "take at a time when nodes run in the file's order and nothing is done in place; what "
        "follows from constants alone is free. Figures need shapes: where dimensions are open, "
        "--input gives them numbers, and what is not known in full reads \"at least\".\n\n"
        "Parameters are the elements of all constants but int64, bool and strings, which are "
        "shapes and indices. Weights are read for tensors, --tensor and html alone.\n\n"
        "A file of saved tensors (.npz, .npy, .safetensors, .json, .csv, a picture, or a .pb file "
        "of "
        "test data) is shown as the table of its tensors, and so is a folder that holds such files "
        "and no model, as test_data_set_0 does. A .pb or .json file is told from a model by its "
        "content; a sequence, which is the same bytes as an optional of one, and a map are shown "
        "in "
        "parts: NAME[0], NAME.keys and NAME.values. Zeros are shown as a share of all elements as "
        "well; minimum, maximum, mean and deviation are over what is finite.",
    .examples = "  onnxtool dump model.onnx\n"
                "  onnxtool dump -f nodes --input x=1x3x224x224 model.onnx\n"
                "  onnxtool dump -f text --weights sample model.onnx\n"
                "  onnxtool dump --tensor conv1.weight -o conv1.npy model.onnx\n"
                "  onnxtool dump --histogram outputs.npz\n"
                "  onnxtool dump --values test_data_set_0\n"
                "  onnxtool dump -f html -o model.html model.onnx\n"
                "  onnxtool dump --extract hidden:logits -o tail.onnx model.onnx\n",
    .options = options,
    .args_bytes = sizeof(struct dump_args),
    .run = run,
};
