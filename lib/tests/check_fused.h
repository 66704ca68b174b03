/* A graph at -O0 and -O2: the same results, and how many of which operators it has then. */
#ifndef OX_TESTS_CHECK_FUSED_H
#define OX_TESTS_CHECK_FUSED_H

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "graph/pass.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> "

enum { MOST = 20000 };

/* Initializers named w0, w1, ... of these shapes, in the text syntax: values between -0.5 and 0.5; those called v are positive. */
static void add_constants(struct ox_strbuf *text, const char *const *shapes, size_t n)
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

/* How often each level-2 operator of ours stands in the rewritten graph: "FusedConv 2". */
static size_t count_own(const struct ox_model *model, const char *op_type)
{
    size_t n = 0;
    for (size_t i = 0; i < model->graph->n_nodes; i++)
        n += strcmp(model->graph->nodes[i]->op_type, op_type) == 0;
    return n;
}

struct want {
    const char *op_type;
    size_t n;
};

/* Returns the multiply-adds that the profile counts. */
static uint64_t run_level(const char *text, int level, unsigned threads, unsigned rank,
                          const int64_t *dims, float *out, size_t *n_out)
{
    static float given[MOST];
    struct text_run f;
    size_t n = 1, n_events;
    uint64_t macs = 0;
    for (unsigned d = 0; d < rank; d++)
        n *= (size_t)dims[d];
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++)
        given[i] = (float)((i * 7919) % 1000) / 500 - 1;
    const struct ox_run_options options = {.level = level, .profile = true};
    text_open(&f, text);
    ox_env_set_threads(f.env, threads);
    ck_assert_msg(text_plan(&f, &options) == OX_OK, "%s", f.err.message);
    text_give(&f, OX_FLOAT32, rank, dims, given);
    for (int round = 0; round < 2; round++) { /* weights are packed in the first */
        text_must_run(&f);
        const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
        ck_assert_uint_le(y->n, MOST);
        *n_out = y->n;
        memcpy(out, y->data, y->n * sizeof(float));
    }
    const struct ox_node_event *events = ox_session_events(f.session, &n_events);
    for (size_t i = 0; i < n_events; i++)
        macs += events[i].macs;
    text_close(&f);
    return macs;
}

static void check_same(const char *graph, const char *const *shapes, size_t n_shapes, unsigned rank,
                       const int64_t *dims, const struct want *wants, size_t n_wants)
{
    static float slow[MOST], fast[MOST], two[MOST];
    struct ox_strbuf text;
    size_t n_slow, n_fast, n_two;
    const char *body = strchr(graph, '{');
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD);
    ox_strbuf_add(&text, graph, (size_t)(body - graph));
    add_constants(&text, shapes, n_shapes);
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
    struct text_run f;
    text_open(&f, text.data);
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true};
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    for (size_t i = 0; i < n_wants; i++)
        ck_assert_msg(count_own(f.model, wants[i].op_type) == wants[i].n, "%zu of %s, not %zu",
                      count_own(f.model, wants[i].op_type), wants[i].op_type, wants[i].n);
    text_close(&f);
    ox_strbuf_release(&text);
}

#define LIST(...)                                                                                  \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)
#define DIMS(...)                                                                                  \
    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[])                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define WANT(...)                                                                                  \
    (const struct want[]){__VA_ARGS__},                                                            \
        sizeof((const struct want[]){__VA_ARGS__}) / sizeof(struct want)

#endif
