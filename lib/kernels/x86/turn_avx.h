/* Turning floats in registers, for AVX2 and AVX-512 alike: what transpose_tmpl.h and attention are made of. */
#ifndef OX_KERNELS_X86_TURN_AVX_H
#define OX_KERNELS_X86_TURN_AVX_H

#include <immintrin.h>
#include <stddef.h>

/* Eight rows of eight, rows `from` floats apart, as eight columns, `to` apart. */
static inline void v_turn_tile(const float *x, size_t from, float *y, size_t to)
{
    __m256 r[8], t[8];
    for (size_t i = 0; i < 4; i++) {
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
    }
    for (size_t i = 0; i < 8; i += 4, y += 4 * to) {
        _mm256_storeu_ps(y, _mm256_shuffle_ps(t[i], t[i + 2], 0x44));
        _mm256_storeu_ps(y + to, _mm256_shuffle_ps(t[i], t[i + 2], 0xee));
        _mm256_storeu_ps(y + 2 * to, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44));
        _mm256_storeu_ps(y + 3 * to, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee));
    }
}

#ifdef __AVX512F__
/* Sixteen rows of sixteen likewise: each line of y is filled by one store. */
#define v_turn_square v_turn_square
static inline void v_turn_square(const float *x, size_t from, float *y, size_t to)
{
    __m512 r[16], t[16];
    for (size_t i = 0; i < 16; i++) {
        const float *at = x + i % 4 * from + i / 4 * 4;
        r[i] = _mm512_castps128_ps512(_mm_loadu_ps(at));
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(at + 4 * from), 1);
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(at + 8 * from), 2);
        r[i] = _mm512_insertf32x4(r[i], _mm_loadu_ps(at + 12 * from), 3);
    }
    for (int i = 0; i < 16; i += 4) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
        t[i + 2] = _mm512_unpacklo_ps(r[i + 2], r[i + 3]);
        t[i + 3] = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
    }
    for (size_t i = 0; i < 16; i += 4, y += 4 * to) {
        _mm512_storeu_ps(y, _mm512_shuffle_ps(t[i], t[i + 2], 0x44));
        _mm512_storeu_ps(y + to, _mm512_shuffle_ps(t[i], t[i + 2], 0xee));
        _mm512_storeu_ps(y + 2 * to, _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44));
        _mm512_storeu_ps(y + 3 * to, _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee));
    }
}
#endif

/* Four of each of four rows as four fours of a column each, `to` apart. */
static inline void v_turn_four(const float *const x[4], float *y, size_t to)
{
    __m128 a = _mm_loadu_ps(x[0]), b = _mm_loadu_ps(x[1]);
    __m128 c = _mm_loadu_ps(x[2]), d = _mm_loadu_ps(x[3]);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(y, a);
    _mm_storeu_ps(y + to, b);
    _mm_storeu_ps(y + 2 * to, c);
    _mm_storeu_ps(y + 3 * to, d);
}

/* Eight of each of three rows as eight columns without gaps. */
#define v_turn_three v_turn_three
static inline void v_turn_three(const float *const x[3], float *y)
{
    const __m256 a = _mm256_loadu_ps(x[0]), b = _mm256_loadu_ps(x[1]), c = _mm256_loadu_ps(x[2]);
    const __m256i low = _mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2);
    const __m256i mid = _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5);
    const __m256i high = _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7);
#define THIRDS(at, is_b, is_c)                                                                     \
    _mm256_blend_ps(                                                                               \
        _mm256_blend_ps(_mm256_permutevar8x32_ps(a, at), _mm256_permutevar8x32_ps(b, at), is_b),   \
        _mm256_permutevar8x32_ps(c, at), is_c)
    _mm256_storeu_ps(y, THIRDS(low, 0x92, 0x24));
    _mm256_storeu_ps(y + 8, THIRDS(mid, 0x24, 0x49));
    _mm256_storeu_ps(y + 16, THIRDS(high, 0x49, 0x92));
#undef THIRDS
}

/* Four rows, `from` floats apart, of n <= 4 columns, which lie `to` apart then; four floats of each row are read. */
#define v_turn_columns v_turn_columns
static inline void v_turn_columns(const float *x, size_t from, size_t n, float *y, size_t to)
{
    __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + from);
    __m128 c = _mm_loadu_ps(x + 2 * from), d = _mm_loadu_ps(x + 3 * from);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(y, a);
    if (n > 1)
        _mm_storeu_ps(y + to, b);
    if (n > 2)
        _mm_storeu_ps(y + 2 * to, c);
    if (n > 3)
        _mm_storeu_ps(y + 3 * to, d);
}

/* Eight rows of three without gaps as three columns: each element lies in a lane of its own already. */
#define v_turn_thirds v_turn_thirds
static inline void v_turn_thirds(const float *x, float *y, size_t to)
{
    const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + 8), c = _mm256_loadu_ps(x + 16);
    const __m256i first = _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5);
    const __m256i second = _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6);
    const __m256i third = _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7);
#define LANES_OF(is_b, is_c) _mm256_blend_ps(_mm256_blend_ps(a, b, is_b), c, is_c)
    _mm256_storeu_ps(y, _mm256_permutevar8x32_ps(LANES_OF(0x92, 0x24), first));
    _mm256_storeu_ps(y + to, _mm256_permutevar8x32_ps(LANES_OF(0x24, 0x49), second));
    _mm256_storeu_ps(y + 2 * to, _mm256_permutevar8x32_ps(LANES_OF(0x49, 0x92), third));
#undef LANES_OF
}

#endif
