/* Transposing floats in blocks of 8 x 8; for every x86 level. */
#ifndef OX_KERNELS_X86_TRANSPOSE_AVX2_H
#define OX_KERNELS_X86_TRANSPOSE_AVX2_H

#include <immintrin.h>
#include <stddef.h>

static inline void transpose_8x8(const float *x, size_t ldx, float *y, size_t ldy)
{
    __m256 r[8], s[8];
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + (size_t)i * ldx)),
                                    _mm_loadu_ps(x + (size_t)(i + 4) * ldx), 1);
        r[i + 4] =
            _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + (size_t)i * ldx + 4)),
                                 _mm_loadu_ps(x + (size_t)(i + 4) * ldx + 4), 1);
    }
    for (int i = 0; i < 8; i += 4) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
        s[i + 2] = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
        s[i + 3] = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    }
    for (size_t i = 0; i < 8; i += 4, y += 4 * ldy) {
        _mm256_storeu_ps(y, _mm256_shuffle_ps(s[i], s[i + 2], 0x44));
        _mm256_storeu_ps(y + ldy, _mm256_shuffle_ps(s[i], s[i + 2], 0xee));
        _mm256_storeu_ps(y + 2 * ldy, _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44));
        _mm256_storeu_ps(y + 3 * ldy, _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee));
    }
}

/* Up to four rows of x become columns of a y without gaps: each store of four is put right by the next. */
static inline size_t interleave(size_t rows, size_t cols, const float *x, size_t ldx, float *y)
{
    size_t j = 0;
    for (; j + 8 <= cols; j += 4, y += 4 * rows) {
        __m128 a = _mm_loadu_ps(x + j), b = _mm_loadu_ps(x + (rows > 1 ? ldx : 0) + j);
        __m128 c = _mm_loadu_ps(x + (rows > 2 ? 2 * ldx : 0) + j);
        __m128 d = _mm_loadu_ps(x + (rows > 3 ? 3 * ldx : 0) + j);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps(y, a);
        _mm_storeu_ps(y + rows, b);
        _mm_storeu_ps(y + 2 * rows, c);
        _mm_storeu_ps(y + 3 * rows, d);
    }
    return j;
}

static inline void transpose_few(size_t rows, size_t cols, const float *x, size_t ldx, float *y,
                                 size_t ldy)
{
    for (size_t j = 0; j < cols; j++) {
        for (size_t i = 0; i < rows; i++)
            y[j * ldy + i] = x[i * ldx + j];
    }
}

static void transpose_floats(size_t rows, size_t cols, const float *x, size_t ldx, float *y,
                             size_t ldy)
{
    const size_t whole_rows = rows / 8 * 8, whole_cols = cols / 8 * 8;
    if (rows <= 4 && ldy == rows) {
        const size_t done = interleave(rows, cols, x, ldx, y);
        transpose_few(rows, cols - done, x + done, ldx, y + done * ldy, ldy);
        return;
    }
    /* Two blocks side by side fill a line of y before the next line is touched. */
    for (size_t i = 0; i < whole_rows; i += 16) {
        for (size_t j = 0; j < whole_cols; j += 8) {
            transpose_8x8(x + i * ldx + j, ldx, y + j * ldy + i, ldy);
            if (i + 8 < whole_rows)
                transpose_8x8(x + (i + 8) * ldx + j, ldx, y + j * ldy + i + 8, ldy);
        }
    }
    if (whole_rows < rows)
        transpose_few(rows - whole_rows, cols, x + whole_rows * ldx, ldx, y + whole_rows, ldy);
    if (whole_cols < cols)
        transpose_few(whole_rows, cols - whole_cols, x + whole_cols, ldx, y + whole_cols * ldy,
                      ldy);
}

#endif
