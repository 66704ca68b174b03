/* DFT of any length against the sum it stands for, STFT, MelWeightMatrix, Det. */
#include <math.h>
#include <stdlib.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

static const double pi = 3.14159265358979323846;
static uint32_t state = 3;

static double next_number(void)
{
    state = state * 1664525 + 1013904223;
    return (double)(state >> 8) / (1 << 24) - 0.5;
}

static struct one_op *random_signal(size_t n, size_t parts, double *x)
{
    char shape[64];
    struct one_op *op = one_op_new("", "DFT", 17);
    snprintf(shape, sizeof shape, "1x%zux%zu", n, parts);
    for (size_t i = 0; i < n * parts; i++)
        x[i] = next_number();
    one_op_in(op, OX_FLOAT64, shape, x, n * parts);
    return op;
}

static const size_t lengths[] = {1,  2,  3,  4,  5,  7,  8,   11,  13,  16,  17,
                                 19, 30, 37, 64, 77, 97, 100, 169, 289, 509, 1021};

START_TEST(transforms_are_their_sums)
{
    size_t n = lengths[_i / 2];
    bool inverse = _i % 2;
    static double x[4096];
    struct one_op *op = random_signal(n, 2, x);
    one_op_int(op, "inverse", inverse);
    RUN_OK(op, 1);
    const double *y = one_op_out(op, 0)->data;
    for (size_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (size_t j = 0; j < n; j++) {
            double angle = 2 * pi * (double)(j * k % n) / (double)n * (inverse ? 1 : -1);
            re += x[2 * j] * cos(angle) - x[2 * j + 1] * sin(angle);
            im += x[2 * j] * sin(angle) + x[2 * j + 1] * cos(angle);
        }
        double scale = inverse ? 1 / (double)n : 1;
        ck_assert_msg(fabs(y[2 * k] - re * scale) < 1e-12 &&
                          fabs(y[2 * k + 1] - im * scale) < 1e-12,
                      "length %zu, %zu: %.17g %.17g, not %.17g %.17g", n, k, y[2 * k], y[2 * k + 1],
                      re * scale, im * scale);
    }
    one_op_free(op);
}
END_TEST

START_TEST(a_one_sided_spectrum_comes_back)
{
    size_t n = lengths[_i];
    static double x[4096];
    struct one_op *op = random_signal(n, 1, x), *back = one_op_new("", "DFT", 20);
    one_op_int(op, "onesided", 1);
    RUN_OK(op, 1);
    ck_assert_int_eq(one_op_out(op, 0)->dims[1], (int64_t)n / 2 + 1);
    one_op_in_datum(back, one_op_datum(op, 0));
    ONE_OP_IN(back, OX_INT64, "", (double)n);
    one_op_int(back, "onesided", 1);
    one_op_int(back, "inverse", 1);
    RUN_OK(back, 1);
    const struct ox_tensor *y = one_op_out(back, 0);
    ck_assert(y->dims[1] == (int64_t)n && y->dims[2] == 1);
    for (size_t i = 0; i < n; i++)
        ck_assert(fabs(((const double *)y->data)[i] - x[i]) < 1e-13);
    one_op_free(back); /* first: it holds what is counted in the other's budget */
    one_op_free(op);
}
END_TEST

START_TEST(dft_pads_cuts_and_takes_any_axis)
{
    struct one_op *op = one_op_new("", "DFT", 20);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT32, "", 1);
    ONE_OP_IN(op, OX_INT64, "", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x2", 0, 1, 0, 2, 0);
    one_op_free(op);
    op = one_op_new("", "DFT", 17);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 5);
    ONE_OP_IN(op, OX_INT64, "", 3);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x3x2", 1e-6, 5, 0, 5, 0, 5, 0);
    one_op_free(op);
}
END_TEST

START_TEST(dft_names_what_is_wrong)
{
    struct one_op *op = one_op_new("", "DFT", 20);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 5);
    ONE_OP_IN(op, OX_INT64, "", 0);
    RUN_FAILS(op, 1, "length is 0");
    op = one_op_new("", "DFT", 20);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 5);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT64, "", -1);
    RUN_FAILS(op, 1, "axis -1");
    op = one_op_new("", "DFT", 17);
    ONE_OP_IN(op, OX_FLOAT32, "1x3", 5, 6, 7);
    RUN_FAILS(op, 1, "last dimension");
}
END_TEST

START_TEST(stft_checks_its_frames)
{
    struct one_op *op = one_op_new("", "STFT", 17);
    ONE_OP_IN(op, OX_FLOAT32, "1x4x1", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "", 1);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT64, "", 5);
    RUN_FAILS(op, 1, "frames of 5");
    op = one_op_new("", "STFT", 17);
    ONE_OP_IN(op, OX_FLOAT32, "1x4x1", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "", 2);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 10);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x2x2", 0, 21, 0, -19, 0, 43, 0, -37, 0);
    one_op_free(op);
}
END_TEST

/* Of 2 signals, by the kernel at -O2 and by the reference: frames that are even, odd, of large primes, and more than are worked out
 * side by side. */
START_TEST(stft_at_every_level_is_the_same)
{
    static const struct {
        int64_t n, hop, length;
    } cases[] = {{16, 3, 16},  {256, 64, 1000}, {400, 160, 2000}, {26, 5, 60},
                 {30, 7, 200}, {2, 1, 9},       {4, 1, 30},       {15, 4, 100},
                 {34, 9, 99},  {77, 10, 300},   {8, 8, 64},       {6, 2, 40}};
    const int64_t n = cases[_i / 4].n, hop = cases[_i / 4].hop, length = cases[_i / 4].length;
    const bool onesided = _i % 2, windowed = _i / 2 % 2;
    struct text_run f[2];
    static float x[2 * 2000], window[400];
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = (float)next_number();
    for (size_t i = 0; i < sizeof window / sizeof window[0]; i++)
        window[i] = (float)next_number();
    char text[400];
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 20]> g (float[B, N, 1] x, float[%lld] w) => "
             "(float[A, C, D, 2] y) <int64 hop = {%lld}, int64 n = {%lld}> "
             "{ y = STFT<onesided = %d>(x, hop, %s, n) }",
             (long long)n, (long long)hop, (long long)n, onesided, windowed ? "w" : "");
    for (int level = 0; level < 2; level++) {
        const struct ox_run_options options = {.level = level * 2};
        text_must_plan(&f[level], text, &options);
        text_give(&f[level], OX_FLOAT32, 3, (const int64_t[]){2, length, 1}, x);
        text_give_floats(&f[level], n, window);
        text_must_run(&f[level]);
    }
    const struct ox_tensor *slow = ox_datum_get_tensor(f[0].out[0]);
    const struct ox_tensor *fast = ox_datum_get_tensor(f[1].out[0]);
    ck_assert_uint_eq(slow->n, fast->n);
    ck_assert_uint_gt(slow->n, 0);
    for (size_t i = 0; i < slow->n; i++) {
        const double a = ox_tensor_get_double(slow, i), b = ox_tensor_get_double(fast, i);
        /* Sums of few bits lie between two floats, where the last bit of a double decides. */
        ck_assert_msg(fabs(a - b) <= 0x1p-23 * fabs(a) + 1e-13, "%zu: %.9g, not %.9g", i, b, a);
    }
    text_close(&f[0]);
    text_close(&f[1]);
}
END_TEST

START_TEST(mel_bands_stay_within_the_spectrogram)
{
    struct one_op *op = one_op_new("", "MelWeightMatrix", 17);
    ONE_OP_IN(op, OX_INT64, "", 4);
    ONE_OP_IN(op, OX_INT64, "", 16);
    ONE_OP_IN(op, OX_INT64, "", 8000);
    ONE_OP_IN(op, OX_FLOAT32, "", 0);
    ONE_OP_IN(op, OX_FLOAT32, "", 80000);
    RUN_FAILS(op, 1, "beyond the spectrogram");
}
END_TEST

START_TEST(det_pivots)
{
    struct one_op *op = one_op_new("", "Det", 11);
    ONE_OP_IN(op, OX_FLOAT64, "3x2x2", 0, 1, 1, 0, 1, 2, 2, 4, 3, 1, 1, 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "3", 1e-15, -1, 0, 5);
    one_op_free(op);
    op = one_op_new("", "Det", 22);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "2x0x0");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 0, 1, 1);
    one_op_free(op);
    op = one_op_new("", "Det", 22);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    RUN_FAILS(op, 1, "square");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spectral");
    TCase *tc = tcase_create("spectral");
    int n = (int)(sizeof lengths / sizeof *lengths);
    tcase_add_loop_test(tc, transforms_are_their_sums, 0, 2 * n);
    tcase_add_loop_test(tc, a_one_sided_spectrum_comes_back, 0, n);
    tcase_add_test(tc, dft_pads_cuts_and_takes_any_axis);
    tcase_add_test(tc, dft_names_what_is_wrong);
    tcase_add_test(tc, stft_checks_its_frames);
    tcase_add_loop_test(tc, stft_at_every_level_is_the_same, 0, 12 * 4);
    tcase_add_test(tc, mel_bands_stay_within_the_spectrogram);
    tcase_add_test(tc, det_pivots);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
