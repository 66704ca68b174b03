/* Convolutions and pools: odd windows, old versions, errors. Wide shapes are compared with the plain definition. */
#include <math.h>
#include <stdlib.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"

static uint32_t state = 7;

static void add_random(struct one_op *op, enum ox_dtype dtype, const char *shape, size_t n,
                       double *values)
{
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = (double)(int)(state >> 24) - 128;
    }
    one_op_in(op, dtype, shape, values, n);
}

struct conv_case {
    const char *x, *w;
    size_t batch, channels, size[2], maps, kernel[2], groups;
    int64_t stride[2], dilation[2], pads[4];
};

static const struct conv_case conv_cases[] = {
    {"2x3x9x11", "5x3x3x3", 2, 3, {9, 11}, 5, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"1x4x20x20", "8x2x5x3", 1, 4, {20, 20}, 8, {5, 3}, 2, {2, 3}, {2, 1}, {3, 0, 4, 1}},
    {"1x6x8x40", "6x1x3x5", 1, 6, {8, 40}, 6, {3, 5}, 6, {1, 2}, {1, 2}, {1, 4, 1, 4}},
    {"1x40x6x6", "130x40x3x3", 1, 40, {6, 6}, 130, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"3x5x7x7", "9x5x1x1", 3, 5, {7, 7}, 9, {1, 1}, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"1x2x1x1", "3x2x4x4", 1, 2, {1, 1}, 3, {4, 4}, 1, {3, 3}, {1, 1}, {4, 4, 4, 4}}};

static double tap_sum(const struct conv_case *c, const double *x, const double *w, size_t b,
                      size_t m, int64_t oy, int64_t ox)
{
    size_t per = c->channels / c->groups, group = m / (c->maps / c->groups);
    double sum = 0;
    for (size_t k = 0; k < per; k++)
        for (int64_t i = 0; i < (int64_t)c->kernel[0]; i++)
            for (int64_t j = 0; j < (int64_t)c->kernel[1]; j++) {
                int64_t y = oy * c->stride[0] - c->pads[0] + i * c->dilation[0];
                int64_t z = ox * c->stride[1] - c->pads[1] + j * c->dilation[1];
                if (y < 0 || z < 0 || y >= (int64_t)c->size[0] || z >= (int64_t)c->size[1])
                    continue;
                size_t at =
                    ((b * c->channels + group * per + k) * c->size[0] + (size_t)y) * c->size[1] +
                    (size_t)z;
                sum += x[at] *
                       w[((m * per + k) * c->kernel[0] + (size_t)i) * c->kernel[1] + (size_t)j];
            }
    return sum;
}

/* Small integers: every product and sum is exact, so that all types must agree to the bit. */
static void check_conv(const struct conv_case *c, enum ox_dtype dtype)
{
    static double x[1 << 16], w[1 << 17];
    struct one_op *op = one_op_new("", dtype == OX_INT8 ? "ConvInteger" : "Conv", 11);
    add_random(op, dtype, c->x, c->batch * c->channels * c->size[0] * c->size[1], x);
    add_random(op, dtype, c->w, c->maps * (c->channels / c->groups) * c->kernel[0] * c->kernel[1],
               w);
    one_op_int(op, "group", (int64_t)c->groups);
    one_op_ints(op, "strides", c->stride, 2);
    one_op_ints(op, "dilations", c->dilation, 2);
    one_op_ints(op, "pads", c->pads, 4);
    RUN_OK(op, 1);
    const struct ox_tensor *y = one_op_out(op, 0);
    for (size_t i = 0; i < y->n; i++) {
        size_t width = (size_t)y->dims[3], plane = width * (size_t)y->dims[2];
        double want = tap_sum(c, x, w, i / plane / c->maps, i / plane % c->maps,
                              (int64_t)(i % plane / width), (int64_t)(i % width));
        double got = ox_tensor_get_double(y, i);
        ck_assert_msg(got == want, "%s by %s at %zu: %g, not %g", c->x, c->w, i, got, want);
    }
    one_op_free(op);
}

START_TEST(convolution_is_its_definition)
{
    check_conv(&conv_cases[_i], OX_FLOAT32);
    check_conv(&conv_cases[_i], OX_FLOAT64);
    check_conv(&conv_cases[_i], OX_INT8);
}
END_TEST

START_TEST(convolution_over_one_and_three_axes)
{
    struct one_op *op = one_op_new("", "Conv", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x4", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 10);
    ONE_OP_IN(op, OX_FLOAT32, "1", 0.5);
    one_op_string(op, "auto_pad", "SAME_LOWER");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x4", 0, 10.5, 21.5, 32.5, 43.5);
    one_op_free(op);
    op = one_op_new("", "Conv", 11);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x2x2", 1, 1, 1, 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1x1x1", 0, 10);
    one_op_free(op);
}
END_TEST

static struct one_op *small_conv(const char *attr, int64_t value, size_t n)
{
    int64_t list[4] = {value, value, value, value};
    struct one_op *op = one_op_new("", "Conv", 11);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x2", 1, 1, 1, 1);
    if (n)
        one_op_ints(op, attr, list, n);
    else if (attr)
        one_op_int(op, attr, value);
    return op;
}

START_TEST(convolution_names_what_does_not_fit)
{
    RUN_FAILS(small_conv("strides", 0, 2), 1, "strides[0] is 0");
    RUN_FAILS(small_conv("dilations", 0, 2), 1, "dilations[0] is 0");
    RUN_FAILS(small_conv("dilations", 5, 2), 1, "spans 6");
    RUN_FAILS(small_conv("pads", -1, 4), 1, "pads[0] is -1");
    RUN_FAILS(small_conv("pads", 1, 3), 1, "pads has 3 values");
    RUN_FAILS(small_conv("kernel_shape", 3, 2), 1, "kernel_shape[0] is 3");
    RUN_FAILS(small_conv("group", 2, 0), 1, "2 groups");
    RUN_FAILS(small_conv("group", 0, 0), 1, "0 groups");
    struct one_op *op = small_conv("dilations", INT64_MAX, 2);
    RUN_FAILS(op, 1, "dilations[0]");
}
END_TEST

START_TEST(convolution_of_no_image)
{
    struct one_op *op = one_op_new("", "Conv", 11);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x1x4");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 1);
    RUN_OK(op, 1);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "0x1x3");
    one_op_free(op);
}
END_TEST

START_TEST(transposed_convolution_by_output_shape)
{
    struct one_op *op = one_op_new("", "ConvTranspose", 11);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x3", 1, 10, 100);
    ONE_OP_INTS(op, "strides", 2);
    ONE_OP_INTS(op, "output_shape", 4);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x4", 0, 10, 102, 20, 200);
    one_op_free(op);
}
END_TEST

START_TEST(transposed_convolution_in_groups_over_one_axis)
{
    struct one_op *op = one_op_new("", "ConvTranspose", 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT64, "2x1x2", 1, 10, 1, 100);
    ONE_OP_IN(op, OX_FLOAT64, "2", 0, 1000);
    ONE_OP_INTS(op, "output_padding", 1);
    ONE_OP_INTS(op, "strides", 2);
    one_op_int(op, "group", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x2x5", 0, 1, 10, 2, 20, 0, 1003, 1300, 1004, 1400, 1000);
    one_op_free(op);
}
END_TEST

START_TEST(quantized_convolution_scales_by_channel)
{
    struct one_op *op = one_op_new("", "QLinearConv", 10);
    ONE_OP_IN(op, OX_UINT8, "1x1x2", 12, 14);
    ONE_OP_IN(op, OX_FLOAT32, "", 0.5);
    ONE_OP_IN(op, OX_UINT8, "", 10);
    ONE_OP_IN(op, OX_INT8, "2x1x1", 3, 5);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_INT8, "2", 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    ONE_OP_IN(op, OX_UINT8, "", 100);
    ONE_OP_IN(op, OX_INT32, "2", 1, 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_UINT8, "1x2x2", 0, 104, 106, 110, 118);
    one_op_free(op);
}
END_TEST

/* ---- Pools ------------------------------------------------------------------------------------------------------ */

static struct one_op *pool(const char *name, int64_t opset, int64_t kernel, int64_t stride)
{
    struct one_op *op = one_op_new("", name, opset);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x5", 1, -3, 2, 5, 4);
    ONE_OP_INTS(op, "kernel_shape", kernel);
    ONE_OP_INTS(op, "strides", stride);
    return op;
}

START_TEST(max_pool_in_ceil_mode_never_starts_in_padding)
{
    struct one_op *op = pool("MaxPool", 10, 2, 2);
    one_op_int(op, "ceil_mode", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x3", 0, 1, 5, 4);
    one_op_free(op);
    op = pool("MaxPool", 10, 1, 3);
    one_op_int(op, "ceil_mode", 1);
    ONE_OP_INTS(op, "pads", 0, 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 0, 1, 5);
    one_op_free(op);
}
END_TEST

START_TEST(max_pool_indices_count_by_storage_order)
{
    for (int64_t order = 0; order < 2; order++) {
        struct one_op *op = one_op_new("", "MaxPool", 12);
        ONE_OP_IN(op, OX_INT8, "2x1x2x3", 1, 9, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6);
        ONE_OP_INTS(op, "kernel_shape", 2, 2);
        one_op_int(op, "storage_order", order);
        RUN_OK(op, 2);
        ONE_OP_OUT(op, 0, OX_INT8, "2x1x1x2", 0, 9, 9, -1, -2);
        if (order)
            ONE_OP_OUT(op, 1, OX_INT64, "2x1x1x2", 0, 2, 2, 6, 8);
        else
            ONE_OP_OUT(op, 1, OX_INT64, "2x1x1x2", 0, 1, 1, 6, 7);
        one_op_free(op);
    }
}
END_TEST

START_TEST(max_pool_passes_over_nan)
{
    struct one_op *op = one_op_new("", "MaxPool", 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x4", (double)NAN, 7, (double)NAN, (double)NAN);
    ONE_OP_INTS(op, "kernel_shape", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x3", 0, 7, 7, (double)NAN);
    one_op_free(op);
}
END_TEST

START_TEST(average_pool_counts_padding_when_told)
{
    struct one_op *op = pool("AveragePool", 7, 2, 4);
    ONE_OP_INTS(op, "pads", 1, 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 0, 1, 4.5);
    one_op_free(op);
    op = pool("AveragePool", 7, 2, 4);
    ONE_OP_INTS(op, "pads", 1, 0);
    one_op_int(op, "count_include_pad", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 0, 0.5, 4.5);
    one_op_free(op);
}
END_TEST

START_TEST(lp_pool_1_has_a_fractional_power)
{
    struct one_op *op = pool("LpPool", 1, 2, 3);
    one_op_float(op, "p", 0.5f);
    RUN_OK(op, 1);
    double first = pow(1 + sqrt(3), 2), second = pow(sqrt(5) + 2, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 1e-6, first, second);
    one_op_free(op);
    op = one_op_new("", "GlobalLpPool", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 3, -4);
    one_op_float(op, "p", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 0, 5);
    one_op_free(op);
}
END_TEST

START_TEST(lp_pool_of_cubes)
{
    struct one_op *op = one_op_new("", "LpPool", 18);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x3", -1, 2, -3);
    ONE_OP_INTS(op, "kernel_shape", 2);
    one_op_int(op, "p", 3);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 1e-6, cbrt(9), cbrt(35));
    one_op_free(op);
}
END_TEST

START_TEST(pools_name_what_does_not_fit)
{
    RUN_FAILS(pool("MaxPool", 12, 6, 1), 1, "spans 6");
    RUN_FAILS(pool("MaxPool", 12, 0, 1), 1, "kernel_shape[0] is 0");
    RUN_FAILS(pool("AveragePool", 11, 2, -1), 1, "strides[0] is -1");
    struct one_op *op = pool("LpPool", 11, 2, 1);
    one_op_int(op, "p", 0);
    RUN_FAILS(op, 1, "p is 0");
}
END_TEST

START_TEST(unpool_checks_indices)
{
    struct one_op *op = one_op_new("", "MaxUnpool", 11);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 5, 6);
    ONE_OP_IN(op, OX_INT64, "1x1x2", 1, 4);
    ONE_OP_INTS(op, "kernel_shape", 2);
    ONE_OP_INTS(op, "strides", 2);
    RUN_FAILS(op, 1, "I[1] is 4");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conv");
    TCase *tc = tcase_create("conv");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, convolution_is_its_definition, 0,
                        (int)(sizeof conv_cases / sizeof *conv_cases));
    tcase_add_test(tc, convolution_over_one_and_three_axes);
    tcase_add_test(tc, convolution_names_what_does_not_fit);
    tcase_add_test(tc, convolution_of_no_image);
    tcase_add_test(tc, transposed_convolution_by_output_shape);
    tcase_add_test(tc, transposed_convolution_in_groups_over_one_axis);
    tcase_add_test(tc, quantized_convolution_scales_by_channel);
    tcase_add_test(tc, max_pool_in_ceil_mode_never_starts_in_padding);
    tcase_add_test(tc, max_pool_indices_count_by_storage_order);
    tcase_add_test(tc, max_pool_passes_over_nan);
    tcase_add_test(tc, average_pool_counts_padding_when_told);
    tcase_add_test(tc, lp_pool_1_has_a_fractional_power);
    tcase_add_test(tc, lp_pool_of_cubes);
    tcase_add_test(tc, pools_name_what_does_not_fit);
    tcase_add_test(tc, unpool_checks_indices);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
