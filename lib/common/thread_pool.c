/* Threads that wait for jobs, and help their caller with them. */
#include "common/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/compiler.h"
#include "common/machine.h"

/* Threads look for work IDLE_SPINS times before they sleep, for waking one costs as much as a small operator. A caller looks
 * END_SPINS times for the end of a job, SPINS times where whom it waits for may need its core. */
enum { SPINS = 2000, IDLE_SPINS = 8 * SPINS, END_SPINS = 20 * SPINS, MOST_THREADS = 1024 };

/* A worker that finds itself on its caller's core leaves it, then again after so many more such jobs. */
enum { STAYS = 16 };

/* Of ox_thread_pool.job: a worker may join, which adds JOINED. */
enum { OPEN = 1, JOINED = 2 };

struct ox_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* generation or stop changed */
    pthread_cond_t done; /* job fell to 0 */
    atomic_flag busy;    /* a job is under way */
    _Atomic unsigned generation;
    _Atomic bool stop;
    _Atomic size_t n_asleep; /* changed under the lock */
    _Atomic int caller_core; /* of the last job */
    _Atomic bool crowded;    /* a worker shares that core */
    _Atomic size_t job;      /* OPEN, and JOINED a worker that has not finished it */
    void (*task)(void *arg, size_t i);
    void *arg;
    size_t n;
    _Atomic size_t next;
    bool spins;
    size_t n_workers;
    pthread_t workers[];
};

static void take_tasks(struct ox_thread_pool *pool)
{
    size_t i;
    while ((i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < pool->n)
        pool->task(pool->arg, i);
}

static bool news(struct ox_thread_pool *pool, unsigned seen)
{
    return atomic_load(&pool->generation) != seen || atomic_load(&pool->stop);
}

static bool join(struct ox_thread_pool *pool)
{
    size_t job = atomic_load(&pool->job);
    while (job & OPEN)
        if (atomic_compare_exchange_weak(&pool->job, &job, job + JOINED))
            return true;
    return false;
}

/* Who shares a core with the caller keeps it from its work by looking for more: the kernel wakes threads there where the others are busy. */
static bool may_spin(struct ox_thread_pool *pool)
{
    return pool->spins && sched_getcpu() != atomic_load(&pool->caller_core);
}

static void wait_for_news(struct ox_thread_pool *pool, unsigned seen)
{
    const unsigned spins = may_spin(pool) ? IDLE_SPINS : 0;
    for (unsigned spin = 0; spin < spins && !news(pool, seen); spin++)
        OX_RELAX();
    if (news(pool, seen))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->n_asleep, 1);
    while (!news(pool, seen))
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->n_asleep, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* A kernel that sees half of two cores busy looks for no idle one when it wakes a thread, and balances only threads that wait for
 * long: a worker once beside its caller would stay there for seconds. */
static void leave_core(int core)
{
    cpu_set_t all, others;
    if (pthread_getaffinity_np(pthread_self(), sizeof all, &all) != 0)
        return;
    others = all;
    CPU_CLR((size_t)core, &others);
    if (CPU_COUNT(&others) > 0 &&
        pthread_setaffinity_np(pthread_self(), sizeof others, &others) == 0)
        pthread_setaffinity_np(pthread_self(), sizeof all, &all);
}

/* True: this thread shares its core with the caller of the job. */
static bool crowds(const struct ox_thread_pool *pool, unsigned *stays)
{
    const int core = atomic_load(&pool->caller_core);
    if (sched_getcpu() != core)
        return false;
    if (!pool->spins || core < 0 || (*stays)++ % STAYS != 0)
        return true;
    leave_core(core);
    return sched_getcpu() == core;
}

static void *work(void *arg)
{
    struct ox_thread_pool *pool = arg;
    unsigned seen = 0, stays = 0;
    for (;;) {
        wait_for_news(pool, seen);
        if (atomic_load(&pool->stop))
            return NULL;
        seen = atomic_load(&pool->generation);
        const bool crowded = crowds(pool, &stays);
        if (!join(pool))
            continue;
        if (crowded)
            atomic_store(&pool->crowded, true);
        take_tasks(pool);
        if (atomic_fetch_sub(&pool->job, JOINED) == JOINED) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

void ox_thread_pool_release(struct ox_thread_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->n_workers; i++)
        pthread_join(pool->workers[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

struct ox_thread_pool *ox_thread_pool_new(unsigned n_threads)
{
    n_threads = n_threads < MOST_THREADS ? n_threads : MOST_THREADS;
    struct ox_thread_pool *pool = calloc(1, sizeof *pool + n_threads * sizeof pool->workers[0]);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    atomic_flag_clear(&pool->busy);
    /* With more threads than cores a thread that spins keeps another from its work. */
    pool->spins = n_threads <= ox_cores();
    /* Signals sent to the program are for its own threads; faults must reach the thread at fault. */
    sigset_t blocked;
    sigset_t old;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGBUS);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGILL);
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    while (pool->n_workers + 1 < n_threads &&
           pthread_create(&pool->workers[pool->n_workers], NULL, work, pool) == 0)
        pool->n_workers++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return pool;
}

/* Nobody waits for a worker that has not come by the time the last task is taken: its core may be another program's. A worker
 * counts itself asleep before it looks for news a last time, the caller tells the news before it looks for sleepers: one sees the other. */
static void run_job(struct ox_thread_pool *pool, bool wakes, size_t n,
                    void (*task)(void *arg, size_t i), void *arg)
{
    pool->task = task;
    pool->arg = arg;
    pool->n = n;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->caller_core, sched_getcpu());
    atomic_store(&pool->crowded, false);
    atomic_store(&pool->job, OPEN);
    atomic_fetch_add(&pool->generation, 1);
    if (wakes && atomic_load(&pool->n_asleep) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
    take_tasks(pool);
    atomic_fetch_and(&pool->job, ~(size_t)OPEN);
    const unsigned spins = !pool->spins ? 0 : atomic_load(&pool->crowded) ? SPINS : END_SPINS;
    for (unsigned spin = 0; spin < spins && atomic_load(&pool->job) > 0; spin++)
        OX_RELAX();
    if (atomic_load(&pool->job) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->job) > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

bool ox_thread_pool_sleeps(const struct ox_thread_pool *pool)
{
    return atomic_load(&pool->n_asleep) == pool->n_workers;
}

void ox_thread_pool_run(struct ox_thread_pool *pool, bool wakes, size_t n,
                        void (*task)(void *arg, size_t i), void *arg)
{
    if (pool && pool->n_workers > 0 && !atomic_flag_test_and_set(&pool->busy)) {
        run_job(pool, wakes, n, task, arg);
        atomic_flag_clear(&pool->busy);
        return;
    }
    for (size_t i = 0; i < n; i++)
        task(arg, i);
}
