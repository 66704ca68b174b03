#include "kernels/gemm.h"

#include <immintrin.h>

#define REAL float
#define NAME(x) x##_f32
#define V __m256
#define LANES 8
#define ROWS 4
#define VECTORS 2
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps((p), (v))
#define MASK __m256i
#define FIRST(n)                                                                                   \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD_SOME(p, mask) _mm256_maskload_ps((p), (mask))
#define STORE_SOME(p, mask, v) _mm256_maskstore_ps((p), (mask), (v))
#define ONE(x) _mm256_set1_ps(x)
#define SUM(x, y) _mm256_add_ps((x), (y))
#define ADD_PRODUCT(sum, x, y) _mm256_add_ps((sum), _mm256_mul_ps((x), (y))) /* as plain C */
#include "kernels/x86/gemm_tile_avx_tmpl.h"

#define REAL double
#define NAME(x) x##_f64
#define V __m256d
#define LANES 4
#define ROWS 4
#define VECTORS 2
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd((p), (v))
#define MASK __m256i
#define FIRST(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define LOAD_SOME(p, mask) _mm256_maskload_pd((p), (mask))
#define STORE_SOME(p, mask, v) _mm256_maskstore_pd((p), (mask), (v))
#define ONE(x) _mm256_set1_pd(x)
#define SUM(x, y) _mm256_add_pd((x), (y))
#define ADD_PRODUCT(sum, x, y) _mm256_add_pd((sum), _mm256_mul_pd((x), (y))) /* as plain C */
#include "kernels/x86/gemm_tile_avx_tmpl.h"

#define REAL double
#define IN_PLACE
#define NAME(x) x##_f64_fused
#define V __m256d
#define LANES 4
#define ROWS 4
#define VECTORS 2
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd((p), (v))
#define MASK __m256i
#define FIRST(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define LOAD_SOME(p, mask) _mm256_maskload_pd((p), (mask))
#define STORE_SOME(p, mask, v) _mm256_maskstore_pd((p), (mask), (v))
#define ONE(x) _mm256_set1_pd(x)
#define SUM(x, y) _mm256_add_pd((x), (y))
#define ADD_PRODUCT(sum, x, y) _mm256_fmadd_pd((x), (y), (sum))
#include "kernels/x86/gemm_tile_avx_tmpl.h"

/* The sixteen sums of plain C, in its order: compilers leave them in memory. */
double ox_gemm_dot_f64_avx2(size_t n, const double *a, const double *b)
{
    enum { LANES = 4, VECTORS = 4, ALL = LANES * VECTORS };
    double total = 0;
    for (size_t at = 0, depth; at < n; at += depth, a += depth, b += depth) {
        depth = n - at < OX_GEMM_KC ? n - at : OX_GEMM_KC;
        __m256d sum[VECTORS];
        double lane[ALL];
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            sum[v] = _mm256_setzero_pd();
        size_t p = 0;
        for (; p + ALL <= depth; p += ALL)
#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++)
                sum[v] = _mm256_add_pd(sum[v], _mm256_mul_pd(_mm256_loadu_pd(a + p + v * LANES),
                                                             _mm256_loadu_pd(b + p + v * LANES)));
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            _mm256_storeu_pd(lane + v * LANES, sum[v]);
        for (size_t l = 0; p < depth; p++, l++)
            lane[l] += a[p] * b[p];
        for (size_t half = ALL / 2; half; half /= 2)
            for (size_t l = 0; l < half; l++)
                lane[l] += lane[l + half];
        total += lane[0];
    }
    return total;
}

const struct ox_gemm_f32 ox_gemm_f32_avx2 = {4, 16, OX_GEMM_KC, tile_f32, ox_gemm_dot_f32, NULL};
const struct ox_gemm_f64 ox_gemm_f64_avx2 = {4,   8, OX_GEMM_KC, tile_f64, ox_gemm_dot_f64_avx2,
                                             NULL};
const struct ox_gemm_f64 ox_gemm_f64_fused_avx2 = {
    4, 8, OX_GEMM_KC / 2, tile_f64_fused, ox_gemm_dot_f64_avx2, in_place_f64_fused};
