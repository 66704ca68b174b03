/* Codes of few bits of eight columns beside each other. */
#ifndef OX_KERNELS_X86_FEW_BITS_TURN_AVX2_H
#define OX_KERNELS_X86_FEW_BITS_TURN_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/inline.h"

/* Sixteen bytes of each of eight columns, as four vectors of four bytes a column. */
INLINE void ox_turn_bytes(const uint8_t *const at[8], size_t offset, __m256i out[4])
{
    __m256i x[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        const void *low = at[j] + offset, *high = at[j + 4] + offset;
        x[j] = _mm256_set_m128i(_mm_loadu_si128(high), _mm_loadu_si128(low));
    }
    const __m256i a = _mm256_unpacklo_epi32(x[0], x[1]), b = _mm256_unpackhi_epi32(x[0], x[1]),
                  c = _mm256_unpacklo_epi32(x[2], x[3]), d = _mm256_unpackhi_epi32(x[2], x[3]);
    out[0] = _mm256_unpacklo_epi64(a, c);
    out[1] = _mm256_unpackhi_epi64(a, c);
    out[2] = _mm256_unpacklo_epi64(b, d);
    out[3] = _mm256_unpackhi_epi64(b, d);
}

#endif
