/* Rows of 8-bit codes with VBMI, which every processor with AMX has. */
#include <immintrin.h>

#include "kernels/bytes.h"

/* Two shuffles, each of half of the table; the code's top bit chooses. */
__attribute__((target("avx512vbmi"))) static void look_up(size_t n, const uint8_t *x,
                                                          const uint8_t table[256], uint8_t *y)
{
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
    const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
    for (size_t i = 0; i < n; i += 64) {
        const __mmask64 mask = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
        const __m512i at = _mm512_maskz_loadu_epi8(mask, x + i);
        const __m512i low = _mm512_permutex2var_epi8(a, at, b);
        const __m512i high = _mm512_permutex2var_epi8(c, at, d);
        _mm512_mask_storeu_epi8(y + i, mask,
                                _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(at), high));
    }
}

void ox_bytes_amx(struct ox_bytes *t)
{
    t->look_up = look_up;
}
