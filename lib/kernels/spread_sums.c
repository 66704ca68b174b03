/* Numbers below FLT_MIN cost a core a hundred times as much as others, and trained weights are full of them where decay has driven them
 * to nothing: tasks that sum products take them for zeros, as TensorFlow and OpenVINO do. */
#include "kernels/dense.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { FLUSH = 0x8040 }; /* results (FTZ) and operands (DAZ) */

static uint64_t begin_flushing(void)
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH);
    return before;
}

static void end_flushing(uint64_t before)
{
    _mm_setcsr((unsigned)before);
}
#elif defined(__aarch64__)
static uint64_t begin_flushing(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" ::"r"(before | (uint64_t)1 << 24)); /* FZ */
    return before;
}

static void end_flushing(uint64_t before)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(before));
}
#else
static uint64_t begin_flushing(void)
{
    return 0;
}

static void end_flushing(uint64_t before)
{
    (void)before;
}
#endif

struct sums {
    void (*task)(void *arg, size_t i, size_t slot);
    void *arg;
};

static void run_sums(void *arg, size_t i, size_t slot)
{
    const struct sums *s = arg;
    const uint64_t before = begin_flushing();
    s->task(s->arg, i, slot);
    end_flushing(before);
}

void ox_spread_sums(struct ox_env *env, size_t n, double work,
                    void (*task)(void *arg, size_t i, size_t slot), void *arg)
{
    struct sums s = {task, arg};
    ox_spread(env, n, work, run_sums, &s);
}

void ox_spread_sums_back(struct ox_env *env, size_t n, double work,
                         void (*task)(void *arg, size_t i, size_t slot), void *arg)
{
    struct sums s = {task, arg};
    ox_spread_back(env, n, work, run_sums, &s);
}
