/* Products whose left side is made as it is read: a task makes some rows, which stay near while all columns go by. */
#include "kernels/dense_impl.h"
#include "kernels/sizes.h"
#include "kernels/triples.h"

struct job {
    const struct ox_compute *t;
    const struct ox_dense *d;
    size_t rows, room;   /* of a task: rows, and floats that they take */
    size_t depth, parts; /* of k at a time; floats of work for parts */
    float *work;
};

/* Fewer rows than the least are better made before; more of a task than the most would not stay near. */
enum { TILES_LEAST = 16, TILES_MOST = 16, PARTS_NEAR = 16 };

bool ox_dense_makes_rows(const struct ox_compute *t, size_t m, size_t k)
{
    return k > 0 && m >= TILES_LEAST * t->mr && k <= t->block_floats / t->mr;
}

/* As many tasks for each thread: bits do not depend on them. */
static struct job job_of(const struct ox_compute *t, const struct ox_env *env,
                         const struct ox_dense *d)
{
    struct job j = {.t = t, .d = d, .depth = ox_dense_depth(t, d->k)};
    const bool by_parts = ox_triples_pay(t, d->m, d->n, d->k);
    /* By parts rows are read once, and weights are better used by many. */
    const size_t near = by_parts ? PARTS_NEAR * t->block_floats : t->block_floats;
    const size_t room = near / d->k > t->mr ? near / d->k : t->mr;
    const size_t most = ox_least(TILES_MOST * t->mr, room);
    const size_t parts = (d->m + most - 1) / most, slots = ox_slots(env);
    const size_t even = ox_round_up(parts, slots), rows = (d->m + even - 1) / even;
    j.rows = rows < t->mr ? t->mr : rows;
    j.room = ox_round_up(j.rows * d->k, 16);
    j.parts = by_parts ? ox_triples_work(j.depth) : 0;
    return j;
}

size_t ox_made_work(const struct ox_compute *t, const struct ox_env *env, const struct ox_dense *d)
{
    const struct job j = job_of(t, env, d);
    return ox_slots(env) * (j.room + j.parts);
}

static void make_and_multiply(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_dense *d = j->d;
    const size_t first = i * j->rows, rows = ox_least(j->rows, d->m - first);
    float *a = j->work + slot * (j->room + j->parts);
    d->made->rows(d->made->arg, first, rows, a);
    ox_dense_past_panels(j->t, d, j->depth, a, d->k, first, rows, 0, d->n, d->c + first * d->c_row,
                         j->parts ? a + j->room : NULL);
}

void ox_made_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d,
                 float *work)
{
    struct job j = job_of(t, env, d);
    j.work = work;
    ox_spread_sums(env, (d->m + j.rows - 1) / j.rows,
                   2.0 * (double)d->m * (double)d->n * (double)d->k, make_and_multiply, &j);
}
