#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commas.h"
#include "quantize_common.h"

struct args {
    struct quantize_args common;
    struct opt_strings calibration, tables;
    int method, quant_format, activation_type;
    double percentile;
    bool per_tensor, moving_average, symmetric_activation, calibrate_only, keep_partial, merge;
    bool bias_correction, equalize, smooth;
    int accuracy;
    const char *max_drop;
    int metric; /* enum ox_quant_metric */
    int64_t bins;
    bool debug;
    const char *original, *labels, *shard;
};

#define COMMON(name) offsetof(struct args, common.name)
#define FIELD(name) offsetof(struct args, name)

enum { METHOD_COMPARE = 5 };

static const struct opt options[] = {
    {'o', "output", OPT_STRING, COMMON(out), "OUT", NULL,
     "write the quantized model, or the table of --merge"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Calibration"},
    {0, "calibration", OPT_STRINGS, FIELD(calibration), "DATA", NULL,
     "samples: an .npz whose leading dimension they are, or a folder of .npz, .npy or input_N.pb"},
    {0, "table", OPT_STRINGS, FIELD(tables), "FILE,...", NULL,
     "calibrate from tables, merged, instead; onnxruntime's calibration cache is read too"},
    {0, "calibrate-only", OPT_FLAG, FIELD(calibrate_only), NULL, NULL,
     "write the --table and no model; it holds some of the samples"},
    {0, "keep-partial", OPT_FLAG, FIELD(keep_partial), NULL, NULL,
     "with --calibrate-only: Ctrl-C writes the table of the samples so far"},
    {0, "shard", OPT_STRING, FIELD(shard), "I/N", NULL,
     "with --calibrate-only: every N-th sample alone, from the I-th on: one of N machines' part"},
    {0, "merge", OPT_FLAG, FIELD(merge), NULL, NULL,
     "the operands are tables: write what they come to, in any order, as one table"},
    {0, "method", OPT_CHOICE, FIELD(method), "METHOD", "minmax|percentile|entropy|mse|auto|compare",
     "how a range is chosen; compare shows what each would give"},
    {0, "percentile", OPT_DOUBLE, FIELD(percentile), "P", NULL,
     "share of the values that must fit (default 99.999)"},
    {0, "bins", OPT_INT, FIELD(bins), "N", NULL,
     "choose ranges from histograms of at most so many bins (default: as gathered, up to 4096)"},
    {0, "moving-average", OPT_FLAG, FIELD(moving_average), NULL, NULL,
     "the mean of the samples' least and greatest values"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "What is written"},
    {0, "quant-format", OPT_CHOICE, FIELD(quant_format), "FORM", "qdq|qoperator",
     "QuantizeLinear and DequantizeLinear around operators, or operators on integers"},
    {0, "activation-type", OPT_CHOICE, FIELD(activation_type), "TYPE",
     "quint8|qint8|quint16|qint16", "type of activations"},
    {0, "weight-type", OPT_CHOICE, COMMON(weight_type), "TYPE",
     "qint8|quint8|qint16|quint16|qint4|quint4", "type of weights"},
    {0, "per-channel", OPT_FLAG, COMMON(per_channel), NULL, NULL,
     "a scale for each output channel of the weights: the default, but for --compat ort and "
     "matrices with fewer than 32 weights a channel, of ranges that are alike; opset 13"},
    {0, "per-tensor", OPT_FLAG, FIELD(per_tensor), NULL, NULL, "one scale for all of a weight"},
    {0, "reduce-range", OPT_FLAG, COMMON(reduce_range), NULL, NULL,
     "weights of 7 bits; --processor narrows only those that need it"},
    {0, "processor", OPT_CHOICE, COMMON(processor), "HOW", QUANTIZE_PROCESSORS,
     QUANTIZE_PROCESSOR_HELP},
    {0, "symmetric-activation", OPT_FLAG, FIELD(symmetric_activation), NULL, NULL,
     "ranges of activations around 0"},
    {0, "symmetric-weights", OPT_FLAG, COMMON(symmetric_weights), NULL, NULL,
     "unsigned weights around the middle; signed ones are symmetric anyway"},
    {0, "contrib", OPT_FLAG, COMMON(contrib), NULL, NULL,
     "operators of com.microsoft may be written"},
    {0, "compat", OPT_CHOICE, COMMON(compat), "PROGRAM", QUANTIZE_COMPATS,
     "ort: bit for bit what onnxruntime.quantization 1.31 gives"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Which nodes"},
    {0, "op-types", OPT_STRINGS, COMMON(op_types), "TYPE,...", NULL,
     "quantize nodes of these types alone"},
    {0, "nodes", OPT_STRINGS, COMMON(nodes), "SELECTOR,...", NULL, "quantize these nodes alone"},
    {0, "exclude-nodes", OPT_STRINGS, COMMON(exclude), "SELECTOR,...", NULL,
     "leave these nodes in float"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Accuracy"},
    {0, "accuracy", OPT_CHOICE, FIELD(accuracy), "HOW", "default|best|plain",
     "repairs that samples show to gain; best tries more of them, plain none"},
    {0, "bias-correction", OPT_FLAG, FIELD(bias_correction), NULL, NULL,
     "move biases so that each channel keeps its mean"},
    {0, "equalize", OPT_FLAG, FIELD(equalize), NULL, NULL,
     "even out channels between layers, and before normalizations"},
    {0, "smooth", OPT_FLAG, FIELD(smooth), NULL, NULL,
     "move large channels of normalizations into the weights of products (SmoothQuant)"},
    {0, "max-drop", OPT_STRING, FIELD(max_drop), "X", NULL,
     "leave the fewest nodes in float that samples held out need to keep within X of --metric"},
    {0, "metric", OPT_CHOICE, FIELD(metric), "METRIC", "sqnr|cosine|top1",
     "sqnr: at least X dB; cosine: 1 - cosine at most X; top1: at most that share of answers "
     "changes"},
    {0, "labels", OPT_STRING, FIELD(labels), "FILE", NULL,
     "an .npy of the right answer of each sample: top1 is then the share of right answers lost"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Reports"},
    {0, "dry-run", OPT_FLAG, COMMON(dry_run), NULL, NULL,
     "write no model; list what would be quantized, and what not and why"},
    {0, "report", OPT_STRING, COMMON(report), "FILE", NULL,
     "write what was done, and how far each node departs: a page (.html), or JSON"},
    {0, "debug", OPT_FLAG, FIELD(debug), NULL, NULL,
     "MODEL is quantized already: show each node's own error and what has gathered, against "
     "--float"},
    {0, "float", OPT_STRING, FIELD(original), "MODEL", NULL,
     "what the quantized model was made of"},
    {'f', "format", OPT_CHOICE, COMMON(format), "FORMAT", QUANTIZE_FORMATS, "form of the output"},
    OPT_END};

/* ---- Calibration -------------------------------------------------------------------------------------------------- */

/* The samples run through the model; *cut: Ctrl-C came, and the table of those before it is wanted. */
static enum ox_status run_samples(struct cli *cli, const struct args *args, struct ox_model *model,
                                  const struct ox_quant_options *chosen,
                                  struct ox_calibration *calibration, bool *cut,
                                  struct ox_error *err)
{
    struct quantize_progress progress;
    quantize_progress_begin(&progress, cli, args->keep_partial);
    enum ox_status status =
        ox_calibration_run(calibration, model, args->calibration.items, args->calibration.n, chosen,
                           quantize_progress_show, &progress, err);
    *cut = quantize_progress_end(&progress) && status == OX_CANCELLED &&
           ox_calibration_samples(calibration) > 0;
    return *cut ? OX_OK : status;
}

/* Tables, or samples run through the model. */
static enum ox_status calibrate(struct cli *cli, const struct args *args, struct ox_model *model,
                                const char *path, const struct ox_quant_options *chosen,
                                struct ox_calibration *calibration)
{
    struct ox_error err = {0};
    enum ox_status status = OX_OK;
    size_t n_tables = 0;
    const char **tables = commas_split(&args->tables, &n_tables);
    if (!tables)
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    if (args->calibration.n ? args->calibrate_only && n_tables != 1 : !n_tables) {
        free(tables);
        return cli_fail(cli, OX_USAGE,
                        n_tables ? "quantize-static: --calibrate-only writes one --table"
                                 : "quantize-static: --table names no file");
    }
    bool cut = false;
    if (args->calibration.n)
        status = run_samples(cli, args, model, chosen, calibration, &cut, &err);
    for (size_t i = 0; i < n_tables && status == OX_OK && !args->calibrate_only; i++)
        status = ox_calibration_read(calibration, tables[i], &err);
    if (status == OX_OK && args->calibrate_only)
        status = ox_calibration_write(calibration, tables[0], &err);
    if (status != OX_OK)
        cli_error(cli, &err);
    else if (cut)
        status = cli_fail(cli, OX_CANCELLED, "%s: cancelled; %s holds the first %llu samples", path,
                          tables[0], (unsigned long long)ox_calibration_samples(calibration));
    free(tables);
    if (status != OX_OK)
        return status;
    const char *guessed = ox_calibration_guessed(calibration);
    if (guessed)
        cli_warn(
            cli,
            "%s: each row of '%s' is taken for a sample; where they are steps of a sequence, give "
            "arrays with a dimension of samples before it",
            path, guessed);
    uint64_t n = ox_calibration_samples(calibration);
    if (args->calibration.n && n == 0 && !args->shard)
        return cli_fail(cli, OX_INPUT, "%s: no sample was found", path);
    if (n && n < 500 && !args->shard && cli->common.verbose)
        cli_warn(cli, "%s: %llu samples are few; 500 give steadier ranges", path,
                 (unsigned long long)n);
    return OX_OK;
}

/* A line a tensor: what each method makes of it. */
static void compare_methods(struct cli *cli, const struct ox_calibration *calibration,
                            const struct ox_quant_options *chosen)
{
    struct ox_strbuf *out = &cli->out;
    for (size_t i = 0; i < ox_calibration_n_tensors(calibration); i++) {
        ox_strbuf_name(out, ox_calibration_tensor(calibration, i), 256);
        for (int m = 0; m < OX_N_QUANT_METHODS; m++) {
            double least, most;
            if (ox_calibration_range(calibration, i, (enum ox_quant_method)m, chosen, &least,
                                     &most))
                ox_strbuf_printf(out, "  %s [%.6g, %.6g]",
                                 ox_quant_method_name((enum ox_quant_method)m), least, most);
        }
        ox_strbuf_putc(out, '\n');
    }
}

/* Outputs that are mostly noise are not for use: says so, and which node adds most by itself. */
static void warn_of_noise(struct cli *cli, const struct args *args, const char *path,
                          const struct ox_quant_report *report)
{
    enum { FEW_SAMPLES = 4 };
    const double poor = 10; /* dB */
    struct ox_quant_summary summary;
    struct quantize_errors errors = {0};
    struct ox_error unused;
    const struct quantize_error *worst = NULL;
    ox_quant_report_summary(report, &summary);
    if (!(summary.held_out_db < poor) || args->max_drop || cli->common.quiet)
        return;
    if (args->calibration.n && !args->common.dry_run && strcmp(args->common.out, "-") != 0 &&
        quantize_errors_find(&errors, cli, args->common.out, path, &args->calibration, FEW_SAMPLES,
                             &unused) == OX_OK)
        worst = quantize_errors_worst(&errors);
    if (worst)
        cli_warn(cli,
                 "%s: warning: outputs come to %.1f dB of signal to noise only; %s '%s' adds most "
                 "by itself (%.1f dB): see --exclude-nodes, --max-drop",
                 path, summary.held_out_db, worst->op_type, worst->node, worst->own_db);
    else
        cli_warn(cli,
                 "%s: warning: outputs come to %.1f dB of signal to noise only: see "
                 "--exclude-nodes, --max-drop",
                 path, summary.held_out_db);
    quantize_errors_release(&errors);
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static enum ox_status quantize(struct cli *cli, const struct args *args, const char *path,
                               const struct ox_quant_options *chosen)
{
    struct ox_error err = {0};
    struct ox_model *model = NULL;
    struct ox_calibration *calibration = NULL;
    struct ox_quant_report *report = NULL;
    ox_quant_steady_kernels();
    enum ox_status status = cli_open_sorted(cli, &model, path, &err);
    if (status == OX_OK)
        status = ox_calibration_new(&calibration, cli->env, &err);
    if (status == OX_OK)
        status = ox_quantize_prepare(model, chosen, &err);
    if (status != OX_OK)
        cli_error(cli, &err);
    else
        status = calibrate(cli, args, model, path, chosen, calibration);
    if (status == OX_OK && args->method == METHOD_COMPARE) {
        compare_methods(cli, calibration, chosen);
    } else if (status == OX_OK && !args->calibrate_only) {
        status = ox_quantize_static(model, calibration, chosen, &report, &err);
        if (status != OX_OK)
            cli_error(cli, &err);
        else if (!args->common.dry_run)
            status = quantize_save(cli, &args->common, model);
        if (status == OX_OK)
            status = quantize_report(cli, &args->common, path, &args->calibration, report);
        if (status == OX_OK)
            warn_of_noise(cli, args, path, report);
    }
    ox_quant_report_release(report);
    ox_calibration_release(calibration);
    ox_model_release(model);
    return status;
}

/* How a model that is quantized departs from the one that it was made of. */
static enum ox_status debug(struct cli *cli, const struct args *args, const char *path)
{
    struct ox_error err = {0};
    struct quantize_errors errors = {0};
    enum ox_status status =
        quantize_errors_find(&errors, cli, path, args->original, &args->calibration, 0, &err);
    if (status != OX_OK) {
        cli_error(cli, &err);
    } else if (args->common.format == QUANTIZE_JSON) {
        struct ox_json json;
        ox_json_init(&json, &cli->out, true);
        quantize_errors_json(&json, &errors);
        ox_strbuf_putc(&cli->out, '\n');
    } else {
        quantize_errors_text(&cli->out, &errors);
    }
    quantize_errors_release(&errors);
    return status;
}

/* The right answers, to be freed. */
static enum ox_status read_labels(struct cli *cli, const char *path,
                                  struct ox_quant_options *chosen, int64_t **labels)
{
    struct ox_error err = {0};
    struct ox_tensor_file *file;
    struct ox_tensor *tensor = NULL;
    enum ox_status status = ox_tensor_file_open(&file, cli->env, path, NULL, &err);
    if (status != OX_OK)
        return cli_error(cli, &err);
    if (ox_tensor_file_count(file) != 1)
        status = cli_fail(cli, OX_INPUT, "%s: holds not one array but %zu", path,
                          ox_tensor_file_count(file));
    else if (ox_tensor_file_load(&tensor, file, 0, &err) != OX_OK)
        status = cli_error(cli, &err);
    ox_tensor_file_release(file);
    if (status != OX_OK)
        return status;
    enum ox_dtype type = ox_tensor_dtype(tensor);
    chosen->n_labels = ox_tensor_count(tensor);
    *labels = calloc(chosen->n_labels + 1, sizeof **labels);
    if (!*labels)
        status = cli_fail(cli, OX_NO_MEMORY, "out of memory");
    else if (type != OX_INT64 && type != OX_INT32)
        status = cli_fail(cli, OX_INPUT, "%s: labels are int64 or int32, not %s", path,
                          ox_dtype_name(type));
    for (size_t i = 0; status == OX_OK && i < chosen->n_labels; i++)
        (*labels)[i] = type == OX_INT64 ? ((const int64_t *)ox_tensor_data(tensor))[i]
                                        : ((const int32_t *)ox_tensor_data(tensor))[i];
    chosen->labels = *labels;
    ox_tensor_release(tensor);
    return status;
}

static bool parse_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && *value == *value;
}

static enum ox_status check(struct cli *cli, const struct args *args)
{
    if (args->debug != (args->original != NULL) || (args->debug && !args->calibration.n))
        return cli_fail(cli, OX_USAGE,
                        "quantize-static: --debug, --float and --calibration go together");
    if (args->debug)
        return OX_OK;
    if (args->bins < 0 || args->bins > 4096)
        return cli_fail(cli, OX_USAGE, "quantize-static: --bins is at most 4096");
    if (!args->calibration.n && !args->tables.n)
        return cli_fail(cli, OX_USAGE, "quantize-static: --calibration or --table is needed");
    if (args->calibrate_only && (!args->calibration.n || args->tables.n != 1))
        return cli_fail(cli, OX_USAGE,
                        "quantize-static: --calibrate-only needs --calibration and one --table");
    if (args->shard && !args->calibrate_only)
        return cli_fail(cli, OX_USAGE, "quantize-static: --shard goes with --calibrate-only");
    if (args->keep_partial && (!args->calibrate_only || args->common.compat))
        return cli_fail(cli, OX_USAGE,
                        "quantize-static: --keep-partial goes with --calibrate-only, and not with "
                        "--compat");
    if (!args->common.out && !args->common.dry_run && !args->calibrate_only &&
        args->method != METHOD_COMPARE)
        return cli_fail(cli, OX_USAGE,
                        "quantize-static: -o OUT, --dry-run or --calibrate-only is needed");
    if (args->metric && !args->max_drop)
        return cli_fail(cli, OX_USAGE, "quantize-static: --metric goes with --max-drop");
    if (args->common.per_channel && args->per_tensor)
        return cli_fail(cli, OX_USAGE, "quantize-static: --per-channel or --per-tensor, not both");
    if (!(args->percentile > 50 && args->percentile <= 100))
        return cli_fail(cli, OX_USAGE, "quantize-static: --percentile is over 50 and at most 100");
    return OX_OK;
}

/* What one calibration over the samples of all of them would have written. */
static enum ox_status merge(struct cli *cli, const struct args *args, const char *const *tables,
                            size_t n)
{
    struct ox_error err = {0};
    struct ox_calibration *calibration = NULL;
    if (!n || !args->common.out || args->calibration.n || args->tables.n || args->calibrate_only)
        return cli_fail(cli, OX_USAGE,
                        "quantize-static: --merge takes tables and -o OUT, and nothing else");
    enum ox_status status = ox_calibration_new(&calibration, cli->env, &err);
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = ox_calibration_read(calibration, tables[i], &err);
    if (status == OX_OK)
        status = ox_calibration_write(calibration, args->common.out, &err);
    ox_calibration_release(calibration);
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    static const enum ox_dtype activations[] = {OX_UINT8, OX_INT8, OX_UINT16, OX_INT16};
    static const enum ox_dtype weights[] = {OX_INT8,   OX_UINT8, OX_INT16,
                                            OX_UINT16, OX_INT4,  OX_UINT4};
    static const enum ox_quant_method methods[] = {OX_QUANT_MINMAX,  OX_QUANT_PERCENTILE,
                                                   OX_QUANT_ENTROPY, OX_QUANT_MSE,
                                                   OX_QUANT_AUTO,    OX_QUANT_MINMAX};
    const struct args *args = args_;
    if (args->merge)
        return merge(cli, args, operands, n_operands);
    enum ox_status status = cli_one_model(cli, operands, n_operands);
    if (status == OX_OK)
        status = check(cli, args);
    if (status != OX_OK)
        return status;
    if (args->debug)
        return debug(cli, args, operands[0]);
    struct ox_quant_options chosen;
    const char **lists[QUANTIZE_LISTS];
    ox_quant_options_init(&chosen);
    status = cli_read_shard(cli, args->shard, &chosen.shard, &chosen.n_shards);
    if (status != OX_OK)
        return status;
    chosen.activation_type = activations[args->activation_type];
    chosen.weight_type = weights[args->common.weight_type];
    chosen.method = args->moving_average ? OX_QUANT_MOVING_AVERAGE : methods[args->method];
    chosen.percentile = args->percentile;
    chosen.bins = (size_t)args->bins;
    chosen.format = (enum ox_quant_format)args->quant_format;
    chosen.symmetric_activation = args->symmetric_activation;
    chosen.bias_correction = args->bias_correction;
    chosen.equalize = args->equalize;
    chosen.smooth = args->smooth;
    chosen.accuracy = (enum ox_quant_accuracy)args->accuracy;
    chosen.has_budget = args->max_drop != NULL;
    chosen.metric = (enum ox_quant_metric)args->metric;
    if (args->max_drop && !parse_number(args->max_drop, &chosen.max_drop))
        return cli_fail(cli, OX_USAGE, "quantize-static: --max-drop %s is no number",
                        args->max_drop);
    int64_t *labels = NULL;
    status = quantize_options(cli, &args->common, &chosen, lists);
    chosen.one_scale_if_short = !chosen.per_channel;
    chosen.per_channel |= !args->per_tensor && !chosen.compat_ort;
    if (status == OX_OK && args->labels)
        status = read_labels(cli, args->labels, &chosen, &labels);
    if (status == OX_OK)
        status = quantize(cli, args, operands[0], &chosen);
    for (int i = 0; i < QUANTIZE_LISTS; i++)
        free(lists[i]);
    free(labels);
    return status;
}

static void defaults(void *args_)
{
    struct args *args = args_;
    args->percentile = 99.999;
}

const struct command command_quantize_static = {
    .name = "quantize-static",
    .summary = "Quantize weights and activations by what samples show",
    .operands = "MODEL | TABLE...",
    .description =
        "Runs the model on samples once, choosing ranges of activations from what it sees, and "
        "puts QuantizeLinear and DequantizeLinear where runtimes fuse them into integer operators. "
        "Memory does not grow with the samples.\n\n"
        "Tables from parts of the samples (--calibrate-only) merge to what one run over all of "
        "them gives, byte for byte. A table holds up to 64 of the samples themselves, which "
        "repairs are judged by.\n\n"
        "Rows of an array of an input's own rank are samples, unless the model fixes the first "
        "dimension (then so many rows are one), an LSTM, GRU, RNN, convolution or pool goes along "
        "it, or its name says time.\n\n"
        "On x86 processors without VNNI products of uint8 activations by int8 weights saturate in "
        "onnxruntime, and a model may fall apart there. So the scales of some int8 weights become "
        "larger: as much as it takes by activations an eighth beyond what a channel of the "
        "samples showed, which costs little accuracy anywhere; as much as it takes by any, with "
        "--processor avx2-saturating or where the table has no samples; or not at all, with "
        "--processor exact. The report tells how many. (Of a model that is there already "
        "onnxruntime's session option session.x64quantprecision=1 avoids it.)\n\n"
        "Selectors of nodes are those of quantize-dynamic.",
    .examples =
        "  onnxtool quantize-static model.onnx -o model.int8.onnx --calibration samples.npz\n"
        "  onnxtool quantize-static model.onnx --calibrate-only --calibration part1/ --table "
        "part1.json\n"
        "  onnxtool quantize-static model.onnx -o model.int8.onnx --table part1.json,part2.json\n"
        "  onnxtool quantize-static --merge part1.json part2.json -o all.json\n"
        "  onnxtool quantize-static --debug model.int8.onnx --float model.onnx --calibration "
        "samples.npz\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .defaults = defaults,
    .run = run,
};
