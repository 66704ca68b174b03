/* Convolutions of quantized values at -O2: in codes up to a step, or the same bits. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/check_codes.h"
#include "tests/run_suite.h"

START_TEST(convolutions_and_sums_stay_in_codes)
{
    check_codes(
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
        "w = DequantizeLinear <axis = 0> (w0, ws, wz) bias = DequantizeLinear(b0, bs) "
        "c = Conv <pads = [1,1,1,1]> (b, w, bias) r = Relu(c) "
        "d = QuantizeLinear(r, t, o) e = DequantizeLinear(d, t, o) "
        "v = DequantizeLinear(v0, s) f = Conv <pads = [0,1,0,1], group = 8> (e, v) "
        "g = QuantizeLinear(f, t, z) h = DequantizeLinear(g, t, z) "
        "m = MaxPool <kernel_shape = [3,1]> (e) "
        "i = QuantizeLinear(m, t, o) j = DequantizeLinear(i, t, o) "
        "k = Add(h, j) l = QuantizeLinear(k, t, o) n = DequantizeLinear(l, t, o) "
        "p = GlobalAveragePool(n) q = QuantizeLinear(p, t, o) y = DequantizeLinear(q, t, o) }",
        CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"float[8] ws", 1, 9}, {"int8[8] wz", 0, 0},
                  {"int32[8] b0", -900, 900}, {"float[1] bs", 1, 1},
                  {"int8[8,1,3,3] v0", -127, 127}, SCALES),
        (struct shape){4, {2, 3, 9, 8}}, 2 / 64.0f,
        WANT({"IntegerConv", 2}, {"IntegerAdd", 0}, {"IntegerGlobalAveragePool", 1}, {"Relu", 0},
             {"QuantizeLinear", 1}, {"DequantizeLinear", 1}));
}
END_TEST

/* Biases of whole halves of the sums' unit: every other result is a tie between two codes. onnxruntime does not round them where a
 * Relu comes before. */
START_TEST(float_biases_are_not_rounded_to_units)
{
    check_codes(
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) ba = Relu(b) "
        "w = DequantizeLinear(w0, ws) c = Conv <pads = [1,1,1,1]> (ba, w, c0) "
        "d = QuantizeLinear(c, t, z) e = DequantizeLinear(d, t, z) ea = Relu(e) "
        "v = DequantizeLinear(v0, ws) f = Conv <group = 40> (ea, v, c0) "
        "g = QuantizeLinear(f, t, o) h = DequantizeLinear(g, t, o) ha = Relu(h) "
        "p = DequantizeLinear(p0, ws) i = Conv(ha, p, c1) "
        "k = QuantizeLinear(i, t, o) y = DequantizeLinear(k, t, o) }",
        CONSTANTS({"int8[40,3,3,3] w0", -3, 3}, {"int8[40,1,3,3] v0", -2, 2},
                  {"int8[70,40,1,1] p0", -1, 1}, {"float[1] ws", 16, 16}, {"float[40] c0", -99, 99},
                  {"float[70] c1", -99, 99}, {"float[1] s", 8, 8}, {"float[1] t", 8, 8},
                  {"uint8[1] z", 121, 121}, {"uint8[1] o", 93, 93}),
        (struct shape){4, {2, 3, 9, 8}}, 0, WANT({"IntegerConv", 3}, {"DequantizeLinear", 1}));
    check_codes("g (float[2,5,24] x) => (float[A,B,C] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
                "w = DequantizeLinear(w0, ws) m = MatMul(b, w) c = Add(m, c0) "
                "d = QuantizeLinear(c, s, z) y = DequantizeLinear(d, s, z) }",
                CONSTANTS({"int8[24,17] w0", -3, 3}, {"float[1] ws", 16, 16},
                          {"float[17] c0", -99, 99}, {"float[1] s", 8, 8},
                          {"uint8[1] z", 121, 121}),
                (struct shape){3, {2, 5, 24}}, 0,
                WANT({"IntegerMatMul", 1}, {"QuantizeLinear", 1}, {"DequantizeLinear", 1}));
}
END_TEST

/* Units of 1/32: biases between two of them go to the even one, as in onnxruntime. */
START_TEST(float_biases_between_codes_are_rounded_to_units)
{
    static float rounded[MOST], found[MOST], exact[MOST];
    static const char form[] = HEAD
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) <float[1] s = {0.125}, uint8[1] z = {121}, "
        "int8[4,3,1,1] w0 = {1,2,3,-1,2,-3,3,1,1,-2,2,1}, float[4] ws = {0.25,0.25,0.25,0.25}, "
        "float[4] c0 = {%s}> { a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
        "m = MaxPool <kernel_shape = [2,2]> (b) w = DequantizeLinear <axis = 0> (w0, ws) "
        "c = Conv(m, w, c0) r = Relu(c) d = QuantizeLinear(r, s, z) "
        "y = DequantizeLinear(d, s, z) }";
    char between[sizeof form + 64], units[sizeof form + 64];
    const struct shape shape = {4, {2, 3, 9, 8}};
    size_t n, n_found;
    snprintf(between, sizeof between, form, "0.046875,0.078125,-0.046875,0.015625");
    snprintf(units, sizeof units, form, "0.0625,0.0625,-0.0625,0");
    run_level(units, 0, 1, shape.rank, shape.dims, rounded, &n);
    run_level(between, 2, 1, shape.rank, shape.dims, found, &n_found);
    ck_assert_uint_eq(n, n_found);
    ck_assert_mem_eq(found, rounded, n * sizeof *found);
    run_level(between, 0, 1, shape.rank, shape.dims, exact, &n_found);
    ck_assert_mem_ne(exact, rounded, n * sizeof *found);
    check_nodes(between, WANT({"IntegerConv", 1}));
}
END_TEST

/* ... and of so many units that 32 bits cannot count them. */
START_TEST(biases_without_room_for_sums_keep_a_convolution_in_floats)
{
    check_codes("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
                "w = DequantizeLinear(w0, s) c = Conv (b, w, c0) "
                "d = QuantizeLinear(c, t, z) y = DequantizeLinear(d, t, z) }",
                CONSTANTS({"int8[4,3,3,3] w0", -3, 3}, {"float[4] c0", 1 << 30, 1 << 30},
                          {"float[1] s", 1, 1}, {"uint8[1] z", 121, 121},
                          {"float[1] t", 1 << 28, 1 << 28}),
                (struct shape){4, {2, 3, 9, 8}}, 0, WANT({"IntegerConv", 0}));
}
END_TEST

/* A network of QLinear operators: pixel by pixel, with one turn of the map at either end. */
START_TEST(convolutions_of_volumes_stay_in_codes)
{
    check_codes("g (float[2,4,5,6,7] x) => (float[A,B,C,D,E] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
                "w = DequantizeLinear <axis = 0> (w0, ws, wz) bias = DequantizeLinear(b0, bs) "
                "c = Conv <pads = [1,1,1,0,1,1], strides = [2,1,1], group = 2> (b, w, bias) "
                "r = Relu(c) d = QuantizeLinear(r, t, o) e = DequantizeLinear(d, t, o) "
                "v = DequantizeLinear(v0, s) y = Conv(e, v) }",
                CONSTANTS({"int8[6,2,3,3,3] w0", -127, 127}, {"float[6] ws", 1, 9},
                          {"int8[6] wz", 0, 0}, {"int32[6] b0", -900, 900}, {"float[1] bs", 1, 1},
                          {"int8[5,6,1,1,1] v0", -127, 127}, SCALES),
                (struct shape){5, {2, 4, 5, 6, 7}}, 2 / 64.0f,
                WANT({"IntegerConv", 2}, {"Conv", 0}, {"Relu", 0}, {"DequantizeLinear", 0}));
    check_codes("g (float[1,3,4,6,7] x) => (float[A,B,C,D,E] y) { "
                "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger(q, w0, z, wz) "
                "f = Cast <to = 1> (c) s = Mul(a, ws) p = Mul(f, s) y = Add(p, bias) }",
                CONSTANTS({"int8[8,3,2,3,3] w0", -127, 127}, {"int8 wz", 0, 0},
                          {"float[8,1,1,1] ws", 1, 4}, {"float[1,8,1,1,1] bias", -64, 64}),
                (struct shape){5, {1, 3, 4, 6, 7}}, 1e-2f,
                WANT({"IntegerConv", 1}, {"Add", 0}, {"Cast", 0}));
}
END_TEST

START_TEST(qlinear_operators_keep_channels_last)
{
    check_codes(
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { a = QuantizeLinear(x, s, z) "
        "b = QLinearConv <pads = [1,1,1,1]> (a, s, z, w0, ws, wz, t, o, b0) "
        "c = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> (b) "
        "d = QLinearConv <pads = [1,1,1,1], group = 8> (c, t, o, v0, s, vz, t, z) "
        "e = com.microsoft.QLinearAdd(c, t, o, d, t, z, t, o) "
        "f = com.microsoft.QLinearMul(e, t, o, d, t, z, s, o) "
        "p = com.microsoft.QLinearGlobalAveragePool(f, s, o, s, z) y = DequantizeLinear(p, s, z) }",
        CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"float[8] ws", 1, 9}, {"int8[8] wz", 0, 0},
                  {"int32[8] b0", -900, 900}, {"int8[8,1,3,3] v0", -127, 127}, {"int8[1] vz", 0, 0},
                  SCALES),
        (struct shape){4, {2, 3, 9, 8}}, 0,
        WANT({"IntegerConv", 2}, {"IntegerAdd", 1}, {"IntegerMul", 1},
             {"IntegerGlobalAveragePool", 1}, {"Transpose", 2}, {"MaxPool", 1}));
}
END_TEST

/* Over one axis, and over two of which one is squeezed in between; a constant a channel is turned. */
START_TEST(convolutions_over_one_axis_keep_channels_last)
{
    check_codes("g (float[2,3,19] x) => (float[A,B,C] y) { a = QuantizeLinear(x, s, z) "
                "b = QLinearConv <pads = [1,1]> (a, s, z, w0, s, wz, t, o) "
                "m = MaxPool <kernel_shape = [3], strides = [2], pads = [1,0]> (b) "
                "l = MaxPool <kernel_shape = [2]> (m) "
                "k = Constant <value_floats = [1.0,1.0,2.0]> () "
                "r = Resize <mode = \"nearest\"> (l, , k) "
                "c = QLinearConv <group = 8, dilations = [2]> (r, t, o, v0, s, wz, t, z) "
                "y = DequantizeLinear(c, t, z) }",
                CONSTANTS({"int8[8,3,3] w0", -127, 127}, {"int8[8,1,3] v0", -127, 127},
                          {"int8[1] wz", 0, 0}, SCALES),
                (struct shape){3, {2, 3, 19}}, 0,
                WANT({"IntegerConv", 2}, {"MaxPool", 2}, {"Transpose", 4}));
    check_codes("g (float[2,3,1,19] x) => (float[A,B,C,D] y) { a = QuantizeLinear(x, s, z) "
                "b = QLinearConv <pads = [0,1,0,1]> (a, s, z, w0, s, wz, t, o) "
                "two = Constant <value_ints = [2]> () d = Squeeze(b, two) "
                "e = com.microsoft.QLinearAdd(d, t, o, k0, s, z, t, o) f = Unsqueeze(e, two) "
                "c = QLinearConv (f, t, o, v0, s, wz, t, z) y = DequantizeLinear(c, t, z) }",
                CONSTANTS({"int8[8,3,1,3] w0", -127, 127}, {"int8[5,8,1,2] v0", -127, 127},
                          {"uint8[1,8,1] k0", 90, 160}, {"int8[1] wz", 0, 0}, SCALES),
                (struct shape){4, {2, 3, 1, 19}}, 0,
                WANT({"IntegerConv", 2}, {"IntegerAdd", 1}, {"Transpose", 3}));
}
END_TEST

/* Two convolutions meet, of which one takes the other's codes; then one's codes are read by another's scale, or are an output. */
START_TEST(residuals_are_added_by_convolutions)
{
    check_codes(
        "g (float[2,5,6,7] x) => (float[A,B,C,D] y, uint8[A,B,C,D] k) { "
        "a = QuantizeLinear(x, s, z) "
        "b = QLinearConv (a, s, z, u0, s, wz, t, o) c = QLinearConv (a, s, z, v0, s, wz, t, z) "
        "e = com.microsoft.QLinearAdd(b, t, o, c, t, z, t, o) "
        "f = QLinearConv (e, t, o, w0, s, wz, t, z) "
        "g = com.microsoft.QLinearAdd(e, t, o, f, t, z, s, z) "
        "h = QLinearConv (g, s, z, w0, s, wz, t, z) "
        "i = com.microsoft.QLinearAdd(h, s, z, g, s, z, t, z) "
        "k = QLinearConv (i, t, z, w0, s, wz, t, z) "
        "l = com.microsoft.QLinearAdd(k, t, z, i, t, z, t, z) "
        "y = DequantizeLinear(l, t, z) }",
        CONSTANTS({"int8[70,5,1,1] u0", -127, 127}, {"int8[70,5,1,1] v0", -127, 127},
                  {"int8[70,70,1,1] w0", -9, 9}, {"int8[1] wz", 0, 0}, SCALES),
        (struct shape){4, {2, 5, 6, 7}}, 0, WANT({"IntegerConv", 5}, {"IntegerAdd", 2}));
}
END_TEST

/* Codes of one scale become those of the Concat's while they are near; one of them is an output as well in the second. */
START_TEST(convolutions_write_what_is_joined)
{
    static const char *const text[] = {
        "g (float[2,5,6,7] x) => (float[A,B,C,D] y) { ",
        "g (float[2,5,6,7] x) => (float[A,B,C,D] y, uint8[A,E,C,D] c) { "};
    for (size_t i = 0; i < 2; i++) {
        char model[1024];
        snprintf(model, sizeof model,
                 "%sa = QuantizeLinear(x, s, z) b = QLinearConv (a, s, z, u0, s, wz, t, o) "
                 "c = QLinearConv <pads = [1,1,1,1]> (a, s, z, v0, s, wz, t, z) "
                 "e = DequantizeLinear(b, t, o) f = DequantizeLinear(c, t, z) "
                 "h = Concat <axis = 1> (e, f) k = QuantizeLinear(h, s, o) "
                 "y = DequantizeLinear(k, s, o) }",
                 text[i]);
        check_codes(model,
                    CONSTANTS({"int8[70,5,1,1] u0", -127, 127}, {"int8[20,5,3,3] v0", -127, 127},
                              {"int8[1] wz", 0, 0}, SCALES),
                    (struct shape){4, {2, 5, 6, 7}}, 0,
                    WANT({"IntegerConv", 2}, {"Lookup", i ? 1 : 0}, {"Concat", i ? 1 : 0}));
    }
}
END_TEST

/* As onnxruntime saves models that it has optimized: pixel by pixel between turns of the map, and as the standard's. */
START_TEST(saved_convolutions_have_channels_last)
{
    check_codes(
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { a = QuantizeLinear(x, s, z) "
        "t0 = Transpose <perm = [0,2,3,1]> (a) "
        "b = com.microsoft.QLinearConv <channels_last = 1, pads = [1,0,0,1], strides = [1,2]> "
        "(t0, s, z, w0, ws, wz, t, o, b0) "
        "c = com.microsoft.QLinearConv <channels_last = 1, group = 8, auto_pad = \"SAME_UPPER\"> "
        "(b, t, o, v0, s, vz, t, z) "
        "d = Transpose <perm = [0,3,1,2]> (c) "
        "e = com.microsoft.QLinearConv (d, t, z, u0, s, vz, t, z) "
        "y = DequantizeLinear(e, t, z) }",
        CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"float[8] ws", 1, 9}, {"int8[8] wz", 0, 0},
                  {"int32[8] b0", -900, 900}, {"int8[8,1,3,3] v0", -127, 127},
                  {"int8[5,8,1,1] u0", -127, 127}, {"int8[1] vz", 0, 0}, SCALES),
        (struct shape){4, {2, 3, 9, 8}}, 0, WANT({"QLinearConv", 3}));
}
END_TEST

START_TEST(dynamic_convolutions_take_their_bias_and_stay_last)
{
    check_codes("g (float[1,3,6,7] x) => (float[A,B,C,D] y) { "
                "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger(q, w0, z, wz) "
                "f = Cast <to = 1> (c) s = Mul(a, ws) p = Mul(f, s) b = Add(p, bias) r = Relu(b) "
                "q2, a2, z2 = DynamicQuantizeLinear(r) c2 = ConvInteger(q2, v0, z2, wz) "
                "f2 = Cast <to = 1> (c2) s2 = Mul(a2, ws) y = Mul(f2, s2) }",
                CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"int8 wz", 0, 0}, {"float ws", 1, 1},
                          {"float[1,8,1,1] bias", -64, 64}, {"int8[4,8,1,1] v0", -127, 127}),
                (struct shape){4, {1, 3, 6, 7}}, 1e-2f,
                WANT({"IntegerConv", 2}, {"Add", 0}, {"Cast", 0}, {"Transpose", 2}));
}
END_TEST

START_TEST(dynamic_convolutions_have_a_scale_for_each_channel)
{
    check_codes("g (float[2,3,6,7] x) => (float[A,B,C,D] y) { "
                "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger(q, w0, z, wz) "
                "f = Cast <to = 1> (c) s = Mul(a, ws) p = Mul(f, s) b = Add(p, bias) "
                "q2, a2, z2 = DynamicQuantizeLinear(b) c2 = ConvInteger(q2, v0, z2, vz) "
                "f2 = Cast <to = 1> (c2) s2 = Mul(vs, a2) y = Mul(f2, s2) }",
                CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"int8 wz", 0, 0},
                          {"float[8,1,1] ws", 1, 4}, {"float[1,8,1,1] bias", -64, 64},
                          {"uint8[4,8,1,1] v0", 0, 255}, {"uint8 vz", 128, 128},
                          {"float[1,4,1,1] vs", 1, 4}),
                (struct shape){4, {2, 3, 6, 7}}, 1e-2f,
                WANT({"IntegerConv", 2}, {"Add", 0}, {"Cast", 0}, {"Mul", 0}));
    static const struct {
        const char *text;
        size_t fused;
    } many[] = {{"strides = [17,17]", 1}, {"dilations = [1,2]", 0}}; /* taps */
    for (size_t i = 0; i < OX_COUNT(many); i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "g (float[1,1,35,36] x) => (float[A,B,C,D] y) { "
                 "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger <%s> (q, w0, z, wz) "
                 "f = Cast <to = 1> (c) s = Mul(a, ws) y = Mul(f, s) }",
                 many[i].text);
        check_codes(text,
                    CONSTANTS({"int8[6,1,17,17] w0", -127, 127}, {"int8 wz", 0, 0},
                              {"float[6,1,1] ws", 1, 4}),
                    (struct shape){4, {1, 1, 35, 36}}, 1e-2f,
                    WANT({"IntegerConv", many[i].fused}, {"ConvInteger", 1 - many[i].fused}));
    }
    check_codes(
        "g (float[2,3,6,7] x) => (float[A,B,C,D] y) { " /* by columns of pixels */
        "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger(q, w0, z, wz) "
        "f = Cast <to = 1> (c) s = Mul(a, ws) y = Mul(f, s) }",
        CONSTANTS({"int8[5,3,3,3] w0", -127, 127}, {"int8 wz", 0, 0}, {"float[5] ws", 1, 4}),
        (struct shape){4, {2, 3, 6, 7}}, 1e-2f, WANT({"IntegerConv", 0}, {"ConvInteger", 1}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convolutions of codes");
    TCase *all = tcase_create("all");
    tcase_add_test(all, convolutions_and_sums_stay_in_codes);
    tcase_add_test(all, float_biases_are_not_rounded_to_units);
    tcase_add_test(all, float_biases_between_codes_are_rounded_to_units);
    tcase_add_test(all, biases_without_room_for_sums_keep_a_convolution_in_floats);
    tcase_add_test(all, convolutions_of_volumes_stay_in_codes);
    tcase_add_test(all, qlinear_operators_keep_channels_last);
    tcase_add_test(all, convolutions_over_one_axis_keep_channels_last);
    tcase_add_test(all, residuals_are_added_by_convolutions);
    tcase_add_test(all, convolutions_write_what_is_joined);
    tcase_add_test(all, saved_convolutions_have_channels_last);
    tcase_add_test(all, dynamic_convolutions_take_their_bias_and_stay_last);
    tcase_add_test(all, dynamic_convolutions_have_a_scale_for_each_channel);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
