/* Normal numbers at every level of the processor. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/normals.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

enum { N = 1000 };

START_TEST(normals_are_the_same_at_every_level)
{
    const enum ox_cpu most = ox_cpu_probe();
    struct dice d = {(uint64_t)_i};
    const size_t n = dice_between(&d, 0, 40);
    const uint64_t seed = ox_split_mix((uint64_t)_i);
    double plain[N], fast[N];
    uint64_t state = seed;
    ox_normals(OX_CPU_C, &state, n, plain);
    for (enum ox_cpu level = OX_CPU_AVX2; level <= most && level < OX_CPU_NEON; level++) {
        uint64_t other = seed;
        ox_normals(level, &other, n, fast);
        ck_assert(other == state);
        ck_assert(memcmp(plain, fast, n * sizeof *plain) == 0);
    }
}
END_TEST

START_TEST(normals_have_their_mean_and_deviation)
{
    double x[N], sum = 0, squares = 0;
    uint64_t state = 1;
    ox_normals(OX_CPU_C, &state, N, x);
    for (size_t i = 0; i < N; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    ck_assert(fabs(sum / N) < 0.15);
    ck_assert(fabs(squares / N - 1) < 0.2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("normals");
    TCase *tc = tcase_create("normals");
    tcase_add_loop_test(tc, normals_are_the_same_at_every_level, 0, 50);
    tcase_add_test(tc, normals_have_their_mean_and_deviation);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
