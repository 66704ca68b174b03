/* Rows of bytes by panels of MIXED, for AVX2. */
#include <string.h>

#include "kernels/inline.h"
#include "kernels/x86/integer_end_avx2.h"

enum { ROWS = 4, FEW = 1, LANES = 8, PARTS = 2, VECTOR = 32 };

#define IV __m256i
#define FV __m256
#define W(op) _mm256_##op
#define XOR _mm256_xor_si256

INLINE IV iv_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void iv_store(void *p, IV x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}

/* Weights stay in memory: a compiler that loads them first has no register left for a sum. */
INLINE IV pairs_at(IV x, const char *weights)
{
    IV pairs;
    __asm__("vpmaddubsw %2, %1, %0"
            : "=x"(pairs)
            : "x"(x), "m"(*(const __m256i *)(const void *)weights));
    return pairs;
}

INLINE IV turn_of(IV weights)
{
    const IV negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), weights);
    return _mm256_xor_si256(negative, _mm256_set1_epi8(INT8_MIN));
}

INLINE void store_sixteen(uint8_t *out, __m128i x, const bool whole, size_t n)
{
    if (whole)
        _mm_storeu_si128((__m128i *)(void *)out, x);
    else
        memcpy(out, &x, n);
}

/* Two at a time. */
INLINE void leave_rows(const struct ends *e, const FV *scale, const unsigned rows, IV (*sum)[PARTS],
                       const bool whole, size_t n, uint8_t *out, size_t out_row)
{
#pragma GCC unroll 2
    for (unsigned i = 0; i < rows; i += 2, out += 2 * out_row) {
        const unsigned next = i + 1 < rows ? i + 1 : i;
        const IV two[] = {whole_of(e, sum[i][0], scale[0]), whole_of(e, sum[i][1], scale[1]),
                          whole_of(e, sum[next][0], scale[0]), whole_of(e, sum[next][1], scale[1])};
        const IV bytes = _mm256_permutevar8x32_epi32(bytes_of(e, two),
                                                     _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        store_sixteen(out, _mm256_castsi256_si128(bytes), whole, n);
        if (next > i)
            store_sixteen(out + out_row, _mm256_extracti128_si256(bytes, 1), whole, n);
    }
}

#include "kernels/x86/integer_mixed_tmpl.h"

void ox_integer_mixed_avx2(struct ox_integer *t)
{
    t->mixed_rows = ROWS;
    t->mixed_near = 1 << 14;
    t->mixed = mixed;
}
