/* Branches over one input that become one convolution, and convolutions that had better stay apart. */
#include <check.h>

#include "tests/check_fused.h"
#include "tests/run_suite.h"

/* As RepVGG and MobileOne have them: another window, one of a single element with batch norm behind it, batch norm of the input. */
START_TEST(branches_over_one_input_become_one_convolution)
{
    check_fused("g (float[1,4,12,12] x) => (float[A,B,C,D] y) { "
                "a = Conv <pads = [1,1,1,1]> (x, w0, w1) b = Conv (x, w2) "
                "n = BatchNormalization (b, w3, w4, w5, w6) s = Add(n, a) "
                "i = BatchNormalization (x, w4, w3, w1, w6) t = Add(s, i) y = Relu(t) }",
                LIST("4,4,3,3", "4", "4,4,1,1", "4", "4", "4", "+4"), DIMS(1, 4, 12, 12),
                WANT({"FusedConv", 1}, {"Add", 0}, {"BatchNormalization", 0}, {"Relu", 0}));
}
END_TEST

/* FastViT's mixer: the input plus a factor a channel times a difference. */
START_TEST(a_depthwise_sum_takes_its_input_in)
{
    check_fused(
        "g (float[1,8,9,7] x) => (float[A,B,C,D] y) { "
        "a = Conv <group = 8, pads = [2,2,2,2]> (x, w0) b = Conv <group = 8, pads = [1,1,1,1], "
        "dilations = [1,1]> (x, w1, w2) s = Add(b, a) "
        "i = BatchNormalization (x, w2, w3, w4, w5) d = Sub(i, s) m = Mul(w6, d) y = Add(x, m) }",
        LIST("8,1,5,5", "8,1,3,3", "8", "8", "8", "+8", "8,1,1"), DIMS(1, 8, 9, 7),
        WANT({"FusedConv", 1}, {"Add", 0}, {"Mul", 0}, {"Sub", 0}, {"BatchNormalization", 0}));
}
END_TEST

START_TEST(branches_with_groups_steps_and_one_axis_are_merged)
{
    check_fused(
        "g (float[1,6,15,16] x) => (float[A,B,C,D] y) { "
        "a = Conv <group = 2, strides = [2,1], dilations = [2,1], pads = [2,0,2,2]> (x, w0) "
        "b = Conv <group = 2, strides = [2,1], pads = [0,0,0,0]> (x, w1, w2) y = Sub(b, a) }",
        LIST("8,3,3,3", "8,3,1,1", "8"), DIMS(1, 6, 15, 16), WANT({"FusedConv", 1}));
    check_fused("g (float[2,4,90] x) => (float[A,B,C] y) { "
                "a = Conv <pads = [2,2]> (x, w0) b = Conv <pads = [1,1]> (x, w1) y = Sum(a, b) }",
                LIST("4,4,5", "4,4,3"), DIMS(2, 4, 90), WANT({"FusedConv", 1}));
}
END_TEST

/* Other steps between elements; elements beside the window; another input; a branch that something else reads. */
START_TEST(branches_that_do_not_fit_stay)
{
    check_fused("g (float[1,2,20,20] x) => (float[A,B,C,D] y) { "
                "a = Conv <dilations = [2,2], pads = [2,2,2,2]> (x, w0) "
                "b = Conv <pads = [1,1,1,1]> (x, w1) y = Add(a, b) }",
                LIST("2,2,3,3", "2,2,3,3"), DIMS(1, 2, 20, 20), WANT({"FusedConv", 2}));
    check_fused("g (float[1,2,20,20] x) => (float[A,B,C,D] y) { "
                "a = Conv <pads = [0,0,2,2]> (x, w0) b = Conv <pads = [2,2,0,0]> (x, w1) "
                "y = Add(a, b) }",
                LIST("2,2,3,3", "2,2,3,3"), DIMS(1, 2, 20, 20), WANT({"FusedConv", 2}));
    check_fused("g (float[1,2,20,20] x) => (float[A,B,C,D] y) { "
                "r = Relu(x) a = Conv <pads = [1,1,1,1]> (x, w0) b = Conv (r, w1) y = Add(a, b) }",
                LIST("2,2,3,3", "2,2,1,1"), DIMS(1, 2, 20, 20), WANT({"FusedConv", 2}));
    check_fused(
        "g (float[1,2,20,20] x) => (float[A,B,C,D] y) { "
        "a = Conv <pads = [1,1,1,1]> (x, w0) b = Conv (x, w1) s = Add(a, b) y = Mul(s, b) }",
        LIST("2,2,3,3", "2,2,1,1"), DIMS(1, 2, 20, 20), WANT({"FusedConv", 2}));
}
END_TEST

/* The rewriting here is for one run; the levels before it ran the graph merged, as sessions do that run again. */
START_TEST(one_run_merges_branches_only_where_it_pays)
{
    check_fused("g (float[1,8,3,3] x) => (float[A,B,C,D] y) { "
                "a = Conv <pads = [1,1,1,1]> (x, w0) b = Conv (x, w1) y = Add(a, b) }",
                LIST("8,8,3,3", "8,8,1,1"), DIMS(1, 8, 3, 3), WANT({"FusedConv", 2}));
}
END_TEST

START_TEST(a_depthwise_stage_is_apart_from_a_product_by_large_weights)
{
    check_fused("g (float[1,640,2,3] x) => (float[A,B,C,D] y) { "
                "a = Conv <group = 640, pads = [1,1,1,1]> (x, w0) y = Conv (a, w1) }",
                LIST("640,1,3,3", "640,640,1,1"), DIMS(1, 640, 2, 3),
                WANT({"FusedConv", 2}, {"ConvChain", 0}));
    check_fused("g (float[1,640,2,3] x) => (float[A,B,C,D] y) { "
                "a = Conv (x, w0) y = Conv <group = 640, pads = [1,1,1,1]> (a, w1) }",
                LIST("640,640,1,1", "640,1,3,3"), DIMS(1, 640, 2, 3),
                WANT({"FusedConv", 2}, {"ConvChain", 0}));
}
END_TEST

/* More rows than the kernels for few channels have pointers for. */
START_TEST(patches_of_many_rows_are_taken_from_planes)
{
    check_fused("g (float[1,3,36,54] x) => (float[A,B,C,D] y) { "
                "y = Conv <strides = [18,18]> (x, w0, w1) }",
                LIST("6,3,18,18", "6"), DIMS(1, 3, 36, 54), WANT({"FusedConv", 1}));
    check_fused("g (float[1,1,40,9] x) => (float[A,B,C,D] y) { "
                "y = Conv <pads = [3,1,3,1]> (x, w0) }",
                LIST("5,1,17,3"), DIMS(1, 1, 40, 9), WANT({"FusedConv", 1}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused: branches");
    TCase *all = tcase_create("all");
    tcase_add_test(all, branches_over_one_input_become_one_convolution);
    tcase_add_test(all, a_depthwise_sum_takes_its_input_in);
    tcase_add_test(all, branches_with_groups_steps_and_one_axis_are_merged);
    tcase_add_test(all, branches_that_do_not_fit_stay);
    tcase_add_test(all, one_run_merges_branches_only_where_it_pays);
    tcase_add_test(all, a_depthwise_stage_is_apart_from_a_product_by_large_weights);
    tcase_add_test(all, patches_of_many_rows_are_taken_from_planes);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
