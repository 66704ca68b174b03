#include <limits.h>
#include <string.h>

#include "common/utf8.h"
#include "onnxtool.h"
#include "tests/run_suite.h"

static struct ox_strbuf buf;

static void setup(void)
{
    ox_strbuf_init(&buf);
}

static void teardown(void)
{
    ox_strbuf_release(&buf);
}

START_TEST(text_is_nul_terminated_after_each_addition)
{
    ox_strbuf_putc(&buf, 'a');
    ck_assert_str_eq(buf.data, "a");
    ox_strbuf_puts(&buf, "bc");
    ox_strbuf_add(&buf, "d\0e", 3);
    ck_assert_uint_eq(buf.len, 6);
    ck_assert_mem_eq(buf.data, "abcd\0e", 7);
}
END_TEST

START_TEST(empty_additions_still_make_a_string)
{
    ox_strbuf_puts(&buf, "");
    ck_assert_str_eq(buf.data, "");
}
END_TEST

#define EXPECT_AS_PRINTF(...)                                                                      \
    do {                                                                                           \
        char expected[256];                                                                        \
        ox_strbuf_clear(&buf);                                                                     \
        snprintf(expected, sizeof expected, __VA_ARGS__);                                          \
        ox_strbuf_puts(&buf, "before ");                                                           \
        ox_strbuf_printf(&buf, __VA_ARGS__);                                                       \
        ck_assert_str_eq(buf.data + strlen("before "), expected);                                  \
        ck_assert_uint_eq(buf.len, strlen(buf.data));                                              \
    } while (0)

START_TEST(printf_writes_what_the_c_library_writes)
{
    EXPECT_AS_PRINTF("plain");
    EXPECT_AS_PRINTF("%s", "");
    EXPECT_AS_PRINTF("100%% of %s, %c", "it", '%');
    EXPECT_AS_PRINTF("%d %d %d %u", 0, INT_MIN, INT_MAX, UINT_MAX);
    EXPECT_AS_PRINTF("%ld %ld %lu", LONG_MIN, LONG_MAX, ULONG_MAX);
    EXPECT_AS_PRINTF("%lld %lld %llu", LLONG_MIN, LLONG_MAX, ULLONG_MAX);
    EXPECT_AS_PRINTF("%zu %zu", (size_t)0, SIZE_MAX);
    EXPECT_AS_PRINTF("[%*s][%*s][%*s]", 0, "a", 5, "abc", 2, "abc");
    EXPECT_AS_PRINTF("[%*s]", -5, "abc");
    EXPECT_AS_PRINTF("%s %d %-6s|%6.2f|%.2s|%02X|%+d", "then", 3, "left", 1.5, "cut", 10u, 4);
    EXPECT_AS_PRINTF("%*d %s %hhd", 6, 7, "after", (signed char)-1);
}
END_TEST

START_TEST(printf_takes_texts_longer_than_its_first_guess)
{
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ox_strbuf_printf(&buf, "<%s>%d", text, 7);
    ck_assert_uint_eq(buf.len, sizeof text - 1 + 3);
    ck_assert_str_eq(buf.data + buf.len - 3, "x>7");
    for (size_t n = 250; n < 260; n++) {
        ox_strbuf_clear(&buf);
        ox_strbuf_printf(&buf, "%.*s", (int)n, text);
        ck_assert_uint_eq(buf.len, n);
    }
}
END_TEST

START_TEST(clear_keeps_the_memory_and_forgets_the_text)
{
    ox_strbuf_puts(&buf, "something");
    size_t cap = buf.cap;
    ox_strbuf_clear(&buf);
    ck_assert_uint_eq(buf.len, 0);
    ck_assert_uint_eq(buf.cap, cap);
    ck_assert_str_eq(buf.data, "");
}
END_TEST

START_TEST(failure_is_sticky)
{
    ox_strbuf_puts(&buf, "kept");
    ox_strbuf_add(&buf, "", SIZE_MAX - 2);
    ck_assert(buf.failed);
    ox_strbuf_puts(&buf, "lost");
    ck_assert_str_eq(buf.data, "kept");
}
END_TEST

static const char *named(const char *name, size_t max_bytes)
{
    ox_strbuf_clear(&buf);
    ox_strbuf_name(&buf, name, max_bytes);
    return buf.data;
}

START_TEST(markup_becomes_entities_and_what_xml_cannot_hold_escapes)
{
    ox_strbuf_markup(&buf, "<a b=\"c\">&'\x01\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBD", 0);
    ck_assert_str_eq(buf.data,
                     "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\\x01\\xEF\\xBF\\xBE\\xEF\\xBF\\xBF"
                     "\xEF\xBF\xBD");
    ox_strbuf_clear(&buf);
    ox_strbuf_markup(&buf, "", 0);
    ck_assert_str_eq(buf.data, "");
}
END_TEST

START_TEST(names_lose_what_a_terminal_would_obey)
{
    ck_assert_str_eq(named("conv_1/weight:0", 0), "conv_1/weight:0");
    ck_assert_str_eq(named("a\x1b[31mb\n", 0), "a\\x1B[31mb\\x0A");
    ck_assert_str_eq(named("\x7f", 0), "\\x7F");
    ck_assert_str_eq(named("gr\xc3\xb6\xc3\x9f"
                           "e",
                           0),
                     "gr\xc3\xb6\xc3\x9f"
                     "e");
    ck_assert_str_eq(named("\xc2\x9b"
                           "1m",
                           0),
                     "\\xC2\\x9B1m"); /* C1: CSI */
    ck_assert_str_eq(named("\xe2\x80\xae"
                           "x",
                           0),
                     "\\xE2\\x80\\xAEx"); /* right-to-left override */
    ck_assert_str_eq(named("\xe2\x81\xa6", 0), "\\xE2\\x81\\xA6");
    ck_assert_str_eq(named("\xff\xfe", 0), "\\xFF\\xFE");
    ck_assert_str_eq(named("", 0), "");
}
END_TEST

START_TEST(long_names_are_cut_between_characters)
{
    ck_assert_str_eq(named("abcdef", 6), "abcdef");
    ck_assert_str_eq(named("abcdefg", 6), "abcdef...");
    ck_assert_str_eq(named("abcd\xc3\xb6\xc3\xb6", 5), "abcd...");
    ck_assert_str_eq(named("abc\x01", 6), "abc...");
}
END_TEST

START_TEST(utf8_takes_exactly_what_the_standard_allows)
{
    static const char *const good[] = {"",
                                       "a",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xfe",
                                      "\xff",
                                      "\xe2\x82",
                                      "\xc2"
                                      "a",
                                      "\xf0\x90\x80"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(ox_utf8_valid(good[i], strlen(good[i])), "good %zu", i);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!ox_utf8_valid(bad[i], strlen(bad[i])), "bad %zu", i);
    uint32_t code = 0;
    ck_assert_uint_eq(ox_utf8_next("\xf0\x9f\x98\x80", 4, &code), 4);
    ck_assert_uint_eq(code, 0x1F600);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strbuf");
    TCase *tests = tcase_create("strbuf");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, text_is_nul_terminated_after_each_addition);
    tcase_add_test(tests, empty_additions_still_make_a_string);
    tcase_add_test(tests, printf_writes_what_the_c_library_writes);
    tcase_add_test(tests, printf_takes_texts_longer_than_its_first_guess);
    tcase_add_test(tests, clear_keeps_the_memory_and_forgets_the_text);
    tcase_add_test(tests, failure_is_sticky);
    tcase_add_test(tests, markup_becomes_entities_and_what_xml_cannot_hold_escapes);
    tcase_add_test(tests, names_lose_what_a_terminal_would_obey);
    tcase_add_test(tests, long_names_are_cut_between_characters);
    tcase_add_test(tests, utf8_takes_exactly_what_the_standard_allows);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
