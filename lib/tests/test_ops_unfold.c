/* Col2Im and MaxUnpool of many sizes, beside sums and stores one by one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

enum { MOST = 4096, AXES = 2 };

struct unfolding {
    size_t images, channels;
    int64_t size[AXES], block[AXES], stride[AXES], dilation[AXES], pads[2 * AXES];
};

static const struct unfolding unfoldings[] = {
    {2, 3, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {1, 2, {8, 16}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {1, 1, {11, 40}, {3, 2}, {1, 2}, {2, 3}, {0, 1, 2, 0}},
    {1, 4, {5, 5}, {5, 5}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {3, 1, {9, 6}, {1, 4}, {4, 1}, {1, 1}, {2, 3, 1, 0}},
    {1, 2, {6, 33}, {2, 3}, {3, 5}, {1, 4}, {0, 0, 0, 4}},
    {1,
     2,
     {12, 45},
     {2, 3},
     {2, 2},
     {1, 1},
     {1, 1, 1, 1}}, /* whole vectors of both kinds, and their ends */
    {2, 1, {4, 47}, {3, 3}, {1, 1}, {1, 1}, {0, 1, 1, 0}},
};

static int64_t places(const struct unfolding *u, unsigned d)
{
    const int64_t room = u->size[d] + u->pads[d] + u->pads[AXES + d];
    return (room - u->dilation[d] * (u->block[d] - 1) - 1) / u->stride[d] + 1;
}

/* Adds every element of the columns to the pixel that it was taken from. */
static void fold(const struct unfolding *u, const double *columns, double *out)
{
    const int64_t ny = places(u, 0), nx = places(u, 1), taps = u->block[0] * u->block[1];
    for (size_t c = 0; c < u->images * u->channels; c++)
        for (int64_t t = 0; t < taps; t++)
            for (int64_t p = 0; p < ny * nx; p++) {
                const double v = *columns++;
                const int64_t y =
                    p / nx * u->stride[0] + t / u->block[1] * u->dilation[0] - u->pads[0];
                const int64_t x =
                    p % nx * u->stride[1] + t % u->block[1] * u->dilation[1] - u->pads[1];
                if (y >= 0 && y < u->size[0] && x >= 0 && x < u->size[1])
                    out[((int64_t)c * u->size[0] + y) * u->size[1] + x] += v;
            }
}

START_TEST(columns_are_added_to_their_pixels)
{
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_INT32, OX_FLOAT16};
    const struct unfolding *u = &unfoldings[(size_t)_i / OX_COUNT(types)];
    const enum ox_dtype dtype = types[(size_t)_i % OX_COUNT(types)];
    const int64_t taps = u->block[0] * u->block[1], n_places = places(u, 0) * places(u, 1);
    const size_t n = u->images * u->channels * (size_t)(taps * n_places);
    static double columns[MOST], want[MOST];
    char in_shape[64], out_shape[64];
    ck_assert_uint_le(n, MOST);
    memset(want, 0, sizeof want);
    for (size_t i = 0; i < n; i++) /* whole numbers, whose sums every type holds */
        columns[i] = (double)(i * 7919 % 31) - 15;
    fold(u, columns, want);
    struct one_op *op = one_op_new("", "Col2Im", 18);
    snprintf(in_shape, sizeof in_shape, "%zux%lldx%lld", u->images,
             (long long)((int64_t)u->channels * taps), (long long)n_places);
    snprintf(out_shape, sizeof out_shape, "%zux%zux%lldx%lld", u->images, u->channels,
             (long long)u->size[0], (long long)u->size[1]);
    one_op_in(op, dtype, in_shape, columns, n);
    ONE_OP_IN(op, OX_INT64, "2", (double)u->size[0], (double)u->size[1]);
    ONE_OP_IN(op, OX_INT64, "2", (double)u->block[0], (double)u->block[1]);
    one_op_ints(op, "strides", u->stride, AXES);
    one_op_ints(op, "dilations", u->dilation, AXES);
    one_op_ints(op, "pads", u->pads, (size_t)2 * AXES);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    one_op_expect(op, 0, dtype, out_shape, 0, want,
                  u->images * u->channels * (size_t)(u->size[0] * u->size[1]));
    one_op_free(op);
}
END_TEST

/* Each value goes to its index within the whole output of kernel 2, stride 2, or within a larger one that is asked for. */
START_TEST(values_go_to_their_indices)
{
    enum { IMAGES = 2, CHANNELS = 3, H = 4, W = 5, N = IMAGES * CHANNELS * H * W };
    const bool larger = _i % 2;
    const enum ox_dtype dtype = _i / 2 ? OX_FLOAT64 : OX_FLOAT32;
    const size_t height = larger ? 9 : 2 * H, width = larger ? 13 : 2 * W;
    static double x[N], at[N], want[IMAGES * CHANNELS * 9 * 13];
    memset(want, 0, sizeof want);
    for (size_t i = 0; i < N; i++) {
        const size_t plane = i / (H * W), y = i / W % H * 2 + i % 2, left = i % W * 2;
        const size_t of_kernel_2 = (plane * 2 * H + y) * 2 * W + left + i % 3 / 2;
        x[i] = (i == 17) ? (double)NAN : (double)i - 50;
        at[i] = (double)of_kernel_2;
        /* Indices are those of the output without output_shape; in a larger one planes lie further apart. */
        const size_t in_plane = of_kernel_2 % (4 * H * W);
        const size_t to = larger
                              ? (plane * height + in_plane / (2 * W)) * width + in_plane % (2 * W)
                              : of_kernel_2;
        want[to] = x[i];
    }
    struct one_op *op = one_op_new("", "MaxUnpool", 11);
    ONE_OP_INTS(op, "kernel_shape", 2, 2);
    ONE_OP_INTS(op, "strides", 2, 2);
    one_op_in(op, dtype, "2x3x4x5", x, N);
    one_op_in(op, OX_INT64, "2x3x4x5", at, N);
    if (larger)
        ONE_OP_IN(op, OX_INT64, "4", IMAGES, CHANNELS, 9, 13);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    one_op_expect(op, 0, dtype, larger ? "2x3x9x13" : "2x3x8x10", 0, want,
                  (size_t)IMAGES * CHANNELS * height * width);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_unfold");
    TCase *tcase = tcase_create("ops_unfold");
    tcase_add_loop_test(tcase, columns_are_added_to_their_pixels, 0, (int)OX_COUNT(unfoldings) * 4);
    tcase_add_loop_test(tcase, values_go_to_their_indices, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
