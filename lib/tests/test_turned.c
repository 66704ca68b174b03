#include <string.h>

#include "kernels/compute.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

/* Few columns are turned by reading past them, never past the end. */
START_TEST(floats_are_turned)
{
    enum {
        MOST = 70,
        HIGH = 300,
        APART = 1024
    }; /* columns that lie in the same sets of the cache */
    struct dice d = {(uint64_t)_i * 43};
    const enum ox_cpu level = (enum ox_cpu)(_i % (int)(ox_cpu_probe() + 1));
    const bool apart = dice_between(&d, 0, 4) == 0;
    const size_t rows = dice_between(&d, 1, apart ? HIGH : dice_between(&d, 0, 1) ? 9 : MOST);
    const size_t cols = dice_between(&d, 1, dice_between(&d, 0, 1) ? 9 : MOST);
    const size_t ldx = cols + (dice_between(&d, 0, 1) ? dice_between(&d, 0, 3) : 0);
    const size_t ldy = apart                         ? APART
                       : dice_between(&d, 0, 1) == 0 ? rows
                                                     : rows + dice_between(&d, 0, 3);
    const size_t n_x = (rows - 1) * ldx + cols, n_y = (cols - 1) * ldy + rows;
    struct guarded x = guarded_new(&d, n_x, true), y = guarded_new(&d, n_y, true);
    static float want[MOST * APART];
    memset(want, 0, n_y * sizeof *want);
    memset(y.at, 0, n_y * sizeof *y.at);
    for (size_t i = 0; i < n_x; i++)
        x.at[i] = dice_float(&d);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            want[j * ldy + i] = x.at[i * ldx + j];
    ox_compute(level)->transpose(rows, cols, x.at, ldx, y.at, ldy);
    ck_assert_mem_eq(want, y.at, n_y * sizeof *want);
    guarded_free(&x);
    guarded_free(&y);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("turned");
    TCase *tests = tcase_create("turned");
    tcase_add_loop_test(tests, floats_are_turned, 0, 1500);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
