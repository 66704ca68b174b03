#include "kernels/x86/vec_avx2.h"

#define FIXED24_KERNELS ox_fixed24_avx2
#define LOAD_WORDS(p) _mm256_load_si256((const __m256i *)(const void *)(p))
#define LOWER_HALVES(x) _mm256_castsi256_ps(_mm256_slli_epi32((x), 16))
#define UPPER_HALVES(x)                                                                            \
    _mm256_castsi256_ps(_mm256_and_si256((x), _mm256_set1_epi32((int)0xffff0000)))
#define FOURTH(x, y, z) fourth((x), (y), (z))

/* Where each low byte goes; 0x80 leaves a zero. */
static inline __m256i fourth(__m256i x, __m256i y, __m256i z)
{
    const __m256i high = _mm256_broadcastsi128_si256(
                      _mm_setr_epi32(0x00808080, 0x04808080, 0x08808080, 0x0c808080)),
                  middle = _mm256_broadcastsi128_si256(_mm_setr_epi32(
                      (int)0x80008080, (int)0x80048080, (int)0x80088080, (int)0x800c8080)),
                  low = _mm256_broadcastsi128_si256(_mm_setr_epi32(
                      (int)0x80800080, (int)0x80800480, (int)0x80800880, (int)0x80800c80));
    return _mm256_or_si256(
        _mm256_shuffle_epi8(x, high),
        _mm256_or_si256(_mm256_shuffle_epi8(y, middle), _mm256_shuffle_epi8(z, low)));
}

#include "kernels/fixed24_tmpl.h"
