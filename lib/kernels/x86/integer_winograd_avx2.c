#include <immintrin.h>
#include <string.h>

#include "kernels/integer.h"

#define W(op) _mm256_##op
#define WV __m256i
#define WH __m128i
enum { WN = 16 };
#define w_load(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define w_store(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), (v))
#define h_set(x) _mm_set1_epi8(x)
#define h_load(p) _mm_loadu_si128((const __m128i *)(const void *)(p))

static inline __m128i h_part(const uint8_t *p, size_t n)
{
    uint8_t part[sizeof(__m128i)] = {0};
    memcpy(part, p, n);
    return h_load(part);
}

#include "kernels/x86/integer_winograd_tmpl.h"

void ox_integer_winograd_avx2(struct ox_integer *t)
{
    t->points = points;
    t->outputs = outputs;
}
