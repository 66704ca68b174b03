#include "kernels/gemm.h"

#include <string.h>

#include "kernels/cpu.h"

size_t ox_gemm_panels(size_t rows, size_t k, unsigned width)
{
    return (rows + width - 1) / width * width * k;
}

enum ox_gemm_way ox_gemm_way(size_t m, size_t n, size_t k, size_t a_col, size_t b_row, size_t b_col)
{
    enum { LINES = 4, DEEP = 64 };
    if (a_col == 1 && b_row == 1 && (m < LINES || n < LINES))
        return OX_GEMM_DOTS;
    if (m < LINES && b_col == 1)
        return OX_GEMM_ROWS;
    return n && m <= OX_GEMM_FEW_SUMS / n && k >= DEEP ? OX_GEMM_DOTS : OX_GEMM_TILES;
}

size_t ox_gemm_work(size_t m, size_t n, size_t k)
{
    size_t depth = k < OX_GEMM_KC ? k : OX_GEMM_KC;
    size_t rows = m < OX_GEMM_MC ? m : OX_GEMM_MC;
    size_t cols = n < OX_GEMM_NC ? n : OX_GEMM_NC;
    return ox_gemm_panels(rows, depth, OX_GEMM_MR_MAX) +
           (cols + OX_GEMM_NR_MAX - 1) * depth; /* as much as panels of any width take */
}

#define REAL float
#define NR 8
#define GEMM ox_gemm_f32
#define NAME(x) x##_f32
#include "kernels/gemm_tmpl.h"
#undef REAL
#undef NR
#undef GEMM
#undef NAME

#define REAL double
#define NR 4
#define GEMM ox_gemm_f64
#define NAME(x) x##_f64
#include "kernels/gemm_tmpl.h"

const struct ox_gemm_f32 ox_gemm_f32_c = {4, 8, OX_GEMM_KC, tile_f32, ox_gemm_dot_f32, NULL};
const struct ox_gemm_f64 ox_gemm_f64_c = {4, 4, OX_GEMM_KC, tile_f64, ox_gemm_dot_f64, NULL};

const struct ox_gemm_f32 *ox_gemm_f32(void)
{
#if defined(__x86_64__)
    if (ox_cpu() >= OX_CPU_AVX2)
        return &ox_gemm_f32_avx2;
#endif
    return &ox_gemm_f32_c;
}

const struct ox_gemm_f64 *ox_gemm_f64(void)
{
#if defined(__x86_64__)
    if (ox_cpu() >= OX_CPU_AVX512)
        return &ox_gemm_f64_avx512;
    if (ox_cpu() >= OX_CPU_AVX2)
        return &ox_gemm_f64_avx2;
#endif
    return &ox_gemm_f64_c;
}

const struct ox_gemm_f64 *ox_gemm_f64_fused(void)
{
#if defined(__x86_64__)
    if (ox_cpu() >= OX_CPU_AVX512)
        return &ox_gemm_f64_fused_avx512;
    if (ox_cpu() >= OX_CPU_AVX2)
        return &ox_gemm_f64_fused_avx2;
#endif
    return &ox_gemm_f64_c;
}
