#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/number.h"
#include "onnxtool.h"
#include "tests/run_suite.h"

static struct ox_strbuf buf;
static struct ox_json json;

static void setup(void)
{
    ox_strbuf_init(&buf);
    ox_json_init(&json, &buf, false);
}

static void teardown(void)
{
    ox_strbuf_release(&buf);
}

START_TEST(commas_go_between_and_nowhere_else)
{
    ox_json_object(&json);
    ox_json_key(&json, "a");
    ox_json_array(&json);
    ox_json_int(&json, 1);
    ox_json_array(&json);
    ox_json_end_array(&json);
    ox_json_object(&json);
    ox_json_end_object(&json);
    ox_json_null(&json);
    ox_json_end_array(&json);
    ox_json_key(&json, "b");
    ox_json_bool(&json, true);
    ox_json_key(&json, "c");
    ox_json_string(&json, NULL);
    ox_json_end_object(&json);
    ck_assert_str_eq(buf.data, "{\"a\":[1,[],{},null],\"b\":true,\"c\":null}");
}
END_TEST

START_TEST(pretty_output_indents_by_two)
{
    ox_json_init(&json, &buf, true);
    ox_json_object(&json);
    ox_json_key(&json, "a");
    ox_json_array(&json);
    ox_json_int(&json, 1);
    ox_json_string(&json, "[");
    ox_json_int(&json, 2);
    ox_json_end_array(&json);
    ox_json_key(&json, "b");
    ox_json_object(&json);
    ox_json_end_object(&json);
    ox_json_end_object(&json);
    ck_assert_str_eq(buf.data, "{\n  \"a\": [\n    1,\n    \"[\",\n    2\n  ],\n  \"b\": {}\n}");
}
END_TEST

static const char *string(const char *text)
{
    ox_strbuf_clear(&buf);
    ox_json_init(&json, &buf, false);
    ox_json_string(&json, text);
    return buf.data;
}

START_TEST(strings_are_escaped)
{
    ck_assert_str_eq(string("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
    ck_assert_str_eq(string("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"");
    ck_assert_str_eq(string("\x01\x1f\x7f"), "\"\\u0001\\u001f\\u007f\"");
    ck_assert_str_eq(string("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    ck_assert_str_eq(string("\xc2\x9b\xe2\x80\xae"), "\"\\u009b\\u202e\"");
    ck_assert_str_eq(string("a\xff"
                            "b"),
                     "\"a\xEF\xBF\xBD"
                     "b\"");
    ox_strbuf_clear(&buf);
    ox_json_init(&json, &buf, false);
    ox_json_string_n(&json, "a\0b", 3);
    ck_assert_str_eq(buf.data, "\"a\\u0000b\"");
}
END_TEST

START_TEST(integers_keep_all_their_digits)
{
    ox_json_array(&json);
    ox_json_int(&json, INT64_MIN);
    ox_json_int(&json, INT64_MAX);
    ox_json_uint(&json, UINT64_MAX);
    ox_json_end_array(&json);
    ck_assert_str_eq(buf.data, "[-9223372036854775808,9223372036854775807,18446744073709551615]");
}
END_TEST

START_TEST(what_json_has_no_number_for_is_a_string)
{
    ox_json_array(&json);
    ox_json_double(&json, (double)NAN);
    ox_json_float(&json, INFINITY);
    ox_json_double(&json, -(double)INFINITY);
    ox_json_end_array(&json);
    ck_assert_str_eq(buf.data, "[\"NaN\",\"Infinity\",\"-Infinity\"]");
}
END_TEST

static const char *real(double value)
{
    static char text[OX_NUMBER_BYTES];
    return ox_number_double(text, value);
}

static const char *single(float value)
{
    static char text[OX_NUMBER_BYTES];
    return ox_number_float(text, value);
}

/* By trying one length after another. */
static void expect_shortest(float value)
{
    char text[OX_NUMBER_BYTES];
    for (int digits = FLT_DIG; digits <= FLT_DECIMAL_DIG; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    ck_assert_str_eq(single(value), text);
}

START_TEST(floats_of_usual_size_are_printed_as_by_trial)
{
    uint64_t state = 1;
    for (int i = 0; i < 50000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const float some = (float)(int32_t)(state >> 32) / (float)(1 << i % 31);
        const float few = (float)(int32_t)(state >> 44) / 1000;
        expect_shortest(some == truncf(some) ? some + 0.5f : some);
        expect_shortest(few == truncf(few) ? 0.3f : few);
    }
    expect_shortest(0x1.ffffep-1f);
    expect_shortest(999999.94f);
    expect_shortest(1e-4f);
    expect_shortest(0x1.a36e3p-14f);
}
END_TEST

START_TEST(floats_have_the_fewest_digits_that_read_back)
{
    ck_assert_str_eq(real(0.1), "0.1");
    ck_assert_str_eq(real(0.1 + 0.2), "0.30000000000000004");
    ck_assert_str_eq(real(1.0), "1");
    ck_assert_str_eq(real(-0.0), "-0");
    ck_assert_str_eq(real(1e22), "1e+22");
    ck_assert_str_eq(real(123456789012.0), "123456789012");
    ck_assert_str_eq(real(DBL_MAX), "1.7976931348623157e+308");
    ck_assert_str_eq(real(0x1p-1074), "5e-324");
    ck_assert_str_eq(real(0x1p-44),
                     "5.684341886080802e-14"); /* ...801e-14 is nearer, but to another number */
    ck_assert_str_eq(real(9007199254740993.0), "9007199254740992");
    ck_assert_str_eq(single(0.1f), "0.1");
    ck_assert_str_eq(single(16777216.0f), "16777216");
    ck_assert_str_eq(single(3.4028235e38f), "3.4028235e+38");
    ck_assert_str_eq(single(0x1p-149f), "1e-45");
    ck_assert_str_eq(single(1.0f / 3), "0.33333334");
}
END_TEST

START_TEST(every_float_reads_back)
{
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = state ^ state >> 29;
        double d;
        float f;
        memcpy(&d, &bits, sizeof d);
        memcpy(&f, &bits, sizeof f);
        double d_back;
        float f_back;
        if (isfinite(d)) {
            const char *text = real(d);
            ck_assert(ox_number_parse(text, strlen(text), &d_back));
            ck_assert_msg(memcmp(&d, &d_back, sizeof d) == 0, "%s", text);
        }
        if (isfinite(f)) {
            const char *text = single(f);
            ck_assert(ox_number_parse_float(text, strlen(text), &f_back));
            ck_assert_msg(memcmp(&f, &f_back, sizeof f) == 0, "%s", text);
        }
    }
}
END_TEST

START_TEST(numbers_are_read_whole_or_not_at_all)
{
    double d;
    static const char *const bad[] = {"",     "-",  ".",  "e5",  "1e",   "1e+", "1.2.3",
                                      "0x10", " 1", "1 ", "1,5", "nano", "--1", "1f"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!ox_number_parse(bad[i], strlen(bad[i]), &d), "%s", bad[i]);
    ck_assert(ox_number_parse("-.5e1", 5, &d) && d == -5);
    ck_assert(ox_number_parse("+7.", 3, &d) && d == 7);
    ck_assert(ox_number_parse("1e999", 5, &d) && isinf(d));
    ck_assert(ox_number_parse("-Infinity", 9, &d) && isinf(d) && d < 0);
    ck_assert(ox_number_parse("NaN", 3, &d) && isnan(d));
    int64_t i;
    uint64_t u;
    ck_assert(ox_number_parse_int("-9223372036854775808", 20, &i) && i == INT64_MIN);
    ck_assert(!ox_number_parse_int("9223372036854775808", 19, &i));
    ck_assert(!ox_number_parse_int("-9223372036854775809", 20, &i));
    ck_assert(!ox_number_parse_int("-", 1, &i) && !ox_number_parse_int("-+1", 3, &i) &&
              !ox_number_parse_int("1.0", 3, &i));
    ck_assert(ox_number_parse_uint("18446744073709551615", 20, &u) && u == UINT64_MAX);
    ck_assert(!ox_number_parse_uint("18446744073709551616", 20, &u) &&
              !ox_number_parse_uint("-1", 2, &u));
}
END_TEST

static enum ox_status numbers_of(const char *text, double values[3])
{
    static const char *const keys[] = {"a", "b", "c"};
    char path[] = "/tmp/ox_numbers_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    struct ox_env *env = ox_env_new();
    struct ox_error err = {0};
    enum ox_status status = ox_json_file_numbers(env, path, "in", 3, keys, values, &err);
    if (status != OX_OK)
        ck_assert(strstr(err.message, path) != NULL);
    ox_env_release(env);
    unlink(path);
    return status;
}

START_TEST(members_of_an_object_are_found_by_name)
{
    static const char *const keys[] = {"a", "b", "absent"};
    static const char text[] =
        "{\"x\": {\"a\": 7}, \"b\": -1.50e3, \"a\": \"two\\n\\u00e9\", \"absent\": null}";
    struct ox_strbuf values[3] = {0};
    ck_assert_int_eq(ox_json_members(text, sizeof text - 1, 3, keys, values, NULL), OX_OK);
    ck_assert_str_eq(values[0].data, "two\n\xC3\xA9");
    ck_assert_str_eq(values[1].data, "-1.50e3");
    ck_assert_ptr_null(values[2].data);
    ck_assert_int_eq(ox_json_members("[1]", 3, 3, keys, values, NULL), OX_INPUT);
    ck_assert_int_eq(ox_json_members("{} {}", 5, 3, keys, values, NULL), OX_INPUT);
    ck_assert_int_eq(ox_json_members("{\"a\": \"cut", 10, 3, keys, values, NULL), OX_INPUT);
    for (size_t i = 0; i < 3; i++)
        ox_strbuf_release(&values[i]);
}
END_TEST

START_TEST(numbers_of_a_file_are_found_by_name)
{
    double v[3];
    ck_assert_int_eq(
        numbers_of("{\"a\":9,\"x\":{\"in\":{\"a\":8}},\"in\":{\"c\":\"7\",\"z\":[{\"b\":1}],"
                   "\"b\":-2.5e1,\"a\":{\"a\":3}},\"b\":4}",
                   v),
        OX_OK);
    ck_assert(isnan(v[0]) && v[1] == -25 && isnan(v[2]));
    ck_assert_int_eq(numbers_of("{\"in\":3}", v), OX_OK);
    ck_assert(isnan(v[0]) && isnan(v[1]) && isnan(v[2]));
    const char *const bad[] = {"", "[]", "{\"in\":{\"a\":1}", "{}{}", "{\"in\":{\"a\":}}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(numbers_of(bad[i], v), OX_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("json");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, commas_go_between_and_nowhere_else);
    tcase_add_test(tests, pretty_output_indents_by_two);
    tcase_add_test(tests, strings_are_escaped);
    tcase_add_test(tests, integers_keep_all_their_digits);
    tcase_add_test(tests, what_json_has_no_number_for_is_a_string);
    tcase_add_test(tests, floats_have_the_fewest_digits_that_read_back);
    tcase_add_test(tests, floats_of_usual_size_are_printed_as_by_trial);
    tcase_add_test(tests, every_float_reads_back);
    tcase_add_test(tests, numbers_are_read_whole_or_not_at_all);
    tcase_add_test(tests, members_of_an_object_are_found_by_name);
    tcase_add_test(tests, numbers_of_a_file_are_found_by_name);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
