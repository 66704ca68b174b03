/* Strided copies shared among threads. */
#include "kernels/dense.h"
#include "ops/fast/fast.h"
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

/* So many neighbours along an axis stay together: whole lines, and whole blocks of a transposition. */
static size_t together(const struct ox_move *m, unsigned axis, size_t size)
{
    enum { LINE = 64 };
    return (m->to[axis] == 1 || m->from[axis] == 1) && size < LINE ? LINE / size : 1;
}

/* Longer axes are cut into finer parts; of equal ones the first leaves the longest runs. */
static unsigned longest_axis(const struct ox_move *m, size_t size)
{
    enum { ENOUGH = 64 };
    unsigned best = 0;
    size_t parts = 0;
    for (unsigned i = 0; i < m->rank && parts < ENOUGH; i++) {
        const size_t n = ((size_t)m->dims[i] - 1) / together(m, i, size) + 1;
        if (n > parts) {
            best = i;
            parts = n;
        }
    }
    return best;
}

/* Nanoseconds that each element along the axis that is cut costs. */
static double cost_of(const struct ox_move *m, size_t size, size_t n)
{
    const double a_byte = 0.2, a_run = 0.7;
    const unsigned last = m->rank - 1;
    const bool runs = m->to[last] == 1 && m->from[last] == 1;
    double elements = 1;
    for (unsigned i = 0; i < m->rank; i++)
        elements *= (double)m->dims[i];
    const double stretches = runs ? elements / (double)m->dims[last] : elements;
    return (a_byte * elements * (double)size + a_run * stretches) / (double)n;
}

void ox_move_spread(struct ox_env *env, struct ox_move *m, size_t size, void *dst, const void *src)
{
    enum { EACH = 4 }; /* tasks for each thread: short runs are slow */
    const size_t slots = ox_slots(env);
    if (slots == 1 || !ox_move_merge(m) || m->rank == 0) {
        ox_move_run(m, size, dst, src);
        return;
    }
    struct spreading s = {
        .move = m, .size = size, .dst = dst, .src = src, .axis = longest_axis(m, size)};
    const size_t n = (size_t)m->dims[s.axis], whole = together(m, s.axis, size);
    const size_t part = (n - 1) / (EACH * slots) + 1;
    ox_fast_spread(env, n, (part + whole - 1) / whole * whole, cost_of(m, size, n), move_part, &s);
}

enum ox_status ox_move_out(struct ox_run *r, const struct ox_tensor *in, unsigned rank,
                           const int64_t *dims, struct ox_move *m, struct ox_error *err)
{
    struct ox_tensor *out;

    OX_TRY(ox_run_out(r, 0, in->dtype, rank, dims, &out, err));
    if (out->n > 0)
        ox_move_spread(r->env, m, ox_dtype_size(in->dtype), out->data, in->data);
    return ox_move_own(out, err);
}
