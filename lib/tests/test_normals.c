/* Random numbers at every level of the processor. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/draws.h"
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

START_TEST(draws_are_the_same_at_every_level)
{
    const enum ox_cpu most = ox_cpu_probe();
    struct dice d = {(uint64_t)_i};
    const size_t n = dice_between(&d, 0, 40);
    const uint64_t seed = ox_split_mix((uint64_t)_i),
                   block = _i % 2 ? UINT32_MAX - 5 : (uint64_t)_i;
    double plain[2 * N], fast[2 * N];
    for (enum ox_cpu level = OX_CPU_AVX2; level <= most && level < OX_CPU_NEON; level++)
        for (int normal = 0; normal < 2; normal++) {
            const struct ox_draws *c = ox_draws(OX_CPU_C), *other = ox_draws(level);
            fast[2 * n] = -1;
            (normal ? c->normal : c->uniform)(seed, block, n, plain);
            (normal ? other->normal : other->uniform)(seed, block, n, fast);
            ck_assert(memcmp(plain, fast, 2 * n * sizeof *plain) == 0);
            ck_assert(fast[2 * n] == -1);
        }
}
END_TEST

/* The first block of Random123's known answers, and what a seed has given ever since. */
START_TEST(draws_of_a_seed_stay)
{
    double u[2], z[2];
    ox_draws(OX_CPU_C)->uniform(0, 0, 1, u);
    ck_assert(u[0] == ox_unit(0x6627e8d5, 0xe169c58d) && u[1] == ox_unit(0xbc57ac4c, 0x9b00dbd8));
    ox_draws(OX_CPU_C)->normal(42, 7, 1, z);
    ck_assert_msg(z[0] == 0.7943242814602075 && z[1] == 0.5064644951899594, "%.17g %.17g", z[0],
                  z[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("normals");
    TCase *tc = tcase_create("normals");
    tcase_add_loop_test(tc, normals_are_the_same_at_every_level, 0, 50);
    tcase_add_test(tc, normals_have_their_mean_and_deviation);
    tcase_add_loop_test(tc, draws_are_the_same_at_every_level, 0, 50);
    tcase_add_test(tc, draws_of_a_seed_stay);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
