#include "tests/becomes.h"

#include <check.h>
#include <string.h>

enum { MOST = 512 };

struct result {
    size_t n;
    float y[MOST];
};

static void give_ramp(struct text_run *f, unsigned rank, const int64_t *dims)
{
    size_t n;
    float x[MOST];
    ck_assert(ox_dims_count(rank, dims, &n) && n <= MOST);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((i * 7) % 11) - 4.5f;
    text_give(f, OX_FLOAT32, rank, dims, x);
}

static void run_plain(struct text_run *f, unsigned rank, const int64_t *dims, struct result *out)
{
    const struct ox_run_options options = {.level = 0};
    ck_assert_msg(text_plan(f, &options) == OX_OK, "%s", f->err.message);
    give_ramp(f, rank, dims);
    text_must_run(f);
    const struct ox_tensor *tensor = ox_datum_get_tensor(f->out[0]);
    ck_assert_uint_le(tensor->n, MOST);
    out->n = tensor->n;
    for (size_t i = 0; i < tensor->n; i++)
        out->y[i] = (float)ox_tensor_get_double(tensor, i);
}

void becomes_with(bool subgraphs, const char *text, const char *operators, unsigned rank,
                  const int64_t *dims)
{
    struct text_run before, after;
    struct result expected, got;
    struct ox_strbuf list;
    text_open(&before, text);
    run_plain(&before, rank, dims, &expected);
    text_close(&before);
    text_open(&after, text);
    ck_assert_msg(ox_optimize(after.model, NULL, NULL, &after.err) == OX_OK, "%s",
                  after.err.message);
    ox_strbuf_init(&list);
    for (size_t g = 0; g < (subgraphs ? after.model->n_graphs : 1); g++) {
        const struct ox_graph *graph = after.model->graphs[g];
        ox_strbuf_puts(&list, g ? " /" : "");
        for (size_t i = 0; i < graph->n_nodes; i++)
            ox_strbuf_printf(&list, "%s%s", i || g ? " " : "", graph->nodes[i]->op_type);
    }
    ck_assert_str_eq(ox_strbuf_text(&list, NULL), operators);
    ox_strbuf_release(&list);
    run_plain(&after, rank, dims, &got);
    ck_assert_uint_eq(got.n, expected.n);
    for (size_t i = 0; i < got.n; i++)
        ck_assert_float_eq_tol(got.y[i], expected.y[i], 1e-4f);
    text_close(&after);
}

void becomes(const char *text, const char *operators, unsigned rank, const int64_t *dims)
{
    becomes_with(false, text, operators, rank, dims);
}
