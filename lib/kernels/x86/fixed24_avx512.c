#include "kernels/x86/vec_avx512.h"

#define FIXED24_KERNELS ox_fixed24_avx512
#define LOAD_WORDS(p) _mm512_load_si512((const void *)(p))
#define LOWER_HALVES(x) _mm512_castsi512_ps(_mm512_slli_epi32((x), 16))
#define UPPER_HALVES(x)                                                                            \
    _mm512_castsi512_ps(_mm512_and_si512((x), _mm512_set1_epi32((int)0xffff0000)))
#define FOURTH(x, y, z) fourth((x), (y), (z))

/* Bytes of one vector are put between those of another: a permutation a vector and nothing else. */
static inline __m512i fourth(__m512i x, __m512i y, __m512i z)
{
    const __m512i low =
        _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    const __mmask64 high = 0x8888888888888888;
    __m512i w = _mm512_maskz_shuffle_epi8(high, x, low);
    w = _mm512_mask_shuffle_epi8(w, high >> 1, y, low);
    return _mm512_mask_shuffle_epi8(w, high >> 2, z, low);
}

#include "kernels/fixed24_tmpl.h"
