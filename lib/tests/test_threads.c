#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/env.h"
#include "common/machine.h"
#include "common/threads.h"
#include "kernels/dense.h"
#include "tests/run_suite.h"

enum { N = 1000 };

static _Atomic int counts[N];
static struct ox_env *env;

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    for (size_t i = 0; i < N; i++)
        counts[i] = 0;
}

static void teardown(void)
{
    ox_env_release(env);
}

static void count(void *arg, size_t i)
{
    (void)arg;
    atomic_fetch_add(&counts[i], 1);
}

static void check_counts(int expected)
{
    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(counts[i], expected);
}

START_TEST(each_task_runs_once_for_any_number_of_threads)
{
    static const unsigned numbers[] = {0, 1, 2, 3, 8};
    for (size_t k = 0; k < 5; k++) {
        ox_env_set_threads(env, numbers[k]);
        ox_parallel(env, N, count, NULL);
        check_counts((int)k + 1);
    }
    ox_parallel(NULL, N, count, NULL);
    check_counts(6);
}
END_TEST

static void compare_cores(void *arg, size_t i)
{
    cpu_set_t own;
    ck_assert_int_eq(pthread_getaffinity_np(pthread_self(), sizeof own, &own), 0);
    counts[i] += CPU_EQUAL(&own, (const cpu_set_t *)arg) != 0;
    usleep(100); /* so that every thread takes part, on whichever core it woke */
}

START_TEST(threads_that_leave_the_core_of_their_caller_keep_all_cores)
{
    cpu_set_t all;
    if (pthread_getaffinity_np(pthread_self(), sizeof all, &all) != 0)
        return;
    ox_env_set_threads(env, 2);
    for (int k = 0; k < 50; k++)
        ox_parallel(env, 8, compare_cores, &all);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(counts[i], 50);
}
END_TEST

START_TEST(many_small_jobs_follow_each_other)
{
    ox_env_set_threads(env, 4);
    for (int k = 0; k < 2000; k++)
        ox_parallel(env, 5, count, NULL);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(counts[i], 2000);
    ox_parallel(env, 0, count, NULL);
    ox_parallel(env, 1, count, NULL);
    ck_assert_int_eq(counts[0], 2001);
}
END_TEST

START_TEST(short_jobs_are_done_whether_threads_are_awake_or_asleep)
{
    ox_env_set_threads(env, 3);
    ox_parallel_awake(env, N, count, NULL);
    check_counts(1);
    int expected = 1;
    for (int k = 0; k < 200; k++) {
        ox_parallel(env, N, count, NULL);
        ox_parallel_awake(env, N, count, NULL);
        if (k % 10 == 0)
            usleep(1000); /* they fall asleep */
        ox_parallel_awake(env, N, count, NULL);
        expected += 3;
    }
    check_counts(expected);
    ox_parallel_awake(NULL, N, count, NULL);
    check_counts(expected + 1);
}
END_TEST

START_TEST(threads_are_made_for_many_short_jobs_in_a_row)
{
    ox_env_set_threads(env, 2);
    ox_parallel_awake(env, N, count, NULL);
    ck_assert_ptr_null(atomic_load(&env->threads));
    int expected = 1;
    for (; !atomic_load(&env->threads) && expected < 1000000; expected++)
        ox_parallel_awake(env, N, count, NULL);
    ck_assert_ptr_nonnull(atomic_load(&env->threads));
    check_counts(expected);
}
END_TEST

static void count_in_slot(void *arg, size_t i, size_t slot)
{
    _Atomic int *users = arg;
    ck_assert_uint_lt(slot, ox_slots(env));
    ck_assert_int_eq(atomic_fetch_add(&users[slot], 1), 0);
    counts[i]++;
    atomic_fetch_sub(&users[slot], 1);
}

START_TEST(shares_of_all_slots_are_done_once_and_a_slot_by_one_thread)
{
    static const double works[] = {0, 2e6, 1e9};
    static _Atomic int users[8];
    ox_env_set_threads(env, 5);
    for (int n = 0; n < 40; n++) {
        for (size_t k = 0; k < 3; k++)
            ox_spread(env, (size_t)n, works[k], count_in_slot, users);
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(counts[i], i < n ? 3 * (n - i) : 0);
    }
}
END_TEST

START_TEST(what_the_caller_has_done_is_not_done_again)
{
    static const double works[] = {0, 2e6, 1e9};
    static _Atomic int users[8];
    ox_env_set_threads(env, 3);
    for (size_t done = 0; done <= 20; done++)
        for (size_t k = 0; k < 3; k++)
            ox_spread_rest(env, 20, done, works[k], count_in_slot, users);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(counts[i], i < 20 ? 3 * (i + 1) : 0);
}
END_TEST

static void nested(void *arg, size_t i)
{
    (void)arg;
    (void)i;
    ox_parallel(env, N, count, NULL);
}

START_TEST(nested_calls_run_where_they_are)
{
    ox_env_set_threads(env, 3);
    ox_parallel(env, 10, nested, NULL);
    check_counts(10);
}
END_TEST

START_TEST(cores_are_at_least_one)
{
    ck_assert_uint_ge(ox_cores(), 1);
    ck_assert_uint_ge(ox_env_threads(env), 1);
}
END_TEST

START_TEST(limits_have_names)
{
    struct ox_limits *limits = ox_env_limits(env);
    ck_assert_uint_eq(limits->nesting, 100);
    ck_assert_uint_gt(limits->memory_bytes, 0);
    ck_assert_uint_le(limits->memory_bytes, 8589934592);
    ck_assert(ox_limits_set(limits, "json-depth", 7));
    ck_assert_uint_eq(limits->json_depth, 7);
    ck_assert(ox_limits_set(limits, "npz_ratio", 3));
    ck_assert_uint_eq(limits->npz_ratio, 3);
    ck_assert(!ox_limits_set(limits, "npz_rati", 3));
    ck_assert(!ox_limits_set(limits, "npz_ratio_", 3));
    ck_assert(!ox_limits_set(limits, "", 3));
    for (size_t i = 0; i < ox_limits_count(); i++) {
        const char *meaning;
        ck_assert(ox_limits_set(limits, ox_limits_name(i, &meaning), i));
        ck_assert_uint_gt(strlen(meaning), 5);
    }
}
END_TEST

START_TEST(the_budget_follows_the_limit)
{
    ox_env_limits(env)->memory_bytes = 1000;
    ck_assert(!ox_budget_take(ox_env_budget(env), 1001));
    ck_assert(ox_budget_take(ox_env_budget(env), 1000));
    ox_budget_give(ox_env_budget(env), 1000);
    ck_assert_uint_eq(ox_env_memory_peak(env), 1000);
}
END_TEST

START_TEST(cancelling_is_noticed)
{
    struct ox_error err;
    ck_assert_int_eq(ox_env_poll(env, &err), OX_OK);
    ox_env_cancel(env);
    ck_assert_int_eq(ox_env_poll(env, &err), OX_CANCELLED);
    ck_assert_int_eq(ox_env_poll(NULL, &err), OX_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *tests = tcase_create("threads");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_task_runs_once_for_any_number_of_threads);
    tcase_add_test(tests, threads_that_leave_the_core_of_their_caller_keep_all_cores);
    tcase_add_test(tests, many_small_jobs_follow_each_other);
    tcase_add_test(tests, short_jobs_are_done_whether_threads_are_awake_or_asleep);
    tcase_add_test(tests, threads_are_made_for_many_short_jobs_in_a_row);
    tcase_add_test(tests, shares_of_all_slots_are_done_once_and_a_slot_by_one_thread);
    tcase_add_test(tests, what_the_caller_has_done_is_not_done_again);
    tcase_add_test(tests, nested_calls_run_where_they_are);
    tcase_add_test(tests, cores_are_at_least_one);
    tcase_add_test(tests, limits_have_names);
    tcase_add_test(tests, the_budget_follows_the_limit);
    tcase_add_test(tests, cancelling_is_noticed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
