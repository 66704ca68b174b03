/* dump -f nodes and --node: what each node takes. */
#include <string.h>

#include "dump.h"
#include "text_table.h"

enum { MOST_ELEMENTS = 1000, TABLE_ROWS = 20000 };

static bool next_node(struct dumped *d, size_t i, size_t most, struct ox_node_entry *entry,
                      enum ox_status *status)
{
    if (ox_costs_node(d->costs, i, most, entry))
        return true;
    *status = cli_fail(d->cli, OX_NO_MEMORY, "%s: out of memory", d->path);
    return false;
}

/* ---- Text --------------------------------------------------------------------------------------------------------- */

static void amount_cell(struct table *table, uint64_t n, bool known)
{
    struct ox_strbuf text = {0};
    if (!known && !n)
        ox_strbuf_putc(&text, '?');
    else if (n || !known)
        put_grouped(&text, n);
    if (!known && n)
        ox_strbuf_putc(&text, '+');
    table_cell(table, ox_strbuf_text(&text, &table->text));
    ox_strbuf_release(&text);
}

static void op_text(struct ox_strbuf *text, const struct ox_node_entry *node)
{
    if (*node->domain) {
        ox_strbuf_name(text, node->domain, 256);
        ox_strbuf_putc(text, ':');
    }
    ox_strbuf_name(text, node->op_type, 256);
}

static void add_row(struct table *table, const struct ox_node_entry *node)
{
    struct ox_strbuf text = {0};
    table_name(table, node->label);
    op_text(&text, node);
    table_cell(table, ox_strbuf_text(&text, &table->text));
    ox_strbuf_clear(&text);
    for (size_t i = 0; i < node->n_outputs && i < 4; i++) {
        ox_strbuf_puts(&text, i ? " " : "");
        ox_strbuf_name(&text, node->outputs[i].name ? node->outputs[i].type : "-", 256);
    }
    ox_strbuf_puts(&text, node->n_outputs > 4 ? " ..." : "");
    amount_cell(table, node->cost.parameters, true);
    amount_cell(table, node->cost.macs, node->cost.macs_known);
    amount_cell(table, node->cost.output_bytes, node->cost.output_known);
    table_cell(table, ox_strbuf_text(&text, &table->text));
    ox_strbuf_release(&text);
}

static void heading(struct table *table)
{
    static const char *const names[] = {"node",          "operator",     "parameters",
                                        "multiply-adds", "output bytes", "outputs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        table_cell(table, names[i]);
}

/* Tables of each graph; a very long one is printed in parts, so that it need not be held. */
static enum ox_status nodes_text(struct dumped *d)
{
    struct table table = {.columns = 6, .right = 0x1c};
    struct ox_strbuf graph = {0};
    struct ox_node_entry node;
    enum ox_status status = OX_OK;
    size_t rows = 0;
    for (size_t i = 0; i < ox_costs_count(d->costs) && status == OX_OK; i++) {
        if (!next_node(d, i, 0, &node, &status) || !dump_wants(d, node.graph))
            continue;
        bool other = strcmp(ox_strbuf_text(&graph, &d->cli->out), node.graph) != 0;
        if (other || rows % TABLE_ROWS == 0) {
            table_print(&table, &d->cli->out);
            status = dump_flush_some(d);
        }
        if (other) {
            ox_strbuf_clear(&graph);
            ox_strbuf_puts(&graph, node.graph);
            ox_strbuf_puts(&d->cli->out, rows ? "\n" : "");
            ox_strbuf_name(&d->cli->out, node.graph, 0);
            ox_strbuf_puts(&d->cli->out, ":\n");
        }
        if (other || !rows)
            heading(&table);
        add_row(&table, &node);
        rows++;
    }
    table_print(&table, &d->cli->out);
    table_release(&table);
    ox_strbuf_release(&graph);
    return status;
}

static void edges_text(struct ox_strbuf *out, const char *what, const struct ox_edge *edges,
                       size_t n)
{
    struct table table = {.columns = 3};
    for (size_t i = 0; i < n; i++) {
        struct ox_strbuf text = {0};
        ox_strbuf_printf(&text, "  %s ", what);
        ox_strbuf_name(&text, edges[i].param ? edges[i].param : "", 256);
        table_cell(&table, ox_strbuf_text(&text, &table.text));
        table_name(&table, edges[i].name ? edges[i].name : "-");
        ox_strbuf_clear(&text);
        ox_strbuf_name(&text, edges[i].name ? edges[i].type : "omitted", 1024);
        ox_strbuf_puts(&text, edges[i].is_constant ? " constant" : "");
        table_cell(&table, ox_strbuf_text(&text, &table.text));
        ox_strbuf_release(&text);
    }
    table_print(&table, out);
    table_release(&table);
}

static void node_text(struct ox_strbuf *out, const struct ox_node_entry *node)
{
    op_text(out, node);
    ox_strbuf_putc(out, ' ');
    ox_strbuf_name(out, node->label, 256);
    ox_strbuf_printf(out, " (opset %lld)", (long long)node->opset);
    if (*node->graph) {
        ox_strbuf_puts(out, " in ");
        ox_strbuf_name(out, node->graph, 0);
    }
    ox_strbuf_putc(out, '\n');
    edges_text(out, "input", node->inputs, node->n_inputs);
    edges_text(out, "output", node->outputs, node->n_outputs);
    for (size_t i = 0; i < node->n_attrs; i++) {
        ox_strbuf_puts(out, "  attribute ");
        ox_strbuf_name(out, node->attrs[i].name, 256);
        ox_strbuf_printf(out, " (%s) = %s\n", node->attrs[i].type, node->attrs[i].text);
    }
    if (*node->doc) {
        ox_strbuf_puts(out, "  doc ");
        ox_strbuf_name(out, node->doc, 4096);
        ox_strbuf_putc(out, '\n');
    }
    ox_strbuf_puts(out, "  parameters ");
    put_grouped(out, node->cost.parameters);
    ox_strbuf_puts(out, node->cost.macs_known ? ", multiply-adds " : ", multiply-adds at least ");
    put_grouped(out, node->cost.macs);
    ox_strbuf_puts(out, node->cost.output_known ? ", output bytes " : ", output bytes at least ");
    put_grouped(out, node->cost.output_bytes);
    ox_strbuf_putc(out, '\n');
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

static void edges_json(struct ox_json *json, const char *key, const struct ox_edge *edges, size_t n)
{
    ox_json_key(json, key);
    ox_json_array(json);
    for (size_t i = 0; i < n; i++) {
        ox_json_object(json);
        cli_json_string(json, "param", edges[i].param);
        cli_json_string(json, "name", edges[i].name);
        cli_json_string(json, "type", edges[i].type);
        cli_json_bool(json, "constant", edges[i].is_constant);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void node_json(struct ox_json *json, const struct ox_node_entry *node)
{
    const struct {
        const char *key, *value;
    } parts[] = {{"graph", node->graph},
                 {"node", node->label},
                 {"op_type", node->op_type},
                 {"domain", node->domain}};
    ox_json_object(json);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        cli_json_string(json, parts[i].key, parts[i].value);
    }
    cli_json_int(json, "opset", node->opset);
    edges_json(json, "inputs", node->inputs, node->n_inputs);
    edges_json(json, "outputs", node->outputs, node->n_outputs);
    ox_json_key(json, "attributes");
    ox_json_array(json);
    for (size_t i = 0; i < node->n_attrs; i++) {
        ox_json_object(json);
        cli_json_string(json, "name", node->attrs[i].name);
        cli_json_string(json, "type", node->attrs[i].type);
        cli_json_string(json, "text", node->attrs[i].text);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
    cli_json_uint(json, "parameters", node->cost.parameters);
    cli_json_uint(json, "macs", node->cost.macs);
    cli_json_bool(json, "macs_known", node->cost.macs_known);
    cli_json_uint(json, "output_bytes", node->cost.output_bytes);
    cli_json_bool(json, "output_known", node->cost.output_known);
    ox_json_end_object(json);
}

static void begin_json(struct dumped *d, struct ox_json *json)
{
    ox_json_init(json, &d->cli->out, !d->cli->several);
    ox_json_object(json);
    cli_json_string(json, "schema", "onnxtool.dump/1");
    cli_json_string(json, "model", d->path);
    ox_json_key(json, "nodes");
    ox_json_array(json);
}

static void end_json(struct dumped *d, struct ox_json *json)
{
    ox_json_end_array(json);
    ox_json_end_object(json);
    ox_strbuf_putc(&d->cli->out, '\n');
}

static enum ox_status nodes_json(struct dumped *d)
{
    struct ox_json json;
    struct ox_node_entry node;
    enum ox_status status = OX_OK;
    begin_json(d, &json);
    for (size_t i = 0; i < ox_costs_count(d->costs) && status == OX_OK; i++) {
        if (!next_node(d, i, MOST_ELEMENTS, &node, &status) || !dump_wants(d, node.graph))
            continue;
        node_json(&json, &node);
        status = dump_flush_some(d);
    }
    end_json(d, &json);
    return status;
}

/* ---- Commands ----------------------------------------------------------------------------------------------------- */

enum ox_status dump_nodes(struct dumped *d)
{
    return d->args->json ? nodes_json(d) : nodes_text(d);
}

/* By its name or "#12", which a named node has too, or by the name of one of its outputs. */
static bool is_meant(const struct dumped *d, const struct ox_node_entry *node)
{
    char place[32];
    if (!dump_wants(d, node->graph))
        return false;
    snprintf(place, sizeof place, "#%llu", (unsigned long long)node->place);
    if (strcmp(node->label, d->args->node) == 0 || strcmp(place, d->args->node) == 0)
        return true;
    for (size_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i].name && strcmp(node->outputs[i].name, d->args->node) == 0)
            return true;
    return false;
}

enum ox_status dump_node(struct dumped *d)
{
    struct ox_json json;
    struct ox_node_entry node;
    enum ox_status status = OX_OK;
    size_t found = 0;
    if (d->args->json)
        begin_json(d, &json);
    for (size_t i = 0; i < ox_costs_count(d->costs) && status == OX_OK; i++) {
        if (!next_node(d, i, 0, &node, &status) || !is_meant(d, &node) ||
            !next_node(d, i, MOST_ELEMENTS, &node, &status))
            continue;
        found++;
        if (d->args->json)
            node_json(&json, &node);
        else
            node_text(&d->cli->out, &node);
    }
    if (d->args->json)
        end_json(d, &json);
    if (status == OX_OK && !found) {
        ox_strbuf_clear(&d->cli->out);
        return cli_fail(d->cli, OX_USAGE, "%s: there is no node '%s'; -f nodes lists them", d->path,
                        d->args->node);
    }
    return status;
}
