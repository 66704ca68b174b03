/* Columns of few bits as panels of sixteen or 32 that products read: the codes of eight columns are turned, so that a vector holds as many
 * of each column as 32 bits have, and shifts bring out one of each. */
#include "kernels/x86/few_bits_panel_avx2.h"

#include <immintrin.h>

#include "kernels/inline.h"
#include "kernels/x86/few_bits_turn_avx2.h"

enum { PART = 8, PARTS_MOST = 4, UNIT = 16 }; /* bytes of a column that are turned at once */

struct part {
    const uint8_t *codes[PART];
    size_t column[PART];
    __m256 scale, zero;
};

static void begin_part(const struct ox_few_bits *w, size_t first, size_t cols, struct part *h)
{
    for (size_t j = 0; j < PART; j++) {
        h->column[j] = first + (j < cols ? j : cols - 1);
        h->codes[j] = w->codes + h->column[j] * (w->k * w->bits / 8);
    }
    h->zero = _mm256_set1_ps((float)(1u << (w->bits - 1)));
}

static void begin_block(const struct ox_few_bits *w, size_t b, struct part *h)
{
    _Alignas(32) float scales[PART], zeros[PART];
    for (size_t j = 0; j < PART; j++)
        scales[j] = w->scales[h->column[j] * w->blocks + b];
    h->scale = _mm256_load_ps(scales);
    if (!w->zeros && !w->real_zeros)
        return;
    for (size_t j = 0; j < PART; j++)
        zeros[j] = ox_few_bits_zero(w, h->column[j], b);
    h->zero = _mm256_load_ps(zeros);
}

/* The weights of words [first, last) of the UNIT bytes from `from` on: rows of `cols`. */
INLINE void unpack(const struct part *h, const unsigned bits, size_t from, const unsigned first,
                   const unsigned last, const size_t cols, float *out)
{
    const __m256i low = _mm256_set1_epi32((1 << bits) - 1);
    const unsigned codes = 32 / bits;
    __m256i x[UNIT / 4];
    ox_turn_bytes(h->codes, from, x);
#pragma GCC unroll 4
    for (unsigned i = first; i < last; i++)
#pragma GCC unroll 8
        for (unsigned c = 0; c < codes; c++, out += cols) {
            const __m256i code = _mm256_and_si256(_mm256_srli_epi32(x[i], (int)(c * bits)), low);
            _mm256_store_ps(
                out, _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(code), h->zero), h->scale));
        }
}

/* Blocks of half a unit: its bytes are turned for each of them. */
INLINE void widen_halves(const struct ox_few_bits *w, const unsigned bits, const unsigned parts,
                         struct part *h, float *out)
{
    const size_t cols = (size_t)parts * PART, block = w->block * cols;
    for (size_t b = 0; b < w->blocks; b += 2, out += 2 * block) {
        for (unsigned i = 0; i < parts; i++) {
            float *to = out + (size_t)i * PART;
            begin_block(w, b, &h[i]);
            unpack(&h[i], bits, b / 2 * UNIT, 0, UNIT / 8, cols, to);
            begin_block(w, b + 1, &h[i]);
            unpack(&h[i], bits, b / 2 * UNIT, UNIT / 8, UNIT / 4, cols, to + block);
        }
    }
}

INLINE void widen(const struct ox_few_bits *w, const unsigned bits, const unsigned parts,
                  struct part *h, float *out)
{
    const size_t bytes = w->block * bits / 8, rows = UNIT * 8 / bits, cols = (size_t)parts * PART;
    if (bytes < UNIT) {
        widen_halves(w, bits, parts, h, out);
        return;
    }
    for (size_t b = 0, at = 0; b < w->blocks; b++) {
        for (unsigned i = 0; i < parts; i++)
            begin_block(w, b, &h[i]);
        for (size_t p = 0; p < bytes; p += UNIT, at += UNIT, out += rows * cols) {
            for (unsigned i = 0; i < parts; i++)
                unpack(&h[i], bits, at, 0, UNIT / 4, cols, out + (size_t)i * PART);
        }
    }
}

/* Parts beyond the last column are the first one's. */
INLINE void panel(const struct ox_few_bits *w, size_t first, size_t cols, const unsigned parts,
                  float *out)
{
    struct part h[PARTS_MOST];
    for (size_t i = 0; i < parts; i++) {
        const size_t at = i * PART < cols ? i * PART : 0;
        begin_part(w, first + at, cols - at, &h[i]);
    }
    if (w->bits == 4)
        widen(w, 4, parts, h, out);
    else
        widen(w, 8, parts, h, out);
}

void ox_few_bits_panel_avx2(const struct ox_few_bits *w, size_t first, size_t cols, float *out)
{
    panel(w, first, cols, 2, out);
}

void ox_few_bits_panel_wide_avx2(const struct ox_few_bits *w, size_t first, size_t cols, float *out)
{
    panel(w, first, cols, 4, out);
}
