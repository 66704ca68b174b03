#include "tests/check_fused.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void add_weights(struct ox_strbuf *text, const char *const *shapes, size_t n)
{
    unsigned state = 12345;
    ox_strbuf_puts(text, n ? "<" : "");
    for (size_t i = 0; i < n; i++) {
        bool positive = shapes[i][0] == '+';
        const char *shape = shapes[i] + positive;
        size_t count = 1;
        for (const char *p = shape; *p; p++)
            if (p == shape || p[-1] == ',')
                count *= strtoul(p, NULL, 10);
        ox_strbuf_printf(text, "%sfloat[%s] w%zu = {", i ? ", " : "", shape, i);
        for (size_t k = 0; k < count; k++) {
            state = state * 1103515245 + 12345;
            double value = (double)(state >> 16 & 0x3FF) / 1024 - (positive ? -0.25 : 0.5);
            ox_strbuf_printf(text, "%s%.6f", k ? "," : "", value);
        }
        ox_strbuf_puts(text, "}");
    }
    ox_strbuf_puts(text, n ? "> " : "");
}

void check_fused(const char *graph, const char *const *shapes, size_t n_shapes, unsigned rank,
                 const int64_t *dims, const struct want *wants, size_t n_wants)
{
    static float slow[MOST], fast[MOST], two[MOST];
    struct ox_strbuf text;
    size_t n_slow, n_fast, n_two;
    const char *body = strchr(graph, '{');
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD);
    ox_strbuf_add(&text, graph, (size_t)(body - graph));
    add_weights(&text, shapes, n_shapes);
    ox_strbuf_puts(&text, body);
    ck_assert(!text.failed);
    const uint64_t macs = run_level(text.data, 0, 1, rank, dims, slow, &n_slow);
    const uint64_t fast_macs = run_level(text.data, 2, 1, rank, dims, fast, &n_fast);
    /* Branches in one, or borders that are convolved rather than cut off, need a few others; of integers none are counted. */
    ck_assert_msg(macs * 6 / 10 <= fast_macs && (!macs || fast_macs * 6 / 10 <= macs),
                  "%llu multiply-adds, not %llu", (unsigned long long)fast_macs,
                  (unsigned long long)macs);
    run_level(text.data, 2, 2, rank, dims, two, &n_two);
    ck_assert_uint_eq(n_slow, n_fast);
    for (size_t i = 0; i < n_slow; i++)
        ck_assert_msg(slow[i] == fast[i] || /* infinite ones */
                          fabsf(slow[i] - fast[i]) <= 2e-5f * (1 + fabsf(slow[i])),
                      "%zu: %g, not %g", i, fast[i], slow[i]);
    ck_assert_mem_eq(fast, two, n_fast * sizeof(float)); /* threads change no bit */
    check_nodes(text.data, wants, n_wants);
    ox_strbuf_release(&text);
}
