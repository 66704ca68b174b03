#include <string.h>

#include "cli.h"

struct args {
    int format;
    int weights;
};

#define FIELD(name) offsetof(struct args, name)

enum dump_format { DUMP_TEXT, DUMP_JSON };

static const struct opt options[] = {
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "text|json", "form of the output"},
    {0, "weights", OPT_CHOICE, FIELD(weights), "HOW", "full|sample|none",
     "values of tensors: all, of large ones a few at each end, or none"},
    OPT_END};

static enum ox_status flush(void *arg, struct ox_strbuf *buf, struct ox_error *err)
{
    struct cli *cli = arg;
    (void)buf;
    enum ox_status status = cli_flush(cli);
    if (status != OX_OK)
        *err = (struct ox_error){.status = status};
    return status;
}

static enum ox_status dump_one(struct cli *cli, void *args_, const char *path)
{
    const struct args *args = args_;
    struct ox_error err = {0};
    struct ox_model *model = NULL;
    enum ox_status status = ox_model_open(&model, cli->env, path, &err);
    if (status != OX_OK)
        return cli_error(cli, &err);
    const struct ox_model_print_options how = {.format = args->format == DUMP_JSON ? OX_FORMAT_JSON
                                                                                   : OX_FORMAT_TEXT,
                                               .weights = (enum ox_weights)args->weights,
                                               .pretty = !cli->several,
                                               .flush = flush,
                                               .flush_arg = cli};
    status = ox_model_print(&cli->out, model, &how, &err);
    if (status != OX_OK && *err.message)
        cli_error(cli, &err);
    ox_model_release(model);
    return status;
}

static enum ox_status run(struct cli *cli, void *args, const char *const *operands,
                          size_t n_operands)
{
    return cli_each_model(cli, args, operands, n_operands, dump_one);
}

const struct command command_dump = {
    .name = "dump",
    .summary = "Show what is in a model",
    .operands = "MODEL...",
    .description = "Prints the model in ONNX's textual syntax, which is read back wherever a model "
                   "is taken, or in protobuf's JSON mapping.",
    .examples = "  onnxtool dump -f text --weights sample model.onnx\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .run = run,
};
