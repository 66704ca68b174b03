#include "kernels/distances.h"

#include <immintrin.h>

#define V __m256d
#define LANES 4
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd((p), (v))
#define ONE(x) _mm256_set1_pd(x)
#define SUB(a, b) _mm256_sub_pd((a), (b))
#define FUSED(a, b, c) _mm256_fmadd_pd((a), (b), (c))
#include "kernels/distances_tmpl.h"

const struct ox_distances ox_distances_avx2 = {squares};
