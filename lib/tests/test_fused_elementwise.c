/* Runs of elementwise operators: as one node, the same bits as one by one. */
#include <check.h>
#include <string.h>

#include "graph/pass.h"
#include "tests/check_fused.h"
#include "tests/run_suite.h"

static const char *const chains[] = {
    "b = Mul(x, w0) c = Add(b, w1) d = Relu(c) y = Sub(w2, d)",
    "b = Sigmoid(x) c = Div(b, w3) d = Min(c, w4) e = Tanh(d) y = Mul(e, x)",
    "b = Add(w0, x) c = Exp(b) d = Add(c, w5) y = Sqrt(d)",
    "b = Mul(x, x) c = Neg(b) y = Max(c, w6)",
    "b = Concat <axis = 3> (x, w3, x, w7) c = Mul(b, w8) d = Add(c, w1) y = Relu(d)",
};

START_TEST(runs_of_elementwise_operators_are_one_node_of_the_same_bits)
{
    static const char *const shapes[] = {"13",        "6,1,1", "1",       "5,6,7,13", "7,1",
                                         "+1,6,7,13", "7,13",  "5,6,7,2", "41"};
    static float one[MOST], each[MOST];
    const int64_t dims[] = {5, 6, 7, 13};
    struct ox_strbuf text[2];
    size_t n[2];
    for (unsigned i = 0; i < 2; i++) {
        ox_strbuf_init(&text[i]);
        ox_strbuf_printf(&text[i], HEAD "g (float[5,6,7,13] x) => (float[A,B,C,D] y%s) ",
                         i ? ", float[A,B,C,D] b, float[A,B,C,D] c, float[A,B,C,D] d" : "");
        if (i && _i == 3)
            ox_strbuf_clear(&text[i]);
        if (i && _i == 3)
            ox_strbuf_puts(&text[i], HEAD "g (float[5,6,7,13] x) => (float[A,B,C,D] y, "
                                          "float[A,B,C,D] b, float[A,B,C,D] c) ");
        add_weights(&text[i], shapes, OX_COUNT(shapes));
        ox_strbuf_printf(&text[i], "{ %s }", chains[_i]);
        ck_assert(!text[i].failed);
        run_level(text[i].data, 2, 1, 4, dims, i ? each : one, &n[i]);
    }
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_mem_eq(one, each, n[0] * sizeof *one);
    struct text_run f;
    text_open(&f, text[0].data);
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true};
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    ck_assert_uint_eq(count_own(f.model, "Elementwise"), 1);
    ck_assert_uint_eq(f.model->graph->n_nodes, 1);
    text_close(&f);
    ox_strbuf_release(&text[0]);
    ox_strbuf_release(&text[1]);
}
END_TEST

/* Sums of many maps, which would all stay in memory till the end. */
START_TEST(a_run_reads_a_few_maps_of_its_shape)
{
    check_fused("g (float[4,9,70] x) => (float[A,B,C] y) { z = Constant <value = int64 {0}> () "
                "a = CumSum(x, z) o = Constant <value = int64 {1}> () b = CumSum(x, o) "
                "c = CumSum <reverse = 1> (x, z) d = CumSum <exclusive = 1> (x, o) "
                "e = CumSum <reverse = 1> (x, o) f = CumSum <exclusive = 1> (x, z) "
                "ab = Add(a, b) ac = Add(ab, c) ad = Mul(ac, d) ae = Add(ad, e) af = Sub(ae, f) "
                "ag = Add(af, x) y = Tanh(ag) }",
                LIST("1"), DIMS(4, 9, 70), WANT({"Elementwise", 2}, {"Add", 0}, {"Tanh", 0}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused: elementwise");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, runs_of_elementwise_operators_are_one_node_of_the_same_bits, 0,
                        OX_COUNT(chains));
    tcase_add_test(all, a_run_reads_a_few_maps_of_its_shape);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
