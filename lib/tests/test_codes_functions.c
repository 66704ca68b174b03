/* Functions of quantized values at -O2: tables, stretches that end in codes, and rows that are normalized. */
#include <check.h>

#include "tests/check_codes.h"
#include "tests/run_suite.h"

/* Floats that become codes of 16 bits and floats again are rounded while a run has them near, at either end and alone. */
START_TEST(floats_on_a_grid_stay_in_runs)
{
    check_codes("g (float[3,50,7] x) => (float[A,B,C] y) { "
                "a = com.microsoft.QuantizeLinear(x, s16, z16) "
                "b = com.microsoft.DequantizeLinear(a, s16, z16) "
                "c = Tanh(b) d = com.microsoft.QuantizeLinear(c, t16, o16) "
                "e = com.microsoft.DequantizeLinear(d, t16, o16) f = Mul(e, n) "
                "h = Transpose <perm = [0,2,1]> (f) "
                "i = QuantizeLinear(h, s, z) j = DequantizeLinear(i, s, z) "
                "k = Softmax(j) l = com.microsoft.QuantizeLinear(k, t16, o16) "
                "y = com.microsoft.DequantizeLinear(l, t16, o16) }",
                CONSTANTS({"float s16", 1, 1}, {"int16 z16", -7, -7}, {"float[1] t16", 2, 2},
                          {"uint16[1] o16", 9, 9}, {"float n", 3, 3}, {"float s", 1, 1},
                          {"int8 z", -5, -5}),
                (struct shape){3, {3, 50, 7}}, 2 / 64.0f,
                WANT({"QuantizeLinear", 0}, {"DequantizeLinear", 1}, {"Elementwise", 2}));
}
END_TEST

START_TEST(functions_of_a_code_are_one_table)
{
    check_codes("g (float[5,50] x) => (float[A,B] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
                "c = Sigmoid(b) d = QuantizeLinear(c, s, o) e = DequantizeLinear(d, s, o) "
                "f = Mul(b, e) g = Div(f, t) h = QuantizeLinear(g, t, z) "
                "y = DequantizeLinear(h, t, z) }",
                CONSTANTS(SCALES), (struct shape){2, {5, 50}}, 0,
                WANT({"Lookup", 1}, {"Sigmoid", 0}, {"Mul", 0}, {"QuantizeLinear", 1},
                     {"DequantizeLinear", 1}));
}
END_TEST

/* Gelu as onnxruntime quantizes it. */
START_TEST(numbers_that_are_codes_do_not_keep_a_function_from_being_a_table)
{
    check_codes("g (float[5,50] x) => (float[A,B] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
                "c = Erf(b) d = QuantizeLinear(c, t, o) e = DequantizeLinear(d, t, o) "
                "n = DequantizeLinear(one, s, z) f = Add(e, n) g = QuantizeLinear(f, s, z) "
                "h = DequantizeLinear(g, s, z) i = Mul(b, h) j = QuantizeLinear(i, t, z) "
                "k = DequantizeLinear(j, t, z) m = DequantizeLinear(half, t) l = Mul(m, k) "
                "p = QuantizeLinear(l, t, z) y = DequantizeLinear(p, t, z) }",
                CONSTANTS({"uint8 one", 200, 200}, {"uint8[1,1] half", 9, 9}, SCALES),
                (struct shape){2, {5, 50}}, 0,
                WANT({"Lookup", 1}, {"IntegerAdd", 0}, {"IntegerMul", 0}, {"QuantizeLinear", 1},
                     {"DequantizeLinear", 1}));
}
END_TEST

/* A bias a column keeps a function of codes from being a table: floats between codes stay in a stretch. */
START_TEST(runs_of_functions_end_in_codes)
{
    check_codes("g (float[5,40,90] x) => (float[A,B,C] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = Add(b, bias) "
                "r = Relu(c) d = QuantizeLinear(r, s, o) e = DequantizeLinear(d, s, o) "
                "f = Mul(row, e) i = QuantizeLinear(f, t, sz) j = DequantizeLinear(i, t, sz) "
                "k = Sub(j, bias) n = Neg(k) y = Add(n, row) }",
                CONSTANTS({"float[90] bias", -64, 64}, {"float[40,1] row", -64, 64},
                          {"int8[1] sz", -7, -7}, SCALES),
                (struct shape){3, {5, 40, 90}}, 0,
                WANT({"Elementwise", 3}, {"QuantizeLinear", 1}, {"DequantizeLinear", 0}));
    check_codes(
        "g (float[5,50] x) => (float[A,B] y) { "
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = Exp(b) "
        "d = Add(c, bias) e = Gelu(d) f = QuantizeLinear(e, t, o) "
        "y = DequantizeLinear(f, t, o) }",
        CONSTANTS({"float[50] bias", -64, 64}, SCALES), (struct shape){2, {5, 50}}, 2 / 64.0f,
        WANT({"Elementwise", 1}, {"QuantizeLinear", 1}, {"DequantizeLinear", 1}, {"Lookup", 0}));
}
END_TEST

/* Rows are normalized before they become codes again; of two chains that meet in a sum the codes of the shorter are an operand. */
START_TEST(rows_are_normalized_between_codes)
{
    check_codes("g (float[30,80] x) => (float[A,B] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = Div(b, half) "
                "d = Add(c, bias) e = Softmax(d) f = QuantizeLinear(e, fine, none) "
                "i = QuantizeLinear(x, t, o) j = DequantizeLinear(i, t, o) "
                "g = DequantizeLinear(f, fine, none) h = Add(g, bias) k = Sub(j, h) "
                "l = LayerNormalization(k, row, bias) m = QuantizeLinear(l, t, z) "
                "y = DequantizeLinear(m, t, z) }",
                CONSTANTS({"float[80] bias", -64, 64}, {"float[80] row", 1, 64},
                          {"float[1] half", 32, 32}, {"float[1] fine", 1, 1},
                          {"uint8[1] none", 0, 0}, SCALES),
                (struct shape){2, {30, 80}}, 2 / 64.0f,
                WANT({"Elementwise", 2}, {"QuantizeLinear", 2}, {"DequantizeLinear", 1},
                     {"Softmax", 0}, {"LayerNormalization", 0}, {"Lookup", 0}));
    check_codes("g (float[30,80] x) => (float[A,B] y) { "
                "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = Add(b, bias) "
                "d = LayerNormalization(c, half) e = QuantizeLinear(d, t, z) "
                "y = DequantizeLinear(e, t, z) }",
                CONSTANTS({"float[80] bias", -64, 64}, {"float[1] half", 32, 32}, SCALES),
                (struct shape){2, {30, 80}}, 2 / 64.0f,
                WANT({"Elementwise", 1}, {"LayerNormalization", 1}, {"QuantizeLinear", 2}));
}
END_TEST

/* What nothing goes before is worked out with its codes, too. */
START_TEST(rows_of_floats_become_codes)
{
    check_codes("g (float[30,80] x) => (float[A,B] y) { a = Softmax(x) "
                "b = QuantizeLinear(a, fine, none) c = DequantizeLinear(b, fine, none) "
                "d = LayerNormalization(x, row, bias) e = QuantizeLinear(d, t, z) "
                "f = DequantizeLinear(e, t, z) i = MatMul(c, cols) y = Add(i, f) }",
                CONSTANTS({"float[80] bias", -64, 64}, {"float[80] row", 1, 64},
                          {"float[80,80] cols", -64, 64}, {"float[1] fine", 1, 1},
                          {"uint8[1] none", 0, 0}, SCALES),
                (struct shape){2, {30, 80}}, 2 / 64.0f,
                WANT({"Softmax", 0}, {"LayerNormalization", 0}, {"QuantizeLinear", 0}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("functions of codes");
    TCase *all = tcase_create("all");
    tcase_add_test(all, floats_on_a_grid_stay_in_runs);
    tcase_add_test(all, functions_of_a_code_are_one_table);
    tcase_add_test(all, numbers_that_are_codes_do_not_keep_a_function_from_being_a_table);
    tcase_add_test(all, runs_of_functions_end_in_codes);
    tcase_add_test(all, rows_are_normalized_between_codes);
    tcase_add_test(all, rows_of_floats_become_codes);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
