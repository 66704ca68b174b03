#include "kernels/differences.h"

#include <math.h>

static bool add_all(struct ox_difference_lanes *lanes, size_t n, const float *a, const float *b,
                    double rtol, double atol)
{
    float poison = 0;
    for (size_t i = 0; i < n; i++)
        poison += a[i] * 0 + b[i] * 0;
    for (size_t i = 0; i < n && poison == 0; i++) {
        const double x = (double)a[i], y = (double)b[i], d = fabs(x - y), m = fabs(y);
        ox_difference_add(lanes, i % OX_DIFFERENCE_LANES, x, y, d, m, x * y, d > atol + rtol * m);
    }
    return poison == 0;
}

bool ox_differences(enum ox_cpu level, struct ox_difference_lanes *lanes, size_t n, const float *a,
                    const float *b, double rtol, double atol)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return ox_differences_avx2(lanes, n, a, b, rtol, atol);
#endif
    (void)level;
    return add_all(lanes, n, a, b, rtol, atol);
}
