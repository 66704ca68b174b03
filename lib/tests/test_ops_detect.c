/* Regions, non-maximum suppression, losses, training steps. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"

START_TEST(max_roi_pool_rounds_bins_outward)
{
    struct one_op *op = one_op_new("", "MaxRoiPool", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_FLOAT32, "2x5", 0, 0, 0, 2, 1, 0, 5, 5, 9, 9);
    ONE_OP_INTS(op, "pooled_shape", 1, 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x1x1x2", 0, 5, 6, 0, 0);
    one_op_free(op);
}
END_TEST

START_TEST(regions_name_an_image_that_is_not_there)
{
    for (double bad = -1; bad < 2; bad += 2) {
        struct one_op *op = one_op_new("", "MaxRoiPool", 1);
        ONE_OP_IN(op, OX_FLOAT32, "1x1x1x1", 1);
        ONE_OP_IN(op, OX_FLOAT32, "1x5", bad, 0, 0, 1, 1);
        ONE_OP_INTS(op, "pooled_shape", 1, 1);
        RUN_FAILS(op, 1, bad < 0 ? "image -1" : "image 1");
        op = one_op_new("", "RoiAlign", 16);
        ONE_OP_IN(op, OX_FLOAT32, "1x1x1x1", 1);
        ONE_OP_IN(op, OX_FLOAT32, "1x4", 0, 0, 1, 1);
        ONE_OP_IN(op, OX_INT64, "1", bad);
        RUN_FAILS(op, 1, bad < 0 ? "image -1" : "image 1");
    }
}
END_TEST

static struct one_op *align(bool max, size_t channels, size_t first)
{
    enum { AREA = 30 };
    static double x[70 * AREA];
    char shape[32];
    for (size_t i = 0; i < channels * AREA; i++)
        x[i] = (double)((first * AREA + i) * 37 % 101) / 10 - 5;
    struct one_op *op = one_op_new("", "RoiAlign", 16);
    snprintf(shape, sizeof shape, "1x%zux5x6", channels);
    one_op_in(op, OX_FLOAT32, shape, x, channels * AREA);
    ONE_OP_IN(op, OX_FLOAT32, "2x4", -1, 0.5, 4, 3.5, 1, 1, 9, 4);
    ONE_OP_IN(op, OX_INT64, "2", 0, 0);
    one_op_int(op, "output_height", 2);
    one_op_int(op, "output_width", 3);
    if (max)
        one_op_string(op, "mode", "max");
    RUN_OK(op, 1);
    return op;
}

/* More channels than are worked on side by side. */
START_TEST(roi_align_of_many_channels_is_that_of_each)
{
    enum { CHANNELS = 70, BINS = 6 };
    struct one_op *all = align(_i, CHANNELS, 0);
    for (size_t c = 0; c < CHANNELS; c++) {
        struct one_op *op = align(_i, 1, c);
        for (size_t i = 0; i < 2 * BINS; i++)
            ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), i),
                                ox_tensor_get_double(one_op_out(all, 0),
                                                     (i / BINS * CHANNELS + c) * BINS + i % BINS));
        one_op_free(op);
    }
    one_op_free(all);
}
END_TEST

START_TEST(roi_align_of_a_huge_region_ends)
{
    struct one_op *op = one_op_new("", "RoiAlign", 16);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2x4", -1e30, -1e30, 1e30, 1e30, 3e9, 3e9, -3e9, -3e9);
    ONE_OP_IN(op, OX_INT64, "2", 0, 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x1x1x1", 0, 0, 0);
    one_op_free(op);
}
END_TEST

static struct one_op *nms(double iou)
{
    struct one_op *op = one_op_new("", "NonMaxSuppression", 11);
    ONE_OP_IN(op, OX_FLOAT32, "1x3x4", 0, 0, 1, 1, 1, 1, 0, 0.5, 5, 5, 6, 6);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x3", 0.5, 0.5, 0.9);
    ONE_OP_IN(op, OX_INT64, "1", 9);
    ONE_OP_IN(op, OX_FLOAT32, "1", iou);
    return op;
}

START_TEST(nms_keeps_the_first_of_equals_and_an_overlap_at_the_threshold)
{
    struct one_op *op = nms(0.4);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT64, "2x3", 0, 0, 0, 2, 0, 0, 0);
    one_op_free(op);
    op = nms(0.5);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT64, "3x3", 0, 0, 0, 2, 0, 0, 0, 0, 0, 1);
    one_op_free(op);
    RUN_FAILS(nms(1.5), 1, "iou_threshold");
}
END_TEST

/* All are kept: the best first, of equals (0 and -0 are) the first box, NaN last. */
START_TEST(nms_orders_any_number_of_boxes)
{
    enum { MOST = 600 };
    static const double special[] = {NAN,           INFINITY,       -INFINITY,      0,  -0.0,
                                     (double)3e38f, (double)-3e38f, (double)1e-45f, NAN};
    static double boxes[MOST * 4], scores[MOST];
    static bool taken[MOST];
    const size_t n = (size_t)_i;
    for (size_t i = 0; i < n; i++) {
        const double box[4] = {(double)i, 0, (double)i + 0.5, 1};
        memcpy(boxes + 4 * i, box, sizeof box);
        scores[i] = i % 5 == 4 ? special[i / 5 % 9] : (double)(i * 37 % 23) - 11;
        taken[i] = false;
    }
    char of_boxes[32], of_scores[32];
    snprintf(of_boxes, sizeof of_boxes, "1x%zux4", n);
    snprintf(of_scores, sizeof of_scores, "1x1x%zu", n);
    struct one_op *op = one_op_new("", "NonMaxSuppression", 11);
    one_op_in(op, OX_FLOAT32, of_boxes, boxes, 4 * n);
    one_op_in(op, OX_FLOAT32, of_scores, scores, n);
    ONE_OP_IN(op, OX_INT64, "1", MOST);
    RUN_OK(op, 1);
    ck_assert_uint_eq(one_op_out(op, 0)->n, 3 * n);
    for (size_t i = 0; i < n; i++) {
        size_t best = n;
        for (size_t k = n; k-- > 0;)
            if (!taken[k] && (best == n || isnan(scores[best]) || scores[k] >= scores[best]) &&
                !(best < n && isnan(scores[k]) && !isnan(scores[best])))
                best = k;
        taken[best] = true;
        ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), 3 * i + 2), (double)best);
    }
    one_op_free(op);
}
END_TEST

/* Boxes of a group are one; those of the best scores are all of the first, so that the others are found further on. */
START_TEST(nms_of_a_few_goes_on_behind_many_that_overlap)
{
    enum { N = 600, GROUPS = 7, MOST = 5 };
    static double boxes[N * 4], scores[N];
    const int first = 20 * _i;
    for (int i = 0; i < N; i++) {
        const int score = i * 37 % 101, group = score > first ? 0 : i % GROUPS;
        const double box[4] = {group, 0, group + 0.5, 1};
        memcpy(boxes + 4 * i, box, sizeof box);
        scores[i] = score;
    }
    struct one_op *op = one_op_new("", "NonMaxSuppression", 11);
    one_op_in(op, OX_FLOAT32, "1x600x4", boxes, OX_COUNT(boxes));
    one_op_in(op, OX_FLOAT32, "1x1x600", scores, N);
    ONE_OP_IN(op, OX_INT64, "1", MOST);
    ONE_OP_IN(op, OX_FLOAT32, "1", 0.5);
    RUN_OK(op, 1);
    ck_assert_uint_eq(one_op_out(op, 0)->n, 3 * MOST);
    bool taken[GROUPS] = {false};
    for (size_t k = 0; k < MOST; k++) {
        int best = -1;
        for (int i = 0; i < N; i++)
            if (!taken[(int)boxes[4 * i]] && (best < 0 || scores[i] > scores[best]))
                best = i;
        taken[(int)boxes[4 * best]] = true;
        ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), 3 * k + 2), best);
    }
    one_op_free(op);
}
END_TEST

START_TEST(nms_without_a_count_selects_nothing)
{
    struct one_op *op = one_op_new("", "NonMaxSuppression", 10);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x4", 0, 0, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT_EMPTY(op, 0, OX_INT64, "0x3");
    one_op_free(op);
}
END_TEST

static struct one_op *nll(double target, const char *reduction)
{
    struct one_op *op = one_op_new("", "NegativeLogLikelihoodLoss", 13);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "2", 1, target);
    ONE_OP_IN(op, OX_FLOAT32, "2", 10, 1);
    one_op_string(op, "reduction", reduction);
    return op;
}

START_TEST(losses_check_targets_unless_they_are_ignored)
{
    RUN_FAILS(nll(2, "mean"), 1, "target 1 is 2");
    RUN_FAILS(nll(-1, "mean"), 1, "target 1 is -1");
    RUN_FAILS(nll(0, "median"), 1, "reduction 'median'");
    struct one_op *op = nll(-7, "mean");
    one_op_int(op, "ignore_index", -7);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "", 0, -2);
    one_op_free(op);
    op = nll(0, "mean");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "", 1e-6, -32.0 / 11);
    one_op_free(op);
}
END_TEST

START_TEST(cross_entropy_is_stable_for_large_scores)
{
    struct one_op *op = one_op_new("", "SoftmaxCrossEntropyLoss", 12);
    ONE_OP_IN(op, OX_FLOAT64, "1x2", 1000, 1000);
    ONE_OP_IN(op, OX_INT32, "1", 0);
    one_op_string(op, "reduction", "none");
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1", 1e-15, log(2));
    ONE_OP_OUT(op, 1, OX_FLOAT64, "1x2", 1e-15, -log(2), -log(2));
    one_op_free(op);
}
END_TEST

START_TEST(momentum_counts_its_gradient_whole_at_first)
{
    for (int t = 0; t < 2; t++) {
        struct one_op *op = one_op_new("ai.onnx.preview.training", "Momentum", 1);
        ONE_OP_IN(op, OX_FLOAT32, "", 0.5);
        ONE_OP_IN(op, OX_INT64, "", (double)t);
        ONE_OP_IN(op, OX_FLOAT32, "1", 8);
        ONE_OP_IN(op, OX_FLOAT32, "1", 4);
        ONE_OP_IN(op, OX_FLOAT32, "1", 2);
        one_op_float(op, "norm_coefficient", 0);
        one_op_float(op, "alpha", 0.5f);
        one_op_float(op, "beta", 0.25f);
        one_op_string(op, "mode", "standard");
        RUN_OK(op, 2);
        ONE_OP_OUT(op, 0, OX_FLOAT32, "1", 0, t ? 7 : 5.5);
        ONE_OP_OUT(op, 1, OX_FLOAT32, "1", 0, t ? 2 : 5);
        one_op_free(op);
    }
}
END_TEST

START_TEST(training_steps_check_their_sets)
{
    struct one_op *op = one_op_new("ai.onnx.preview.training", "Adam", 1);
    ONE_OP_IN(op, OX_FLOAT32, "", 0.5);
    ONE_OP_IN(op, OX_INT64, "", 0);
    ONE_OP_IN(op, OX_FLOAT32, "1", 8);
    ONE_OP_IN(op, OX_FLOAT32, "2", 4, 4);
    ONE_OP_IN(op, OX_FLOAT32, "1", 2);
    ONE_OP_IN(op, OX_FLOAT32, "1", 2);
    RUN_FAILS(op, 3, "input 3");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("detect");
    TCase *tc = tcase_create("detect");
    tcase_add_test(tc, max_roi_pool_rounds_bins_outward);
    tcase_add_test(tc, regions_name_an_image_that_is_not_there);
    tcase_add_test(tc, roi_align_of_a_huge_region_ends);
    tcase_add_loop_test(tc, roi_align_of_many_channels_is_that_of_each, 0, 2);
    tcase_add_test(tc, nms_keeps_the_first_of_equals_and_an_overlap_at_the_threshold);
    tcase_add_loop_test(tc, nms_orders_any_number_of_boxes, 1, 200);
    tcase_add_loop_test(tc, nms_orders_any_number_of_boxes, 509, 520);
    tcase_add_loop_test(tc, nms_of_a_few_goes_on_behind_many_that_overlap, 0, 6);
    tcase_add_test(tc, nms_without_a_count_selects_nothing);
    tcase_add_test(tc, losses_check_targets_unless_they_are_ignored);
    tcase_add_test(tc, cross_entropy_is_stable_for_large_scores);
    tcase_add_test(tc, momentum_counts_its_gradient_whole_at_first);
    tcase_add_test(tc, training_steps_check_their_sets);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
