#include <check.h>

#include "ops/attr_find.h"
#include "tests/run_suite.h"

static struct ox_attr attrs[] = {{.name = "a", .type = OX_ATTR_INT, .n = 1, .i = 7},
                                 {.name = "f", .type = OX_ATTR_FLOAT, .n = 1, .f = 2.5f}};
static const struct ox_node node = {.attrs = attrs, .n_attrs = 2};

START_TEST(what_a_node_was_asked_is_known_by_the_address_of_the_name)
{
    static const char name[] = "a", gone[] = "gone";
    struct ox_asked asked = {.node = &node};
    const struct ox_run run = {.node = &node, .asked = &asked};
    ck_assert_int_eq(ox_run_int(&run, name, 0), 7);
    ck_assert_int_eq(ox_run_int(&run, gone, 3), 3);
    ck_assert_double_eq((double)ox_run_float(&run, "f", 0), 2.5);
    ck_assert_uint_eq(asked.n, 3);
    ck_assert_int_eq(ox_run_int(&run, name, 0), 7);
    ck_assert_int_eq(ox_run_int(&run, gone, 4), 4); /* a fallback is not what was found */
    ck_assert_uint_eq(asked.n, 3);
}
END_TEST

START_TEST(another_node_and_another_schema_are_looked_at)
{
    static const char name[] = "a";
    struct ox_attr other_attrs[] = {{.name = "a", .type = OX_ATTR_INT, .n = 1, .i = 8}};
    const struct ox_node other = {.attrs = other_attrs, .n_attrs = 1};
    const struct ox_schema *schema = ox_schema_find("", "Softmax", 13);
    struct ox_asked asked = {.node = &node};
    struct ox_run run = {.node = &node, .asked = &asked};
    ck_assert_int_eq(ox_run_int(&run, name, 0), 7);
    run.node = &other;
    ck_assert_int_eq(ox_run_int(&run, name, 0), 8);
    run.node = &node;
    static const char axis[] = "axis";
    ck_assert_int_eq(ox_run_int(&run, axis, 5), 5);
    run.schema = schema;
    ck_assert_int_eq(ox_run_int(&run, axis, 5), -1);
    ck_assert_uint_eq(asked.n, 2);
}
END_TEST

START_TEST(more_names_than_are_kept_are_answered)
{
    static const char names[40][2] = {[20] = "a"};
    struct ox_asked asked = {.node = &node};
    const struct ox_run run = {.node = &node, .asked = &asked};
    for (int time = 0; time < 2; time++)
        for (size_t i = 0; i < OX_COUNT(names); i++)
            ck_assert_int_eq(ox_run_int(&run, names[i], -2), i == 20 ? 7 : -2);
    ck_assert_uint_eq(asked.n, OX_COUNT(asked.list));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run_attr");
    TCase *tcase = tcase_create("asked");
    tcase_add_test(tcase, what_a_node_was_asked_is_known_by_the_address_of_the_name);
    tcase_add_test(tcase, another_node_and_another_schema_are_looked_at);
    tcase_add_test(tcase, more_names_than_are_kept_are_answered);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
