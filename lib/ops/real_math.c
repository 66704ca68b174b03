#include "ops/real_math.h"

#include <math.h>

double ox_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

double ox_softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* In sums side by side: one alone would wait for its own last addition. */
double ox_dot(const double *a, const double *b, size_t n)
{
    enum { SUMS = 4 };
    double sums[SUMS] = {0}, rest = 0;
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (size_t k = 0; k < SUMS; k++)
            sums[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        rest += a[i] * b[i];
    return rest + (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
