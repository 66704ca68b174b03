/* All graphs of a model as one page. Text of the model goes into it as escaped markup (pictures, title) or as JSON, from
 * which the page's script makes text nodes alone; a content security policy lets no other script run. */
#include <inttypes.h>
#include <string.h>

#include "graph/draw/draw.h"

enum { BINS = 48, MOST_ELEMENTS = 64 };

struct page {
    struct ox_drawer *d;
    struct ox_strbuf text; /* JSON before it is made fit to stand in a page */
    struct ox_json json;
};

/* No "</script" or "<!--" can come out of JSON in which '<' is an escape. */
static enum ox_status drain(struct page *page)
{
    struct ox_strbuf *out = page->d->out;
    size_t from = 0;
    for (size_t i = 0; i < page->text.len; i++) {
        char c = page->text.data[i];
        if (c != '<' && c != '>' && c != '&')
            continue;
        ox_strbuf_add(out, page->text.data + from, i - from);
        ox_strbuf_printf(out, "\\u%04x", (unsigned)c);
        from = i + 1;
    }
    ox_strbuf_add(out, page->text.data ? page->text.data + from : "", page->text.len - from);
    out->failed |= page->text.failed;
    ox_strbuf_clear(&page->text);
    return ox_draw_flush(page->d, false);
}

/* Names as a person may see them. */
static void put_name(struct page *page, const char *name)
{
    struct ox_strbuf safe = {0};
    ox_strbuf_name(&safe, name ? name : "", 1024);
    ox_json_string(&page->json, ox_strbuf_text(&safe, NULL));
    page->text.failed |= safe.failed;
    ox_strbuf_release(&safe);
}

/* ---- The model ----------------------------------------------------------------------------------------------------- */

static void fact(struct page *page, const char *what, struct ox_strbuf *text)
{
    ox_json_array(&page->json);
    ox_json_string(&page->json, what);
    put_name(page, ox_strbuf_text(text, NULL));
    ox_json_end_array(&page->json);
    page->text.failed |= text->failed;
    ox_strbuf_clear(text);
}

static void number_fact(struct page *page, const char *what, uint64_t n, bool known)
{
    struct ox_strbuf text = {0};
    ox_strbuf_printf(&text, "%s%" PRIu64, known ? "" : "at least ", n);
    fact(page, what, &text);
    ox_strbuf_release(&text);
}

static void port_facts(struct page *page, const char *what, const struct ox_summary_port *ports,
                       size_t n)
{
    struct ox_strbuf text = {0};
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_printf(&text, "%s %s", ports[i].name, ports[i].type);
        fact(page, what, &text);
    }
    ox_strbuf_release(&text);
}

static enum ox_status put_model(struct page *page)
{
    struct ox_summary *s;
    struct ox_strbuf text = {0};
    OX_TRY(ox_summary_new(&s, page->d->model, page->d->shapes, page->d->costs, page->d->err));
    ox_json_key(&page->json, "facts");
    ox_json_array(&page->json);
    ox_strbuf_printf(&text, "%s %s", s->producer_name, s->producer_version);
    fact(page, "producer", &text);
    for (size_t i = 0; i < s->n_opsets; i++) {
        ox_strbuf_printf(&text, "%s %" PRId64, s->opsets[i].domain, s->opsets[i].version);
        fact(page, "opset", &text);
    }
    number_fact(page, "IR version", (uint64_t)s->ir_version, true);
    number_fact(page, "file bytes", s->file_bytes, true);
    port_facts(page, "input", s->inputs, s->n_inputs);
    port_facts(page, "output", s->outputs, s->n_outputs);
    number_fact(page, "nodes", s->n_nodes_all, true);
    number_fact(page, "parameters", s->cost.parameters, true);
    number_fact(page, "multiply-adds", s->cost.macs, s->cost.macs_known);
    number_fact(page, "activation bytes", s->cost.activation_bytes, s->cost.activation_known);
    for (size_t i = 0; i < s->n_props; i++) {
        ox_strbuf_printf(&text, "%s = %s", s->props[i].key, s->props[i].value);
        fact(page, "metadata", &text);
    }
    ox_json_end_array(&page->json);
    ox_strbuf_release(&text);
    ox_summary_release(s);
    return drain(page);
}

static void put_graphs(struct page *page)
{
    struct ox_strbuf path = {0};
    ox_json_key(&page->json, "graphs");
    ox_json_array(&page->json);
    for (size_t g = 0; g < page->d->model->n_graphs; g++) {
        ox_strbuf_clear(&path);
        ox_graph_path(&path, page->d->model->graphs[g]);
        put_name(page, ox_strbuf_text(&path, NULL));
    }
    ox_json_end_array(&page->json);
    ox_strbuf_release(&path);
}

/* ---- Nodes --------------------------------------------------------------------------------------------------------- */

static void put_edges(struct page *page, const char *key, const struct ox_edge *edges, size_t n)
{
    ox_json_key(&page->json, key);
    ox_json_array(&page->json);
    for (size_t i = 0; i < n; i++) {
        if (!edges[i].name)
            continue;
        ox_json_array(&page->json);
        put_name(page, edges[i].param);
        put_name(page, edges[i].name);
        put_name(page, edges[i].type);
        ox_json_bool(&page->json, edges[i].is_constant);
        ox_json_end_array(&page->json);
    }
    ox_json_end_array(&page->json);
}

static void put_node(struct page *page, const struct ox_node_entry *node, size_t graph)
{
    struct ox_json *json = &page->json;
    ox_json_object(json);
    ox_json_key(json, "g");
    ox_json_uint(json, graph);
    ox_json_key(json, "n");
    put_name(page, node->label);
    ox_json_key(json, "op");
    put_name(page, node->op_type);
    ox_json_key(json, "d");
    put_name(page, node->domain);
    ox_json_key(json, "v");
    ox_json_int(json, node->opset);
    put_edges(page, "i", node->inputs, node->n_inputs);
    put_edges(page, "o", node->outputs, node->n_outputs);
    ox_json_key(json, "a");
    ox_json_array(json);
    for (size_t i = 0; i < node->n_attrs; i++) {
        ox_json_array(json);
        put_name(page, node->attrs[i].name);
        put_name(page, node->attrs[i].type);
        put_name(page, node->attrs[i].text);
        ox_json_end_array(json);
    }
    ox_json_end_array(json);
    ox_json_key(json, "doc");
    put_name(page, node->doc);
    ox_json_key(json, "c");
    ox_json_array(json);
    ox_json_uint(json, node->cost.parameters);
    ox_json_uint(json, node->cost.macs);
    ox_json_bool(json, node->cost.macs_known);
    ox_json_uint(json, node->cost.output_bytes);
    ox_json_bool(json, node->cost.output_known);
    ox_json_end_array(json);
    ox_json_end_object(json);
}

static enum ox_status put_nodes(struct page *page)
{
    const struct ox_costs *costs = page->d->costs;
    struct ox_node_entry node;
    ox_json_key(&page->json, "nodes");
    ox_json_array(&page->json);
    for (size_t g = 0; g < page->d->model->n_graphs; g++)
        for (size_t i = costs->first[g]; i < costs->first[g + 1]; i++) {
            if (!ox_costs_node(page->d->costs, i, MOST_ELEMENTS, &node))
                return ox_draw_no_memory(page->d);
            put_node(page, &node, g);
            OX_TRY(drain(page));
        }
    ox_json_end_array(&page->json);
    return OX_OK;
}

/* ---- Weights ------------------------------------------------------------------------------------------------------- */

static void put_stats(struct page *page, const struct ox_weight_stats *stats, const uint64_t *bins)
{
    const double values[] = {stats->min, stats->max, stats->mean, stats->std};
    const uint64_t counts[] = {stats->n_zeros, stats->n_nans, stats->n_infs};
    struct ox_json *json = &page->json;
    ox_json_key(json, "s");
    ox_json_array(json);
    for (size_t i = 0; i < OX_COUNT(values); i++)
        ox_json_double(json, values[i]);
    for (size_t i = 0; i < OX_COUNT(counts); i++)
        ox_json_uint(json, counts[i]);
    ox_json_end_array(json);
    ox_json_key(json, "h");
    ox_json_array(json);
    for (size_t i = 0; i < BINS; i++)
        ox_json_uint(json, bins[i]);
    ox_json_end_array(json);
}

static enum ox_status put_weight(struct page *page, const struct ox_weight_list *list, size_t i)
{
    const struct ox_weight *weight = ox_weight_list_at(list, i);
    struct ox_json *json = &page->json;
    struct ox_weight_stats stats = {0};
    uint64_t bins[BINS];
    struct ox_error err;
    struct ox_strbuf type = {0};
    enum ox_status status = page->d->options->no_weights
                                ? OX_OK
                                : ox_weight_list_stats(&stats, list, i, bins, BINS, &err);
    if (status == OX_NO_MEMORY || status == OX_CANCELLED)
        return ox_fail(page->d->err, status, "%s", err.message);
    ox_strbuf_printf(&type, "%s[", ox_dtype_name(weight->dtype));
    for (unsigned k = 0; k < weight->rank; k++)
        ox_strbuf_printf(&type, "%s%" PRId64, k ? "," : "", weight->dims[k]);
    ox_strbuf_putc(&type, ']');
    ox_json_object(json);
    ox_json_key(json, "g");
    put_name(page, weight->graph);
    ox_json_key(json, "n");
    put_name(page, weight->name);
    ox_json_key(json, "t");
    put_name(page, ox_strbuf_text(&type, NULL));
    ox_json_key(json, "b");
    ox_json_uint(json, weight->bytes);
    if (status != OX_OK) {
        ox_json_key(json, "e");
        put_name(page, err.message);
    } else if (stats.numeric) {
        put_stats(page, &stats, bins);
    }
    ox_json_end_object(json);
    page->text.failed |= type.failed;
    ox_strbuf_release(&type);
    return drain(page);
}

static enum ox_status put_weights(struct page *page)
{
    struct ox_weight_list *list;
    OX_TRY(ox_weight_list_new(&list, page->d->model, page->d->err));
    enum ox_status status = OX_OK;
    ox_json_key(&page->json, "weights");
    ox_json_array(&page->json);
    for (size_t i = 0; i < ox_weight_list_count(list) && status == OX_OK; i++)
        status = put_weight(page, list, i);
    ox_json_end_array(&page->json);
    ox_weight_list_release(list);
    return status;
}

/* ---- The page ------------------------------------------------------------------------------------------------------ */

static void put_lines(struct ox_strbuf *out, const char *const *lines)
{
    for (; *lines; lines++)
        ox_strbuf_puts(out, *lines);
}

static void put_head(struct ox_drawer *d)
{
    struct ox_strbuf *out = d->out;
    ox_strbuf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                        "'none'; style-src 'unsafe-inline'; script-src 'sha256-");
    ox_strbuf_puts(out, ox_page_script_hash);
    ox_strbuf_puts(out, "'\">\n<title>");
    ox_strbuf_markup(out, d->model->path ? d->model->path : "model", 0);
    ox_strbuf_puts(out, "</title>\n<style>\n");
    put_lines(out, ox_page_style);
    ox_strbuf_puts(out, "</style></head>\n<body><header><b>");
    ox_strbuf_markup(out, d->model->path ? d->model->path : "model", 0);
    ox_strbuf_puts(out,
                   "</b><select id=\"graph\" title=\"graph\"></select>"
                   "<input id=\"search\" type=\"search\" placeholder=\"search: name, operator, "
                   "value\"><span id=\"hits\"></span><button id=\"fit\">fit</button></header>\n"
                   "<main id=\"view\">\n");
}

static enum ox_status put_data(struct page *page)
{
    ox_json_init(&page->json, &page->text, false);
    ox_json_object(&page->json);
    OX_TRY(put_model(page));
    put_graphs(page);
    OX_TRY(put_nodes(page));
    OX_TRY(put_weights(page));
    ox_json_end_object(&page->json);
    return drain(page);
}

enum ox_status ox_draw_html(struct ox_drawer *d)
{
    struct page page = {.d = d};
    put_head(d);
    for (size_t g = 0; g < d->model->n_graphs; g++)
        OX_TRY(ox_draw_svg(d, d->model->graphs[g], false));
    ox_strbuf_puts(d->out, "</main><aside id=\"side\"></aside>\n"
                           "<script type=\"application/json\" id=\"data\">");
    enum ox_status status = put_data(&page);
    ox_strbuf_release(&page.text);
    if (status != OX_OK)
        return status;
    ox_strbuf_puts(d->out, "</script>\n<script>");
    put_lines(d->out, ox_page_script);
    ox_strbuf_puts(d->out, "</script></body></html>\n");
    return OX_OK;
}
