#include "kernels/gemm.h"

#include <immintrin.h>

#define REAL float
#define NAME(x) x##_f32
#define V __m256
#define LANES 8
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps((p), (v))
#define ONE(x) _mm256_set1_ps(x)
#define ADD(x, y) _mm256_add_ps((x), (y))
#define MUL(x, y) _mm256_mul_ps((x), (y))
#include "kernels/x86/gemm_tile_avx_tmpl.h"

#define REAL double
#define NAME(x) x##_f64
#define V __m256d
#define LANES 4
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, v) _mm256_storeu_pd((p), (v))
#define ONE(x) _mm256_set1_pd(x)
#define ADD(x, y) _mm256_add_pd((x), (y))
#define MUL(x, y) _mm256_mul_pd((x), (y))
#include "kernels/x86/gemm_tile_avx_tmpl.h"

const struct ox_gemm_f32 ox_gemm_f32_avx2 = {4, 16, tile_f32};
const struct ox_gemm_f64 ox_gemm_f64_avx2 = {4, 8, tile_f64};
