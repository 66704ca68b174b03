#include "common/threads.h"

#include <stdatomic.h>

#include "common/env.h"
#include "common/machine.h"
#include "common/thread_pool.h"

static struct ox_thread_pool *pool_of(struct ox_env *env)
{
    struct ox_thread_pool *pool = atomic_load(&env->threads);
    if (pool)
        return pool;
    const unsigned n_threads = ox_env_threads(env);
    if (n_threads < 2) {
        atomic_store(&env->n_threads, 1); /* so that the cores are not counted again */
        return NULL;
    }
    struct ox_thread_pool *fresh = ox_thread_pool_new(n_threads);
    if (fresh && !atomic_compare_exchange_strong(&env->threads, &pool, fresh)) {
        ox_thread_pool_release(fresh); /* another thread was faster */
        return pool;
    }
    return fresh;
}

void ox_parallel(struct ox_env *env, size_t n, void (*task)(void *arg, size_t i), void *arg)
{
    const bool alone = !env || n < 2 || atomic_load(&env->n_threads) == 1;
    ox_thread_pool_run(alone ? NULL : pool_of(env), true, n, task, arg);
}

/* Whether short jobs have followed one another for so long that those to come are worth waking threads for, or making them. */
static bool many_alone(struct ox_env *env, bool made)
{
    enum { APART = 200000, TO_WAKE = 40000, TO_MAKE = 1000000 }; /* ns */
    const int64_t now = (int64_t)ox_clock_ns();
    if (now - atomic_load_explicit(&env->alone_at, memory_order_relaxed) > APART)
        atomic_store_explicit(&env->alone_from, now, memory_order_relaxed);
    atomic_store_explicit(&env->alone_at, now, memory_order_relaxed);
    return now - atomic_load_explicit(&env->alone_from, memory_order_relaxed) >
           (made ? TO_WAKE : TO_MAKE);
}

void ox_parallel_awake(struct ox_env *env, size_t n, void (*task)(void *arg, size_t i), void *arg)
{
    if (!env || n < 2 || atomic_load(&env->n_threads) == 1) {
        ox_thread_pool_run(NULL, false, n, task, arg);
        return;
    }
    struct ox_thread_pool *pool = atomic_load(&env->threads);
    const bool all_asleep = !pool || ox_thread_pool_sleeps(pool);
    const bool wakes = all_asleep && many_alone(env, pool);
    if (wakes)
        atomic_store_explicit(&env->alone_at, 0, memory_order_relaxed);
    ox_thread_pool_run(wakes ? pool_of(env) : all_asleep ? NULL : pool, wakes, n, task, arg);
}
