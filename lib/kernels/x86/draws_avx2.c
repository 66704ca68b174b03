#include <immintrin.h>
#include <string.h>

#include "kernels/draws.h"

enum { LANES = 4 };

#define VI __m256i
#define VD_TYPE __m256d
#define V(name) _mm256_##name
#define V_ALL(x) _mm256_set1_epi64x((long long)(x))
#define V_COUNT _mm256_setr_epi64x(0, 1, 2, 3)
#define V_OR _mm256_or_si256
#define V_XOR _mm256_xor_si256
#define V_DOUBLES _mm256_castsi256_pd

static inline void store(double *out, __m256d first, __m256d second)
{
    const __m256d low = _mm256_unpacklo_pd(first, second);
    const __m256d high = _mm256_unpackhi_pd(first, second);
    _mm256_storeu_pd(out, _mm256_permute2f128_pd(low, high, 0x20));
    _mm256_storeu_pd(out + 4, _mm256_permute2f128_pd(low, high, 0x31));
}

#include "kernels/x86/philox_tmpl.h"

#include "kernels/draws_tmpl.h"

const struct ox_draws ox_draws_avx2 = DRAWS;
