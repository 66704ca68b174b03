/* Rewriting: what each pass makes of small graphs, and what it must leave alone. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "graph/pass.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]> "

/* The operators of the main graph, in order. */
static void operators_are(const struct ox_model *model, const char *expected)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    for (size_t i = 0; i < model->graph->n_nodes; i++)
        ox_strbuf_printf(&text, "%s%s", i ? " " : "", model->graph->nodes[i]->op_type);
    ck_assert_str_eq(ox_strbuf_text(&text, NULL), expected);
    ox_strbuf_release(&text);
}

static void optimized_is(const char *text, const char *expected)
{
    struct text_run f;
    text_open(&f, text);
    ck_assert_msg(ox_optimize(f.model, NULL, NULL, &f.err) == OX_OK, "%s", f.err.message);
    operators_are(f.model, expected);
    text_close(&f);
}

/* Runs the model on [1, 2, ... n] as it stands and rewritten: the outputs must be equal. */
static void same_at_every_level(const char *text, int64_t n)
{
    float given[64], wanted[256];
    size_t n_wanted = 0;
    for (int64_t i = 0; i < n; i++)
        given[i] = (float)(i + 1);
    for (int level = 0; level <= 2; level++) {
        struct text_run f;
        const struct ox_run_options options = {.level = level};
        text_must_plan(&f, text, &options);
        text_give_floats(&f, n, given);
        for (int round = 0; round < 2; round++) {
            text_must_run(&f);
            const struct ox_tensor *tensor = ox_datum_get_tensor(f.out[0]);
            if (level == 0) {
                n_wanted = tensor->n;
                memcpy(wanted, tensor->data, n_wanted * sizeof(float));
            }
            ck_assert_uint_eq(tensor->n, n_wanted);
            for (size_t i = 0; i < n_wanted; i++)
                ck_assert_float_eq_tol(((const float *)tensor->data)[i], wanted[i], 1e-5f);
        }
        text_close(&f);
    }
}

START_TEST(a_copy_changes_alone)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[N] x, bool c) => (float[N] y) { a = Neg(x) y = If(c) <"
                       "then_branch = t () => (float[N] r) { r = Abs(a) }, "
                       "else_branch = e () => (float[N] s) { s = Exp(a) }> }");
    struct ox_model *copy;
    ck_assert_int_eq(ox_model_copy(&copy, f.model, &f.err), OX_OK);
    ck_assert_uint_eq(copy->n_graphs, 3);
    for (size_t g = 0; g < 3; g++) {
        const struct ox_graph *graph = copy->graphs[g];
        ck_assert_ptr_eq(graph->model, copy);
        ck_assert_ptr_ne(graph, f.model->graphs[g]);
        for (size_t i = 0; i < graph->n_nodes; i++)
            ck_assert_ptr_eq(graph->nodes[i]->graph, graph);
    }
    const struct ox_value *captured = ox_graph_value(copy->graphs[1], "a");
    ck_assert_ptr_eq(captured->outer, ox_graph_value(copy->graph, "a"));
    ck_assert_ptr_eq(copy->graph->nodes[1]->attrs[0].graphs[0], copy->graphs[1]);
    ox_graph_remove_nodes(copy->graph, (const bool[]){true, true});
    operators_are(copy, "");
    operators_are(f.model, "Neg If");
    ck_assert_uint_eq(f.model->n_graphs, 3);
    ox_model_release(copy);
    text_close(&f);
}
END_TEST

START_TEST(constants_are_folded)
{
    optimized_is(HEAD "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}>"
                      "{ c = Add(a, b) d = Mul(c, a) y = Add(x, d) }",
                 "Add");
}
END_TEST

START_TEST(constant_nodes_become_initializers)
{
    optimized_is(HEAD "g (float[2] x) => (float[2] y)"
                      "{ c = Constant <value_floats = [1.0, 2.0]> () y = Add(x, c) }",
                 "Add");
}
END_TEST

START_TEST(shape_arithmetic_is_folded)
{
    optimized_is(HEAD "g (float[2,3,4] x) => (float[A,B] y) <int64[1] m = {-1}, int64[1] z = {0}>"
                      "{ s = Shape(x) d = Gather(s, z) t = Concat <axis = 0> (d, m) "
                      "y = Reshape(x, t) }",
                 "Reshape");
}
END_TEST

START_TEST(random_nodes_are_not_folded_or_merged)
{
    optimized_is(HEAD "g (float[2] x) => (float[2] y) { a = RandomNormal <shape = [2]> () "
                      "b = RandomNormal <shape = [2]> () c = Add(a, b) y = Add(c, x) }",
                 "RandomNormal RandomNormal Add Add");
}
END_TEST

START_TEST(a_default_that_callers_may_replace_is_no_constant)
{
    optimized_is(HEAD "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}>"
                      "{ d = Neg(w) y = Add(x, d) }",
                 "Neg Add");
}
END_TEST

START_TEST(a_replaced_default_counts_at_every_level)
{
    for (int level = 0; level <= 2; level++) {
        struct text_run f;
        const struct ox_run_options options = {.level = level};
        text_must_plan(&f,
                       HEAD "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}>"
                            "{ d = Neg(w) y = Add(x, d) }",
                       &options);
        text_give_floats(&f, 2, (const float[]){10, 20});
        text_give_floats(&f, 2, (const float[]){3, 4});
        text_must_run(&f);
        const float *y = ox_datum_get_tensor(f.out[0])->data;
        ck_assert_float_eq(y[0], 7);
        ck_assert_float_eq(y[1], 16);
        text_close(&f);
    }
}
END_TEST

START_TEST(identities_are_dropped_and_names_of_outputs_stay)
{
    optimized_is(HEAD "g (float[2] x) => (float[2] y) { a = Identity(x) b = Relu(a) "
                      "c = Identity(b) d = Dropout(c) y = Identity(d) }",
                 "Relu");
    optimized_is(HEAD "g (float[2] x) => (float[2] y) { y = Identity(x) }", "Identity");
}
END_TEST

START_TEST(transposes_that_cancel_are_dropped)
{
    optimized_is(HEAD "g (float[2,3,4] x) => (float[2,3,4] y) "
                      "{ a = Transpose <perm = [1,2,0]> (x) b = Transpose <perm = [2,0,1]> (a) "
                      "y = Relu(b) }",
                 "Relu");
    optimized_is(HEAD "g (float[2,3,4] x) => (float[4,2,3] y) "
                      "{ a = Transpose <perm = [1,2,0]> (x) b = Transpose <perm = [1,2,0]> (a) "
                      "y = Relu(b) }",
                 "Transpose Relu");
}
END_TEST

START_TEST(a_neutral_constant_that_widens_is_kept)
{
    optimized_is(HEAD "g (float[2] x) => (float[2] y) <float z = {0}> { y0 = Add(x, z) "
                      "y = Relu(y0) }",
                 "Relu");
    optimized_is(HEAD "g (float[2] x) => (float[1,2] y) <float[1,1] z = {0}> { y0 = Add(x, z) "
                      "y = Relu(y0) }",
                 "Add Relu");
}
END_TEST

START_TEST(neutral_constants_of_any_shape_are_dropped)
{
    optimized_is(HEAD "g (float[N,2] x) => (float[N,2] y) <float[2] o = {1, 1}, "
                      "float[1,2] z = {0, 0}> { a = Mul(o, x) b = Sub(a, z) y = Relu(b) }",
                 "Relu");
    optimized_is(HEAD "g (float[N,2] x) => (float[N,2] y) <float[2] o = {1, 2}> "
                      "{ a = Mul(x, o) y = Relu(a) }",
                 "Mul Relu");
    optimized_is(HEAD "g (float[N,1] x) => (float[N,2] y) <float[2] o = {1, 1}> "
                      "{ a = Mul(x, o) y = Relu(a) }",
                 "Mul Relu");
    optimized_is(HEAD "g (float[2] x) => (float[2] y) <float[2] o = {1, 1}> "
                      "{ a = Div(o, x) y = Relu(a) }",
                 "Div Relu");
}
END_TEST

START_TEST(equal_nodes_are_merged)
{
    optimized_is(HEAD "g (float[2] x) => (float[2] y) "
                      "{ a = Exp(x) b = Exp(x) y = Add(a, b) }",
                 "Exp Add");
    optimized_is(HEAD "g (float[2] x) => (float[2] y, float[2] z) "
                      "{ y = Exp(x) z = Exp(x) }",
                 "Exp Exp");
}
END_TEST

START_TEST(a_captured_value_stays)
{
    optimized_is(HEAD "g (float[N] x, bool c) => (float[N] y) { a = Identity(x) y = If(c) <"
                      "then_branch = t () => (float[N] r) { r = Abs(a) }, "
                      "else_branch = e () => (float[N] s) { s = Exp(a) }> }",
                 "Identity If");
}
END_TEST

START_TEST(kept_values_stay)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[2] x) => (float[2] y) { a = Identity(x) y = Relu(a) }");
    const struct ox_optimize_options options = {.keep = (const char *const[]){"a"}, .n_keep = 1};
    struct ox_optimize_report report;
    ck_assert_int_eq(ox_optimize(f.model, &options, &report, &f.err), OX_OK);
    operators_are(f.model, "Identity Relu");
    ck_assert_uint_eq(report.nodes_before, 2);
    ck_assert_uint_eq(report.nodes_after, 2);
    text_close(&f);
}
END_TEST

START_TEST(an_unknown_pass_is_refused)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[2] x) => (float[2] y) { y = Relu(x) }");
    const struct ox_optimize_options options = {.passes = (const char *const[]){"magic"},
                                                .n_passes = 1};
    ck_assert_int_eq(ox_optimize(f.model, &options, NULL, &f.err), OX_USAGE);
    text_close(&f);
}
END_TEST

START_TEST(a_model_out_of_order_is_left_to_those_who_name_the_fault)
{
    optimized_is(HEAD "g (float[2] x) => (float[2] y) { y = Relu(a) a = Identity(x) }",
                 "Relu Identity");
}
END_TEST

START_TEST(levels_agree_and_chosen_outputs_are_made)
{
    same_at_every_level(HEAD "g (float[N] x) => (float[N] y) <float[1] one = {1}>"
                             "{ a = Mul(x, one) b = Exp(a) c = Exp(x) d = Sub(b, c) "
                             "y = Add(d, x) }",
                        7);
    struct text_run f;
    const struct ox_run_options options = {
        .level = 2, .outputs = (const char *const[]){"a"}, .n_outputs = 1};
    text_must_plan(&f, HEAD "g (float[N] x) => (float[N] y) { a = Identity(x) y = Relu(a) }",
                   &options);
    text_give_floats(&f, 2, (const float[]){-1, 2});
    text_must_run(&f);
    ck_assert_float_eq(((const float *)ox_datum_get_tensor(f.out[0])->data)[0], -1);
    text_close(&f);
}
END_TEST

/* A run on float32[n,m,3]; a new reference to what it gives. */
static struct ox_datum *run_on(struct text_run *f, int64_t n, int64_t m)
{
    float ones[64];
    for (size_t i = 0; i < OX_COUNT(ones); i++)
        ones[i] = 1;
    for (; f->n_in > 0; f->n_in--)
        ox_datum_release(f->in[f->n_in - 1]);
    text_give(f, OX_FLOAT32, 3, (const int64_t[]){n, m, 3}, ones);
    text_must_run(f);
    return ox_datum_ref(f->out[0]);
}

START_TEST(open_sizes_of_zero_are_right_at_every_level)
{
    static const char *const bodies[] = {
        /* a target that could not say -1 beside an empty axis */
        "{ n = Shape<start = 0, end = 1>(x) m = Shape<start = 1, end = 2>(x) k = Mul(m, three) "
        "t = Concat<axis = 0>(n, k) r = Relu(x) y = Reshape(r, t) }",
        /* a branch for what is empty */
        "{ n = Size(x) c = Greater(n, zero) y = If(c) <then_branch = a () => (float[] p) { p = "
        "ReduceSum<keepdims = 0>(x) }, else_branch = b () => (float[] q) { q = Constant<value = "
        "float {7}>() }> }",
        /* the last of what is there */
        "{ n = Shape<start = 0, end = 1>(x) l = Sub(n, one) m = Max(l, nought) m1 = Squeeze(m) "
        "a = Squeeze(nought) b = Squeeze(one) y = Range(a, m1, b) }",
        "{ s = Shape(x) p = ReduceProd<keepdims = 0>(s) d = Max(p, zero) e = Min(d, unit) y = "
        "Cast<to = 1>(e) }",
        /* sums and greatest values of nothing, halves of it, products with it */
        "{ y = ReduceSum<keepdims = 0>(x) }",
        "{ w = Concat<axis = 1>(x, x) a, b = Split<num_outputs = 2, axis = 1>(w) c = Mul(a, b) y = "
        "Softmax<axis = 2>(c) }",
        "{ t = Transpose<perm = [0, 2, 1]>(x) p = MatMul(x, t) q = Add(p, p) y = Relu(q) }",
        "{ m = ReduceMean<axes = [2], keepdims = 1>(x) d = Sub(x, m) y = Mul(d, d) }",
        "{ y = Concat<axis = 0>(x, x, x) }"};
    for (size_t b = 0; b < OX_COUNT(bodies); b++) {
        char text[2048];
        snprintf(
            text, sizeof text,
            "<ir_version: 10, opset_import: [\"\" : %d]> g (float[n,m,3] x) => (y) <int64[1] one "
            "= {1}, int64[1] three = {3}, int64[1] nought = {0}, int64 zero = {0}, int64 unit = "
            "{1}> %s",
            strstr(bodies[b], "axes = ") ? 17 : 20, bodies[b]);
        struct text_run f[3];
        for (int level = 0; level < 3; level++)
            text_must_plan(&f[level], text, &(struct ox_run_options){.level = level});
        static const int64_t sizes[][2] = {{2, 4}, {0, 4}, {2, 4}, {2, 0}, {0, 0}, {1, 1}};
        for (size_t k = 0; k < OX_COUNT(sizes); k++) {
            struct ox_datum *wanted = run_on(&f[0], sizes[k][0], sizes[k][1]);
            for (int level = 1; level < 3; level++) {
                struct ox_datum *got = run_on(&f[level], sizes[k][0], sizes[k][1]);
                const struct ox_tensor *a = ox_datum_get_tensor(wanted);
                const struct ox_tensor *c = ox_datum_get_tensor(got);
                ck_assert_uint_eq(c->rank, a->rank);
                for (unsigned d = 0; d < a->rank; d++)
                    ck_assert_msg(c->dims[d] == a->dims[d], "%s", bodies[b]);
                for (size_t i = 0; i < a->n; i++)
                    ck_assert_double_eq_tol(ox_tensor_get_double(c, i), ox_tensor_get_double(a, i),
                                            1e-5);
                ox_datum_release(got);
            }
            ox_datum_release(wanted);
        }
        for (int level = 0; level < 3; level++)
            text_close(&f[level]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {a_copy_changes_alone,
                                  constants_are_folded,
                                  constant_nodes_become_initializers,
                                  shape_arithmetic_is_folded,
                                  random_nodes_are_not_folded_or_merged,
                                  a_default_that_callers_may_replace_is_no_constant,
                                  a_replaced_default_counts_at_every_level,
                                  identities_are_dropped_and_names_of_outputs_stay,
                                  transposes_that_cancel_are_dropped,
                                  a_neutral_constant_that_widens_is_kept,
                                  neutral_constants_of_any_shape_are_dropped,
                                  equal_nodes_are_merged,
                                  a_captured_value_stays,
                                  kept_values_stay,
                                  an_unknown_pass_is_refused,
                                  a_model_out_of_order_is_left_to_those_who_name_the_fault,
                                  open_sizes_of_zero_are_right_at_every_level,
                                  levels_agree_and_chosen_outputs_are_made};
    Suite *suite = suite_create("rewrite");
    TCase *tcase = tcase_create("rewrite");
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
