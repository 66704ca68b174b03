/* Constant folding of large constants: how far it goes, and what is picked from a table before it is computed. */
#include <check.h>
#include <stdio.h>

#include "tests/becomes.h"
#include "tests/run_suite.h"

/* What computes on a weight w of 256 KB, with 300,000 bytes to grow by, leaves so many nodes and constants. */
static void folds_to(const char *nodes, size_t n_nodes, size_t n_inits)
{
    struct ox_strbuf text;
    struct text_run f;
    const struct ox_optimize_options options = {.fold_bytes = 300000};
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD "g (float[1,256] x) => (float[A,B,C] y) <int64[1] o = {0}, "
                               "int64[1] h = {128}, int64[1] n = {256}, float[256,256] w = {0");
    for (size_t i = 1; i < 256 * (size_t)256; i++)
        ox_strbuf_puts(&text, i % 3 ? ",1" : ",2");
    ox_strbuf_printf(&text, "}> { %s }", nodes);
    ck_assert(!text.failed);
    text_open(&f, text.data);
    ck_assert_msg(ox_optimize(f.model, &options, NULL, &f.err) == OX_OK, "%s", f.err.message);
    ck_assert_uint_eq(f.model->graph->n_nodes, n_nodes);
    ck_assert_uint_eq(f.model->graph->n_inits, n_inits);
    text_close(&f);
    ox_strbuf_release(&text);
}

START_TEST(folding_may_add_a_tenth_of_large_constants)
{
    static const struct {
        const char *dims;
        uint64_t most;
    } cases[] = {{"30000000", 16 << 20}, {"1000,100000", 40000000}, {"0", 16 << 20}};
    struct text_run f;
    char text[256];
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1] x) => (float[A] y) "
             "<float[%s] w = [\"location\": \"none\"]> { y = Add(x, w) }",
             cases[_i].dims);
    text_open(&f, text);
    ck_assert_uint_eq(ox_fold_bytes(f.model), cases[_i].most);
    text_close(&f);
}
END_TEST

static void folds_away(const char *nodes)
{
    folds_to(nodes, 1, 1);
}

/* A table t of 256 rows of 4096, of codes q, scales s and what is repeated for each row, r; indices i of the input x. */
static void table_becomes(const char *nodes, const char *operators, unsigned rank,
                          const int64_t *dims)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD "g (float[N] x) => (float[A] y) <int64[1] k = {-1}, "
                               "int64[1] l = {2}, int64[0] e = {}, int8[256,1] q = {-128");
    for (int i = 1; i < 256; i++)
        ox_strbuf_printf(&text, ",%d", i * 37 % 256 - 128);
    ox_strbuf_puts(&text, "}, float[256,1] s = {0");
    for (int i = 1; i < 256; i++)
        ox_strbuf_printf(&text, ",%d.5", i % 7 - 3);
    ox_strbuf_puts(&text, "}, float[1,4096] r = {0");
    for (int i = 1; i < 4096; i++)
        ox_strbuf_printf(&text, ",%d", i % 100);
    ox_strbuf_printf(&text,
                     "}> { i = Cast <to = 7> (x) f = Cast <to = 1> (q) a = Add(f, r) "
                     "t = Mul(s, a) %s }",
                     nodes);
    ck_assert(!text.failed);
    becomes(ox_strbuf_text(&text, NULL), operators, rank, dims);
    ox_strbuf_release(&text);
}

START_TEST(rows_of_a_large_table_are_picked_before_they_are_computed)
{
    table_becomes("g = Gather(t, i) y = ReduceMax <keepdims = 0> (g, k)",
                  "Cast Gather Gather Cast Add Mul ReduceMax", 1, SHAPE(9));
    table_becomes("g = Gather(t, i) h = Gather(t, l) z = Add(g, h) "
                  "y = ReduceMax <keepdims = 0> (z, k)",
                  "Cast Gather Gather Cast Add Mul Gather Gather Cast Add Mul Add ReduceMax", 1,
                  SHAPE(9));
}
END_TEST

/* w: 4096 x 256 weights of 8 bits. */
static void weights_become(const char *nodes, const char *operators)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD "g (float[N] x) => (float[A] y) <int64[1] k = {-1}, "
                               "int8[4096,256] w = {0");
    for (int i = 1; i < 4096 * 256; i++)
        ox_strbuf_printf(&text, ",%d", i * 37 % 251 - 125);
    ox_strbuf_printf(&text, "}> { i = Cast <to = 7> (x) %s }", nodes);
    ck_assert(!text.failed);
    becomes(ox_strbuf_text(&text, NULL), operators, 1, SHAPE(9));
    ox_strbuf_release(&text);
}

START_TEST(rows_of_turned_weights_are_picked_before_they_are_turned)
{
    weights_become("t = Transpose <perm = [1, 0]> (w) g = Gather(t, i) c = Cast <to = 1> (g) "
                   "a = ReduceSum <keepdims = 0> (c, k) h = Gather(w, i) d = Cast <to = 1> (h) "
                   "b = ReduceSum <keepdims = 0> (d, k) y = Add(a, b)",
                   "Cast Gather Transpose Cast ReduceSum Gather Cast ReduceSum Add");
    /* Nothing else needs the weights. */
    weights_become("t = Transpose(w) g = Gather(t, i) c = Cast <to = 1> (g) "
                   "y = ReduceSum <keepdims = 0> (c, k)",
                   "Cast Gather Cast ReduceSum");
}
END_TEST

START_TEST(a_table_that_is_needed_whole_is_computed)
{
    /* Something else reads it; what is repeated for each row has an axis too many for one row; what may be repeated may have as
     * many rows. */
    table_becomes("g = Gather(t, i) h = ReduceMax <keepdims = 1> (t) z = Add(g, h) "
                  "y = ReduceMax <keepdims = 0> (z, k)",
                  "Cast Gather Add ReduceMax", 1, SHAPE(9));
    table_becomes("o = Reshape(i, e) g = Gather(t, o) y = ReduceMax <keepdims = 1> (g, k)",
                  "Cast Reshape Gather ReduceMax", 1, SHAPE(1));
    table_becomes("g = Gather <axis = 1> (t, l) j = Squeeze(g, k) y = Gather(j, i)", "Cast Gather",
                  1, SHAPE(9));
    table_becomes("u = Unsqueeze(x, k) p = Mul(t, u) g = Gather(p, i) "
                  "y = ReduceMax <keepdims = 0> (g, k)",
                  "Cast Unsqueeze Mul Gather ReduceMax", 1, SHAPE(1));
}
END_TEST

START_TEST(what_makes_constants_large_is_folded_on_the_way)
{
    /* Into a sum with constants; what meets the input stays to be made as the model runs. */
    folds_away(
        "s = Concat <axis = 0> (h, n) e = Expand(o, s) i = Unsqueeze(e, o) c = Cast <to = 1> (i) "
        "v = Slice(w, o, h, o) z = Mul(c, v) y = Add(z, x)");
    folds_to("s = Concat <axis = 0> (h, n) m = ReduceMean <keepdims = 0> (w) e = Expand(m, s) "
             "i = Unsqueeze(e, o) y = Add(i, x)",
             3, 3);
    folds_to("s = Concat <axis = 0> (h, n) m = ReduceMean <keepdims = 0> (w) e = Expand(m, s) "
             "v = Slice(w, o, h, o) z = Mul(e, v) i = Unsqueeze(z, o) k = Unsqueeze(e, o) "
             "t = Add(i, x) y = Mul(t, k)",
             4, 4);
}
END_TEST

START_TEST(folding_counts_the_constants_that_go)
{
    /* The halves, the other way round: 256 KB at each step, but the weight and the steps before go. */
    folds_away("a = Slice(w, o, h, o) b = Slice(w, h, n, o) c = Concat <axis = 0> (b, a) "
               "u = Unsqueeze(c, o) y = MatMul(x, u)");
    /* Weights standardized: each is used more than once. */
    folds_away("m = ReduceMean(w, o) s = Sub(w, m) q = Mul(s, s) "
               "v = ReduceMean(q, o) r = Sqrt(v) d = Div(s, r) u = Unsqueeze(d, o) "
               "y = MatMul(x, u)");
}
END_TEST

START_TEST(a_branch_leaves_constants_of_the_graph_around_it)
{
    /* a is made by folding and used in the branch alone, by one node; z goes, a stays: it is not the branch's to drop. */
    folds_to("a = Neg(w) m = ReduceMax <keepdims = 0> (x) z = Sub(m, m) k = Less(m, z) "
             "y = If(k) <then_branch = t () => (float[1,1,256] p) "
             "{ q = Mul(a, a) u = Unsqueeze(q, o) p = MatMul(x, u) }, "
             "else_branch = e () => (float[1,1,256] r) { r = Unsqueeze(x, o) }>",
             4, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("passes: folding");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, folding_may_add_a_tenth_of_large_constants, 0, 3);
    tcase_add_test(all, rows_of_a_large_table_are_picked_before_they_are_computed);
    tcase_add_test(all, rows_of_turned_weights_are_picked_before_they_are_turned);
    tcase_add_test(all, a_table_that_is_needed_whole_is_computed);
    tcase_add_test(all, what_makes_constants_large_is_folded_on_the_way);
    tcase_add_test(all, folding_counts_the_constants_that_go);
    tcase_add_test(all, a_branch_leaves_constants_of_the_graph_around_it);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
