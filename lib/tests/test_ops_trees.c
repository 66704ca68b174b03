/* TreeEnsemble and its older forms. */
#include <math.h>
#include <string.h>

#include "tests/run_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

/* One tree: x[0] <= 0 leads to leaf 1, else x[1] > 2 to leaf 3, else to leaf 4. */
static struct one_op *three_leaves(const char *name, int64_t version, const char *const modes[5])
{
    struct one_op *op = one_op_new("ai.onnx.ml", name, version);
    ONE_OP_INTS(op, "nodes_treeids", 0, 0, 0, 0, 0);
    ONE_OP_INTS(op, "nodes_nodeids", 0, 1, 2, 3, 4);
    ONE_OP_INTS(op, "nodes_featureids", 0, 0, 1, 0, 0);
    ONE_OP_INTS(op, "nodes_truenodeids", 1, 0, 3, 0, 0);
    ONE_OP_INTS(op, "nodes_falsenodeids", 2, 0, 4, 0, 0);
    ONE_OP_FLOATS(op, "nodes_values", 0, 0, 2, 0, 0);
    one_op_strings(op, "nodes_modes", modes, 5);
    return op;
}

static const char *const mixed[5] = {"BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF"};

static struct one_op *regressor(int64_t version, const char *aggregate)
{
    struct one_op *op = three_leaves("TreeEnsembleRegressor", version, mixed);
    ONE_OP_INTS(op, "target_treeids", 0, 0, 0);
    ONE_OP_INTS(op, "target_nodeids", 1, 3, 4);
    ONE_OP_INTS(op, "target_ids", 0, 0, 0);
    ONE_OP_FLOATS(op, "target_weights", 10, 20, 30);
    one_op_string(op, "aggregate_function", aggregate);
    return op;
}

static struct one_op *classifier(const char *transform, int64_t id, float a, float b, float c)
{
    struct one_op *op = three_leaves("TreeEnsembleClassifier", 3, mixed);
    ONE_OP_INTS(op, "class_treeids", 0, 0, 0);
    ONE_OP_INTS(op, "class_nodeids", 1, 3, 4);
    ONE_OP_INTS(op, "class_ids", id, id, id);
    ONE_OP_FLOATS(op, "class_weights", a, b, c);
    ONE_OP_INTS(op, "classlabels_int64s", 7, 8);
    one_op_string(op, "post_transform", transform);
    ONE_OP_IN(op, OX_FLOAT32, "3x2", 0, 0, 1, 3, 1, 2);
    return op;
}

static void must_run(struct one_op *op, size_t n_outputs)
{
    ck_assert_msg(one_op_run(op, n_outputs) == OX_OK, "%s", one_op_error(op));
}

static void must_fail(struct one_op *op, size_t n_outputs, const char *words)
{
    ck_assert_int_eq(one_op_run(op, n_outputs), OX_INPUT);
    ck_assert_msg(strstr(one_op_error(op), words), "'%s' does not say '%s'", one_op_error(op),
                  words);
    one_op_free(op);
}

START_TEST(rows_reach_their_leaves)
{
    static const int64_t versions[] = {1, 3, 5};
    struct one_op *op = regressor(versions[_i], "SUM");
    ONE_OP_IN(op, OX_FLOAT32, "4x2", -1, 5, 0, 5, 1, 3, 1, 2);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "4x1", 0, 10, 10, 20, 30);
    one_op_free(op);
}
END_TEST

START_TEST(many_rows_walk_as_one_does)
{
    double x[2 * 1200], y[1200];
    for (size_t i = 0; i < 1200; i++) {
        x[2 * i] = (double)(i % 3) - 1;
        x[2 * i + 1] = (double)(i % 5);
        y[i] = x[2 * i] <= 0 ? 10 : x[2 * i + 1] > 2 ? 20 : 30;
    }
    struct one_op *op = regressor(3, "SUM");
    one_op_in(op, OX_FLOAT32, "1200x2", x, 2400);
    must_run(op, 1);
    one_op_expect(op, 0, OX_FLOAT32, "1200x1", 0, y, 1200);
    one_op_free(op);
}
END_TEST

/* So many trees of one comparison each, with t; what takes the true side in tree t adds 2^t to target t of `targets`, else to the
 * next one. Without modes all are BRANCH_LEQ. */
enum { STUMPS = 12 };
static struct one_op *stumps(int targets, const char *const *modes, const int64_t *tracks)
{
    int64_t tree[3 * STUMPS], node[3 * STUMPS], feature[3 * STUMPS] = {0}, yes[3 * STUMPS] = {0},
                                                            no[3 * STUMPS] = {0},
                                                            missing[3 * STUMPS] = {0};
    int64_t leaf_tree[2 * STUMPS], leaf[2 * STUMPS], target[2 * STUMPS];
    float value[3 * STUMPS] = {0}, weight[2 * STUMPS];
    const char *mode[3 * STUMPS];
    for (int t = 0; t < STUMPS; t++) {
        for (int k = 0; k < 3; k++) {
            tree[3 * t + k] = t;
            node[3 * t + k] = k;
            mode[3 * t + k] = k ? "LEAF" : modes ? modes[t] : "BRANCH_LEQ";
        }
        yes[3 * t] = 1;
        no[3 * t] = 2;
        value[3 * t] = (float)t;
        missing[3 * t] = tracks ? tracks[t] : 0;
        for (int k = 0; k < 2; k++) {
            leaf_tree[2 * t + k] = t;
            leaf[2 * t + k] = k + 1;
            target[2 * t + k] = (t + k) % targets;
            weight[2 * t + k] = (float)(1 << t);
        }
    }
    struct one_op *op = one_op_new("ai.onnx.ml", "TreeEnsembleRegressor", 3);
    one_op_ints(op, "nodes_treeids", tree, 3 * STUMPS);
    one_op_ints(op, "nodes_nodeids", node, 3 * STUMPS);
    one_op_ints(op, "nodes_featureids", feature, 3 * STUMPS);
    one_op_ints(op, "nodes_truenodeids", yes, 3 * STUMPS);
    one_op_ints(op, "nodes_falsenodeids", no, 3 * STUMPS);
    one_op_ints(op, "nodes_missing_value_tracks_true", missing, 3 * STUMPS);
    one_op_floats(op, "nodes_values", value, 3 * STUMPS);
    one_op_strings(op, "nodes_modes", mode, 3 * STUMPS);
    one_op_ints(op, "target_treeids", leaf_tree, 2 * STUMPS);
    one_op_ints(op, "target_nodeids", leaf, 2 * STUMPS);
    one_op_ints(op, "target_ids", target, 2 * STUMPS);
    one_op_floats(op, "target_weights", weight, 2 * STUMPS);
    one_op_int(op, "n_targets", targets);
    return op;
}

static void expect_stumps(struct one_op *op, enum ox_dtype dtype, size_t rows, const double *x,
                          int targets, const double *y)
{
    char shape[2][16];
    snprintf(shape[0], sizeof shape[0], "%zux1", rows);
    snprintf(shape[1], sizeof shape[1], "%zux%d", rows, targets);
    one_op_in(op, dtype, shape[0], x, rows);
    must_run(op, 1);
    one_op_expect(op, 0, OX_FLOAT32, shape[1], 0, y, rows * (size_t)targets);
    one_op_free(op);
}

/* By three targets: fewer rows than go side by side share the walk among trees. */
START_TEST(few_rows_go_through_several_trees_at_once)
{
    enum { TARGETS = 3, ROWS = 20 };
    double x[ROWS], y[ROWS * TARGETS] = {0};
    const size_t rows = (size_t)_i + 1;
    for (size_t i = 0; i < rows; i++) {
        x[i] = (double)(i * 7 % 13) - 0.5;
        for (int t = 0; t < STUMPS; t++)
            y[i * TARGETS + (size_t)((t + (x[i] > t)) % TARGETS)] += 1 << t;
    }
    expect_stumps(stumps(TARGETS, NULL, NULL), OX_FLOAT32, rows, x, TARGETS, y);
}
END_TEST

static bool holds(size_t mode, double x, double threshold)
{
    const bool all[] = {x <= threshold, x<threshold, x >= threshold, x> threshold, x == threshold,
                        x != threshold};
    return all[mode];
}

/* Trees that compare alike or each in its own way, some of which track missing values, on rows with and without such. */
START_TEST(ways_of_comparing_and_of_missing_values_mix)
{
    static const char *const names[6] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    enum { ROWS = 30 };
    const bool some_missing = _i & 1;
    const enum ox_dtype dtype = _i & 2 ? OX_FLOAT64 : OX_FLOAT32;
    const size_t rows = _i & 4 ? 3 : ROWS, alike = (size_t)_i / 8; /* the mode of all, or 6 */
    const char *modes[STUMPS];
    int64_t tracks[STUMPS];
    double x[ROWS], y[2 * ROWS] = {0};
    for (int t = 0; t < STUMPS; t++) {
        modes[t] = names[alike < 6 ? alike : (size_t)t % 6];
        tracks[t] = t / 3 % 2;
    }
    for (size_t i = 0; i < rows; i++) {
        const bool missing = some_missing && i % 5 == 1;
        x[i] = missing ? (double)NAN : (double)(i * 7 % 29) / 2 - 1;
        for (int t = 0; t < STUMPS; t++) {
            const bool side =
                (missing && tracks[t]) || holds(alike < 6 ? alike : (size_t)t % 6, x[i], t);
            y[2 * i + (size_t)(t + !side) % 2] += 1 << t;
        }
    }
    expect_stumps(stumps(2, modes, tracks), dtype, rows, x, 2, y);
}
END_TEST

START_TEST(whole_numbers_are_compared_exactly)
{
    static const enum ox_dtype types[] = {OX_FLOAT64, OX_INT64, OX_INT32};
    struct one_op *op = regressor(3, "AVERAGE");
    ONE_OP_IN(op, types[_i], "3x2", 0, 1, 1, 3, 16777217, 2);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3x1", 0, 10, 20, 30);
    one_op_free(op);
}
END_TEST

START_TEST(missing_values_go_to_the_false_side)
{
    struct one_op *op = regressor(3, "MAX");
    ONE_OP_IN(op, OX_FLOAT32, "1x2", (double)NAN, 3);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 0, 20);
    one_op_free(op);
}
END_TEST

START_TEST(missing_values_that_track_true_go_to_the_true_side)
{
    struct one_op *op = regressor(3, "MIN");
    ONE_OP_INTS(op, "nodes_missing_value_tracks_true", 1, 0, 0, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", (double)NAN, 3);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 0, 10);
    one_op_free(op);
}
END_TEST

START_TEST(every_way_of_comparing)
{
    static const char *const names[6] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    static const double expected[6][4] = {{10, 10, 30, 30}, {10, 30, 30, 30}, {30, 10, 10, 30},
                                          {30, 30, 10, 30}, {30, 10, 30, 30}, {10, 30, 10, 10}};
    const char *const modes[5] = {names[_i], "LEAF", names[_i], "LEAF", "LEAF"};
    struct one_op *op = three_leaves("TreeEnsembleRegressor", 1, modes);
    ONE_OP_INTS(op, "target_treeids", 0, 0, 0);
    ONE_OP_INTS(op, "target_nodeids", 1, 3, 4);
    ONE_OP_INTS(op, "target_ids", 0, 0, 0);
    ONE_OP_FLOATS(op, "target_weights", 10, 30, 30);
    ONE_OP_IN(op, OX_FLOAT32, "4x2", -1, 0, 0, 0, 1, 0, (double)NAN, 0);
    must_run(op, 1);
    one_op_expect(op, 0, OX_FLOAT32, "4x1", 0, expected[_i], 4);
    one_op_free(op);
}
END_TEST

START_TEST(base_values_are_added)
{
    struct one_op *op = regressor(3, "SUM");
    ONE_OP_FLOATS(op, "base_values", 0.5f);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 3);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 0, 20.5);
    one_op_free(op);
}
END_TEST

START_TEST(one_positive_weight_is_held_against_a_half)
{
    struct one_op *op = classifier("NONE", 0, 0.25f, 0.5f, 0.75f);
    must_run(op, 2);
    ONE_OP_OUT(op, 0, OX_INT64, "3", 0, 7, 7, 8);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "3x2", 0, 0.75, 0.25, 0.5, 0.5, 0.25, 0.75);
    one_op_free(op);
}
END_TEST

START_TEST(one_signed_weight_is_held_against_zero)
{
    struct one_op *op = classifier("LOGISTIC", 0, -1, 0, 1);
    must_run(op, 2);
    const double p = 1 / (1 + exp(-1));
    ONE_OP_OUT(op, 0, OX_INT64, "3", 0, 7, 7, 8);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "3x2", 1e-6, p, 1 - p, 0.5, 0.5, 1 - p, p);
    one_op_free(op);
}
END_TEST

START_TEST(classes_with_base_values_are_scored_one_by_one)
{
    struct one_op *op = classifier("NONE", 1, 1, 2, 3);
    ONE_OP_FLOATS(op, "base_values", 2.5f, 0);
    must_run(op, 2);
    ONE_OP_OUT(op, 0, OX_INT64, "3", 0, 7, 7, 8);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "3x2", 0, 2.5, 1, 2.5, 2, 2.5, 3);
    one_op_free(op);
}
END_TEST

/* ---- Version 5 ---------------------------------------------------------------------------------------------------- */

static void tensor_attr(struct one_op *op, const char *name, enum ox_dtype dtype, const char *shape,
                        const double *values, size_t n)
{
    struct ox_tensor *t = one_op_make(op, dtype, shape, values, n);
    one_op_tensor(op, name, t);
    ox_tensor_release(t);
}

/* Node 0 of that mode leads to leaf 0, else to node 1: x[0] in {2, 5} to leaf 1, else leaf 2. */
static struct one_op *sets(double mode)
{
    struct one_op *op = one_op_new("ai.onnx.ml", "TreeEnsemble", 5);
    ONE_OP_INTS(op, "nodes_featureids", 0, 0);
    ONE_OP_INTS(op, "nodes_truenodeids", 0, 1);
    ONE_OP_INTS(op, "nodes_trueleafs", 1, 1);
    ONE_OP_INTS(op, "nodes_falsenodeids", 1, 2);
    ONE_OP_INTS(op, "nodes_falseleafs", 0, 1);
    ONE_OP_INTS(op, "leaf_targetids", 0, 1, 0);
    ONE_OP_INTS(op, "tree_roots", 0);
    one_op_int(op, "n_targets", 2);
    tensor_attr(op, "nodes_modes", OX_UINT8, "2", (const double[]){mode, 6}, 2);
    tensor_attr(op, "nodes_splits", OX_FLOAT64, "2", (const double[]){1, 0}, 2);
    tensor_attr(op, "leaf_weights", OX_FLOAT64, "3", (const double[]){1, 2, 4}, 3);
    return op;
}

START_TEST(members_of_sets)
{
    struct one_op *op = sets(4);
    tensor_attr(op, "membership_values", OX_FLOAT64, "3", (const double[]){5, 2, (double)NAN}, 3);
    ONE_OP_IN(op, OX_FLOAT64, "5x1", 1, 2, 5, 3, (double)NAN);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "5x2", 0, 1, 0, 0, 2, 0, 2, 4, 0, 4, 0);
    one_op_free(op);
}
END_TEST

START_TEST(a_set_that_is_not_there_is_named)
{
    struct one_op *op = sets(6);
    tensor_attr(op, "membership_values", OX_FLOAT64, "1", (const double[]){5}, 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x1", 1);
    must_fail(op, 1, "1 sets for 2 nodes");
}
END_TEST

/* ---- Malformed trees ---------------------------------------------------------------------------------------------- */

static struct one_op *stump(const int64_t *yes, const int64_t *no)
{
    static const char *const modes[3] = {"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"};
    struct one_op *op = one_op_new("ai.onnx.ml", "TreeEnsembleRegressor", 1);
    ONE_OP_INTS(op, "nodes_treeids", 3, 3, 3);
    ONE_OP_INTS(op, "nodes_nodeids", 0, 1, 2);
    ONE_OP_INTS(op, "nodes_featureids", 0, 0, 0);
    one_op_ints(op, "nodes_truenodeids", yes, 3);
    one_op_ints(op, "nodes_falsenodeids", no, 3);
    ONE_OP_FLOATS(op, "nodes_values", 0, 0, 0);
    one_op_strings(op, "nodes_modes", modes, 3);
    ONE_OP_INTS(op, "target_treeids", 3);
    ONE_OP_INTS(op, "target_nodeids", 2);
    ONE_OP_INTS(op, "target_ids", 0);
    ONE_OP_FLOATS(op, "target_weights", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 0);
    return op;
}

START_TEST(children_may_be_shared)
{
    struct one_op *op = stump((const int64_t[]){2, 2, 0}, (const int64_t[]){1, 2, 0});
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 0, 1);
    one_op_free(op);
}
END_TEST

START_TEST(a_cycle_is_refused)
{
    must_fail(stump((const int64_t[]){1, 1, 0}, (const int64_t[]){2, 2, 0}), 1, "cycle");
    must_fail(stump((const int64_t[]){1, 0, 0}, (const int64_t[]){2, 2, 0}), 1, "cycle");
}
END_TEST

START_TEST(a_child_that_is_not_there_is_named)
{
    must_fail(stump((const int64_t[]){1, 9, 0}, (const int64_t[]){2, 2, 0}), 1,
              "node 1 of tree 3 has child 9");
}
END_TEST

START_TEST(lists_of_unequal_length_are_refused)
{
    struct one_op *op = regressor(3, "SUM");
    ONE_OP_INTS(op, "nodes_missing_value_tracks_true", 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 0, 0);
    must_fail(op, 1, "nodes_missing_value_tracks_true has 2 elements, not 5");
}
END_TEST

START_TEST(a_feature_that_x_lacks_is_named)
{
    struct one_op *op = regressor(3, "SUM");
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 0);
    must_fail(op, 1, "feature 1 of 1");
}
END_TEST

START_TEST(no_rows_give_no_scores)
{
    struct one_op *op = regressor(3, "SUM");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x2");
    must_run(op, 1);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "0x1");
    one_op_free(op);
}
END_TEST

/* What is laid out in the first run serves the rows of later ones, and gives way where they are wider. */
START_TEST(trees_stay_between_runs)
{
    static const char model[] =
        "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 3]> "
        "g (float[N,F] x) => (float[N,1] y) { y = ai.onnx.ml.TreeEnsembleRegressor <"
        "nodes_treeids = [0,0,0,0,0], nodes_nodeids = [0,1,2,3,4], nodes_featureids = [0,0,1,0,0], "
        "nodes_truenodeids = [1,0,3,0,0], nodes_falsenodeids = [2,0,4,0,0], "
        "nodes_values = [0.0,0.0,2.0,0.0,0.0], "
        "nodes_modes = [\"BRANCH_LEQ\",\"LEAF\",\"BRANCH_GT\",\"LEAF\",\"LEAF\"], "
        "target_treeids = [0,0,0], target_nodeids = [1,3,4], target_ids = [0,0,0], "
        "target_weights = [10.0,20.0,30.0]> (x) }";
    static const float narrow[] = {-1, 5, 1, 3, 1, 2}, wide[] = {1, 2, 9, 1, 3, -9};
    const struct ox_run_options options = {.level = 2};
    struct text_run f;
    text_open(&f, model);
    ck_assert_msg(text_plan(&f, &options) == OX_OK, "%s", f.err.message);
    for (int round = 0; round < 6; round++) {
        const bool is_wide = round % 3 == 2;
        text_give(&f, OX_FLOAT32, 2, is_wide ? (const int64_t[]){2, 3} : (const int64_t[]){3, 2},
                  is_wide ? wide : narrow);
        text_must_run(&f);
        const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
        const float *out = y->data;
        ck_assert_uint_eq(y->n, is_wide ? 2 : 3);
        ck_assert_float_eq(out[0], is_wide ? 30 : 10);
        ck_assert_float_eq(out[1], 20);
        ck_assert(is_wide || out[2] == 30);
        ox_datum_release(f.in[--f.n_in]);
        f.in[f.n_in] = NULL;
    }
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_trees");
    TCase *tcase = tcase_create("trees");
    tcase_add_loop_test(tcase, rows_reach_their_leaves, 0, 3);
    tcase_add_test(tcase, many_rows_walk_as_one_does);
    tcase_add_loop_test(tcase, few_rows_go_through_several_trees_at_once, 0, 20);
    tcase_add_loop_test(tcase, ways_of_comparing_and_of_missing_values_mix, 0, 7 * 8);
    tcase_add_loop_test(tcase, whole_numbers_are_compared_exactly, 0, 3);
    tcase_add_test(tcase, missing_values_go_to_the_false_side);
    tcase_add_test(tcase, missing_values_that_track_true_go_to_the_true_side);
    tcase_add_loop_test(tcase, every_way_of_comparing, 0, 6);
    tcase_add_test(tcase, base_values_are_added);
    tcase_add_test(tcase, one_positive_weight_is_held_against_a_half);
    tcase_add_test(tcase, one_signed_weight_is_held_against_zero);
    tcase_add_test(tcase, classes_with_base_values_are_scored_one_by_one);
    tcase_add_test(tcase, members_of_sets);
    tcase_add_test(tcase, a_set_that_is_not_there_is_named);
    tcase_add_test(tcase, children_may_be_shared);
    tcase_add_test(tcase, a_cycle_is_refused);
    tcase_add_test(tcase, a_child_that_is_not_there_is_named);
    tcase_add_test(tcase, lists_of_unequal_length_are_refused);
    tcase_add_test(tcase, a_feature_that_x_lacks_is_named);
    tcase_add_test(tcase, no_rows_give_no_scores);
    tcase_add_test(tcase, trees_stay_between_runs);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
