/* Lines of wide windows: what each place makes with its neighbour, then with the pair behind it, and so on, is there once for all the
 * windows that reach it. Sums made so round less, too. */
#include <string.h>

#include "ops/fast/fast_pool.h"

bool ox_pool_is_wide(const struct ox_pool_axis *x)
{
    enum { LEAST = 8 }; /* taps that a place of the row is worth */
    return x->kernel / LEAST >= x->stride;
}

/* Places of x with those `apart` behind them, n of them; out may be x. */
static void pool_pairs(const struct ox_pools *p, size_t n, const float *x, size_t apart, float *out)
{
    ox_pool_reduce(p, n, 2, (const float *[]){x, x + apart}, out);
}

/* Windows of a power of two taps, the greatest that fits, and its double, where they begin. */
static void max_row(const struct ox_pools *p, size_t n, float *row)
{
    const struct ox_pool_axis *x = &p->x;
    size_t taps = 1;
    for (; 2 * taps <= x->kernel; taps *= 2)
        pool_pairs(p, n + (x->kernel - 2 * taps) * x->dilation, row, taps * x->dilation, row);
    if (taps < x->kernel)
        pool_pairs(p, n, row, (x->kernel - taps) * x->dilation, row);
}

/* Those of the powers that the kernel is the sum of. */
static void sum_row(const struct ox_pools *p, size_t n, float *row, float *sums)
{
    const struct ox_pool_axis *x = &p->x;
    size_t done = 0;
    for (size_t taps = 1; taps <= x->kernel; taps *= 2) {
        if (x->kernel & taps) {
            const float *from = row + done * x->dilation;
            if (done)
                ox_pool_reduce(p, n, 2, (const float *[]){sums, from}, sums);
            else
                memcpy(sums, from, n * sizeof *sums);
            done += taps;
        }
        if (2 * taps <= x->kernel)
            pool_pairs(p, n + (x->kernel - 2 * taps) * x->dilation, row, taps * x->dilation, row);
    }
}

void ox_pool_wide(const struct ox_pools *p, const float *row, float *work, float *out)
{
    const struct ox_pool_axis *x = &p->x;
    const size_t n = (x->out - 1) * x->stride + 1;
    float *sums = work + p->row;
    memcpy(work, row, ox_pool_span(x) * sizeof *work);
    if (p->max)
        max_row(p, n, work);
    else
        sum_row(p, n, work, sums);
    const float *from = p->max ? work : sums;
    for (size_t o = 0; o < x->out; o++)
        out[o] = from[o * x->stride];
}
