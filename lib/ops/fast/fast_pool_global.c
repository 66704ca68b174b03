/* GlobalAveragePool and GlobalMaxPool of float32: a number for each plane. The greatest is the first of equals, and NaN only where
 * there is nothing else, as the reference kernel has it. */
#include <math.h>

#include "kernels/bytes.h"
#include "kernels/folds.h"
#include "ops/fast/fast.h"

struct planes {
    const struct ox_fold *sum;
    const struct ox_bytes *table;
    const float *x;
    float *y;
    size_t n; /* of a plane */
};

static void find_means(void *arg, size_t from, size_t to)
{
    const struct planes *p = arg;
    for (size_t i = from; i < to; i++) {
        double sum = 0;
        p->sum->run(&sum, p->x + i * p->n, p->n, NULL);
        p->y[i] = (float)(sum / (double)p->n);
    }
}

/* Where the greatest is a zero the first of them is meant, whose sign may be another's; where it is an infinity all may have been
 * NaN. */
static float first_greatest(const float *x, size_t n, float greatest)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] == greatest)
            return x[i];
    return x[n - 1];
}

static void find_maxima(void *arg, size_t from, size_t to)
{
    const struct planes *p = arg;
    for (size_t i = from; i < to; i++) {
        const float *x = p->x + i * p->n;
        float low = INFINITY, high = -INFINITY;
        p->table->range(p->n, x, &low, &high);
        p->y[i] = high == 0 || isinf(high) ? first_greatest(x, p->n, high) : high;
    }
}

static enum ox_status run_planes(struct ox_run *r, struct planes *p,
                                 void (*task)(void *arg, size_t from, size_t to),
                                 struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    if (!x || x->rank < 3 || !x->n)
        return OX_UNSUPPORTED;
    int64_t dims[OX_MOST_RANK];
    for (unsigned d = 0; d < x->rank; d++)
        dims[d] = d < 2 ? x->dims[d] : 1;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    p->x = x->data;
    p->y = y->data;
    p->n = x->n / y->n;
    ox_fast_spread(r->env, y->n, p->n < 8192 ? 8192 / p->n : 1, 0.2 * (double)p->n, task, p);
    return OX_OK;
}

enum ox_status ox_fast_global_average(struct ox_run *r, struct ox_error *err)
{
    struct planes p = {.sum = ox_folds(ox_cpu())->of[OX_FOLD_SUM][OX_FLOAT32]};
    return run_planes(r, &p, find_means, err);
}

enum ox_status ox_fast_global_max(struct ox_run *r, struct ox_error *err)
{
    struct planes p = {.table = ox_bytes(ox_cpu())};
    return run_planes(r, &p, find_maxima, err);
}
