/* turns.h's halves() by vectors of LANES doubles, and the plain functions for what is left. Before including: WIDE, such a vector;
 * PD(f), PS(f), the intrinsic f of its width and of that of as many floats. */
#define neighbours plain_neighbours
#define halves plain_halves
#include "kernels/turns_tmpl.h"
#undef neighbours
#undef halves

static inline WIDE widened(const float *x)
{
    return PD(cvtps_pd)(PS(loadu_ps)(x));
}

/* Products are exact in double, so that a fused sum is theirs. */
static void halves(size_t n, const float *restrict c, const float *restrict s,
                   const float *restrict a, const float *restrict b, float *restrict re,
                   float *restrict im)
{
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        const WIDE cosine = widened(c + k), sine = widened(s + k);
        const WIDE x = widened(a + k), y = widened(b + k);
        const WIDE first = PD(fmsub_pd)(cosine, x, PD(mul_pd)(sine, y));
        const WIDE second = PD(fmadd_pd)(sine, x, PD(mul_pd)(cosine, y));
        PS(storeu_ps)(re + k, PD(cvtpd_ps)(first));
        PS(storeu_ps)(im + k, PD(cvtpd_ps)(second));
    }
    plain_halves(n - k, c + k, s + k, a + k, b + k, re + k, im + k);
}
