/* Maps with their channels last, joined, shuffled and resized between convolutions: the same graph at -O0 and -O2. */
#include <check.h>

#include "tests/check_fused.h"
#include "tests/run_suite.h"

START_TEST(maps_between_convolutions)
{
    check_fused(
        "g (float[1,4,12,12] x) => (float[A,B,C,D] y) { "
        "a = Conv <pads = [1,1,1,1]> (x, w0) "
        "m = MaxPool <kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]> (a) "
        "v = AveragePool <kernel_shape = [2,2], strides = [2,2], count_include_pad = 1> (a) "
        "c = Concat <axis = 1> (m, v) n = BatchNormalization (c, w1, w2, w3, w4) "
        "r = LeakyRelu(n) l, h = Split <axis = 1, num_outputs = 2> (r) "
        "t = Mul(l, w5) g = GlobalAveragePool(h) e = Mul(t, g) "
        "k = Constant <value_floats = [1.0,1.0,2.0,2.0]> () "
        "z = Resize <mode = \"nearest\"> (e, , k) y = Conv (z, w6) }",
        LIST("4,4,3,3", "8", "8", "8", "+8", "4,1,1", "3,4,1,1"), DIMS(1, 4, 12, 12),
        WANT({"FusedConv", 2}, {"Transpose", 2}));
}
END_TEST

/* As models of sound have them: dilated blocks with skips, gates, strides up and down. */
START_TEST(maps_of_one_axis_keep_their_channels_last)
{
    check_fused(
        "g (float[2,8,41] x) => (float[A,B,C] y) { "
        "p = Constant <value_ints = [0,0,4,0,0,0]> () q = Pad(x, p) "
        "a = Conv <dilations = [2]> (q, w0, w1) b = PRelu(a, w2) "
        "n = BatchNormalization (b, w3, w4, w5, w6) c = Relu(n) "
        "l, h = Split <axis = 1, num_outputs = 2> (c) t = Tanh(l) s = Sigmoid(h) "
        "m = Mul(t, s) d = Conv (m, w7) r = Add(d, x) "
        "e = Conv <group = 8, pads = [2,2]> (r, w8) "
        "f = ConvTranspose <strides = [2]> (e, w9) "
        "b0 = Constant <value_ints = [1]> () e0 = Constant <value_ints = [80]> () "
        "i0 = Constant <value_ints = [-1]> () i = Slice(f, b0, e0, i0) "
        "j = Elu(i) y = Conv <strides = [2]> (j, w10) }",
        LIST("16,8,3", "16", "16,1", "16", "16", "16", "+16", "8,8,1", "8,1,5", "8,4,2", "5,4,7"),
        DIMS(2, 8, 41), WANT({"FusedConv", 5}, {"Transpose", 2}));
    check_fused("g (float[1,6,24] x) => (float[A,B] y) { a = Conv <pads = [1,1]> (x, w0) "
                "m = MaxPool <kernel_shape = [3], strides = [2], pads = [1,0]> (a) "
                "v = AveragePool <kernel_shape = [2], strides = [2], pads = [0,0]> (a) "
                "c = Concat <axis = 1> (m, v) g = GlobalAveragePool(c) h = Mul(c, g) "
                "o = GlobalMaxPool(h) z = Add(h, o) k = Constant <value_ints = [1,16,24]> () "
                "r = Resize <mode = \"linear\"> (z, , , k) b = Conv (r, w1) "
                "l = Constant <value_ints = [1,9,31]> () "
                "u = Resize <mode = \"nearest\"> (b, , , l) d = Conv <pads = [1,1]> (u, w2) "
                "f = Softmax <axis = 1> (d) q = Constant <value_ints = [2]> () "
                "y = ReduceMax <keepdims = 0> (f, q) }",
                LIST("8,6,3", "9,16,1", "5,9,3"), DIMS(1, 6, 24),
                WANT({"FusedConv", 3}, {"Transpose", 1}));
    check_fused("g (float[N,6,L] x) => (float[A,B,C] y) { a = Conv <pads = [1,1]> (x, w0) "
                "t = Transpose <perm = [0,2,1]> (a) s = Shape <start = 1> (a) "
                "u = MatMul(t, w1) v = Transpose <perm = [0,2,1]> (u) b = Conv (v, w2) "
                "f = Cast <to = 1> (s) g = ReduceSum <keepdims = 0> (f) y = Sub(b, g) }",
                LIST("8,6,3", "8,7", "3,7,1"), DIMS(2, 6, 9),
                WANT({"FusedConv", 2}, {"Transpose", 2}));
}
END_TEST

START_TEST(maps_of_which_an_axis_goes_and_comes_keep_their_channels_last)
{
    check_fused("g (float[2,4,1,12] x) => (float[A,B,C,D] y) { "
                "a = Conv <pads = [0,1,0,1]> (x, w0) two = Constant <value_ints = [2]> () "
                "s = Squeeze(a, two) m = MaxPool <kernel_shape = [3]> (s) u = Unsqueeze(m, two) "
                "b = Conv (u, w1) last = Constant <value_ints = [-1]> () v = Unsqueeze(m, last) "
                "c = Conv (v, w2) "
                "d = Transpose <perm = [0,1,3,2]> (c) y = Add(b, d) }",
                LIST("8,4,1,3", "5,8,1,2", "5,8,2,1"), DIMS(2, 4, 1, 12),
                WANT({"FusedConv", 3}, {"Squeeze", 1}, {"Unsqueeze", 2}));
}
END_TEST

START_TEST(linear_resize_slice_pad_and_reduce)
{
    check_fused("g (float[1,4,6,5] x) => (float[A,B] y) { "
                "a = Conv <pads = [1,1,1,1]> (x, w0) "
                "k = Constant <value_ints = [1,4,9,11]> () "
                "z = Resize <mode = \"linear\"> (a, , , k) "
                "s = Constant <value_ints = [1,2]> () e = Constant <value_ints = [6,9]> () "
                "i = Constant <value_ints = [1,-1]> () c = Slice(z, s, e, i) "
                "p = Constant <value_ints = [0,1,0,1,0,0,2,0]> () d = Pad(c, p) "
                "f = Conv (d, w1) q = Constant <value_ints = [2,3]> () "
                "y = ReduceMean <keepdims = 0> (f, q) }",
                LIST("4,4,3,3", "8,4,1,1"), DIMS(1, 4, 6, 5), WANT({"FusedConv", 2}));
}
END_TEST

/* As detectors resize a map to another's size, which is open: nobody needs the map itself. */
START_TEST(sizes_of_maps_with_their_channels_last)
{
    check_fused("g (float[N,4,H,W] x) => (float[A,B,C,D] y) { a = Conv <pads = [1,1,1,1]> (x, w0) "
                "m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (a) b = Conv (m, w1) "
                "n = Shape <end = -2> (b) s = Shape <start = -2> (a) k = Concat <axis = 0> (n, s) "
                "z = Resize <mode = \"nearest\"> (b, , , k) e = Add(z, a) c = Conv (e, w2) "
                "none = Shape <start = 3, end = 1> (c) f = ReduceSum <keepdims = 0> (none) "
                "g = Cast <to = 1> (f) y = Sub(c, g) }",
                LIST("8,4,3,3", "8,8,1,1", "3,8,1,1"), DIMS(1, 4, 7, 9),
                WANT({"FusedConv", 3}, {"Transpose", 1}));
}
END_TEST

START_TEST(channels_are_shuffled_where_they_lie)
{
    check_fused(
        "g (float[2,4,5,3] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
        "p = Constant <value_ints = [2,2,4,5,3]> () q = Constant <value_ints = [2,8,5,3]> () "
        "b = Reshape <allowzero = 1> (a, p) c = Transpose <perm = [0,2,1,3,4]> (b) d = Reshape "
        "<allowzero = 1> (c, q) "
        "y = Conv (d, w1) }",
        LIST("8,4,1,1", "3,8,1,1"), DIMS(2, 4, 5, 3), WANT({"FusedConv", 2}, {"Transpose", 2}));
}
END_TEST

/* Whose outputs read the pixels in their own place: of one, two and three axes, with few pixels and many, one image and several. */
START_TEST(small_groups_of_single_taps_read_planes)
{
    check_fused("g (float[N,12,H,W] x) => (float[A,B,C,D] y) { a = Conv <group = 4> (x, w0, w1) "
                "y = Relu(a) }",
                LIST("12,3,1,1", "12"), DIMS(1, 12, 5, 7), WANT({"FusedConv", 1}));
    check_fused("g (float[N,12,H,W] x) => (float[A,B,C,D] y) { a = Conv <group = 3> (x, w0, w1) "
                "y = LeakyRelu(a) }",
                LIST("24,4,1,1", "24"), DIMS(3, 12, 21, 13), WANT({"FusedConv", 1}));
    check_fused("g (float[N,12,H,W] x) => (float[A,B,C,D] y) { y = Conv <group = 6> (x, w0) }",
                LIST("6,2,1,1"), DIMS(2, 12, 1, 1), WANT({"FusedConv", 1}));
    check_fused("g (float[N,8,L] x) => (float[A,B,C] y) { y = Conv <group = 2> (x, w0, w1) }",
                LIST("8,4,1", "8"), DIMS(2, 8, 130), WANT({"FusedConv", 1}));
    check_fused("g (float[N,8,D,H,W] x) => (float[A,B,C,E,F] y) { y = Conv <group = 2> (x, w0) }",
                LIST("4,4,1,1,1"), DIMS(2, 8, 3, 4, 5), WANT({"FusedConv", 0}));
}
END_TEST

START_TEST(halves_of_shuffled_channels_are_made_at_once)
{
    check_fused(
        "g (float[2,4,5,3] x) => (float[A,B,C,D] y) { a = Conv (x, w0) b = Conv (x, w1) "
        "j = Concat <axis = 1> (a, b) "
        "p = Constant <value_ints = [2,2,4,5,3]> () q = Constant <value_ints = [2,8,5,3]> () "
        "t = Reshape(j, p) u = Transpose <perm = [0,2,1,3,4]> (t) v = Reshape(u, q) "
        "n = Constant <value_ints = [0]> () h = Constant <value_ints = [4]> () "
        "e = Constant <value_ints = [8]> () k = Constant <value_ints = [1]> () "
        "l = Slice(v, n, h, k) r = Slice(v, h, e, k) s = Conv (l, w2) z = Mul(s, r) "
        "y = Conv (z, w3) }",
        LIST("4,4,1,1", "4,4,1,1", "4,4,1,1", "3,4,1,1"), DIMS(2, 4, 5, 3),
        WANT({"Interleave", 1}, {"Slice", 0}, {"Concat", 0}, {"Transpose", 1}));
}
END_TEST

START_TEST(convolutions_write_into_what_joins_them)
{
    check_fused("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
                "a = Conv <pads = [1,1,1,1]> (x, w0, w1) b = Relu(a) "
                "c = Conv (b, w2) d = ConvTranspose <group = 2> (b, w3) "
                "e = Conv <pads = [1,1,1,1]> (b, w4) f = Add(e, b) g = Relu(f) "
                "j = Concat <axis = 1> (g, c, d) y = Conv (j, w5) }",
                LIST("16,3,3,3", "16", "7,16,1,1", "16,3,1,1", "16,16,3,3", "4,29,1,1"),
                DIMS(2, 3, 9, 8), WANT({"FusedConv", 5}, {"Concat", 0}, {"Transpose", 1}));
    /* What others need too is copied, by itself or with all others. */
    check_fused("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
                "m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (a) b = Conv (m, w1) "
                "c = ConvTranspose <strides = [2,2], output_padding = [1,0]> (b, w2) "
                "d = Conv (a, w3) j = Concat <axis = 1> (c, a, d, a) e = Conv (j, w4) "
                "f = MaxPool <kernel_shape = [1,1]> (j) k = Concat <axis = 1> (f, e) "
                "n = BatchNormalization (k, w5, w6, w7, w8) h = Relu(n) y = Conv (h, w9) }",
                LIST("5,3,1,1", "6,5,1,1", "6,7,2,2", "3,5,1,1", "2,20,1,1", "22", "22", "22",
                     "+22", "3,22,1,1"),
                DIMS(2, 3, 9, 8),
                WANT({"JoinMaps", 1}, {"Elementwise", 0}, {"FusedConv", 6}, {"Transpose", 1}));
    /* Resize makes slices too. */
    check_fused(
        "g (float[2,3,5,4] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
        "s = Constant <value_ints = [2,8,10,8]> () "
        "b = Resize <mode = \"nearest\"> (a, , , s) c = Conv (b, w1) "
        "d = Resize <mode = \"linear\"> (a, , , s) e = Concat <axis = 1> (c, d, b) "
        "f = Conv (e, w2) k = Constant <value_ints = [1]> () l = Constant <value_ints = [4]> () "
        "h = Constant <value_ints = [0]> () y = Slice(f, h, l, k) }",
        LIST("8,3,1,1", "5,8,1,1", "6,21,3,3"), DIMS(2, 3, 5, 4),
        WANT({"JoinMaps", 1}, {"Resize", 2}, {"Concat", 0}, {"FusedConv", 3}));
    check_fused("g (float[1,3,9] x) => (float[A,B,C] y) { a = Conv (x, w0) b = Conv (x, w1) "
                "c = Conv (b, w2) j = Concat <axis = 1> (a, b, c) y = Conv (j, w3) }",
                LIST("4,3,1", "5,3,1", "6,5,1", "2,15,1"), DIMS(1, 3, 9),
                WANT({"FusedConv", 4}, {"Concat", 0}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused: maps");
    TCase *all = tcase_create("all");
    tcase_add_test(all, maps_between_convolutions);
    tcase_add_test(all, maps_of_one_axis_keep_their_channels_last);
    tcase_add_test(all, maps_of_which_an_axis_goes_and_comes_keep_their_channels_last);
    tcase_add_test(all, linear_resize_slice_pad_and_reduce);
    tcase_add_test(all, sizes_of_maps_with_their_channels_last);
    tcase_add_test(all, channels_are_shuffled_where_they_lie);
    tcase_add_test(all, small_groups_of_single_taps_read_planes);
    tcase_add_test(all, halves_of_shuffled_channels_are_made_at_once);
    tcase_add_test(all, convolutions_write_into_what_joins_them);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
