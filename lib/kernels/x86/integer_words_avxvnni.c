/* The tile of words by PAIRS for AVX-VNNI, for Winograd's filtering. */
#include "kernels/integer.h"

#ifdef __AVXVNNI__
#define DOT "vpdpwssd"
#include "kernels/x86/integer_tile_avxvnni.h"

INLINE void words_of(const struct ox_integer_tile *t, const unsigned rows, const unsigned parts)
{
    __m256i sum[ROWS][PARTS];
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++)
        sum[i][0] = sum[i][1] = _mm256_setzero_si256();
    sum_up(t, rows, parts, sum);
    put_sums(t, rows, parts, sum);
}

BY_ROWS(words, words_of)

void ox_integer_words_avxvnni(struct ox_integer *t)
{
    t->words = words;
    t->fast_bytes = true;
    t->transforms = 2.5;
}
#else
void ox_integer_words_avxvnni(struct ox_integer *t)
{
    (void)t;
}
#endif
