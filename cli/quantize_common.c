#include "quantize_common.h"

#include <stdlib.h>
#include <string.h>

#include "commas.h"

enum ox_status quantize_options(struct cli *cli, const struct quantize_args *args,
                                struct ox_quant_options *options,
                                const char **lists[QUANTIZE_LISTS])
{
    options->per_channel = args->per_channel;
    options->reduce_range = args->reduce_range;
    options->processor = (enum ox_quant_processor)args->processor;
    options->symmetric_weights = args->symmetric_weights;
    options->compat_ort = args->compat == 1;
    options->contrib = args->contrib;
    lists[0] = commas_split(&args->op_types, &options->n_op_types);
    lists[1] = commas_split(&args->nodes, &options->n_nodes);
    lists[2] = commas_split(&args->exclude, &options->n_exclude);
    options->op_types = lists[0];
    options->nodes = lists[1];
    options->exclude = lists[2];
    if ((args->op_types.n && !options->n_op_types) || (args->nodes.n && !options->n_nodes) ||
        (args->exclude.n && !options->n_exclude))
        return cli_fail(cli, OX_USAGE, "%s: an empty --op-types, --nodes or --exclude-nodes",
                        cli->command->name);
    if (args->out && args->report && strcmp(args->out, args->report) == 0)
        return cli_fail(cli, OX_USAGE, "%s: -o and --report are the same file", cli->command->name);
    if (args->processor && (args->reduce_range || args->compat))
        return cli_fail(cli, OX_USAGE,
                        "%s: --processor is not for --reduce-range and not for --compat",
                        cli->command->name);
    return lists[0] && lists[1] && lists[2] ? OX_OK : cli_fail(cli, OX_NO_MEMORY, "out of memory");
}

/* ---- What was done ------------------------------------------------------------------------------------------------ */

/* With -v: which pairs of QuantizeLinear and DequantizeLinear bring no integer operator. */
static void report_unfused(struct cli *cli, const struct ox_quant_report *report)
{
    struct ox_strbuf *out = &cli->out;
    for (size_t i = 0; cli->common.verbose && i < ox_quant_report_n_unfused(report); i++) {
        const struct ox_quant_pair *pair = ox_quant_report_unfused(report, i);
        ox_strbuf_puts(out, "unfused    ");
        ox_strbuf_name(out, pair->tensor, 256);
        ox_strbuf_puts(out, " in ");
        ox_strbuf_name(out, pair->op_type, 256);
        ox_strbuf_putc(out, ' ');
        ox_strbuf_name(out, pair->node, 256);
        ox_strbuf_puts(out, ": ");
        ox_strbuf_name(out, pair->reason, 0);
        ox_strbuf_putc(out, '\n');
    }
}

static void report_text(struct cli *cli, const struct quantize_args *args,
                        const struct ox_quant_report *report)
{
    struct ox_strbuf *out = &cli->out;
    size_t quantized = 0, n = ox_quant_report_n_nodes(report);
    uint64_t before = 0, after = 0;
    for (size_t i = 0; i < n; i++)
        quantized += ox_quant_report_node(report, i)->quantized;
    for (size_t i = 0; i < ox_quant_report_n_tensors(report); i++) {
        before += ox_quant_report_tensor(report, i)->bytes_before;
        after += ox_quant_report_tensor(report, i)->bytes_after;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ox_quant_node *node = ox_quant_report_node(report, i);
        if (node->quantized && !args->dry_run && !cli->common.verbose)
            continue;
        ox_strbuf_puts(out, node->quantized ? "quantized  " : "float      ");
        ox_strbuf_name(out, node->op_type, 256);
        ox_strbuf_putc(out, ' ');
        if (*node->graph) {
            ox_strbuf_name(out, node->graph, 256);
            ox_strbuf_putc(out, '.');
        }
        ox_strbuf_name(out, node->name, 256);
        if (node->reason) {
            ox_strbuf_puts(out, ": ");
            ox_strbuf_name(out, node->reason, 0);
        }
        ox_strbuf_putc(out, '\n');
    }
    report_unfused(cli, report);
    for (size_t i = 0; i < ox_quant_report_n_notes(report); i++) {
        ox_strbuf_puts(out, "note       ");
        ox_strbuf_name(out, ox_quant_report_note(report, i), 0);
        ox_strbuf_putc(out, '\n');
    }
    ox_strbuf_printf(out, "%zu of %zu nodes %s; constants: %llu bytes become %llu\n", quantized, n,
                     args->dry_run ? "can be quantized" : "quantized", (unsigned long long)before,
                     (unsigned long long)after);
}

static void report_json(struct ox_strbuf *out, const char *schema, const char *model,
                        const struct ox_quant_report *report, const struct quantize_errors *errors)
{
    struct ox_json json;
    ox_json_init(&json, out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", schema);
    cli_json_string(&json, "model", model);
    ox_quant_report_json(&json, report);
    if (errors->n) {
        ox_json_key(&json, "errors");
        quantize_errors_json(&json, errors);
    }
    if (errors->original_s > 0 && errors->quantized_s > 0) {
        ox_json_key(&json, "measured");
        ox_json_object(&json);
        ox_json_finite(&json, "float_ms", errors->original_s * 1e3);
        ox_json_finite(&json, "quantized_ms", errors->quantized_s * 1e3);
        ox_json_finite(&json, "speedup", errors->original_s / errors->quantized_s);
        ox_json_end_object(&json);
    }
    ox_json_end_object(&json);
    ox_strbuf_putc(out, '\n');
}

/* --report: a page when it is named so, else JSON. */
static enum ox_status write_report(struct cli *cli, const struct quantize_args *args,
                                   const char *model, const char *schema,
                                   const struct opt_strings *samples,
                                   const struct ox_quant_report *report)
{
    enum { FEW_SAMPLES = 8 };
    struct ox_error err = {0};
    struct ox_strbuf text = {0};
    struct quantize_errors errors = {0};
    size_t n = strlen(args->report);
    bool html = n > 5 && strcmp(args->report + n - 5, ".html") == 0;
    enum ox_status status = OX_OK;
    if (samples && samples->n && args->out && !args->dry_run)
        status = quantize_errors_find(&errors, cli, args->out, model, samples, FEW_SAMPLES, &err);
    if (status == OX_OK && html)
        status = quantize_html(&text, model, report, &errors, &err);
    else if (status == OX_OK)
        report_json(&text, schema, model, report, &errors);
    bool failed = status == OX_OK && text.failed;
    if (status == OX_OK && !failed)
        status = ox_file_write(args->report, text.data, text.len, &err);
    ox_strbuf_release(&text);
    quantize_errors_release(&errors);
    if (failed)
        return cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", args->report);
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}

enum ox_status quantize_report(struct cli *cli, const struct quantize_args *args, const char *model,
                               const struct opt_strings *samples,
                               const struct ox_quant_report *report)
{
    static const struct quantize_errors none;
    char schema[64];
    snprintf(schema, sizeof schema, "onnxtool.%s/1", cli->command->name);
    if (args->format == QUANTIZE_JSON)
        report_json(&cli->out, schema, model, report, &none);
    else if (!cli->common.quiet)
        report_text(cli, args, report);
    return args->report ? write_report(cli, args, model, schema, samples, report) : OX_OK;
}

/* ---- The model ---------------------------------------------------------------------------------------------------- */

enum ox_status quantize_save(struct cli *cli, const struct quantize_args *args,
                             struct ox_model *model)
{
    struct ox_error err = {0};
    cli->model_out |= strcmp(args->out, "-") == 0;
    /* What stays float comes along: a file that was read holds all the weights that nobody reads any more, too. */
    const struct ox_save_options whole = {.inline_external = true};
    enum ox_status status = ox_model_save(model, args->out, &whole, &err);
    if (status == OX_LIMIT) { /* over what one message can hold */
        const char *name = strrchr(args->out, '/');
        struct ox_strbuf location = {0};
        ox_strbuf_printf(&location, "%s.data", name ? name + 1 : args->out);
        struct ox_save_options beside = {.external_location = location.data};
        status = location.failed ? OX_NO_MEMORY : ox_model_save(model, args->out, &beside, &err);
        ox_strbuf_release(&location);
    }
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}
