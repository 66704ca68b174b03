/* Which releases of runtimes are meant, what their tables say, and verdicts on models. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/target/target_survey.h"
#include "schema/target.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_targets *targets;
static struct ox_model *model;
static struct ox_shapes *shapes;
static struct ox_costs *costs;
static struct ox_target_survey *survey;

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    ck_assert_int_eq(ox_targets_new(&targets, env, NULL), OX_OK);
}

static void teardown(void)
{
    ox_target_survey_release(survey);
    ox_costs_release(costs);
    ox_shapes_release(shapes);
    ox_model_release(model);
    ox_targets_release(targets);
    ox_env_release(env);
    survey = NULL;
    costs = NULL;
    shapes = NULL;
    model = NULL;
    targets = NULL;
}

static const struct ox_target *target_of(const char *spec)
{
    struct ox_error err;
    enum ox_status status = ox_targets_add(targets, spec, &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
    return ox_targets_at(targets, ox_targets_count(targets) - 1);
}

static const struct ox_target_verdict *judge(const char *spec, const char *text)
{
    struct ox_error err;
    const struct ox_target *target = target_of(spec);
    enum ox_status status = ox_model_open_memory(&model, env, text, strlen(text), NULL, &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
    ck_assert_int_eq(ox_shapes_infer(&shapes, model, NULL, NULL, &err), OX_OK);
    ck_assert_int_eq(ox_costs_new(&costs, model, shapes, &err), OX_OK);
    ck_assert_int_eq(ox_target_survey_new(&survey, model, shapes, costs, &err), OX_OK);
    const struct ox_target_verdict *verdict;
    ck_assert_int_eq(ox_target_judge(&verdict, survey, target, &err), OX_OK);
    return verdict;
}

/* ---- Names --------------------------------------------------------------------------------------------------------- */

START_TEST(no_version_is_the_newest)
{
    struct ox_target_info info;
    ox_target_info(target_of("onnxruntime"), &info);
    ck_assert_str_eq(info.name, "onnxruntime=1.32.0:cpu");
    ck_assert_int_eq(info.opset, 28);
    ck_assert_int_eq(info.ir, 14);
    ck_assert_str_eq(info.sure, "measured");
}
END_TEST

START_TEST(two_numbers_mean_any_patch_and_another_patch_the_one_known)
{
    ck_assert_str_eq(target_of("onnxruntime=1.16")->name, "onnxruntime=1.16.3:cpu");
    ck_assert_str_eq(target_of("onnxruntime=1.16.1")->name, "onnxruntime=1.16.3:cpu");
}
END_TEST

START_TEST(one_number_does_not_match_another_that_begins_alike)
{
    ck_assert_int_eq(ox_targets_add(targets, "onnxruntime=1.3", NULL), OX_USAGE);
    ck_assert_uint_eq(ox_targets_count(targets), 0);
}
END_TEST

START_TEST(a_range_is_each_of_its_releases_with_that_provider)
{
    ck_assert_int_eq(ox_targets_add(targets, "onnxruntime>=1.14,<=1.16:cuda", NULL), OX_OK);
    ck_assert_uint_eq(ox_targets_count(targets), 3);
    ck_assert_str_eq(ox_targets_at(targets, 0)->name, "onnxruntime=1.14.1:cuda");
    ck_assert_str_eq(ox_targets_at(targets, 2)->name, "onnxruntime=1.16.3:cuda");
}
END_TEST

#define OVERLONG "a-runtime-whose-name-is-longer-than-any-runtime-has-ever-been-called=1"

START_TEST(what_is_no_target_is_a_usage_error)
{
    static const char *const specs[] = {"",
                                        "=1.4",
                                        "onnxruntime=",
                                        "onnxruntime:",
                                        "onnxruntime>1.4",
                                        "onnxruntime=1.4=1.5",
                                        "onnxruntime:gpu",
                                        "pytorch",
                                        OVERLONG};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        ck_assert_int_eq(ox_targets_add(targets, specs[i], NULL), OX_USAGE);
}
END_TEST

/* ---- Tables -------------------------------------------------------------------------------------------------------- */

static enum ox_target_via via(const char *spec, const char *domain, const char *name, int since,
                              enum ox_dtype dtype)
{
    const struct ox_target *target = target_of(spec);
    const struct ox_target_binding binding = {
        .param = "X", .constraint = "T", .bit = (uint64_t)1 << dtype};
    struct ox_target_answer answer;
    ox_target_ask(&answer, &target->own, target->own_bit, domain, name, since, &binding, 1);
    return answer.via;
}

START_TEST(kernels_are_for_versions_types_and_releases)
{
    ck_assert_int_eq(via("onnxruntime=1.16", "", "Conv", 11, OX_FLOAT32), OX_VIA_KERNEL);
    ck_assert_int_eq(via("onnxruntime=1.16", "", "Conv", 11, OX_FLOAT16), OX_VIA_CAST);
    ck_assert_int_eq(via("onnxruntime=1.16:cuda", "", "Conv", 11, OX_FLOAT16), OX_VIA_KERNEL);
    ck_assert_int_eq(via("onnxruntime=1.16", "", "Conv", 22, OX_FLOAT32), OX_VIA_NONE);
    ck_assert_int_eq(via("onnxruntime=1.21", "", "Conv", 22, OX_FLOAT32), OX_VIA_KERNEL);
    ck_assert_int_eq(via("onnxruntime=1.16", "", "HardSwish", 14, OX_FLOAT32), OX_VIA_BODY);
}
END_TEST

START_TEST(operators_older_than_cast_are_cast_around_too)
{
    static const char *const names[] = {"Conv", "GlobalAveragePool", "MaxPool", "Softmax"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        ck_assert_int_eq(via("onnxruntime", "", names[i], 1, OX_FLOAT16), OX_VIA_CAST);
        ck_assert_int_eq(via("onnxruntime=1.8", "", names[i], 1, OX_FLOAT16), OX_VIA_CAST);
        ck_assert_int_eq(via("onnxruntime", "", names[i], 1, OX_BFLOAT16), OX_VIA_NONE);
    }
}
END_TEST

START_TEST(operators_that_releases_crash_on_without_zero_points_have_kernels)
{
    const char *names[] = {"QLinearLeakyRelu", "QLinearSigmoid"};
    const char *releases[] = {"onnxruntime=1.5", "onnxruntime=1.16", "onnxruntime"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        for (size_t r = 0; r < OX_COUNT(releases); r++) {
            ck_assert_int_eq(via(releases[r], "com.microsoft", names[i], 1, OX_INT8),
                             OX_VIA_KERNEL);
            ck_assert_int_eq(via(releases[r], "com.microsoft", names[i], 1, OX_UINT8),
                             OX_VIA_KERNEL);
        }
    }
}
END_TEST

START_TEST(an_unknown_type_fits_everywhere)
{
    const struct ox_target *target = target_of("onnxruntime=1.16");
    struct ox_target_answer answer;
    ox_target_ask(&answer, &target->own, target->own_bit, "", "Conv", 11, NULL, 0);
    ck_assert_int_eq(answer.via, OX_VIA_KERNEL);
}
END_TEST

START_TEST(rows_are_sorted_or_they_would_not_be_found)
{
    ck_assert_int_eq(ox_targets_add_all(targets, NULL), OX_OK);
    for (size_t i = 0; i < ox_targets_count(targets); i++) {
        const struct ox_target_table *table = &ox_targets_at(targets, i)->own;
        for (size_t k = 1; k < table->n; k++) {
            int order = strcmp(table->rows[k - 1].domain, table->rows[k].domain);
            if (order == 0)
                order = strcmp(table->rows[k - 1].name, table->rows[k].name);
            ck_assert_int_le(order, 0);
        }
    }
}
END_TEST

START_TEST(a_printed_target_says_what_the_table_says)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    const struct ox_target *target = target_of("onnxruntime=1.16:cuda");
    ox_target_print(&text, target);
    ck_assert_int_eq(ox_file_write("test_targets.target", text.data, text.len, NULL), OX_OK);
    const struct ox_target *read = target_of("./test_targets.target");
    struct ox_strbuf again;
    ox_strbuf_init(&again);
    ox_target_print(&again, read);
    ck_assert_uint_eq(text.len, again.len);
    ck_assert_mem_eq(text.data, again.data, text.len);
    remove("test_targets.target");
    ox_strbuf_release(&text);
    ox_strbuf_release(&again);
}
END_TEST

/* ---- Verdicts ------------------------------------------------------------------------------------------------------ */

START_TEST(limits_of_ir_and_opset_are_named)
{
    const struct ox_target_verdict *verdict =
        judge("onnxruntime=1.12", "<ir_version: 9, opset_import: [\"\" : 18]>\n"
                                  "g (float[2] X) => (float[2] Y) { Y = Relu(X) }");
    ck_assert(!verdict->loads);
    ck_assert_uint_eq(verdict->n_problems, 2);
    ck_assert_int_eq(verdict->problems[0].cause, OX_CAUSE_IR);
    ck_assert_int_eq(verdict->problems[1].cause, OX_CAUSE_OPSET);
    ck_assert_str_eq(verdict->fix, "convert-opset 17, set IR 8");
}
END_TEST

START_TEST(only_the_ir_is_changed_where_only_that_is_too_new)
{
    const struct ox_target_verdict *verdict =
        judge("onnxruntime=1.16", "<ir_version: 10, opset_import: [\"\" : 17]>\n"
                                  "g (float[2] X) => (float[2] Y) { Y = Relu(X) }");
    ck_assert_str_eq(verdict->fix, "set IR 9");
    ck_assert_str_eq(verdict->command, "onnxtool convert-opset %s --to 17 -o OUT");
}
END_TEST

START_TEST(old_opsets_load_with_a_note)
{
    const struct ox_target_verdict *verdict =
        judge("onnxruntime=1.16", "<ir_version: 3, opset_import: [\"\" : 6]>\n"
                                  "g (float[2] X) => (float[2] Y) { Y = Relu(X) }");
    ck_assert(verdict->loads);
    ck_assert_ptr_nonnull(verdict->note);
}
END_TEST

START_TEST(fallback_cuts_the_work_in_two_and_copies_in_between)
{
    const struct ox_target_verdict *verdict =
        judge("onnxruntime=1.16:cuda", "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                       "g (float[4,4] X) => (float[4,4] Y) {\n"
                                       "A = MatMul(X, X)\n"
                                       "B = Det(A)\n"
                                       "Y = Add(A, B)\n"
                                       "}");
    ck_assert(verdict->loads);
    ck_assert_uint_eq(verdict->n_taken, 2);
    ck_assert_uint_eq(verdict->n_fallback, 1);
    ck_assert_uint_eq(verdict->n_partitions, 2);
    ck_assert_uint_eq(verdict->n_copies, 2);
    ck_assert_uint_eq(verdict->macs, 64);
}
END_TEST

START_TEST(work_beside_a_fallback_is_one_piece)
{
    const struct ox_target_verdict *verdict =
        judge("onnxruntime=1.16:cuda", "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                       "g (float[4,4] X) => (float Z, float[4,4] Y) {\n"
                                       "A = MatMul(X, X)\n"
                                       "Z = Det(A)\n"
                                       "Y = Add(A, X)\n"
                                       "}");
    ck_assert_uint_eq(verdict->n_partitions, 1);
    ck_assert_uint_eq(verdict->n_copies, 1);
}
END_TEST

START_TEST(an_unknown_domain_is_told_as_that)
{
    const struct ox_target_verdict *verdict =
        judge("onnxruntime", "<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 1]>\n"
                             "g (float[2] X) => (float[2] Y) { Y = com.acme.Sparkle(X) }");
    ck_assert(!verdict->loads);
    ck_assert_int_eq(verdict->problems[0].cause, OX_CAUSE_DOMAIN);
    ck_assert_ptr_null(verdict->fix);
}
END_TEST

START_TEST(a_processors_own_layout_is_told_as_that)
{
    const struct ox_target_verdict *verdict = judge(
        "onnxruntime", "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft.nchwc\" : 1]>\n"
                       "g (float[1,8,2,2] X) => (float[1,8,2,2] Y)\n"
                       "{ Y = com.microsoft.nchwc.ReorderOutput <channels: int = 8> (X) }");
    ck_assert(!verdict->loads);
    ck_assert_int_eq(verdict->problems[0].cause, OX_CAUSE_DOMAIN);
    ck_assert_ptr_nonnull(strstr(verdict->problems[0].reason, "layout of the processor"));
}
END_TEST

/* Swish 24 has a Constant in its body, which opset 25 has changed. */
static const struct ox_target_verdict *judge_swish(const char *spec, int opset)
{
    char text[128];
    snprintf(text, sizeof text,
             "<ir_version: 11, opset_import: [\"\" : %d]>\n"
             "g (float[2] X) => (float[2] Y) { Y = Swish (X) }",
             opset);
    return judge(spec, text);
}

START_TEST(a_body_serves_where_nothing_in_it_has_changed)
{
    ck_assert(judge_swish("onnxruntime", 24)->loads);
}
END_TEST

static void check_outlived(const struct ox_target_verdict *verdict)
{
    ck_assert(!verdict->loads);
    ck_assert_int_eq(verdict->problems[0].cause, OX_CAUSE_VERSION);
    ck_assert_ptr_nonnull(strstr(verdict->problems[0].reason, "by its body alone"));
    ck_assert_ptr_nonnull(verdict->fix);
}

START_TEST(a_body_is_no_help_where_an_operator_in_it_has_changed)
{
    check_outlived(judge_swish("onnxruntime", 25));
}
END_TEST

START_TEST(nor_does_the_processor_take_such_a_body_from_a_provider)
{
    check_outlived(judge_swish("onnxruntime:cuda", 25));
}
END_TEST

/* CastLike, in the body of Swish, is itself known by its body. */
START_TEST(bodies_in_bodies_are_the_providers_too)
{
    const struct ox_target_verdict *verdict = judge_swish("onnxruntime:cuda", 24);
    ck_assert(verdict->loads);
    ck_assert_uint_eq(verdict->n_taken, 1);
    ck_assert_uint_eq(verdict->n_fallback, 0);
}
END_TEST

START_TEST(refused_attributes_are_told_as_that)
{
    const struct ox_target_verdict *verdict =
        judge("onnxruntime",
              "<ir_version: 8, opset_import: [\"\" : 17]>\n"
              "g (float[2,5,3] X, float[1,16,3] W, float[1,16,4] R) => (float[2,5,1,4] Y) {\n"
              "Y = LSTM <hidden_size: int = 4, layout: int = 1> (X, W, R)\n"
              "}");
    ck_assert(!verdict->loads);
    ck_assert_int_eq(verdict->problems[0].cause, OX_CAUSE_ATTRIBUTE);
}
END_TEST

#define NORM_INPUTS                                                                                \
    "g (float[1,2,3,3] X, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,3,3] Y) "
#define OVERLOADS                                                                                  \
    "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]> g (float[2] X) => (float[2] Y) "      \
    "{ Y = my.F:one (X) } "                                                                        \
    "<domain: \"my\", overload: \"one\", opset_import: [\"\" : 21]> F (x) => (y) { y = Neg (x) } " \
    "<domain: \"my\", overload: \"two\", opset_import: [\"\" : 21]> "                              \
    "F (x, z) => (y) { y = Add (x, z) }"

/* As seen by loading them in the releases. */
static const struct refusal {
    const char *target, *text;
    bool loads;
    enum ox_target_cause cause;
} refusals[] = {
    /* Training: before opset 14 the outputs tell it, then an attribute. */
    {"onnxruntime=1.7",
     "<ir_version: 7, opset_import: [\"\" : 12]> " NORM_INPUTS
     "{ Y, a, c = BatchNormalization (X, s, b, m, v) }",
     true, 0},
    {"onnxruntime=1.8",
     "<ir_version: 7, opset_import: [\"\" : 12]> " NORM_INPUTS
     "{ Y, a, c = BatchNormalization (X, s, b, m, v) }",
     false, OX_CAUSE_ATTRIBUTE},
    {"onnxruntime=1.8",
     "<ir_version: 7, opset_import: [\"\" : 14]> " NORM_INPUTS
     "{ Y, a, c = BatchNormalization <training_mode: int = 1> (X, s, b, m, v) }",
     false, OX_CAUSE_ATTRIBUTE},
    {"onnxruntime=1.9",
     "<ir_version: 7, opset_import: [\"\" : 14]> " NORM_INPUTS
     "{ Y, a, c = BatchNormalization <training_mode: int = 1> (X, s, b, m, v) }",
     true, 0},
    {"onnxruntime=1.9",
     "<ir_version: 7, opset_import: [\"\" : 14]> " NORM_INPUTS
     "{ Y = BatchNormalization <training_mode: int = 1> (X, s, b, m, v) }",
     false, OX_CAUSE_SHAPE},
    /* What contradicts itself loads nowhere. */
    {"onnxruntime",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,3] X, float[4] B) => (float[2,3] Y) "
     "{ Y = Add (X, B) }",
     false, OX_CAUSE_SHAPE},
    {"onnxruntime=1.26", OVERLOADS, false, OX_CAUSE_FUNCTION},
    {"onnxruntime=1.27", OVERLOADS, true, 0},
};

START_TEST(what_releases_refuse_is_told)
{
    const struct refusal *r = &refusals[_i];
    const struct ox_target_verdict *verdict = judge(r->target, r->text);
    ck_assert_int_eq(verdict->loads, r->loads);
    ck_assert(r->loads || verdict->problems[0].cause == r->cause);
    ck_assert_ptr_null(verdict->fix);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("targets");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, no_version_is_the_newest);
    tcase_add_test(cases, two_numbers_mean_any_patch_and_another_patch_the_one_known);
    tcase_add_test(cases, one_number_does_not_match_another_that_begins_alike);
    tcase_add_test(cases, a_range_is_each_of_its_releases_with_that_provider);
    tcase_add_test(cases, what_is_no_target_is_a_usage_error);
    tcase_add_test(cases, kernels_are_for_versions_types_and_releases);
    tcase_add_test(cases, operators_older_than_cast_are_cast_around_too);
    tcase_add_test(cases, operators_that_releases_crash_on_without_zero_points_have_kernels);
    tcase_add_test(cases, an_unknown_type_fits_everywhere);
    tcase_add_test(cases, rows_are_sorted_or_they_would_not_be_found);
    tcase_add_test(cases, a_printed_target_says_what_the_table_says);
    tcase_add_test(cases, limits_of_ir_and_opset_are_named);
    tcase_add_test(cases, only_the_ir_is_changed_where_only_that_is_too_new);
    tcase_add_test(cases, old_opsets_load_with_a_note);
    tcase_add_test(cases, fallback_cuts_the_work_in_two_and_copies_in_between);
    tcase_add_test(cases, work_beside_a_fallback_is_one_piece);
    tcase_add_test(cases, an_unknown_domain_is_told_as_that);
    tcase_add_test(cases, a_processors_own_layout_is_told_as_that);
    tcase_add_test(cases, a_body_serves_where_nothing_in_it_has_changed);
    tcase_add_test(cases, a_body_is_no_help_where_an_operator_in_it_has_changed);
    tcase_add_test(cases, nor_does_the_processor_take_such_a_body_from_a_provider);
    tcase_add_test(cases, bodies_in_bodies_are_the_providers_too);
    tcase_add_test(cases, refused_attributes_are_told_as_that);
    tcase_add_loop_test(cases, what_releases_refuse_is_told, 0, (int)OX_COUNT(refusals));
    Suite *suite = suite_create("targets");
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
