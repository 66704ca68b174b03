/* The types and shapes of all values, as a table and as JSON. */
#include <string.h>

#include "render_shapes.h"
#include "text_table.h"

static void shape_text(struct ox_strbuf *out, const struct ox_shape_entry *entry)
{
    if (!entry->has_shape) {
        ox_strbuf_putc(out, '?');
        return;
    }
    ox_strbuf_putc(out, '[');
    for (unsigned i = 0; i < entry->rank; i++) {
        if (i)
            ox_strbuf_putc(out, ',');
        if (entry->dims[i] >= 0)
            ox_strbuf_printf(out, "%lld", (long long)entry->dims[i]);
        else if (entry->symbols[i])
            ox_strbuf_name(out, entry->symbols[i], 0);
        else
            ox_strbuf_putc(out, '?');
    }
    ox_strbuf_putc(out, ']');
}

/* The four columns of a row: name, type, shape, and what it comes from. */
enum { COLUMNS = 4 };

static bool fill_row(struct ox_strbuf cells[COLUMNS], const struct ox_shape_entry *entry)
{
    for (int i = 0; i < COLUMNS; i++)
        ox_strbuf_clear(&cells[i]);
    ox_strbuf_name(&cells[0], entry->name, 256);
    ox_strbuf_name(&cells[1], entry->type ? entry->type : "?", 256);
    if (!entry->type || !strchr(entry->type, '('))
        shape_text(&cells[2], entry);
    if (entry->producer) {
        ox_strbuf_name(&cells[3], entry->op_type, 256);
        ox_strbuf_putc(&cells[3], ' ');
        ox_strbuf_name(&cells[3], entry->producer, 256);
    } else {
        ox_strbuf_puts(&cells[3], entry->is_input      ? "input"
                                  : entry->is_constant ? "constant"
                                                       : "declared alone");
    }
    bool good = true;
    for (int i = 0; i < COLUMNS; i++)
        good &= !cells[i].failed;
    return good;
}

static void print_row(struct ox_strbuf *out, struct ox_strbuf cells[COLUMNS],
                      const size_t widths[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        ox_strbuf_puts(out, ox_strbuf_text(&cells[i], out));
        if (i + 1 == COLUMNS)
            break;
        size_t own = text_width(cells[i].data);
        ox_strbuf_printf(out, "%*s", (own < widths[i] ? (int)(widths[i] - own) : 0) + 2, "");
    }
    ox_strbuf_putc(out, '\n');
}

static bool same_graph(const struct ox_strbuf *graph, const char *path)
{
    return strcmp(ox_strbuf_text(graph, NULL), path) == 0;
}

enum ox_status render_shapes_table(struct cli *cli, struct ox_shapes *shapes, const char *model)
{
    enum { WIDEST = 48, AT_ONCE = 16 << 10 };
    enum ox_status status = OX_OK;
    size_t n = ox_shapes_count(shapes), widths[COLUMNS] = {0};
    struct ox_strbuf cells[COLUMNS] = {{0}}, graph = {0};
    struct ox_shape_entry entry;
    bool good = true;
    for (size_t i = 0; i < n && good; i++) {
        good = ox_shapes_at(shapes, i, &entry) && fill_row(cells, &entry);
        for (int k = 0; k < COLUMNS && good; k++) {
            size_t wide = text_width(cells[k].data);
            if (wide > widths[k])
                widths[k] = wide < WIDEST ? wide : WIDEST;
        }
    }
    for (size_t i = 0; i < n && good && status == OX_OK; i++) {
        good = ox_shapes_at(shapes, i, &entry);
        if (good && !same_graph(&graph, entry.graph)) {
            ox_strbuf_clear(&graph);
            ox_strbuf_puts(&graph, entry.graph);
            ox_strbuf_puts(&cli->out, "\n");
            ox_strbuf_name(&cli->out, entry.graph, 0);
            ox_strbuf_puts(&cli->out, ":\n");
        }
        good = good && fill_row(cells, &entry);
        if (good)
            print_row(&cli->out, cells, widths);
        if (cli->out.len >= AT_ONCE)
            status = cli_flush(cli);
    }
    ox_strbuf_printf(&cli->out, "%zu values, %zu not known in full\n", n,
                     ox_shapes_unknown(shapes));
    for (int k = 0; k < COLUMNS; k++)
        ox_strbuf_release(&cells[k]);
    ox_strbuf_release(&graph);
    return good ? status : cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", model);
}

static void json_value(struct ox_json *json, const struct ox_shape_entry *entry)
{
    ox_json_object(json);
    cli_json_string(json, "graph", entry->graph);
    cli_json_string(json, "name", entry->name);
    cli_json_string(json, "type", entry->type);
    ox_json_key(json, "shape");
    if (entry->has_shape) {
        ox_json_array(json);
        for (unsigned i = 0; i < entry->rank; i++) {
            if (entry->dims[i] >= 0)
                ox_json_int(json, entry->dims[i]);
            else
                ox_json_string(json, entry->symbols[i]);
        }
        ox_json_end_array(json);
    } else {
        ox_json_null(json);
    }
    cli_json_string(json, "producer", entry->producer);
    if (!entry->known && entry->reason) {
        cli_json_string(json, "reason", entry->reason);
    }
    ox_json_end_object(json);
}

static void json_conflicts(struct ox_json *json, const struct ox_findings *findings)
{
    ox_json_key(json, "conflicts");
    ox_json_array(json);
    for (size_t i = 0; i < ox_findings_count(findings); i++) {
        const struct ox_finding *finding = ox_findings_at(findings, i);
        ox_json_object(json);
        cli_json_string(json, "message", finding->message);
        cli_json_string(json, "graph", finding->graph);
        cli_json_string(json, "node", finding->node);
        cli_json_string(json, "op_type", finding->op_type);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

bool render_shapes_json(struct cli *cli, struct ox_shapes *shapes, const char *model)
{
    struct ox_json json;
    struct ox_shape_entry entry;
    bool good = true;
    ox_json_init(&json, &cli->out, !cli->several);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.shape-infer/1");
    cli_json_string(&json, "model", model);
    ox_json_key(&json, "values");
    ox_json_array(&json);
    for (size_t i = 0; i < ox_shapes_count(shapes) && good; i++) {
        good = ox_shapes_at(shapes, i, &entry);
        if (good)
            json_value(&json, &entry);
    }
    ox_json_end_array(&json);
    json_conflicts(&json, ox_shapes_findings(shapes));
    cli_json_uint(&json, "unknown", ox_shapes_unknown(shapes));
    cli_json_uint(&json, "total", ox_shapes_count(shapes));
    ox_json_end_object(&json);
    ox_strbuf_putc(&cli->out, '\n');
    return good;
}
