#include <immintrin.h>
#include <string.h>

#include "kernels/draws.h"

enum { LANES = 8 };

#define VI __m512i
#define VD_TYPE __m512d
#define V(name) _mm512_##name
#define V_ALL(x) _mm512_set1_epi64((long long)(x))
#define V_COUNT _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define V_OR _mm512_or_si512
#define V_XOR _mm512_xor_si512
#define V_DOUBLES _mm512_castsi512_pd

static inline void store(double *out, __m512d first, __m512d second)
{
    const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_storeu_pd(out, _mm512_permutex2var_pd(first, low, second));
    _mm512_storeu_pd(out + 8, _mm512_permutex2var_pd(first, high, second));
}

#include "kernels/x86/philox_tmpl.h"

#include "kernels/draws_tmpl.h"

const struct ox_draws ox_draws_avx512 = DRAWS;
