#include <string.h>

#include "parity.h"

/* The first value that departs, with the evidence. */
static void tell_first(const struct parity *p, struct ox_strbuf *out)
{
    struct ox_parity_layer layer;
    if (!parity_first_layer(p, &layer))
        return;
    ox_strbuf_puts(out, "    <system-out>first divergence: ");
    if (layer.b_op) {
        ox_strbuf_puts(out, "node ");
        ox_strbuf_markup(out, layer.b_node, 256);
        ox_strbuf_puts(out, " (");
        ox_strbuf_markup(out, layer.b_op, 64);
        ox_strbuf_puts(out, "), value ");
    } else {
        ox_strbuf_puts(out, "output ");
    }
    ox_strbuf_markup(out, layer.b_name, 256);
    const struct ox_parity_cause *cause;
    for (size_t i = 0; (cause = parity_cause(p, i)); i++) {
        ox_strbuf_puts(out, "\n  ");
        ox_strbuf_markup(out, cause->id, 64);
        ox_strbuf_puts(out, ": ");
        ox_strbuf_markup(out, cause->text, 0);
    }
    ox_strbuf_puts(out, "</system-out>\n");
}

/* What is said of an output beside its figures. */
static void tell_more(const struct parity_output *o, struct ox_strbuf *out)
{
    const char *const more[] = {o->verdict, o->products};
    for (size_t i = 0; i < 2; i++)
        if (more[i][0]) {
            ox_strbuf_puts(out, "; ");
            ox_strbuf_markup(out, more[i], 0);
        }
    if (o->chance)
        ox_strbuf_printf(out, "; %s draws random numbers", o->chance);
}

void parity_print_junit(struct parity *p, struct ox_strbuf *out)
{
    size_t n_failed = 0;
    for (size_t i = 0; i < p->n_outputs; i++)
        n_failed += !p->outputs[i].metrics.agree;
    ox_strbuf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    ox_strbuf_puts(out, "  <testsuite name=\"onnxtool parity: ");
    ox_strbuf_markup(out, p->sides[0].label, 0);
    ox_strbuf_printf(out, "\" tests=\"%zu\" failures=\"%zu\">\n", p->n_outputs, n_failed);
    for (size_t i = 0; i < p->n_outputs; i++) {
        const struct parity_output *o = &p->outputs[i];
        ox_strbuf_puts(out, "    <testcase classname=\"");
        ox_strbuf_markup(out, parity_reference(p, o->side), 0);
        ox_strbuf_puts(out, "\" name=\"");
        ox_strbuf_markup(out, o->name, 0);
        if (o->metrics.agree) {
            ox_strbuf_puts(out, "\"/>\n");
            continue;
        }
        ox_strbuf_puts(out, "\">\n      <failure message=\"");
        ox_strbuf_markup(out, o->failed[0] ? o->failed : o->metrics.reason, 0);
        if (!o->metrics.n_elements) {
            ox_strbuf_puts(out, "\"/>\n    </testcase>\n");
            continue;
        }
        ox_strbuf_printf(out, "\">%llu of %llu elements depart; max abs %.6g, max rel %.6g",
                         (unsigned long long)o->metrics.n_mismatched,
                         (unsigned long long)o->metrics.n_elements, o->metrics.max_abs,
                         o->metrics.max_rel);
        tell_more(o, out);
        ox_strbuf_puts(out, "</failure>\n    </testcase>\n");
    }
    tell_first(p, out);
    ox_strbuf_puts(out, "  </testsuite>\n</testsuites>\n");
}
