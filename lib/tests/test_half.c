#include <math.h>

#include "tensor/half.h"
#include "tests/run_suite.h"

/* The formats as the papers print them, apart from half.c: exponent and mantissa bits, bias, the largest finite value. */
static const struct format {
    enum ox_dtype dtype;
    int exponent_bits;
    int mantissa_bits;
    int bias;
    double largest;
    bool negative_zero;
    bool infinity;
    bool nan;
} formats[] = {
    {OX_FLOAT8E4M3FN, 4, 3, 7, 448, true, false, true},
    {OX_FLOAT8E4M3FNUZ, 4, 3, 8, 240, false, false, true},
    {OX_FLOAT8E5M2, 5, 2, 15, 57344, true, true, true},
    {OX_FLOAT8E5M2FNUZ, 5, 2, 16, 57344, false, false, true},
    {OX_FLOAT4E2M1, 2, 1, 1, 6, true, false, false},
    {OX_FLOAT6E2M3, 2, 3, 1, 7.5, true, false, false},
    {OX_FLOAT6E3M2, 3, 2, 3, 28, true, false, false},
    {OX_FLOAT16, 5, 10, 15, 65504, true, true, true},
    {OX_BFLOAT16, 8, 7, 127, 0x1.FEp127, true, true, true},
};

enum { N_FORMATS = sizeof formats / sizeof formats[0], N_SMALL = 7 };

/* The magnitude of a code without its sign, by the definition. */
static double magnitude(const struct format *format, unsigned code)
{
    double fraction = (double)(code % (1u << format->mantissa_bits)) / (1 << format->mantissa_bits);
    int exponent = (int)(code >> format->mantissa_bits);
    return exponent == 0 ? fraction * pow(2, 1 - format->bias)
                         : (1 + fraction) * pow(2, exponent - format->bias);
}

static unsigned n_magnitudes(const struct format *format)
{
    unsigned n = 0;
    while (n < 1u << (format->exponent_bits + format->mantissa_bits) &&
           magnitude(format, n) <= format->largest)
        n++;
    return n;
}

static double decode(enum ox_dtype dtype, unsigned code)
{
    if (dtype == OX_FLOAT16)
        return (double)ox_half_to_float((uint16_t)code);
    if (dtype == OX_BFLOAT16)
        return (double)ox_bfloat_to_float((uint16_t)code);
    return (double)ox_small_to_float(dtype, (uint8_t)code);
}

static unsigned encode(enum ox_dtype dtype, double value, bool saturate)
{
    if (dtype == OX_FLOAT16)
        return ox_double_to_half(value);
    if (dtype == OX_BFLOAT16)
        return ox_double_to_bfloat(value);
    return ox_double_to_small(dtype, value, saturate);
}

static unsigned sign_of(const struct format *format)
{
    return 1u << (format->exponent_bits + format->mantissa_bits);
}

START_TEST(every_finite_code_has_its_value)
{
    const struct format *format = &formats[_i];
    unsigned n = n_magnitudes(format);
    for (unsigned code = 0; code < n; code++) {
        double value = magnitude(format, code);
        ck_assert_double_eq(decode(format->dtype, code), value);
        if (code == 0 && !format->negative_zero)
            continue;
        double negative = decode(format->dtype, code | sign_of(format));
        ck_assert_double_eq(negative, -value);
        ck_assert(signbit(negative));
    }
}
END_TEST

START_TEST(every_other_code_is_infinite_or_nan)
{
    const struct format *format = &formats[_i];
    unsigned n = n_magnitudes(format);
    for (unsigned code = n; code < sign_of(format); code++) {
        double value = decode(format->dtype, code);
        double negative = decode(format->dtype, code | sign_of(format));
        if (format->infinity && code == n) {
            ck_assert(isinf(value) && value > 0);
            ck_assert(isinf(negative) && negative < 0);
        } else {
            ck_assert(isnan(value) && isnan(negative));
        }
    }
    if (!format->negative_zero)
        ck_assert(isnan(decode(format->dtype, sign_of(format))));
}
END_TEST

/* Between any two neighbours: below, at and above the middle, and their own values. */
START_TEST(values_round_to_the_nearest_with_ties_to_even)
{
    const struct format *format = &formats[_i];
    unsigned n = n_magnitudes(format);
    for (unsigned code = 0; code + 1 < n; code++) {
        double low = magnitude(format, code);
        double middle = (low + magnitude(format, code + 1)) / 2;
        unsigned even = code % 2 ? code + 1 : code;
        ck_assert_uint_eq(encode(format->dtype, low, true), code);
        ck_assert_uint_eq(encode(format->dtype, nextafter(middle, 0), true), code);
        ck_assert_uint_eq(encode(format->dtype, nextafter(middle, 1e300), true), code + 1);
        ck_assert_uint_eq(encode(format->dtype, middle, true), even);
        unsigned sign = even || format->negative_zero ? sign_of(format) : 0;
        ck_assert_uint_eq(encode(format->dtype, -middle, true), even | sign);
    }
}
END_TEST

START_TEST(what_is_too_large_saturates_or_not)
{
    const struct format *format = &formats[_i];
    unsigned max = n_magnitudes(format) - 1;
    double step = format->largest - magnitude(format, max - 1);
    static const double beyond[] = {1e5, 1e300, (double)INFINITY};
    for (int i = 0; i < 3; i++) {
        if (beyond[i] < format->largest)
            continue;
        double value = i == 0 ? format->largest + step : beyond[i];
        ck_assert_uint_eq(encode(format->dtype, -value, true), max | sign_of(format));
        ck_assert_uint_eq(encode(format->dtype, value, true), max);
        double left = decode(format->dtype, encode(format->dtype, value, false));
        if (format->infinity)
            ck_assert(isinf(left) && left > 0);
        else if (format->nan)
            ck_assert(isnan(left));
        else
            ck_assert_double_eq(left, format->largest);
    }
}
END_TEST

START_TEST(nan_stays_nan_where_there_is_one)
{
    const struct format *format = &formats[_i];
    double value = decode(format->dtype, encode(format->dtype, (double)NAN, true));
    if (format->nan)
        ck_assert(isnan(value));
    else
        ck_assert(value == 0 && signbit(value));
}
END_TEST

START_TEST(zeros_keep_their_sign_where_there_are_two)
{
    const struct format *format = &formats[_i];
    unsigned negative = format->negative_zero ? sign_of(format) : 0;
    ck_assert_uint_eq(encode(format->dtype, 0.0, true), 0);
    ck_assert_uint_eq(encode(format->dtype, -0.0, true), negative);
    ck_assert_uint_eq(encode(format->dtype, -1e-300, true), negative);
    ck_assert_uint_eq(encode(format->dtype, -0x1p-1074, true), negative);
}
END_TEST

/* The quick ways from float against the one from double, which the tests above hold to the definition. */
START_TEST(float_and_double_agree)
{
    uint32_t bits = 1;
    for (unsigned i = 0; i < 2000000; i++) {
        bits = bits * 1664525 + 1013904223;
        /* every other one within half's range, where the roundings are */
        uint32_t used = i % 2 ? bits : (bits & 0x8FFFFFFF) | 0x30000000;
        float value;
        memcpy(&value, &used, sizeof value);
        if (ox_float_to_half(value) != ox_double_to_half((double)value) ||
            ox_float_to_bfloat(value) != ox_double_to_bfloat((double)value))
            ck_abort_msg("%08x", used);
    }
    static const uint32_t edges[] = {0x477FEFFF, 0x477FF000, 0x477FFFFF, 0x47800000, 0x387FFFFF,
                                     0x38800000, 0x33000000, 0x33000001, 0x32FFFFFF, 0x7F800000,
                                     0x7F800001, 0x7FFFFFFF, 0x7F7FFFFF, 0x7F7F8000, 0x00000001,
                                     0x007FFFFF, 0x00008000, 0x00008001, 0x00018000, 0x7F7F7FFF};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        for (uint32_t sign = 0; sign < 2; sign++) {
            uint32_t used = edges[i] | sign << 31;
            float value;
            memcpy(&value, &used, sizeof value);
            ck_assert_msg(ox_float_to_half(value) == ox_double_to_half((double)value), "%08x",
                          used);
            bool subnormal = (edges[i] & 0x7F800000) == 0;
            ck_assert_msg(subnormal ||
                              ox_float_to_bfloat(value) == ox_double_to_bfloat((double)value),
                          "%08x", used);
        }
    }
}
END_TEST

START_TEST(subnormal_floats_keep_their_bfloat_bits)
{
    for (uint32_t code = 0; code < 0x80; code++) {
        ck_assert_uint_eq(ox_float_to_bfloat(ox_bfloat_to_float((uint16_t)code)), code);
        ck_assert_uint_eq(ox_double_to_bfloat((double)ox_bfloat_to_float((uint16_t)code)), code);
    }
}
END_TEST

START_TEST(e8m0_codes_are_powers_of_two)
{
    for (int code = 0; code < 255; code++) {
        double value = pow(2, code - 127);
        ck_assert_double_eq((double)ox_small_to_float(OX_FLOAT8E8M0, (uint8_t)code), value);
        for (int mode = OX_E8M0_UP; mode <= OX_E8M0_NEAREST; mode++)
            ck_assert_int_eq(ox_double_to_e8m0(value, (enum ox_e8m0_round)mode, false), code);
        if (code == 254)
            continue;
        ck_assert_int_eq(ox_double_to_e8m0(value * 1.25, OX_E8M0_UP, true), code + 1);
        ck_assert_int_eq(ox_double_to_e8m0(value * 1.75, OX_E8M0_DOWN, true), code);
        ck_assert_int_eq(ox_double_to_e8m0(value * 1.49, OX_E8M0_NEAREST, true), code);
        ck_assert_int_eq(ox_double_to_e8m0(value * 1.5, OX_E8M0_NEAREST, true), code + 1);
        ck_assert_int_eq(ox_double_to_e8m0(-value * 1.5, OX_E8M0_NEAREST, true), code + 1);
    }
    ck_assert(isnan(ox_small_to_float(OX_FLOAT8E8M0, 0xFF)));
}
END_TEST

START_TEST(e8m0_ends_as_the_standard_tables_say)
{
    ck_assert_uint_eq(ox_float_to_e8m0(0, OX_E8M0_UP, true), 0);
    ck_assert_uint_eq(ox_float_to_e8m0(NAN, OX_E8M0_UP, true), 0xFF);
    ck_assert_uint_eq(ox_float_to_e8m0(INFINITY, OX_E8M0_UP, true), 0xFE);
    ck_assert_uint_eq(ox_float_to_e8m0(0x1.8p127f, OX_E8M0_UP, true), 0xFE);
    ck_assert_uint_eq(ox_float_to_e8m0(0x1p-149f, OX_E8M0_DOWN, true), 0);
    ck_assert_uint_eq(ox_float_to_e8m0(0, OX_E8M0_NEAREST, false), 0xFF);
    ck_assert_uint_eq(ox_float_to_e8m0(INFINITY, OX_E8M0_NEAREST, false), 0xFF);
    ck_assert_uint_eq(ox_float_to_e8m0(0x1.8p127f, OX_E8M0_NEAREST, false), 0xFF);
    ck_assert_uint_eq(ox_float_to_e8m0(0x1p-140f, OX_E8M0_NEAREST, false), 0xFF);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("half");
    TCase *tests = tcase_create("half");
    tcase_add_loop_test(tests, every_finite_code_has_its_value, 0, N_FORMATS);
    tcase_add_loop_test(tests, every_other_code_is_infinite_or_nan, 0, N_FORMATS);
    tcase_add_loop_test(tests, values_round_to_the_nearest_with_ties_to_even, 0, N_FORMATS);
    tcase_add_loop_test(tests, what_is_too_large_saturates_or_not, 0, N_SMALL);
    tcase_add_loop_test(tests, nan_stays_nan_where_there_is_one, 0, N_FORMATS);
    tcase_add_loop_test(tests, zeros_keep_their_sign_where_there_are_two, 0, N_FORMATS);
    tcase_add_test(tests, float_and_double_agree);
    tcase_add_test(tests, subnormal_floats_keep_their_bfloat_bits);
    tcase_add_test(tests, e8m0_codes_are_powers_of_two);
    tcase_add_test(tests, e8m0_ends_as_the_standard_tables_say);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
