/* The cases of ONNX's backend suite. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "model/model.h"
#include "schema/schema.h"
#include "tests/judge_suite.h"
#include "tests/run_suite.h"

static struct suite suite;

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static void run_case(const struct suite_case *c, const struct ox_run_options *options)
{
    struct ox_error err = {0};
    struct ox_env *env = ox_env_new();
    struct ox_model *model = NULL;
    struct ox_session *session = NULL;
    ck_assert_ptr_nonnull(env);
    mark_point();
    ck_assert_msg(ox_model_open_memory(&model, env, c->model, c->model_bytes, NULL, &err) == OX_OK,
                  "%s: %s", c->name, err.message);
    ck_assert_msg(ox_session_new(&session, model, options, &err) == OX_OK, "%s: %s", c->name,
                  err.message);
    suite_judge(c, session, c->name);
    ox_session_release(session);
    ox_model_release(model);
    ck_assert_uint_eq(ox_env_budget(env)->used, 0);
    ox_env_release(env);
}

START_TEST(suite_case_agrees)
{
    run_case(&suite.cases[_i], NULL);
}
END_TEST

START_TEST(suite_case_agrees_in_double)
{
    /* Rounds a value that is half way in float32, and in double is not. */
    if (strcmp(suite.cases[_i].name, "node/test_dynamicquantizelinear_expanded") != 0)
        run_case(&suite.cases[_i], &(struct ox_run_options){.oracle = true, .narrow = true});
}
END_TEST

/* ---- Versions ---------------------------------------------------------------------------------------------------- */

static void mark_versions(const struct ox_model *model, const struct ox_schema *rows, bool *has)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            const struct ox_schema *row =
                ox_schema_find(node->domain, node->op_type, ox_graph_opset(graph, node->domain));
            if (row)
                has[row - rows] = true;
        }
    }
}

static bool must_have_case(const struct ox_schema *row)
{
    return !row->deprecated && strncmp(row->domain, "com.", 4) != 0 &&
           ox_schema_find_foreign(row->domain, row->name, row->since) != row;
}

START_TEST(every_version_of_every_operator_has_a_case)
{
    size_t n, n_without = 0;
    const struct ox_schema *rows = ox_schema_rows(&n);
    bool *has = calloc(n, sizeof *has);
    struct ox_strbuf without = {0};
    struct ox_env *env = ox_env_new();
    ck_assert_ptr_nonnull(has);
    for (size_t i = 0; i < suite.n; i++) {
        struct ox_model *model;
        struct ox_error err;
        ck_assert_int_eq(ox_model_open_memory(&model, env, suite.cases[i].model,
                                              suite.cases[i].model_bytes, NULL, &err),
                         OX_OK);
        mark_versions(model, rows, has);
        ox_model_release(model);
    }
    for (size_t i = 0; i < n; i++)
        if (must_have_case(&rows[i]) && !has[i] && ++n_without)
            ox_strbuf_printf(&without, " %s %d", rows[i].name, rows[i].since);
    ck_assert_msg(n_without == 0, "%zu versions without a case:%s", n_without, without.data);
    ox_strbuf_release(&without);
    ox_env_release(env);
    free(has);
}
END_TEST

START_TEST(suite_is_whole)
{
    ck_assert_msg(suite.n >= 2020, "only %zu cases are there: run scripts/pack_suite.py", suite.n);
}
END_TEST

int main(void)
{
    suite_load(&suite);
    Suite *s = suite_create("suite");
    TCase *whole = tcase_create("whole");
    tcase_add_test(whole, suite_is_whole);
    tcase_add_test(whole, every_version_of_every_operator_has_a_case);
    suite_add_tcase(s, whole);
    TCase *cases = tcase_create("cases");
    tcase_set_timeout(cases, 60);
    if (suite.n) {
        tcase_add_loop_test(cases, suite_case_agrees, 0, (int)suite.n);
        tcase_add_loop_test(cases, suite_case_agrees_in_double, 0, (int)suite.n);
    }
    suite_add_tcase(s, cases);
    int status = run_suite(s);

    suite_release(&suite);
    return status;
}
