#include <immintrin.h>
#include <string.h>

#include "kernels/fingerprint.h"

/* Of the even elements of 32 bits. */
static inline __m256i products(__m256i x, __m256i y)
{
    const __m256i product = _mm256_mul_epu32(x, y);
    return _mm256_xor_si256(product, _mm256_srli_epi64(product, 29));
}

uint64_t ox_fingerprint_avx2(size_t n, const void *floats)
{
    enum { WIDTH = 8 };
    const char *at = floats;
    const __m256i left = _mm256_set1_epi32((int)0x9E3779B9u);
    const __m256i right = _mm256_set1_epi32((int)0x85EBCA6Bu);
    __m256i even = _mm256_setzero_si256(), odd = even;
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        __m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)(at + i * 4));
        const __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(bits, 1), _mm256_setzero_si256());
        bits = _mm256_andnot_si256(zero, bits);
        const __m256i turned =
            _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_slli_epi32(bits, 16));
        const __m256i x = _mm256_add_epi32(bits, left), y = _mm256_add_epi32(turned, right);
        even = _mm256_add_epi64(even, products(x, y));
        odd = _mm256_add_epi64(odd, products(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(y, 32)));
    }
    uint64_t sums[4], sum = 0;
    _mm256_storeu_si256((__m256i *)sums, _mm256_add_epi64(even, odd));
    for (size_t k = 0; k < 4; k++)
        sum += sums[k];
    for (; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, at + i * sizeof bits, sizeof bits);
        sum += ox_fingerprint_one(bits);
    }
    return sum;
}
