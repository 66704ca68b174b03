/* Factors, addends and limits of columns at every level of the processor. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/affine.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

START_TEST(affine_rows_are_the_same_at_every_level)
{
    const enum ox_cpu most = ox_cpu_probe();
    struct dice d = {(uint64_t)_i};
    struct ox_affine a = {.rows = dice_between(&d, 0, 5),
                          .n = dice_between(&d, 0, _i & 1 ? 70 : 200),
                          .lo = _i & 2 ? 0 : -INFINITY,
                          .hi = _i & 4 ? 0.5f : INFINITY};
    a.x_step = a.n + dice_between(&d, 0, 3);
    a.y_step = a.n + dice_between(&d, 0, 3);
    struct guarded x = guarded_new(&d, a.rows * a.x_step, true);
    struct guarded scale = guarded_new(&d, a.n, true), shift = guarded_new(&d, a.n, true);
    a.x = x.at;
    a.scale = scale.at;
    a.shift = shift.at;
    for (size_t i = 5; i < x.n; i += 97)
        x.at[i] = i & 1 ? NAN : -INFINITY;
    for (enum ox_cpu level = OX_CPU_C; level <= most && level < OX_CPU_NEON; level++) {
        struct guarded y = guarded_new(&d, a.rows * a.y_step, true);
        a.y = y.at;
        ox_affine(level, &a);
        for (size_t i = 0; i < a.rows * a.n; i++) {
            const size_t r = i / a.n, c = i % a.n;
            const float product = x.at[r * a.x_step + c] * scale.at[c];
            float want = product + shift.at[c];
            want = want < a.lo ? a.lo : want;
            want = want > a.hi ? a.hi : want;
            const float got = y.at[r * a.y_step + c];
            ck_assert(memcmp(&want, &got, sizeof got) == 0 || (isnan(want) && isnan(got)));
        }
        guarded_free(&y);
    }
    guarded_free(&x);
    guarded_free(&scale);
    guarded_free(&shift);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("affine");
    TCase *tc = tcase_create("affine");
    tcase_add_loop_test(tc, affine_rows_are_the_same_at_every_level, 0, 100);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
