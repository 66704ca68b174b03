/* Fused operators and channels-last maps against the reference kernels: the same graph at -O0 and -O2. */
#include "tests/check_fused.h"
#include "tests/run_suite.h"

START_TEST(convolution_takes_batch_norm_and_relu)
{
    check_same("g (float[1,3,9,8] x) => (float[A,B,C,D] y) { "
               "a = Conv <pads = [1,1,1,1], strides = [2,1]> (x, w0, w1) "
               "b = BatchNormalization (a, w2, w3, w4, w5) y = Relu(b) }",
               LIST("8,3,3,3", "8", "8", "8", "8", "+8"), DIMS(1, 3, 9, 8),
               WANT({"FusedConv", 1}, {"BatchNormalization", 0}, {"Relu", 0}, {"Transpose", 1}));
}
END_TEST

START_TEST(convolution_takes_a_residual_and_channels_stay_last)
{
    check_same("g (float[2,16,6,7] x) => (float[A,B,C,D] y) { "
               "a = Conv <pads = [1,1,1,1]> (x, w0, w1) b = Relu(a) "
               "c = Conv <pads = [1,1,1,1]> (b, w2) d = Add(x, c) e = Relu(d) "
               "y = Conv (e, w3) }",
               LIST("16,16,3,3", "16", "16,16,3,3", "5,16,1,1"), DIMS(2, 16, 6, 7),
               WANT({"FusedConv", 3}, {"Add", 0}, {"Relu", 0}, {"Transpose", 2}));
}
END_TEST

/* A sum is made where its residual was: of one that goes on, of one that others read afterwards, of the convolution's own input, of one
 * that is added behind the activation, and of a product so deep that it is made in parts. */
START_TEST(a_residual_gives_its_memory_where_nobody_needs_it)
{
    check_same("g (float[2,16,6,7] x) => (float[A,B,C,D] y) { "
               "a = Conv (x, w0) b = Relu(a) c = Conv (b, w1) d = Add(c, a) e = Relu(d) "
               "f = Conv (e, w2) h = Add(f, e) i = Relu(h) j = Conv (i, w0) k = Add(j, i) "
               "l = Conv (k, w1) m = Add(l, h) n = Conv (m, w2) o = Relu(n) p = Add(o, m) "
               "q = Conv (p, w3) r = Relu(q) s = Conv (r, w4) t = Add(s, p) y = Conv (t, w5) }",
               LIST("16,16,1,1", "16,16,1,1", "16,16,1,1", "520,16,1,1", "16,520,1,1", "5,16,1,1"),
               DIMS(2, 16, 6, 7), WANT({"Transpose", 2}));
}
END_TEST

/* Bottlenecks as YOLO and its like have them, the last of them where channels are joined; what broadcasts is left alone. */
START_TEST(convolution_takes_a_residual_behind_its_activation)
{
    check_same("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
               "a = Conv <pads = [1,1,1,1]> (x, w0, w1) s = Sigmoid(a) b = Mul(a, s) "
               "c = Conv <pads = [1,1,1,1]> (b, w2) t = Sigmoid(c) d = Mul(c, t) e = Add(b, d) "
               "f = Conv (e, w3) h = Relu(f) i = Add(h, e) "
               "k = Conv <pads = [1,1,1,1], group = 16> (i, w4) l = LeakyRelu(k) m = Sum(l, i) "
               "n = Conv (x, w5) o = Relu(n) q = Concat <axis = 1> (m, o) y = Conv (q, w6) }",
               LIST("16,3,3,3", "16", "16,16,3,3", "16,16,1,1", "16,1,3,3", "5,3,1,1", "4,21,1,1"),
               DIMS(2, 3, 9, 8),
               WANT({"FusedConv", 6}, {"Add", 0}, {"Sum", 0}, {"Concat", 0}, {"Transpose", 1}));
    check_same("g (float[1,4,9,8] x) => (float[A,B,C,D] y) { "
               "p = GlobalAveragePool(x) a = Conv (x, w0) b = Relu(a) c = Add(b, p) "
               "d = Conv (c, w1) e = Relu(d) f = Add(e, c) g = Relu(f) y = Mul(e, g) }",
               LIST("4,4,1,1", "4,4,1,1"), DIMS(1, 4, 9, 8),
               WANT({"FusedConv", 2}, {"Add", 1}, {"Elementwise", 1}));
    check_same("g (float[2,4,19] x) => (float[A,B,C] y) { "
               "a = Conv <pads = [1,1]> (x, w0, w1) b = Relu(a) y = Add(b, x) }",
               LIST("4,4,3", "4"), DIMS(2, 4, 19), WANT({"FusedConv", 1}, {"Add", 0}));
}
END_TEST

START_TEST(groups_depthwise_and_padding_before)
{
    check_same("g (float[1,8,7,7] x) => (float[A,B,C,D] y) { "
               "p = Constant <value_ints = [0,0,1,2,0,0,2,1]> () q = Pad(x, p) "
               "a = Conv <group = 8> (q, w0) b = Clip(a, w1, w2) "
               "y = Conv <group = 2, pads = [1,0,0,1]> (b, w3, w4) }",
               LIST("8,1,3,3", "1", "+1", "6,4,2,2", "6"), DIMS(1, 8, 7, 7),
               WANT({"FusedConv", 2}));
}
END_TEST

/* Causal ones, padded on both sides and cut; strides; of two axes; one of open size; not where more is cut than was padded, nor where
 * others read the whole. */
START_TEST(what_is_cut_off_a_convolution_is_not_padded)
{
    check_same("g (float[2,4,19] x) => (float[A,B,C] y) { "
               "p = Constant <value_ints = [0]> () q = Constant <value_ints = [-4]> () "
               "i = Constant <value_ints = [2]> () k = Constant <value_ints = [1]> () "
               "a = Conv <pads = [4,4], dilations = [2]> (x, w0, w1) b = Slice(a, p, q, i, k) "
               "c = Relu(b) d = Conv <pads = [5,4], strides = [2]> (c, w2) "
               "r = Constant <value_ints = [-11]> () s = Constant <value_ints = [11]> () "
               "y = Slice(d, r, s, i) }",
               LIST("6,4,3", "6", "5,6,3"), DIMS(2, 4, 19),
               WANT({"FusedConv", 2}, {"Slice", 0}, {"Relu", 0}));
    check_same(
        "g (float[1,4,9,H] x) => (float[A,B,C,D] y) { "
        "p = Constant <value_ints = [0,1]> () q = Constant <value_ints = [-2,2147483647]> () "
        "i = Constant <value_ints = [-1,2]> () "
        "a = Conv <pads = [2,2,2,2]> (x, w0) y = Slice(a, p, q, i) }",
        LIST("6,4,3,3"), DIMS(1, 4, 9, 7), WANT({"FusedConv", 1}, {"Slice", 0}));
    check_same("g (float[1,4,9] x) => (float[A,B,C] y) { "
               "p = Constant <value_ints = [0]> () q = Constant <value_ints = [-2]> () "
               "i = Constant <value_ints = [2]> () o = Constant <value_ints = [1]> () "
               "a = Conv <pads = [1,1]> (x, w0) b = Slice(a, p, q, i) "
               "c = Conv <pads = [2,2]> (b, w1) d = Slice(c, p, q, i) e = Slice(c, o, q, o) "
               "h = Slice(d, o, q, o) y = Concat <axis = 2> (e, h) }",
               LIST("6,4,3", "6,6,3"), DIMS(1, 4, 9), WANT({"FusedConv", 2}, {"Slice", 4}));
}
END_TEST

START_TEST(one_axis_and_swish)
{
    check_same("g (float[2,4,19] x) => (float[A,B,C] y) { "
               "a = Conv <pads = [1,1], strides = [2]> (x, w0, w1) s = Sigmoid(a) y = Mul(a, s) }",
               LIST("6,4,3", "6"), DIMS(2, 4, 19), WANT({"FusedConv", 1}, {"Mul", 0}));
}
END_TEST

/* Few taps and many channels: planes of channels are made at once. */
START_TEST(one_axis_of_few_taps)
{
    check_same("g (float[2,1,333] x) => (float[A,B,C] y) { "
               "a = Conv <strides = [5], pads = [3,2]> (x, w0, w1) y = LeakyRelu(a) }",
               LIST("33,1,10", "33"), DIMS(2, 1, 333), WANT({"FusedConv", 1}, {"LeakyRelu", 0}));
    check_same("g (float[2,2,90] x) => (float[A,B,C] y) { "
               "a = Conv <dilations = [4], strides = [2]> (x, w0) s = Sigmoid(a) y = Mul(a, s) }",
               LIST("20,2,3"), DIMS(2, 2, 90), WANT({"FusedConv", 1}, {"Mul", 0}));
    check_same("g (float[2,2,0] x) => (float[A,B,C] y) { y = Conv <pads = [3,3]> (x, w0, w1) }",
               LIST("20,2,3", "20"), DIMS(2, 2, 0), WANT({"FusedConv", 1}));
    check_same("g (float[1,3,41] x) => (float[A,B,C] y) { "
               "a = Conv (x, w0) b = BatchNormalization (a, w1, w2, w3, w4) y = Relu(b) }",
               LIST("16,3,1", "16", "16", "16", "+16"), DIMS(1, 3, 41),
               WANT({"FusedConv", 1}, {"Relu", 0}));
}
END_TEST

START_TEST(maps_between_convolutions)
{
    check_same("g (float[1,4,12,12] x) => (float[A,B,C,D] y) { "
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
    check_same(
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
    check_same("g (float[1,6,24] x) => (float[A,B] y) { a = Conv <pads = [1,1]> (x, w0) "
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
    check_same("g (float[N,6,L] x) => (float[A,B,C] y) { a = Conv <pads = [1,1]> (x, w0) "
               "t = Transpose <perm = [0,2,1]> (a) s = Shape <start = 1> (a) "
               "u = MatMul(t, w1) v = Transpose <perm = [0,2,1]> (u) b = Conv (v, w2) "
               "f = Cast <to = 1> (s) g = ReduceSum <keepdims = 0> (f) y = Sub(b, g) }",
               LIST("8,6,3", "8,7", "3,7,1"), DIMS(2, 6, 9),
               WANT({"FusedConv", 2}, {"Transpose", 2}));
}
END_TEST

START_TEST(linear_resize_slice_pad_and_reduce)
{
    check_same("g (float[1,4,6,5] x) => (float[A,B] y) { "
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
    check_same("g (float[N,4,H,W] x) => (float[A,B,C,D] y) { a = Conv <pads = [1,1,1,1]> (x, w0) "
               "m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (a) b = Conv (m, w1) "
               "n = Shape <end = -2> (b) s = Shape <start = -2> (a) k = Concat <axis = 0> (n, s) "
               "z = Resize <mode = \"nearest\"> (b, , , k) e = Add(z, a) c = Conv (e, w2) "
               "none = Shape <start = 3, end = 1> (c) f = ReduceSum <keepdims = 0> (none) "
               "g = Cast <to = 1> (f) y = Sub(c, g) }",
               LIST("8,4,3,3", "8,8,1,1", "3,8,1,1"), DIMS(1, 4, 7, 9),
               WANT({"FusedConv", 3}, {"Transpose", 1}));
}
END_TEST

/* As RepVGG and MobileOne have them: another window, one of a single element with batch norm behind it, batch norm of the input. */
START_TEST(branches_over_one_input_become_one_convolution)
{
    check_same("g (float[1,4,12,12] x) => (float[A,B,C,D] y) { "
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
    check_same(
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
    check_same(
        "g (float[1,6,15,16] x) => (float[A,B,C,D] y) { "
        "a = Conv <group = 2, strides = [2,1], dilations = [2,1], pads = [2,0,2,2]> (x, w0) "
        "b = Conv <group = 2, strides = [2,1], pads = [0,0,0,0]> (x, w1, w2) y = Sub(b, a) }",
        LIST("8,3,3,3", "8,3,1,1", "8"), DIMS(1, 6, 15, 16), WANT({"FusedConv", 1}));
    check_same("g (float[2,4,90] x) => (float[A,B,C] y) { "
               "a = Conv <pads = [2,2]> (x, w0) b = Conv <pads = [1,1]> (x, w1) y = Sum(a, b) }",
               LIST("4,4,5", "4,4,3"), DIMS(2, 4, 90), WANT({"FusedConv", 1}));
}
END_TEST

/* Other steps between elements; elements beside the window; another input; a branch that something else reads. */
START_TEST(branches_that_do_not_fit_stay)
{
    check_same("g (float[1,2,20,20] x) => (float[A,B,C,D] y) { "
               "a = Conv <dilations = [2,2], pads = [2,2,2,2]> (x, w0) "
               "b = Conv <pads = [1,1,1,1]> (x, w1) y = Add(a, b) }",
               LIST("2,2,3,3", "2,2,3,3"), DIMS(1, 2, 20, 20), WANT({"FusedConv", 2}));
    check_same("g (float[1,2,20,20] x) => (float[A,B,C,D] y) { "
               "a = Conv <pads = [0,0,2,2]> (x, w0) b = Conv <pads = [2,2,0,0]> (x, w1) "
               "y = Add(a, b) }",
               LIST("2,2,3,3", "2,2,3,3"), DIMS(1, 2, 20, 20), WANT({"FusedConv", 2}));
    check_same("g (float[1,2,20,20] x) => (float[A,B,C,D] y) { "
               "r = Relu(x) a = Conv <pads = [1,1,1,1]> (x, w0) b = Conv (r, w1) y = Add(a, b) }",
               LIST("2,2,3,3", "2,2,1,1"), DIMS(1, 2, 20, 20), WANT({"FusedConv", 2}));
    check_same("g (float[1,2,20,20] x) => (float[A,B,C,D] y) { "
               "a = Conv <pads = [1,1,1,1]> (x, w0) b = Conv (x, w1) s = Add(a, b) y = Mul(s, b) }",
               LIST("2,2,3,3", "2,2,1,1"), DIMS(1, 2, 20, 20), WANT({"FusedConv", 2}));
}
END_TEST

/* The rewriting here is for one run; the levels before it ran the graph merged, as sessions do that run again. */
START_TEST(one_run_merges_branches_only_where_it_pays)
{
    check_same("g (float[1,8,3,3] x) => (float[A,B,C,D] y) { "
               "a = Conv <pads = [1,1,1,1]> (x, w0) b = Conv (x, w1) y = Add(a, b) }",
               LIST("8,8,3,3", "8,8,1,1"), DIMS(1, 8, 3, 3), WANT({"FusedConv", 2}));
}
END_TEST

START_TEST(a_depthwise_stage_is_apart_from_a_product_by_large_weights)
{
    check_same("g (float[1,640,2,3] x) => (float[A,B,C,D] y) { "
               "a = Conv <group = 640, pads = [1,1,1,1]> (x, w0) y = Conv (a, w1) }",
               LIST("640,1,3,3", "640,640,1,1"), DIMS(1, 640, 2, 3),
               WANT({"FusedConv", 2}, {"ConvChain", 0}));
    check_same("g (float[1,640,2,3] x) => (float[A,B,C,D] y) { "
               "a = Conv (x, w0) y = Conv <group = 640, pads = [1,1,1,1]> (a, w1) }",
               LIST("640,640,1,1", "640,1,3,3"), DIMS(1, 640, 2, 3),
               WANT({"FusedConv", 2}, {"ConvChain", 0}));
}
END_TEST

/* More rows than the kernels for few channels have pointers for. */
START_TEST(patches_of_many_rows_are_taken_from_planes)
{
    check_same("g (float[1,3,36,54] x) => (float[A,B,C,D] y) { "
               "y = Conv <strides = [18,18]> (x, w0, w1) }",
               LIST("6,3,18,18", "6"), DIMS(1, 3, 36, 54), WANT({"FusedConv", 1}));
    check_same("g (float[1,1,40,9] x) => (float[A,B,C,D] y) { "
               "y = Conv <pads = [3,1,3,1]> (x, w0) }",
               LIST("5,1,17,3"), DIMS(1, 1, 40, 9), WANT({"FusedConv", 1}));
}
END_TEST

START_TEST(weights_that_vary)
{
    check_same(
        "g (float[2,2,3,3] x) => (float[A,B,C,D] y) { "
        "a = Conv <pads = [1,1,1,1]> (x, x) b = Relu(a) k = Constant <value_ints = [1,2,3]> () "
        "s = ReduceMean <keepdims = 0> (x, k) y = Conv (b, x, s) }",
        LIST("1"), DIMS(2, 2, 3, 3), WANT({"FusedConv", 2}, {"Relu", 1}));
    check_same("g (float[1,1,3] x) => (float[A,B,C] y) { y = ConvTranspose (x, x) }", LIST("1"),
               DIMS(1, 1, 3), WANT({"FusedConv", 0}, {"ConvTranspose", 1}));
    check_same("g (float[4,4,3,3] x) => (float[A,B,C,D] y) { r = Relu(x) "
               "k = Constant <value_ints = [1,2,3]> () s = ReduceMean <keepdims = 0> (x, k) "
               "b = Concat <axis = 0> (s, s) y = ConvTranspose <strides = [2,3], group = 2, "
               "pads = [1,0,0,1], output_padding = [1,0]> (r, x, b) }",
               LIST("1"), DIMS(4, 4, 3, 3), WANT({"FusedConv", 0}, {"ConvTranspose", 1}));
    check_same(
        "g (float[2,2,4] x) => (float[A,B,C] y) { z = Relu(x) infinite = Reciprocal(z) e = Exp(x) "
        "y = ConvTranspose <strides = [3]> (e, infinite) }",
        LIST("1"), DIMS(2, 2, 4), WANT({"FusedConv", 0}, {"ConvTranspose", 1}));
}
END_TEST

START_TEST(pointwise_convolutions_of_planes)
{
    check_same("g (float[2,8,7,11] x) => (float[A,B,C,D] y) { c = Conv (x, w0, w1) y = Relu(c) }",
               LIST("20,8,1,1", "20"), DIMS(2, 8, 7, 11),
               WANT({"FusedConv", 1}, {"Relu", 0}, {"Transpose", 0}));
    check_same("g (float[2,8,77] x) => (float[A,B,C] y) { y = Conv (x, w0, w1) }",
               LIST("20,8,1", "20"), DIMS(2, 8, 77), WANT({"FusedConv", 1}));
    check_same("g (float[1,9,601] x) => (float[A,B,C] y) { c = Conv (x, w0) y = Relu(c) }",
               LIST("5,9,1"), DIMS(1, 9, 601), WANT({"FusedConv", 1}));
    check_same("g (float[1,5,3,4,6] x) => (float[A,B,C,D,E] y) { y = Conv <group = 5> (x, w0) }",
               LIST("20,1,1,1,1"), DIMS(1, 5, 3, 4, 6), WANT({"Conv", 1}));
    check_same("g (float[1,4,6,6] x) => (float[A,B,C,D] y) { c = Conv (x, w0) y = Conv (c, w1) }",
               LIST("6,4,1,1", "7,6,1,1"), DIMS(1, 4, 6, 6),
               WANT({"FusedConv", 2}, {"Transpose", 1}));
}
END_TEST

START_TEST(gemm_with_factors_and_products_of_any_rank)
{
    check_same("g (float[3,5] x) => (float[A,B] y) { "
               "a = Gemm <alpha = 0.5, beta = 2.0, transB = 1> (x, w0, w1) b = Tanh(a) "
               "c = MatMul(b, w2) d = Add(c, w3) y = Mul(d, w4) }",
               LIST("7,5", "7", "7,6", "6", "6"), DIMS(3, 5), WANT({"FusedMatMul", 2}, {"Mul", 0}));
    check_same("g (float[2,3,5] x) => (float[A,B,C] y) { "
               "a = MatMul(x, w0) b = Add(w1, a) c = Gelu(b) d = MatMul(c, w2) y = Add(d, x) }",
               LIST("5,8", "8", "8,5"), DIMS(2, 3, 5), WANT({"FusedMatMul", 2}, {"Add", 0}));
}
END_TEST

/* One a row, one a column, and one an element. */
START_TEST(gemm_scales_a_third_operand_that_varies)
{
    check_same("g (float[3,5] x) => (float[A,B] y) { k = Constant <value_ints = [1]> () "
               "c = ReduceMax (x, k) a = Gemm <alpha = 0.5, beta = 2.0, transB = 1> (x, x, c) "
               "r = Transpose (c) b = Gemm <beta = -0.25, transA = 1> (a, a, r) "
               "y = Gemm <alpha = 3.0, beta = 0.125> (b, b, a) }",
               LIST("1"), DIMS(3, 5), WANT({"Gemm", 3}));
}
END_TEST

/* As weights that are tied to an embedding are too large to be. */
START_TEST(products_by_a_transpose_that_is_not_folded)
{
    static const char model[] =
        HEAD "g (float[2,1,3] x) => (float[A,B,C] y) <float[4,3] w = {1,2,3, 4,5,6, 7,8,9, 0,1,0}> "
             "{ t = Transpose <perm = [1,0]> (w) y = MatMul(x, t) }";
    static const float x[] = {1, 0, 2, -1, 1, 0}, want[] = {7, 16, 25, 0, 1, 1, 1, 1};
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true, .fold_bytes = 1};
    const struct ox_run_options options = {.level = 0};
    struct text_run f;
    text_open(&f, model);
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    ck_assert_uint_eq(f.model->graph->n_nodes, 1);
    ck_assert_uint_eq(count_own(f.model, "FusedMatMul"), 1);
    ck_assert_int_eq(text_plan(&f, &options), OX_OK);
    text_give(&f, OX_FLOAT32, 3, (const int64_t[]){2, 1, 3}, x);
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    ck_assert_uint_eq(y->n, 8);
    ck_assert_mem_eq(y->data, want, sizeof want);
    text_close(&f);
}
END_TEST

static size_t nodes_with_float8(bool repeats)
{
    static const char model[] =
        "<ir_version: 9, opset_import: [\"\" : 19]> g (float[2,2] x) => (float[2,2] y) "
        "<float[2,2] f = {1, 2, 3, 4}, float s = {0.5}> "
        "{ w = Cast <to = 17> (f) d = DequantizeLinear(w, s) y = MatMul(x, d) }";
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true, .repeats = repeats};
    struct text_run f;
    text_open(&f, model);
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    size_t n = f.model->graph->n_nodes;
    text_close(&f);
    return n;
}

START_TEST(float8_weights_are_widened_once_where_runs_repeat)
{
    ck_assert_uint_eq(nodes_with_float8(false), 2);
    ck_assert_uint_eq(nodes_with_float8(true), 1);
}
END_TEST

static size_t nodes_with_cast_weights(bool repeats)
{
    struct ox_strbuf text;
    const struct ox_rewrite_plan plan = {
        .level = 2, .to_run = true, .repeats = repeats, .fold_bytes = 20000};
    struct text_run f;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD "g (float[2,128] x) => (float[A,B] y) <float[256] s = {1");
    for (int i = 1; i < 256; i++)
        ox_strbuf_printf(&text, ",%d", i % 9);
    ox_strbuf_puts(&text, "}, int8[128,256] w = {1");
    for (int i = 1; i < 128 * 256; i++)
        ox_strbuf_printf(&text, ",%d", i % 99 - 50);
    ox_strbuf_puts(&text, "}> { c = Cast <to = 1> (w) d = Mul(c, s) y = MatMul(x, d) }");
    ck_assert(!text.failed);
    text_open(&f, ox_strbuf_text(&text, NULL));
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    size_t n = f.model->graph->n_nodes;
    text_close(&f);
    ox_strbuf_release(&text);
    return n;
}

START_TEST(weights_that_are_cast_from_8_bits_are_so_once_where_runs_repeat)
{
    ck_assert_uint_eq(nodes_with_cast_weights(false), 3);
    ck_assert_uint_eq(nodes_with_cast_weights(true), 1);
}
END_TEST

START_TEST(what_would_change_the_meaning_is_left_alone)
{
    /* The convolution's result is an output; the addend broadcasts; the pad is no zero. */
    check_same("g (float[1,4,5,5] x) => (float[A,B,C,D] y, float[E,F,G,H] a) { "
               "a = Conv (x, w0) y = Relu(a) }",
               LIST("4,4,1,1"), DIMS(1, 4, 5, 5), WANT({"FusedConv", 1}, {"Relu", 1}));
    check_same("g (float[1,4,5,5] x) => (float[A,B,C,D] y) { "
               "a = Conv (x, w0) b = GlobalMaxPool(x) y = Add(a, b) }",
               LIST("4,4,1,1"), DIMS(1, 4, 5, 5), WANT({"Add", 1}));
    check_same("g (float[1,4,5,5] x) => (float[A,B,C,D] y) { "
               "p = Constant <value_ints = [0,0,1,1,0,0,1,1]> () q = Pad(x, p, w1) "
               "y = Conv (q, w0) }",
               LIST("4,4,3,3", "+1"), DIMS(1, 4, 5, 5), WANT({"Pad", 1}));
}
END_TEST

START_TEST(channels_are_shuffled_where_they_lie)
{
    check_same(
        "g (float[2,4,5,3] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
        "p = Constant <value_ints = [2,2,4,5,3]> () q = Constant <value_ints = [2,8,5,3]> () "
        "b = Reshape <allowzero = 1> (a, p) c = Transpose <perm = [0,2,1,3,4]> (b) d = Reshape "
        "<allowzero = 1> (c, q) "
        "y = Conv (d, w1) }",
        LIST("8,4,1,1", "3,8,1,1"), DIMS(2, 4, 5, 3), WANT({"FusedConv", 2}, {"Transpose", 2}));
}
END_TEST

START_TEST(halves_of_shuffled_channels_are_made_at_once)
{
    check_same(
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
    check_same("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
               "a = Conv <pads = [1,1,1,1]> (x, w0, w1) b = Relu(a) "
               "c = Conv (b, w2) d = ConvTranspose <group = 2> (b, w3) "
               "e = Conv <pads = [1,1,1,1]> (b, w4) f = Add(e, b) g = Relu(f) "
               "j = Concat <axis = 1> (g, c, d) y = Conv (j, w5) }",
               LIST("16,3,3,3", "16", "7,16,1,1", "16,3,1,1", "16,16,3,3", "4,29,1,1"),
               DIMS(2, 3, 9, 8), WANT({"FusedConv", 5}, {"Concat", 0}, {"Transpose", 1}));
    /* What others need too is copied, by itself or with all others. */
    check_same("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
               "m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (a) b = Conv (m, w1) "
               "c = ConvTranspose <strides = [2,2], output_padding = [1,0]> (b, w2) "
               "d = Conv (a, w3) j = Concat <axis = 1> (c, a, d, a) e = Conv (j, w4) "
               "f = MaxPool <kernel_shape = [1,1]> (j) k = Concat <axis = 1> (f, e) "
               "n = BatchNormalization (k, w5, w6, w7, w8) h = Relu(n) y = Conv (h, w9) }",
               LIST("5,3,1,1", "6,5,1,1", "6,7,2,2", "3,5,1,1", "2,20,1,1", "22", "22", "22", "+22",
                    "3,22,1,1"),
               DIMS(2, 3, 9, 8),
               WANT({"JoinMaps", 1}, {"Elementwise", 0}, {"FusedConv", 6}, {"Transpose", 1}));
    /* Resize makes slices too. */
    check_same(
        "g (float[2,3,5,4] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
        "s = Constant <value_ints = [2,8,10,8]> () "
        "b = Resize <mode = \"nearest\"> (a, , , s) c = Conv (b, w1) "
        "d = Resize <mode = \"linear\"> (a, , , s) e = Concat <axis = 1> (c, d, b) "
        "f = Conv (e, w2) k = Constant <value_ints = [1]> () l = Constant <value_ints = [4]> () "
        "h = Constant <value_ints = [0]> () y = Slice(f, h, l, k) }",
        LIST("8,3,1,1", "5,8,1,1", "6,21,3,3"), DIMS(2, 3, 5, 4),
        WANT({"JoinMaps", 1}, {"Resize", 2}, {"Concat", 0}, {"FusedConv", 3}));
    check_same("g (float[1,3,9] x) => (float[A,B,C] y) { a = Conv (x, w0) b = Conv (x, w1) "
               "c = Conv (b, w2) j = Concat <axis = 1> (a, b, c) y = Conv (j, w3) }",
               LIST("4,3,1", "5,3,1", "6,5,1", "2,15,1"), DIMS(1, 3, 9),
               WANT({"FusedConv", 4}, {"Concat", 0}));
}
END_TEST

START_TEST(transposed_convolutions_take_in_what_follows)
{
    check_same("g (float[2,6,5,4] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
               "b = ConvTranspose <strides = [2,2], pads = [1,0,0,1], output_padding = [1,0], "
               "group = 2> (a, w1, w2) c = BatchNormalization (b, w3, w4, w5, w6) d = Relu(c) "
               "y = ConvTranspose <strides = [1,3]> (d, w7) }",
               LIST("8,6,1,1", "8,5,3,2", "10", "10", "10", "10", "+10", "10,3,2,3"),
               DIMS(2, 6, 5, 4),
               WANT({"FusedConv", 3}, {"BatchNormalization", 0}, {"Relu", 0}, {"Transpose", 2}));
    check_same("g (float[1,3,9] x) => (float[A,B,C] y) { "
               "a = ConvTranspose <strides = [2], dilations = [2]> (x, w0, w1) y = Relu(a) }",
               LIST("3,4,3", "4"), DIMS(1, 3, 9), WANT({"FusedConv", 1}, {"Relu", 0}));
}
END_TEST

START_TEST(transposed_convolutions_of_stride_1_are_convolutions)
{
    check_same("g (float[2,4,5,6] x) => (float[A,B,C,D] y) { "
               "a = ConvTranspose <group = 2, pads = [1,0,0,2], dilations = [1,2]> (x, w0, w1) "
               "b = Relu(a) c = ConvTranspose <group = 6> (b, w2) "
               "d = ConvTranspose <pads = [2,2,1,2]> (c, w3) "
               "y = ConvTranspose <pads = [1,1,1,1], kernel_shape = [2,2]> (d, w4) }",
               LIST("4,3,3,2", "6", "6,1,2,3", "6,2,3,3", "2,3,2,2"), DIMS(2, 4, 5, 6),
               WANT({"FusedConv", 4}, {"ConvTranspose", 0}, {"Relu", 0}));
    check_same("g (float[1,3,9] x) => (float[A,B,C] y) { "
               "a = ConvTranspose <pads = [1,0]> (x, w0) "
               "y = ConvTranspose <pads = [3,2], output_padding = [0]> (a, w1) }",
               LIST("3,4,3", "4,2,3"), DIMS(1, 3, 9), WANT({"FusedConv", 2}));
}
END_TEST

/* The residual comes from between the stages. */
START_TEST(large_blocks_around_depthwise_run_in_strips)
{
    check_same("g (float[1,5,60,60] x) => (float[A,B,C,D] y) { a = Conv (x, w0, w1) "
               "b = Clip(a, w2, w3) "
               "c = Conv <group = 160, pads = [1,1,1,1], strides = [2,2]> (b, w4, w5) d = Relu(c) "
               "r = Conv <strides = [2,2]> (x, w6) e = Conv (d, w7) f = Add(e, r) y = Relu(f) }",
               LIST("160,5,1,1", "160", "1", "+1", "160,1,3,3", "160", "6,5,1,1", "6,160,1,1"),
               DIMS(1, 5, 60, 60), WANT({"ConvChain", 1}, {"FusedConv", 1}, {"Add", 0}));
    check_same("g (float[1,6,40,40] x) => (float[A,B,C,D] y) { a = Conv (x, w0, w1) b = Relu(a) "
               "c = Conv <group = 24, pads = [1,1,1,1]> (b, w2, w3) d = Relu(c) e = Conv (d, w4) "
               "s = Sigmoid(e) f = Mul(e, s) g = Add(f, x) y = Conv (g, w5) }",
               LIST("24,6,1,1", "24", "24,1,3,3", "24", "6,24,1,1", "2,6,1,1"), DIMS(1, 6, 40, 40),
               WANT({"ConvChain", 1}, {"FusedConv", 1}, {"Add", 0}));
}
END_TEST

START_TEST(spelled_activations_are_seen)
{
    check_same("g (float[1,4,5,5] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
               "k = Constant <value_float = 3.0> () s = Constant <value_float = 6.0> () "
               "o = Constant <value_float = 0.0> () b = Add(a, k) c = Clip(b, o, s) "
               "d = Div(c, s) y = Mul(a, d) }",
               LIST("4,4,1,1"), DIMS(1, 4, 5, 5), WANT({"FusedConv", 1}, {"Mul", 0}, {"Clip", 0}));
}
END_TEST

/* As heads of detectors have them; not where others read the map as it was. */
START_TEST(activations_behind_what_moves_elements_are_taken_in)
{
    check_same("g (float[2,3,5,4] x) => (float[A,B,C,D,E] y, float[F,G] z) { "
               "r = Constant <value_ints = [2,2,3,5,4]> () a = Conv (x, w0, w1) "
               "b = Reshape(a, r) c = Transpose <perm = [0,1,3,4,2]> (b) y = Sigmoid(c) "
               "d = Conv (x, w2) e = Flatten(d) z = Relu(e) }",
               LIST("6,3,1,1", "6", "2,3,5,4"), DIMS(2, 3, 5, 4),
               WANT({"FusedConv", 2}, {"Sigmoid", 0}, {"Relu", 0}));
    check_same("g (float[2,3,5,4] x) => (float[A,B] y, float[C,D,E,F] z) { "
               "a = Conv (x, w0, w1) b = Flatten(a) y = Sigmoid(b) z = Exp(a) }",
               LIST("6,3,1,1", "6"), DIMS(2, 3, 5, 4), WANT({"FusedConv", 1}, {"Sigmoid", 1}));
    check_same("g (float[2,3,5,4] x) => (float[A,B] y, float[C,D] z) { "
               "a = Conv (x, w0, w1) y = Flatten(a) z = Sigmoid(y) }",
               LIST("6,3,1,1", "6"), DIMS(2, 3, 5, 4), WANT({"FusedConv", 1}, {"Sigmoid", 1}));
}
END_TEST

/* DenseNet's and ResNet's second form: a batch norm and Relu in front of a convolution, of maps that others read too. */
START_TEST(preactivations_are_worked_out_where_they_are_read)
{
    static const char block[] =
        "{ a = Conv (x, w0) b = BatchNormalization (a, w1, w2, w3, w4) c = Relu(b) "
        "d = Conv (c, w5, w6) e = Relu(d) f = Conv <pads = [1,1,1,1]> (e, w7) "
        "j = Concat <axis = 1> (a, f, a) k = BatchNormalization (j, w8, w9, w10, w11) l = Relu(k) "
        "m = Conv (l, w12) n = AveragePool <kernel_shape = [2,2], strides = [2,2]> (m) "
        "y = Conv (n, w13) }";
    static const char *const heads[] = {"g (float[2,3,15,13] x) => (float[A,B,C,D] y) ",
                                        "g (float[1,3,5,7] x) => (float[A,B,C,D] y) "};
    for (unsigned i = 0; i < 2; i++) { /* many pixels, and few: those are made before */
        char graph[1024];
        snprintf(graph, sizeof graph, "%s%s", heads[i], block);
        const int64_t dims[2][4] = {{2, 3, 15, 13}, {1, 3, 5, 7}};
        check_same(graph,
                   LIST("37,3,1,1", "37", "37", "37", "+37", "24,37,1,1", "24", "20,24,3,3", "94",
                        "94", "94", "+94", "33,94,1,1", "2,33,1,1"),
                   4, dims[i],
                   WANT({"Elementwise", 0}, {"Concat", 0}, {"FusedConv", 5}, {"Transpose", 1}));
    }
    /* Whatever the chain is. */
    check_same("g (float[2,3,15,13] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
               "b = Neg(a) c = Sub(w1, b) d = Sigmoid(c) e = Mul(d, a) y = Conv (e, w2) }",
               LIST("5,3,3,3", "5,1,1", "2,5,1,1"), DIMS(2, 3, 15, 13),
               WANT({"Elementwise", 0}, {"FusedConv", 2}));
}
END_TEST

/* Squeeze and excitation: not into weights that serve few pixels, more images than one, or others' reads of what they multiply. */
START_TEST(gates_go_into_weights_that_serve_many_pixels)
{
#define GATED                                                                                      \
    "a = Conv (x, w0, w1) p = GlobalAveragePool(a) q = Conv (p, w2) r = Relu(q) "                  \
    "s = Conv (r, w3) t = Sigmoid(s) "
    struct {
        const char *graph;
        int64_t dims[4];
        size_t left;
    } const given[] = {
        {"g (float[1,3,18,15] x) => (float[A,B,C,D] y) { " GATED "u = Mul(t, a) y = Conv (u, w4) }",
         {1, 3, 18, 15},
         0},
        {"g (float[1,3,16,16] x) => (float[A,B,C,D] y) { " GATED "u = Mul(a, t) y = Conv (u, w4) }",
         {1, 3, 16, 16},
         1},
        {"g (float[2,3,18,15] x) => (float[A,B,C,D] y) { " GATED "u = Mul(a, t) y = Conv (u, w4) }",
         {2, 3, 18, 15},
         1},
        {"g (float[1,3,18,15] x) => (float[A,B,C,D] y, float[E,F,G,H] z) { " GATED
         "u = Mul(a, t) y = Conv (u, w4) z = MaxPool <kernel_shape = [2,2]> (u) }",
         {1, 3, 18, 15},
         1},
    };
    for (size_t i = 0; i < 4; i++)
        check_same(given[i].graph, LIST("20,3,1,1", "20", "4,20,1,1", "20,4,1,1", "37,20,1,1"), 4,
                   given[i].dims, WANT({"FusedConv", 4}, {"Mul", given[i].left}));
#undef GATED
}
END_TEST

START_TEST(preactivations_that_others_read_or_that_spread_stay)
{
    check_same("g (float[2,3,15,13] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
               "m = MaxPool <kernel_shape = [1,1]> (a) "
               "b = BatchNormalization (m, w1, w2, w3, w4) c = Relu(b) "
               "d = Conv (c, w5) e = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> (c) "
               "f = Conv (e, w6) y = Mul(d, f) }",
               LIST("16,3,1,1", "16", "16", "16", "+16", "9,16,1,1", "9,16,1,1"),
               DIMS(2, 3, 15, 13), WANT({"Elementwise", 1}, {"FusedConv", 3}));
    check_same("g (float[2,3,15,13] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
               "m = MaxPool <kernel_shape = [1,1]> (a) "
               "b = BatchNormalization (m, w1, w2, w3, w4) c = Relu(b) "
               "d = Conv <strides = [2,1]> (c, w5) y = Conv (d, w6) }",
               LIST("6,3,1,1", "6", "6", "6", "+6", "9,6,1,1", "5,9,3,3"), DIMS(2, 3, 15, 13),
               WANT({"Elementwise", 1}, {"FusedConv", 3}));
}
END_TEST

/* Runs of elementwise operators: as one node, the same bits as one by one. */
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
        add_constants(&text[i], shapes, OX_COUNT(shapes));
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

int main(void)
{
    const TTest *const tests[] = {convolution_takes_batch_norm_and_relu,
                                  convolution_takes_a_residual_and_channels_stay_last,
                                  a_residual_gives_its_memory_where_nobody_needs_it,
                                  convolution_takes_a_residual_behind_its_activation,
                                  groups_depthwise_and_padding_before,
                                  what_is_cut_off_a_convolution_is_not_padded,
                                  one_axis_and_swish,
                                  one_axis_of_few_taps,
                                  maps_between_convolutions,
                                  maps_of_one_axis_keep_their_channels_last,
                                  linear_resize_slice_pad_and_reduce,
                                  sizes_of_maps_with_their_channels_last,
                                  branches_over_one_input_become_one_convolution,
                                  a_depthwise_sum_takes_its_input_in,
                                  activations_behind_what_moves_elements_are_taken_in,
                                  preactivations_are_worked_out_where_they_are_read,
                                  gates_go_into_weights_that_serve_many_pixels,
                                  preactivations_that_others_read_or_that_spread_stay,
                                  branches_with_groups_steps_and_one_axis_are_merged,
                                  branches_that_do_not_fit_stay,
                                  one_run_merges_branches_only_where_it_pays,
                                  a_depthwise_stage_is_apart_from_a_product_by_large_weights,
                                  patches_of_many_rows_are_taken_from_planes,
                                  weights_that_vary,
                                  pointwise_convolutions_of_planes,
                                  gemm_with_factors_and_products_of_any_rank,
                                  gemm_scales_a_third_operand_that_varies,
                                  products_by_a_transpose_that_is_not_folded,
                                  float8_weights_are_widened_once_where_runs_repeat,
                                  weights_that_are_cast_from_8_bits_are_so_once_where_runs_repeat,
                                  what_would_change_the_meaning_is_left_alone,
                                  channels_are_shuffled_where_they_lie,
                                  halves_of_shuffled_channels_are_made_at_once,
                                  convolutions_write_into_what_joins_them,
                                  large_blocks_around_depthwise_run_in_strips,
                                  transposed_convolutions_take_in_what_follows,
                                  transposed_convolutions_of_stride_1_are_convolutions,
                                  spelled_activations_are_seen};
    Suite *suite = suite_create("fused");
    TCase *tcase = tcase_create("fused");
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    tcase_add_loop_test(tcase, runs_of_elementwise_operators_are_one_node_of_the_same_bits, 0,
                        OX_COUNT(chains));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
