/* Products by weights of 24 bits, panels by threads. */
#include "kernels/dense_impl.h"
#include "kernels/fixed24.h"

struct job {
    const struct ox_compute *t;
    const struct ox_fixed24 *w;
    const struct ox_dense *d;
    size_t cols; /* of a task */
};

static void some_columns(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_dense *d = j->d;
    const size_t first = i * j->cols, n = ox_least(j->cols, j->w->n - first);
    const struct ox_epilogue end = ox_end_at(&d->end, 0, first);
    (void)slot;
    ox_fixed24_kernels(j->t->level)
        ->multiply(j->w, first, n, (unsigned)d->m, d->a, d->a_row, d->c + first, d->c_row);
    ox_end_all(j->t, d->m, n, d->c + first, d->c_row, &end);
}

void ox_fixed24_run(const struct ox_compute *t, struct ox_env *env, const struct ox_fixed24 *w,
                    const struct ox_dense *d)
{
    enum { TASKS = 8 };
    const size_t panels = (w->n + OX_FIXED24_PANEL - 1) / OX_FIXED24_PANEL;
    const struct job j = {t, w, d, ((panels - 1) / TASKS + 1) * OX_FIXED24_PANEL};
    ox_spread_sums(env, (w->n + j.cols - 1) / j.cols, ox_blocking_work(t, d->m, w->n, w->k, false),
                   some_columns, (void *)(uintptr_t)&j);
}
