/* Normalizations: old versions and odd shapes that ONNX's suite does not have. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

/* X [2,2,1]: channel 0 holds 1 and 3, channel 1 holds 10 and 30. */
static struct one_op *batch_norm(int64_t opset)
{
    struct one_op *op = one_op_new("", "BatchNormalization", opset);
    ONE_OP_IN(op, OX_FLOAT64, "2x2x1", 1, 10, 3, 30);
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT64, "2", 0, 5);
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, 0);
    ONE_OP_IN(op, OX_FLOAT64, "2", 4, 25);
    one_op_float(op, "epsilon", 0);
    one_op_float(op, "momentum", 0.5f);
    return op;
}

static void check_inference(struct one_op *op)
{
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2x2x1", 1e-15, 0, 9, 1, 17);
    one_op_free(op);
}

static void check_training(struct one_op *op, size_t n_outputs)
{
    RUN_OK(op, n_outputs);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2x2x1", 1e-15, -1, 3, 1, 7);
    ONE_OP_OUT(op, 1, OX_FLOAT64, "2", 1e-15, 1.5, 10);
    ONE_OP_OUT(op, 2, OX_FLOAT64, "2", 1e-15, 2.5, 62.5);
    if (n_outputs == 5) {
        ONE_OP_OUT(op, 3, OX_FLOAT64, "2", 1e-15, 2, 20);
        ONE_OP_OUT(op, 4, OX_FLOAT64, "2", 1e-15, 1, 100);
    }
    one_op_free(op);
}

/* Every channel of a row has its own factor. */
START_TEST(batch_norm_of_rows)
{
    struct one_op *op = one_op_new("", "BatchNormalization", 15);
    ONE_OP_IN(op, OX_FLOAT64, "2x3", 1, 10, 5, 3, 30, 7);
    ONE_OP_IN(op, OX_FLOAT64, "3", 1, 2, 3);
    ONE_OP_IN(op, OX_FLOAT64, "3", 0, 5, -1);
    ONE_OP_IN(op, OX_FLOAT64, "3", 1, 0, 6);
    ONE_OP_IN(op, OX_FLOAT64, "3", 4, 25, 1);
    one_op_float(op, "epsilon", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2x3", 1e-15, 0, 9, -4, 1, 17, 2);
    one_op_free(op);
}
END_TEST

START_TEST(batch_norm_before_7_trains_unless_is_test)
{
    struct one_op *op = batch_norm(_i);
    one_op_int(op, "is_test", 1);
    check_inference(op);
    check_training(batch_norm(_i), 5);
}
END_TEST

START_TEST(batch_norm_7_and_9_train_when_statistics_are_asked_for)
{
    check_inference(batch_norm(_i));
    check_training(batch_norm(_i), 5);
}
END_TEST

START_TEST(batch_norm_14_trains_by_attribute)
{
    check_inference(batch_norm(_i));
    struct one_op *op = batch_norm(_i);
    one_op_int(op, "training_mode", 1);
    check_training(op, 3);
}
END_TEST

START_TEST(batch_norm_7_without_spatial_has_statistics_a_position)
{
    struct one_op *op = one_op_new("", "BatchNormalization", 7);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 6, 20);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 10);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 2, 10);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 4, 25);
    one_op_float(op, "epsilon", 0);
    one_op_int(op, "spatial", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 0, 2, 21);
    one_op_free(op);
}
END_TEST

START_TEST(batch_norm_checks_parameters)
{
    struct one_op *op = one_op_new("", "BatchNormalization", 15);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    for (int i = 0; i < 4; i++)
        ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    RUN_FAILS(op, 1, "scale has 1 elements, not 2");
}
END_TEST

static struct one_op *group_norm(int64_t opset)
{
    struct one_op *op = one_op_new("", "GroupNormalization", opset);
    ONE_OP_IN(op, OX_FLOAT64, "1x4x1", 1, 3, 10, 30);
    one_op_int(op, "num_groups", 2);
    one_op_float(op, "epsilon", 0);
    return op;
}

START_TEST(group_norm_18_scales_groups_and_21_channels)
{
    struct one_op *op = group_norm(18);
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, 10);
    ONE_OP_IN(op, OX_FLOAT64, "2", 0, 100);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x4x1", 1e-15, -1, 1, 90, 110);
    one_op_free(op);
    op = group_norm(21);
    ONE_OP_IN(op, OX_FLOAT64, "4", 1, 10, 100, 1000);
    ONE_OP_IN(op, OX_FLOAT64, "4", 0, 1, 2, 3);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x4x1", 1e-15, -1, 11, -98, 1003);
    one_op_free(op);
    op = group_norm(21);
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, 1);
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, 1);
    RUN_FAILS(op, 1, "not 4");
}
END_TEST

START_TEST(models_run_the_deprecated_group_norm)
{
    struct text_run f;
    text_must_plan(&f,
                   "<ir_version: 9, opset_import: [\"\" : 20]> g (float[n,4] x) => (float[n,4] y)"
                   " <float[2] scale = {1.0, 10.0}, float[2] shift = {0.0, 100.0}>"
                   " { y = GroupNormalization <num_groups = 2, epsilon = 0.0> (x, scale, shift) }",
                   &(struct ox_run_options){.level = 2 * _i});
    text_give(&f, OX_FLOAT32, 2, (const int64_t[]){1, 4}, (const float[]){1, 3, 10, 30});
    text_must_run(&f);
    const float *y = ox_datum_get_tensor(f.out[0])->data;
    const float expected[] = {-1, 1, 90, 110};
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq_tol(y[i], expected[i], 1e-4f);
    text_close(&f);
}
END_TEST

START_TEST(layer_norm_broadcasts_scale_over_x)
{
    struct one_op *op = one_op_new("", "LayerNormalization", 17);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 3, 10, 30);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 10);
    ONE_OP_IN(op, OX_FLOAT32, "1", 5);
    one_op_float(op, "epsilon", 0);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 1e-6, 4, 6, -5, 15);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "2x1", 1e-6, 2, 20);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "2x1", 1e-6, 1, 0.1);
    one_op_free(op);
}
END_TEST

START_TEST(layer_norm_over_all_axes_and_over_nothing)
{
    struct one_op *op = one_op_new("", "LayerNormalization", 17);
    ONE_OP_IN(op, OX_FLOAT64, "2x1", 1, 3);
    ONE_OP_IN(op, OX_FLOAT64, "2x1", 1, 10);
    one_op_int(op, "axis", 0);
    one_op_float(op, "epsilon", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2x1", 1e-15, -1, 10);
    one_op_free(op);
    op = one_op_new("", "LayerNormalization", 17);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x3");
    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 1, 1);
    RUN_OK(op, 2);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "0x3");
    ONE_OP_OUT_EMPTY(op, 1, OX_FLOAT32, "0x1");
    one_op_free(op);
}
END_TEST

START_TEST(rms_norm_takes_the_type_of_its_scale)
{
    struct one_op *op = one_op_new("", "RMSNormalization", 23);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 3, 4);
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, 10);
    one_op_float(op, "epsilon", 0);
    RUN_OK(op, 1);
    double root = sqrt(12.5);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x2", 1e-15, 3 / root, 40 / root);
    one_op_free(op);
}
END_TEST

START_TEST(mean_variance_over_given_axes)
{
    struct one_op *op = one_op_new("", "MeanVarianceNormalization", 9);
    ONE_OP_IN(op, OX_FLOAT64, "2x2", 1, 10, 3, 30);
    ONE_OP_INTS(op, "axes", -2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2x2", 1e-8, -1, -1, 1, 1);
    one_op_free(op);
}
END_TEST

START_TEST(lrn_of_even_size_reaches_further_up)
{
    struct one_op *op = one_op_new("", "LRN", 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x3", 1, 2, 3);
    one_op_int(op, "size", 2);
    one_op_float(op, "alpha", 2);
    one_op_float(op, "beta", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x3", 1e-15, 1.0 / 6, 2.0 / 14, 0.3);
    one_op_free(op);
}
END_TEST

START_TEST(lp_norm_of_zero_is_zero)
{
    struct one_op *op = one_op_new("", "LpNormalization", 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 0, 0, -1, 3);
    one_op_int(op, "p", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 0, 0, -0.25, 0.75);
    one_op_free(op);
}
END_TEST

/* Rows of more than a stretch that share a scale which is shorter than it, or longer, and short rows: as composed of smaller operators. */
START_TEST(norms_of_doubles_of_any_length)
{
    static const struct {
        int64_t dims[2];
    } cases[] = {{{3, 1100}}, {{40, 30}}, {{7, 3}}, {{5, 1}}};
    const int64_t *dims = cases[_i].dims;
    static double x[3300];
    struct dice d = {(uint64_t)_i + 1};
    for (int64_t i = 0; i < dims[0] * dims[1]; i++)
        x[i] = (double)dice_float(&d);
    struct text_run f;
    const struct ox_run_options options = {.level = 0};
    text_must_plan(
        &f,
        "<ir_version: 10, opset_import: [\"\" : 23]> g (double[N,C] x) => (double y) "
        "<double one = {1}> { axis = Constant <value_ints = [1]> () "
        "size = Shape(x) n = Gather(size, axis) c = Squeeze(n) wide = Cast <to = 11> (c) "
        "top = Add(wide, one) s = Range(one, top, one) "
        "eps = Constant <value_float = 0.5> () e = CastLike(eps, x) "
        "norm = LayerNormalization <epsilon = 0.5> (x, s, s) "
        "mean = ReduceMean(x, axis) apart = Sub(x, mean) square = Mul(apart, apart) "
        "variance = ReduceMean(square, axis) v = Add(variance, e) root = Sqrt(v) "
        "unit = Div(apart, root) scaled = Mul(unit, s) want = Add(scaled, s) "
        "off = Sub(norm, want) most = Abs(off) y = ReduceMax <keepdims = 0> (most) }",
        &options);
    text_give(&f, OX_FLOAT64, 2, dims, x);
    text_must_run(&f);
    ck_assert_double_lt(*(const double *)ox_datum_get_tensor(f.out[0])->data, 1e-11);
    text_close(&f);
}
END_TEST

START_TEST(a_mean_between_two_floats_is_not_rounded)
{
    struct one_op *op = one_op_new("", "InstanceNormalization", 6);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 100, 100 + 0x1p-17);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1", 0);
    one_op_float(op, "epsilon", 1e-12F);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 1e-6, -0.96731548, 0.96731548);
    one_op_free(op);
}
END_TEST

/* Rows of _i + 1 floats, of which one is zeros, one large and one small. */
START_TEST(lp_normalization_of_rows_of_any_length)
{
    enum { ROWS = 150, MOST = 40 };
    const int64_t n = _i + 1;
    float x[ROWS * MOST], out[2][ROWS * MOST];
    char text[200];
    struct dice d = {(uint64_t)_i};
    for (int64_t i = 0; i < ROWS * n; i++)
        x[i] = dice_float(&d);
    for (int64_t i = 0; i < n; i++) {
        x[3 * n + i] = 0;
        x[70 * n + i] *= 1e30f;
        x[140 * n + i] *= 1e-38f;
    }
    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 18]> g (float[M,N] x) => (float[M,N] y) "
             "{ y = LpNormalization <p = %d> (x) }",
             _i % 2 + 1);
    for (int level = 0; level <= 2; level += 2) {
        struct text_run run;
        text_must_plan(&run, text, &(struct ox_run_options){.level = level});
        text_give(&run, OX_FLOAT32, 2, (const int64_t[]){ROWS, n}, x);
        text_must_run(&run);
        memcpy(out[level / 2], ox_datum_get_tensor(run.out[0])->data,
               (size_t)(ROWS * n) * sizeof(float));
        text_close(&run);
    }
    for (int64_t i = 0; i < ROWS * n; i++)
        ck_assert_msg(fabsf(out[0][i] - out[1][i]) <= 2e-7f, "%d: %g, not %g", (int)i, out[1][i],
                      out[0][i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("norm");
    TCase *tc = tcase_create("norm");
    tcase_add_loop_test(tc, batch_norm_before_7_trains_unless_is_test, 1, 7);
    tcase_add_loop_test(tc, batch_norm_7_and_9_train_when_statistics_are_asked_for, 7, 14);
    tcase_add_loop_test(tc, batch_norm_14_trains_by_attribute, 14, 16);
    tcase_add_test(tc, batch_norm_7_without_spatial_has_statistics_a_position);
    tcase_add_test(tc, batch_norm_of_rows);
    tcase_add_test(tc, batch_norm_checks_parameters);
    tcase_add_test(tc, group_norm_18_scales_groups_and_21_channels);
    tcase_add_loop_test(tc, models_run_the_deprecated_group_norm, 0, 2);
    tcase_add_loop_test(tc, lp_normalization_of_rows_of_any_length, 0, 40);
    tcase_add_test(tc, layer_norm_broadcasts_scale_over_x);
    tcase_add_test(tc, layer_norm_over_all_axes_and_over_nothing);
    tcase_add_test(tc, rms_norm_takes_the_type_of_its_scale);
    tcase_add_test(tc, mean_variance_over_given_axes);
    tcase_add_test(tc, lrn_of_even_size_reaches_further_up);
    tcase_add_test(tc, lp_norm_of_zero_is_zero);
    tcase_add_loop_test(tc, norms_of_doubles_of_any_length, 0, 4);
    tcase_add_test(tc, a_mean_between_two_floats_is_not_rounded);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
