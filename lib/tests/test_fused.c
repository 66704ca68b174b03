/* Convolutions that take in what goes before and behind them, against the reference kernels: the same graph at -O0 and -O2. */
#include <check.h>
#include <stdio.h>

#include "tests/check_fused.h"
#include "tests/run_suite.h"

START_TEST(convolution_takes_batch_norm_and_relu)
{
    check_fused("g (float[1,3,9,8] x) => (float[A,B,C,D] y) { "
                "a = Conv <pads = [1,1,1,1], strides = [2,1]> (x, w0, w1) "
                "b = BatchNormalization (a, w2, w3, w4, w5) y = Relu(b) }",
                LIST("8,3,3,3", "8", "8", "8", "8", "+8"), DIMS(1, 3, 9, 8),
                WANT({"FusedConv", 1}, {"BatchNormalization", 0}, {"Relu", 0}, {"Transpose", 1}));
}
END_TEST

START_TEST(convolution_takes_a_residual_and_channels_stay_last)
{
    check_fused("g (float[2,16,6,7] x) => (float[A,B,C,D] y) { "
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
    check_fused("g (float[2,16,6,7] x) => (float[A,B,C,D] y) { "
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
    check_fused("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
                "a = Conv <pads = [1,1,1,1]> (x, w0, w1) s = Sigmoid(a) b = Mul(a, s) "
                "c = Conv <pads = [1,1,1,1]> (b, w2) t = Sigmoid(c) d = Mul(c, t) e = Add(b, d) "
                "f = Conv (e, w3) h = Relu(f) i = Add(h, e) "
                "k = Conv <pads = [1,1,1,1], group = 16> (i, w4) l = LeakyRelu(k) m = Sum(l, i) "
                "n = Conv (x, w5) o = Relu(n) q = Concat <axis = 1> (m, o) y = Conv (q, w6) }",
                LIST("16,3,3,3", "16", "16,16,3,3", "16,16,1,1", "16,1,3,3", "5,3,1,1", "4,21,1,1"),
                DIMS(2, 3, 9, 8),
                WANT({"FusedConv", 6}, {"Add", 0}, {"Sum", 0}, {"Concat", 0}, {"Transpose", 1}));
    check_fused("g (float[1,4,9,8] x) => (float[A,B,C,D] y) { "
                "p = GlobalAveragePool(x) a = Conv (x, w0) b = Relu(a) c = Add(b, p) "
                "d = Conv (c, w1) e = Relu(d) f = Add(e, c) g = Relu(f) y = Mul(e, g) }",
                LIST("4,4,1,1", "4,4,1,1"), DIMS(1, 4, 9, 8),
                WANT({"FusedConv", 2}, {"Add", 1}, {"Elementwise", 1}));
    check_fused("g (float[2,4,19] x) => (float[A,B,C] y) { "
                "a = Conv <pads = [1,1]> (x, w0, w1) b = Relu(a) y = Add(b, x) }",
                LIST("4,4,3", "4"), DIMS(2, 4, 19), WANT({"FusedConv", 1}, {"Add", 0}));
}
END_TEST

START_TEST(groups_depthwise_and_padding_before)
{
    check_fused("g (float[1,8,7,7] x) => (float[A,B,C,D] y) { "
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
    check_fused("g (float[2,4,19] x) => (float[A,B,C] y) { "
                "p = Constant <value_ints = [0]> () q = Constant <value_ints = [-4]> () "
                "i = Constant <value_ints = [2]> () k = Constant <value_ints = [1]> () "
                "a = Conv <pads = [4,4], dilations = [2]> (x, w0, w1) b = Slice(a, p, q, i, k) "
                "c = Relu(b) d = Conv <pads = [5,4], strides = [2]> (c, w2) "
                "r = Constant <value_ints = [-11]> () s = Constant <value_ints = [11]> () "
                "y = Slice(d, r, s, i) }",
                LIST("6,4,3", "6", "5,6,3"), DIMS(2, 4, 19),
                WANT({"FusedConv", 2}, {"Slice", 0}, {"Relu", 0}));
    check_fused(
        "g (float[1,4,9,H] x) => (float[A,B,C,D] y) { "
        "p = Constant <value_ints = [0,1]> () q = Constant <value_ints = [-2,2147483647]> () "
        "i = Constant <value_ints = [-1,2]> () "
        "a = Conv <pads = [2,2,2,2]> (x, w0) y = Slice(a, p, q, i) }",
        LIST("6,4,3,3"), DIMS(1, 4, 9, 7), WANT({"FusedConv", 1}, {"Slice", 0}));
    check_fused("g (float[1,4,9] x) => (float[A,B,C] y) { "
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
    check_fused("g (float[2,4,19] x) => (float[A,B,C] y) { "
                "a = Conv <pads = [1,1], strides = [2]> (x, w0, w1) s = Sigmoid(a) y = Mul(a, s) }",
                LIST("6,4,3", "6"), DIMS(2, 4, 19), WANT({"FusedConv", 1}, {"Mul", 0}));
}
END_TEST

/* Few taps and many channels: planes of channels are made at once. */
START_TEST(one_axis_of_few_taps)
{
    check_fused("g (float[2,1,333] x) => (float[A,B,C] y) { "
                "a = Conv <strides = [5], pads = [3,2]> (x, w0, w1) y = LeakyRelu(a) }",
                LIST("33,1,10", "33"), DIMS(2, 1, 333), WANT({"FusedConv", 1}, {"LeakyRelu", 0}));
    check_fused("g (float[2,2,90] x) => (float[A,B,C] y) { "
                "a = Conv <dilations = [4], strides = [2]> (x, w0) s = Sigmoid(a) y = Mul(a, s) }",
                LIST("20,2,3"), DIMS(2, 2, 90), WANT({"FusedConv", 1}, {"Mul", 0}));
    check_fused("g (float[2,2,0] x) => (float[A,B,C] y) { y = Conv <pads = [3,3]> (x, w0, w1) }",
                LIST("20,2,3", "20"), DIMS(2, 2, 0), WANT({"FusedConv", 1}));
    check_fused("g (float[1,3,41] x) => (float[A,B,C] y) { "
                "a = Conv (x, w0) b = BatchNormalization (a, w1, w2, w3, w4) y = Relu(b) }",
                LIST("16,3,1", "16", "16", "16", "+16"), DIMS(1, 3, 41),
                WANT({"FusedConv", 1}, {"Relu", 0}));
}
END_TEST

START_TEST(weights_that_vary)
{
    check_fused(
        "g (float[2,2,3,3] x) => (float[A,B,C,D] y) { "
        "a = Conv <pads = [1,1,1,1]> (x, x) b = Relu(a) k = Constant <value_ints = [1,2,3]> () "
        "s = ReduceMean <keepdims = 0> (x, k) y = Conv (b, x, s) }",
        LIST("1"), DIMS(2, 2, 3, 3), WANT({"FusedConv", 2}, {"Relu", 1}));
    check_fused("g (float[1,1,3] x) => (float[A,B,C] y) { y = ConvTranspose (x, x) }", LIST("1"),
                DIMS(1, 1, 3), WANT({"FusedConv", 0}, {"ConvTranspose", 1}));
    check_fused("g (float[4,4,3,3] x) => (float[A,B,C,D] y) { r = Relu(x) "
                "k = Constant <value_ints = [1,2,3]> () s = ReduceMean <keepdims = 0> (x, k) "
                "b = Concat <axis = 0> (s, s) y = ConvTranspose <strides = [2,3], group = 2, "
                "pads = [1,0,0,1], output_padding = [1,0]> (r, x, b) }",
                LIST("1"), DIMS(4, 4, 3, 3), WANT({"FusedConv", 0}, {"ConvTranspose", 1}));
    check_fused(
        "g (float[2,2,4] x) => (float[A,B,C] y) { z = Relu(x) infinite = Reciprocal(z) e = Exp(x) "
        "y = ConvTranspose <strides = [3]> (e, infinite) }",
        LIST("1"), DIMS(2, 2, 4), WANT({"FusedConv", 0}, {"ConvTranspose", 1}));
}
END_TEST

START_TEST(pointwise_convolutions_of_planes)
{
    check_fused("g (float[2,8,7,11] x) => (float[A,B,C,D] y) { c = Conv (x, w0, w1) y = Relu(c) }",
                LIST("20,8,1,1", "20"), DIMS(2, 8, 7, 11),
                WANT({"FusedConv", 1}, {"Relu", 0}, {"Transpose", 0}));
    check_fused("g (float[2,8,77] x) => (float[A,B,C] y) { y = Conv (x, w0, w1) }",
                LIST("20,8,1", "20"), DIMS(2, 8, 77), WANT({"FusedConv", 1}));
    check_fused("g (float[1,9,601] x) => (float[A,B,C] y) { c = Conv (x, w0) y = Relu(c) }",
                LIST("5,9,1"), DIMS(1, 9, 601), WANT({"FusedConv", 1}));
    check_fused("g (float[1,5,3,4,6] x) => (float[A,B,C,D,E] y) { y = Conv <group = 5> (x, w0) }",
                LIST("20,1,1,1,1"), DIMS(1, 5, 3, 4, 6), WANT({"Conv", 1}));
    check_fused("g (float[1,4,6,6] x) => (float[A,B,C,D] y) { c = Conv (x, w0) y = Conv (c, w1) }",
                LIST("6,4,1,1", "7,6,1,1"), DIMS(1, 4, 6, 6),
                WANT({"FusedConv", 2}, {"Transpose", 1}));
}
END_TEST

START_TEST(convolutions_of_planes_to_one)
{
    check_fused("g (float[2,5,9,70] x) => (float[A,B,C,D] y) { c = Conv <pads = [1,2,0,1], "
                "dilations = [2,1]> (x, w0, w1) y = Relu(c) }",
                LIST("1,5,3,3", "1"), DIMS(2, 5, 9, 70),
                WANT({"FusedConv", 1}, {"Relu", 0}, {"Transpose", 0}));
    check_fused("g (float[2,3,8,99] x) => (float[A,B,C,D] y) { y = Conv <strides = [2,2], "
                "pads = [1,1,1,1]> (x, w0) }",
                LIST("1,3,4,2"), DIMS(2, 3, 8, 99), WANT({"FusedConv", 1}, {"Transpose", 0}));
    check_fused("g (float[1,7,3,5,6] x) => (float[A,B,C,D,E] y) { y = Conv (x, w0, w1) }",
                LIST("1,7,1,1,1", "1"), DIMS(1, 7, 3, 5, 6), WANT({"Conv", 1}));
    /* Deeper than a block of the product's depth, of few pixels and many. */
    check_fused("g (float[1,600,3] x) => (float[A,B,C] y) { "
                "y = ConvTranspose <strides = [4], pads = [3,1]> (x, w0, w1) }",
                LIST("600,1,16", "1"), DIMS(1, 600, 3), WANT({"FusedConv", 1}));
    check_fused("g (float[2,530,70] x) => (float[A,B,C] y) { "
                "a = ConvTranspose <strides = [4]> (x, w0, w1) y = Tanh(a) }",
                LIST("530,1,16", "1"), DIMS(2, 530, 70), WANT({"FusedConv", 1}));
    check_fused(
        "g (float[1,6,4,40] x) => (float[A,B,C,D] y) { y = ConvTranspose <pads = [1,1,1,1]> "
        "(x, w0) }",
        LIST("6,1,3,3"), DIMS(1, 6, 4, 40), WANT({"FusedConv", 1}, {"Transpose", 0}));
    check_fused("g (float[1,6,4,7] x) => (float[A,B,C,D] y) { y = Conv (x, w0) }", LIST("1,6,2,2"),
                DIMS(1, 6, 4, 7), WANT({"FusedConv", 1}, {"Transpose", 0}));
}
END_TEST

/* Alone between planes: large maps, long lines, scales, and groups of pixels. */
START_TEST(groups_of_planes)
{
    check_fused("g (float[1,13,101,103] x) => (float[A,B,C,D] y) { c = Conv <group = 13, "
                "pads = [1,0,2,1]> (x, w0, w1) y = Relu(c) }",
                LIST("13,1,3,3", "13"), DIMS(1, 13, 101, 103),
                WANT({"FusedConv", 1}, {"Relu", 0}, {"Transpose", 0}));
    check_fused("g (float[3,7,80,79] x) => (float[A,B,C,D] y) { y = Conv <group = 7, "
                "strides = [2,2], pads = [1,1,1,1]> (x, w0, w1) }",
                LIST("7,1,3,3", "7"), DIMS(3, 7, 80, 79), WANT({"FusedConv", 1}, {"Transpose", 0}));
    check_fused("g (float[2,6,211] x) => (float[A,B,C] y) { y = Conv <group = 6, "
                "dilations = [2], pads = [3,1]> (x, w0) }",
                LIST("6,1,5"), DIMS(2, 6, 211), WANT({"FusedConv", 1}, {"Transpose", 0}));
    check_fused("g (float[2,9,5,7] x) => (float[A,B,C,D] y) { c = Conv <group = 9> (x, w0, w1) "
                "y = Sigmoid(c) }",
                LIST("9,1,1,1", "9"), DIMS(2, 9, 5, 7), WANT({"FusedConv", 1}, {"Transpose", 0}));
    check_fused("g (float[2,15,23,29] x) => (float[A,B,C,D] y) { c = Conv <group = 3> (x, w0, w1) "
                "y = Relu(c) }",
                LIST("27,5,1,1", "27"), DIMS(2, 15, 23, 29),
                WANT({"FusedConv", 1}, {"Relu", 0}, {"Transpose", 0}));
    check_fused("g (float[1,8,9,10] x) => (float[A,B,C,D] y) { y = Conv <group = 8, "
                "pads = [1,1,1,1]> (x, w0) }",
                LIST("8,1,3,3"), DIMS(1, 8, 9, 10), WANT({"FusedConv", 1}, {"Transpose", 0}));
}
END_TEST

START_TEST(what_would_change_the_meaning_is_left_alone)
{
    /* The convolution's result is an output; the addend broadcasts; the pad is no zero. */
    check_fused("g (float[1,4,5,5] x) => (float[A,B,C,D] y, float[E,F,G,H] a) { "
                "a = Conv (x, w0) y = Relu(a) }",
                LIST("4,4,1,1"), DIMS(1, 4, 5, 5), WANT({"FusedConv", 1}, {"Relu", 1}));
    check_fused("g (float[1,4,5,5] x) => (float[A,B,C,D] y) { "
                "a = Conv (x, w0) b = GlobalMaxPool(x) y = Add(a, b) }",
                LIST("4,4,1,1"), DIMS(1, 4, 5, 5), WANT({"Add", 1}));
    check_fused("g (float[1,4,5,5] x) => (float[A,B,C,D] y) { "
                "p = Constant <value_ints = [0,0,1,1,0,0,1,1]> () q = Pad(x, p, w1) "
                "y = Conv (q, w0) }",
                LIST("4,4,3,3", "+1"), DIMS(1, 4, 5, 5), WANT({"Pad", 1}));
}
END_TEST

START_TEST(transposed_convolutions_take_in_what_follows)
{
    check_fused("g (float[2,6,5,4] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
                "b = ConvTranspose <strides = [2,2], pads = [1,0,0,1], output_padding = [1,0], "
                "group = 2> (a, w1, w2) c = BatchNormalization (b, w3, w4, w5, w6) d = Relu(c) "
                "y = ConvTranspose <strides = [1,3]> (d, w7) }",
                LIST("8,6,1,1", "8,5,3,2", "10", "10", "10", "10", "+10", "10,3,2,3"),
                DIMS(2, 6, 5, 4),
                WANT({"FusedConv", 3}, {"BatchNormalization", 0}, {"Relu", 0}, {"Transpose", 2}));
    check_fused("g (float[1,3,9] x) => (float[A,B,C] y) { "
                "a = ConvTranspose <strides = [2], dilations = [2]> (x, w0, w1) y = Relu(a) }",
                LIST("3,4,3", "4"), DIMS(1, 3, 9), WANT({"FusedConv", 1}, {"Relu", 0}));
}
END_TEST

/* Slices as images, as lines, and side by side; with strides, dilation and padding, in batches. */
START_TEST(convolutions_over_three_axes_are_those_over_two)
{
    check_fused("g (float[2,8,4,7,6] x) => (float[A,B,C,D,E] y) { "
                "a = Conv <pads = [0,1,1,0,1,1]> (x, w0, w1) b = Relu(a) "
                "c = Conv <pads = [1,0,0,1,0,0]> (b, w2, w3) d = Add(c, x) e = Relu(d) "
                "f = Conv <pads = [1,1,1,1,1,1]> (e, w4, w5) h = Relu(f) y = Add(h, e) }",
                LIST("12,8,1,3,3", "12", "8,12,3,1,1", "8", "8,8,3,3,3", "8"), DIMS(2, 8, 4, 7, 6),
                WANT({"FusedConv", 3}, {"Conv", 0}));
    check_fused(
        "g (float[2,9,7,9,8] x) => (float[A,B,C,D,E] y) { "
        "a = Conv <strides = [2,2,1], pads = [1,0,1,2,1,1], dilations = [2,1,2]> (x, w0, w1) "
        "b = Conv <strides = [2,1,1]> (a, w2) c = Conv <strides = [2,1,1]> (a, w3) "
        "d = Sigmoid(c) y = Mul(b, d) }",
        LIST("10,9,3,2,3", "10", "11,10,1,1,1", "11,10,1,1,1"), DIMS(2, 9, 7, 9, 8),
        WANT({"FusedConv", 3}, {"Conv", 0}));
    check_fused(
        "g (float[1,8,3,5,4] x) => (float[A,B,C,D,E] y, float[F,G,H,I,J] z) { " /* what is between */
        "a = Conv <pads = [1,1,1,1,1,1]> (x, w0) "
        "k = HardSwish(a) b = BatchNormalization (k, w1, w2, w3, w4) "
        "c = Mul(a, k) d = Concat <axis = 1> (b, c) e = Conv (d, w5) f = HardSwish(e) "
        "h = MaxPool <kernel_shape = [2,2,2], strides = [1,2,1]> (f) i = Conv (h, w6) "
        "z = GlobalAveragePool(i) y = Sub(i, h) }",
        LIST("8,8,3,3,3", "8", "8", "8", "+8", "9,16,1,1,1", "9,9,1,1,1"), DIMS(1, 8, 3, 5, 4),
        WANT({"FusedConv", 3}, {"Conv", 0}));
    check_fused("g (float[1,8,3,5,4] x) => (float[A,B,C,D,E] y) { "
                "a = Conv <group = 2> (x, w0) y = ConvTranspose (a, w1) }",
                LIST("8,4,1,3,3", "8,2,2,2,2"), DIMS(1, 8, 3, 5, 4), WANT({"FusedConv", 0}));
}
END_TEST

START_TEST(transposed_convolutions_of_stride_1_are_convolutions)
{
    check_fused("g (float[2,4,5,6] x) => (float[A,B,C,D] y) { "
                "a = ConvTranspose <group = 2, pads = [1,0,0,2], dilations = [1,2]> (x, w0, w1) "
                "b = Relu(a) c = ConvTranspose <group = 6> (b, w2) "
                "d = ConvTranspose <pads = [2,2,1,2]> (c, w3) "
                "y = ConvTranspose <pads = [1,1,1,1], kernel_shape = [2,2]> (d, w4) }",
                LIST("4,3,3,2", "6", "6,1,2,3", "6,2,3,3", "2,3,2,2"), DIMS(2, 4, 5, 6),
                WANT({"FusedConv", 4}, {"ConvTranspose", 0}, {"Relu", 0}));
    check_fused("g (float[1,3,9] x) => (float[A,B,C] y) { "
                "a = ConvTranspose <pads = [1,0]> (x, w0) "
                "y = ConvTranspose <pads = [3,2], output_padding = [0]> (a, w1) }",
                LIST("3,4,3", "4,2,3"), DIMS(1, 3, 9), WANT({"FusedConv", 2}));
}
END_TEST

/* The residual comes from between the stages. */
START_TEST(large_blocks_around_depthwise_run_in_strips)
{
    check_fused("g (float[1,5,60,60] x) => (float[A,B,C,D] y) { a = Conv (x, w0, w1) "
                "b = Clip(a, w2, w3) "
                "c = Conv <group = 160, pads = [1,1,1,1], strides = [2,2]> (b, w4, w5) d = Relu(c) "
                "r = Conv <strides = [2,2]> (x, w6) e = Conv (d, w7) f = Add(e, r) y = Relu(f) }",
                LIST("160,5,1,1", "160", "1", "+1", "160,1,3,3", "160", "6,5,1,1", "6,160,1,1"),
                DIMS(1, 5, 60, 60), WANT({"ConvChain", 1}, {"FusedConv", 1}, {"Add", 0}));
    check_fused("g (float[1,6,40,40] x) => (float[A,B,C,D] y) { a = Conv (x, w0, w1) b = Relu(a) "
                "c = Conv <group = 24, pads = [1,1,1,1]> (b, w2, w3) d = Relu(c) e = Conv (d, w4) "
                "s = Sigmoid(e) f = Mul(e, s) g = Add(f, x) y = Conv (g, w5) }",
                LIST("24,6,1,1", "24", "24,1,3,3", "24", "6,24,1,1", "2,6,1,1"), DIMS(1, 6, 40, 40),
                WANT({"ConvChain", 1}, {"FusedConv", 1}, {"Add", 0}));
}
END_TEST

START_TEST(spelled_activations_are_seen)
{
    check_fused("g (float[1,4,5,5] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
                "k = Constant <value_float = 3.0> () s = Constant <value_float = 6.0> () "
                "o = Constant <value_float = 0.0> () b = Add(a, k) c = Clip(b, o, s) "
                "d = Div(c, s) y = Mul(a, d) }",
                LIST("4,4,1,1"), DIMS(1, 4, 5, 5), WANT({"FusedConv", 1}, {"Mul", 0}, {"Clip", 0}));
}
END_TEST

/* As heads of detectors have them; not where others read the map as it was. */
START_TEST(activations_behind_what_moves_elements_are_taken_in)
{
    check_fused("g (float[2,3,5,4] x) => (float[A,B,C,D,E] y, float[F,G] z) { "
                "r = Constant <value_ints = [2,2,3,5,4]> () a = Conv (x, w0, w1) "
                "b = Reshape(a, r) c = Transpose <perm = [0,1,3,4,2]> (b) y = Sigmoid(c) "
                "d = Conv (x, w2) e = Flatten(d) z = Relu(e) }",
                LIST("6,3,1,1", "6", "2,3,5,4"), DIMS(2, 3, 5, 4),
                WANT({"FusedConv", 2}, {"Sigmoid", 0}, {"Relu", 0}));
    check_fused("g (float[2,3,5,4] x) => (float[A,B] y, float[C,D,E,F] z) { "
                "a = Conv (x, w0, w1) b = Flatten(a) y = Sigmoid(b) z = Exp(a) }",
                LIST("6,3,1,1", "6"), DIMS(2, 3, 5, 4), WANT({"FusedConv", 1}, {"Sigmoid", 1}));
    check_fused("g (float[2,3,5,4] x) => (float[A,B] y, float[C,D] z) { "
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
        check_fused(graph,
                    LIST("37,3,1,1", "37", "37", "37", "+37", "24,37,1,1", "24", "20,24,3,3", "94",
                         "94", "94", "+94", "33,94,1,1", "2,33,1,1"),
                    4, dims[i],
                    WANT({"Elementwise", 0}, {"Concat", 0}, {"FusedConv", 5}, {"Transpose", 1}));
    }
    /* Whatever the chain is. */
    check_fused("g (float[2,3,15,13] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
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
        check_fused(given[i].graph, LIST("20,3,1,1", "20", "4,20,1,1", "20,4,1,1", "37,20,1,1"), 4,
                    given[i].dims, WANT({"FusedConv", 4}, {"Mul", given[i].left}));
#undef GATED
}
END_TEST

START_TEST(preactivations_that_others_read_or_that_spread_stay)
{
    check_fused("g (float[2,3,15,13] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
                "m = MaxPool <kernel_shape = [1,1]> (a) "
                "b = BatchNormalization (m, w1, w2, w3, w4) c = Relu(b) "
                "d = Conv (c, w5) e = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> (c) "
                "f = Conv (e, w6) y = Mul(d, f) }",
                LIST("16,3,1,1", "16", "16", "16", "+16", "9,16,1,1", "9,16,1,1"),
                DIMS(2, 3, 15, 13), WANT({"Elementwise", 1}, {"FusedConv", 3}));
    check_fused("g (float[2,3,15,13] x) => (float[A,B,C,D] y) { a = Conv (x, w0) "
                "m = MaxPool <kernel_shape = [1,1]> (a) "
                "b = BatchNormalization (m, w1, w2, w3, w4) c = Relu(b) "
                "d = Conv <strides = [2,1]> (c, w5) y = Conv (d, w6) }",
                LIST("6,3,1,1", "6", "6", "6", "+6", "9,6,1,1", "5,9,3,3"), DIMS(2, 3, 15, 13),
                WANT({"Elementwise", 1}, {"FusedConv", 3}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused");
    TCase *all = tcase_create("all");
    tcase_add_test(all, convolution_takes_batch_norm_and_relu);
    tcase_add_test(all, convolution_takes_a_residual_and_channels_stay_last);
    tcase_add_test(all, a_residual_gives_its_memory_where_nobody_needs_it);
    tcase_add_test(all, convolution_takes_a_residual_behind_its_activation);
    tcase_add_test(all, groups_depthwise_and_padding_before);
    tcase_add_test(all, what_is_cut_off_a_convolution_is_not_padded);
    tcase_add_test(all, one_axis_and_swish);
    tcase_add_test(all, one_axis_of_few_taps);
    tcase_add_test(all, activations_behind_what_moves_elements_are_taken_in);
    tcase_add_test(all, preactivations_are_worked_out_where_they_are_read);
    tcase_add_test(all, gates_go_into_weights_that_serve_many_pixels);
    tcase_add_test(all, preactivations_that_others_read_or_that_spread_stay);
    tcase_add_test(all, weights_that_vary);
    tcase_add_test(all, pointwise_convolutions_of_planes);
    tcase_add_test(all, convolutions_of_planes_to_one);
    tcase_add_test(all, groups_of_planes);
    tcase_add_test(all, what_would_change_the_meaning_is_left_alone);
    tcase_add_test(all, large_blocks_around_depthwise_run_in_strips);
    tcase_add_test(all, transposed_convolutions_take_in_what_follows);
    tcase_add_test(all, transposed_convolutions_of_stride_1_are_convolutions);
    tcase_add_test(all, convolutions_over_three_axes_are_those_over_two);
    tcase_add_test(all, spelled_activations_are_seen);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
