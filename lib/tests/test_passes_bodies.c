/* Passes of `optimize` that take graphs out of If, and constant values and nodes out of Loop and Scan. */
#include <check.h>

#include "tests/becomes.h"
#include "tests/run_suite.h"

START_TEST(an_if_that_is_always_true_gives_way_to_its_branch)
{
    becomes(HEAD "g (float[3] x) => (float[3] y) <bool c = {1}> { n = Neg(x) "
                 "y = If(c) <then_branch = t () => (float[3] o) <float[3] w = {1, 2, 3}> "
                 "{ a = Mul(x, w) o = Add(a, n) }, "
                 "else_branch = e () => (float[3] p) { a = Sub(x, n) p = Abs(a) }> }",
            "Neg Mul Add", 1, SHAPE(3));
}
END_TEST

/* The condition is a rank; the branch gives back what is not its own. */
START_TEST(a_branch_may_pass_on_what_it_captures)
{
    becomes(HEAD
            "g (float[2,3] x) => (float[2,3] y) { s = Shape(x) r = Size(s) k = Constant<value = "
            "int64 {3}>() c = Equal(r, k) a = Abs(x) n = Neg(x) "
            "z = If(c) <then_branch = t () => (float[2,3] n) {}, "
            "else_branch = e () => (float[2,3] a) {}> y = Sin(z) }",
            "Abs Sin", 2, SHAPE(2, 3));
}
END_TEST

START_TEST(a_branch_that_is_an_initializer_becomes_one)
{
    becomes(HEAD "g (float[3] x) => (float[3] y) <bool c = {0}> "
                 "{ z = If(c) <then_branch = t () => (float[3] o) { o = Neg(x) }, "
                 "else_branch = e () => (float[3] w) <float[3] w = {4, 5, 6}> {}> y = Add(x, z) }",
            "Add", 1, SHAPE(3));
}
END_TEST

START_TEST(branches_within_branches_are_taken)
{
    becomes(HEAD "g (float[3] x) => (float[3] y) <bool c = {1}, bool d = {0}> "
                 "{ y = If(c) <then_branch = t () => (float[3] o) { a = Exp(x) "
                 "o = If(d) <then_branch = tt () => (float[3] p) { p = Neg(a) }, "
                 "else_branch = ee () => (float[3] q) { a2 = Neg(a) q = Cos(a2) }> }, "
                 "else_branch = e () => (float[3] r) { r = Abs(x) }> }",
            "Exp Neg Cos", 1, SHAPE(3));
}
END_TEST

START_TEST(a_branch_keeps_the_subgraphs_within)
{
    becomes(HEAD
            "g (float[3] x) => (float[3] y) <bool c = {1}, float h = {0.5}> { m = ReduceMax "
            "<keepdims = 0> (x) "
            "y = If(c) <then_branch = t () => (float[3] o) { a = Neg(x) k = Less(m, h) "
            "o = If(k) <then_branch = tt () => (float[3] p) <float[3] w = {1, 2, 3}> { p = Mul(a, "
            "w) }, else_branch = ee () => (float[3] q) { q = Add(a, x) }> }, "
            "else_branch = e () => (float[3] r) { r = Abs(x) }> }",
            "ReduceMax Neg Less If", 1, SHAPE(3));
}
END_TEST

START_TEST(an_if_whose_condition_is_computed_stays)
{
    becomes(HEAD "g (float[3] x) => (float[3] y) { m = ReduceMax <keepdims = 0> (x) "
                 "h = Constant<value = float {0.5}>() c = Less(m, h) "
                 "y = If(c) <then_branch = t () => (float[3] o) { o = Neg(x) }, "
                 "else_branch = e () => (float[3] p) { p = Exp(x) }> }",
            "ReduceMax Less If", 1, SHAPE(3));
}
END_TEST

#define LOOP "<int64 n = {3}, int64 none = {0}, bool go = {1}, float[2,2] w = {1, 2, -3, 0.5}>"

START_TEST(what_a_loop_hands_on_unchanged_is_captured)
{
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y, z = Loop(n, go, x, w) <body = b (int64 i, bool c, float[2,2] v, "
                      "float[2,2] w) => (bool c, float[2,2] vo, float[2,2] w) "
                      "{ t = Transpose(w) p = MatMul(v, t) vo = Tanh(p) }> }",
                 "Loop / MatMul Tanh", 2, SHAPE(2, 2));
    /* Under another name, with an output that is needed, and captured by a branch. */
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ a = Abs(x) r, z = Loop(n, go, x, a) <body = b (int64 i, bool c, "
                      "float[2,2] v, float[2,2] u) => (bool c, float[2,2] vo, float[2,2] u) "
                      "{ k = ReduceSum <keepdims = 0> (v) l = Cast <to = 9> (k) vo = If(l) "
                      "<then_branch = t () => (float[2,2] o) { o = Mul(v, u) }, "
                      "else_branch = e () => (float[2,2] q) { q = Sub(u, v) }> }> "
                      "y = Add(r, z) }",
                 "Abs Loop Add / ReduceSum Cast If / Mul / Sub", 2, SHAPE(2, 2));
}
END_TEST

START_TEST(what_every_turn_of_a_loop_computes_is_computed_before_it)
{
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y = Loop(n, go, x) <body = b (int64 i, bool c, float[2,2] v) => "
                      "(bool c, float[2,2] vo) "
                      "{ s = MatMul(x, x) t = Tanh(s) u = Add(v, t) f = Cast <to = 1> (i) "
                      "vo = Sub(u, f) }> }",
                 "MatMul Tanh Loop / Add Cast Sub", 2, SHAPE(2, 2));
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y = Loop(none, go, x) <body = b (int64 i, bool c, float[2,2] v) => "
                      "(bool c, float[2,2] vo) { s = MatMul(x, x) vo = Add(v, s) }> }",
                 "MatMul Loop / Add", 2, SHAPE(2, 2));
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ first = Constant <value_ints = [0]> () "
                      "start = ReduceSum <keepdims = 0> (w, first) "
                      "z, y = Scan <num_scan_inputs = 1, body = b (float[2] h, float[2] v) => "
                      "(float[2] ho, float[2] vo) { s = Sin(x) "
                      "r = ReduceSum <keepdims = 0> (s) vo = Mul(v, r) ho = Add(h, v) }> "
                      "(start, x) }",
                 "Sin Scan / ReduceSum Mul Add", 2, SHAPE(2, 2));
}
END_TEST

START_TEST(what_changes_from_turn_to_turn_stays_in_the_loop)
{
    /* Two values that take turns. */
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y, z = Loop(n, go, x, w) <body = b (int64 i, bool c, float[2,2] v, "
                      "float[2,2] u) => (bool c, float[2,2] u, float[2,2] vo) "
                      "{ vo = Tanh(v) }> }",
                 "Loop / Tanh", 2, SHAPE(2, 2));
    /* The body means something else by the name. */
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ a = Abs(x) y, z = Loop(n, go, x, a) <body = b (int64 i, bool c, "
                      "float[2,2] v, float[2,2] u) => (bool c, float[2,2] vo, float[2,2] u) "
                      "{ a = Neg(v) vo = Mul(a, u) }> }",
                 "Abs Loop / Neg Mul", 2, SHAPE(2, 2));
    /* It may fail, and a loop may make no turn. */
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y = Loop(none, go, x) <body = b (int64 i, bool c, float[2,2] v) => "
                      "(bool c, float[2,2] vo) { k = Cast <to = 7> (x) s = Gather(w, k) "
                      "r = ReduceSum <keepdims = 0> (s) vo = Add(v, r) }> }",
                 "Cast Loop / Gather ReduceSum Add", 2, SHAPE(2, 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("passes: bodies");
    TCase *all = tcase_create("all");
    tcase_add_test(all, what_a_loop_hands_on_unchanged_is_captured);
    tcase_add_test(all, what_every_turn_of_a_loop_computes_is_computed_before_it);
    tcase_add_test(all, what_changes_from_turn_to_turn_stays_in_the_loop);
    tcase_add_test(all, an_if_that_is_always_true_gives_way_to_its_branch);
    tcase_add_test(all, a_branch_may_pass_on_what_it_captures);
    tcase_add_test(all, a_branch_that_is_an_initializer_becomes_one);
    tcase_add_test(all, branches_within_branches_are_taken);
    tcase_add_test(all, a_branch_keeps_the_subgraphs_within);
    tcase_add_test(all, an_if_whose_condition_is_computed_stays);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
