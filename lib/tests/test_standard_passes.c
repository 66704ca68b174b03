/* Passes of `optimize` that make fewer standard operators: shapes, axes, stretches, transposes, codes and states. */
#include <check.h>

#include "tests/becomes.h"
#include "tests/run_suite.h"

START_TEST(a_target_computed_from_sizes_becomes_constant)
{
    becomes(
        HEAD
        "g (float[N,T,4] x) => (float[A,B,C,D] y) <int64[2] h = {2, 2}> { s = Shape <end = 2> (x) "
        "t = Concat <axis = 0> (s, h) y = Reshape(x, t) }",
        "Reshape", 3, SHAPE(2, 3, 4));
}
END_TEST

START_TEST(a_target_with_two_new_sizes_stays)
{
    becomes(HEAD "g (float[N,T,4] x) => (float[A,B,C] y) { n = Shape <end = 1> (x) "
                 "t = Shape <start = 1, end = 2> (x) m = Constant <value_ints = [-1]> () "
                 "u = Concat <axis = 0> (t, n, m) y = Reshape(x, u) }",
            "Shape Shape Concat Reshape", 3, SHAPE(2, 3, 4));
}
END_TEST

START_TEST(changes_of_shape_are_merged)
{
    becomes(HEAD
            "g (float[N,1,6] x) => (float[N,A,B] y) <int64[1] one = {1}, int64[3] t = {0, 2, 3}> "
            "{ a = Squeeze(x, one) b = Unsqueeze(a, one) c = Reshape(b, t) y = Neg(c) }",
            "Reshape Neg", 3, SHAPE(2, 1, 6));
}
END_TEST

START_TEST(a_transpose_of_axes_of_one_is_a_change_of_shape)
{
    becomes(HEAD "g (float[3,1,1,2] x) => (float[A,B] y) <int64[2] t = {3, 2}> { n = Neg(x) "
                 "a = Transpose <perm = [1, 0, 2, 3]> (n) y = Reshape(a, t) }",
            "Neg Reshape", 4, SHAPE(3, 1, 1, 2));
    becomes(HEAD "g (float[3,1,1,2] x) => (float[A,B] y) <int64[2] t = {3, 2}> { n = Neg(x) "
                 "a = Transpose <perm = [3, 1, 2, 0]> (n) y = Reshape(a, t) }",
            "Neg Transpose Reshape", 4, SHAPE(3, 1, 1, 2));
    becomes(HEAD "g (float[N,T,1,2] x) => (float[A,B] y) <int64[2] t = {-1, 2}> { n = Neg(x) "
                 "a = Transpose <perm = [1, 0, 2, 3]> (n) y = Reshape(a, t) }",
            "Neg Transpose Reshape", 4, SHAPE(3, 1, 1, 2));
}
END_TEST

START_TEST(concats_and_slices_are_merged)
{
    becomes(HEAD
            "g (float[2,3] x) => (float[A,B] y) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] "
            "two = {2}> { n = Neg(x) a = Concat <axis = -1> (x, n) b = Concat <axis = 1> (n, a) "
            "s = Slice(b, zero, one, zero) y = Slice(s, one, two, one) }",
            "Neg Concat Slice", 2, SHAPE(2, 3));
}
END_TEST

START_TEST(slices_of_the_same_axis_stay)
{
    becomes(HEAD "g (float[2,5] x) => (float[A,B] y) <int64[1] one = {1}, int64[1] four = {4}> "
                 "{ s = Slice(x, one, four, one) y = Slice(s, one, four, one) }",
            "Slice Slice", 2, SHAPE(2, 5));
}
END_TEST

START_TEST(axes_that_are_put_back_are_kept)
{
    becomes(HEAD "g (float[2,3] x) => (float[2,1] y) <int64[1] one = {1}> "
                 "{ s = ReduceMax <keepdims = 0> (x, one) y = Unsqueeze(s, one) }",
            "ReduceMax", 2, SHAPE(2, 3));
    becomes(HEAD "g (float[2,3] x) => (float[2] y) <int64[1] one = {1}> "
                 "{ s = ReduceMax(x, one) y = Squeeze(s, one) }",
            "ReduceMax", 2, SHAPE(2, 3));
}
END_TEST

START_TEST(a_reduction_of_one_element_is_nothing)
{
    becomes(HEAD "g (float[N,1] x) => (float[N,1] y) <int64[1] one = {1}> "
                 "{ s = ReduceProd(x, one) y = Neg(s) }",
            "Neg", 2, SHAPE(3, 1));
}
END_TEST

START_TEST(what_broadcasts_takes_what_is_expanded_to_its_other_input)
{
    becomes(HEAD "g (float[N,3,2,2] x) => (float[A,B,C,D] y) <int64[2] axes = {2, 3}> "
                 "{ m = ReduceMean(x, axes) s = Shape(x) e = Expand(m, s) y = Mul(x, e) }",
            "ReduceMean Mul", 4, SHAPE(2, 3, 2, 2));
    becomes(HEAD "g (float[N,4] x) => (float[A,B] y) <float[4] c = {1, -2, 3, 0}> "
                 "{ b = Greater(x, c) s = Shape(x) e = Expand(c, s) y = Where(b, e, x) }",
            "Greater Where", 2, SHAPE(3, 4));
}
END_TEST

START_TEST(what_widens_both_inputs_keeps_the_expanded_one)
{
    becomes(HEAD "g (float[3,1] x) => (float[A,B,C] y) <int64[3] s = {2, 1, 4}> "
                 "{ n = Neg(x) e = Expand(n, s) y = Add(x, e) }",
            "Neg Expand Add", 2, SHAPE(3, 1));
}
END_TEST

START_TEST(quantizing_what_was_dequantized_is_nothing)
{
    becomes(HEAD
            "g (float[6] x) => (float[6] y) <float s = {0.5}, uint8 z = {9}, float r = {0.25}> "
            "{ a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
            "c = QuantizeLinear(b, s, z) d = DequantizeLinear(c, s, z) "
            "e = QuantizeLinear(d, r, z) y = DequantizeLinear(e, r, z) }",
            "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear", 1, SHAPE(6));
}
END_TEST

#define TURNS(shape, perm)                                                                         \
    HEAD "g (float[N,2,3,16] x) => (float[A,B,C,D,E] y) <int64[5] s = {" shape "}> "               \
         "{ t = Transpose <perm = [0,3,1,2]> (x) r = Reshape(t, s) y = Transpose <perm = [" perm   \
         "]> (r) }"

/* A head of a detector, whose channels are boxes by values; maps that become a sequence; the sequence that becomes maps. */
START_TEST(transposes_on_either_side_of_a_reshape_are_one)
{
    becomes(TURNS("-1, 2, 8, 2, 3", "0,1,3,4,2"), "Reshape Transpose", 4, SHAPE(2, 2, 3, 16));
    becomes(TURNS("0, 2, 8, 2, 3", "3,4,0,1,2"), "Reshape Transpose", 4, SHAPE(3, 2, 3, 16));
    becomes(HEAD "g (float[N,2,3,16] x) => (float[A,B,C] y) <int64[3] s = {0, 16, 6}> { t = "
                 "Transpose <perm = [0,3,1,2]> (x) r = Reshape(t, s) y = Transpose <perm = "
                 "[0,2,1]> (r) }",
            "Reshape", 4, SHAPE(2, 2, 3, 16));
    becomes(HEAD "g (float[2,6,9] x) => (float[A,B,C,D] y) <int64[4] s = {2, 9, 2, 3}> { t = "
                 "Transpose <perm = [0,2,1]> (x) r = Reshape(t, s) y = Transpose <perm = "
                 "[0,3,2,1]> (r) }",
            "Reshape Transpose", 3, SHAPE(2, 6, 9));
}
END_TEST

START_TEST(transposes_on_either_side_of_axes_of_one_are_one)
{
    becomes(HEAD "g (float[N,1,5,16] x) => (float[A,B,C] y) <int64[1] a = {2}> { t = Transpose "
                 "<perm = [0,3,1,2]> (x) s = Squeeze(t, a) y = Transpose <perm = [0,2,1]> (s) }",
            "Reshape", 4, SHAPE(2, 1, 5, 16));
    becomes(HEAD "g (float[N,5,16] x) => (float[A,B,C,D] y) <int64[1] a = {-1}> { t = Transpose "
                 "<perm = [0,2,1]> (x) u = Unsqueeze(t, a) y = Transpose <perm = [0,2,3,1]> (u) }",
            "Reshape", 3, SHAPE(2, 5, 16));
    becomes(HEAD "g (float[N,5,16,1] x) => (float[A,B,C] y) <int64[1] a = {-1}> { t = Transpose "
                 "<perm = [0,2,1,3]> (x) s = Squeeze(t, a) y = Transpose <perm = [0,2,1]> (s) }",
            "Reshape", 4, SHAPE(2, 5, 16, 1));
}
END_TEST

#define CONV(rest)                                                                                 \
    HEAD "g (float[N,2,1,6] x) => (float[N,C,L] y) <float[2,2,1,2] w = {1, -2, 3, 0.5, 1, 2, -1, " \
         "4}, float[2,2,1,2] v = {2, 1, 0.5, -1, 3, 1, 1, -2}, float[1,2,1] b = {1, -3}, "         \
         "int64[1] two = {2}> { c = Conv(x, w) s = Squeeze(c, two) " rest " }"

/* Convolutions over one axis as those over two. */
START_TEST(a_convolution_takes_what_follows_its_squeeze)
{
    becomes(CONV("t = Add(b, s) y = Relu(t)"), "Conv Relu Squeeze", 4, SHAPE(2, 2, 1, 6));
    becomes(CONV("t = Sub(b, s) y = Tanh(t)"), "Conv Sub Tanh Squeeze", 4, SHAPE(2, 2, 1, 6));
    becomes(CONV("t = Add(s, b) r = Relu(t) u = Unsqueeze(r, two) d = Conv(u, v) "
                 "y = Squeeze(d, two)"),
            "Conv Relu Conv Squeeze", 4, SHAPE(2, 2, 1, 6));
}
END_TEST

START_TEST(what_follows_a_squeeze_of_channels_or_with_other_users_stays)
{
    becomes(CONV("t = Add(s, b) y = Mul(t, s)"), "Conv Squeeze Add Mul", 4, SHAPE(2, 2, 1, 6));
    becomes(HEAD "g (float[N,2,6] x) => (float[N,L] y) <float[1,2,2] w = {1, -2, 3, 0.5}, int64[1] "
                 "one = {1}> { c = Conv(x, w) s = Squeeze(c, one) y = Relu(s) }",
            "Conv Squeeze Relu", 3, SHAPE(2, 2, 6));
}
END_TEST

START_TEST(transposes_stay_where_short_runs_or_mixed_axes_would_move)
{
    becomes(TURNS("-1, 8, 2, 2, 3", "0,1,3,4,2"), "Transpose Reshape Transpose", 4,
            SHAPE(2, 2, 3, 16));
    becomes(TURNS("-1, 4, 8, 3, 1", "0,2,3,4,1"), "Transpose Reshape Transpose", 4,
            SHAPE(2, 2, 3, 16));
}
END_TEST

START_TEST(zero_states_are_left_out)
{
    becomes(HEAD
            "g (float[T,1,2] x) => (float[T,1,1,1] y) <float[1,3,2] w = {1, -2, 3, 0.5, 1, 1}, "
            "float[1,3,1] r = {1, -1, 0.5}> { n = Constant <value_ints = [1, 1, 1]> () "
            "h = ConstantOfShape(n) y = GRU <hidden_size = 1> (x, w, r, , , h) }",
            "GRU", 3, SHAPE(3, 1, 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standard passes");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_target_computed_from_sizes_becomes_constant);
    tcase_add_test(all, a_target_with_two_new_sizes_stays);
    tcase_add_test(all, changes_of_shape_are_merged);
    tcase_add_test(all, a_transpose_of_axes_of_one_is_a_change_of_shape);
    tcase_add_test(all, concats_and_slices_are_merged);
    tcase_add_test(all, slices_of_the_same_axis_stay);
    tcase_add_test(all, axes_that_are_put_back_are_kept);
    tcase_add_test(all, a_reduction_of_one_element_is_nothing);
    tcase_add_test(all, what_broadcasts_takes_what_is_expanded_to_its_other_input);
    tcase_add_test(all, what_widens_both_inputs_keeps_the_expanded_one);
    tcase_add_test(all, quantizing_what_was_dequantized_is_nothing);
    tcase_add_test(all, transposes_on_either_side_of_a_reshape_are_one);
    tcase_add_test(all, transposes_on_either_side_of_axes_of_one_are_one);
    tcase_add_test(all, a_convolution_takes_what_follows_its_squeeze);
    tcase_add_test(all, what_follows_a_squeeze_of_channels_or_with_other_users_stays);
    tcase_add_test(all, transposes_stay_where_short_runs_or_mixed_axes_would_move);
    tcase_add_test(all, zero_states_are_left_out);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
