#include "tensor/tensor.h"
#include "tests/run_suite.h"

START_TEST(every_type_is_found_by_its_names)
{
    for (unsigned i = 1; i < OX_N_DTYPES; i++) {
        enum ox_dtype found = OX_UNDEFINED;
        ck_assert(ox_dtype_parse(ox_dtype_name((enum ox_dtype)i), &found));
        ck_assert_uint_eq(found, i);
    }
    static const struct {
        const char *name;
        enum ox_dtype dtype;
    } rows[] = {{"FLOAT", OX_FLOAT32},
                {"float", OX_FLOAT32},
                {"DOUBLE", OX_FLOAT64},
                {"double", OX_FLOAT64},
                {"f4", OX_FLOAT32},
                {"<f4", OX_FLOAT32},
                {"<i8", OX_INT64},
                {"|b1", OX_BOOL},
                {"?", OX_BOOL},
                {"|u1", OX_UINT8},
                {"=c16", OX_COMPLEX128},
                {"half", OX_FLOAT16},
                {"float8_e4m3fn", OX_FLOAT8E4M3FN},
                {"FLOAT4E2M1", OX_FLOAT4E2M1},
                {"STRING", OX_STRING}};
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        enum ox_dtype found = OX_UNDEFINED;
        ck_assert_msg(ox_dtype_parse(rows[i].name, &found), "%s", rows[i].name);
        ck_assert_msg(found == rows[i].dtype, "%s", rows[i].name);
    }
    static const char *const none[] = {"",  "undefined", "UNDEFINED", ">f4", "float33",
                                       "f", "<",         "<<f4",      "int"};
    for (size_t i = 0; i < OX_COUNT(none); i++) {
        enum ox_dtype found;
        ck_assert_msg(!ox_dtype_parse(none[i], &found), "%s", none[i]);
    }
}
END_TEST

START_TEST(what_is_no_type_is_undefined)
{
    ck_assert_str_eq(ox_dtype_name((enum ox_dtype)1000), "undefined");
    ck_assert_str_eq(ox_dtype_name((enum ox_dtype) - 1), "undefined");
    ck_assert_uint_eq(ox_dtype_size(OX_UNDEFINED), 0);
    ck_assert_uint_eq(ox_dtype_size((enum ox_dtype)29), 0);
    ck_assert(!ox_dtype_is_float((enum ox_dtype)29));
}
END_TEST

START_TEST(sizes_and_kinds)
{
    ck_assert_uint_eq(ox_dtype_size(OX_INT4), 1);
    ck_assert_uint_eq(ox_dtype_size(OX_FLOAT6E2M3), 1);
    ck_assert_uint_eq(ox_dtype_size(OX_COMPLEX128), 16);
    ck_assert_uint_eq(ox_dtype_size(OX_STRING), sizeof(struct ox_str));
    ck_assert_uint_eq(ox_dtype_bits(OX_STRING), 0);
    unsigned floats = 0;
    unsigned integers = 0;
    unsigned signed_ones = 0;
    for (unsigned i = 0; i < OX_N_DTYPES; i++) {
        floats += ox_dtype_is_float((enum ox_dtype)i);
        integers += ox_dtype_is_integer((enum ox_dtype)i);
        signed_ones += ox_dtype_is_signed((enum ox_dtype)i);
        ck_assert(!(ox_dtype_is_float((enum ox_dtype)i) && ox_dtype_is_integer((enum ox_dtype)i)));
    }
    ck_assert_uint_eq(floats, 4 + 5 + 1 + 2);
    ck_assert_uint_eq(integers, 8 + 4);
    ck_assert_uint_eq(signed_ones, 4 + 4 + 1 + 2 + 6 + 2);
}
END_TEST

START_TEST(packed_bytes_round_up_and_do_not_overflow)
{
    uint64_t bytes;
    for (uint64_t n = 0; n < 100; n++) {
        ck_assert(ox_dtype_packed_bytes(OX_UINT2, n, &bytes) && bytes == (n + 3) / 4);
        ck_assert(ox_dtype_packed_bytes(OX_INT4, n, &bytes) && bytes == (n + 1) / 2);
        ck_assert(ox_dtype_packed_bytes(OX_FLOAT6E3M2, n, &bytes) && bytes == (n * 6 + 7) / 8);
        ck_assert(ox_dtype_packed_bytes(OX_COMPLEX128, n, &bytes) && bytes == n * 16);
    }
    ck_assert(ox_dtype_packed_bytes(OX_FLOAT6E3M2, UINT64_MAX, &bytes));
    ck_assert_uint_eq(bytes, UINT64_MAX / 8 * 6 + 6);
    ck_assert(!ox_dtype_packed_bytes(OX_INT16, (uint64_t)1 << 63, &bytes));
    ck_assert(!ox_dtype_packed_bytes(OX_STRING, 1, &bytes));
    ck_assert(!ox_dtype_packed_bytes(OX_UNDEFINED, 1, &bytes));
}
END_TEST

/* Bytes as onnx 1.23.2's helper.make_tensor packs them. */
START_TEST(sub_byte_types_pack_as_onnx_does)
{
    uint8_t packed[8];
    uint8_t out[8];
    static const int8_t int4[] = {-8, 7, -1, 3, 5};
    ox_tensor_pack(OX_INT4, int4, 5, packed);
    ck_assert_mem_eq(packed, "\x78\x3F\x05", 3);
    ox_tensor_unpack(OX_INT4, packed, 5, out);
    ck_assert_mem_eq(out, int4, 5);
    static const uint8_t uint4[] = {15, 0, 9};
    ox_tensor_pack(OX_UINT4, uint4, 3, packed);
    ck_assert_mem_eq(packed, "\x0F\x09", 2);
    ox_tensor_unpack(OX_UINT4, packed, 3, out);
    ck_assert_mem_eq(out, uint4, 3);
    static const int8_t int2[] = {-2, 1, -1, 0, 1};
    ox_tensor_pack(OX_INT2, int2, 5, packed);
    ck_assert_mem_eq(packed, "\x36\x01", 2);
    ox_tensor_unpack(OX_INT2, packed, 5, out);
    ck_assert_mem_eq(out, int2, 5);
    static const uint8_t float6[] = {0x3F, 0x01, 0x2A, 0x15, 0x20, 0x3E};
    ox_tensor_pack(OX_FLOAT6E2M3, float6, 6, packed);
    ck_assert_mem_eq(packed, "\x7F\xA0\x56\xA0\x0F", 5);
    ox_tensor_unpack(OX_FLOAT6E2M3, packed, 6, out);
    ck_assert_mem_eq(out, float6, 6);
}
END_TEST

START_TEST(packing_is_undone_by_unpacking_for_every_type_and_count)
{
    uint8_t data[16 * 40];
    uint8_t packed[16 * 40 + 1];
    uint8_t back[16 * 40 + 1];
    uint32_t state = 7;
    for (unsigned i = 1; i < OX_N_DTYPES; i++) {
        enum ox_dtype dtype = (enum ox_dtype)i;
        if (dtype == OX_STRING)
            continue;
        for (size_t n = 0; n < 40; n++) {
            size_t bytes = n * ox_dtype_size(dtype);
            for (size_t k = 0; k < bytes; k++)
                data[k] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
            ox_tensor_normalize(dtype, data, n);
            uint64_t n_packed;
            ck_assert(ox_dtype_packed_bytes(dtype, n, &n_packed));
            packed[n_packed] = 0xA5;
            back[bytes] = 0xA5;
            ox_tensor_pack(dtype, data, n, packed);
            ox_tensor_unpack(dtype, packed, n, back);
            ck_assert_uint_eq(packed[n_packed], 0xA5);
            ck_assert_uint_eq(back[bytes], 0xA5);
            if (bytes)
                ck_assert_mem_eq(back, data, bytes);
        }
    }
}
END_TEST

START_TEST(bool_becomes_zero_or_one)
{
    uint8_t out[4];
    ox_tensor_unpack(OX_BOOL, "\x00\x01\x02\xFF", 4, out);
    ck_assert_mem_eq(out, "\x00\x01\x01\x01", 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dtype");
    TCase *tests = tcase_create("dtype");
    tcase_add_test(tests, every_type_is_found_by_its_names);
    tcase_add_test(tests, what_is_no_type_is_undefined);
    tcase_add_test(tests, sizes_and_kinds);
    tcase_add_test(tests, packed_bytes_round_up_and_do_not_overflow);
    tcase_add_test(tests, sub_byte_types_pack_as_onnx_does);
    tcase_add_test(tests, packing_is_undone_by_unpacking_for_every_type_and_count);
    tcase_add_test(tests, bool_becomes_zero_or_one);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
