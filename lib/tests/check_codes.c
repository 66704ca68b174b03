#include "tests/check_codes.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_constants(struct ox_strbuf *text, const struct constant *list, size_t n)
{
    unsigned state = 12345;
    ox_strbuf_puts(text, n ? "<" : "");
    for (size_t i = 0; i < n; i++) {
        size_t count = 1;
        const char *shape = strchr(list[i].declared, '[');
        for (const char *p = shape; p && *p != ']'; p++)
            if (*p == '[' || *p == ',')
                count *= strtoul(p + 1, NULL, 10);
        ox_strbuf_printf(text, "%s%s = {", i ? ", " : "", list[i].declared);
        for (size_t k = 0; k < count; k++) {
            state = state * 1103515245 + 12345;
            const int value =
                list[i].low + (int)((state >> 16) % (unsigned)(list[i].high - list[i].low + 1));
            if (strncmp(list[i].declared, "float", 5) == 0)
                ox_strbuf_printf(text, "%s%.8f", k ? "," : "", (double)value / 64);
            else
                ox_strbuf_printf(text, "%s%d", k ? "," : "", value);
        }
        ox_strbuf_puts(text, "}");
    }
    ox_strbuf_puts(text, n ? "> " : "");
}

void check_codes(const char *graph, const struct constant *constants, size_t n_constants,
                 struct shape shape, float step, const struct want *wants, size_t n_wants)
{
    static float slow[MOST], fast[MOST], two[MOST];
    struct ox_strbuf text;
    size_t n_slow, n_fast, n_two, off = 0;
    const char *body = strchr(graph, '{');
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD);
    ox_strbuf_add(&text, graph, (size_t)(body - graph));
    add_constants(&text, constants, n_constants);
    ox_strbuf_puts(&text, body);
    ck_assert(!text.failed);
    run_level(text.data, 0, 1, shape.rank, shape.dims, slow, &n_slow);
    run_level(text.data, 2, 1, shape.rank, shape.dims, fast, &n_fast);
    run_level(text.data, 2, 2, shape.rank, shape.dims, two, &n_two);
    ck_assert_uint_eq(n_slow, n_fast);
    for (size_t i = 0; i < n_slow; i++) {
        ck_assert_msg(fabsf(slow[i] - fast[i]) <= step * 1.001f, "%zu: %g, not %g", i, fast[i],
                      slow[i]);
        off += fabsf(slow[i] - fast[i]) > step * 0.001f;
    }
    ck_assert_uint_le(off * 100, n_slow);
    ck_assert_mem_eq(fast, two, n_fast * sizeof(float)); /* threads change no bit */
    check_nodes(text.data, wants, n_wants);
    ox_strbuf_release(&text);
}
