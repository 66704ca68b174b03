#include <immintrin.h>
#include <string.h>

#include "kernels/integer.h"

#define IV __m512i
#define IR 12
#define IP 2
#define IN 1
enum { IW = 16 };
#define iv_zero() _mm512_setzero_si512()
#define iv_set(x) _mm512_set1_epi32(x)
#define iv_load(p) _mm512_loadu_si512(p)
#define iv_store(p, v) _mm512_storeu_si512((p), (v))

#define iv_dot(sum, x, b) _mm512_add_epi32((sum), _mm512_madd_epi16((x), (b)))

#include "kernels/integer_tmpl.h"

void ox_integer_avx512(struct ox_integer *t)
{
    t->mr = IR;
    t->panels = IPANELS;
    t->tile = NULL;
    t->words = int_tile;
}
