/* The cases of ONNX's backend suite, and those of each operator version, converted to other versions of ai.onnx and ai.onnx.ml: the
 * result is valid and its reference kernels give the case's outputs, or each node that blocks it is told with a reason.
 *
 * Each case goes to two versions, which change from case to case; OX_CONVERT_ALL=1 takes it to all. OX_CONVERT_LOG=FILE gets a line
 * a conversion, for scripts/converter_steps.py: [case, version, to, fate, [[operator, from, to] that block], [operators]]. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "model/model.h"
#include "tests/judge_suite.h"
#include "tests/run_suite.h"

static const struct ox_opset_goal goals[] = {
    {"", 1},           {"", 2},           {"", 3},          {"", 4},           {"", 5},
    {"", 6},           {"", 7},           {"", 8},          {"", 9},           {"", 10},
    {"", 11},          {"", 12},          {"", 13},         {"", 14},          {"", 15},
    {"", 16},          {"", 17},          {"", 18},         {"", 19},          {"", 20},
    {"", 21},          {"", 22},          {"", 23},         {"", 24},          {"", 25},
    {"", 26},          {"", 27},          {"", 28},         {"ai.onnx.ml", 1}, {"ai.onnx.ml", 2},
    {"ai.onnx.ml", 3}, {"ai.onnx.ml", 4}, {"ai.onnx.ml", 5}};

enum { MAIN = 28 }; /* of ai.onnx */

static struct suite suite;

/* ---- The log ------------------------------------------------------------------------------------------------------ */

static void log_operators(struct ox_json *json, const struct ox_model *model)
{
    ox_json_array(json);
    for (size_t g = 0; g < model->n_graphs; g++)
        for (size_t i = 0; i < model->graphs[g]->n_nodes; i++)
            if (!*model->graphs[g]->nodes[i]->domain)
                ox_json_string(json, model->graphs[g]->nodes[i]->op_type);
    ox_json_end_array(json);
}

static void log_fate(const struct suite_case *c, const struct ox_model *model, int64_t from,
                     const struct ox_opset_goal *goal, const struct ox_conversion *conversion)
{
    const char *path = getenv("OX_CONVERT_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    struct ox_strbuf text;
    struct ox_json json;
    ox_strbuf_init(&text);
    ox_json_init(&json, &text, false);
    ox_json_array(&json);
    ox_json_string(&json, c->name);
    ox_json_int(&json, from);
    ox_json_int(&json, goal->version);
    ox_json_string(&json, ox_conversion_blocked(conversion) ? "refused" : "equal");
    ox_json_array(&json);
    for (size_t i = 0; i < ox_conversion_count(conversion); i++) {
        const struct ox_convert_note *note = ox_conversion_at(conversion, i);
        ox_json_array(&json);
        ox_json_string(&json, note->op_type);
        ox_json_int(&json, note->from);
        ox_json_int(&json, note->to);
        ox_json_end_array(&json);
    }
    ox_json_end_array(&json);
    log_operators(&json, model);
    ox_json_end_array(&json);
    fprintf(file, "%s\n", text.data);
    fclose(file);
    ox_strbuf_release(&text);
}

/* ---- Converting ---------------------------------------------------------------------------------------------------- */

/* What blocks is a node of the model, and why is told. */
static void judge_refusal(const struct ox_conversion *conversion, const char *label)
{
    for (size_t i = 0; i < ox_conversion_count(conversion); i++) {
        const struct ox_convert_note *note = ox_conversion_at(conversion, i);
        ck_assert_msg(*note->op_type && *note->node && note->reason && *note->reason,
                      "%s: a blocking node without a reason", label);
    }
}

static size_t errors_in(struct ox_model *model, char *first, size_t size)
{
    struct ox_findings *findings;
    struct ox_error err;
    ck_assert_int_eq(ox_check(&findings, model, &(struct ox_check_options){.full = true}, &err),
                     OX_OK);
    size_t n = ox_findings_errors(findings);
    *first = 0;
    for (size_t i = 0; i < ox_findings_count(findings) && !*first; i++)
        if (ox_findings_at(findings, i)->severity == OX_ERROR)
            snprintf(first, size, "%s", ox_findings_at(findings, i)->message);
    ox_findings_release(findings);
    return n;
}

/* The cases of versions do not declare the shapes of their outputs: an error that stays one. */
static void judge_result(const struct suite_case *c, struct ox_model *model, size_t n_errors,
                         const char *label)
{
    struct ox_error err = {0};
    struct ox_session *session;
    char first[400];
    ck_assert_msg(errors_in(model, first, sizeof first) <= n_errors, "%s: %s", label, first);
    const struct ox_run_options reference = {.level = 0};
    ck_assert_msg(ox_session_new(&session, model, &reference, &err) == OX_OK, "%s: %s", label,
                  err.message);
    suite_judge(c, session, label);
    ox_session_release(session);
}

/* Gradient of operators older than 7 has no rules here. */
static bool is_goal(const struct ox_model *model, const struct ox_opset_goal *goal)
{
    int64_t from = ox_graph_opset(model->graph, goal->domain);
    bool trains = ox_graph_opset(model->graph, "ai.onnx.preview.training") != 0;
    return from && from != goal->version && !(trains && !*goal->domain && goal->version < 7);
}

static void convert_to(const struct suite_case *c, const struct ox_model *model, size_t n_errors,
                       const struct ox_opset_goal *goal)
{
    struct ox_error err = {0};
    struct ox_model *copy;
    struct ox_conversion *conversion;
    char label[300];
    int64_t from = ox_graph_opset(model->graph, goal->domain);
    snprintf(label, sizeof label, "%s %lld to %s %lld", c->name, (long long)from, goal->domain,
             (long long)goal->version);
    ck_assert_msg(ox_model_copy(&copy, model, &err) == OX_OK, "%s: %s", label, err.message);
    mark_point();
    ck_assert_msg(ox_convert_opset(&conversion, copy, goal, 1, &err) == OX_OK, "%s: %s", label,
                  err.message);
    if (ox_conversion_blocked(conversion))
        judge_refusal(conversion, label);
    else
        judge_result(c, copy, n_errors, label);
    log_fate(c, model, from, goal, conversion);
    ox_conversion_release(conversion);
    ox_model_release(copy);
}

START_TEST(converted_case_agrees_or_its_blockers_are_told)
{
    const struct suite_case *c = &suite.cases[_i];
    const bool all = getenv("OX_CONVERT_ALL") != NULL;
    const size_t first = (size_t)_i * 5 % MAIN, second = ((size_t)_i * 5 + 9) % MAIN;
    struct ox_error err = {0};
    struct ox_env *env = ox_env_new();
    struct ox_model *model;
    char why[400];
    ck_assert_ptr_nonnull(env);
    ck_assert_msg(ox_model_open_memory(&model, env, c->model, c->model_bytes, NULL, &err) == OX_OK,
                  "%s: %s", c->name, err.message);
    const size_t n_errors = errors_in(model, why, sizeof why);
    for (size_t g = 0; g < OX_COUNT(goals); g++) {
        bool turn = all || g == first || g == second || g >= MAIN;
        if (turn && is_goal(model, &goals[g]))
            convert_to(c, model, n_errors, &goals[g]);
    }
    ox_model_release(model);
    ck_assert_uint_eq(ox_env_budget(env)->used, 0);
    ox_env_release(env);
}
END_TEST

int main(void)
{
    suite_load(&suite);
    Suite *s = suite_create("convert_suite");
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 600);
    tcase_add_loop_test(cases, converted_case_agrees_or_its_blockers_are_told, 0, (int)suite.n);
    suite_add_tcase(s, cases);
    int status = run_suite(s);
    suite_release(&suite);
    return status;
}
