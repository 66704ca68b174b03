/* UnfoldTensor, ConvTransposeWithDynamicPads and MaxpoolWithMask of com.microsoft, with onnxruntime's values. */
#include <float.h>
#include <math.h>

#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define SIXTEEN 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15

static struct one_op *ms(const char *name)
{
    return one_op_new("com.microsoft", name, 1);
}

static struct one_op *unfold(int64_t dim, int64_t size, int64_t step)
{
    struct one_op *op = ms("UnfoldTensor");
    ONE_OP_IN(op, OX_INT16, "2x5", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    one_op_int(op, "dim", dim);
    one_op_int(op, "size", size);
    one_op_int(op, "step", step);
    return op;
}

START_TEST(slices_stand_side_by_side)
{
    static const char *const texts[] = {"a", "b", "c"}, *const pairs[] = {"a", "b", "b", "c"};
    struct one_op *op = unfold(-1, 2, 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT16, "2x2x2", 0, 0, 1, 2, 3, 5, 6, 7, 8);
    one_op_free(op);
    op = unfold(0, 2, INT64_MAX);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT16, "1x5x2", 0, 0, 5, 1, 6, 2, 7, 3, 8, 4, 9);
    one_op_free(op);
    op = ms("UnfoldTensor");
    one_op_in_strings(op, "3", texts, 3);
    one_op_int(op, "size", 2);
    RUN_OK(op, 1);
    one_op_expect_strings(op, 0, "2x2", pairs, 4);
    one_op_free(op);
    RUN_FAILS(unfold(0, 3, 1), 1, "no slices of 3 every 1 of 2 elements");
    RUN_FAILS(unfold(0, 1, 0), 1, "every 0");
    RUN_FAILS(unfold(0, -1, 1), 1, "no slices of -1");
    op = ms("UnfoldTensor");
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    one_op_int(op, "size", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    one_op_free(op);
}
END_TEST

static struct one_op *transposed(const char *pads, size_t n)
{
    static const double values[] = {0, 1, 1, 0};
    struct one_op *op = ms("ConvTransposeWithDynamicPads");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x4x4", SIXTEEN);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x2", 1, 1, 1, 1);
    if (pads)
        one_op_in(op, OX_INT64, pads, values, n);
    else
        one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    return op;
}

START_TEST(pads_are_an_input)
{
    struct one_op *op = transposed("4", 4);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x4x4", 0, 2, 4, 6, 4, 11, 15, 19, 11, 27, 31, 35, 19, 43, 47,
               51, 27);
    one_op_free(op);
    RUN_FAILS(transposed("3", 3), 1, "Pads has not two values");
    RUN_FAILS(transposed(NULL, 0), 1, "Pads has not two values");
}
END_TEST

/* -O2 against -O0, where pads come as the model runs. */
START_TEST(pads_of_products_abreast)
{
    enum { CHANNELS = 3, SIZE = 7, WEIGHTS = CHANNELS * 4 * 9 };
    static const char text[] =
        "<ir_version: 10, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> g (float[1, 3, 7, 7] "
        "x, "
        "float[3, 4, 3, 3] w, int64[4] p) => (float[N, M, H, W] y) "
        "{ y = com.microsoft.ConvTransposeWithDynamicPads <strides = [2, 2]> (x, w, p) }";
    static const int64_t pads[] = {1, 0, 0, 1};
    float x[CHANNELS * SIZE * SIZE], w[WEIGHTS];
    struct text_run f[2];
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = (float)(i * 37 % 41) / 16 - 1;
    for (size_t i = 0; i < WEIGHTS; i++)
        w[i] = (float)(i * 29 % 31) / 16 - 1;
    for (int k = 0; k < 2; k++) {
        const struct ox_run_options options = {.level = 2 * k};
        text_must_plan(&f[k], text, &options);
        text_give(&f[k], OX_FLOAT32, 4, (const int64_t[]){1, CHANNELS, SIZE, SIZE}, x);
        text_give(&f[k], OX_FLOAT32, 4, (const int64_t[]){CHANNELS, 4, 3, 3}, w);
        text_give(&f[k], OX_INT64, 1, (const int64_t[]){4}, pads);
        text_must_run(&f[k]);
    }
    const struct ox_tensor *slow = ox_datum_get_tensor(f[0].out[0]);
    const struct ox_tensor *fast = ox_datum_get_tensor(f[1].out[0]);
    ck_assert_uint_eq(slow->n, 4 * 14 * 14);
    ck_assert_uint_eq(fast->n, slow->n);
    for (size_t i = 0; i < slow->n; i++)
        ck_assert_double_eq_tol(ox_tensor_get_double(slow, i), ox_tensor_get_double(fast, i), 1e-5);
    text_close(&f[0]);
    text_close(&f[1]);
}
END_TEST

static struct one_op *masked(const char *mask, double at_0)
{
    struct one_op *op = ms("MaxpoolWithMask");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x4x4", SIXTEEN);
    ONE_OP_IN(op, OX_INT32, mask, at_0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1);
    ONE_OP_INTS(op, "kernel_shape", 2, 2);
    return op;
}

START_TEST(windows_end_at_the_mask)
{
    struct one_op *op = masked("1x1x4x4", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x3x3", 0, 4, 2, 7, 9, 10, 10, 13, 14, 15);
    one_op_free(op);
    op = masked("1x1x4x4", 1);
    ONE_OP_INTS(op, "strides", 2, 2);
    ONE_OP_INTS(op, "pads", 1, 1, 0, 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2x2", 0, 0, 2, 8, 10);
    one_op_free(op);
    op = ms("MaxpoolWithMask");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x4", 3, 4, 5, 6);
    ONE_OP_IN(op, OX_INT32, "1x1x4", 0, 0, 1, 0);
    ONE_OP_INTS(op, "kernel_shape", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x3", 0, -FLT_MAX, -FLT_MAX, 5);
    one_op_free(op);
    RUN_FAILS(masked("1x1x2x8", 1), 1, "the mask does not have the planes");
    RUN_FAILS(masked("4x4", 1), 1, "the mask does not have the planes");
}
END_TEST

/* A mask that leaves out a fourth, NaN among the values. */
static struct one_op *masked_geometry(enum ox_dtype dtype, size_t i)
{
    static const struct {
        const char *x, *mask;
        size_t n, n_mask, axes;
        int64_t kernel[3], stride[3], pads[6];
    } g[] = {{"2x3x37", "2x3x37", 222, 222, 1, {4}, {3}, {2, 3}},
             {"1x4x11x13", "1x2x11x13", 572, 286, 2, {3, 5}, {2, 1}, {1, 4, 2, 0}},
             {"2x2x9x17", "1x1x9x17", 612, 153, 2, {2, 3}, {3, 5}, {0, 2, 1, 1}},
             {"1x2x5x6x7", "1x1x5x6x7", 420, 210, 3, {2, 3, 2}, {1, 2, 2}, {1, 0, 1, 0, 1, 1}},
             {"1x2x3x2", "1x2x3x2", 12, 12, 2, {4, 7}, {1, 1}, {3, 6, 3, 6}}};
    double values[612], mask[612];
    uint32_t state = (uint32_t)i + 1;
    for (size_t k = 0; k < g[i].n; k++) {
        state = state * 1664525 + 1013904223;
        values[k] = state >> 28 == 5 ? NAN : (double)(state >> 20) / 64 - 32;
        mask[k] = state >> 18 & 3;
    }
    struct one_op *op = ms("MaxpoolWithMask");
    one_op_in(op, dtype, g[i].x, values, g[i].n);
    one_op_in(op, OX_INT32, g[i].mask, mask, g[i].n_mask);
    one_op_ints(op, "kernel_shape", g[i].kernel, g[i].axes);
    one_op_ints(op, "strides", g[i].stride, g[i].axes);
    one_op_ints(op, "pads", g[i].pads, 2 * g[i].axes);
    return op;
}

/* Floats go by lines, doubles by windows. */
START_TEST(masked_floats_are_as_doubles)
{
    struct one_op *f = masked_geometry(OX_FLOAT32, (size_t)_i),
                  *d = masked_geometry(OX_FLOAT64, (size_t)_i);
    RUN_OK(f, 1);
    RUN_OK(d, 1);
    const struct ox_tensor *lines = ox_datum_get_tensor(one_op_datum(f, 0));
    const struct ox_tensor *windows = ox_datum_get_tensor(one_op_datum(d, 0));
    ck_assert_uint_eq(lines->n, windows->n);
    for (size_t k = 0; k < lines->n; k++)
        ck_assert(ox_tensor_get_double(lines, k) == ox_tensor_get_double(windows, k));
    one_op_free(f);
    one_op_free(d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_contrib_windows");
    TCase *tcase = tcase_create("windows");
    tcase_add_test(tcase, slices_stand_side_by_side);
    tcase_add_test(tcase, pads_are_an_input);
    tcase_add_test(tcase, pads_of_products_abreast);
    tcase_add_test(tcase, windows_end_at_the_mask);
    tcase_add_loop_test(tcase, masked_floats_are_as_doubles, 0, 5);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
