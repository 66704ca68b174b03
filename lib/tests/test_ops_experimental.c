/* Operators that left the standard and that onnxruntime still runs until opset 9. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

static struct one_op *old(const char *name)
{
    return one_op_new("", name, 7);
}

START_TEST(functions_of_one_number)
{
    static const struct {
        const char *name, *attrs[2];
        double expected[3]; /* of -1, 0, 2 */
    } rows[] = {
        {"Affine", {"alpha", "beta"}, {-1, 0.5, 3.5}},
        {"Scale", {"scale"}, {-1.5, 0, 3}},
        {"ScaledTanh", {"alpha", "beta"}, {-0.69317574, 0, 1.1423912}},
        {"ParametricSoftplus", {"alpha", "beta"}, {0.71111548, 1.0397208, 1.9698925}},
    };
    struct one_op *op = old(rows[_i].name);
    one_op_float(op, rows[_i].attrs[0], 1.5f);
    if (rows[_i].attrs[1])
        one_op_float(op, rows[_i].attrs[1], 0.5f);
    ONE_OP_IN(op, OX_FLOAT32, "3x1", -1, 0, 2);
    RUN_OK(op, 1);
    one_op_expect(op, 0, OX_FLOAT32, "3x1", 1e-6, rows[_i].expected, 3);
    one_op_free(op);
}
END_TEST

START_TEST(without_coefficients_some_pass_and_some_are_refused)
{
    struct one_op *op = old("Affine");
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, -INFINITY);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2", 0, 1, -INFINITY);
    one_op_free(op);
    op = old("ScaledTanh");
    one_op_float(op, "alpha", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    RUN_FAILS(op, 1, "attribute 'beta' is missing");
}
END_TEST

START_TEST(images_are_scaled_and_biased_by_channel)
{
    struct one_op *op = old("ImageScaler");
    one_op_float(op, "scale", 2);
    ONE_OP_FLOATS(op, "bias", 1, -10);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1x2", 1, 2, 3, 4, 5, 6, 7, 8);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2x1x2", 0, 3, 5, -4, -2, 11, 13, 4, 6);
    one_op_free(op);
    op = old("ImageScaler");
    ONE_OP_FLOATS(op, "bias", 1, 2);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "1x2x0x3");
    RUN_OK(op, 1);
    one_op_expect(op, 0, OX_FLOAT32, "1x2x0x3", 0, NULL, 0);
    one_op_free(op);
}
END_TEST

START_TEST(a_bias_for_other_channels_is_refused)
{
    struct one_op *op = old("ImageScaler");
    ONE_OP_FLOATS(op, "bias", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x1x1", 1, 2);
    RUN_FAILS(op, 1, "bias has 1 elements for 2 channels");
    op = old("ImageScaler");
    ONE_OP_FLOATS(op, "bias", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 1);
    RUN_FAILS(op, 1, "the input has rank 3, not 4");
}
END_TEST

START_TEST(borders_are_left_top_right_bottom)
{
    struct one_op *op = old("Crop");
    ONE_OP_INTS(op, "border", 1, 0, 0, 1);
    ONE_OP_IN(op, OX_FLOAT16, "1x1x2x3", 1, 2, 3, 4, 5, 6);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "1x1x1x2", 0, 2, 3);
    one_op_free(op);
    op = old("Crop"); /* a height and width in place of the last two */
    ONE_OP_INTS(op, "border", 1, 1, 99, 99);
    ONE_OP_INTS(op, "scale", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x3", 1, 2, 3, 4, 5, 6);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1x2", 0, 5, 6);
    one_op_free(op);
}
END_TEST

START_TEST(borders_that_do_not_fit_are_refused)
{
    static const struct {
        int64_t border[4], scale[2];
        size_t n_border, n_scale;
        const char *words;
    } rows[] = {
        {{0}, {0}, 0, 0, "border is not four"},
        {{0, 0, 0}, {0}, 3, 0, "border is not four"},
        {{0, -1, 0, 0}, {0}, 4, 0, "border is not four"},
        {{0, 0, 0, 0}, {1}, 4, 1, "scale is not two"},
        {{0, 0, 0, 0}, {1, -1}, 4, 2, "scale is not two"},
        {{2, 0, 2, 0}, {0}, 4, 0, "the width of 3"},
        {{0, INT64_MAX, 0, INT64_MAX}, {0}, 4, 0, "the height of 2"},
        {{0, 1, 0, 0}, {INT64_MAX, 1}, 4, 2, "the height of 2"},
    };
    struct one_op *op = old("Crop");
    if (rows[_i].n_border)
        one_op_ints(op, "border", rows[_i].border, rows[_i].n_border);
    if (rows[_i].n_scale)
        one_op_ints(op, "scale", rows[_i].scale, rows[_i].n_scale);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x3", 1, 2, 3, 4, 5, 6);
    RUN_FAILS(op, 1, rows[_i].words);
}
END_TEST

START_TEST(bounds_of_a_slice_are_inputs)
{
    struct one_op *op = old("DynamicSlice");
    ONE_OP_IN(op, OX_FLOAT32, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_INT32, "1", -2);
    ONE_OP_IN(op, OX_INT32, "1", 1000);
    ONE_OP_IN(op, OX_INT32, "1", -1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 2, 3, 5, 6);
    one_op_free(op);
}
END_TEST

static const char images[] =
    "<ir_version: 4, opset_import: [\"\" : %d]> g (float[n,2,h,6] x) => (float[n,2,a,b] y) {"
    " s = ImageScaler <scale = 2.0, bias = [1.0, -1.0]> (x)"
    " y = Crop <border = [1, 1, 2, 0]> (s) }";

START_TEST(models_with_them_run_until_opset_9)
{
    char text[512];
    struct text_run f;
    snprintf(text, sizeof text, images, 9);
    text_must_plan(&f, text, &(struct ox_run_options){.level = 2 * _i});
    text_give(&f, OX_FLOAT32, 4, (const int64_t[]){1, 2, 2, 6}, (const float[24]){[7] = 3});
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    ck_assert_uint_eq(y->n, 6);
    ck_assert_float_eq(((const float *)y->data)[0], 7);
    ck_assert_float_eq(((const float *)y->data)[3], -1);
    text_close(&f);
    snprintf(text, sizeof text, images, 10);
    text_open(&f, text);
    ck_assert_int_eq(text_plan(&f, NULL), OX_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(f.err.message, "deprecated since opset 10"));
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_experimental");
    TCase *tests = tcase_create("experimental");
    tcase_add_loop_test(tests, functions_of_one_number, 0, 4);
    tcase_add_test(tests, without_coefficients_some_pass_and_some_are_refused);
    tcase_add_test(tests, images_are_scaled_and_biased_by_channel);
    tcase_add_test(tests, a_bias_for_other_channels_is_refused);
    tcase_add_test(tests, borders_are_left_top_right_bottom);
    tcase_add_loop_test(tests, borders_that_do_not_fit_are_refused, 0, 8);
    tcase_add_test(tests, bounds_of_a_slice_are_inputs);
    tcase_add_loop_test(tests, models_with_them_run_until_opset_9, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
