#include <immintrin.h>
#include <string.h>

#include "kernels/integer.h"

#define IV __m512i
#define IR 12
#define ILAYOUT OX_INTEGER_PAIRS
enum { IW = 16 };
#define iv_zero() _mm512_setzero_si512()
#define iv_set(x) _mm512_set1_epi32(x)
#define iv_load(p) _mm512_loadu_si512(p)
#define iv_store(p, v) _mm512_storeu_si512((p), (v))

static inline __m512i iv_dot(__m512i sum, __m512i x, __m512i b, unsigned odd)
{
    const __m512i words =
        odd ? _mm512_srli_epi16(x, 8) : _mm512_and_si512(x, _mm512_set1_epi32(0xff00ff));
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(words, b));
    __asm__("" : "+v"(sum)); /* in this order: others need more registers than there are */
    return sum;
}

#include "kernels/x86/integer_tmpl.h"

void ox_integer_avx512(struct ox_integer *t)
{
    t->mr = IR;
    t->nr = INR;
    t->layout = ILAYOUT;
    t->tile = int_tile;
}
