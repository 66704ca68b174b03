#include "quant/quant_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "model/value.h"
#include "quant/blocked.h"

struct ox_quant_report *ox_quant_report_new(struct ox_budget *budget)
{
    struct ox_quant_report *report = calloc(1, sizeof *report);
    if (report) {
        ox_arena_init(&report->arena, budget);
        report->summary.integer_share = report->summary.speedup = NAN;
        report->summary.held_out_db = NAN;
    }
    return report;
}

void ox_quant_report_release(struct ox_quant_report *report)
{
    if (!report)
        return;
    ox_arena_release(&report->arena);
    free(report->nodes);
    free(report->tensors);
    free(report->unfused);
    free(report->notes);
    free(report);
}

/* Room for one more row of `size` bytes; NULL: out of memory. */
static void *next_row(struct ox_quant_report *report, void *rows_, size_t *n, size_t *cap,
                      size_t size)
{
    void **rows = rows_;
    if (*n == *cap) {
        size_t more = *cap ? 2 * *cap : 64;
        void *grown = realloc(*rows, more * size);
        if (!grown) {
            report->failed = true;
            return NULL;
        }
        *rows = grown;
        *cap = more;
    }
    return (char *)*rows + (*n)++ * size;
}

static const char *keep(struct ox_quant_report *report, const char *text)
{
    const char *copy = ox_arena_strdup(&report->arena, text);
    report->failed |= !copy;
    return copy ? copy : "";
}

void ox_quant_report_add_node(struct ox_quant_report *report, const struct ox_node *node,
                              const char *name, const char *reason)
{
    struct ox_strbuf label = {0}, path = {0};
    if (name)
        ox_strbuf_puts(&label, name);
    else
        ox_node_label(&label, node);
    ox_graph_path(&path, node->graph);
    struct ox_quant_node *row = next_row(report, &report->nodes, &report->n_nodes,
                                         &report->cap_nodes, sizeof *report->nodes);
    if (row) {
        *row = (struct ox_quant_node){.graph = keep(report, ox_strbuf_text(&path, NULL)),
                                      .name = keep(report, ox_strbuf_text(&label, NULL)),
                                      .op_type = keep(report, node->op_type),
                                      .quantized = !reason,
                                      .reason = reason ? keep(report, reason) : NULL};
    }
    report->failed |= label.failed || path.failed;
    ox_strbuf_release(&label);
    ox_strbuf_release(&path);
}

void ox_quant_report_add_tensor(struct ox_quant_report *report, const struct ox_quant_tensor *from)
{
    struct ox_quant_tensor *row = next_row(report, &report->tensors, &report->n_tensors,
                                           &report->cap_tensors, sizeof *report->tensors);
    if (!row)
        return;
    *row = *from;
    row->name = keep(report, from->name);
}

void ox_quant_report_add_unfused(struct ox_quant_report *report, const char *tensor,
                                 const struct ox_node *node, const char *reason)
{
    struct ox_strbuf label = {0};
    ox_node_label(&label, node);
    struct ox_quant_pair *row = next_row(report, &report->unfused, &report->n_unfused,
                                         &report->cap_unfused, sizeof *report->unfused);
    if (row)
        *row =
            (struct ox_quant_pair){keep(report, tensor), keep(report, ox_strbuf_text(&label, NULL)),
                                   keep(report, node->op_type), keep(report, reason)};
    report->failed |= label.failed;
    ox_strbuf_release(&label);
}

/* Signal to noise of what is left of n values. */
static void add_noise(const float *values, const void *quantized, enum ox_dtype type, size_t n,
                      struct ox_qparam pair, double *signal, double *noise)
{
    enum { CHUNK = 512 };
    float back[CHUNK];
    size_t size = ox_dtype_size(type);
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t m = n - at < CHUNK ? n - at : CHUNK;
        ox_dequantize_elements((const char *)quantized + at * size, type, m, pair, back);
        for (size_t i = 0; i < m; i++) {
            double v = (double)values[at + i], d = v - (double)back[i];
            *signal += v * v;
            *noise += d * d;
        }
    }
}

static double decibel(double signal, double noise)
{
    if (!(noise > 0))
        return signal > 0 ? 200 : NAN;
    return 10 * log10(fmax(signal, 1e-300) / noise);
}

/* Bytes of an element in the model as it was. */
static size_t element_bytes(const struct ox_value *value, enum ox_dtype otherwise)
{
    const struct ox_stored *stored = ox_value_stored(value);
    if (stored && stored->place == OX_STORED_WIDE)
        stored = stored->narrow;
    return ox_dtype_size(stored ? stored->dtype : otherwise);
}

void ox_quant_report_add_constant(struct ox_quant_report *report, const struct ox_value *value,
                                  const char *kind, const struct ox_tensor *values,
                                  const struct ox_tensor *quantized,
                                  const struct ox_qparams *params)
{
    struct ox_quant_tensor row = {
        .name = value->name, .kind = kind, .type = quantized->dtype, .accumulated_db = NAN};
    uint64_t packed = 0;
    ox_dtype_packed_bytes(quantized->dtype, quantized->n, &packed);
    row.axis = params->axis;
    row.n = params->n;
    row.bytes_before = values->n * element_bytes(value, params->real);
    row.bytes_after = packed + params->n * (ox_dtype_size(params->real) + 1);
    row.scale = params->n ? (double)params->pairs[0].scale : 1;
    row.zero_point = params->n ? params->pairs[0].zero : 0;
    row.clipped_share = NAN;
    struct ox_qview view = ox_qview_of(values, params->axis);
    const float *in = values->data;
    for (size_t i = 0; i < values->n; i++) {
        row.rmin = (double)in[i] < row.rmin ? (double)in[i] : row.rmin;
        row.rmax = (double)in[i] > row.rmax ? (double)in[i] : row.rmax;
    }
    double signal = 0, noise = 0;
    if (quantized->dtype == OX_INT32) {
        const int32_t *q = quantized->data;
        for (size_t i = 0; i < values->n; i++) {
            double scale = (double)params->pairs[params->n > 1 ? i % params->n : 0].scale;
            double d = (double)in[i] - (double)q[i] * scale;
            signal += (double)in[i] * (double)in[i];
            noise += d * d;
        }
    } else {
        size_t size = ox_dtype_size(quantized->dtype);
        for (size_t k = 0; k < view.outer * view.n; k++) {
            size_t at = k * view.inner;
            add_noise(in + at, (const char *)quantized->data + at * size, quantized->dtype,
                      view.inner, params->pairs[k % view.n], &signal, &noise);
        }
    }
    row.sqnr_db = decibel(signal, noise);
    ox_quant_report_add_tensor(report, &row);
}

void ox_quant_report_add_sums(struct ox_quant_report *report, bool saturates, double widened)
{
    struct ox_quant_summary *summary = &report->summary;
    struct ox_quant_tensor *row =
        report->n_tensors ? &report->tensors[report->n_tensors - 1] : NULL;
    summary->n_saturating += saturates;
    if (row)
        row->saturates = saturates;
    if (!(widened > 1))
        return;
    summary->n_widened++;
    summary->most_widened = fmax(summary->most_widened, widened);
    if (row)
        row->widened = widened;
}

void ox_quant_report_add_blocks(struct ox_quant_report *report, const char *name,
                                const struct ox_tensor *values, enum ox_dtype real,
                                const struct ox_tensor *left, const struct ox_blocked *made)
{
    struct ox_quant_tensor row = {
        .name = name, .kind = "weight", .type = made->integers->dtype, .accumulated_db = NAN};
    uint64_t packed = 0, zeros = 0;
    ox_dtype_packed_bytes(row.type, made->integers->n, &packed);
    if (made->zeros)
        ox_dtype_packed_bytes(row.type, made->zeros->n, &zeros);
    row.n = made->scales->n;
    row.bytes_before = values->n * ox_dtype_size(real);
    row.bytes_after = packed + zeros + row.n * ox_dtype_size(made->scales->dtype);
    row.scale = row.clipped_share = NAN;
    const float *in = values->data, *out = left->data;
    double signal = 0, noise = 0;
    for (size_t i = 0; i < values->n; i++) {
        double v = (double)in[i], d = v - (double)out[i];
        row.rmin = v < row.rmin ? v : row.rmin;
        row.rmax = v > row.rmax ? v : row.rmax;
        signal += v * v;
        noise += d * d;
    }
    row.sqnr_db = decibel(signal, noise);
    ox_quant_report_add_tensor(report, &row);
}

void ox_quant_report_add_note(struct ox_quant_report *report, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char **row = next_row(report, &report->notes, &report->n_notes, &report->cap_notes,
                                sizeof *report->notes);
    if (row)
        *row = keep(report, text);
}

/* ---- Reading ------------------------------------------------------------------------------------------------------ */

size_t ox_quant_report_n_nodes(const struct ox_quant_report *report)
{
    return report->n_nodes;
}

const struct ox_quant_node *ox_quant_report_node(const struct ox_quant_report *report, size_t i)
{
    return &report->nodes[i];
}

size_t ox_quant_report_n_tensors(const struct ox_quant_report *report)
{
    return report->n_tensors;
}

const struct ox_quant_tensor *ox_quant_report_tensor(const struct ox_quant_report *report, size_t i)
{
    return &report->tensors[i];
}

size_t ox_quant_report_n_notes(const struct ox_quant_report *report)
{
    return report->n_notes;
}

const char *ox_quant_report_note(const struct ox_quant_report *report, size_t i)
{
    return report->notes[i];
}

size_t ox_quant_report_n_unfused(const struct ox_quant_report *report)
{
    return report->n_unfused;
}

const struct ox_quant_pair *ox_quant_report_unfused(const struct ox_quant_report *report, size_t i)
{
    return &report->unfused[i];
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

static void json_text(struct ox_json *json, const char *key, const char *text)
{
    ox_json_key(json, key);
    ox_json_string(json, text);
}

static void json_count(struct ox_json *json, const char *key, uint64_t count)
{
    ox_json_key(json, key);
    ox_json_uint(json, count);
}

static void json_node(struct ox_json *json, const struct ox_quant_node *node)
{
    ox_json_object(json);
    json_text(json, "graph", node->graph);
    json_text(json, "node", node->name);
    json_text(json, "op_type", node->op_type);
    ox_json_key(json, "quantized");
    ox_json_bool(json, node->quantized);
    json_text(json, "reason", node->reason);
    ox_json_end_object(json);
}

static void json_pair(struct ox_json *json, const struct ox_quant_pair *pair)
{
    ox_json_object(json);
    json_text(json, "tensor", pair->tensor);
    json_text(json, "node", pair->node);
    json_text(json, "op_type", pair->op_type);
    json_text(json, "reason", pair->reason);
    ox_json_end_object(json);
}

static void json_tensor(struct ox_json *json, const struct ox_quant_tensor *tensor)
{
    ox_json_object(json);
    json_text(json, "name", tensor->name);
    json_text(json, "kind", tensor->kind);
    json_text(json, "type", ox_dtype_name(tensor->type));
    ox_json_key(json, "axis");
    if (tensor->axis >= 0)
        ox_json_int(json, tensor->axis);
    else
        ox_json_null(json);
    json_count(json, "scales", tensor->n);
    ox_json_finite(json, "min", tensor->rmin);
    ox_json_finite(json, "max", tensor->rmax);
    ox_json_finite(json, "scale", tensor->scale);
    ox_json_key(json, "zero_point");
    ox_json_int(json, tensor->zero_point);
    ox_json_finite(json, "sqnr_db", tensor->sqnr_db);
    ox_json_finite(json, "clipped_share", tensor->clipped_share);
    ox_json_finite(json, "accumulated_db", tensor->accumulated_db);
    ox_json_key(json, "saturates");
    ox_json_bool(json, tensor->saturates);
    ox_json_finite(json, "widened", tensor->widened > 0 ? tensor->widened : NAN);
    json_count(json, "bytes_before", tensor->bytes_before);
    json_count(json, "bytes_after", tensor->bytes_after);
    if (tensor->n_histogram) {
        ox_json_key(json, "histogram");
        ox_json_array(json);
        for (size_t i = 0; i < tensor->n_histogram; i++)
            ox_json_uint(json, tensor->histogram[i]);
        ox_json_end_array(json);
    }
    ox_json_end_object(json);
}

void ox_quant_report_summary(const struct ox_quant_report *report, struct ox_quant_summary *summary)
{
    *summary = report->summary;
    for (size_t i = 0; i < report->n_nodes; i++)
        summary->n_quantized += report->nodes[i].quantized;
    summary->n_float = report->n_nodes - summary->n_quantized;
    for (size_t i = 0; i < report->n_tensors; i++) {
        summary->constants_before += report->tensors[i].bytes_before;
        summary->constants_after += report->tensors[i].bytes_after;
    }
}

static void json_summary(struct ox_json *json, const struct ox_quant_report *report)
{
    struct ox_quant_summary summary;
    ox_quant_report_summary(report, &summary);
    ox_json_object(json);
    json_count(json, "nodes_quantized", summary.n_quantized);
    json_count(json, "nodes_float", summary.n_float);
    json_count(json, "constant_bytes_before", summary.constants_before);
    json_count(json, "constant_bytes_after", summary.constants_after);
    json_count(json, "model_bytes_before", summary.model_before);
    json_count(json, "model_bytes_after", summary.model_after);
    ox_json_finite(json, "held_out_db", summary.held_out_db);
    ox_json_finite(json, "integer_share", summary.integer_share);
    ox_json_finite(json, "estimated_speedup", summary.speedup);
    json_count(json, "saturating_weights", summary.n_saturating);
    json_count(json, "widened_weights", summary.n_widened);
    ox_json_finite(json, "most_widened", summary.n_widened ? summary.most_widened : NAN);
    ox_json_end_object(json);
}

void ox_quant_report_json(struct ox_json *json, const struct ox_quant_report *report)
{
    ox_json_key(json, "nodes");
    ox_json_array(json);
    for (size_t i = 0; i < report->n_nodes; i++)
        json_node(json, &report->nodes[i]);
    ox_json_end_array(json);
    ox_json_key(json, "tensors");
    ox_json_array(json);
    for (size_t i = 0; i < report->n_tensors; i++)
        json_tensor(json, &report->tensors[i]);
    ox_json_end_array(json);
    ox_json_key(json, "unfused");
    ox_json_array(json);
    for (size_t i = 0; i < report->n_unfused; i++)
        json_pair(json, &report->unfused[i]);
    ox_json_end_array(json);
    ox_json_key(json, "notes");
    ox_json_array(json);
    for (size_t i = 0; i < report->n_notes; i++)
        ox_json_string(json, report->notes[i]);
    ox_json_end_array(json);
    ox_json_key(json, "summary");
    json_summary(json, report);
}
