#include <immintrin.h>

#include "kernels/integer.h"

#define W(op) _mm512_##op
#define WV __m512i
#define WH __m256i
enum { WN = 32 };
#define w_load(p) _mm512_loadu_si512(p)
#define w_store(p, v) _mm512_storeu_si512((p), (v))
#define h_set(x) _mm256_set1_epi8(x)
#define h_load(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define h_part(p, n) _mm256_maskz_loadu_epi8((__mmask32)(((uint64_t)1 << (n)) - 1), (p))

#include "kernels/x86/integer_winograd_tmpl.h"

void ox_integer_winograd_avx512(struct ox_integer *t)
{
    t->points = points;
    t->outputs = outputs;
}
