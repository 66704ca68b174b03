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
#define ONE(x) _mm256_set1_pd(x)
#define SUM(x, y) _mm256_add_pd((x), (y))
#define ADD_PRODUCT(sum, x, y) _mm256_add_pd((sum), _mm256_mul_pd((x), (y))) /* as plain C */
#include "kernels/x86/gemm_tile_avx_tmpl.h"

#define REAL double
#define NAME(x) x##_f64_fused
#define V __m256d
#define LANES 4
#define ROWS 4
#define VECTORS 2
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd((p), (v))
#define ONE(x) _mm256_set1_pd(x)
#define SUM(x, y) _mm256_add_pd((x), (y))
#define ADD_PRODUCT(sum, x, y) _mm256_fmadd_pd((x), (y), (sum))
#include "kernels/x86/gemm_tile_avx_tmpl.h"

const struct ox_gemm_f32 ox_gemm_f32_avx2 = {4, 16, OX_GEMM_KC, tile_f32};
const struct ox_gemm_f64 ox_gemm_f64_avx2 = {4, 8, OX_GEMM_KC, tile_f64};
const struct ox_gemm_f64 ox_gemm_f64_fused_avx2 = {4, 8, OX_GEMM_KC / 2, tile_f64_fused};
