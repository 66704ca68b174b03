/* Packed products against the plain triple loop, on every edge of the blocks. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/gemm.h"
#include "tests/run_suite.h"

static uint32_t state = 1;

static double next_number(void)
{
    state = state * 1664525 + 1013904223;
    return (double)(state >> 16) / 65536 - 0.5;
}

static const size_t sizes[][3] = {
    {1, 1, 1},    {4, 8, 3},      {5, 9, 257},    {3, 40, 300},   {130, 7, 64},  {2, 1, 1000},
    {64, 3, 512}, {129, 513, 17}, {17, 520, 300}, {131, 33, 260}, {1, 600, 512}, {6, 6, 0},
    {16, 49, 30}, {128, 480, 9},  {24, 481, 130}, {4, 4, 1000},   {8, 4, 300},   {5, 6, 64}};

/* trans: how each side lies in memory. */
static void check_double(const struct ox_gemm_f64 *g, size_t m, size_t n, size_t k, bool ta,
                         bool tb, bool add)
{
    double *a = calloc(m * k + 1, sizeof *a), *b = calloc(k * n + 1, sizeof *b);
    double *c = calloc(m * n, sizeof *c), *before = calloc(m * n, sizeof *before);
    double *work = calloc(ox_gemm_work(m, n, k) + 1, sizeof *work);
    ck_assert(a && b && c && before && work);
    for (size_t i = 0; i < m * k; i++)
        a[i] = next_number();
    for (size_t i = 0; i < k * n; i++)
        b[i] = next_number();
    for (size_t i = 0; i < m * n; i++)
        before[i] = c[i] = next_number();
    ox_gemm_run_f64(g, ox_gemm_way(m, n, k, ta ? m : 1, tb ? 1 : n, tb ? k : 1), m, n, k, a,
                    ta ? 1 : k, ta ? m : 1, b, tb ? 1 : n, tb ? k : 1, c, n, add, work);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = add ? before[i * n + j] : 0, bound = 1e-15;
            for (size_t p = 0; p < k; p++) {
                double term = a[ta ? p * m + i : i * k + p] * b[tb ? j * k + p : p * n + j];
                sum += term;
                bound += fabs(term) * 1e-14;
            }
            ck_assert_msg(fabs(c[i * n + j] - sum) <= bound,
                          "%zu x %zu x %zu at %zu, %zu: %g, not %g", m, n, k, i, j, c[i * n + j],
                          sum);
        }
    }
    free(a);
    free(b);
    free(c);
    free(before);
    free(work);
}

START_TEST(doubles_agree_with_the_plain_loop)
{
    const size_t *s = sizes[_i / 8];
    check_double(ox_gemm_f64(), s[0], s[1], s[2], _i & 1, _i & 2, _i & 4);
    check_double(ox_gemm_f64_fused(), s[0], s[1], s[2], _i & 1, _i & 2, _i & 4);
}
END_TEST

START_TEST(floats_are_near_doubles)
{
    const size_t *s = sizes[_i];
    size_t m = s[0], n = s[1], k = s[2];
    float *a = calloc(m * k + 1, sizeof *a), *b = calloc(k * n + 1, sizeof *b);
    float *c = calloc(m * n, sizeof *c), *work = calloc(ox_gemm_work(m, n, k) + 1, sizeof *work);
    ck_assert(a && b && c && work);
    for (size_t i = 0; i < m * k; i++)
        a[i] = (float)next_number();
    for (size_t i = 0; i < k * n; i++)
        b[i] = (float)next_number();
    ox_gemm_run_f32(ox_gemm_f32(), ox_gemm_way(m, n, k, 1, n, 1), m, n, k, a, k, 1, b, n, 1, c, n,
                    false, work);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0, bound = 1e-30;
            for (size_t p = 0; p < k; p++) {
                double term = (double)a[i * k + p] * (double)b[p * n + j];
                sum += term;
                bound += fabs(term) * 0x1p-18;
            }
            ck_assert(fabs((double)c[i * n + j] - sum) <= bound);
        }
    }
    free(a);
    free(b);
    free(c);
    free(work);
}
END_TEST

START_TEST(a_part_of_the_result_has_the_same_bits_as_the_whole)
{
    enum { M = 40, N = 100, K = 600 };
    static float a[M * K], b[K * N], c[M * N], part[M * N];
    const enum ox_gemm_way way = ox_gemm_way(M, N, K, 1, N, 1);
    float *work = calloc(ox_gemm_work(M, N, K), sizeof *work);
    ck_assert_ptr_nonnull(work);
    for (size_t i = 0; i < M * K; i++)
        a[i] = (float)next_number();
    for (size_t i = 0; i < K * N; i++)
        b[i] = (float)next_number();
    ox_gemm_run_f32(ox_gemm_f32(), way, M, N, K, a, K, 1, b, N, 1, c, N, false, work);
    for (size_t rows = 2; rows <= 10; rows += 8) {
        ox_gemm_run_f32(ox_gemm_f32(), way, rows, 30, K, a + 16 * K, K, 1, b + 48, N, 1, part, N,
                        false, work);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < 30; j++)
                ck_assert(part[i * N + j] == c[(16 + i) * N + 48 + j]);
    }
    free(work);
}
END_TEST

/* By packed panels as a whole; parts of few rows or columns as they lie. */
START_TEST(parts_of_fused_doubles_have_the_same_bits_as_the_whole)
{
    enum { M = 40, N = 100, K = 300 };
    static double a[M * K], b[K * N], c[M * N], part[M * N];
    static const size_t parts[][2] = {{3, 90}, {8, 33}, {30, 24}, {33, 7}, {5, 17}, {9, 3}};
    const struct ox_gemm_f64 *g = ox_gemm_f64_fused();
    const bool turned = _i & 1;
    const size_t b_row = turned ? 1 : N, b_col = turned ? K : 1;
    double *work = calloc(ox_gemm_work(M, N, K), sizeof *work);
    ck_assert_ptr_nonnull(work);
    for (size_t i = 0; i < M * K; i++)
        a[i] = next_number();
    for (size_t i = 0; i < K * N; i++)
        b[i] = next_number();
    ox_gemm_run_f64(g, OX_GEMM_TILES, M, N, K, a, K, 1, b, b_row, b_col, c, N, false, work);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const size_t rows = parts[p][0], cols = parts[p][1];
        for (size_t i = 0; i < M * N; i++)
            part[i] = -7;
        ox_gemm_run_f64(g, OX_GEMM_TILES, rows, cols, K, a + 4 * K, K, 1, b + 5 * b_col, b_row,
                        b_col, part, N, false, work);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++)
                ck_assert(part[i * N + j] == (i < rows && j < cols ? c[(4 + i) * N + 5 + j] : -7));
    }
    free(work);
}
END_TEST

START_TEST(dots_have_the_bits_of_plain_c)
{
    enum { MOST = 600 };
    static double a[MOST], b[MOST];
    const size_t n = (size_t)_i * 37 % MOST;
    for (size_t i = 0; i < n; i++) {
        a[i] = next_number();
        b[i] = next_number() * 1e3;
    }
    const double due = ox_gemm_dot_f64(n, a, b);
    ck_assert(ox_gemm_f64()->dot(n, a, b) == due);
    ck_assert(ox_gemm_f64_fused()->dot(n, a, b) == due);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gemm");
    TCase *tc = tcase_create("gemm");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, doubles_agree_with_the_plain_loop, 0,
                        (int)(8 * sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(tc, floats_are_near_doubles, 0, (int)(sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(tc, dots_have_the_bits_of_plain_c, 0, 60);
    tcase_add_loop_test(tc, parts_of_fused_doubles_have_the_same_bits_as_the_whole, 0, 2);
    tcase_add_test(tc, a_part_of_the_result_has_the_same_bits_as_the_whole);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
