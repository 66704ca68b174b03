#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* Columns of names are as wide as the longest that stands in them, and no wider than this. */
enum { WIDEST_NAME = 60, WIDEST_OPERATOR = 24 };

/* Text made safe to print, from column `column` on. */
static void wrapped(struct ox_strbuf *out, const char *text, size_t column, size_t indent)
{
    struct ox_strbuf safe = {0};
    ox_strbuf_name(&safe, text, 0);
    cli_wrap(out, ox_strbuf_text(&safe, out), safe.len, column, indent);
    ox_strbuf_release(&safe);
}

static void color(struct parity *p, struct ox_strbuf *out, const char *code)
{
    if (p->cli->color && !p->args->output)
        ox_strbuf_printf(out, "\033[%sm", code);
}

/* Padded to `width` columns; a name is counted in bytes. */
static void cell(struct ox_strbuf *out, const char *text, size_t width, bool right)
{
    size_t n = strlen(text), pad = n < width ? width - n : 0;
    if (right)
        ox_strbuf_printf(out, "%*s", (int)pad, "");
    ox_strbuf_puts(out, text);
    if (!right)
        ox_strbuf_printf(out, "%*s", (int)pad, "");
}

/* A long name loses its middle: exporters tell values apart at their ends. */
static void name_cell(struct ox_strbuf *out, const char *name, size_t width)
{
    struct ox_strbuf shown = {0}, kept = {0};
    size_t n = strlen(name), head = n;
    if (n > width) {
        head = (width - 2) / 3;
        while (head && ((unsigned char)name[head] & 0xC0) == 0x80)
            head--;
    }
    ox_strbuf_add(&kept, name, head);
    if (n > width) {
        name += n - (width - 2 - head);
        while (((unsigned char)*name & 0xC0) == 0x80)
            name++;
        ox_strbuf_puts(&kept, "..");
        ox_strbuf_puts(&kept, name);
    }
    ox_strbuf_name(&shown, ox_strbuf_text(&kept, out), 0);
    ox_strbuf_release(&kept);
    cell(out, ox_strbuf_text(&shown, out), width, false);
    ox_strbuf_release(&shown);
}

/* fixed: so many digits behind the point; else three that matter. */
static void figure(struct ox_strbuf *out, double value, int fixed)
{
    char text[32];
    if (isnan(value))
        snprintf(text, sizeof text, "-");
    else if (fixed)
        snprintf(text, sizeof text, "%.*f", fixed, value);
    else
        snprintf(text, sizeof text, "%.3g", value);
    ox_strbuf_puts(out, "  ");
    cell(out, text, 9, true);
}

static void index_text(const struct ox_worst *w, char *text, size_t n)
{
    size_t at = (size_t)snprintf(text, n, "[");
    for (unsigned k = 0; k < w->rank && at < n; k++)
        at += (size_t)snprintf(text + at, n - at, "%s%lld", k ? "," : "", (long long)w->index[k]);
    if (at < n)
        snprintf(text + at, n - at, "]");
}

/* ---- Outputs ------------------------------------------------------------------------------------------------------- */

/* Those that depart first, the larger share of departing elements before the smaller; then by error against the reference. */
static int by_badness(const void *x, const void *y)
{
    const struct parity_output *a = *(const struct parity_output *const *)x;
    const struct parity_output *b = *(const struct parity_output *const *)y;
    if (a->metrics.agree != b->metrics.agree)
        return a->metrics.agree ? 1 : -1;
    double p = isnan(a->metrics.mismatched) ? 2 : a->metrics.mismatched;
    double q = isnan(b->metrics.mismatched) ? 2 : b->metrics.mismatched;
    if (p != q)
        return p > q ? -1 : 1;
    p = isnan(a->metrics.max_rel) ? -1 : a->metrics.max_rel;
    q = isnan(b->metrics.max_rel) ? -1 : b->metrics.max_rel;
    if (p != q)
        return p > q ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void histogram(struct ox_strbuf *out, const struct ox_metrics *m)
{
    uint64_t most = 1;
    for (size_t i = 0; i < OX_ERROR_BINS; i++)
        most = m->histogram[i] > most ? m->histogram[i] : most;
    for (size_t i = 0; i < OX_ERROR_BINS; i++) {
        if (!m->histogram[i])
            continue;
        if (i == 0)
            ox_strbuf_puts(out, "        equal  ");
        else if (i == 1)
            ox_strbuf_puts(out, "      < 1e-13  ");
        else
            ox_strbuf_printf(out, "     >= 1e%+03d  ", (int)i - 15);
        int n = (int)(1 + 40 * m->histogram[i] / most);
        for (int k = 0; k < n; k++)
            ox_strbuf_putc(out, '#');
        ox_strbuf_printf(out, " %llu\n", (unsigned long long)m->histogram[i]);
    }
}

static void detail(struct ox_strbuf *out, const struct ox_metrics *m)
{
    if (isnan(m->mean_abs))
        return;
    ox_strbuf_printf(out, "    mean abs %.3g, mean rel %.3g, RMSE %.3g, PSNR %.2f dB", m->mean_abs,
                     m->mean_rel, m->rmse, m->psnr_db);
    if (!isnan(m->ulp_max))
        ox_strbuf_printf(out, "; ULP p50 %.0f, p90 %.0f, p99 %.0f, max %.0f", m->ulp_p50,
                         m->ulp_p90, m->ulp_p99, m->ulp_max);
    if (!isnan(m->top1))
        ox_strbuf_printf(out, "; top-1 %.4g%%, top-5 %.4g%%", 100 * m->top1, 100 * m->top5);
    ox_strbuf_putc(out, '\n');
    if (!isnan(m->a_min + m->a_max + m->b_min + m->b_max))
        ox_strbuf_printf(out, "    A in [%.6g, %.6g], B in [%.6g, %.6g]\n", m->a_min, m->a_max,
                         m->b_min, m->b_max);
    histogram(out, m);
}

/* "1.2e-05 (103.2 dB)" */
static void error_of(struct ox_strbuf *out, const struct ox_metrics *m)
{
    ox_strbuf_printf(out, "%.3g", m->max_abs);
    if (isfinite(m->sqnr_db))
        ox_strbuf_printf(out, " (%.1f dB)", m->sqnr_db);
}

static void truth(struct ox_strbuf *out, const struct parity_output *o)
{
    ox_strbuf_puts(out, "    against double precision: A ");
    error_of(out, &o->a_error);
    ox_strbuf_puts(out, o->truths ? ", B " : ", what is expected ");
    error_of(out, &o->b_error);
    ox_strbuf_puts(out, "\n    ");
    wrapped(out, o->verdict, 4, 4);
}

/* An output that the other side may have under another name. */
static void hint_pair(const struct parity *p, struct ox_strbuf *out, const struct parity_output *o)
{
    const struct parity_output *other = NULL;
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].side == o->side && p->outputs[i].in_b && !p->outputs[i].in_a)
            other = other ? other : &p->outputs[i];
    if (!other)
        return;
    ox_strbuf_puts(out, "    if it is what the other side calls '");
    ox_strbuf_name(out, other->name, 256);
    ox_strbuf_puts(out, "': --pair '");
    ox_strbuf_name(out, o->name, 256);
    ox_strbuf_putc(out, '=');
    ox_strbuf_name(out, other->name, 256);
    ox_strbuf_puts(out, "'\n");
}

static void output_notes(struct parity *p, struct ox_strbuf *out, const struct parity_output *o)
{
    const struct ox_metrics *m = &o->metrics;
    if (!m->agree) {
        ox_strbuf_puts(out, "    ");
        ox_strbuf_name(out, o->failed[0] ? o->failed : m->reason, 0);
        ox_strbuf_putc(out, '\n');
    }
    if (m->worst.found && (m->agree || o->failed[0] || p->n_samples > 1)) {
        char index[400];
        index_text(&m->worst, index, sizeof index);
        ox_strbuf_printf(out, "    worst at %s", index);
        if (p->n_samples > 1)
            ox_strbuf_printf(out, " of sample %llu", (unsigned long long)m->worst.sample);
        ox_strbuf_puts(out, ": ");
        ox_strbuf_name(out, m->worst.a_text, 0);
        ox_strbuf_puts(out, " against ");
        ox_strbuf_name(out, m->worst.b_text, 0);
        ox_strbuf_putc(out, '\n');
    }
    if (m->a_nan || m->b_nan || m->a_inf || m->b_inf)
        ox_strbuf_printf(out, "    A has %llu NaN and %llu infinite, B %llu and %llu\n",
                         (unsigned long long)m->a_nan, (unsigned long long)m->a_inf,
                         (unsigned long long)m->b_nan, (unsigned long long)m->b_inf);
    if (m->note[0])
        ox_strbuf_printf(out, "    %s\n", m->note);
    if (o->in_a && !o->in_b)
        hint_pair(p, out, o);
    if (o->verdict[0])
        truth(out, o);
    if (o->products[0]) {
        ox_strbuf_puts(out, "    ");
        wrapped(out, o->products, 4, 4);
    }
    if (o->chance)
        ox_strbuf_printf(out, "    %s draws random numbers: each side may draw its own\n",
                         o->chance);
    if (p->args->metric && o->in_a && o->in_b)
        detail(out, m);
}

static void outputs(struct parity *p, struct ox_strbuf *out)
{
    size_t width = 6;
    struct parity_output **order = calloc(p->n_outputs + 1, sizeof(struct parity_output *));
    if (!order) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < p->n_outputs; i++) {
        size_t n = strlen(p->outputs[i].name);
        width = n > width ? n : width;
        order[i] = &p->outputs[i];
    }
    width = width > WIDEST_NAME ? WIDEST_NAME : width;
    qsort(order, p->n_outputs, sizeof *order, by_badness);
    cell(out, "output", width, false);
    ox_strbuf_puts(out, "  verdict    max abs    max rel     cosine    SQNR dB    departing\n");
    for (size_t i = 0; i < p->n_outputs; i++) {
        const struct parity_output *o = order[i];
        const struct ox_metrics *m = &o->metrics;
        name_cell(out, o->name, width);
        color(p, out, m->agree ? "32" : "31");
        ox_strbuf_puts(out, m->agree ? "  agrees " : "  DEPARTS");
        color(p, out, "0");
        figure(out, m->max_abs, 0);
        figure(out, m->max_rel, 0);
        figure(out, m->cosine, 6);
        figure(out, m->sqnr_db, 2);
        ox_strbuf_printf(out, "    %llu of %llu", (unsigned long long)m->n_mismatched,
                         (unsigned long long)m->n_elements);
        if (p->n_sides > 2) {
            ox_strbuf_puts(out, "  (");
            ox_strbuf_name(out, parity_reference(p, o->side), 128);
            ox_strbuf_putc(out, ')');
        }
        ox_strbuf_putc(out, '\n');
        output_notes(p, out, o);
    }
    free(order);
}

/* ---- Layers -------------------------------------------------------------------------------------------------------- */

static void layer_row(struct parity *p, struct ox_strbuf *out, const struct ox_parity_layer *layer,
                      size_t width, size_t op_width, const char *mark)
{
    const struct ox_metrics *m = &layer->metrics;
    ox_strbuf_puts(out, mark);
    name_cell(out, layer->b_name, width);
    ox_strbuf_puts(out, "  ");
    name_cell(out, layer->b_op, op_width);
    color(p, out, m->agree ? "32" : "31");
    ox_strbuf_puts(out, m->agree ? "  agrees " : "  DEPARTS");
    color(p, out, "0");
    figure(out, m->max_abs, 0);
    figure(out, m->sqnr_db, 2);
    if (layer->has_own) {
        figure(out, layer->own.max_abs, 0);
        figure(out, layer->own.sqnr_db, 2);
    }
    if (layer->has_noise) {
        figure(out, layer->amplifies, 0);
        figure(out, layer->swayed, 0);
    }
    if (layer->has_oracle) {
        figure(out, layer->a_error.max_abs, 0);
        figure(out, layer->b_error.max_abs, 0);
    }
    if (layer->nature)
        ox_strbuf_printf(out, "  %s", layer->nature);
    if (layer->has_qdq)
        ox_strbuf_printf(out, "  quantized: %.2f dB own, %.2f dB in all", layer->qdq.sqnr_db,
                         layer->cross.sqnr_db);
    if (strcmp(layer->match, "name") != 0) {
        ox_strbuf_puts(out, "  = ");
        ox_strbuf_name(out, layer->a_name, 128);
        ox_strbuf_printf(out, " (by %s)", layer->match);
    }
    ox_strbuf_putc(out, '\n');
}

static void layer_rows(struct parity *p, struct ox_strbuf *out, size_t begin, size_t end)
{
    struct ox_parity_layer layer;
    size_t width = 5, op_width = 8;
    bool own = false, noise = false, oracle = false;
    for (size_t i = begin; i < end; i++)
        if (ox_parity_layer(p->layers, i, &layer)) {
            size_t n = strlen(layer.b_name);
            size_t n_op = strlen(layer.b_op);
            width = n > width ? n : width;
            op_width = n_op > op_width ? n_op : op_width;
            own = own || layer.has_own;
            noise = noise || layer.has_noise;
            oracle = oracle || layer.has_oracle;
        }
    width = width > WIDEST_NAME ? WIDEST_NAME : width;
    op_width = op_width > WIDEST_OPERATOR ? WIDEST_OPERATOR : op_width;
    ox_strbuf_puts(out, "  ");
    cell(out, "value", width, false);
    ox_strbuf_puts(out, "  ");
    cell(out, "operator", op_width, false);
    ox_strbuf_puts(out, "  verdict    max abs    SQNR dB");
    ox_strbuf_puts(out, own ? "    own abs     own dB" : "");
    ox_strbuf_puts(out, noise ? "  amplifies from input" : "");
    ox_strbuf_puts(out, oracle ? "    A error    B error\n" : "\n");
    for (size_t i = begin; i < end; i++)
        if (ox_parity_layer(p->layers, i, &layer))
            layer_row(p, out, &layer, width, op_width, i == p->first ? "> " : "  ");
}

/* Those that make most of a change of what enters them, largest first. */
static void amplifiers(const struct parity *p, struct ox_strbuf *out)
{
    enum { MOST = 5 };
    static const double WORTH_TELLING = 10;
    struct ox_parity_layer layer;
    double last = INFINITY;
    size_t last_place = 0, told = 0;
    for (; told < MOST; told++) {
        size_t best = SIZE_MAX;
        double most = WORTH_TELLING;
        for (size_t i = 0; i < ox_parity_n_layers(p->layers); i++) {
            if (!ox_parity_layer(p->layers, i, &layer) || !layer.has_noise ||
                !(layer.amplifies > most) || layer.amplifies > last ||
                (layer.amplifies == last && i <= last_place))
                continue;
            most = layer.amplifies;
            best = i;
        }
        if (best == SIZE_MAX || !ox_parity_layer(p->layers, best, &layer))
            break;
        if (!told)
            ox_strbuf_printf(out, "\nwhat amplifies a change of its inputs by %.2g of them most:\n",
                             layer.noise);
        ox_strbuf_puts(out, "  ");
        ox_strbuf_name(out, layer.b_node, 256);
        ox_strbuf_puts(out, " (");
        ox_strbuf_name(out, layer.b_op, 64);
        ox_strbuf_puts(out, "), value ");
        ox_strbuf_name(out, layer.b_name, 256);
        ox_strbuf_printf(out, ": %.3g times\n", layer.amplifies);
        last = layer.amplifies;
        last_place = best;
    }
    if (!told && ox_parity_layer(p->layers, 0, &layer) && layer.has_noise)
        ox_strbuf_printf(out,
                         "\nno node amplifies a change of its inputs by %.2g of them more than "
                         "%.0f times\n",
                         layer.noise, WORTH_TELLING);
}

static void causes(const struct parity *p, struct ox_strbuf *out)
{
    const struct ox_parity_cause *cause;
    for (size_t i = 0; (cause = parity_cause(p, i)); i++) {
        ox_strbuf_printf(out, "  %s: ", cause->id);
        wrapped(out, cause->text, strlen(cause->id) + 4, 4);
    }
}

/* "node x (Op), value y", or of a value whose node is not known "output y". */
static void place(struct ox_strbuf *out, const char *node, const char *op_type, const char *value)
{
    ox_strbuf_puts(out, "\nfirst divergence: ");
    if (op_type) {
        ox_strbuf_puts(out, "node ");
        ox_strbuf_name(out, node, 256);
        ox_strbuf_puts(out, " (");
        ox_strbuf_name(out, op_type, 64);
        ox_strbuf_puts(out, "), value ");
    } else {
        ox_strbuf_puts(out, "output ");
    }
    ox_strbuf_name(out, value, 256);
}

static void divergence(struct parity *p, struct ox_strbuf *out)
{
    struct ox_parity_layer layer;
    const struct ox_parity_suspect *suspect = &p->suspect;
    if (suspect->value) {
        place(out, suspect->node, suspect->op_type, suspect->value);
        ox_strbuf_printf(out,
                         suspect->op_type
                             ? "; what enters it agrees (%zu runs of prefixes)\n"
                             : "; nothing before it is known of the other side (%zu runs of A)\n",
                         suspect->n_runs);
        causes(p, out);
        return;
    }
    if (!p->layers)
        return;
    if (p->first == SIZE_MAX || !ox_parity_layer(p->layers, p->first, &layer)) {
        ox_strbuf_printf(out, "\nno value departs (%zu compared)\n", ox_parity_n_layers(p->layers));
        return;
    }
    place(out, layer.b_node, layer.b_op, layer.b_name);
    ox_strbuf_puts(out, "\n  ");
    ox_strbuf_name(out, layer.metrics.reason, 0);
    ox_strbuf_putc(out, '\n');
    causes(p, out);
    if (p->args->layers)
        return;
    size_t n = ox_parity_n_layers(p->layers);
    ox_strbuf_putc(out, '\n');
    layer_rows(p, out, p->first > 3 ? p->first - 3 : 0, p->first + 4 < n ? p->first + 4 : n);
}

void parity_print_text(struct parity *p, struct ox_strbuf *out)
{
    ox_strbuf_name(out, p->sides[0].label, 256);
    ox_strbuf_puts(out, " against ");
    for (size_t i = 1; i < p->n_sides || i == 1; i++) {
        ox_strbuf_puts(out, i > 1 ? ", " : "");
        ox_strbuf_name(out, parity_reference(p, i), 256);
        if (i < p->n_sides && p->sides[i].version[0]) {
            ox_strbuf_puts(out, " (");
            ox_strbuf_name(out, p->sides[i].version, 128);
            ox_strbuf_putc(out, ')');
        }
    }
    if (p->n_samples > 1)
        ox_strbuf_printf(out, ", %llu samples", (unsigned long long)p->n_samples);
    ox_strbuf_puts(out, "\n\n");
    outputs(p, out);
    if (p->args->layers && p->layers) {
        ox_strbuf_putc(out, '\n');
        layer_rows(p, out, 0, ox_parity_n_layers(p->layers));
        if (p->args->perturb)
            amplifiers(p, out);
    }
    divergence(p, out);
    if (p->trace) {
        ox_strbuf_putc(out, '\n');
        trace_print_text(p->trace, out);
    }
}
