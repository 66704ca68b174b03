/* Products of integers: at every level the bits of plain sums, whatever the strides. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/whole_products.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

enum { MOST = 48, DEEP = 600 };

static enum ox_cpu level_of(int i)
{
    return (enum ox_cpu)(i % (int)(ox_cpu_probe() + 1));
}

/* Rows and columns of a matrix as they lie, or turned; in either case perhaps with gaps. */
struct strides {
    size_t row, col, all;
};

static struct strides dice_strides(struct dice *d, size_t rows, size_t cols)
{
    const size_t gap = dice_between(d, 0, 2);
    if (dice_between(d, 0, 1))
        return (struct strides){cols + gap, 1, rows * (cols + gap)};
    return (struct strides){1, rows + gap, cols * (rows + gap)};
}

static uint64_t any(struct dice *d)
{
    return (uint64_t)dice_between(d, 0, UINT32_MAX) << 32 | dice_between(d, 0, UINT32_MAX);
}

START_TEST(products_wrap_as_plain_sums)
{
    struct dice d = {(uint64_t)_i * 71 + 3};
    const size_t m = dice_between(&d, 1, MOST), n = dice_between(&d, 1, MOST);
    const size_t k = dice_between(&d, 0, _i % 7 ? 40 : DEEP), ldc = n + dice_between(&d, 0, 3);
    const bool add = dice_between(&d, 0, 1);
    const struct strides a = dice_strides(&d, m, k), b = dice_strides(&d, k, n);
    const size_t all = a.all + b.all + m * ldc;
    uint64_t *x = calloc(all + 1, sizeof *x), *y = x + a.all, *c = y + b.all;
    uint32_t *narrow = calloc(all + 1, sizeof *narrow);
    ck_assert(x && narrow);
    for (size_t i = 0; i < all; i++) {
        x[i] = any(&d);
        narrow[i] = (uint32_t)x[i];
    }
    uint64_t *due = calloc(m * ldc, sizeof *due);
    ck_assert(due);
    memcpy(due, c, m * ldc * sizeof *due);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            uint64_t sum = add ? c[i * ldc + j] : 0;
            for (size_t p = 0; p < k; p++)
                sum += x[i * a.row + p * a.col] * y[p * b.row + j * b.col];
            due[i * ldc + j] = sum;
        }
    const struct ox_whole_products *t = ox_whole_products(level_of(_i));
    t->u64(m, n, k, x, a.row, a.col, y, b.row, b.col, c, ldc, add);
    ck_assert_mem_eq(c, due, m * ldc * sizeof *due);
    uint32_t *narrow_c = narrow + a.all + b.all;
    t->u32(m, n, k, narrow, a.row, a.col, narrow + a.all, b.row, b.col, narrow_c, ldc, add);
    for (size_t i = 0; i < m * ldc; i++)
        ck_assert_uint_eq(narrow_c[i], (uint32_t)due[i]);
    free(x);
    free(narrow);
    free(due);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("whole products");
    TCase *tc = tcase_create("whole products");
    tcase_add_loop_test(tc, products_wrap_as_plain_sums, 0, 400);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
