/* Strided copies shared among threads. */
#include "kernels/dense.h"
#include "ops/fast.h"
#include "ops/move.h"

struct spreading {
    const struct ox_move *move;
    size_t size;
    char *dst;
    const char *src;
    unsigned axis; /* that is cut */
};

static void move_part(void *arg, size_t from, size_t to)
{
    const struct spreading *s = arg;
    struct ox_move part = *s->move;
    const int64_t first = (int64_t)from, size = (int64_t)s->size;
    part.dims[s->axis] = (int64_t)(to - from);
    ox_move_run(&part, s->size, s->dst + first * part.to[s->axis] * size,
                s->src + first * part.from[s->axis] * size);
}

/* Longer axes are cut into finer parts; of equal ones the first leaves the longest runs. */
static unsigned longest_axis(const struct ox_move *m)
{
    enum { ENOUGH = 64 };
    unsigned best = 0;
    for (unsigned i = 1; i < m->rank && m->dims[best] < ENOUGH; i++) {
        if (m->dims[i] > m->dims[best])
            best = i;
    }
    return best;
}

void ox_move_spread(struct ox_env *env, struct ox_move *m, size_t size, void *dst, const void *src)
{
    enum { EACH = 4 };     /* tasks for each thread: short runs are slow */
    const double ns = 0.2; /* a byte */
    const size_t slots = ox_slots(env);
    size_t bytes = size;
    if (slots == 1 || !ox_move_merge(m) || m->rank == 0) {
        ox_move_run(m, size, dst, src);
        return;
    }
    for (unsigned i = 0; i < m->rank; i++)
        bytes *= (size_t)m->dims[i];
    struct spreading s = {.move = m, .size = size, .dst = dst, .src = src, .axis = longest_axis(m)};
    const size_t n = (size_t)m->dims[s.axis];
    ox_fast_spread(env, n, (n - 1) / (EACH * slots) + 1, ns * (double)(bytes / n), move_part, &s);
}
