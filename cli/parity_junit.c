#include <string.h>

#include "parity.h"

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
        ox_strbuf_printf(out,
                         "\">%llu of %llu elements depart; max abs %.6g, max rel %.6g</failure>\n"
                         "    </testcase>\n",
                         (unsigned long long)o->metrics.n_mismatched,
                         (unsigned long long)o->metrics.n_elements, o->metrics.max_abs,
                         o->metrics.max_rel);
    }
    ox_strbuf_puts(out, "  </testsuite>\n</testsuites>\n");
}
