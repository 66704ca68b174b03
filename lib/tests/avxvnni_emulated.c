/* The AVX-VNNI table of 8-bit products without AVX-VNNI. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx2,fma,f16c")
#include <immintrin.h>

/* Adds to each lane the products of its four bytes, of x without sign. */
static inline __attribute__((always_inline)) __m256i dot_of_bytes(__m256i sum, __m256i x, __m256i w)
{
    const __m256i low = _mm256_set1_epi16(255);
    const __m256i even =
        _mm256_madd_epi16(_mm256_and_si256(x, low), _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}

#define OX_EMULATE_DOT(sum, x, w) dot_of_bytes(sum, x, w)
#define ox_integer_avxvnni ox_integer_avxvnni_emulated
#include "kernels/x86/integer_avxvnni.c"
#else
extern int ox_no_emulation;
#endif
