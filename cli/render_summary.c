/* dump -f summary: what a model is, on one screen. */
#include <string.h>

#include "dump.h"
#include "text_table.h"

enum { LABEL = 12, WIDTH = 96, MOST_SHOWN = 24 };

/* ---- Text --------------------------------------------------------------------------------------------------------- */

static void label(struct ox_strbuf *out, const char *text)
{
    ox_strbuf_printf(out, "%-*s", LABEL, text);
}

static void known(struct ox_strbuf *out, bool is_known, uint64_t n)
{
    ox_strbuf_puts(out, is_known ? "" : n ? "at least " : "not known, at least ");
}

static void counted(struct ox_strbuf *out, uint64_t n, const char *what)
{
    put_grouped(out, n);
    ox_strbuf_printf(out, " %s%s", what, n == 1 ? "" : "s");
}

/* What is left out of a list of n. */
static void and_more(struct ox_strbuf *out, size_t n, size_t shown, const char *what)
{
    if (n <= shown)
        return;
    label(out, "");
    ox_strbuf_printf(out, "and %zu%s more\n", n - shown, what);
}

static void name_and_version(struct ox_strbuf *out, const char *what, const char *name,
                             const char *version)
{
    if (!*name && !*version)
        return;
    label(out, what);
    ox_strbuf_name(out, *name ? name : "?", 256);
    ox_strbuf_puts(out, *version ? " " : "");
    ox_strbuf_name(out, version, 256);
    ox_strbuf_putc(out, '\n');
}

static void text_head(struct ox_strbuf *out, const struct ox_summary *s)
{
    ox_strbuf_name(out, s->path, 0);
    ox_strbuf_puts(out, "\n");
    label(out, "file");
    put_bytes(out, s->file_bytes);
    ox_strbuf_printf(out, ", IR version %lld", (long long)s->ir_version);
    for (size_t i = 0; i < s->n_opsets; i++) {
        ox_strbuf_puts(out, i ? ", " : ", opset ");
        ox_strbuf_name(out, s->opsets[i].domain, 256);
        ox_strbuf_printf(out, " %lld", (long long)s->opsets[i].version);
    }
    ox_strbuf_putc(out, '\n');
    name_and_version(out, "producer", s->producer_name, s->producer_version);
    if (*s->domain || s->model_version) {
        label(out, "model");
        ox_strbuf_name(out, s->domain, 256);
        ox_strbuf_printf(out, "%sversion %lld\n", *s->domain ? " " : "",
                         (long long)s->model_version);
    }
    if (*s->doc) {
        label(out, "about");
        ox_strbuf_name(out, s->doc, 1024);
        ox_strbuf_putc(out, '\n');
    }
    label(out, "graph");
    ox_strbuf_name(out, *s->graph_name ? s->graph_name : "(no name)", 256);
    ox_strbuf_puts(out, ", ");
    counted(out, s->n_nodes, "node");
    if (s->n_nodes_all != s->n_nodes) {
        ox_strbuf_puts(out, ", ");
        put_grouped(out, s->n_nodes_all);
        ox_strbuf_puts(out, " with subgraphs and functions");
    }
    ox_strbuf_putc(out, '\n');
}

static void text_ports(struct ox_strbuf *out, const char *what, const struct ox_summary_port *ports,
                       size_t n)
{
    size_t wide = 0, shown = n < 4 * (size_t)MOST_SHOWN ? n : 4 * (size_t)MOST_SHOWN;
    struct ox_strbuf name = {0};
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < shown; i++) {
            ox_strbuf_clear(&name);
            ox_strbuf_name(&name, ports[i].name, 256);
            size_t own = text_width(ox_strbuf_text(&name, out));
            if (pass == 0) {
                wide = own > wide ? own : wide;
                continue;
            }
            label(out, i ? "" : what);
            ox_strbuf_puts(out, ox_strbuf_text(&name, out));
            ox_strbuf_printf(out, "%*s  ", own < wide ? (int)(wide - own) : 0, "");
            ox_strbuf_name(out, ports[i].type, 512);
            ox_strbuf_puts(out, ports[i].has_default ? "  (has a default)\n" : "\n");
        }
    and_more(out, n, shown, "");
    ox_strbuf_release(&name);
}

static void text_ops(struct ox_strbuf *out, const struct ox_summary *s)
{
    size_t column = LABEL;
    struct ox_strbuf word = {0};
    if (!s->n_ops)
        return;
    label(out, "operators");
    for (size_t i = 0; i < s->n_ops; i++) {
        ox_strbuf_clear(&word);
        put_grouped(&word, s->ops[i].n);
        ox_strbuf_putc(&word, ' ');
        if (*s->ops[i].domain) {
            ox_strbuf_name(&word, s->ops[i].domain, 256);
            ox_strbuf_putc(&word, ':');
        }
        ox_strbuf_name(&word, s->ops[i].op_type, 256);
        size_t wide = text_width(ox_strbuf_text(&word, out));
        bool fits = column + wide + 2 <= WIDTH;
        if (i)
            ox_strbuf_puts(out, fits ? ", " : ",\n");
        if (i && !fits) {
            label(out, "");
            column = LABEL;
        }
        ox_strbuf_puts(out, ox_strbuf_text(&word, out));
        column += wide + 2;
    }
    ox_strbuf_putc(out, '\n');
    ox_strbuf_release(&word);
}

static void text_weights(struct ox_strbuf *out, const struct ox_summary *s)
{
    label(out, "parameters");
    put_grouped(out, s->cost.parameters);
    if (s->n_weights) {
        ox_strbuf_puts(out, "; constants ");
        put_bytes(out, s->cost.weight_bytes);
        ox_strbuf_puts(out, ":");
    }
    for (size_t i = 0; i < s->n_weights; i++) {
        ox_strbuf_printf(out, "%s ", i ? "," : "");
        put_grouped(out, s->weights[i].n_tensors);
        ox_strbuf_printf(out, " %s", ox_dtype_name(s->weights[i].dtype));
    }
    ox_strbuf_putc(out, '\n');
    for (size_t i = 0; i < s->n_files && i < MOST_SHOWN; i++) {
        const struct ox_summary_file *file = &s->files[i];
        label(out, i ? "" : "external");
        ox_strbuf_name(out, file->location, 256);
        ox_strbuf_puts(out, ": ");
        counted(out, file->n_tensors, "tensor");
        ox_strbuf_puts(out, ", ");
        put_bytes(out, file->bytes);
        if (file->found) {
            ox_strbuf_puts(out, " of ");
            put_bytes(out, file->file_bytes);
        } else {
            ox_strbuf_puts(out, ", not there: ");
            ox_strbuf_name(out, file->fault ? file->fault : "?", 512);
        }
        ox_strbuf_putc(out, '\n');
    }
    and_more(out, s->n_files, MOST_SHOWN, " files");
}

/* Whether a dimension of an input is no number. */
static bool is_open(const struct ox_summary_port *port)
{
    const char *dims = strchr(port->type, '[');
    return dims && dims[1 + strspn(dims + 1, "0123456789,")] != ']';
}

static void text_hint(struct ox_strbuf *out, const struct ox_summary *s)
{
    if (s->cost.macs_known && s->cost.activation_known)
        return;
    for (size_t i = 0; i < s->n_inputs; i++) {
        if (!is_open(&s->inputs[i]))
            continue;
        label(out, "");
        ox_strbuf_puts(out, "(--input NAME=DIMS gives open dimensions numbers)\n");
        return;
    }
}

static void text_costs(struct ox_strbuf *out, const struct ox_summary *s)
{
    label(out, "compute");
    known(out, s->cost.macs_known, s->cost.macs);
    put_grouped(out, s->cost.macs);
    ox_strbuf_puts(out, " multiply-adds");
    if (s->cost.n_guessed)
        ox_strbuf_printf(out, " (loops of unknown length counted once: %llu)",
                         (unsigned long long)s->cost.n_guessed);
    ox_strbuf_putc(out, '\n');
    label(out, "memory");
    known(out, s->cost.activation_known, s->cost.activation_bytes);
    put_bytes(out, s->cost.activation_bytes);
    ox_strbuf_puts(out, " of activations at the peak");
    if (s->cost.activation_at) {
        ox_strbuf_puts(out, ", at ");
        ox_strbuf_name(out, s->cost.activation_at, 256);
    }
    ox_strbuf_putc(out, '\n');
    text_hint(out, s);
    if (s->n_unknown) {
        label(out, "shapes");
        ox_strbuf_printf(out, "%llu of %llu values not known in full\n",
                         (unsigned long long)s->n_unknown, (unsigned long long)s->n_values);
    }
}

static void text_parts(struct ox_strbuf *out, const struct ox_summary *s)
{
    for (size_t i = 0; i < s->n_subgraphs && i < MOST_SHOWN; i++) {
        label(out, i ? "" : "subgraphs");
        ox_strbuf_name(out, s->subgraphs[i].path, 256);
        ox_strbuf_puts(out, ": ");
        counted(out, s->subgraphs[i].n_nodes, "node");
        ox_strbuf_putc(out, '\n');
    }
    and_more(out, s->n_subgraphs, MOST_SHOWN, "");
    for (size_t i = 0; i < s->n_functions && i < MOST_SHOWN; i++) {
        const struct ox_summary_function *f = &s->functions[i];
        label(out, i ? "" : "functions");
        ox_strbuf_name(out, f->domain, 256);
        ox_strbuf_putc(out, ':');
        ox_strbuf_name(out, f->name, 256);
        ox_strbuf_puts(out, ": ");
        counted(out, f->n_nodes, "node");
        ox_strbuf_puts(out, ", called ");
        counted(out, f->n_calls, "time");
        ox_strbuf_putc(out, '\n');
    }
    and_more(out, s->n_functions, MOST_SHOWN, "");
    for (size_t i = 0; i < s->n_props && i < MOST_SHOWN; i++) {
        label(out, i ? "" : "metadata");
        ox_strbuf_name(out, s->props[i].key, 256);
        ox_strbuf_puts(out, " = ");
        ox_strbuf_name(out, s->props[i].value, 256);
        ox_strbuf_putc(out, '\n');
    }
    and_more(out, s->n_props, MOST_SHOWN, "");
}

static void text_quantization(struct ox_strbuf *out, const struct ox_summary *s)
{
    const struct {
        uint64_t n;
        const char *what;
    } parts[] = {{s->n_quantize, "QuantizeLinear"},
                 {s->n_dequantize, "DequantizeLinear"},
                 {s->n_integer_ops,
                  s->n_integer_ops == 1 ? "operator in integers" : "operators in integers"},
                 {s->n_annotations, s->n_annotations == 1 ? "annotation" : "annotations"}};
    bool first = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].n)
            continue;
        if (first)
            label(out, "quantized");
        ox_strbuf_puts(out, first ? "" : ", ");
        put_grouped(out, parts[i].n);
        ox_strbuf_printf(out, " %s", parts[i].what);
        first = false;
    }
    ox_strbuf_puts(out, first ? "" : "\n");
}

static void print_text(struct ox_strbuf *out, const struct ox_summary *s)
{
    text_head(out, s);
    text_ports(out, "inputs", s->inputs, s->n_inputs);
    text_ports(out, "outputs", s->outputs, s->n_outputs);
    text_ops(out, s);
    text_weights(out, s);
    text_costs(out, s);
    text_quantization(out, s);
    text_parts(out, s);
    if (s->n_training) {
        label(out, "training");
        ox_strbuf_printf(out, "%llu\n", (unsigned long long)s->n_training);
    }
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

static void json_ports(struct ox_json *json, const char *key, const struct ox_summary_port *ports,
                       size_t n)
{
    ox_json_key(json, key);
    ox_json_array(json);
    for (size_t i = 0; i < n; i++) {
        ox_json_object(json);
        cli_json_string(json, "name", ports[i].name);
        cli_json_string(json, "type", ports[i].type);
        cli_json_bool(json, "has_default", ports[i].has_default);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void json_weights(struct ox_json *json, const struct ox_summary *s)
{
    ox_json_key(json, "weights");
    ox_json_array(json);
    for (size_t i = 0; i < s->n_weights; i++) {
        ox_json_object(json);
        cli_json_string(json, "type", ox_dtype_name(s->weights[i].dtype));
        cli_json_uint(json, "tensors", s->weights[i].n_tensors);
        cli_json_uint(json, "elements", s->weights[i].n);
        cli_json_uint(json, "bytes", s->weights[i].bytes);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
    ox_json_key(json, "external_data");
    ox_json_array(json);
    for (size_t i = 0; i < s->n_files; i++) {
        ox_json_object(json);
        cli_json_string(json, "location", s->files[i].location);
        cli_json_uint(json, "tensors", s->files[i].n_tensors);
        cli_json_uint(json, "bytes", s->files[i].bytes);
        cli_json_bool(json, "found", s->files[i].found);
        cli_json_uint(json, "file_bytes", s->files[i].file_bytes);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void json_parts(struct ox_json *json, const struct ox_summary *s)
{
    ox_json_key(json, "operators");
    ox_json_array(json);
    for (size_t i = 0; i < s->n_ops; i++) {
        ox_json_object(json);
        cli_json_string(json, "domain", s->ops[i].domain);
        cli_json_string(json, "op_type", s->ops[i].op_type);
        cli_json_uint(json, "count", s->ops[i].n);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
    ox_json_key(json, "subgraphs");
    ox_json_array(json);
    for (size_t i = 0; i < s->n_subgraphs; i++) {
        ox_json_object(json);
        cli_json_string(json, "graph", s->subgraphs[i].path);
        cli_json_uint(json, "nodes", s->subgraphs[i].n_nodes);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
    ox_json_key(json, "functions");
    ox_json_array(json);
    for (size_t i = 0; i < s->n_functions; i++) {
        ox_json_object(json);
        cli_json_string(json, "domain", s->functions[i].domain);
        cli_json_string(json, "name", s->functions[i].name);
        cli_json_string(json, "overload", s->functions[i].overload);
        cli_json_uint(json, "nodes", s->functions[i].n_nodes);
        cli_json_uint(json, "calls", s->functions[i].n_calls);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void json_costs(struct ox_json *json, const struct ox_summary *s)
{
    cli_json_uint(json, "parameters", s->cost.parameters);
    cli_json_uint(json, "weight_bytes", s->cost.weight_bytes);
    cli_json_uint(json, "macs", s->cost.macs);
    cli_json_bool(json, "macs_known", s->cost.macs_known);
    cli_json_uint(json, "loops_counted_once", s->cost.n_guessed);
    cli_json_uint(json, "activation_bytes", s->cost.activation_bytes);
    cli_json_bool(json, "activation_known", s->cost.activation_known);
    cli_json_string(json, "activation_at", s->cost.activation_at);
    cli_json_uint(json, "values", s->n_values);
    cli_json_uint(json, "values_unknown", s->n_unknown);
    ox_json_key(json, "quantization");
    ox_json_object(json);
    cli_json_uint(json, "quantize_linear", s->n_quantize);
    cli_json_uint(json, "dequantize_linear", s->n_dequantize);
    cli_json_uint(json, "integer_operators", s->n_integer_ops);
    cli_json_uint(json, "annotations", s->n_annotations);
    ox_json_end_object(json);
}

static void json_head(struct ox_json *json, const struct ox_summary *s)
{
    cli_json_uint(json, "file_bytes", s->file_bytes);
    cli_json_int(json, "ir_version", s->ir_version);
    ox_json_key(json, "opset");
    ox_json_object(json);
    for (size_t i = 0; i < s->n_opsets; i++) {
        cli_json_int(json, s->opsets[i].domain, s->opsets[i].version);
    }
    ox_json_end_object(json);
    ox_json_key(json, "producer");
    ox_json_object(json);
    cli_json_string(json, "name", s->producer_name);
    cli_json_string(json, "version", s->producer_version);
    ox_json_end_object(json);
    cli_json_string(json, "domain", s->domain);
    cli_json_int(json, "model_version", s->model_version);
    cli_json_string(json, "doc", s->doc);
    cli_json_string(json, "graph", s->graph_name);
    cli_json_uint(json, "nodes", s->n_nodes);
    cli_json_uint(json, "nodes_all", s->n_nodes_all);
    cli_json_uint(json, "training", s->n_training);
    ox_json_key(json, "metadata");
    ox_json_array(json);
    for (size_t i = 0; i < s->n_props; i++) {
        ox_json_object(json);
        cli_json_string(json, "key", s->props[i].key);
        cli_json_string(json, "value", s->props[i].value);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void print_json(struct cli *cli, const struct ox_summary *s)
{
    struct ox_json json;
    ox_json_init(&json, &cli->out, !cli->several);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.dump/1");
    cli_json_string(&json, "model", s->path);
    json_head(&json, s);
    json_ports(&json, "inputs", s->inputs, s->n_inputs);
    json_ports(&json, "outputs", s->outputs, s->n_outputs);
    json_costs(&json, s);
    json_weights(&json, s);
    json_parts(&json, s);
    ox_json_end_object(&json);
    ox_strbuf_putc(&cli->out, '\n');
}

enum ox_status dump_summary(struct dumped *d)
{
    struct ox_summary *summary;
    struct ox_error err;
    enum ox_status status = ox_summary_new(&summary, d->model, d->shapes, d->costs, &err);
    if (status != OX_OK)
        return cli_error(d->cli, &err);
    if (d->args->json)
        print_json(d->cli, summary);
    else
        print_text(&d->cli->out, summary);
    ox_summary_release(summary);
    return OX_OK;
}
