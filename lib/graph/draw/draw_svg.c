/* A graph as SVG. */
#include <inttypes.h>
#include <string.h>

#include "graph/draw/draw.h"

enum {
    BOX_WIDTH = 168,
    BOX_HEIGHT = 36,
    GAP_X = 24,
    GAP_Y = 28,
    MARGIN = 16,
    MOST_CHARS = 27 /* that fit a box */
};

/* What an operator is like, told by its colour. */
static const char *colour_of(const struct ox_node *node)
{
    static const struct {
        const char *part, *colour;
    } kinds[] = {{"Conv", "#3b6ea5"},     {"Gemm", "#3b6ea5"},      {"MatMul", "#3b6ea5"},
                 {"Einsum", "#3b6ea5"},   {"Attention", "#3b6ea5"}, {"LSTM", "#3b6ea5"},
                 {"GRU", "#3b6ea5"},      {"RNN", "#3b6ea5"},       {"Norm", "#3f7d4e"},
                 {"Pool", "#3f7d4e"},     {"Reduce", "#3f7d4e"},    {"Relu", "#8a3b3b"},
                 {"Sigmoid", "#8a3b3b"},  {"Tanh", "#8a3b3b"},      {"Gelu", "#8a3b3b"},
                 {"Softmax", "#8a3b3b"},  {"Elu", "#8a3b3b"},       {"Swish", "#8a3b3b"},
                 {"Reshape", "#8a6d2b"},  {"Transpose", "#8a6d2b"}, {"Concat", "#8a6d2b"},
                 {"Slice", "#8a6d2b"},    {"Gather", "#8a6d2b"},    {"Squeeze", "#8a6d2b"},
                 {"Quantize", "#6a4a8a"}, {"If", "#222222"},        {"Loop", "#222222"},
                 {"Scan", "#222222"}};
    for (size_t i = 0; i < OX_COUNT(kinds); i++)
        if (strstr(node->op_type, kinds[i].part))
            return kinds[i].colour;
    return "#4a5158";
}

static uint64_t left(const struct ox_box *box)
{
    return MARGIN + (uint64_t)box->lane * (BOX_WIDTH + GAP_X);
}

static uint64_t top(const struct ox_box *box)
{
    return MARGIN + (uint64_t)box->layer * (BOX_HEIGHT + GAP_Y);
}

/* Text that fits a box; the rest is in the tooltip. */
static void short_text(struct ox_strbuf *out, const char *text, size_t most)
{
    char piece[4 * MOST_CHARS + 8];
    size_t n = 0, chars = 0;
    while (n < sizeof piece - 5 && text[n]) {
        if (((unsigned char)text[n] & 0xc0) != 0x80 && chars++ == most)
            break;
        piece[n] = text[n];
        n++;
    }
    piece[n] = '\0';
    ox_strbuf_markup(out, piece, 0);
    if (text[n])
        ox_strbuf_puts(out, "…");
}

static void type_text(struct ox_strbuf *text, const struct ox_drawer *d,
                      const struct ox_value *value)
{
    const struct ox_type *type = value ? ox_shapes_type(d->shapes, value) : NULL;
    if (type && type->kind != OX_TYPE_UNKNOWN)
        ox_type_print(text, type, true);
}

static void draw_label(struct ox_drawer *d, const char *first, const char *second, uint64_t x,
                       uint64_t y)
{
    ox_strbuf_printf(d->out, "<text x=\"%" PRIu64 "\" y=\"%" PRIu64 "\">", x + BOX_WIDTH / 2,
                     y + 15);
    short_text(d->out, first, MOST_CHARS);
    ox_strbuf_printf(d->out, "</text><text class=\"t\" x=\"%" PRIu64 "\" y=\"%" PRIu64 "\">",
                     x + BOX_WIDTH / 2, y + 29);
    short_text(d->out, second, MOST_CHARS);
    ox_strbuf_puts(d->out, "</text>");
}

static void draw_node(struct ox_drawer *d, const struct ox_box *box)
{
    const struct ox_node *node = box->node;
    uint64_t x = left(box), y = top(box);
    struct ox_strbuf label = {0}, type = {0}, path = {0};
    char tinted[16];
    long tint = -1;
    const struct ox_value *first = NULL;
    for (size_t i = 0; i < node->n_outputs && !first; i++)
        first = node->outputs[i];
    ox_node_label(&label, node);
    type_text(&type, d, first);
    if (d->options->tint) {
        ox_graph_path(&path, node->graph);
        tint = d->options->tint(d->options->tint_arg, ox_strbuf_text(&path, d->out),
                                ox_strbuf_text(&label, d->out));
        snprintf(tinted, sizeof tinted, "#%06lx", (unsigned long)tint & 0xffffff);
    }
    ox_strbuf_printf(d->out, "<g class=\"n\" data-n=\"%zu\"><title>",
                     d->costs->first[node->graph->id] + node->index);
    ox_strbuf_markup(d->out, node->op_type, 256);
    ox_strbuf_putc(d->out, ' ');
    ox_strbuf_markup(d->out, ox_strbuf_text(&label, d->out), 256);
    ox_strbuf_printf(d->out,
                     "</title><rect x=\"%" PRIu64 "\" y=\"%" PRIu64
                     "\" width=\"%d\" height=\"%d\" rx=\"5\" fill=\"%s\"/>",
                     x, y, BOX_WIDTH, BOX_HEIGHT, tint < 0 ? colour_of(node) : tinted);
    draw_label(d, node->op_type, ox_strbuf_text(&type, d->out), x, y);
    ox_strbuf_puts(d->out, "</g>\n");
    ox_strbuf_release(&label);
    ox_strbuf_release(&type);
    ox_strbuf_release(&path);
}

static void draw_port(struct ox_drawer *d, const struct ox_box *box)
{
    uint64_t x = left(box), y = top(box);
    struct ox_strbuf type = {0};
    type_text(&type, d, box->value);
    ox_strbuf_puts(d->out, "<g class=\"p\"><title>");
    ox_strbuf_markup(d->out, box->value->name, 256);
    ox_strbuf_printf(d->out,
                     "</title><rect x=\"%" PRIu64 "\" y=\"%" PRIu64
                     "\" width=\"%d\" height=\"%d\" rx=\"18\"/>",
                     x, y, BOX_WIDTH, BOX_HEIGHT);
    draw_label(d, box->value->name, ox_strbuf_text(&type, d->out), x, y);
    ox_strbuf_puts(d->out, "</g>\n");
    ox_strbuf_release(&type);
}

/* Down the lane of what makes the value, across in the gap above what takes it. */
static void draw_wire(struct ox_drawer *d, const struct ox_layout *layout,
                      const struct ox_wire *wire)
{
    const struct ox_box *from = &layout->boxes[wire->from], *to = &layout->boxes[wire->to];
    uint64_t x = left(from) + BOX_WIDTH / 2, y = top(from) + BOX_HEIGHT;
    uint64_t to_x = left(to) + BOX_WIDTH / 2, to_y = top(to), bend = to_y - GAP_Y;
    struct ox_strbuf type = {0};
    type_text(&type, d, wire->value);
    ox_strbuf_printf(d->out, "<path d=\"M%" PRIu64 " %" PRIu64, x, y);
    if (x == to_x)
        ox_strbuf_printf(d->out, "V%" PRIu64, to_y);
    else
        ox_strbuf_printf(d->out,
                         "V%" PRIu64 "C%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                         " %" PRIu64,
                         bend, x, to_y, to_x, bend, to_x, to_y);
    ox_strbuf_puts(d->out, "\"><title>");
    ox_strbuf_markup(d->out, wire->value->name, 256);
    ox_strbuf_putc(d->out, ' ');
    ox_strbuf_markup(d->out, ox_strbuf_text(&type, d->out), 256);
    ox_strbuf_puts(d->out, "</title></path>\n");
    ox_strbuf_release(&type);
}

enum ox_status ox_draw_svg(struct ox_drawer *d, const struct ox_graph *graph, bool standalone)
{
    struct ox_layout layout;
    struct ox_arena_mark mark = ox_arena_mark(&d->arena);
    if (!ox_layout_graph(&layout, graph, &d->arena))
        return ox_draw_no_memory(d);
    uint64_t width = 2 * MARGIN + (uint64_t)layout.n_lanes * (BOX_WIDTH + GAP_X);
    uint64_t height = 2 * MARGIN + (uint64_t)layout.n_layers * (BOX_HEIGHT + GAP_Y);
    if (standalone)
        ox_strbuf_puts(d->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    ox_strbuf_printf(d->out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRIu64
                     "\" height=\"%" PRIu64 "\" viewBox=\"0 0 %" PRIu64 " %" PRIu64
                     "\" data-g=\"%u\">\n",
                     width, height, width, height, (unsigned)graph->id);
    if (standalone)
        ox_strbuf_puts(d->out, "<style>text{font:11px sans-serif;fill:#fff;text-anchor:middle}"
                               ".t{font-size:9px;opacity:.85}path{fill:none;stroke:#999}"
                               ".p rect{fill:#fff;stroke:#888}.p text{fill:#222}</style>\n");
    ox_strbuf_puts(d->out, "<g>\n");
    enum ox_status status = OX_OK;
    for (uint32_t i = 0; i < layout.n_wires && status == OX_OK; i++) {
        draw_wire(d, &layout, &layout.wires[i]);
        status = ox_draw_flush(d, false);
    }
    for (uint32_t i = 0; i < layout.n_boxes && status == OX_OK; i++) {
        if (layout.boxes[i].kind == OX_BOX_NODE)
            draw_node(d, &layout.boxes[i]);
        else
            draw_port(d, &layout.boxes[i]);
        status = ox_draw_flush(d, false);
    }
    ox_strbuf_puts(d->out, "</g></svg>\n");
    ox_arena_rewind(&d->arena, mark);
    return status;
}
