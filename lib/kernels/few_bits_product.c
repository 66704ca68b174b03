/* Many rows by columns of few bits: a task widens some columns into panels, which stay near while all rows go by. */
#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/few_bits.h"

enum { COLS = 64 }; /* of a task: panels of compute->nr */

static void slab_task(void *arg, size_t i, size_t slot)
{
    const struct ox_few_bits_product *p = arg;
    const struct ox_compute *t = p->compute;
    const size_t k = p->w->k, first = i * COLS, cols = ox_least(COLS, p->n - first);
    float *slab = p->work + slot * COLS * k;
    for (size_t at = 0; at < cols; at += t->nr)
        p->kernels->panel(p->w, first + at, ox_least(t->nr, cols - at), slab + at * k);
    const struct ox_dense d = {.m = p->m,
                               .n = cols,
                               .k = k,
                               .packed = slab,
                               .c_row = p->n,
                               .end = {.scale = 1, .col_bias = p->bias ? p->bias + first : NULL}};
    /* By triples the parts of all rows would be made again for each task's columns. */
    ox_dense_past_panels(t, &d, ox_dense_depth(t, k), p->a, k, 0, p->m, 0, cols, p->c + first,
                         NULL);
}

size_t ox_few_bits_work(const struct ox_env *env, const struct ox_few_bits_product *p)
{
    size_t floats;
    return OX_MUL_OVERFLOWS(COLS * ox_slots(env), p->w->k, &floats) ? SIZE_MAX : floats;
}

void ox_few_bits_run(struct ox_env *env, struct ox_few_bits_product *p)
{
    ox_spread_sums(env, (p->n + COLS - 1) / COLS, 2 * (double)p->m * (double)p->n * (double)p->w->k,
                   slab_task, p);
}
