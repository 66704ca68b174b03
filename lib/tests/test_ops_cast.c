/* Cast, BitCast, QuantizeLinear and its inverse. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/run_op.h"
#include "tests/run_suite.h"

static const double inf = (double)INFINITY, nan_ = (double)NAN;

static struct one_op *cast(int64_t opset, enum ox_dtype from, const double *x, size_t n,
                           enum ox_dtype to)
{
    char shape[16];
    snprintf(shape, sizeof shape, "%zu", n);
    struct one_op *op = one_op_new("", "Cast", opset);
    one_op_in(op, from, shape, x, n);
    one_op_int(op, "to", to);
    return op;
}

START_TEST(cast_between_numbers)
{
    struct one_op *op = cast(13, OX_FLOAT32, (const double[]){1.9, -1.9, 0, 300}, 4, OX_INT32);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "4", 0, 1, -1, 0, 300);
    one_op_free(op);
    op = cast(13, OX_INT16, (const double[]){200, -1, 256, 5}, 4, OX_INT8);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT8, "4", 0, -56, -1, 0, 5);
    one_op_free(op);
    op = cast(13, OX_FLOAT64, (const double[]){0.1, -0.0, nan_, 0}, 4, OX_BOOL);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_BOOL, "4", 0, 1, 0, 1, 0);
    one_op_free(op);
    op = cast(13, OX_FLOAT64, (const double[]){1e6, -1e6, 1.0 / 3, 1}, 4, OX_FLOAT16);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "4", 0, inf, -inf, 0.333251953125, 1);
    one_op_free(op);
}
END_TEST

START_TEST(version_1_names_the_type)
{
    struct one_op *op = one_op_new("", "Cast", 1);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1.5, 2.5);
    one_op_string(op, "to", "INT64");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT64, "2", 0, 1, 2);
    one_op_free(op);
    op = one_op_new("", "Cast", 1);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1.5, 2.5);
    one_op_string(op, "to", "INTEGER");
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "INTEGER"));
    one_op_free(op);
}
END_TEST

START_TEST(saturate_decides_for_8_bit_floats)
{
    for (int saturate = 0; saturate <= 1; saturate++) {
        struct one_op *op = cast(19, OX_FLOAT32, (const double[]){1000, -inf}, 2, OX_FLOAT8E4M3FN);
        one_op_int(op, "saturate", saturate);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, OX_FLOAT8E4M3FN, "2", 0, saturate ? 448 : nan_, saturate ? -448 : nan_);
        one_op_free(op);
    }
}
END_TEST

START_TEST(scales_round_as_asked)
{
    static const char *const modes[] = {"up", "down", "nearest"};
    static const double expected[] = {8, 4, 4};
    for (size_t i = 0; i < 3; i++) {
        struct one_op *op = cast(24, OX_FLOAT32, (const double[]){5}, 1, OX_FLOAT8E8M0);
        one_op_string(op, "round_mode", modes[i]);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, OX_FLOAT8E8M0, "1", 0, expected[i]);
        one_op_free(op);
    }
}
END_TEST

static void check_text(enum ox_dtype dtype, double value, const char *expected)
{
    struct one_op *op = cast(13, dtype, &value, 1, OX_STRING);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect_strings(op, 0, "1", &expected, 1);
    one_op_free(op);
}

START_TEST(numbers_print_with_the_fewest_digits)
{
    check_text(OX_FLOAT32, 314.15926, "314.15927");
    check_text(OX_FLOAT32, 0.1, "0.1");
    check_text(OX_FLOAT64, 0.1, "0.1");
    check_text(OX_FLOAT64, 1.0 / 3, "0.3333333333333333");
    check_text(OX_FLOAT16, 0.1, "0.1");
    check_text(OX_FLOAT16, 65504, "65500.0");
    check_text(OX_BFLOAT16, 3.140625, "3.14");
    check_text(OX_FLOAT8E5M2, 0.75, "0.75");
    check_text(OX_FLOAT64, 1e15, "1000000000000000.0");
    check_text(OX_FLOAT64, 1e16, "1e+16");
    check_text(OX_FLOAT64, 1.5e-300, "1.5e-300");
    check_text(OX_FLOAT64, 0.0001, "0.0001");
    check_text(OX_FLOAT64, 0.00001, "1e-05");
    check_text(OX_FLOAT64, -0.0, "-0.0");
    check_text(OX_FLOAT64, 123456.75, "123456.75");
    check_text(OX_FLOAT32, inf, "inf");
    check_text(OX_FLOAT32, -inf, "-inf");
    check_text(OX_FLOAT32, nan_, "nan");
    check_text(OX_INT64, -9007199254740992.0, "-9007199254740992");
    check_text(OX_UINT8, 255, "255");
    check_text(OX_INT4, -8, "-8");
    check_text(OX_BOOL, 1, "True");
}
END_TEST

static void check_parse(enum ox_dtype to, const char *text, double expected)
{
    struct one_op *op = one_op_new("", "Cast", 13);
    one_op_in_strings(op, "1", &text, 1);
    one_op_int(op, "to", to);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    ONE_OP_OUT(op, 0, to, "1", 0, expected);
    one_op_free(op);
}

START_TEST(text_is_read_as_numbers)
{
    check_parse(OX_FLOAT64, "3.14", 3.14);
    check_parse(OX_FLOAT32, " 1e-5 ", (double)1e-5f);
    check_parse(OX_FLOAT64, "1E8", 1e8);
    check_parse(OX_FLOAT32, "+INF", inf);
    check_parse(OX_FLOAT32, "-inf", -inf);
    check_parse(OX_FLOAT16, "NaN", nan_);
    check_parse(OX_INT32, "100.5", 100);
    check_parse(OX_INT8, "-7", -7);
    check_parse(OX_BOOL, "True", 1);
    check_parse(OX_BOOL, "0", 0);
    check_parse(OX_UINT8, "12", 12);
}
END_TEST

START_TEST(integers_are_written_in_decimal)
{
    static const char *const texts[] = {"0", "-7", "1000", "9223372036854775807",
                                        "-9223372036854775808"};
    static const int64_t values[] = {0, -7, 1000, INT64_MAX, INT64_MIN};
    struct one_op *op = one_op_new("", "Cast", 13);
    one_op_in_data(op, OX_INT64, "5", values, sizeof values);
    one_op_int(op, "to", OX_STRING);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect_strings(op, 0, "5", texts, OX_COUNT(texts));
    one_op_free(op);
}
END_TEST
START_TEST(big_integers_survive_text)
{
    const char *text = "18446744073709551615";
    struct one_op *op = one_op_new("", "Cast", 13);
    one_op_in_strings(op, "1", &text, 1);
    one_op_int(op, "to", OX_UINT64);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ck_assert(*(const uint64_t *)one_op_out(op, 0)->data == UINT64_MAX);
    one_op_free(op);
}
END_TEST

START_TEST(text_that_is_no_number_is_named)
{
    static const char *const texts[] = {"", "Hello\nWorld", "1 2", "0x10", "1e"};
    for (size_t i = 0; i < OX_COUNT(texts); i++) {
        struct one_op *op = one_op_new("", "Cast", 13);
        one_op_in_strings(op, "1", &texts[i], 1);
        one_op_int(op, "to", OX_FLOAT32);
        ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
        ck_assert_ptr_nonnull(strstr(one_op_error(op), "element 0"));
        ck_assert_ptr_null(strchr(one_op_error(op), '\n'));
        one_op_free(op);
    }
}
END_TEST

START_TEST(cast_like_takes_the_type_of_its_second_input)
{
    struct one_op *op = one_op_new("", "CastLike", 15);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1.5, -2.5);
    ONE_OP_IN(op, OX_INT16, "1", 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT16, "2", 0, 1, -2);
    one_op_free(op);
}
END_TEST

START_TEST(bit_cast_keeps_the_bits)
{
    for (int oracle = 0; oracle <= 1; oracle++) {
        struct one_op *op = one_op_new("", "BitCast", 26);
        if (oracle)
            one_op_set_oracle(op);
        ONE_OP_IN(op, OX_FLOAT32, "2", 1, -0.0);
        one_op_int(op, "to", OX_INT32);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, OX_INT32, "2", 0, 0x3F800000, -2147483648.0);
        one_op_free(op);
        op = one_op_new("", "BitCast", 26);
        if (oracle)
            one_op_set_oracle(op);
        ONE_OP_IN(op, OX_INT32, "1", 0x3F800000);
        one_op_int(op, "to", OX_FLOAT32);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, oracle ? OX_FLOAT64 : OX_FLOAT32, "1", 0, 1);
        one_op_free(op);
    }
    struct one_op *op = one_op_new("", "BitCast", 26);
    ONE_OP_IN(op, OX_INT4, "2", -3, 7);
    one_op_int(op, "to", OX_UINT4);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_UINT4, "2", 0, 13, 7);
    one_op_free(op);
}
END_TEST

START_TEST(bit_cast_refuses_another_width)
{
    struct one_op *op = one_op_new("", "BitCast", 26);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    one_op_int(op, "to", OX_INT64);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    one_op_free(op);
}
END_TEST

/* ---- Quantization ------------------------------------------------------------------------------------------------ */

START_TEST(quantize_rounds_to_even_and_saturates)
{
    struct one_op *op = one_op_new("", "QuantizeLinear", 13);
    ONE_OP_IN(op, OX_FLOAT32, "7", 0, 1, 3, 1000, -1000, 5, inf);
    ONE_OP_IN(op, OX_FLOAT32, "", 2);
    ONE_OP_IN(op, OX_UINT8, "", 128);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_UINT8, "7", 0, 128, 128, 130, 255, 0, 130, 255);
    one_op_free(op);
}
END_TEST

START_TEST(quantize_by_axis)
{
    static const int64_t axes[] = {0, -1};
    static const double expected[2][4] = {{1, 2, 2, 2}, {1, 1, 3, 2}};
    for (size_t i = 0; i < 2; i++) {
        struct one_op *op = one_op_new("", "QuantizeLinear", 13);
        ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 2, 3, 4);
        ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
        ONE_OP_IN(op, OX_INT8, "2", 0, 0);
        one_op_int(op, "axis", axes[i]);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_INT8, "2x2", 0, expected[i], 4);
        one_op_free(op);
    }
}
END_TEST

START_TEST(quantize_in_blocks_and_back)
{
    struct one_op *op = one_op_new("", "QuantizeLinear", 21);
    ONE_OP_IN(op, OX_FLOAT32, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 3, 2, 6);
    one_op_int(op, "axis", 1);
    one_op_int(op, "block_size", 2);
    one_op_int(op, "output_dtype", OX_INT4);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT4, "2x3", 0, 1, 2, 1, 2, 2, 1);
    one_op_free(op);
    op = one_op_new("", "DequantizeLinear", 21);
    ONE_OP_IN(op, OX_UINT4, "3x2", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_FLOAT16, "2x2", 1, 2, 0.5, 4);
    ONE_OP_IN(op, OX_UINT4, "2x2", 1, 1, 0, 2);
    one_op_int(op, "axis", 0);
    one_op_int(op, "block_size", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "3x2", 0, 0, 2, 2, 6, 2.5, 16);
    one_op_free(op);
}
END_TEST

START_TEST(quantize_to_small_floats)
{
    struct one_op *op = one_op_new("", "QuantizeLinear", 28);
    ONE_OP_IN(op, OX_BFLOAT16, "4", 1, -10, 0.3, 100);
    ONE_OP_IN(op, OX_BFLOAT16, "", 2);
    one_op_int(op, "output_dtype", OX_FLOAT4E2M1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT4E2M1, "4", 0, 0.5, -4, 0, 6);
    one_op_free(op);
}
END_TEST

/* 1.1875 / 1.1171875 is 1.06294: in bfloat16 1.0625, which lies between the codes 1 and 1.125 and goes to the even one. */
START_TEST(quantize_divides_in_the_type_of_the_scale)
{
    struct one_op *op = one_op_new("", "QuantizeLinear", 23);
    ONE_OP_IN(op, OX_BFLOAT16, "1", 1.1875);
    ONE_OP_IN(op, OX_BFLOAT16, "", 1.1171875);
    one_op_int(op, "output_dtype", OX_FLOAT8E4M3FN);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT8E4M3FN, "1", 0, 1);
    one_op_free(op);
    op = one_op_new("", "QuantizeLinear", 23); /* 10.47 is 10.5 there, 10.5 / 3 a tie */
    ONE_OP_IN(op, OX_FLOAT32, "1", 10.47);
    ONE_OP_IN(op, OX_BFLOAT16, "", 3);
    one_op_int(op, "output_dtype", OX_INT8);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT8, "1", 0, 4);
    one_op_free(op);
}
END_TEST

START_TEST(quantize_divides_in_the_precision_asked_for)
{
    struct one_op *op = one_op_new("", "QuantizeLinear", 23);
    ONE_OP_IN(op, OX_BFLOAT16, "1", 1.1875);
    ONE_OP_IN(op, OX_BFLOAT16, "", 1.1171875);
    one_op_int(op, "output_dtype", OX_FLOAT8E4M3FN);
    one_op_int(op, "precision", OX_FLOAT32);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT8E4M3FN, "1", 0, 1.125);
    one_op_free(op);
    op = one_op_new("", "QuantizeLinear", 23);
    ONE_OP_IN(op, OX_FLOAT32, "3", 10.47, 10.47, 10.47);
    ONE_OP_IN(op, OX_FLOAT32, "3", 3, 3.004, -3); /* 3.004 is 3 in bfloat16 */
    one_op_int(op, "axis", 0);
    one_op_int(op, "output_dtype", OX_INT8);
    one_op_int(op, "precision", OX_BFLOAT16);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT8, "3", 0, 4, 4, -4);
    one_op_free(op);
}
END_TEST

START_TEST(quantize_refuses_scales_that_do_not_fit)
{
    struct one_op *op = one_op_new("", "QuantizeLinear", 13);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 2, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "3 scales for an axis of 2"));
    one_op_free(op);
    op = one_op_new("", "DequantizeLinear", 21);
    ONE_OP_IN(op, OX_INT8, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2x3", 1, 2, 3, 4, 5, 6);
    one_op_int(op, "block_size", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    one_op_free(op);
}
END_TEST

START_TEST(dynamic_quantization_covers_zero)
{
    struct one_op *op = one_op_new("", "DynamicQuantizeLinear", 11);
    ONE_OP_IN(op, OX_FLOAT32, "6", 0, 2, -3, -2.5, 1.34, 0.5);
    ck_assert_int_eq(one_op_run(op, 3), OX_OK);
    ONE_OP_OUT(op, 0, OX_UINT8, "6", 0, 153, 255, 0, 26, 221, 179);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "", 1e-7, 0.0196078438);
    ONE_OP_OUT(op, 2, OX_UINT8, "", 0, 153);
    one_op_free(op);
    op = one_op_new("", "DynamicQuantizeLinear", 11);
    ONE_OP_IN(op, OX_FLOAT32, "2", 0, 0);
    ck_assert_int_eq(one_op_run(op, 3), OX_OK);
    ONE_OP_OUT(op, 0, OX_UINT8, "2", 0, 0, 0);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_cast");
    TCase *tcase = tcase_create("cast");
    tcase_add_test(tcase, cast_between_numbers);
    tcase_add_test(tcase, version_1_names_the_type);
    tcase_add_test(tcase, saturate_decides_for_8_bit_floats);
    tcase_add_test(tcase, scales_round_as_asked);
    tcase_add_test(tcase, numbers_print_with_the_fewest_digits);
    tcase_add_test(tcase, text_is_read_as_numbers);
    tcase_add_test(tcase, integers_are_written_in_decimal);
    tcase_add_test(tcase, big_integers_survive_text);
    tcase_add_test(tcase, text_that_is_no_number_is_named);
    tcase_add_test(tcase, cast_like_takes_the_type_of_its_second_input);
    tcase_add_test(tcase, bit_cast_keeps_the_bits);
    tcase_add_test(tcase, bit_cast_refuses_another_width);
    tcase_add_test(tcase, quantize_rounds_to_even_and_saturates);
    tcase_add_test(tcase, quantize_by_axis);
    tcase_add_test(tcase, quantize_in_blocks_and_back);
    tcase_add_test(tcase, quantize_to_small_floats);
    tcase_add_test(tcase, quantize_divides_in_the_type_of_the_scale);
    tcase_add_test(tcase, quantize_divides_in_the_precision_asked_for);
    tcase_add_test(tcase, quantize_refuses_scales_that_do_not_fit);
    tcase_add_test(tcase, dynamic_quantization_covers_zero);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
