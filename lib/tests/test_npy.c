#include <math.h>

#include "common/env.h"
#include "tests/golden.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_error err;

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
}

static void teardown(void)
{
    ck_assert_uint_eq(env->budget.used, 0);
    ox_env_release(env);
}

/* 0 to 5 in 2 x 3, as numpy saved them. */
static void check_counting(const char *name, enum ox_dtype dtype)
{
    struct ox_tensor *tensor = golden_load(env, name, NULL, "");
    ck_assert_msg(tensor->dtype == dtype, "%s is %s", name, ox_dtype_name(tensor->dtype));
    ck_assert_uint_eq(tensor->rank, 2);
    ck_assert_int_eq(tensor->dims[0], 2);
    ck_assert_int_eq(tensor->dims[1], 3);
    for (size_t i = 0; i < 6; i++)
        ck_assert_msg(ox_tensor_get_double(tensor, i) == (double)i, "%s[%zu] = %g", name, i,
                      ox_tensor_get_double(tensor, i));
    ox_tensor_release(tensor);
}

START_TEST(every_type_of_numpy_is_read)
{
    check_counting("i1.npy", OX_INT8);
    check_counting("i2.npy", OX_INT16);
    check_counting("i4.npy", OX_INT32);
    check_counting("i8.npy", OX_INT64);
    check_counting("u1.npy", OX_UINT8);
    check_counting("u2.npy", OX_UINT16);
    check_counting("u4.npy", OX_UINT32);
    check_counting("u8.npy", OX_UINT64);
    check_counting("f2.npy", OX_FLOAT16);
    check_counting("f4.npy", OX_FLOAT32);
    check_counting("f8.npy", OX_FLOAT64);
    check_counting("c8.npy", OX_COMPLEX64);
    check_counting("c16.npy", OX_COMPLEX128);
    check_counting("longdouble.npy", OX_FLOAT64);
    check_counting("clongdouble.npy", OX_COMPLEX128);
    check_counting("datetime.npy", OX_INT64);
    check_counting("bfloat16.npy", OX_BFLOAT16);
    check_counting("float8_e5m2.npy", OX_FLOAT8E5M2);
}
END_TEST

START_TEST(byte_order_and_column_order_are_turned)
{
    check_counting("big_i4.npy", OX_INT32);
    check_counting("big_u2.npy", OX_UINT16);
    check_counting("big_f2.npy", OX_FLOAT16);
    check_counting("big_f8.npy", OX_FLOAT64);
    check_counting("big_c8.npy", OX_COMPLEX64);
    check_counting("fortran_i4.npy", OX_INT32);
    check_counting("fortran_u2.npy", OX_UINT16);
    check_counting("fortran_f2.npy", OX_FLOAT16);
    check_counting("fortran_f8.npy", OX_FLOAT64);
    check_counting("fortran_c8.npy", OX_COMPLEX64);
    struct ox_tensor *tensor = golden_load(env, "fortran_3d.npy", NULL, "");
    for (size_t i = 0; i < 24; i++)
        ck_assert_int_eq(ox_tensor_get_int(tensor, i), (int64_t)i);
    ox_tensor_release(tensor);
}
END_TEST

START_TEST(all_versions_of_the_header_are_read)
{
    check_counting("version1.npy", OX_FLOAT32);
    check_counting("version2.npy", OX_FLOAT32);
    check_counting("version3.npy", OX_FLOAT32);
}
END_TEST

START_TEST(bool_scalar_and_empty)
{
    struct ox_tensor *tensor = golden_load(env, "bool.npy", NULL, "");
    ck_assert_uint_eq(tensor->dtype, OX_BOOL);
    ck_assert_mem_eq(tensor->data, "\0\1\0\1\0\1", 6);
    ox_tensor_release(tensor);
    tensor = golden_load(env, "scalar.npy", NULL, "");
    ck_assert_uint_eq(tensor->rank, 0);
    ck_assert_double_eq(ox_tensor_get_double(tensor, 0), 7);
    ox_tensor_release(tensor);
    tensor = golden_load(env, "empty.npy", NULL, "");
    ck_assert_uint_eq(tensor->n, 0);
    ck_assert_int_eq(tensor->dims[1], 5);
    ox_tensor_release(tensor);
}
END_TEST

START_TEST(void_elements_are_what_the_reader_says)
{
    struct ox_tensor *tensor = golden_load(env, "float8.npy", NULL, "");
    ck_assert_uint_eq(tensor->dtype, OX_UINT8);
    ox_tensor_release(tensor);
    struct ox_tensor_options options = {.dtype = OX_FLOAT8E4M3FN};
    tensor = golden_load(env, "float8.npy", &options, "");
    ck_assert_uint_eq(tensor->dtype, OX_FLOAT8E4M3FN);
    ck_assert_double_eq(ox_tensor_get_double(tensor, 5), 5);
    ox_tensor_release(tensor);
}
END_TEST

static void check_string(const struct ox_tensor *tensor, size_t i, const char *text)
{
    size_t n;
    const char *p = ox_tensor_string(tensor, i, &n);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_mem_eq(p, text, n);
}

START_TEST(text_becomes_utf8)
{
    static const char *const names[] = {"text.npy", "text_fortran_big.npy"};
    for (int i = 0; i < 2; i++) {
        struct ox_tensor *tensor = golden_load(env, names[i], NULL, "");
        ck_assert_uint_eq(tensor->dtype, OX_STRING);
        check_string(tensor, 0, "a");
        check_string(tensor, 1, "bc\xc3\xa9");
        check_string(tensor, 2, "");
        check_string(tensor, 3, "\xf0\x9f\x98\x80");
        ox_tensor_release(tensor);
    }
    struct ox_tensor *tensor = golden_load(env, "bytes.npy", NULL, "");
    check_string(tensor, 0, "x\xff");
    size_t n;
    ck_assert_mem_eq(ox_tensor_string(tensor, 2, &n), "y\0z", 3);
    ck_assert_uint_eq(n, 3);
    ox_tensor_release(tensor);
}
END_TEST

static enum ox_status open_golden(const char *name)
{
    char path[512];
    struct ox_tensor_file *file = NULL;
    golden_path(path, name);
    enum ox_status status = ox_tensor_file_open(&file, env, path, NULL, &err);
    ox_tensor_file_release(status == OX_OK ? file : NULL);
    return status;
}

START_TEST(what_holds_no_tensor_is_unsupported)
{
    ck_assert_int_eq(open_golden("object.npy"), OX_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.message, "pickled"));
    ck_assert_int_eq(open_golden("structured.npy"), OX_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.message, "structures"));
}
END_TEST

START_TEST(npz_members_are_listed_and_read)
{
    static const char *const files[] = {"stored.npz", "deflated.npz"};
    for (int i = 0; i < 2; i++) {
        struct ox_tensor *x = golden_load(env, files[i], NULL, "x");
        ck_assert_uint_eq(x->dtype, OX_FLOAT32);
        ck_assert_double_eq(ox_tensor_get_double(x, 5), 5);
        ox_tensor_release(x);
        struct ox_tensor *weight = golden_load(env, files[i], NULL, "layer.0/weight");
        ck_assert_uint_eq(weight->rank, 3);
        for (size_t k = 0; k < 24; k++)
            ck_assert_int_eq(ox_tensor_get_int(weight, k), (int64_t)k);
        ox_tensor_release(weight);
        struct ox_tensor *flag = golden_load(env, files[i], NULL, "flag");
        ck_assert_uint_eq(flag->rank, 0);
        ck_assert_int_eq(ox_tensor_get_int(flag, 0), 1);
        ox_tensor_release(flag);
        struct ox_tensor *text = golden_load(env, files[i], NULL, "text");
        check_string(text, 0, "\xc3\xa4");
        ox_tensor_release(text);
    }
}
END_TEST

/* A file of version 1 with this dictionary and n bytes of zeros. */
static enum ox_status read_made(const char *dictionary, size_t n)
{
    uint8_t bytes[512] = "\x93NUMPY\x01";
    size_t length = strlen(dictionary);
    bytes[8] = (uint8_t)length;
    bytes[9] = 0;
    memcpy(bytes + 10, dictionary, length);
    return load_all(env, "made.npy", bytes, 10 + length + n, NULL, &err);
}

START_TEST(headers_may_be_written_in_other_ways)
{
    ck_assert_int_eq(read_made("{'descr':'<f4','fortran_order':False,'shape':(2,3)}", 24), OX_OK);
    ck_assert_int_eq(
        read_made("{\"shape\": (2L, 3L, ), \"descr\": \"<f4\", \"fortran_order\": False, }  \n",
                  24),
        OX_OK);
    ck_assert_int_eq(read_made("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4), OX_OK);
    ck_assert_int_eq(read_made("{'descr': '?', 'fortran_order': True, 'shape': (7,)}", 7), OX_OK);
    ck_assert_int_eq(read_made("{'descr': '<U0', 'fortran_order': True, 'shape': (2,)}", 0), OX_OK);
}
END_TEST

START_TEST(damaged_headers_are_refused)
{
    static const char *const bad[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3)} x",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,,3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,4294967296)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3), 'other': 1}",
        "{'descr': 'f', 'fortran_order': False, 'shape': (2,3)}",
        "{'descr': '', 'fortran_order': False, 'shape': (2,3)}",
        "{'descr': '<f4x', 'fortran_order': False, 'shape': (2,3)}",
        "{'descr': '<U99999999999999999999', 'fortran_order': False, 'shape': (2,3)}",
        "{'descr': '<U4611686018427387904', 'fortran_order': False, 'shape': (2,3)}",
        "{'descr' '<f4', 'fortran_order': False, 'shape': (2,3)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (2,3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,2)}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(read_made(bad[i], 24) == OX_INPUT, "%s", bad[i]);
        ck_assert_msg(strncmp(err.message, "made.npy: ", 10) == 0, "%s", err.message);
    }
    ck_assert_int_eq(read_made("{'descr': '<f3', 'fortran_order': False, 'shape': (2,3)}", 18),
                     OX_UNSUPPORTED);
    ck_assert_int_eq(read_made("{'descr': '|V5', 'fortran_order': False, 'shape': (2,3)}", 30),
                     OX_UNSUPPORTED);
}
END_TEST

START_TEST(no_element_costs_memory_but_rows_without_any_are_limited)
{
    ck_assert_int_eq(
        read_made("{'descr': '<U0', 'fortran_order': False, 'shape': (99999999999999,)}", 0),
        OX_LIMIT);
    ck_assert_int_eq(
        read_made("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4000000000)}", 0), OX_OK);
    ck_assert_int_eq(
        read_made("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999999)}", 0),
        OX_LIMIT);
}
END_TEST

START_TEST(headers_over_the_limit_are_refused)
{
    ox_env_limits(env)->npy_header_bytes = 40;
    ck_assert_int_eq(read_made("{'descr':'<f4','fortran_order':False,'shape':(2,3)}", 24),
                     OX_LIMIT);
}
END_TEST

START_TEST(extended_precision_is_rounded_once)
{
    static const struct {
        uint8_t bytes[10];
        double value;
    } cases[] = {
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xFF, 0x3F}, 1},
        {{0, 4, 0, 0, 0, 0, 0, 0x80, 0xFF, 0x3F}, 1},               /* a tie, down to even */
        {{1, 4, 0, 0, 0, 0, 0, 0x80, 0xFF, 0x3F}, 1 + 0x1p-52},     /* just above it */
        {{0, 0x0C, 0, 0, 0, 0, 0, 0x80, 0xFF, 0xBF}, -1 - 0x1p-51}, /* a tie, up to even */
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xFF, 0x7F}, (double)INFINITY},
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xFF, 0x43}, (double)INFINITY}, /* 2^1024 */
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xCD, 0x3B}, 0x1p-1074},
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0xCC, 0x3B}, 0},         /* half the least: a tie, to 0 */
        {{1, 0, 0, 0, 0, 0, 0, 0x80, 0xCC, 0x3B}, 0x1p-1074}, /* a little more than half */
        {{0, 0x08, 0, 0, 0, 0, 0, 0x80, 0x00, 0x3C}, 0x1p-1023},
        {{1, 0x08, 0, 0, 0, 0, 0, 0x80, 0x00, 0x3C}, 0x1p-1023 + 0x1p-1074},
        {{0, 0, 0, 0, 0, 0, 0, 0x80, 0x00, 0x00}, 0},
    };
    uint8_t bytes[512] = "\x93NUMPY\x01";
    static const char dictionary[] = "{'descr': '<f16', 'fortran_order': False, 'shape': (12,)}";
    bytes[8] = sizeof dictionary - 1;
    memcpy(bytes + 10, dictionary, sizeof dictionary - 1);
    uint8_t *at = bytes + 10 + sizeof dictionary - 1;
    for (size_t i = 0; i < 12; i++)
        memcpy(at + 16 * i, cases[i].bytes, 10);
    struct ox_tensor_file *file;
    struct ox_tensor *tensor;
    ck_assert_int_eq(
        ox_tensor_file_open_memory(&file, env, "x", bytes, (size_t)(at - bytes) + 192, NULL, &err),
        OX_OK);
    ck_assert_int_eq(ox_tensor_file_load(&tensor, file, 0, &err), OX_OK);
    for (size_t i = 0; i < 12; i++)
        ck_assert_msg(((double *)tensor->data)[i] == cases[i].value, "%zu: %a", i,
                      ((double *)tensor->data)[i]);
    ox_tensor_release(tensor);
    ox_tensor_file_release(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("npy");
    TCase *tests = tcase_create("npy");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_type_of_numpy_is_read);
    tcase_add_test(tests, byte_order_and_column_order_are_turned);
    tcase_add_test(tests, all_versions_of_the_header_are_read);
    tcase_add_test(tests, bool_scalar_and_empty);
    tcase_add_test(tests, void_elements_are_what_the_reader_says);
    tcase_add_test(tests, text_becomes_utf8);
    tcase_add_test(tests, what_holds_no_tensor_is_unsupported);
    tcase_add_test(tests, npz_members_are_listed_and_read);
    tcase_add_test(tests, headers_may_be_written_in_other_ways);
    tcase_add_test(tests, damaged_headers_are_refused);
    tcase_add_test(tests, no_element_costs_memory_but_rows_without_any_are_limited);
    tcase_add_test(tests, headers_over_the_limit_are_refused);
    tcase_add_test(tests, extended_precision_is_rounded_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
