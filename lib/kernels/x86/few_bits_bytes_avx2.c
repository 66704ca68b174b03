/* Columns by sixteen: a stretch of their codes is turned, so that a vector holds four codes of each of eight columns, and serves all
 * rows from the first level of the cache. Codes of 8 bits are two of 4, so that eight products of pairs add up in 16 bits. */
#include "kernels/x86/few_bits_row_avx2.h"

#include <float.h>
#include <immintrin.h>
#include <string.h>

#include "kernels/inline.h"
#include "kernels/x86/few_bits_turn_avx2.h"

enum { COLS = 16, STRETCH = 256, LEAST_BLOCK = 16, HALVES = COLS / 8, DEEP = 8 };

/* Codes: [quad of the stretch][part of 4 bits][half of the columns][column][4]. */
struct panel {
    _Alignas(32) uint8_t codes[STRETCH / 4 * 2 * COLS * 4];
    _Alignas(32) float scales[STRETCH / LEAST_BLOCK][COLS], zeros[STRETCH / LEAST_BLOCK][COLS];
};

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256(p);
}

/* The codes of eight columns from byte `from` on, of `bytes`, a multiple of 16. */
INLINE void turn_codes(const uint8_t *const at[8], size_t from, size_t bytes, const unsigned bits,
                       uint8_t *out)
{
    const __m256i low = _mm256_set1_epi8(15);
    const size_t apart = bits == 4 ? COLS * 4 : COLS * 8, high = COLS * 4;
    for (size_t p = 0; p < bytes; p += 16) {
        __m256i x[4];
        ox_turn_bytes(at, from + p, x);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            uint8_t *to = out + (p / 4 + i) * (bits == 4 ? 2 * apart : apart);
            _mm256_store_si256((void *)to, _mm256_and_si256(x[i], low));
            _mm256_store_si256((void *)(to + high),
                               _mm256_and_si256(_mm256_srli_epi16(x[i], 4), low));
        }
    }
}

/* Of blocks of a row [from, from + n): those of the weights, of which each is a 2^parts-th. */
static void turn_scales(const struct ox_few_bits *w, const size_t column[8], size_t from, size_t n,
                        unsigned parts, float (*out)[COLS])
{
    size_t b = 0;
    const uint8_t *at[8];
    for (int j = 0; j < 8; j++)
        at[j] = (const uint8_t *)(w->scales + column[j] * w->blocks + (from >> parts));
    for (; parts == 0 && b + 4 <= n; b += 4) {
        __m256i x[4];
        ox_turn_bytes(at, b * sizeof(float), x);
        for (int i = 0; i < 4; i++)
            _mm256_store_si256((void *)out[b + (size_t)i], x[i]);
    }
    for (; b < n; b++)
        for (int j = 0; j < 8; j++)
            out[b][j] = w->scales[column[j] * w->blocks + ((from + b) >> parts)];
}

static void turn_zeros(const struct ox_few_bits *w, const size_t column[8], size_t from, size_t n,
                       unsigned parts, float (*out)[COLS])
{
    for (size_t b = 0; b < n; b++) {
        const size_t block = (from + b) >> parts;
        uint8_t bytes[8];
        for (int j = 0; j < 8; j++)
            bytes[j] = w->zeros[column[j] * w->zero_bytes + block * w->bits / 8];
        __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)bytes));
        if (w->bits == 4)
            x = _mm256_and_si256(_mm256_srli_epi32(x, (int)(block % 2 * 4)), _mm256_set1_epi32(15));
        _mm256_store_ps(out[b], _mm256_cvtepi32_ps(x));
    }
}

/* Elements [from, from + n) of columns [first, first + cols); those beyond are the last of them again. */
INLINE void fill(struct panel *panel, const struct ox_few_bits *w, const unsigned bits,
                 size_t first, size_t cols, size_t from, size_t n, size_t block)
{
    const unsigned parts = (unsigned)__builtin_ctzll(w->block / block);
    for (size_t h = 0; h < HALVES; h++) {
        size_t column[8];
        const uint8_t *at[8];
        for (size_t j = 0; j < 8; j++) {
            column[j] = first + (h * 8 + j < cols ? h * 8 + j : cols - 1);
            at[j] = w->codes + column[j] * (w->k * bits / 8);
        }
        turn_codes(at, from * bits / 8, n * bits / 8, bits, panel->codes + h * 32);
        turn_scales(w, column, from / block, n / block, parts,
                    (float(*)[COLS])(panel->scales[0] + h * 8));
        if (w->zeros)
            turn_zeros(w, column, from / block, n / block, parts,
                       (float(*)[COLS])(panel->zeros[0] + h * 8));
    }
}

/* Of adjacent bytes. Given the choice compilers make all products before they add them, and spill. */
INLINE void add_pairs(__m256i *sum, __m256i codes, __m256i bytes)
{
    __m256i pairs;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
            : "+x"(*sum), "=&x"(pairs)
            : "x"(codes), "x"(bytes));
}

/* sum[i][h] += products of `quads` times four codes, at most DEEP, of rows of a by the columns of half h. */
INLINE void add_quads(const uint8_t *codes, const unsigned bits, const unsigned rows,
                      const int8_t *a, size_t lda, const size_t quads, __m256i sum[4][HALVES])
{
    const unsigned parts = bits / 4;
    const __m256i ones = _mm256_set1_epi16(1), sixteens = _mm256_set1_epi16(16);
    __m256i pairs[4][2][HALVES];
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (unsigned q = 0; q < parts; q++)
#pragma GCC unroll 2
            for (unsigned h = 0; h < HALVES; h++)
                pairs[i][q][h] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (size_t p = 0; p < quads; p++, a += 4, codes += parts * COLS * 4) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++) {
            const __m256i four = _mm256_castps_si256(
                _mm256_broadcast_ss((const float *)(const void *)(a + i * lda)));
#pragma GCC unroll 2
            for (unsigned q = 0; q < parts; q++)
#pragma GCC unroll 2
                for (unsigned h = 0; h < HALVES; h++)
                    add_pairs(&pairs[i][q][h], load(codes + (q * HALVES + h) * 32), four);
        }
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (unsigned h = 0; h < HALVES; h++) {
            sum[i][h] = _mm256_add_epi32(sum[i][h], _mm256_madd_epi16(pairs[i][0][h], ones));
            if (parts == 2)
                sum[i][h] =
                    _mm256_add_epi32(sum[i][h], _mm256_madd_epi16(pairs[i][1][h], sixteens));
        }
}

/* c [rows][COLS] += the stretch [from, from + n) of rows by the panel. */
INLINE void add_stretch(const struct panel *panel, const unsigned bits, const bool zeros,
                        const unsigned rows, const struct ox_byte_rows *a, size_t row, size_t from,
                        size_t n, float *c)
{
    const int8_t *at = a->codes + row * a->k + from;
    const float *scales = a->scales + from / a->block * a->m + row,
                *sums = a->sums + from / a->block * a->m + row;
    const uint8_t *codes = panel->codes;
    const size_t quads = a->block / 4, blocks = n / a->block;
    __m256 all[4][HALVES];
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (unsigned h = 0; h < HALVES; h++)
            all[i][h] = _mm256_load_ps(c + i * COLS + h * 8);
    for (size_t b = 0; b < blocks; b++, scales += a->m, sums += a->m) {
        __m256i sum[4][HALVES];
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (unsigned h = 0; h < HALVES; h++)
                sum[i][h] = _mm256_setzero_si256();
        if (bits == 8 && quads < DEEP)
            add_quads(codes, bits, rows, at, a->k, DEEP / 2, sum);
        for (size_t p = 0; p + DEEP <= quads; p += DEEP)
            add_quads(codes + p * (bits / 4) * COLS * 4, bits, rows, at + p * 4, a->k, DEEP, sum);
        at += a->block;
        codes += a->block * (bits / 4) * COLS;
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++) {
            const __m256 scale = _mm256_broadcast_ss(scales + i),
                         of_row = _mm256_broadcast_ss(sums + i);
#pragma GCC unroll 2
            for (unsigned h = 0; h < HALVES; h++) {
                const __m256 zero = zeros ? _mm256_load_ps(panel->zeros[b] + h * 8)
                                          : _mm256_set1_ps((float)(1 << (bits - 1)));
                all[i][h] = _mm256_fmadd_ps(
                    _mm256_fnmadd_ps(zero, of_row, _mm256_cvtepi32_ps(sum[i][h])),
                    _mm256_mul_ps(_mm256_load_ps(panel->scales[b] + h * 8), scale), all[i][h]);
            }
        }
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (unsigned h = 0; h < HALVES; h++)
            _mm256_store_ps(c + i * COLS + h * 8, all[i][h]);
}

enum { ROWS = 64 }; /* that a panel is turned for */

INLINE void dot_rows(const struct ox_few_bits *w, const unsigned bits, const bool zeros,
                     size_t first, size_t cols, const struct ox_byte_rows *a, size_t row,
                     size_t rows, float *c, size_t ldc)
{
    const unsigned most = bits == 4 ? 4 : 2; /* as many as registers hold */
    struct panel panel;
    _Alignas(32) float sums[ROWS * COLS];
    memset(sums, 0, rows * COLS * sizeof *sums);
    for (size_t from = 0; from < w->k; from += STRETCH) {
        const size_t n = w->k - from < STRETCH ? w->k - from : STRETCH;
        size_t i = 0;
        fill(&panel, w, bits, first, cols, from, n, a->block);
        for (; i + most <= rows; i += most)
            add_stretch(&panel, bits, zeros, most, a, row + i, from, n, sums + i * COLS);
        for (; i < rows; i++)
            add_stretch(&panel, bits, zeros, 1, a, row + i, from, n, sums + i * COLS);
    }
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, sums + i * COLS, cols * sizeof *c);
}

#define FORM(name, bits, zeros)                                                                    \
    static void name(const struct ox_few_bits *w, size_t first, size_t cols,                       \
                     const struct ox_byte_rows *a, size_t row, size_t rows, float *c, size_t ldc)  \
    {                                                                                              \
        dot_rows(w, bits, zeros, first, cols, a, row, rows, c, ldc);                               \
    }
FORM(dot_4, 4, false)
FORM(dot_4_zeros, 4, true)
FORM(dot_8, 8, false)
FORM(dot_8_zeros, 8, true)
#undef FORM

static void dots(const struct ox_few_bits *w, size_t first, size_t n, const struct ox_byte_rows *a,
                 float *c, size_t ldc)
{
    const bool zeros = w->zeros;
    if (ox_byte_rows_are_few(a)) {
        ox_few_bits_row_avx2(w, first, n, a, c, ldc);
        return;
    }
    for (size_t j = 0; j < n; j += COLS) {
        for (size_t i = 0; i < a->m; i += ROWS) {
            const size_t cols = n - j < COLS ? n - j : COLS,
                         rows = a->m - i < ROWS ? a->m - i : ROWS;
            (w->bits == 4 ? zeros ? dot_4_zeros : dot_4
             : zeros      ? dot_8_zeros
                          : dot_8)(w, first + j, cols, a, i, rows, c + i * ldc + j, ldc);
        }
    }
}

/* Sixteen numbers as bytes in their order. */
INLINE __m128i bytes_of(const float *x, __m256 inverse)
{
    const __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse)),
                  b = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), inverse));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

INLINE int32_t most_of(__m256i x)
{
    __m128i y = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_max_epi32(y, _mm_shuffle_epi32(y, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(y, _mm_shuffle_epi32(y, 0xb1)));
}

/* Codes of block b; their sum. Even places and odd ones of sixteen are next to each other in chunks of eight, or else apart. */
INLINE int quantize_block(const struct ox_byte_rows *a, const float *x, size_t b, float inverse,
                          int8_t *codes)
{
    const __m128i apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const bool in_eights = a->chunk == 8, in_order = a->chunk == 1;
    __m128i sum = _mm_setzero_si128();
    for (size_t p = b * a->block; p < (b + 1) * a->block; p += 16) {
        const __m128i bytes = bytes_of(x + p, _mm256_set1_ps(inverse));
        const __m128i halves = _mm_shuffle_epi8(bytes, apart);
        if (in_order)
            _mm_storeu_si128((void *)(codes + p), bytes);
        else if (in_eights)
            _mm_storeu_si128((void *)(codes + p), _mm_shuffle_epi32(halves, 0xd8));
        if (!in_order && !in_eights) {
            _mm_storel_epi64((void *)(codes + ox_byte_place(a, p)), halves);
            _mm_storel_epi64((void *)(codes + ox_byte_place(a, p + 1)),
                             _mm_unpackhi_epi64(halves, halves));
        }
        const __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi8(1), bytes);
        sum = _mm_add_epi32(sum, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
    }
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

static bool quantize(const struct ox_byte_rows *a, const float *x, size_t row)
{
    const __m256i no_sign = _mm256_set1_epi32(INT32_MAX);
    for (size_t b = 0; b < a->blocks; b++) {
        __m256i bits = _mm256_setzero_si256();
        for (size_t p = b * a->block; p < (b + 1) * a->block; p += 8)
            bits = _mm256_max_epi32(bits, _mm256_and_si256(load(x + p), no_sign));
        const int32_t most = most_of(bits);
        if (most >= 0x7f800000) /* infinite, or no number */
            return false;
        const float scale = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(most))) / 127,
                    inverse = scale < FLT_MIN ? 0 : 1 / scale;
        a->scales[b * a->m + row] = scale;
        a->sums[b * a->m + row] = (float)quantize_block(a, x, b, inverse, a->codes + row * a->k);
    }
    return true;
}

const struct ox_few_bits_bytes ox_few_bits_bytes_avx2 = {.quantize = quantize, .dots = dots};
