#include "kernels/distances.h"

#include <immintrin.h>

#define V __m512d
#define LANES 8
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, v) _mm512_storeu_pd((p), (v))
#define ONE(x) _mm512_set1_pd(x)
#define SUB(a, b) _mm512_sub_pd((a), (b))
#define FUSED(a, b, c) _mm512_fmadd_pd((a), (b), (c))
#include "kernels/distances_tmpl.h"

const struct ox_distances ox_distances_avx512 = {squares};
