/* Threads that wait for jobs, and help their caller with them: what ox_parallel() works with. */
#ifndef OX_COMMON_THREAD_POOL_H
#define OX_COMMON_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct ox_thread_pool;

/* For n_threads threads, of which the caller is one: for fewer where not so many can be made. NULL: out of memory. */
struct ox_thread_pool *ox_thread_pool_new(unsigned n_threads);
/* Ends the threads of a pool that is idle; NULL is fine. */
void ox_thread_pool_release(struct ox_thread_pool *pool);

/* Whether all threads but the caller's sleep. */
bool ox_thread_pool_sleeps(const struct ox_thread_pool *pool);
/* Calls task(arg, i) for each i in [0, n), and returns when all are done: in the caller's thread alone where pool is NULL or another job is
 * under way. wakes: threads that sleep are woken for it. */
void ox_thread_pool_run(struct ox_thread_pool *pool, bool wakes, size_t n,
                        void (*task)(void *arg, size_t i), void *arg);

#endif
