/* Pairs turned by angles, as plain C turns them, bit by bit: also in rows of any length, at any address. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu.h"
#include "kernels/turns.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

#include "kernels/turns_tmpl.h"

enum { MOST = 70 };

static void check_rows(const struct ox_turns *t, struct dice *d, size_t n)
{
    struct guarded c = guarded_new(d, n, true), s = guarded_new(d, n, true);
    struct guarded x = guarded_new(d, 2 * n, true), y = guarded_new(d, 2 * n, false);
    float want[2 * MOST];
    if (n > 1 && dice_between(d, 0, 3) == 0)
        x.at[1] = INFINITY;
    neighbours(n, c.at, s.at, x.at, want);
    t->neighbours(n, c.at, s.at, x.at, y.at);
    ck_assert_mem_eq(y.at, want, 2 * n * sizeof *want);
    halves(n, c.at, s.at, x.at, x.at + n, want, want + n);
    t->halves(n, c.at, s.at, x.at, x.at + n, y.at, y.at + n);
    ck_assert_mem_eq(y.at, want, 2 * n * sizeof *want);
    guarded_free(&c);
    guarded_free(&s);
    guarded_free(&x);
    guarded_free(&y);
}

START_TEST(pairs_are_turned_as_in_plain_c)
{
    struct dice d = {(uint64_t)_i * 7 + 1};
    for (size_t n = 0; n <= MOST; n++)
        check_rows(ox_turns(), &d, n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("turns");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, pairs_are_turned_as_in_plain_c, 0, 20);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
