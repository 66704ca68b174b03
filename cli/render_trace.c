#include "render_trace.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 8 };

static bool has_nan(const struct ox_trace_entry *e)
{
    return e->n_nan > 0;
}

static bool has_inf(const struct ox_trace_entry *e)
{
    return e->n_inf > 0;
}

static const struct {
    const char *key, *text;
    bool (*is)(const struct ox_trace_entry *e);
} events[] = {{"first_nan", "first NaN", has_nan},
              {"first_inf", "first infinity", has_inf},
              {"first_denormals", "first flood of denormals", ox_trace_is_flood}};

static const struct ox_trace_entry *find_first(const struct ox_trace *trace,
                                               bool (*is)(const struct ox_trace_entry *e))
{
    for (size_t i = 0; i < ox_trace_count(trace); i++)
        if (is(ox_trace_at(trace, i)))
            return ox_trace_at(trace, i);
    return NULL;
}

/* ---- Text ---------------------------------------------------------------------------------------------------------- */

static void place(struct ox_strbuf *out, const struct ox_trace_entry *e)
{
    ox_strbuf_putc(out, '\'');
    ox_strbuf_name(out, e->name, 128);
    ox_strbuf_putc(out, '\'');
    if (*e->op_type) {
        ox_strbuf_puts(out, " of node ");
        ox_strbuf_name(out, e->node, 128);
        ox_strbuf_puts(out, " (");
        ox_strbuf_name(out, e->op_type, 64);
        ox_strbuf_putc(out, ')');
    }
}

static void headroom(const struct ox_trace *trace, struct ox_strbuf *out)
{
    size_t n_half = 0, n_brain = 0, n_int8 = 0, n = 0;
    for (size_t i = 0; i < ox_trace_count(trace); i++) {
        const struct ox_trace_entry *e = ox_trace_at(trace, i);
        n += e->n_elements > 0;
        n_half += e->half_bits < 0;
        n_brain += e->bfloat16_bits < 0;
        n_int8 += e->int8_db < 20;
        if (e->half_bits < 0 && n_half <= SHOWN) {
            ox_strbuf_puts(out, "  float16 overflows at ");
            place(out, e);
            ox_strbuf_printf(out, ": up to %.6g\n", e->largest);
        }
        if (e->int8_db < 20 && n_int8 <= SHOWN) {
            ox_strbuf_puts(out, "  int8 in one range leaves ");
            ox_strbuf_printf(out, "%.1f dB at ", e->int8_db);
            place(out, e);
            ox_strbuf_printf(out, ": up to %.6g, the typical element %.3g\n", e->largest,
                             sqrt(e->sum_squares / (double)e->n_elements));
        }
    }
    ox_strbuf_printf(
        out,
        "of %zu values %zu overflow float16, %zu bfloat16; %zu are left with less than "
        "20 dB by int8 in one range\n",
        n, n_half, n_brain, n_int8);
}

void trace_print_text(const struct ox_trace *trace, struct ox_strbuf *out)
{
    for (size_t k = 0; k < sizeof events / sizeof *events; k++) {
        const struct ox_trace_entry *e = find_first(trace, events[k].is);
        ox_strbuf_printf(out, "%s: ", events[k].text);
        if (!e) {
            ox_strbuf_puts(out, "none\n");
            continue;
        }
        place(out, e);
        ox_strbuf_printf(out, ": %llu NaN, %llu infinite, %llu denormal of %llu elements\n",
                         (unsigned long long)e->n_nan, (unsigned long long)e->n_inf,
                         (unsigned long long)e->n_denormal, (unsigned long long)e->n_elements);
    }
    headroom(trace, out);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static void count(struct ox_json *json, const char *key, uint64_t n)
{
    ox_json_key(json, key);
    ox_json_uint(json, n);
}

static void entry(struct ox_json *json, const struct ox_trace_entry *e)
{
    ox_json_object(json);
    ox_json_key(json, "name");
    ox_json_string(json, e->name);
    ox_json_key(json, "node");
    ox_json_string(json, e->node);
    ox_json_key(json, "op_type");
    ox_json_string(json, e->op_type);
    count(json, "elements", e->n_elements);
    count(json, "nan", e->n_nan);
    count(json, "inf", e->n_inf);
    count(json, "denormal", e->n_denormal);
    count(json, "float16_denormal", e->n_half_denormal);
    ox_json_finite(json, "largest", e->largest);
    ox_json_finite(json, "smallest", e->smallest);
    ox_json_finite(json, "float16_headroom_bits", e->half_bits);
    ox_json_finite(json, "bfloat16_headroom_bits", e->bfloat16_bits);
    ox_json_finite(json, "int8_sqnr_db", e->int8_db);
    ox_json_end_object(json);
}

void trace_print_json(const struct ox_trace *trace, struct ox_json *json)
{
    ox_json_key(json, "trace");
    ox_json_object(json);
    for (size_t k = 0; k < sizeof events / sizeof *events; k++) {
        const struct ox_trace_entry *e = find_first(trace, events[k].is);
        ox_json_key(json, events[k].key);
        if (e)
            entry(json, e);
        else
            ox_json_null(json);
    }
    ox_json_key(json, "values");
    ox_json_array(json);
    for (size_t i = 0; i < ox_trace_count(trace); i++)
        entry(json, ox_trace_at(trace, i));
    ox_json_end_array(json);
    ox_json_end_object(json);
}
