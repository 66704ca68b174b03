/* The report as one page that needs nothing else: what it comes to, histograms, the graph coloured by error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantize_common.h"

static void cell(struct ox_strbuf *out, double value)
{
    if (isfinite(value))
        ox_strbuf_printf(out, "<td>%.4g</td>", value);
    else
        ox_strbuf_puts(out, "<td>-</td>");
}

static void text_cell(struct ox_strbuf *out, const char *text)
{
    ox_strbuf_puts(out, "<td>");
    ox_strbuf_markup(out, text ? text : "", 256);
    ox_strbuf_puts(out, "</td>");
}

/* ---- What it comes to --------------------------------------------------------------------------------------------- */

static void summary(struct ox_strbuf *out, const struct ox_quant_report *report,
                    const struct quantize_errors *errors)
{
    struct ox_quant_summary s;
    ox_quant_report_summary(report, &s);
    ox_strbuf_printf(out, "<p>%zu of %zu nodes quantized", s.n_quantized,
                     s.n_quantized + s.n_float);
    if (isfinite(s.integer_share))
        ox_strbuf_printf(out,
                         ", %.1f %% of the multiplications on integers; with VNNI that may make it "
                         "%.1f times as fast (estimated)",
                         100 * s.integer_share, s.speedup);
    if (errors->original_s > 0 && errors->quantized_s > 0)
        ox_strbuf_printf(out, "; measured on this machine: %.3g ms instead of %.3g, %.2f times",
                         errors->quantized_s * 1e3, errors->original_s * 1e3,
                         errors->original_s / errors->quantized_s);
    ox_strbuf_printf(out, ".</p>\n<p>Constants: %llu bytes become %llu",
                     (unsigned long long)s.model_before, (unsigned long long)s.model_after);
    if (s.model_before)
        ox_strbuf_printf(out, " (%.1f %% less)",
                         100 - 100 * (double)s.model_after / (double)s.model_before);
    ox_strbuf_puts(out, ".</p>\n");
    if (s.n_saturating)
        ox_strbuf_printf(out,
                         "<p>Products of %zu weights can saturate on x86 processors without "
                         "VNNI.</p>\n",
                         s.n_saturating);
    if (s.n_widened)
        ox_strbuf_printf(out,
                         "<p>Scales of %zu weights are larger, by %.2f at most, so that products "
                         "do not saturate on x86 processors without VNNI.</p>\n",
                         s.n_widened, s.most_widened);
    if (ox_quant_report_n_notes(report))
        ox_strbuf_puts(out, "<ul>\n");
    for (size_t i = 0; i < ox_quant_report_n_notes(report); i++) {
        ox_strbuf_puts(out, "<li>");
        ox_strbuf_markup(out, ox_quant_report_note(report, i), 0);
        ox_strbuf_puts(out, "</li>\n");
    }
    if (ox_quant_report_n_notes(report))
        ox_strbuf_puts(out, "</ul>\n");
}

/* ---- Tables ------------------------------------------------------------------------------------------------------- */

static void node_table(struct ox_strbuf *out, const struct ox_quant_report *report,
                       const struct quantize_errors *errors)
{
    ox_strbuf_puts(out,
                   "<h2>Nodes</h2>\n<table><tr><th>node</th><th>operator</th><th></th>"
                   "<th>own dB</th><th>gathered dB</th><th>why it stayed in float</th></tr>\n");
    for (size_t i = 0; i < ox_quant_report_n_nodes(report); i++) {
        const struct ox_quant_node *node = ox_quant_report_node(report, i);
        const struct quantize_error *error = quantize_error_of(errors, node->graph, node->name);
        ox_strbuf_printf(out, "<tr class=\"%s\">", node->quantized ? "q" : "f");
        text_cell(out, node->name);
        text_cell(out, node->op_type);
        text_cell(out, node->quantized ? "quantized" : "float");
        cell(out, error ? error->own_db : NAN);
        cell(out, error ? error->gathered_db : NAN);
        text_cell(out, node->reason);
        ox_strbuf_puts(out, "</tr>\n");
    }
    ox_strbuf_puts(out, "</table>\n");
}

static void unfused_table(struct ox_strbuf *out, const struct ox_quant_report *report)
{
    if (!ox_quant_report_n_unfused(report))
        return;
    ox_strbuf_puts(out, "<h2>Pairs of Q and DQ that bring no integer operator</h2>\n<table>\n"
                        "<tr><th>value</th><th>operator</th><th>node</th><th>why</th></tr>\n");
    for (size_t i = 0; i < ox_quant_report_n_unfused(report); i++) {
        const struct ox_quant_pair *pair = ox_quant_report_unfused(report, i);
        ox_strbuf_puts(out, "<tr>");
        text_cell(out, pair->tensor);
        text_cell(out, pair->op_type);
        text_cell(out, pair->node);
        text_cell(out, pair->reason);
        ox_strbuf_puts(out, "</tr>\n");
    }
    ox_strbuf_puts(out, "</table>\n");
}

/* Heights by the logarithm: tails are what ranges are about. */
static void histogram(struct ox_strbuf *out, const struct ox_quant_tensor *tensor)
{
    enum { HEIGHT = 28, BAR = 3 };
    uint64_t most = 1;
    for (size_t i = 0; i < tensor->n_histogram; i++)
        most = tensor->histogram[i] > most ? tensor->histogram[i] : most;
    ox_strbuf_printf(out, "<svg width=\"%zu\" height=\"%d\">", tensor->n_histogram * BAR,
                     (int)HEIGHT);
    for (size_t i = 0; i < tensor->n_histogram; i++) {
        double part = log1p((double)tensor->histogram[i]) / log1p((double)most);
        int height = (int)lrint(part * HEIGHT);
        if (height)
            ox_strbuf_printf(out, "<rect x=\"%zu\" y=\"%d\" width=\"%d\" height=\"%d\"/>", i * BAR,
                             HEIGHT - height, (int)BAR, height);
    }
    ox_strbuf_puts(out, "</svg>");
}

static void tensor_table(struct ox_strbuf *out, const struct ox_quant_report *report)
{
    ox_strbuf_puts(out, "<h2>Tensors</h2>\n<table><tr><th>tensor</th><th>kind</th><th>type</th>"
                        "<th>scales</th><th>least</th><th>greatest</th><th>scale</th><th>zero</th>"
                        "<th>SQNR dB</th><th>clipped %</th><th>values (log)</th></tr>\n");
    for (size_t i = 0; i < ox_quant_report_n_tensors(report); i++) {
        const struct ox_quant_tensor *tensor = ox_quant_report_tensor(report, i);
        ox_strbuf_puts(out, "<tr>");
        text_cell(out, tensor->name);
        text_cell(out, tensor->kind);
        text_cell(out, ox_dtype_name(tensor->type));
        ox_strbuf_printf(out, "<td>%zu</td>", tensor->n);
        cell(out, tensor->rmin);
        cell(out, tensor->rmax);
        cell(out, tensor->scale);
        ox_strbuf_printf(out, "<td>%lld</td>", (long long)tensor->zero_point);
        cell(out, tensor->sqnr_db);
        cell(out, 100 * tensor->clipped_share);
        ox_strbuf_puts(out, "<td>");
        if (tensor->n_histogram)
            histogram(out, tensor);
        ox_strbuf_puts(out, "</td></tr>\n");
    }
    ox_strbuf_puts(out, "</table>\n");
}

/* ---- Graph -------------------------------------------------------------------------------------------------------- */

/* From dark green (50 dB and more) over brown to dark red (10 dB and less); grey: not measured. Text on it is white. */
static long tint(void *arg, const char *graph, const char *node)
{
    const struct quantize_error *error = quantize_error_of(arg, graph, node);
    if (!error || isnan(error->gathered_db))
        return 0x808080;
    double part = fmin(fmax((error->gathered_db - 10) / 40, 0), 1);
    long red = lrint(190 * fmin(2 - 2 * part, 1)), green = lrint(130 * fmin(2 * part, 1));
    return red << 16 | green << 8 | 40;
}

static enum ox_status graph(struct ox_strbuf *out, struct quantize_errors *errors,
                            struct ox_error *err)
{
    struct ox_model *model = errors->original;
    struct ox_draw_options how = {.form = OX_DRAW_SVG, .tint = tint, .tint_arg = errors};
    struct ox_shapes *shapes = NULL;
    struct ox_costs *costs = NULL;
    struct ox_strbuf svg = {0};
    enum ox_status status = ox_shapes_infer(&shapes, model, NULL, NULL, err);
    if (status == OX_OK)
        status = ox_costs_new(&costs, model, shapes, err);
    if (status == OX_OK)
        status = ox_draw(&svg, model, shapes, costs, &how, err);
    const char *start = status == OX_OK && svg.data ? strstr(svg.data, "<svg") : NULL;
    if (start) {
        ox_strbuf_puts(out,
                       "<h2>Graph</h2>\n<p>Green is 50 dB and more of signal to noise gathered "
                       "so far, red 10 dB and less, grey not measured.</p>\n");
        ox_strbuf_puts(out, start);
    }
    ox_strbuf_release(&svg);
    ox_costs_release(costs);
    ox_shapes_release(shapes);
    return status;
}

enum ox_status quantize_html(struct ox_strbuf *out, const char *model_path,
                             const struct ox_quant_report *report, struct quantize_errors *errors,
                             struct ox_error *err)
{
    ox_strbuf_puts(out,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"
                   "quantized</title>\n<style>\nbody{font:14px sans-serif;margin:2em}\n"
                   "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:2px 7px;"
                   "text-align:left}\ntr.f{background:#f4f4f4}td svg rect{fill:#4a6fa5}\n"
                   "</style></head><body>\n<h1>");
    ox_strbuf_markup(out, model_path, 256);
    ox_strbuf_puts(out, "</h1>\n");
    summary(out, report, errors);
    node_table(out, report, errors);
    unfused_table(out, report);
    tensor_table(out, report);
    enum ox_status status = errors->original ? graph(out, errors, err) : OX_OK;
    ox_strbuf_puts(out, "</body></html>\n");
    return status;
}
