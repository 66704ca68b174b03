/* Work in parallel. It is split by its own shape, never by the number of threads, so that results are the same
 * bits for any number. */
#ifndef OX_COMMON_THREADS_H
#define OX_COMMON_THREADS_H

#include <stddef.h>

struct ox_env;

/* Calls task(arg, i) for each i in [0, n), in any order, on the environment's threads and the caller's, and returns when
 * all are done. With one thread, or n < 2, or when no thread can be made, the caller does them all. Tasks must not fail:
 * they leave their errors in arg. A call while another is under way (nested, or from a second thread that shares the
 * environment) runs in its calling thread. env may be NULL: one thread. */
void ox_parallel(struct ox_env *env, size_t n, void (*task)(void *arg, size_t i), void *arg);

/* The same for what is too short to wake a thread for: only those that still look for work after a job take part. Where many such jobs
 * follow one another threads are woken for those to come. */
void ox_parallel_awake(struct ox_env *env, size_t n, void (*task)(void *arg, size_t i), void *arg);

#endif
