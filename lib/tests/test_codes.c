/* Models of quantized values at -O2 against the reference kernels: operators of integers give the same bits, products, sums and moves
 * the same codes up to a step. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/check_codes.h"
#include "tests/run_suite.h"

/* Each element of the second operand meets a short stretch of the first, and the other way round; a Gather of all that an axis has. */
START_TEST(rows_have_factors_of_their_own)
{
    static const int64_t rows[] = {1, 7, 150};
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        char text[900];
        snprintf(
            text, sizeof text,
            "g (float[2,%d,16] x) => (float[A,B,C,D] y) { "
            "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
            "m = MaxPool <kernel_shape = [16]> (b) "
            "n = QuantizeLinear(m, t, o) p = DequantizeLinear(n, t, o) "
            "c = Mul(b, p) d = QuantizeLinear(c, s, z) e = DequantizeLinear(d, s, z) "
            "f = Add(p, e) g = QuantizeLinear(f, t, z) h = DequantizeLinear(g, t, z) "
            "i = Gather <axis = 2> (p, at) j = QuantizeLinear(i, t, o) "
            "k = DequantizeLinear(j, t, o) l = Squeeze(k, two) u = Mul(l, h) "
            "q = QuantizeLinear(u, s, z) v = DequantizeLinear(q, s, z) y = Unsqueeze(v, two) }",
            (int)rows[i]);
        check_codes(text, CONSTANTS({"int64[1] two", 2, 2}, {"int64[1,1] at", 0, 0}, SCALES),
                    (struct shape){3, {2, rows[i], 16}}, 1 / 64.0f, NULL, 0);
    }
}
END_TEST

/* Around codes stands what zero is of theirs, or they themselves; other numbers keep them from moving. */
START_TEST(codes_are_padded)
{
    static const struct {
        const char *pad, *type;
        size_t moved;
    } of[] = {{"Pad (b, pads)", "uint8", 2},
              {"Pad (b, pads, none)", "int8", 2},
              {"Pad (b, two, none, axes)", "uint8", 2},
              {"Pad <mode = \"reflect\"> (b, pads)", "uint8", 2},
              {"Pad <mode = \"edge\"> (b, pads)", "int8", 2},
              {"Pad (b, pads, one)", "uint8", 0}};
    for (size_t i = 0; i < OX_COUNT(of); i++) {
        char text[700], zero[32];
        snprintf(zero, sizeof zero, "%s[1] q", of[i].type);
        snprintf(text, sizeof text,
                 "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
                 "a = QuantizeLinear(x, s, q) b = DequantizeLinear(a, s, q) p = %s "
                 "c = QuantizeLinear(p, s, q) d = DequantizeLinear(c, s, q) "
                 "w = DequantizeLinear(w0, s) e = Conv(d, w) f = QuantizeLinear(e, t, q) "
                 "y = DequantizeLinear(f, t, q) }",
                 of[i].pad);
        check_codes(text,
                    CONSTANTS({"int64[8] pads", 1, 1}, {"int64[2] two", 1, 1}, {"float none", 0, 0},
                              {"float one", 64, 64}, {"int64[1] axes", 1, 1},
                              {"int8[8,5,3,3] w0", -127, 127}, {"float[1] s", 1, 1},
                              {"float[1] t", 2, 2}, {zero, 17, 17}),
                    (struct shape){4, {2, 3, 9, 8}}, 2 / 64.0f,
                    WANT({"QuantizeLinear", of[i].moved ? 1 : 2}));
    }
}
END_TEST

/* As training with simulated codes leaves it; an average, whose integers have no Relu, stays as it is. */
START_TEST(a_relu_of_codes_goes_before_them)
{
    check_codes(
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y, float[A,B,E,F] p) { "
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
        "w = DequantizeLinear <axis = 0> (w0, ws) c = Conv (b, w) "
        "d = QuantizeLinear(c, t, z) e = DequantizeLinear(d, t, z) f = Relu(e) "
        "v = DequantizeLinear <axis = 0> (v0, ws) g = Conv (f, v) "
        "h = QuantizeLinear(g, t, z) y = DequantizeLinear(h, t, z) "
        "i = GlobalAveragePool(y) j = QuantizeLinear(i, s, z) k = DequantizeLinear(j, s, z) "
        "p = Relu(k) }",
        CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"int8[8,8,3,3] v0", -127, 127},
                  {"float[8] ws", 1, 9}, SCALES),
        (struct shape){4, {2, 3, 9, 8}}, 0,
        WANT({"IntegerConv", 2}, {"IntegerGlobalAveragePool", 1}, {"QuantizeLinear", 1},
             {"Relu", 0}, {"Lookup", 1}));
}
END_TEST

START_TEST(products_take_a_bias_and_give_floats)
{
    check_codes(
        "g (float[2,5,24] x) => (float[A,B,C] y) { "
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
        "w = DequantizeLinear <axis = 1> (w0, ws) m = MatMul(b, w) y = Add(m, bias) }",
        CONSTANTS({"int8[24,17] w0", -127, 127}, {"float[17] ws", 1, 9},
                  {"float[17] bias", -64, 64}, SCALES),
        (struct shape){3, {2, 5, 24}}, 1e-3f,
        WANT({"IntegerMatMul", 1}, {"Add", 0}, {"QuantizeLinear", 1}, {"DequantizeLinear", 0}));
}
END_TEST

START_TEST(stacks_of_codes_are_multiplied)
{
    check_codes("g (float[3,4,12] x) => (float[A,B,C] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
                "c = Transpose <perm = [0,2,1]> (b) d = QuantizeLinear(c, s, z) "
                "e = DequantizeLinear(d, s, z) m = MatMul(b, e) "
                "f = QuantizeLinear(m, t, z) y = DequantizeLinear(f, t, z) }",
                CONSTANTS(SCALES), (struct shape){3, {3, 4, 12}}, 2 / 64.0f,
                WANT({"IntegerMatMul", 1}, {"QuantizeLinear", 1}, {"DequantizeLinear", 1}));
}
END_TEST

/* Operands of the last axes, on either side, more of them than are combined at once; zeros by a scale that has no bearing. */
START_TEST(biases_are_added_in_codes)
{
    check_codes("g (float[130,3,7] x) => (float[A,B,C] y) { "
                "a = QuantizeLinear(x, s, z) "
                "b = com.microsoft.QLinearAdd(a, s, z, b0, t, o, t, z) "
                "c = com.microsoft.QLinearAdd(m0, t, z, b, t, z, t, o) "
                "d = com.microsoft.QLinearMul(b0, s, o, c, t, o, s, z) "
                "e = com.microsoft.QLinearAdd(d, s, z, n0, far, o, t, z) "
                "f = com.microsoft.QLinearAdd(n0, far, o, e, t, z, t, z) "
                "g = com.microsoft.QLinearAdd(f, t, z, one, t, o, t, z) "
                "h = com.microsoft.QLinearAdd(g, t, z, column, t, o, t, z) "
                "y = DequantizeLinear(h, t, z) }",
                CONSTANTS({"uint8[7] b0", 0, 255}, {"uint8[1,3,7] m0", 0, 255},
                          {"uint8[3,7] n0", 3, 3}, {"uint8[1] one", 9, 9},
                          {"uint8[3,1] column", 0, 255}, {"float[1] far", 1 << 30, 1 << 30},
                          SCALES),
                (struct shape){3, {130, 3, 7}}, 0, WANT({"IntegerAdd", 6}, {"IntegerMul", 1}));
}
END_TEST

START_TEST(codes_move_and_meet)
{
    check_codes("g (float[2,4,6] x) => (float[A,B] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
                "c = Transpose <perm = [1,0,2]> (b) d = QuantizeLinear(c, s, z) "
                "e = DequantizeLinear(d, s, z) k = Constant <value_ints = [4, 12]> () "
                "f = Reshape(e, k) g = QuantizeLinear(f, t, o) h = DequantizeLinear(g, t, o) "
                "i = Concat <axis = 1> (f, h) j = QuantizeLinear(i, t, z) "
                "y = DequantizeLinear(j, t, z) }",
                CONSTANTS(SCALES), (struct shape){3, {2, 4, 6}}, 0,
                WANT({"QuantizeLinear", 1}, {"DequantizeLinear", 1}, {"Lookup", 2}));
}
END_TEST

START_TEST(dynamic_products_are_one_node)
{
    check_codes(
        "g (float[3,40] x) => (float[A,B] y) { "
        "q, a, z = DynamicQuantizeLinear(x) m = MatMulInteger(q, w0, z, wz) "
        "f = Cast <to = 1> (m) s = Mul(a, ws) p = Mul(f, s) y = Add(p, bias) }",
        CONSTANTS({"uint8[40,21] w0", 0, 255}, {"uint8 wz", 120, 120}, {"float ws", 3, 3},
                  {"float[21] bias", -64, 64}),
        (struct shape){2, {3, 40}}, 1e-3f,
        WANT({"IntegerMatMul", 1}, {"MatMulInteger", 0}, {"Cast", 0}, {"Mul", 0}, {"Add", 0}));
}
END_TEST

/* Both scales are known, as MatMulIntegerToFloat and QAttention may have them: their product is one constant, or one of each column. */
START_TEST(products_of_known_scales_are_one_node)
{
    check_codes("g (float[3,40] x) => (float[A,B] y) { "
                "q = QuantizeLinear(x, ps, pz) m = MatMulInteger(q, w0, pz, wz) "
                "f = Cast <to = 1> (m) by = Mul(ps, ws) p = Mul(f, by) u = Add(p, bias) "
                "n = MatMulInteger(q, w0, pz) g = Cast <to = 1> (n) v = Mul(g, each) "
                "y = Add(u, v) }",
                CONSTANTS({"uint8[40,21] w0", 0, 255}, {"uint8 wz", 120, 120}, {"float ws", 3, 3},
                          {"float[21] each", 1, 9}, {"float[21] bias", -64, 64}, {"float ps", 1, 1},
                          {"uint8 pz", 121, 121}),
                (struct shape){2, {3, 40}}, 1e-3f,
                WANT({"IntegerMatMul", 2}, {"MatMulInteger", 0}, {"Cast", 0}, {"Mul", 0}));
}
END_TEST

/* Scales that make many results fall on a half. */
START_TEST(integer_operators_give_the_same_bits)
{
    check_codes("g (float[1,6,7,9] x) => (float[A,B,C,D] y) { "
                "a = QuantizeLinear(x, s, z) "
                "b = QLinearConv <pads = [1,1,1,1], strides = [1,2]> "
                "(a, half, z, w0, ws, wz, half, o, b0) "
                "c = QLinearConv <group = 8> (b, half, o, v0, half, vz, s, z) "
                "d = com.microsoft.QLinearAdd (c, half, z, c, s, o, half, z) "
                "e = com.microsoft.QLinearMul (d, half, z, c, s, o, half, o) "
                "i = ConvInteger <group = 8> (e, v0, z, vz) y = Cast <to = 1> (i) }",
                CONSTANTS({"uint8[8,6,3,3] w0", 0, 255}, {"float[8] ws", 1, 4},
                          {"uint8[8] wz", 100, 140}, {"int32[8] b0", -900, 900},
                          {"float[1] half", 32, 32}, {"int8[8,1,3,3] v0", -128, 127},
                          {"int8[1] vz", 7, 7}, SCALES),
                (struct shape){4, {1, 6, 7, 9}}, 0,
                WANT({"IntegerConv", 2}, {"QLinearConv", 0}, {"ConvInteger", 1}));
}
END_TEST

static void give_codes(struct text_run *f, const float *scales, uint8_t zero, int32_t bias)
{
    static const uint8_t x[2][3] = {{10, 200, 90}, {255, 0, 77}};
    for (; f->n_in; f->n_in--)
        ox_datum_release(f->in[f->n_in - 1]);
    text_give(f, OX_UINT8, 4, (const int64_t[]){1, 2, 1, 3}, x);
    text_give(f, OX_FLOAT32, 0, NULL, &scales[0]);
    text_give(f, OX_FLOAT32, 0, NULL, &scales[1]);
    text_give(f, OX_FLOAT32, 0, NULL, &scales[2]);
    text_give(f, OX_UINT8, 0, NULL, &zero);
    text_give(f, OX_INT32, 1, (const int64_t[]){2}, (const int32_t[]){bias, -bias});
}

/* Weights are packed at the first run; what the sums are multiplied by must not stay with them. */
START_TEST(scales_and_biases_from_without_are_read_at_every_run)
{
    static const char text[] = HEAD
        "g (uint8[1,2,1,3] x, float s, float v, float t, uint8 z, int32[2] b) "
        "=> (uint8[A,B,C,D] y, float[E,F,G,H] m) "
        "<int8[2,2,1,1] w = {50, -70, 90, 30}, int8 o = {0}, int8[3,2] u = {9, -8, 7, 6, 5, 4}> "
        "{ y = QLinearConv(x, s, z, w, v, o, t, z, b) i = MatMulInteger(x, u, z) "
        "m = Cast <to = 1> (i) }";
    const struct {
        float scales[3];
        uint8_t zero;
        int32_t bias;
    } runs[] = {{{.5f, .25f, 16}, 100, 40}, {{1, .25f, 16}, 100, 40}, {{1, .5f, 16}, 100, 40},
                {{1, .5f, 64}, 100, 40},    {{1, .5f, 64}, 130, 40},  {{1, .5f, 64}, 130, 4000}};
    struct text_run slow, fast;
    uint8_t before[6] = {0};
    text_must_plan(&slow, text, &(const struct ox_run_options){.level = 0});
    text_must_plan(&fast, text, &(const struct ox_run_options){.level = 2});
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        give_codes(&slow, runs[i].scales, runs[i].zero, runs[i].bias);
        give_codes(&fast, runs[i].scales, runs[i].zero, runs[i].bias);
        text_must_run(&slow);
        text_must_run(&fast);
        for (size_t k = 0; k < 2; k++) {
            const struct ox_tensor *want = ox_datum_get_tensor(slow.out[k]);
            const struct ox_tensor *is = ox_datum_get_tensor(fast.out[k]);
            ck_assert_mem_eq(is->data, want->data, want->n * ox_dtype_size(want->dtype));
        }
        const struct ox_tensor *y = ox_datum_get_tensor(slow.out[0]);
        ck_assert_mem_ne(y->data, before, sizeof before); /* each change shows */
        memcpy(before, y->data, sizeof before);
    }
    text_close(&slow);
    text_close(&fast);
}
END_TEST

/* A right side of one run is read where it lies by few rows. */
START_TEST(few_rows_by_codes_that_vary)
{
    enum { K = 37, N = 131, MOST_ROWS = 20 };
    static const int64_t rows[] = {1, 2, 4, 5, 17};
    const int64_t m = rows[_i / 4];
    const bool a_signed = _i & 1, b_signed = _i & 2;
    const char *a_type = a_signed ? "int8" : "uint8", *b_type = b_signed ? "int8" : "uint8";
    static uint8_t a[MOST_ROWS * K], b[K * N];
    char text[512];
    struct text_run f[2];
    snprintf(text, sizeof text,
             HEAD "g (%s[M,K] a, %s[K,N] b) => (y, z) <float s = {0.0625}, float t = {0.125}, "
                  "float o = {0.75}, %s p = {7}, %s q = {9}> "
                  "{ y = QLinearMatMul(a, s, p, b, t, q, o, p) z = MatMulInteger(a, b, p, q) }",
             a_type, b_type, a_type, b_type);
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = (uint8_t)(i * 7919 % 251 + i % 7);
    for (size_t i = 0; i < sizeof b; i++)
        b[i] = (uint8_t)(i * 104729 % 253 + i % 5);
    for (int k = 0; k < 2; k++) {
        text_must_plan(&f[k], text, &(const struct ox_run_options){.level = 2 * k});
        text_give(&f[k], a_signed ? OX_INT8 : OX_UINT8, 2, (const int64_t[]){m, K}, a);
        text_give(&f[k], b_signed ? OX_INT8 : OX_UINT8, 2, (const int64_t[]){K, N}, b);
        text_must_run(&f[k]);
    }
    for (size_t i = 0; i < 2; i++)
        ck_assert_mem_eq(ox_datum_get_tensor(f[0].out[i])->data,
                         ox_datum_get_tensor(f[1].out[i])->data, (size_t)m * N * (i ? 4 : 1));
    text_close(&f[0]);
    text_close(&f[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codes");
    TCase *all = tcase_create("all");
    tcase_add_test(all, rows_have_factors_of_their_own);
    tcase_add_test(all, codes_are_padded);
    tcase_add_test(all, a_relu_of_codes_goes_before_them);
    tcase_add_test(all, products_take_a_bias_and_give_floats);
    tcase_add_test(all, stacks_of_codes_are_multiplied);
    tcase_add_test(all, biases_are_added_in_codes);
    tcase_add_test(all, codes_move_and_meet);
    tcase_add_test(all, dynamic_products_are_one_node);
    tcase_add_test(all, products_of_known_scales_are_one_node);
    tcase_add_test(all, integer_operators_give_the_same_bits);
    tcase_add_test(all, scales_and_biases_from_without_are_read_at_every_run);
    tcase_add_loop_test(all, few_rows_by_codes_that_vary, 0, 20);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
