#include "kernels/gemm.h"

#include <immintrin.h>

#define REAL double
#define NAME(x) x##_f64
#define V __m512d
#define LANES 8
#define ROWS 4
#define VECTORS 2
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, v) _mm512_storeu_pd((p), (v))
#define MASK __mmask8
#define FIRST(n) (__mmask8)(0xff >> (LANES - (n)))
#define LOAD_SOME(p, mask) _mm512_maskz_loadu_pd((mask), (p))
#define STORE_SOME(p, mask, v) _mm512_mask_storeu_pd((p), (mask), (v))
#define ONE(x) _mm512_set1_pd(x)
#define SUM(x, y) _mm512_add_pd((x), (y))
#define ADD_PRODUCT(sum, x, y) _mm512_add_pd((sum), _mm512_mul_pd((x), (y))) /* as plain C */
#include "kernels/x86/gemm_tile_avx_tmpl.h"

#define REAL double
#define IN_PLACE
#define NAME(x) x##_f64_fused
#define V __m512d
#define LANES 8
#define ROWS 8
#define VECTORS 3
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, v) _mm512_storeu_pd((p), (v))
#define MASK __mmask8
#define FIRST(n) (__mmask8)(0xff >> (LANES - (n)))
#define LOAD_SOME(p, mask) _mm512_maskz_loadu_pd((mask), (p))
#define STORE_SOME(p, mask, v) _mm512_mask_storeu_pd((p), (mask), (v))
#define ONE(x) _mm512_set1_pd(x)
#define SUM(x, y) _mm512_add_pd((x), (y))
#define ADD_PRODUCT(sum, x, y) _mm512_fmadd_pd((x), (y), (sum))
#include "kernels/x86/gemm_tile_avx_tmpl.h"

const struct ox_gemm_f64 ox_gemm_f64_avx512 = {4,   16, OX_GEMM_KC, tile_f64, ox_gemm_dot_f64_avx2,
                                               NULL};
const struct ox_gemm_f64 ox_gemm_f64_fused_avx512 = {
    8, 24, OX_GEMM_KC / 2, tile_f64_fused, ox_gemm_dot_f64_avx2, in_place_f64_fused};
