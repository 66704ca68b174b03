/* One page that needs nothing else: the verdicts, and the graph of what was compared, coloured by error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

enum {
    BOX_WIDTH = 190,
    BOX_HEIGHT = 44,
    GAP_X = 24,
    GAP_Y = 40,
    MOST_SOURCES = 16,
    MOST_BOXES = 5000
};

static void number_cell(struct ox_strbuf *out, double value)
{
    if (isnan(value))
        ox_strbuf_puts(out, "<td>-</td>");
    else
        ox_strbuf_printf(out, "<td>%.4g</td>", value);
}

/* From green (60 dB and more) over yellow to red (0 dB and less); what is not finite is purple. */
static void fill_of(const struct ox_metrics *m, char text[24])
{
    if (isnan(m->sqnr_db) && !m->agree) {
        snprintf(text, 24, "#c9a0dc");
        return;
    }
    double db = isnan(m->sqnr_db) ? 60 : fmin(fmax(m->sqnr_db, 0), 60);
    int hue = (int)(db * 2);
    snprintf(text, 24, "hsl(%d,70%%,75%%)", hue);
}

/* ---- Tables -------------------------------------------------------------------------------------------------------- */

static void outputs_table(struct parity *p, struct ox_strbuf *out)
{
    ox_strbuf_puts(out,
                   "<h2>Outputs</h2>\n<table><tr><th>output</th><th>against</th><th>verdict</th>"
                   "<th>max abs</th><th>max rel</th><th>RMSE</th><th>cosine</th><th>SQNR dB</th>"
                   "<th>departing</th><th>why</th></tr>\n");
    for (size_t i = 0; i < p->n_outputs; i++) {
        const struct parity_output *o = &p->outputs[i];
        const struct ox_metrics *m = &o->metrics;
        ox_strbuf_printf(out, "<tr class=\"%s\"><td>", m->agree ? "good" : "bad");
        ox_strbuf_markup(out, o->name, 256);
        ox_strbuf_puts(out, "</td><td>");
        ox_strbuf_markup(out, parity_reference(p, o->side), 256);
        ox_strbuf_printf(out, "</td><td>%s</td>", m->agree ? "agrees" : "departs");
        number_cell(out, m->max_abs);
        number_cell(out, m->max_rel);
        number_cell(out, m->rmse);
        number_cell(out, m->cosine);
        number_cell(out, m->sqnr_db);
        ox_strbuf_printf(out, "<td>%llu of %llu</td><td>", (unsigned long long)m->n_mismatched,
                         (unsigned long long)m->n_elements);
        if (!m->agree)
            ox_strbuf_markup(out, o->failed[0] ? o->failed : m->reason, 0);
        if (o->verdict[0]) {
            ox_strbuf_puts(out, m->agree ? "" : "; ");
            ox_strbuf_markup(out, o->verdict, 0);
        }
        if (o->products[0]) {
            ox_strbuf_puts(out, "; ");
            ox_strbuf_markup(out, o->products, 0);
        }
        if (o->chance)
            ox_strbuf_printf(out, "; %s draws random numbers: each side may draw its own",
                             o->chance);
        ox_strbuf_puts(out, "</td></tr>\n");
    }
    ox_strbuf_puts(out, "</table>\n");
}

static void causes_list(struct parity *p, struct ox_strbuf *out)
{
    struct ox_parity_layer layer;
    if (!parity_first_layer(p, &layer))
        return;
    ox_strbuf_puts(out, "<h2>First divergence: ");
    if (layer.b_op) {
        ox_strbuf_markup(out, layer.b_node, 256);
        ox_strbuf_puts(out, " (");
        ox_strbuf_markup(out, layer.b_op, 64);
        ox_strbuf_putc(out, ')');
    } else {
        ox_strbuf_puts(out, "an output");
    }
    ox_strbuf_puts(out, "</h2>\n<p>");
    if (p->suspect.value)
        ox_strbuf_markup(out, p->suspect.value, 0);
    else
        ox_strbuf_markup(out, layer.metrics.reason, 0);
    ox_strbuf_puts(out, "</p>\n<ul>\n");
    const struct ox_parity_cause *cause;
    for (size_t i = 0; (cause = parity_cause(p, i)); i++) {
        ox_strbuf_puts(out, "<li><b>");
        ox_strbuf_markup(out, cause->id, 64);
        ox_strbuf_puts(out, "</b>: ");
        ox_strbuf_markup(out, cause->text, 0);
        ox_strbuf_puts(out, "</li>\n");
    }
    ox_strbuf_puts(out, "</ul>\n");
}

/* ---- Graph --------------------------------------------------------------------------------------------------------- */

struct place {
    size_t depth, column;
};

/* Each below the deepest of its sources, from left to right in B's order. */
static void lay_out(const struct parity *p, struct place *places, size_t *widths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t from[MOST_SOURCES];
        size_t k = ox_parity_sources(p->layers, i, from, MOST_SOURCES), depth = 0;
        for (size_t s = 0; s < k && s < MOST_SOURCES; s++)
            if (from[s] < i && places[from[s]].depth + 1 > depth)
                depth = places[from[s]].depth + 1;
        places[i] = (struct place){depth, widths[depth]++};
    }
}

static void draw_edges(struct parity *p, struct ox_strbuf *out, const struct place *places,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t from[MOST_SOURCES];
        size_t k = ox_parity_sources(p->layers, i, from, MOST_SOURCES);
        for (size_t s = 0; s < k && s < MOST_SOURCES; s++) {
            const struct place *a = &places[from[s]], *b = &places[i];
            ox_strbuf_printf(out, "<line x1=\"%zu\" y1=\"%zu\" x2=\"%zu\" y2=\"%zu\"/>\n",
                             a->column * (BOX_WIDTH + GAP_X) + BOX_WIDTH / 2 + 10,
                             a->depth * (BOX_HEIGHT + GAP_Y) + BOX_HEIGHT + 10,
                             b->column * (BOX_WIDTH + GAP_X) + BOX_WIDTH / 2 + 10,
                             b->depth * (BOX_HEIGHT + GAP_Y) + 10);
        }
    }
}

static void draw_box(struct parity *p, struct ox_strbuf *out, const struct place *place, size_t i)
{
    struct ox_parity_layer layer;
    char fill[24];
    if (!ox_parity_layer(p->layers, i, &layer))
        return;
    size_t x = place->column * (BOX_WIDTH + GAP_X) + 10;
    size_t y = place->depth * (BOX_HEIGHT + GAP_Y) + 10;
    fill_of(&layer.metrics, fill);
    ox_strbuf_printf(out,
                     "<g><rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" rx=\"5\" fill=\"%s\" "
                     "class=\"%s\"/><title>",
                     x, y, BOX_WIDTH, BOX_HEIGHT, fill,
                     i == p->first         ? "first"
                     : layer.metrics.agree ? "good"
                                           : "bad");
    ox_strbuf_markup(out, layer.b_name, 256);
    ox_strbuf_printf(out, " max abs %.4g, SQNR %.2f dB", layer.metrics.max_abs,
                     layer.metrics.sqnr_db);
    if (layer.has_own)
        ox_strbuf_printf(out, "; own %.4g, %.2f dB", layer.own.max_abs, layer.own.sqnr_db);
    ox_strbuf_putc(out, ' ');
    ox_strbuf_markup(out, layer.metrics.reason, 0);
    ox_strbuf_printf(out, "</title><text x=\"%zu\" y=\"%zu\">", x + 6, y + 17);
    ox_strbuf_markup(out, layer.b_op, 26);
    ox_strbuf_printf(out, "</text><text x=\"%zu\" y=\"%zu\" class=\"small\">", x + 6, y + 34);
    ox_strbuf_markup(out, layer.b_name, 32);
    ox_strbuf_puts(out, "</text></g>\n");
}

static void graph(struct parity *p, struct ox_strbuf *out)
{
    size_t n = ox_parity_n_layers(p->layers), deepest = 0, widest = 0;
    if (!n)
        return;
    ox_strbuf_printf(out, "<h2>%zu values in both models</h2>\n", n);
    if (n > MOST_BOXES) {
        ox_strbuf_printf(out, "<p>The first %d are drawn.</p>\n", (int)MOST_BOXES);
        n = MOST_BOXES;
    }
    struct place *places = calloc(n, sizeof *places);
    size_t *widths = calloc(n + 1, sizeof *widths);
    if (!places || !widths) {
        out->failed = true;
    } else {
        lay_out(p, places, widths, n);
        for (size_t i = 0; i < n; i++) {
            deepest = places[i].depth > deepest ? places[i].depth : deepest;
            widest = widths[places[i].depth] > widest ? widths[places[i].depth] : widest;
        }
        ox_strbuf_printf(out,
                         "<p>Green is 60 dB and more, red 0 dB and less, purple not finite; the "
                         "thick frame is the first divergence. Point at a box for figures.</p>\n"
                         "<svg width=\"%zu\" height=\"%zu\">\n",
                         widest * (BOX_WIDTH + GAP_X) + 20,
                         (deepest + 1) * (BOX_HEIGHT + GAP_Y) + 20);
        draw_edges(p, out, places, n);
        for (size_t i = 0; i < n; i++)
            draw_box(p, out, &places[i], i);
        ox_strbuf_puts(out, "</svg>\n");
    }
    free(places);
    free(widths);
}

void parity_print_html(struct parity *p, struct ox_strbuf *out)
{
    ox_strbuf_puts(out,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>parity"
                   "</title>\n<style>\nbody{font:14px sans-serif;margin:2em}\n"
                   "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:3px 8px;"
                   "text-align:left}\ntr.bad td:nth-child(3){background:#f7b7b7}"
                   "tr.good td:nth-child(3){background:#b7e7b7}\n"
                   "line{stroke:#999}rect{stroke:#555}rect.bad{stroke:#c00}"
                   "rect.first{stroke:#c00;stroke-width:4}\n"
                   "text{font:13px sans-serif}text.small{font-size:10px;fill:#444}\n"
                   "</style></head><body>\n<h1>");
    ox_strbuf_markup(out, p->sides[0].label, 256);
    ox_strbuf_puts(out, " against ");
    ox_strbuf_markup(out, parity_reference(p, 1), 256);
    ox_strbuf_printf(out, "</h1>\n<p>%llu sample%s; %s.</p>\n", (unsigned long long)p->n_samples,
                     p->n_samples == 1 ? "" : "s", p->agree ? "they agree" : "they depart");
    outputs_table(p, out);
    causes_list(p, out);
    if (p->layers)
        graph(p, out);
    ox_strbuf_puts(out, "</body></html>\n");
}
