/* Products by weights of 24 bits: every level near the sums in double of the weights as they were, and what is declined. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdint.h>

#include "kernels/dense.h"
#include "kernels/fixed24.h"
#include "onnxtool.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

static const struct ox_fixed24_kernels *kernels_of(int i)
{
    return ox_fixed24_kernels((enum ox_cpu)(i % (int)(ox_cpu_probe() + 1)));
}

struct side {
    size_t n, k;
    struct guarded b, room;
    struct ox_fixed24 w;
};

/* Columns of very different sizes, some of zeros. */
static struct side random_side(struct dice *d, const struct ox_fixed24_kernels *t)
{
    struct side s = {.n = dice_between(d, 1, 200), .k = dice_between(d, 30, 130)};
    s.b = guarded_new(d, s.n * s.k, true);
    s.room = guarded_new(d, ox_fixed24_room(s.n, s.k), false);
    for (size_t j = 0; j < s.n; j++) {
        const float scale =
            dice_between(d, 0, 5) ? ldexpf(1, (int)dice_between(d, 0, 60) - 30) : 0.0f;
        for (size_t p = 0; p < s.k; p++)
            s.b.at[j * s.k + p] = dice_float(d) * scale;
    }
    ck_assert(ox_fixed24_pack(t, NULL, s.n, s.k, s.b.at, 1, s.k, s.room.at, &s.w));
    return s;
}

/* The sum of row `a` and column j, and what it may be off by. */
static double want(const struct side *s, const float *a, size_t j, double *bound)
{
    double sum = 0, size = 0, greatest = 0, states = 0;
    for (size_t p = 0; p < s->k; p++) {
        const double w = (double)s->b.at[j * s->k + p], x = (double)a[p];
        sum += w * x;
        size += fabs(w * x);
        states += fabs(x);
        greatest = fabs(w) > greatest ? fabs(w) : greatest;
    }
    *bound = size * 20 * 0x1p-24 + states * greatest * 1.01 * 0x1p-24;
    return sum;
}

START_TEST(sums_are_near_those_of_the_weights_before)
{
    struct dice d = {(uint64_t)_i * 61 + 3};
    const struct ox_fixed24_kernels *t = kernels_of(_i);
    struct side s = random_side(&d, t);
    const unsigned rows = (unsigned)dice_between(&d, 1, 9);
    const size_t first = dice_between(&d, 0, (s.n - 1) / t->panel) * t->panel,
                 n = dice_between(&d, 1, s.n - first), lda = s.k + dice_between(&d, 0, 3),
                 ldc = n + 2;
    struct guarded a = guarded_new(&d, rows * lda, true), c = guarded_new(&d, rows * ldc, true);
    const float untouched = c.at[n];
    t->multiply(&s.w, first, n, rows, a.at, lda, c.at, ldc);
    for (unsigned i = 0; i < rows; i++) {
        for (size_t j = 0; j < n; j++) {
            double bound;
            const double sum = want(&s, a.at + i * lda, first + j, &bound);
            ck_assert_msg(fabs(sum - (double)c.at[i * ldc + j]) <= bound, "%g for %g, bound %g",
                          (double)c.at[i * ldc + j], sum, bound);
        }
    }
    ck_assert(c.at[n] == untouched);
    guarded_free(&a);
    guarded_free(&c);
    guarded_free(&s.b);
    guarded_free(&s.room);
}
END_TEST

/* A single weight among zeros gives back what it was rounded to. */
START_TEST(a_weight_is_kept_to_a_24th_of_a_bit_of_the_greatest)
{
    struct dice d = {(uint64_t)_i * 67 + 4};
    const struct ox_fixed24_kernels *t = kernels_of(_i);
    struct side s = random_side(&d, t);
    struct guarded a = guarded_new(&d, s.k, true), c = guarded_new(&d, s.n, true);
    const size_t at = dice_between(&d, 0, s.k - 1);
    for (size_t p = 0; p < s.k; p++)
        a.at[p] = p == at;
    t->multiply(&s.w, 0, s.n, 1, a.at, s.k, c.at, s.n);
    for (size_t j = 0; j < s.n; j++) {
        float greatest = 0;
        for (size_t p = 0; p < s.k; p++)
            greatest = fmaxf(greatest, fabsf(s.b.at[j * s.k + p]));
        const double off = fabs((double)c.at[j] - (double)s.b.at[j * s.k + at]);
        ck_assert(off <= (double)greatest * 0x1p-24 * 1.01 + fabs((double)c.at[j]) * 0x1p-23);
    }
    guarded_free(&a);
    guarded_free(&c);
    guarded_free(&s.b);
    guarded_free(&s.room);
}
END_TEST

START_TEST(uneven_columns_are_declined)
{
    static const float odd[] = {100, 1e38f, INFINITY, NAN};
    struct dice d = {(uint64_t)_i + 1};
    const struct ox_fixed24_kernels *t = kernels_of(_i);
    struct side s = random_side(&d, t);
    struct ox_fixed24 w;
    const size_t at = dice_between(&d, 0, s.n * s.k - 1), column = at / s.k * s.k;
    for (size_t p = 0; p < s.k; p++)
        s.b.at[column + p] = dice_float(&d);
    s.b.at[at] = odd[_i % 4];
    ck_assert(!ox_fixed24_pack(t, NULL, s.n, s.k, s.b.at, 1, s.k, s.room.at, &w));
    for (size_t p = 0; p < s.k; p++)
        s.b.at[column + p] = 1e-40f;
    ck_assert(!ox_fixed24_pack(t, NULL, s.n, s.k, s.b.at, 1, s.k, s.room.at, &w));
    guarded_free(&s.b);
    guarded_free(&s.room);
}
END_TEST

START_TEST(weights_that_lie_turned_give_the_same)
{
    struct dice d = {(uint64_t)_i * 71 + 5};
    const struct ox_fixed24_kernels *t = kernels_of(_i);
    struct side s = random_side(&d, t);
    const size_t ld = s.n + dice_between(&d, 0, 3), words = ox_fixed24_words(s.n / 64 * 64, s.k);
    struct guarded turned = guarded_new(&d, s.k * ld, true),
                   room = guarded_new(&d, ox_fixed24_room(s.n, s.k), false);
    struct ox_fixed24 w;
    for (size_t j = 0; j < s.n; j++)
        for (size_t p = 0; p < s.k; p++)
            turned.at[p * ld + j] = s.b.at[j * s.k + p];
    ck_assert(ox_fixed24_pack(t, NULL, s.n, s.k, turned.at, ld, 1, room.at, &w));
    ck_assert_mem_eq(w.words, s.w.words, words * sizeof *w.words);
    guarded_free(&turned);
    guarded_free(&room);
    guarded_free(&s.b);
    guarded_free(&s.room);
}
END_TEST

/* Bias and activation at once, by any number of threads. */
START_TEST(products_have_their_epilogue)
{
    struct dice d = {(uint64_t)_i * 73 + 6};
    const struct ox_compute *t = ox_compute((enum ox_cpu)(_i % (int)(ox_cpu_probe() + 1)));
    struct side s = random_side(&d, ox_fixed24_kernels(t->level));
    struct ox_env *env = ox_env_new();
    const size_t m = dice_between(&d, 1, OX_FIXED24_ROWS);
    struct guarded a = guarded_new(&d, m * s.k, true), c = guarded_new(&d, m * s.n, true),
                   bare = guarded_new(&d, m * s.n, true), bias = guarded_new(&d, s.n, true);
    struct ox_dense p = {.m = m,
                         .n = s.n,
                         .k = s.k,
                         .a = a.at,
                         .a_row = s.k,
                         .a_col = 1,
                         .c = c.at,
                         .c_row = s.n,
                         .end = {.col_bias = bias.at, .act = OX_ACT_CLIP, .hi = INFINITY}};
    ox_env_set_threads(env, 1 + (unsigned)_i % 3);
    ox_fixed24_kernels(t->level)->multiply(&s.w, 0, s.n, (unsigned)m, a.at, s.k, bare.at, s.n);
    ox_fixed24_run(t, env, &s.w, &p);
    for (size_t i = 0; i < m * s.n; i++) {
        const float want = fmaxf(bare.at[i] + bias.at[i % s.n], 0);
        ck_assert(fabsf(c.at[i] - want) <= FLT_MIN || c.at[i] == want);
    }
    struct guarded *all[] = {&a, &c, &bare, &bias, &s.b, &s.room};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        guarded_free(all[i]);
    ox_env_release(env);
}
END_TEST

/* Those of a level with a nearer cache are faster from more weights on. */
START_TEST(floats_that_are_near_stay_floats)
{
    ck_assert_uint_eq(ox_fixed24_least(OX_CPU_C, 1), SIZE_MAX);
    for (int level = OX_CPU_AVX2; level < OX_CPU_AMX && ox_cpu_probe() <= OX_CPU_AMX; level++)
        ck_assert_uint_le(ox_fixed24_least((enum ox_cpu)level, 1),
                          ox_fixed24_least((enum ox_cpu)(level + 1), 1));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fixed24");
    TCase *tc = tcase_create("fixed24");
    tcase_add_loop_test(tc, sums_are_near_those_of_the_weights_before, 0, 300);
    tcase_add_loop_test(tc, a_weight_is_kept_to_a_24th_of_a_bit_of_the_greatest, 0, 100);
    tcase_add_loop_test(tc, uneven_columns_are_declined, 0, 40);
    tcase_add_loop_test(tc, weights_that_lie_turned_give_the_same, 0, 60);
    tcase_add_loop_test(tc, products_have_their_epilogue, 0, 100);
    tcase_add_test(tc, floats_that_are_near_stay_floats);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
