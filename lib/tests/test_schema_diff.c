/* Rows as text, and what changed between two of them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "schema/schema.h"
#include "tests/run_suite.h"

static struct ox_schema_changes *changes_of(const char *domain, const char *name, int from, int to)
{
    struct ox_schema_changes *changes = NULL;
    struct ox_error err;
    const struct ox_schema *old = ox_schema_at(domain, name, from);
    const struct ox_schema *new = ox_schema_at(domain, name, to);
    ck_assert(old && new);
    ck_assert_int_eq(ox_schema_changes_new(&changes, old, new, &err), OX_OK);
    return changes;
}

/* All changes, a line each. */
static void expect_changes(const char *name, int from, int to, const char *expected)
{
    struct ox_schema_changes *changes = changes_of("", name, from, to);
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    for (size_t i = 0; i < ox_schema_changes_count(changes); i++) {
        const struct ox_schema_change *c = ox_schema_changes_at(changes, i);
        ox_strbuf_printf(&text, "%s %s %s: %s -> %s\n", ox_schema_part_name(c->part),
                         c->name ? c->name : "-", c->property ? c->property : "-",
                         c->before ? c->before : "-", c->after ? c->after : "-");
    }
    ox_strbuf_putc(&text, '\0');
    ck_assert_str_eq(text.data, expected);
    ox_strbuf_release(&text);
    ox_schema_changes_release(changes);
}

START_TEST(a_row_does_not_differ_from_itself)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 0; i < n; i++) {
        struct ox_schema_changes *changes = NULL;
        ck_assert_int_eq(ox_schema_changes_new(&changes, &rows[i], &rows[i], NULL), OX_OK);
        ck_assert_uint_eq(ox_schema_changes_count(changes), 0);
        ox_schema_changes_release(changes);
    }
}
END_TEST

START_TEST(attributes_that_become_inputs)
{
    expect_changes("Slice", 1, 10,
                   "input starts -: - -> Tind, required\n"
                   "input ends -: - -> Tind, required\n"
                   "input axes -: - -> Tind, optional\n"
                   "input steps -: - -> Tind, optional\n"
                   "attribute axes -: INTS -> -\n"
                   "attribute ends -: INTS, required -> -\n"
                   "attribute starts -: INTS, required -> -\n"
                   "type constraint Tind -: - -> int32, int64\n");
}
END_TEST

START_TEST(types_lost_and_gained)
{
    expect_changes("Slice", 11, 13, "type constraint T types: - -> bfloat16\n");
    expect_changes("Add", 7, 13, "type constraint T types: - -> bfloat16\n");
}
END_TEST

START_TEST(defaults_that_change)
{
    expect_changes("Softmax", 11, 13,
                   "operator - function: false -> true\n"
                   "attribute axis default: 1 -> -1\n"
                   "type constraint T types: - -> bfloat16\n");
}
END_TEST

START_TEST(deprecation)
{
    struct ox_schema_changes *changes = changes_of("", "Scatter", 9, 11);
    ck_assert_uint_ge(ox_schema_changes_count(changes), 1);
    const struct ox_schema_change *first = ox_schema_changes_at(changes, 0);
    ck_assert_int_eq(first->part, OX_PART_OPERATOR);
    ck_assert_ptr_null(first->name);
    ck_assert_str_eq(first->property, "deprecated");
    ck_assert_str_eq(first->after, "true");
    ox_schema_changes_release(changes);
}
END_TEST

START_TEST(renamed_inputs_keep_their_place)
{
    struct ox_schema_changes *changes = changes_of("", "BatchNormalization", 9, 14);
    bool renamed = false;
    for (size_t i = 0; i < ox_schema_changes_count(changes); i++) {
        const struct ox_schema_change *c = ox_schema_changes_at(changes, i);
        if (c->part == OX_PART_INPUT && c->property && strcmp(c->property, "name") == 0 &&
            strcmp(c->name, "input_mean") == 0) {
            ck_assert_str_eq(c->before, "mean");
            renamed = true;
        }
        ck_assert(c->part != OX_PART_INPUT || c->property != NULL);
    }
    ck_assert(renamed);
    ox_schema_changes_release(changes);
}
END_TEST

START_TEST(each_row_differs_from_its_predecessor_both_ways_alike)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 1; i < n; i++) {
        if (rows[i - 1].until == 0)
            continue;
        struct ox_schema_changes *forth = NULL;
        struct ox_schema_changes *back = NULL;
        ck_assert_int_eq(ox_schema_changes_new(&forth, &rows[i - 1], &rows[i], NULL), OX_OK);
        ck_assert_int_eq(ox_schema_changes_new(&back, &rows[i], &rows[i - 1], NULL), OX_OK);
        ck_assert_uint_eq(ox_schema_changes_count(forth), ox_schema_changes_count(back));
        ox_schema_changes_release(forth);
        ox_schema_changes_release(back);
    }
}
END_TEST

static void expect_type(const char *type, const char *expected)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_schema_type_text(&text, type);
    ck_assert_str_eq(text.data, expected);
    ox_strbuf_release(&text);
}

START_TEST(types_read_as_in_the_rest_of_the_program)
{
    expect_type("tensor(float)", "float32");
    expect_type("tensor(double)", "float64");
    expect_type("tensor(float8e4m3fn)", "float8e4m3fn");
    expect_type("seq(tensor(int64))", "seq(int64)");
    expect_type("optional(seq(tensor(string)))", "optional(seq(string))");
    expect_type("map(string,tensor(double))", "map(string,float64)");
    expect_type("seq(map(int64,tensor(float)))", "seq(map(int64,float32))");
    expect_type("sparse_tensor(float)", "sparse(float32)");
}
END_TEST

static void expect_types(const char *domain, const char *name, int opset, const char *expected)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    const struct ox_schema *row = ox_schema_find(domain, name, opset);
    ck_assert_ptr_nonnull(row);
    ox_schema_types_text(&text, row->outputs[0].allowed, NULL);
    ck_assert_str_eq(text.data, expected);
    ox_strbuf_release(&text);
}

START_TEST(lists_of_types_are_grouped_and_ordered)
{
    expect_types("", "Add", 7, "float16, float32, float64, int32, int64, uint32, uint64");
    expect_types("", "SequenceLength", 11, "int64");
    expect_types("", "StringSplit", 20, "string");
    expect_types("", "SequenceConstruct", 11,
                 "seq(bool, complex64, complex128, float16, float32, float64, int8, int16, int32, "
                 "int64, string, uint8, uint16, uint32, uint64)");
    expect_types("ai.onnx.ml", "ZipMap", 1, "seq(map(int64,float32)), seq(map(string,float32))");
}
END_TEST

START_TEST(lists_of_types_leave_out_what_another_set_has)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    uint16_t new = ox_schema_find("", "If", 16)->outputs[0].allowed;
    uint16_t old = ox_schema_find("", "If", 13)->outputs[0].allowed;
    ox_schema_types_text(&text, old, &new);
    ck_assert_uint_eq(text.len, 0);
    ox_schema_types_text(&text, new, &old);
    ck_assert_ptr_nonnull(strstr(text.data, "bfloat16, seq(bfloat16), optional(bfloat16, bool, "));
    ck_assert_ptr_null(strstr(text.data, "seq(float32"));
    ox_strbuf_release(&text);
}
END_TEST

static void expect_default(const char *name, int opset, const char *attr, const char *expected)
{
    struct ox_strbuf text;
    struct ox_json json;
    ox_strbuf_init(&text);
    ox_json_init(&json, &text, false);
    const struct ox_schema *row = ox_schema_find("", name, opset);
    ck_assert_ptr_nonnull(row);
    ox_schema_default_json(&json, ox_schema_attr(row, attr));
    ck_assert_str_eq(text.data, expected);
    ox_strbuf_release(&text);
}

START_TEST(defaults_read_as_json)
{
    expect_default("Softmax", 13, "axis", "-1");
    expect_default("Conv", 11, "auto_pad", "\"NOTSET\"");
    expect_default("Conv", 11, "pads", "null");
    expect_default("LRN", 13, "alpha", "0.0001");
    expect_default("MeanVarianceNormalization", 13, "axes", "[0,2,3]");
    expect_default("RNN", 14, "activations", "[\"Tanh\",\"Tanh\"]");
}
END_TEST

START_TEST(attribute_types_read_as_in_the_standard)
{
    const struct ox_schema *row = ox_schema_at("", "If", 1);
    ck_assert_str_eq(ox_schema_attr_type(ox_schema_attr(row, "else_branch")), "GRAPH");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schema_diff");
    TCase *diff = tcase_create("diff");
    tcase_add_test(diff, a_row_does_not_differ_from_itself);
    tcase_add_test(diff, attributes_that_become_inputs);
    tcase_add_test(diff, types_lost_and_gained);
    tcase_add_test(diff, defaults_that_change);
    tcase_add_test(diff, deprecation);
    tcase_add_test(diff, renamed_inputs_keep_their_place);
    tcase_add_test(diff, each_row_differs_from_its_predecessor_both_ways_alike);
    suite_add_tcase(suite, diff);
    TCase *text = tcase_create("text");
    tcase_add_test(text, types_read_as_in_the_rest_of_the_program);
    tcase_add_test(text, lists_of_types_are_grouped_and_ordered);
    tcase_add_test(text, lists_of_types_leave_out_what_another_set_has);
    tcase_add_test(text, defaults_read_as_json);
    tcase_add_test(text, attribute_types_read_as_in_the_standard);
    suite_add_tcase(suite, text);
    return run_suite(suite);
}
