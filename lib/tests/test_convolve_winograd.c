/* Winograd's ways at every level of the processor: how far they are from sums in double, and what is cut in portions. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/convolve_impl.h"
#include "onnxtool.h"
#include "tests/direct_conv.h"
#include "tests/random_conv.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

/* 7x7, of which only some tiles go together: the error and the bits that threads and tiles leave. */
START_TEST(large_kernels_of_many_tiles_go_in_portions)
{
    const struct ox_compute *t = table_at((unsigned)_i);
    struct dice d = {9};
    struct ox_conv c = {.batch = 1,
                        .groups = 1,
                        .in_channels = 72,
                        .out_channels = 40,
                        .kernel = {7, 8},
                        .stride = {1, 1},
                        .dilation = {1, 1},
                        .pad = {3, 3},
                        .in = {37, 43},
                        .out = {37, 42},
                        .in_pixel = 72,
                        .out_pixel = 41};
    const enum ox_conv_way way = OX_CONV_WINOGRAD2_LATE;
    ck_assert(ox_conv_winograd_late_portion(t, &c, 2) < 50);
    struct sides s;
    s.in = guarded_new(&d, c.in[0] * c.in[1] * c.in_pixel, true);
    s.out = guarded_new(&d, c.out[0] * c.out[1] * c.out_pixel, true);
    s.weights = guarded_new(&d, c.out_channels * c.in_channels * 56, true);
    s.packed = guarded_new(&d, ox_conv_packed(t, way, &c), false);
    const struct ox_epilogue end = random_end(&d, &c, &s);
    struct guarded first = guarded_new(&d, s.out.n, false);
    ox_conv_pack(t, NULL, way, &c, s.weights.at, OX_WEIGHT_F32, s.packed.at);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        struct ox_env *env = ox_env_new();
        ox_env_set_threads(env, threads);
        s.work = guarded_new(&d, ox_conv_work(t, env, way, &c), false);
        ox_conv_run(t, env, way, &c, s.packed.at, s.in.at, s.out.at, &end, s.work.at);
        if (threads == 1)
            memcpy(first.at, s.out.at, s.out.n * sizeof *first.at);
        if (threads == 1)
            guarded_free(&s.work);
        ox_env_release(env);
    }
    ck_assert(memcmp(first.at, s.out.at, s.out.n * sizeof *first.at) == 0);
    compare_direct(&c, &s, &end, 4 * (sqrt(72 * 56) + 4), way);
    guarded_free(&first);
    free_sides(&s);
}
END_TEST

/* Mean error over the mean size of the result, against the sum in double. */
static double mean_error(unsigned level, enum ox_conv_way way, size_t taps)
{
    enum { CHANNELS = 64, SIDE = 12 };
    const struct ox_compute *t = table_at(level);
    const size_t stride = is_strided(way) ? 2 : 1, side = SIDE / stride;
    const size_t down = is_line(way) ? 1 : taps;
    struct dice d = {5};
    struct ox_conv c = {.batch = 1,
                        .groups = 1,
                        .in_channels = CHANNELS,
                        .out_channels = 16,
                        .kernel = {down, taps},
                        .stride = {stride, stride},
                        .dilation = {1, 1},
                        .pad = {down / 2, taps / 2},
                        .in = {SIDE, SIDE},
                        .out = {side, side},
                        .in_pixel = CHANNELS,
                        .out_pixel = 16};
    struct sides s;
    s.in = guarded_new(&d, SIDE * SIDE * CHANNELS, true);
    s.out = guarded_new(&d, SIDE * SIDE * 16, true);
    s.weights = guarded_new(&d, 16 * CHANNELS * 9, true);
    s.packed = guarded_new(&d, ox_conv_packed(t, way, &c), false);
    s.work = guarded_new(&d, ox_conv_work(t, NULL, way, &c), false);
    const struct ox_epilogue end = {.act = OX_ACT_NONE};
    double error = 0, size = 0;
    ox_conv_pack(t, NULL, way, &c, s.weights.at, OX_WEIGHT_F32, s.packed.at);
    ox_conv_run(t, NULL, way, &c, s.packed.at, s.in.at, s.out.at, &end, s.work.at);
    for (size_t pixel = 0; pixel < side * side; pixel++) {
        for (size_t o = 0; o < 16; o++) {
            double terms = 0;
            const double want = direct(&c, &s, 0, o, pixel / side, pixel % side, &terms);
            error += fabs(want - s.out.at[pixel * 16 + o]);
            size += fabs(want);
        }
    }
    guarded_free(&s.in);
    guarded_free(&s.out);
    guarded_free(&s.weights);
    guarded_free(&s.packed);
    guarded_free(&s.work);
    return error / size;
}

START_TEST(winograd_keeps_the_error_that_is_documented)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const double direct_error = mean_error(level, OX_CONV_INDIRECT, 3);
        const double two = mean_error(level, OX_CONV_WINOGRAD2, 3);
        const double four = mean_error(level, OX_CONV_WINOGRAD4, 3);
        const double two_late = mean_error(level, OX_CONV_WINOGRAD2_LATE, 3);
        const double four_late = mean_error(level, OX_CONV_WINOGRAD4_LATE, 3);
        const double strided = mean_error(level, OX_CONV_WINOGRAD_STRIDED, 3);
        const double strided_late = mean_error(level, OX_CONV_WINOGRAD_STRIDED_LATE, 3);
        const double line_3 = mean_error(level, OX_CONV_WINOGRAD_LINE, 3);
        const double line_5 = mean_error(level, OX_CONV_WINOGRAD_LINE, 5);
        const double late_3 = mean_error(level, OX_CONV_WINOGRAD_LINE_LATE, 3);
        const double late_5 = mean_error(level, OX_CONV_WINOGRAD_LINE_LATE, 5);
        if (getenv("SHOW"))
            printf(
                "%s: direct %.2g, F(2,3) %.2g, late %.2g, F(4,3) %.2g, late %.2g, stride 2 %.2g, "
                "late %.2g, lines %.2g, of five taps %.2g, late %.2g, %.2g\n",
                table_name(level), direct_error, two, two_late, four, four_late, strided,
                strided_late, line_3, line_5, late_3, late_5);
        ck_assert(direct_error < 7.3e-7);
        ck_assert(two < 5.5e-7);
        ck_assert(four < 2e-6);
        ck_assert(two_late < 5.5e-7);
        ck_assert(four_late < 2e-6);
        ck_assert(strided < 7.3e-7);
        ck_assert(strided_late < 7.3e-7);
        ck_assert(line_3 < 7.3e-7);
        ck_assert(late_3 < 7.3e-7);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convolve: Winograd");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, winograd_keeps_the_error_that_is_documented);
    tcase_add_loop_test(all, large_kernels_of_many_tiles_go_in_portions, 0, (int)n_tables());
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
