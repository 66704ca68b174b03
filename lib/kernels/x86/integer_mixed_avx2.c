/* Rows of bytes by panels of MIXED, for AVX2. */
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

#include "kernels/x86/integer_mixed_tmpl.h"

void ox_integer_mixed_avx2(struct ox_integer *t)
{
    t->mixed_rows = ROWS;
    t->mixed_near = 1 << 14;
    t->mixed = mixed;
}
