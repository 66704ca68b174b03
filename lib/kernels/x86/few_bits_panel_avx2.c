/* Columns of few bits as panels of sixteen that products read: the codes of eight columns are turned, so that a vector holds as many
 * of each column as 32 bits have, and shifts bring out one of each. */
#include "kernels/x86/few_bits_panel_avx2.h"

#include <immintrin.h>

#include "kernels/inline.h"
#include "kernels/x86/few_bits_turn_avx2.h"

enum { COLS = 16, HALF = 8, UNIT = 16 }; /* bytes of a column that are turned at once */

struct half {
    const uint8_t *codes[HALF];
    size_t column[HALF];
    __m256 scale, zero;
};

static void begin_half(const struct ox_few_bits *w, size_t first, size_t cols, struct half *h)
{
    for (size_t j = 0; j < HALF; j++) {
        h->column[j] = first + (j < cols ? j : cols - 1);
        h->codes[j] = w->codes + h->column[j] * (w->k * w->bits / 8);
    }
    h->zero = _mm256_set1_ps((float)(1u << (w->bits - 1)));
}

static void begin_block(const struct ox_few_bits *w, size_t b, struct half *h)
{
    _Alignas(32) float scales[HALF], zeros[HALF];
    for (size_t j = 0; j < HALF; j++)
        scales[j] = w->scales[h->column[j] * w->blocks + b];
    h->scale = _mm256_load_ps(scales);
    if (!w->zeros && !w->real_zeros)
        return;
    for (size_t j = 0; j < HALF; j++)
        zeros[j] = ox_few_bits_zero(w, h->column[j], b);
    h->zero = _mm256_load_ps(zeros);
}

/* The weights of UNIT bytes from `from` on: rows of COLS. */
INLINE void unpack(const struct half *h, const unsigned bits, size_t from, float *out)
{
    const __m256i low = _mm256_set1_epi32((1 << bits) - 1);
    const unsigned codes = 32 / bits;
    __m256i x[4];
    ox_turn_bytes(h->codes, from, x);
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
#pragma GCC unroll 8
        for (unsigned c = 0; c < codes; c++) {
            const __m256i code = _mm256_and_si256(_mm256_srli_epi32(x[i], (int)(c * bits)), low);
            _mm256_store_ps(
                out + (i * codes + c) * COLS,
                _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(code), h->zero), h->scale));
        }
}

INLINE void widen(const struct ox_few_bits *w, const unsigned bits, struct half h[2], float *out)
{
    const size_t bytes = w->block * bits / 8, rows = UNIT * 8 / bits;
    for (size_t b = 0, at = 0; b < w->blocks; b++) {
        begin_block(w, b, &h[0]);
        begin_block(w, b, &h[1]);
        for (size_t p = 0; p < bytes; p += UNIT, at += UNIT, out += rows * COLS) {
            unpack(&h[0], bits, at, out);
            unpack(&h[1], bits, at, out + HALF);
        }
    }
}

void ox_few_bits_panel_avx2(const struct ox_few_bits *w, size_t first, size_t cols, float *out)
{
    struct half h[2];
    begin_half(w, first, cols, &h[0]);
    begin_half(w, cols > HALF ? first + HALF : first, cols > HALF ? cols - HALF : cols, &h[1]);
    if (w->bits == 4)
        widen(w, 4, h, out);
    else
        widen(w, 8, h, out);
}
