/* Tasks over threads, each with a slot of the work space to itself. */
#include <stdatomic.h>

#include "common/threads.h"
#include "kernels/dense.h"
#include "onnxtool.h"

/* Cores fetch cache lines in pairs: what one of them writes is kept so many bytes from what others use. */
enum { MOST_SLOTS = 64, APART = 128 };

/* What takes some 50 microseconds on one core: waking a second one does not gain below. One that is awake is worth its part
 * of 12, for it comes within one. */
static const double to_wake = 4e6, to_share = 1e6;

struct spread {
    size_t n, slots;
    bool back; /* a share from its end on */
    void (*task)(void *arg, size_t i, size_t slot);
    void *arg;
    struct {
        _Alignas(APART) _Atomic size_t next;
    } shares[MOST_SLOTS]; /* a slot's each */
};

/* Where the share of a slot begins; that of the next slot is where it ends. */
static size_t share(const struct spread *s, size_t slot)
{
    const size_t longer = s->n % s->slots;
    return s->n / s->slots * slot + (slot < longer ? slot : longer);
}

size_t ox_slots(const struct ox_env *env)
{
    const size_t n = env ? ox_env_threads(env) : 1;
    return n < 1 ? 1 : n > MOST_SLOTS ? MOST_SLOTS : n;
}

/* A slot's own share first, which is the same part of the data in one job after the other and so perhaps in its core's cache;
 * then what others have left. */
static void take(void *arg, size_t slot)
{
    struct spread *s = arg;
    for (size_t k = 0; k < s->slots; k++) {
        const size_t from = (slot + k) % s->slots, end = share(s, from + 1);
        const size_t last = share(s, from) + end - 1;
        size_t i;
        while ((i = atomic_fetch_add_explicit(&s->shares[from].next, 1, memory_order_relaxed)) <
               end)
            s->task(s->arg, s->back ? last - i : i, slot);
    }
}

static void spread(struct ox_env *env, size_t n, size_t done, double work, bool back,
                   void (*task)(void *arg, size_t i, size_t slot), void *arg)
{
    const size_t slots = n - done < 2 || work < to_share ? 1 : ox_slots(env);
    struct spread s;
    s.n = n;
    s.back = back;
    s.slots = slots < n ? slots : n;
    s.task = task;
    s.arg = arg;
    if (s.slots < 2) {
        for (size_t i = done; i < n; i++)
            task(arg, back ? n - 1 - i : i, 0);
        return;
    }
    for (size_t slot = 0; slot < s.slots; slot++) {
        const size_t from = share(&s, slot);
        atomic_init(&s.shares[slot].next, from > done ? from : done);
    }
    (work < to_wake ? ox_parallel_awake : ox_parallel)(env, s.slots, take, &s);
}

void ox_spread(struct ox_env *env, size_t n, double work,
               void (*task)(void *arg, size_t i, size_t slot), void *arg)
{
    spread(env, n, 0, work, false, task, arg);
}

void ox_spread_rest(struct ox_env *env, size_t n, size_t done, double work,
                    void (*task)(void *arg, size_t i, size_t slot), void *arg)
{
    spread(env, n, done, work, false, task, arg);
}

void ox_spread_back(struct ox_env *env, size_t n, double work,
                    void (*task)(void *arg, size_t i, size_t slot), void *arg)
{
    spread(env, n, 0, work, true, task, arg);
}
