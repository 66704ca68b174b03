#include <inttypes.h>
#include <math.h>

#include "common/env.h"
#include "tensor/half.h"
#include "tensor/tensor.h"
#include "tests/run_suite.h"

static struct ox_error err;

/* One element through ox_elements_convert(). */
static void one(enum ox_dtype to_dtype, void *to, enum ox_dtype from_dtype, const void *from)
{
    ox_elements_convert(to_dtype, to, from_dtype, from, 1, true);
}

static int64_t real_to_int(enum ox_dtype to, double value)
{
    struct ox_tensor *in;
    struct ox_tensor *out;
    ck_assert_int_eq(ox_tensor_new(&in, NULL, OX_FLOAT64, 0, NULL, &err), OX_OK);
    *(double *)in->data = value;
    ck_assert_int_eq(ox_tensor_convert(&out, NULL, in, to, true, &err), OX_OK);
    int64_t result =
        to == OX_UINT64 ? (int64_t) * (uint64_t *)out->data : ox_tensor_get_int(out, 0);
    ox_tensor_release(in);
    ox_tensor_release(out);
    return result;
}

START_TEST(floats_are_truncated_to_integers)
{
    static const enum ox_dtype types[] = {OX_INT8, OX_INT16, OX_INT32, OX_INT64};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        ck_assert_int_eq(real_to_int(types[i], 2.9), 2);
        ck_assert_int_eq(real_to_int(types[i], -2.9), -2);
        ck_assert_int_eq(real_to_int(types[i], -0.9), 0);
    }
    ck_assert_int_eq(real_to_int(OX_UINT8, 255.9), 255);
    ck_assert_int_eq(real_to_int(OX_INT64, 9007199254740993.0), 9007199254740992);
}
END_TEST

/* What onnxruntime 1.2x and numpy 2 give on x86. */
START_TEST(floats_out_of_range_follow_the_engines)
{
    double nan = (double)NAN;
    double infinity = (double)INFINITY;
    ck_assert_int_eq(real_to_int(OX_UINT8, -1), 255);
    ck_assert_int_eq(real_to_int(OX_UINT8, 300), 44);
    ck_assert_int_eq(real_to_int(OX_INT8, 128), -128);
    ck_assert_int_eq(real_to_int(OX_INT8, 3e9), 0);
    ck_assert_int_eq(real_to_int(OX_INT16, 70000), 4464);
    ck_assert_int_eq(real_to_int(OX_UINT16, -1.5), 65535);
    ck_assert_int_eq(real_to_int(OX_INT32, 3e9), INT32_MIN);
    ck_assert_int_eq(real_to_int(OX_INT32, nan), INT32_MIN);
    ck_assert_int_eq(real_to_int(OX_UINT32, 3e9), 3000000000);
    ck_assert_int_eq(real_to_int(OX_UINT32, -1), 4294967295);
    ck_assert_int_eq(real_to_int(OX_UINT32, infinity), 0);
    ck_assert_int_eq(real_to_int(OX_UINT32, -3e9), 2147483648);
    ck_assert_int_eq(real_to_int(OX_UINT32, 5e9), 0);
    ck_assert_int_eq(real_to_int(OX_INT64, 1e19), INT64_MIN);
    ck_assert_int_eq(real_to_int(OX_INT64, nan), INT64_MIN);
    ck_assert_uint_eq((uint64_t)real_to_int(OX_UINT64, 1e19), 10000000000000000000u);
    ck_assert_uint_eq((uint64_t)real_to_int(OX_UINT64, 2e19), 0);
    ck_assert_uint_eq((uint64_t)real_to_int(OX_UINT64, nan), (uint64_t)1 << 63);
    ck_assert_uint_eq((uint64_t)real_to_int(OX_UINT64, -1), UINT64_MAX);
    for (int i = -9; i < 16; i++) { /* the suite's test_cast_FLOAT_to_INT4 and its kin */
        ck_assert_int_eq(real_to_int(OX_UINT4, i), i & 15);
        ck_assert_int_eq(real_to_int(OX_INT4, i), ((i + 8) & 15) - 8);
        ck_assert_int_eq(real_to_int(OX_UINT2, i), i & 3);
        ck_assert_int_eq(real_to_int(OX_INT2, i), ((i + 2) & 3) - 2);
    }
}
END_TEST

START_TEST(integers_drop_their_high_bits)
{
    int16_t in = 200;
    int8_t out8;
    one(OX_INT8, &out8, OX_INT16, &in);
    ck_assert_int_eq(out8, -56);
    int64_t big = -1;
    uint64_t out64;
    one(OX_UINT64, &out64, OX_INT64, &big);
    ck_assert_uint_eq(out64, UINT64_MAX);
    big = INT64_C(0x123456789);
    int32_t out32;
    one(OX_INT32, &out32, OX_INT64, &big);
    ck_assert_int_eq(out32, 0x23456789);
    big = 27;
    one(OX_INT4, &out8, OX_INT64, &big);
    ck_assert_int_eq(out8, -5);
    out64 = (uint64_t)1 << 63;
    one(OX_INT64, &big, OX_UINT64, &out64);
    ck_assert_int_eq(big, INT64_MIN);
}
END_TEST

START_TEST(bool_is_what_is_not_zero)
{
    static const double in[] = {0, -0.0, 0.25, -3, 1e-300};
    uint8_t out[6];
    ox_elements_convert(OX_BOOL, out, OX_FLOAT64, in, 5, true);
    ck_assert_mem_eq(out, "\0\0\1\1\1", 5);
    double nan = (double)NAN;
    one(OX_BOOL, out, OX_FLOAT64, &nan);
    ck_assert_uint_eq(out[0], 1);
    uint64_t big = (uint64_t)1 << 63;
    one(OX_BOOL, out, OX_UINT64, &big);
    ck_assert_uint_eq(out[0], 1);
    float f;
    one(OX_FLOAT32, &f, OX_BOOL, out);
    ck_assert_float_eq(f, 1);
}
END_TEST

/* Each of these goes wrong when it is rounded to double or float on its way. */
START_TEST(no_value_is_rounded_twice)
{
    int64_t whole =
        (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1; /* just above the middle of two bfloats */
    uint16_t code;
    one(OX_BFLOAT16, &code, OX_INT64, &whole);
    ck_assert_uint_eq(code, 0x5E81);
    whole = -whole;
    one(OX_BFLOAT16, &code, OX_INT64, &whole);
    ck_assert_uint_eq(code, 0xDE81);
    uint64_t natural = ((uint64_t)1 << 63) + ((uint64_t)1 << 55) + 1;
    one(OX_BFLOAT16, &code, OX_UINT64, &natural);
    ck_assert_uint_eq(code, 0x5F01);
    float single;
    natural = ((uint64_t)1 << 63) + ((uint64_t)1 << 39) + 1;
    one(OX_FLOAT32, &single, OX_UINT64, &natural);
    ck_assert(single == 0x1.000002p63f);
    double real = 1 + 0x1p-11 + 0x1p-50; /* to float first: the tie, and then down */
    one(OX_FLOAT16, &code, OX_FLOAT64, &real);
    ck_assert_uint_eq(code, 0x3C01);
    real = 1 + 0x1p-8 + 0x1p-50;
    one(OX_BFLOAT16, &code, OX_FLOAT64, &real);
    ck_assert_uint_eq(code, 0x3F81);
    uint8_t small;
    real = 1 + 0x1p-4 + 0x1p-50;
    one(OX_FLOAT8E4M3FN, &small, OX_FLOAT64, &real);
    ck_assert_uint_eq(small, 0x39);
    real = 1 + 0x1p-50;
    one(OX_FLOAT8E8M0, &small, OX_FLOAT64, &real);
    ck_assert_uint_eq(small, 128);
}
END_TEST

START_TEST(saturation_is_for_eight_bit_floats_as_asked)
{
    float in = 1000;
    uint8_t out;
    ox_elements_convert(OX_FLOAT8E4M3FN, &out, OX_FLOAT32, &in, 1, true);
    ck_assert_uint_eq(out, 0x7E);
    ox_elements_convert(OX_FLOAT8E4M3FN, &out, OX_FLOAT32, &in, 1, false);
    ck_assert_uint_eq(out, 0x7F);
    in = 100000;
    uint16_t half;
    one(OX_FLOAT16, &half, OX_FLOAT32, &in);
    ck_assert_uint_eq(half, 0x7C00);
}
END_TEST

START_TEST(complex_numbers_keep_or_lose_their_imaginary_part)
{
    static const float in[4] = {1.5f, -2, 3, 4};
    double wide[4];
    float real[2];
    ox_elements_convert(OX_COMPLEX128, wide, OX_COMPLEX64, in, 2, true);
    ck_assert_double_eq(wide[1], -2);
    ck_assert_double_eq(wide[3], 4);
    ox_elements_convert(OX_FLOAT32, real, OX_COMPLEX128, wide, 2, true);
    ck_assert_float_eq(real[0], 1.5f);
    ck_assert_float_eq(real[1], 3);
    ox_elements_convert(OX_COMPLEX128, wide, OX_FLOAT32, real, 2, true);
    ck_assert_double_eq(wide[1], 0);
    ck_assert_double_eq(wide[2], 3);
}
END_TEST

/* Whatever holds a value exactly gives it back; across block boundaries. */
START_TEST(every_pair_of_types_keeps_small_whole_numbers)
{
    enum { N = 1300 };
    static _Alignas(16) uint8_t from[N * 16];
    static _Alignas(16) uint8_t to[N * 16 + 1];
    int64_t values[N];
    for (unsigned a = 1; a < OX_N_DTYPES; a++) {
        for (unsigned b = 1; b < OX_N_DTYPES; b++) {
            enum ox_dtype from_dtype = (enum ox_dtype)a;
            enum ox_dtype to_dtype = (enum ox_dtype)b;
            if (from_dtype == OX_STRING || to_dtype == OX_STRING)
                continue;
            bool e8m0 = from_dtype == OX_FLOAT8E8M0 || to_dtype == OX_FLOAT8E8M0; /* has no zero */
            for (size_t i = 0; i < N; i++)
                values[i] = e8m0 ? 1 : (int64_t)(i * 7 / 3 % 2);
            ox_elements_convert(from_dtype, from, OX_INT64, values, N, true);
            to[N * ox_dtype_size(to_dtype)] = 0xA5;
            ox_elements_convert(to_dtype, to, from_dtype, from, N, true);
            ck_assert_uint_eq(to[N * ox_dtype_size(to_dtype)], 0xA5);
            for (size_t i = 0; i < N; i++) {
                int64_t back;
                one(OX_INT64, &back, to_dtype, to + i * ox_dtype_size(to_dtype));
                if (back != values[i])
                    ck_abort_msg("%s to %s, %zu: %" PRId64, ox_dtype_name(from_dtype),
                                 ox_dtype_name(to_dtype), i, back);
            }
        }
    }
}
END_TEST

START_TEST(converting_to_the_same_type_shares)
{
    struct ox_tensor *in;
    struct ox_tensor *out;
    ck_assert_int_eq(ox_tensor_new(&in, NULL, OX_INT4, 1, (int64_t[]){3}, &err), OX_OK);
    ck_assert_int_eq(ox_tensor_convert(&out, NULL, in, OX_INT4, true, &err), OX_OK);
    ck_assert_ptr_eq(in, out);
    ox_tensor_release(out);
    ck_assert_int_eq(ox_tensor_convert(&out, NULL, in, OX_STRING, true, &err), OX_UNSUPPORTED);
    ox_tensor_release(in);
}
END_TEST

START_TEST(single_elements_are_read_as_numbers)
{
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_UINT64, 1, (int64_t[]){1}, &err), OX_OK);
    *(uint64_t *)tensor->data = UINT64_MAX;
    ck_assert_int_eq(ox_tensor_get_int(tensor, 0), INT64_MAX);
    ck_assert_double_eq(ox_tensor_get_double(tensor, 0), 0x1p64);
    ox_tensor_release(tensor);
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_FLOAT32, 1, (int64_t[]){3}, &err), OX_OK);
    memcpy(tensor->data, (float[]){-1e30f, NAN, 7.9f}, 12);
    ck_assert_int_eq(ox_tensor_get_int(tensor, 0), INT64_MIN);
    ck_assert_int_eq(ox_tensor_get_int(tensor, 1), 0);
    ck_assert_int_eq(ox_tensor_get_int(tensor, 2), 7);
    ox_tensor_release(tensor);
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_FLOAT8E5M2, 1, (int64_t[]){1}, &err), OX_OK);
    *(uint8_t *)tensor->data = 0xC0;
    ck_assert_double_eq(ox_tensor_get_double(tensor, 0), -2);
    ox_tensor_release(tensor);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convert");
    TCase *tests = tcase_create("convert");
    tcase_add_test(tests, floats_are_truncated_to_integers);
    tcase_add_test(tests, floats_out_of_range_follow_the_engines);
    tcase_add_test(tests, integers_drop_their_high_bits);
    tcase_add_test(tests, bool_is_what_is_not_zero);
    tcase_add_test(tests, no_value_is_rounded_twice);
    tcase_add_test(tests, saturation_is_for_eight_bit_floats_as_asked);
    tcase_add_test(tests, complex_numbers_keep_or_lose_their_imaginary_part);
    tcase_add_test(tests, every_pair_of_types_keeps_small_whole_numbers);
    tcase_add_test(tests, converting_to_the_same_type_shares);
    tcase_add_test(tests, single_elements_are_read_as_numbers);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
