#include "common/arena.h"
#include "common/error.h"
#include "tests/run_suite.h"

START_TEST(memory_is_zeroed_and_aligned)
{
    struct ox_arena arena;
    ox_arena_init(&arena, NULL);
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *p = ox_arena_alloc(&arena, n);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(p[i], 0);
        memset(p, 0xA5, n);
    }
    ox_arena_release(&arena);
}
END_TEST

START_TEST(words_stand_close_and_leave_others_aligned)
{
    struct ox_arena arena;
    ox_arena_init(&arena, NULL);
    char *first = ox_arena_words(&arena, 40);
    char *second = ox_arena_words(&arena, 3);
    ck_assert_ptr_eq(second, first + 40);
    ck_assert_int_eq(second[0], 0);
    unsigned char *other = ox_arena_alloc(&arena, 1);
    ck_assert_uint_eq((uintptr_t)other % _Alignof(max_align_t), 0);
    ck_assert_ptr_null(ox_arena_words(&arena, SIZE_MAX));
    ck_assert(ox_arena_reserve(&arena, 100));
    ox_arena_release(&arena);
}
END_TEST

START_TEST(a_budget_counts_what_is_held_and_its_peak)
{
    struct ox_budget budget = {.limit = 100000};
    struct ox_arena arena;
    ox_arena_init(&arena, &budget);
    ck_assert_ptr_nonnull(ox_arena_alloc(&arena, 50000));
    ck_assert_uint_ge(budget.used, 50000);
    ck_assert_ptr_null(ox_arena_alloc(&arena, 60000));
    ox_arena_release(&arena);
    ck_assert_uint_eq(budget.used, 0);
    ck_assert_uint_ge(budget.peak, 50000);
    ck_assert_uint_le(budget.peak, 100000);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
    struct ox_arena arena;
    ox_arena_init(&arena, NULL);
    ck_assert_ptr_null(ox_arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(ox_arena_alloc(&arena, SIZE_MAX - 20));
    ck_assert_ptr_null(ox_arena_array(&arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(ox_arena_strndup(&arena, "", SIZE_MAX));
    struct ox_budget budget = {.limit = 0};
    ck_assert(ox_budget_take(&budget, UINT64_MAX - 1));
    ck_assert(!ox_budget_take(&budget, 2));
    ck_assert_uint_eq(budget.used, UINT64_MAX - 1);
    ox_arena_release(&arena);
}
END_TEST

START_TEST(copies_are_copies)
{
    struct ox_arena arena;
    ox_arena_init(&arena, NULL);
    char text[] = "weights";
    char *a = ox_arena_strdup(&arena, text);
    char *b = ox_arena_strndup(&arena, text, 3);
    char *c = ox_arena_printf(&arena, "%s_%d", text, 42);
    char *d = ox_arena_copy(&arena, text, sizeof text);
    text[0] = 'x';
    ck_assert_str_eq(a, "weights");
    ck_assert_str_eq(b, "wei");
    ck_assert_str_eq(c, "weights_42");
    ck_assert_str_eq(d, "weights");
    ck_assert_ptr_nonnull(ox_arena_copy(&arena, NULL, 0));
    ox_arena_release(&arena);
}
END_TEST

START_TEST(rewinding_gives_back_what_came_after_the_mark)
{
    struct ox_budget budget = {0};
    struct ox_arena arena;
    ox_arena_init(&arena, &budget);
    struct ox_arena_mark empty = ox_arena_mark(&arena);
    char *kept = ox_arena_strdup(&arena, "kept");
    struct ox_arena_mark mark = ox_arena_mark(&arena);
    uint64_t used = budget.used;
    void *first = ox_arena_alloc(&arena, 100);
    for (int i = 0; i < 100; i++)
        ck_assert_ptr_nonnull(ox_arena_alloc(&arena, 10000));
    ox_arena_rewind(&arena, mark);
    ck_assert_uint_eq(budget.used, used);
    ck_assert_str_eq(kept, "kept");
    ck_assert_ptr_eq(ox_arena_alloc(&arena, 100), first);
    ox_arena_rewind(&arena, empty);
    ck_assert_uint_eq(budget.used, 0);
    ck_assert_ptr_nonnull(ox_arena_alloc(&arena, 1));
    ox_arena_release(&arena);
}
END_TEST

START_TEST(errors_are_complete_and_fit)
{
    struct ox_error err;
    ck_assert_int_eq(ox_fail(&err, OX_INPUT, "tensor \"%s\": %d", "x", 3), OX_INPUT);
    ck_assert_str_eq(err.message, "tensor \"x\": 3");
    ck_assert_int_eq(ox_fail_context(&err, OX_INTERNAL, "%s", "model.onnx"), OX_INPUT);
    ck_assert_str_eq(err.message, "model.onnx: tensor \"x\": 3");
    char big[3000];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    ox_fail_context(&err, OX_INPUT, "%s", big);
    ck_assert_uint_eq(strlen(err.message), OX_ERROR_BYTES - 1);
    ck_assert_int_eq(ox_fail(NULL, OX_LIMIT, "no one listens"), OX_LIMIT);
    ck_assert_int_eq(ox_fail_context(NULL, OX_LIMIT, "no one listens"), OX_LIMIT);
}
END_TEST

START_TEST(every_status_has_an_exit_code_and_a_text)
{
    ck_assert_int_eq(ox_status_exit_code(OX_OK), 0);
    ck_assert_int_eq(ox_status_exit_code(OX_UNSUPPORTED), 4);
    ck_assert_int_eq(ox_status_exit_code((enum ox_status)99), 70);
    for (int i = OX_OK; i <= OX_INTERNAL; i++)
        ck_assert_uint_gt(strlen(ox_status_text((enum ox_status)i)), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tests = tcase_create("arena");
    tcase_add_test(tests, memory_is_zeroed_and_aligned);
    tcase_add_test(tests, words_stand_close_and_leave_others_aligned);
    tcase_add_test(tests, a_budget_counts_what_is_held_and_its_peak);
    tcase_add_test(tests, sizes_that_overflow_are_refused);
    tcase_add_test(tests, copies_are_copies);
    tcase_add_test(tests, rewinding_gives_back_what_came_after_the_mark);
    tcase_add_test(tests, errors_are_complete_and_fit);
    tcase_add_test(tests, every_status_has_an_exit_code_and_a_text);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
