/* Graphs for Graphviz. */
#include "graph/draw/draw.h"

/* Inside a quoted string of the language. */
static void dot_text(struct ox_strbuf *out, const char *name)
{
    struct ox_strbuf safe = {0};
    ox_strbuf_name(&safe, name, 256);
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.data[i] == '"' || safe.data[i] == '\\')
            ox_strbuf_putc(out, '\\');
        ox_strbuf_putc(out, safe.data[i]);
    }
    out->failed |= safe.failed;
    ox_strbuf_release(&safe);
}

static void dot_type(struct ox_strbuf *out, const struct ox_drawer *d, const struct ox_value *value)
{
    const struct ox_type *type = ox_shapes_type(d->shapes, value);
    struct ox_strbuf text = {0};
    if (!type || type->kind == OX_TYPE_UNKNOWN)
        return;
    ox_type_print(&text, type, true);
    dot_text(out, ox_strbuf_text(&text, out));
    ox_strbuf_release(&text);
}

static void dot_box(struct ox_drawer *d, const struct ox_box *box, uint32_t number)
{
    struct ox_strbuf label = {0};
    ox_strbuf_printf(d->out, "  n%u [label=\"", number);
    if (box->kind == OX_BOX_NODE) {
        ox_node_label(&label, box->node);
        dot_text(d->out, box->node->op_type);
        ox_strbuf_puts(d->out, "\\n");
        dot_text(d->out, ox_strbuf_text(&label, d->out));
        ox_strbuf_puts(d->out, "\"];\n");
    } else {
        dot_text(d->out, box->value->name);
        ox_strbuf_puts(d->out, "\\n");
        dot_type(d->out, d, box->value);
        ox_strbuf_puts(d->out, "\", shape=ellipse];\n");
    }
    ox_strbuf_release(&label);
}

enum ox_status ox_draw_dot(struct ox_drawer *d, const struct ox_graph *graph)
{
    struct ox_layout layout;
    if (!ox_layout_graph(&layout, graph, &d->arena))
        return ox_draw_no_memory(d);
    ox_strbuf_puts(d->out, "digraph \"");
    dot_text(d->out, graph->name ? graph->name : "");
    ox_strbuf_puts(d->out, "\" {\n  node [shape=box, fontname=\"sans-serif\", fontsize=11];\n"
                           "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (uint32_t i = 0; i < layout.n_boxes; i++) {
        dot_box(d, &layout.boxes[i], i);
        OX_TRY(ox_draw_flush(d, false));
    }
    for (uint32_t i = 0; i < layout.n_wires; i++) {
        const struct ox_wire *wire = &layout.wires[i];
        ox_strbuf_printf(d->out, "  n%u -> n%u", wire->from, wire->to);
        if (layout.boxes[wire->from].kind == OX_BOX_NODE &&
            layout.boxes[wire->to].kind == OX_BOX_NODE) {
            ox_strbuf_puts(d->out, " [label=\"");
            dot_type(d->out, d, wire->value);
            ox_strbuf_puts(d->out, "\"]");
        }
        ox_strbuf_puts(d->out, ";\n");
        OX_TRY(ox_draw_flush(d, false));
    }
    ox_strbuf_puts(d->out, "}\n");
    return OX_OK;
}
