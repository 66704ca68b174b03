/* Turning eight by eight floats, for AVX2 and AVX-512 alike. */
#ifndef OX_KERNELS_X86_TILE_AVX_H
#define OX_KERNELS_X86_TILE_AVX_H

#include <immintrin.h>
#include <stddef.h>

/* Eight rows of eight, rows `from` floats apart, as eight columns, `to` apart. */
static inline void v_turn_tile(const float *x, size_t from, float *y, size_t to)
{
    __m256 r[8], t[8];
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + i * from)),
                                    _mm_loadu_ps(x + (i + 4) * from), 1);
        r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + i * from + 4)),
                                        _mm_loadu_ps(x + (i + 4) * from + 4), 1);
    }
    for (int i = 0; i < 8; i += 4) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
        t[i + 2] = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
        t[i + 3] = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
        _mm256_storeu_ps(y + (i + 0) * to, _mm256_shuffle_ps(t[i], t[i + 2], 0x44));
        _mm256_storeu_ps(y + (i + 1) * to, _mm256_shuffle_ps(t[i], t[i + 2], 0xee));
        _mm256_storeu_ps(y + (i + 2) * to, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44));
        _mm256_storeu_ps(y + (i + 3) * to, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee));
    }
}

#endif
