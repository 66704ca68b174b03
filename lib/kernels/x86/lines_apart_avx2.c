#include <immintrin.h>

#include "kernels/lines_apart.h"

enum { WIDTH = 8, HALF = 4 };

void ox_add_adjacent_avx2(size_t lines, size_t n, const float *from, size_t from_line, float *to,
                          size_t to_line)
{
    for (size_t l = 0; l < lines; l++, from += from_line, to += to_line) {
        size_t i = 0;
        for (; i + WIDTH <= n; i += WIDTH)
            _mm256_storeu_ps(to + i,
                             _mm256_add_ps(_mm256_loadu_ps(to + i), _mm256_loadu_ps(from + i)));
        if (i + HALF <= n) {
            _mm_storeu_ps(to + i, _mm_add_ps(_mm_loadu_ps(to + i), _mm_loadu_ps(from + i)));
            i += HALF;
        }
#pragma GCC unroll 1
        for (; i < n; i++)
            to[i] += from[i];
    }
}

/* The elements between, of which there is one more after a vector that is not the last, are stored as they were. */
void ox_add_every_second_avx2(size_t lines, size_t n, const float *from, size_t from_line,
                              float *to, size_t to_line)
{
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    const size_t whole = n ? (n - 1) / HALF * HALF : 0;
    for (size_t l = 0; l < lines; l++, from += from_line, to += to_line) {
        for (size_t i = 0; i < whole; i += HALF) {
            const __m256 four = _mm256_castps128_ps256(_mm_loadu_ps(from + i));
            const __m256 there = _mm256_loadu_ps(to + 2 * i);
            const __m256 sum = _mm256_add_ps(there, _mm256_permutevar8x32_ps(four, twice));
            _mm256_storeu_ps(to + 2 * i, _mm256_blend_ps(there, sum, 0x55));
        }
#pragma GCC unroll 1
        for (size_t i = whole; i < n; i++)
            to[2 * i] += from[i];
    }
}
