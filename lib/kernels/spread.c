/* Tasks over threads, each with a slot of the work space to itself. */
#include <stdatomic.h>

#include "common/threads.h"
#include "kernels/dense.h"
#include "onnxtool.h"

enum { MOST_SLOTS = 64 };

/* What takes some 50 microseconds on one core: waking a second one does not gain below. */
static const double alone = 4e6;

struct spread {
    size_t n;
    _Atomic size_t next;
    void (*task)(void *arg, size_t i, size_t slot);
    void *arg;
};

size_t ox_slots(const struct ox_env *env)
{
    const size_t n = env ? ox_env_threads(env) : 1;
    return n < 1 ? 1 : n > MOST_SLOTS ? MOST_SLOTS : n;
}

static void take(void *arg, size_t slot)
{
    struct spread *s = arg;
    size_t i;
    while ((i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->n)
        s->task(s->arg, i, slot);
}

void ox_spread(struct ox_env *env, size_t n, double work,
               void (*task)(void *arg, size_t i, size_t slot), void *arg)
{
    struct spread s = {.n = n, .task = task, .arg = arg};
    const size_t slots = n < 2 || work < alone ? 1 : ox_slots(env);
    if (slots < 2)
        take(&s, 0);
    else
        ox_parallel(env, slots < n ? slots : n, take, &s);
}
