/* The tile of words by PAIRS whatever the layout is, for Winograd's filtering. */
#include <immintrin.h>
#include <string.h>

#include "kernels/integer.h"

#define IV __m512i
#define IR 12
#define IP 4
enum { IW = 16 };
#define iv_zero() _mm512_setzero_si512()
#define iv_set(x) _mm512_set1_epi32(x)
#define iv_load(p) _mm512_loadu_si512(p)
#define iv_store(p, v) _mm512_storeu_si512((p), (v))
#define iv_dot(sum, x, b) _mm512_dpwssd_epi32((sum), (x), (b))

#include "kernels/integer_tmpl.h"

void ox_integer_words_vnni(struct ox_integer *t)
{
    t->words = int_tile;
    t->fast_bytes = true;
    if (ox_cpu_is_amd()) /* L2 of 1 MB; Intel's has 2 */
        t->points_near = 1 << 18;
    t->transforms = ox_cpu_is_amd() ? 1 : 2.5; /* AMD's form a vector a cycle, Intel's two */
}
