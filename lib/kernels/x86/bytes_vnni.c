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

void ox_bytes_vbmi(struct ox_bytes *t)
{
    t->look_up = look_up;
    t->look_up_rows = look_up_rows;
}

void ox_bytes_vnni(struct ox_bytes *t)
{
    t->add = add;
    t->add_rows = add_rows;
}
