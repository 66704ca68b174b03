/* Many rows by columns of few bits: a task widens some columns into panels, which stay near while all rows go by. */
#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/few_bits.h"
#include "kernels/triples.h"

enum { COLS = 64 }; /* of a task: panels of compute->nr */

/* Floats of work of a task, for parts and in all. */
static size_t parts_of(const struct ox_few_bits_product *p)
{
    return ox_triples_pay(p->compute, p->m, p->n, p->w->k)
               ? ox_triples_work(ox_dense_depth(p->compute, p->w->k))
               : 0;
}

static size_t slot_of(const struct ox_few_bits_product *p)
{
    size_t floats;
    return OX_MUL_OVERFLOWS(COLS, p->w->k, &floats) ? SIZE_MAX : floats + parts_of(p);
}

static void slab_task(void *arg, size_t i, size_t slot)
{
    const struct ox_few_bits_product *p = arg;
    const struct ox_compute *t = p->compute;
    const size_t k = p->w->k, first = i * COLS, cols = ox_least(COLS, p->n - first);
    float *slab = p->work + slot * slot_of(p), *parts = parts_of(p) ? slab + COLS * k : NULL;
    for (size_t at = 0; at < cols; at += t->nr)
        p->kernels->panel(p->w, first + at, ox_least(t->nr, cols - at), slab + at * k);
    const struct ox_dense d = {.m = p->m,
                               .n = cols,
                               .k = k,
                               .packed = slab,
                               .c_row = p->n,
                               .end = {.scale = 1, .col_bias = p->bias ? p->bias + first : NULL}};
    ox_dense_past_panels(t, &d, ox_dense_depth(t, k), p->a, k, 0, p->m, 0, cols, p->c + first,
                         parts);
}

size_t ox_few_bits_work(const struct ox_env *env, const struct ox_few_bits_product *p)
{
    size_t floats;
    return OX_MUL_OVERFLOWS(slot_of(p), ox_slots(env), &floats) ? SIZE_MAX : floats;
}

void ox_few_bits_run(struct ox_env *env, struct ox_few_bits_product *p)
{
    ox_spread_sums(env, (p->n + COLS - 1) / COLS, 2 * (double)p->m * (double)p->n * (double)p->w->k,
                   slab_task, p);
}
