/* ReduceLogSumExp of integers, stamped a type: the shift is the greatest, of the same type. */
#if T_BITS >= 32

static void N(powers_start)(void *to, size_t lanes)
{
    memset(to, 0, lanes * sizeof(double));
}

static void N(powers_run)(void *to, const void *from, size_t n, const void *shifts)
{
    const T *x = from;
    const W shift = (W)(*(const T *)shifts);
    double *total = to, a = 0, b = 0, c = 0, d = 0;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        a += power_below(shift - (W)x[i]);
        b += power_below(shift - (W)x[i + 1]);
        c += power_below(shift - (W)x[i + 2]);
        d += power_below(shift - (W)x[i + 3]);
    }
    for (; i < n; i++)
        a += power_below(shift - (W)x[i]);
    *total += (a + b) + (c + d);
}

static void N(powers_lanes)(void *to, const void *from, size_t lanes, size_t rows, size_t stride,
                            const void *shifts)
{
    const T *x = from, *shift = shifts;
    double *total = to;
    for (size_t row = 0; row < rows; row++, x += stride)
        for (size_t i = 0; i < lanes; i++)
            total[i] += power_below((W)shift[i] - (W)x[i]);
}

static const struct ox_fold N(powers) = {N(powers_start), N(powers_run), N(powers_lanes), NULL};

static void N(short_rows)(const void *from, size_t rows, size_t n, void *to)
{
    const T *x = from;
    T *y = to, most[OX_LOG_SUM_EXP_LANES];
    double v[OX_LOG_SUM_EXP_LANES], total[OX_LOG_SUM_EXP_LANES];
    for (size_t row = 0; row < rows; row++) {
        const T *own = x + row * n;
        T greatest = own[0];
        for (size_t i = 1; i < n; i++)
            greatest = own[i] > greatest ? own[i] : greatest;
        for (size_t i = 0; i < n; i++)
            v[row * n + i] = -(double)((W)greatest - (W)own[i]);
        most[row] = greatest;
    }
    logs_of_sums(v, rows, n, total);
    for (size_t row = 0; row < rows; row++)
        y[row] = N(ox_whole)(total[row] + (double)most[row]);
}

#define END powers
#define ACC double
#define SHIFT T
#define RESULT(a, n, s) N(ox_whole)(log(a) + (double)(s))
#include "ops/reduce_end_tmpl.h"

#endif
