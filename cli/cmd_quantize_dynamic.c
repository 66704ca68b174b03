#include <stdlib.h>

#include "quantize_common.h"

struct args {
    struct quantize_args common;
    int weight_only;
    int accuracy; /* 1: plain */
    int64_t block_size;
    int method;     /* enum ox_weight_method */
    int scale_type; /* 0: float16 */
    struct opt_strings calibration;
};

enum weight_only { WEIGHT_ONLY_NOT, WEIGHT_ONLY_INT8, WEIGHT_ONLY_INT4, WEIGHT_ONLY_UINT4 };

#define FIELD(name) offsetof(struct args, common.name)

static const struct opt options[] = {
    {'o', "output", OPT_STRING, FIELD(out), "OUT", NULL, "write the quantized model"},
    {0, "weight-type", OPT_CHOICE, FIELD(weight_type), "TYPE", "qint8|quint8",
     "type of the weights"},
    {0, "per-channel", OPT_FLAG, FIELD(per_channel), NULL, NULL,
     "a scale for each output channel of a product's weights; those of convolutions and of "
     "products of 64 rows or more have one anyway"},
    {0, "reduce-range", OPT_FLAG, FIELD(reduce_range), NULL, NULL,
     "weights of 7 bits; --processor narrows only those that need it"},
    {0, "processor", OPT_CHOICE, FIELD(processor), "HOW", QUANTIZE_PROCESSORS,
     QUANTIZE_PROCESSOR_HELP},
    {0, "symmetric-weights", OPT_FLAG, FIELD(symmetric_weights), NULL, NULL,
     "unsigned weights around 128; signed ones are symmetric anyway"},
    {0, "op-types", OPT_STRINGS, FIELD(op_types), "TYPE,...", NULL,
     "quantize nodes of these types alone"},
    {0, "nodes", OPT_STRINGS, FIELD(nodes), "SELECTOR,...", NULL, "quantize these nodes alone"},
    {0, "exclude-nodes", OPT_STRINGS, FIELD(exclude), "SELECTOR,...", NULL,
     "leave these nodes in float"},
    {0, "weight-only", OPT_CHOICE, offsetof(struct args, weight_only), "TYPE", "no|int8|int4|uint4",
     "activations stay float; matrices of products become blocks of integers"},
    {0, "block-size", OPT_INT, offsetof(struct args, block_size), "N", NULL,
     "rows of a block: 16, 32 (default), 64 ... 1024"},
    {0, "scale-type", OPT_CHOICE, offsetof(struct args, scale_type), "TYPE", "float16|float32",
     "of the scales of blocks: half as large, behind a Cast that runtimes fold, where that serves"},
    {0, "method", OPT_CHOICE, offsetof(struct args, method), "METHOD", "rtn|hqq|gptq|k_quant|awq",
     "of rounding weights alone: nearest; outliers counting less; by samples; larger ones counting "
     "more; by samples, rows that meet large inputs scaled up"},
    {0, "calibration", OPT_STRINGS, offsetof(struct args, calibration), "DATA", NULL,
     "samples for gptq and awq, as for quantize-static"},
    {0, "accuracy", OPT_CHOICE, offsetof(struct args, accuracy), "HOW", "default|plain",
     "repairs that need no samples: channels evened out, rounding whose errors cancel; plain none"},
    {0, "contrib", OPT_FLAG, FIELD(contrib), NULL, NULL,
     "operators of com.microsoft may be written"},
    {0, "compat", OPT_CHOICE, FIELD(compat), "PROGRAM", QUANTIZE_COMPATS,
     "ort: bit for bit what onnxruntime.quantization 1.31 gives"},
    {0, "dry-run", OPT_FLAG, FIELD(dry_run), NULL, NULL,
     "write nothing; list what would be quantized, and what not and why"},
    {0, "report", OPT_STRING, FIELD(report), "FILE", NULL,
     "write what was done: a page (.html), or JSON"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", QUANTIZE_FORMATS, "form of the output"},
    OPT_END};

enum { DEFAULT_BLOCK = 32 };

static enum ox_status quantize(struct cli *cli, const struct args *all, const char *path,
                               const struct ox_quant_options *chosen)
{
    const struct quantize_args *args = &all->common;
    struct ox_error err = {0};
    struct ox_model *model = NULL;
    struct ox_quant_report *report = NULL;
    enum ox_status status = cli_open_sorted(cli, &model, path, &err);
    if (status == OX_OK)
        status = ox_quantize_prepare(model, chosen, &err);
    if (status == OX_OK && chosen->weight_only)
        status = ox_quantize_weights(model, all->calibration.items, all->calibration.n, chosen,
                                     &report, &err);
    else if (status == OX_OK)
        status = ox_quantize_dynamic(model, chosen, &report, &err);
    if (status != OX_OK)
        status = cli_error(cli, &err);
    else if (!args->dry_run)
        status = quantize_save(cli, args, model);
    if (status == OX_OK)
        status = quantize_report(cli, args, path, &all->calibration, report);
    ox_quant_report_release(report);
    ox_model_release(model);
    return status;
}

/* What goes with weights alone, and what does not. */
static enum ox_status check(struct cli *cli, const struct args *args)
{
    const bool sampled = args->method == OX_WEIGHT_GPTQ || args->method == OX_WEIGHT_AWQ;
    if (!args->common.out && !args->common.dry_run)
        return cli_fail(cli, OX_USAGE, "quantize-dynamic: -o OUT or --dry-run is needed");
    if (!args->weight_only && (args->method || args->calibration.n))
        return cli_fail(cli, OX_USAGE,
                        "quantize-dynamic: --method and --calibration go with --weight-only");
    if (!args->weight_only && (args->block_size != DEFAULT_BLOCK || args->scale_type))
        return cli_fail(cli, OX_USAGE,
                        "quantize-dynamic: --block-size and --scale-type go with --weight-only");
    if (sampled != (args->calibration.n > 0))
        return cli_fail(cli, OX_USAGE,
                        "quantize-dynamic: --method gptq or awq and --calibration go together");
    if (args->weight_only && args->common.compat)
        return cli_fail(cli, OX_USAGE, "quantize-dynamic: --compat is not for --weight-only");
    if (args->weight_only && args->common.processor)
        return cli_fail(cli, OX_USAGE, "quantize-dynamic: --processor is not for --weight-only");
    if (args->block_size < 1)
        return cli_fail(cli, OX_USAGE, "quantize-dynamic: --block-size is 16, 32, 64 ... 1024");
    return OX_OK;
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    static const enum ox_dtype types[] = {OX_INT8, OX_UINT8};
    static const enum ox_dtype alone[] = {OX_UNDEFINED, OX_INT8, OX_INT4, OX_UINT4};
    enum ox_status status = cli_one_model(cli, operands, n_operands);
    if (status == OX_OK)
        status = check(cli, args);
    if (status != OX_OK)
        return status;
    struct ox_quant_options chosen;
    const char **lists[QUANTIZE_LISTS];
    ox_quant_options_init(&chosen);
    chosen.accuracy = args->accuracy ? OX_QUANT_PLAIN : OX_QUANT_DEFAULT;
    chosen.weight_type = types[args->common.weight_type];
    if (args->weight_only) {
        chosen.weight_only = true;
        chosen.weight_type = alone[args->weight_only];
        chosen.block_size = (size_t)args->block_size;
        chosen.weight_method = (enum ox_weight_method)args->method;
        chosen.wide_scales = args->scale_type != 0;
    }
    status = quantize_options(cli, &args->common, &chosen, lists);
    if (status == OX_OK)
        status = quantize(cli, args, operands[0], &chosen);
    for (int i = 0; i < QUANTIZE_LISTS; i++)
        free(lists[i]);
    return status;
}

static void defaults(void *args_)
{
    struct args *args = args_;
    args->block_size = DEFAULT_BLOCK;
}

const struct command command_quantize_dynamic = {
    .name = "quantize-dynamic",
    .summary = "Quantize weights now and activations as the model runs, or weights alone",
    .operands = "MODEL",
    .description =
        "Products and convolutions with constant weights become MatMulInteger and ConvInteger, "
        "their inputs pass DynamicQuantizeLinear; tables that Gather reads and weights of "
        "recurrent layers are stored in 8 bits. No samples are needed. Only standard operators are "
        "written unless --contrib is given.\n\n"
        "With --weight-only activations stay float: matrices of products are stored as integers "
        "with a scale for each block of a column, behind DequantizeLinear (opset 21), which "
        "runtimes "
        "fuse with the product, or in MatMulNBits with --contrib. Tables that Gather reads become "
        "int8 in blocks along their rows, with --contrib and an opset before 21 in rows.\n\n"
        "Products of int8 weights saturate on x86 processors without VNNI, as quantize-static's "
        "manual tells. Scales of int8 weights become larger for it: as much as it takes by "
        "activations that are likely after the operator that makes them (such weights of fewer "
        "than 64 rows become uint8 instead, which is exact), by any with --processor "
        "avx2-saturating, not at all with --processor exact. ConvInteger is exact, "
        "DynamicQuantizeLSTM has uint8.\n\n"
        "A SELECTOR is the name of a node, a name with * ? [ ], re: and a regular expression, "
        "op:TYPE, after:NAME or before:NAME (the node and what depends on it, or what it depends "
        "on), graph:PATH, shape:DIMS (a constant that it takes has these dimensions: "
        "64x>=3x*x*, with ... at the end for any more), shape:in:DIMS or shape:out:DIMS (a value "
        "that it takes or makes). One that selects nothing is an error.",
    .examples =
        "  onnxtool quantize-dynamic model.onnx -o model.int8.onnx --per-channel\n"
        "  onnxtool quantize-dynamic model.onnx -o model.int4.onnx --weight-only int4 --method "
        "gptq --calibration samples.npz\n"
        "  onnxtool quantize-dynamic model.onnx --dry-run --exclude-nodes 're:.*head.*'\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .defaults = defaults,
    .run = run,
};
