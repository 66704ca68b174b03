#include "kernels/gemm.h"

#define REAL float
#define NR 16
#define NAME(x) x##_f32
#include "kernels/gemm_tile_tmpl.h"
#undef REAL
#undef NR
#undef NAME

#define REAL double
#define NR 8
#define NAME(x) x##_f64
#include "kernels/gemm_tile_tmpl.h"

const struct ox_gemm_f32 ox_gemm_f32_avx2 = {4, 16, tile_f32};
const struct ox_gemm_f64 ox_gemm_f64_avx2 = {4, 8, tile_f64};
