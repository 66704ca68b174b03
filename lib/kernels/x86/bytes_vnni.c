/* Rows of 8-bit codes with VNNI, and with VBMI, which nearly every processor with VNNI has. */
#include <immintrin.h>

#include "kernels/bytes.h"

#define dot_words(sum, x, f) _mm512_dpwssd_epi32((sum), (x), (f))
#include "kernels/x86/bytes_sum_avx512.h"

#define VBMI __attribute__((target("avx512vbmi")))

/* Two shuffles, each of half of the table; the code's top bit chooses. */
VBMI static inline __m512i look_up_64(const __m512i *table, __m512i at)
{
    const __m512i low = _mm512_permutex2var_epi8(table[0], at, table[1]);
    const __m512i high = _mm512_permutex2var_epi8(table[2], at, table[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(at), high);
}

VBMI static inline __attribute__((always_inline)) void look_up_row(size_t n, const uint8_t *x,
                                                                   const __m512i *parts, uint8_t *y)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        _mm512_storeu_si512(y + i, look_up_64(parts, _mm512_loadu_si512(x + i)));
    if (i == n)
        return;
    const __mmask64 mask = ((__mmask64)1 << (n - i)) - 1;
    _mm512_mask_storeu_epi8(y + i, mask, look_up_64(parts, _mm512_maskz_loadu_epi8(mask, x + i)));
}

VBMI static inline __attribute__((always_inline)) void load_table(const uint8_t table[256],
                                                                  __m512i parts[4])
{
    for (unsigned k = 0; k < 4; k++)
        parts[k] = _mm512_loadu_si512(table + 64 * k);
}

VBMI static void look_up(size_t n, const uint8_t *x, const uint8_t table[256], uint8_t *y)
{
    __m512i parts[4];
    load_table(table, parts);
    look_up_row(n, x, parts, y);
}

VBMI static void look_up_rows(size_t rows, size_t n, size_t step, const uint8_t table[256],
                              uint8_t *y)
{
    __m512i parts[4];
    load_table(table, parts);
    for (; rows > 0; rows--, y += step)
        look_up_row(n, y, parts, y);
}

/* A table of 256 floats, byte 0 of each, then byte 1 and so on: four vectors a byte. */
struct planes {
    __m512i part[4][4];
};

VBMI static void split(const float table[256], struct planes *p)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes = _mm512_set4_epi32(0x0f0b0703, 0x0e0a0602, 0x0d090501, 0x0c080400);
    for (size_t k = 0; k < 4; k++) {
        __m512i x[4]; /* of sixteen floats each, their bytes 0 in lane 0, bytes 1 in lane 1 ... */
        for (size_t i = 0; i < 4; i++)
            x[i] = _mm512_permutexvar_epi32(
                order, _mm512_shuffle_epi8(_mm512_loadu_si512(table + 64 * k + 16 * i), bytes));
        const __m512i a = _mm512_shuffle_i32x4(x[0], x[1], 0x44);
        const __m512i b = _mm512_shuffle_i32x4(x[2], x[3], 0x44);
        const __m512i c = _mm512_shuffle_i32x4(x[0], x[1], 0xee);
        const __m512i d = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
        p->part[0][k] = _mm512_shuffle_i32x4(a, b, 0x88);
        p->part[1][k] = _mm512_shuffle_i32x4(a, b, 0xdd);
        p->part[2][k] = _mm512_shuffle_i32x4(c, d, 0x88);
        p->part[3][k] = _mm512_shuffle_i32x4(c, d, 0xdd);
    }
}

/* Codes first lie so that what is put together within quarters of vectors comes out in order. */
VBMI static inline void look_up_64_floats(const struct planes *p, __m512i at, __m512i y[4])
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i x = _mm512_permutexvar_epi32(order, at);
    const __m512i a = look_up_64(p->part[0], x), b = look_up_64(p->part[1], x);
    const __m512i c = look_up_64(p->part[2], x), d = look_up_64(p->part[3], x);
    const __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
    const __m512i low_2 = _mm512_unpacklo_epi8(c, d), high_2 = _mm512_unpackhi_epi8(c, d);
    y[0] = _mm512_unpacklo_epi16(low, low_2);
    y[1] = _mm512_unpackhi_epi16(low, low_2);
    y[2] = _mm512_unpacklo_epi16(high, high_2);
    y[3] = _mm512_unpackhi_epi16(high, high_2);
}

VBMI static void look_up_floats(size_t n, const uint8_t *x, const float table[256], float *y)
{
    enum { FEW = 128 }; /* that are looked up before the table is split */
    struct planes p;
    __m512i out[4];
    size_t i = 0;
    if (n < FEW) {
        for (; i < n; i++)
            y[i] = table[x[i]];
        return;
    }
    split(table, &p);
    for (; i + 64 <= n; i += 64) {
        look_up_64_floats(&p, _mm512_loadu_si512(x + i), out);
        for (size_t k = 0; k < 4; k++)
            _mm512_storeu_si512(y + i + 16 * k, out[k]);
    }
    for (; i < n; i++)
        y[i] = table[x[i]];
}

void ox_bytes_vbmi(struct ox_bytes *t)
{
    t->look_up = look_up;
    t->look_up_floats = look_up_floats;
    t->look_up_rows = look_up_rows;
}

void ox_bytes_vnni(struct ox_bytes *t)
{
    t->add = add;
    t->add_rows = add_rows;
}
