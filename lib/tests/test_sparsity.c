/* Weights of which some of each few neighbours are zeros, and initializers stored as sparse ones. */
#include <check.h>
#include <string.h>

#include "common/env.h"
#include "model/model.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_error err;
static struct ox_model *model;

static void setup(void)
{
    env = ox_env_new();
}

static void teardown(void)
{
    ox_model_release(model);
    model = NULL;
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    ox_env_release(env);
}

static void open_text(const char *text)
{
    ck_assert_msg(ox_model_open_memory(&model, env, text, strlen(text), NULL, &err) == OX_OK, "%s",
                  err.message);
}

static void expect(const char *name, size_t n, const double *want)
{
    struct ox_tensor *tensor;
    const struct ox_stored *init = ox_graph_value(model->graph, name)->init;
    ck_assert_ptr_nonnull(init);
    ck_assert_int_eq(ox_stored_load(model, init, &tensor, &err), OX_OK);
    ck_assert_uint_eq(tensor->n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_double_eq(ox_tensor_element(tensor, i), want[i]);
    ox_tensor_release(tensor);
}

static uint64_t axes_of(size_t i)
{
    struct ox_weight_list *list;
    struct ox_weight_stats stats;
    uint64_t axes;
    ck_assert_int_eq(ox_weight_list_new(&list, model, &err), OX_OK);
    ck_assert_int_eq(ox_weight_list_stats(&stats, list, i, NULL, 0, &err), OX_OK);
    ck_assert_int_eq(ox_weight_list_sparse_axes(&axes, list, i, &stats, &err), OX_OK);
    ox_weight_list_release(list);
    return axes;
}

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

START_TEST(the_largest_stay_and_of_equal_ones_the_first)
{
    struct ox_pruned told;
    open_text(HEAD
              "g (float[1,4] x) => (float[1,2] y) <float[4,2] w = {1,2, 1,-9, 1,3, 1,0}> { y = "
              "MatMul(x, w) }");
    ck_assert_uint_eq(axes_of(0), 0);
    ck_assert_int_eq(ox_prune_weights(model, 2, 4, &told, &err), OX_OK);
    expect("w", 8, (const double[]){1, 0, 1, -9, 0, 3, 0, 0});
    ck_assert_uint_eq(told.n_weights, 1);
    ck_assert_uint_eq(told.n_zeroed, 3);
    ck_assert_uint_eq(axes_of(0), 1);
}
END_TEST

START_TEST(a_weight_summed_along_two_axes_is_left)
{
    struct ox_pruned told;
    open_text(HEAD "g (float[4,4] x) => (float[4,4] y, float[4,4] z) <float[4,4] w = "
                   "{1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}> { y = MatMul(x, w) z = MatMul(w, x) }");
    ck_assert_int_eq(ox_prune_weights(model, 1, 4, &told, &err), OX_OK);
    ck_assert_uint_eq(told.n_left, 1);
    ck_assert_uint_eq(told.n_weights, 0);
    ck_assert_int_eq(ox_prune_weights(model, 4, 4, &told, &err), OX_USAGE);
}
END_TEST

START_TEST(sparse_initializers_come_back_as_they_were)
{
    size_t n;
    open_text(HEAD
              "g (float[8] x) => (float[8] y) <float[8] w = {0,0,0,7,0,-0.0,0,0}, float[8] f = "
              "{1,0,0,0,1,0,1,0}> { a = Add(x, w) y = Add(a, f) }");
    ck_assert_int_eq(ox_sparsify_initializers(model, 0.6, &n, &err), OX_OK);
    ck_assert_uint_eq(n, 1); /* of the other more would be stored */
    ck_assert_uint_eq(model->graph->n_sparse_inits, 1);
    ck_assert_ptr_null(ox_graph_value(model->graph, "w")->init);
    ck_assert_ptr_nonnull(ox_graph_value(model->graph, "w")->sparse_init);
    ck_assert_int_eq(ox_densify_initializers(model, &n, &err), OX_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(model->graph->n_sparse_inits, 0);
    expect("w", 8, (const double[]){0, 0, 0, 7, 0, 0, 0, 0});
}
END_TEST

START_TEST(old_versions_have_no_sparse_initializers)
{
    size_t n;
    open_text("<ir_version: 5, opset_import: [\"\" : 10]> g (float[1] x) => (float[1] y) { y = "
              "Neg(x) }");
    ck_assert_int_eq(ox_sparsify_initializers(model, 0.5, &n, &err), OX_USAGE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sparsity");
    TCase *tests = tcase_create("sparsity");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_largest_stay_and_of_equal_ones_the_first);
    tcase_add_test(tests, a_weight_summed_along_two_axes_is_left);
    tcase_add_test(tests, sparse_initializers_come_back_as_they_were);
    tcase_add_test(tests, old_versions_have_no_sparse_initializers);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
