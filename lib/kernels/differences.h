/* What two rows of floats differ by: sums, extremes and counts in double, the same bits at every level. */
#ifndef OX_KERNELS_DIFFERENCES_H
#define OX_KERNELS_DIFFERENCES_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cpu.h"

/* Partial sums, which keep the order of additions the same everywhere: element i goes to lane i % OX_DIFFERENCE_LANES. */
enum { OX_DIFFERENCE_LANES = 8 };

/* Of d = |a - b| against the reference b. */
struct ox_difference_lanes {
    double abs[OX_DIFFERENCE_LANES], rel[OX_DIFFERENCE_LANES], squares[OX_DIFFERENCE_LANES];
    double aa[OX_DIFFERENCE_LANES], bb[OX_DIFFERENCE_LANES], ab[OX_DIFFERENCE_LANES];
    double max_abs[OX_DIFFERENCE_LANES], max_rel[OX_DIFFERENCE_LANES];
    double n_rel[OX_DIFFERENCE_LANES]; /* b is not 0 */
    double n_bad[OX_DIFFERENCE_LANES]; /* d > atol + rtol |b| */
    double a_min[OX_DIFFERENCE_LANES], a_max[OX_DIFFERENCE_LANES];
    double b_min[OX_DIFFERENCE_LANES], b_max[OX_DIFFERENCE_LANES];
};

/* Adds n elements, a multiple of OX_DIFFERENCE_LANES. False: one of them is NaN or infinite, and the lanes mean nothing. */
bool ox_differences(enum ox_cpu level, struct ox_difference_lanes *lanes, size_t n, const float *a,
                    const float *b, double rtol, double atol);

/* For differences.c. */
bool ox_differences_avx2(struct ox_difference_lanes *lanes, size_t n, const float *a,
                         const float *b, double rtol, double atol);

static inline double ox_larger(double x, double y)
{
    return x > y ? x : y;
}

static inline double ox_smaller(double x, double y)
{
    return x < y ? x : y;
}

/* One element to lane l: d = |a - b|, m = |b|, p = a b; `bad`: it departs. */
static inline void ox_difference_add(struct ox_difference_lanes *s, size_t l, double a, double b,
                                     double d, double m, double p, bool bad)
{
    const double some = m > 0 ? 1 : 0;
    const double rel = d / (m > 0 ? m : 1) * some;
    s->abs[l] += d;
    s->rel[l] += rel;
    s->n_rel[l] += some;
    s->squares[l] += d * d;
    s->aa[l] += a * a;
    s->bb[l] += b * b;
    s->ab[l] += p;
    s->max_abs[l] = ox_larger(s->max_abs[l], d);
    s->max_rel[l] = ox_larger(s->max_rel[l], rel);
    s->a_min[l] = ox_smaller(s->a_min[l], a);
    s->a_max[l] = ox_larger(s->a_max[l], a);
    s->b_min[l] = ox_smaller(s->b_min[l], b);
    s->b_max[l] = ox_larger(s->b_max[l], b);
    s->n_bad[l] += bad ? 1 : 0;
}

#endif
