#include <check.h>
#include <stdint.h>
#include <sys/mman.h>

#include "common/arena.h"
#include "runtime/value_pool.h"
#include "tests/run_suite.h"

static struct ox_tensor *take(struct ox_pool *pool, int64_t n)
{
    struct ox_tensor *tensor;
    struct ox_error err;
    ck_assert_int_eq(ox_pool_tensor(pool, OX_FLOAT32, 1, &n, &tensor, &err), OX_OK);
    ck_assert_uint_eq((uintptr_t)tensor->data % 64, 0);
    memset(tensor->data, 0x5A, (size_t)n * sizeof(float));
    return tensor;
}

START_TEST(memory_of_every_size_is_used_again)
{
    struct ox_pool *pool;
    struct ox_error err;
    ck_assert_int_eq(ox_pool_new(&pool, NULL, OX_POOL_CLOSE, &err), OX_OK);
    for (int64_t n = 0; n < 40000; n += n < 200 ? 1 : n / 7) {
        struct ox_tensor *a = take(pool, n), *b = take(pool, n);
        ck_assert_ptr_ne(a->data, b->data);
        const void *last = b->data;
        ox_tensor_release(a);
        ox_tensor_release(b);
        struct ox_tensor *again = take(pool, n);
#ifndef OX_SANITIZE
        if (n < 10000)
            ck_assert_ptr_eq(again->data, last);
#else
        (void)last;
#endif
        ox_tensor_release(again);
    }
    ox_pool_release(pool);
}
END_TEST

START_TEST(what_nobody_holds_is_of_no_budget)
{
    struct ox_budget budget = {.limit = 1 << 20};
    struct ox_pool *pool;
    struct ox_error err;
    ck_assert_int_eq(ox_pool_new(&pool, &budget, OX_POOL_CLOSE, &err), OX_OK);
    for (int64_t n = 10; n < 15000; n += 10)
        ox_tensor_release(take(pool, n));
    ck_assert_uint_eq(budget.used, 0);
    ox_pool_trim(pool);
    ox_tensor_release(take(pool, 100));
    ox_pool_release(pool);
    ck_assert_uint_eq(budget.used, 0);
}
END_TEST

START_TEST(tensors_outlive_their_pool)
{
    struct ox_pool *pool;
    struct ox_error err;
    ck_assert_int_eq(ox_pool_new(&pool, NULL, OX_POOL_CLOSE, &err), OX_OK);
    struct ox_tensor *small = take(pool, 10), *large = take(pool, 1 << 16);
    ox_tensor_release(take(pool, 20));
    ox_pool_release(pool);
    memset(small->data, 1, 40);
    ox_tensor_release(small);
    ox_tensor_release(large);
}
END_TEST

#ifndef OX_SANITIZE
/* A pool that is to stay close to what is used leaves a huge page alone of which the least part is. */
START_TEST(less_than_half_a_huge_page_is_used_in_common_ones)
{
    const size_t page = 4096, huge = 2 << 20;
    struct ox_pool *pool;
    struct ox_error err;
    ck_assert_int_eq(ox_pool_new(&pool, NULL, (enum ox_pool_pages)_i, &err), OX_OK);
    struct ox_tensor *tensor = take(pool, (int64_t)(huge + huge / 4) / 4);
    char *end = (char *)tensor->data + huge + huge / 4;
    unsigned char beside = 0, inside = 0;
    ck_assert_uint_eq((uintptr_t)end % page, 0);
    ck_assert_int_eq(mincore(end + page, page, &beside), 0);
    ck_assert_int_eq(mincore(end - page, page, &inside), 0);
    ck_assert(inside & 1 && !(beside & 1));
    ox_tensor_release(tensor);
    ox_pool_release(pool);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("value_pool");
    TCase *tests = tcase_create("value_pool");
    tcase_add_test(tests, memory_of_every_size_is_used_again);
    tcase_add_test(tests, what_nobody_holds_is_of_no_budget);
    tcase_add_test(tests, tensors_outlive_their_pool);
#ifndef OX_SANITIZE
    tcase_add_loop_test(tests, less_than_half_a_huge_page_is_used_in_common_ones, OX_POOL_EXACT,
                        OX_POOL_CLOSE + 1);
#endif
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
