/* Strings, regular expressions, n-grams, sequences and optionals. */
#include <stdint.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"

START_TEST(concat_broadcasts)
{
    struct one_op *op = one_op_new("", "StringConcat", 20);

    one_op_in_strings(op, "2x1", (const char *const[]){"a", ""}, 2);
    one_op_in_strings(op, "2", (const char *const[]){"x", "yz"}, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect_strings(op, 0, "2x2", (const char *const[]){"ax", "ayz", "x", "yz"}, 4);
    one_op_free(op);
}
END_TEST

static struct one_op *split(const char *text, const char *delimiter, int64_t most)
{
    struct one_op *op = one_op_new("", "StringSplit", 20);

    one_op_in_strings(op, "1", &text, 1);
    if (delimiter)
        one_op_string(op, "delimiter", delimiter);
    if (most >= 0)
        one_op_int(op, "maxsplit", most);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    return op;
}

START_TEST(split_at_spaces_and_delimiters)
{
    struct one_op *op = split("  a \t b\xC2\xA0"
                              "c ",
                              NULL, -1);

    one_op_expect_strings(op, 0, "1x3", (const char *const[]){"a", "b", "c"}, 3);
    ONE_OP_OUT(op, 1, OX_INT64, "1", 0, 3);
    one_op_free(op);
    op = split(" a  b c ", "", 1);
    one_op_expect_strings(op, 0, "1x2", (const char *const[]){"a", "b c "}, 2);
    one_op_free(op);
    op = split("a,,b,", ",", -1);
    one_op_expect_strings(op, 0, "1x4", (const char *const[]){"a", "", "b", ""}, 4);
    one_op_free(op);
    op = split("a,b,c", ",", 1);
    one_op_expect_strings(op, 0, "1x2", (const char *const[]){"a", "b,c"}, 2);
    one_op_free(op);
    op = split("   ", NULL, -1);
    ck_assert_uint_eq(one_op_out(op, 0)->n, 0);
    ONE_OP_OUT(op, 1, OX_INT64, "1", 0, 0);
    one_op_free(op);
}
END_TEST

static struct one_op *normalize(const char *action, bool sensitive, const char *locale)
{
    struct one_op *op = one_op_new("", "StringNormalizer", 10);

    one_op_in_strings(op, "3", (const char *const[]){"The", "\xC3\x89t\xC3\xA9", "Il"}, 3);
    one_op_strings(op, "stopwords", (const char *const[]){"the"}, 1);
    one_op_string(op, "case_change_action", action);
    one_op_int(op, "is_case_sensitive", sensitive);
    if (locale)
        one_op_string(op, "locale", locale);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    return op;
}

START_TEST(normalizer_maps_case_beyond_ascii)
{
    struct one_op *op = normalize("UPPER", false, NULL);

    one_op_expect_strings(op, 0, "2", (const char *const[]){"\xC3\x89T\xC3\x89", "IL"}, 2);
    one_op_free(op);
    op = normalize("LOWER", true, "en_US");
    one_op_expect_strings(op, 0, "3", (const char *const[]){"the", "\xC3\xA9t\xC3\xA9", "il"}, 3);
    one_op_free(op);
    op = normalize("LOWER", false, "tr_TR");
    one_op_expect_strings(op, 0, "2", (const char *const[]){"\xC3\xA9t\xC3\xA9", "\xC4\xB1l"}, 2);
    one_op_free(op);
}
END_TEST

START_TEST(normalizer_leaves_an_empty_string_of_nothing)
{
    struct one_op *op = one_op_new("", "StringNormalizer", 10);

    one_op_in_strings(op, "1x2", (const char *const[]){"a", "A"}, 2);
    one_op_strings(op, "stopwords", (const char *const[]){"a"}, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect_strings(op, 0, "1x1", (const char *const[]){""}, 1);
    one_op_free(op);
    op = one_op_new("", "StringNormalizer", 10);
    one_op_in_strings(op, "2x1", (const char *const[]){"a", "A"}, 2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "neither [C] nor [1, C]");
}
END_TEST

static bool matches(const char *pattern, const char *text)
{
    struct one_op *op = one_op_new("", "RegexFullMatch", 20);

    one_op_in_strings(op, "1", &text, 1);
    one_op_string(op, "pattern", pattern);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s: %s", pattern, one_op_error(op));
    bool match = ox_tensor_get_int(one_op_out(op, 0), 0) != 0;

    one_op_free(op);
    return match;
}

START_TEST(regex_matches_the_whole)
{
    ck_assert(matches("www\\.[\\w.-]+\\.\\bcom\\b", "www.google.com"));
    ck_assert(!matches("a", "ab"));
    ck_assert(matches("a|ab", "ab"));
    ck_assert(!matches("a.*b", "abc"));
    ck_assert(!matches("a.*b+?", "abbc"));
    ck_assert(matches("a.*b*c", "abcbc"));
    ck_assert(matches("", ""));
    ck_assert(matches("(?P<x>a+?)b{2,}", "aabb"));
    ck_assert(matches("(?i)\xC3\xA9", "\xC3\x89"));
    ck_assert(!matches(".", "\n"));
    ck_assert(matches("(?s).", "\n"));
    ck_assert(!matches("a$", "a\n"));
}
END_TEST

START_TEST(regex_reads_what_re2_means)
{
    ck_assert(matches("\\v", "\v"));  /* a character, not a class */
    ck_assert(!matches("\\s", "\v")); /* \s is without it */
    ck_assert(matches("[\\s]", "\f"));
    ck_assert(matches("[^\\S]", "\t"));
    ck_assert(matches("\\101\\x{42}\\x43", "ABC"));
    ck_assert(matches("\\Qa.b\\E.", "a.bc"));
    ck_assert(matches("x{,2}", "x{,2}")); /* no repetition */
    ck_assert(matches("[[:alpha:]]\\d", "a1"));
    ck_assert(matches("\\p{Greek}\\pL", "\xCE\xB1z"));
    ck_assert(matches("[]a]+", "]a"));
    ck_assert(!matches("\xE2\x82\xAC?", "\xE2\x82")); /* no UTF-8 */
}
END_TEST

START_TEST(regex_refuses_what_re2_does_not_have)
{
    static const char *const patterns[] = {
        "(a)\\1", "(?=a)a", "(?<!a)b", "(?>a)", "a*+", "a++",     "(?#x)",
        "(*F)",   "\\C",    "\\K",     "(?R)",  "\\Z", "a{1001}", "\\x{110000}",
        "(",      "a)|(b",  "[a",      "\\",    "*a",  "(?x)a",   "\\p{Klingon}"};

    for (size_t i = 0; i < OX_COUNT(patterns); i++) {
        struct one_op *op = one_op_new("", "RegexFullMatch", 20);
        const char *text = "a";

        one_op_in_strings(op, "1", &text, 1);
        one_op_string(op, "pattern", patterns[i]);
        ck_assert_msg(one_op_run(op, 1) == OX_INPUT, "%s", patterns[i]);
        one_op_free(op);
    }
}
END_TEST

/* Backtracking would take 2^60 steps. */
START_TEST(regex_time_is_bounded)
{
    char text[64];

    memset(text, 'a', 60);
    memcpy(text + 60, "!", 2);
    ck_assert(!matches("(a*)*b", text));
    ck_assert(!matches("(a|a|a)*b", text));
    ck_assert(!matches("(.*)(.*)(.*)(.*)(.*)b", text));
}
END_TEST

static struct one_op *tfidf(const char *mode, int64_t most, int64_t skips)
{
    struct one_op *op = one_op_new("", "TfIdfVectorizer", 9);

    ONE_OP_IN(op, OX_INT64, "6", 2, 3, 5, 7, 2, 3);
    one_op_string(op, "mode", mode);
    one_op_int(op, "min_gram_length", 1);
    one_op_int(op, "max_gram_length", most);
    one_op_int(op, "max_skip_count", skips);
    ONE_OP_INTS(op, "pool_int64s", 2, 3, 5, 7, 2, 3, 2, 5);
    ONE_OP_INTS(op, "ngram_counts", 0, 4);
    ONE_OP_INTS(op, "ngram_indexes", 0, 1, 2, 3, 4, 5);
    ONE_OP_FLOATS(op, "weights", 1, 1, 1, 1, 2, 3);
    return op;
}

START_TEST(tfidf_counts_with_skips)
{
    struct one_op *op = tfidf("TF", 2, 0);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "6", 0, 2, 2, 1, 1, 2, 0);
    one_op_free(op);
    op = tfidf("TF", 2, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "6", 0, 2, 2, 1, 1, 2, 1);
    one_op_free(op);
    op = tfidf("IDF", 2, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "6", 0, 1, 1, 1, 1, 2, 3);
    one_op_free(op);
    op = tfidf("TFIDF", 2, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "6", 0, 2, 2, 1, 1, 4, 3);
    one_op_free(op);
    RUN_FAILS_AS(tfidf("XF", 2, 0), 1, OX_INPUT, "'XF'");
    RUN_FAILS_AS(tfidf("TF", 0, 0), 1, OX_INPUT, "n-grams");
}
END_TEST

/* ---- Sequences ---------------------------------------------------------------------------------------------------------- */

static struct ox_datum *sequence_of_two(struct one_op *op)
{
    struct ox_tensor *a = one_op_make(op, OX_INT32, "1", (const double[]){1}, 1);
    struct ox_tensor *b = one_op_make(op, OX_INT32, "2", (const double[]){2, 3}, 2);
    struct ox_datum *items[2], *sequence;

    ck_assert_int_eq(ox_datum_of_tensor(&items[0], a, NULL), OX_OK);
    ck_assert_int_eq(ox_datum_of_tensor(&items[1], b, NULL), OX_OK);
    ck_assert_int_eq(ox_datum_sequence(&sequence, OX_INT32, items, 2, NULL), OX_OK);
    for (int i = 0; i < 2; i++)
        ox_datum_release(items[i]);
    ox_tensor_release(a);
    ox_tensor_release(b);
    return sequence;
}

static struct one_op *on_sequence(const char *name)
{
    struct one_op *op = one_op_new("", name, 11);
    struct ox_datum *sequence = sequence_of_two(op);

    one_op_in_datum(op, sequence);
    ox_datum_release(sequence);
    return op;
}

START_TEST(sequence_positions_are_checked)
{
    struct one_op *op = on_sequence("SequenceAt");

    ONE_OP_IN(op, OX_INT64, "", -1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2", 0, 2, 3);
    one_op_free(op);
    op = on_sequence("SequenceAt");
    ONE_OP_IN(op, OX_INT64, "", 2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "position 2 is outside [-2, 1]");
    op = on_sequence("SequenceErase");
    ONE_OP_IN(op, OX_INT64, "", -9223372036854775808.0);
    RUN_FAILS_AS(op, 1, OX_INPUT, "position");
    op = on_sequence("SequenceInsert");
    ONE_OP_IN(op, OX_INT32, "", 9);
    ONE_OP_IN(op, OX_INT64, "", 3);
    RUN_FAILS_AS(op, 1, OX_INPUT, "position 3 is outside [-2, 2]");
    op = on_sequence("SequenceInsert");
    ONE_OP_IN(op, OX_FLOAT32, "", 9);
    RUN_FAILS_AS(op, 1, OX_INPUT, "float32");
}
END_TEST

START_TEST(sequence_insert_and_erase)
{
    struct one_op *op = on_sequence("SequenceInsert");

    ONE_OP_IN(op, OX_INT32, "", 9);
    ONE_OP_IN(op, OX_INT32, "", -1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ck_assert_uint_eq(one_op_datum(op, 0)->n_items, 3);
    ck_assert_int_eq(ox_tensor_get_int(one_op_datum(op, 0)->items[1]->tensor, 0), 9);
    one_op_free(op);
    op = on_sequence("SequenceErase");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ck_assert_uint_eq(one_op_datum(op, 0)->n_items, 1);
    ck_assert_int_eq(ox_tensor_get_int(one_op_datum(op, 0)->items[0]->tensor, 0), 1);
    one_op_free(op);
}
END_TEST

START_TEST(sequences_join_and_split)
{
    struct one_op *op = on_sequence("ConcatFromSequence");

    one_op_int(op, "axis", 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3", 0, 1, 2, 3);
    one_op_free(op);
    op = on_sequence("ConcatFromSequence");
    one_op_int(op, "axis", 0);
    one_op_int(op, "new_axis", 1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "dimension 0 of item 1 is 2");
    op = one_op_new("", "SplitToSequence", 11);
    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    ONE_OP_IN(op, OX_INT64, "", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ck_assert_uint_eq(one_op_datum(op, 0)->n_items, 3);
    ck_assert_int_eq(ox_tensor_get_int(one_op_datum(op, 0)->items[2]->tensor, 0), 5);
    one_op_free(op);
    op = one_op_new("", "SplitToSequence", 11);
    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    ONE_OP_IN(op, OX_INT64, "2", 4, 2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "sum to 6");
    op = one_op_new("", "SplitToSequence", 11);
    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    ONE_OP_IN(op, OX_INT64, "", 0);
    RUN_FAILS_AS(op, 1, OX_INPUT, "split is 0");
}
END_TEST

START_TEST(optionals_may_be_empty)
{
    struct one_op *op = one_op_new("", "OptionalGetElement", 18);
    struct ox_datum *empty;

    ck_assert_int_eq(ox_datum_optional(&empty, OX_INT32, NULL, NULL), OX_OK);
    one_op_in_datum(op, empty);
    RUN_FAILS_AS(op, 1, OX_INPUT, "empty");
    op = one_op_new("", "OptionalHasElement", 18);
    one_op_in_datum(op, empty);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_BOOL, "", 0, 0);
    one_op_free(op);
    ox_datum_release(empty);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_string");
    TCase *tests = tcase_create("string");

    tcase_add_test(tests, concat_broadcasts);
    tcase_add_test(tests, split_at_spaces_and_delimiters);
    tcase_add_test(tests, normalizer_maps_case_beyond_ascii);
    tcase_add_test(tests, normalizer_leaves_an_empty_string_of_nothing);
    tcase_add_test(tests, regex_matches_the_whole);
    tcase_add_test(tests, regex_reads_what_re2_means);
    tcase_add_test(tests, regex_refuses_what_re2_does_not_have);
    tcase_add_test(tests, regex_time_is_bounded);
    tcase_add_test(tests, tfidf_counts_with_skips);
    tcase_add_test(tests, sequence_positions_are_checked);
    tcase_add_test(tests, sequence_insert_and_erase);
    tcase_add_test(tests, sequences_join_and_split);
    tcase_add_test(tests, optionals_may_be_empty);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
