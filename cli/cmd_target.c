#include <string.h>

#include "check_targets.h"

struct args {
    const char *output;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {{'o', "output", OPT_STRING, FIELD(output), "FILE", NULL,
                                      "write there instead of standard output"},
                                     OPT_END};

static const char template[] =
    "# A target of onnxtool: what your runtime loads. Use it with: onnxtool check --target "
    "./FILE.target MODEL\n"
    "# 'onnxtool target show onnxruntime=1.16' prints a known one in this form.\n"
    "\n"
    "target my-runtime 1.0 npu       # its name, version and provider\n"
    "origin where these facts are from\n"
    "ir 9                            # newest IR version; without this line any\n"
    "opset ai.onnx 19 7              # newest version that is taken; below the second one with a "
    "warning\n"
    "opset ai.onnx.ml 3\n"
    "functions                       # functions of the model are expanded\n"
    "# rest onnxruntime=1.16:cpu     # who takes the nodes that are not below; without this line "
    "nobody\n"
    "\n"
    "# op [DOMAIN:]NAME [VERSIONS] [CONSTRAINT=TYPE,...]...\n"
    "# VERSIONS are those of the operator, not of the opset: 7-12, 13, * for all. Several lines "
    "for an operator: one of them\n"
    "# must fit. CONSTRAINT is a type parameter of the schema or the name of an input or output "
    "(onnxtool ops NAME).\n"
    "op Constant *                   # exporters write constants as nodes too\n"
    "op Conv 11-22 T=float32,float16\n"
    "op Relu *\n"
    "op MatMul 9-13 T=float32\n"
    "op com.acme:Sparkle *\n";

static enum ox_status show(struct cli *cli, const char *spec)
{
    struct ox_error err = {0};
    struct ox_targets *targets = NULL;
    enum ox_status status = ox_targets_new(&targets, cli->env, &err);
    if (status == OX_OK)
        status = ox_targets_add(targets, spec, &err);
    for (size_t i = 0; status == OX_OK && i < ox_targets_count(targets); i++)
        ox_target_print(&cli->out, ox_targets_at(targets, i));
    ox_targets_release(targets);
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    const char *what = n_operands > 0 ? operands[0] : "";
    enum ox_status status = OX_OK;
    if (strcmp(what, "init") == 0 && n_operands == 1)
        ox_strbuf_puts(&cli->out, template);
    else if (strcmp(what, "list") == 0 && n_operands == 1)
        status = target_list(cli);
    else if (strcmp(what, "show") == 0 && n_operands == 2)
        status = show(cli, operands[1]);
    else
        return cli_fail(cli, OX_USAGE, "target: expected init, list or show TARGET");
    if (status != OX_OK || !args->output)
        return status;
    struct ox_error err = {0};
    status = cli->out.failed ? cli_fail(cli, OX_NO_MEMORY, "target: out of memory")
                             : ox_file_write(args->output, cli->out.data, cli->out.len, &err);
    ox_strbuf_clear(&cli->out);
    return status == OX_OK || cli->out.failed ? status : cli_error(cli, &err);
}

const struct command command_target = {
    .name = "target",
    .summary = "Describe the runtimes that check --target knows, or one of your own",
    .operands = "init | list | show TARGET",
    .description = "init writes a template of a target file, with every kind of line explained. A "
                   "file that ends in .target, or has a "
                   "'/' in its name, is taken wherever a target is: check --target ./my.target. "
                   "list prints the targets known, "
                   "what they accept and how their tables are known. show prints one in the form "
                   "of such files: a start for your own.\n\n"
                   "How tables are known: measured (models of one node each were loaded in the "
                   "released package), listed (the "
                   "package's own list of kernels), published (documentation), derived (from other "
                   "releases), stated (a file of yours).",
    .examples = "  onnxtool target init -o my.target\n"
                "  onnxtool target show onnxruntime=1.16:cuda\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .run = run,
};
