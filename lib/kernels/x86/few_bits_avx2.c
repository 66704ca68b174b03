#include "kernels/x86/few_bits_panel_avx2.h"
#include "kernels/x86/vec_avx2.h"

#define FEW_BITS_KERNELS ox_few_bits_avx2
#define FEW_BITS_ROWS 4
#define FEW_BITS_PANEL .panel = ox_few_bits_panel_avx2, .panel_cols = 16, .panel_bytes = 16
#define LOAD_BYTES(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#define LOOK_UP(codes, table)                                                                      \
    _mm256_blendv_ps(_mm256_permutevar8x32_ps((table)[0], (codes)),                                \
                     _mm256_permutevar8x32_ps((table)[1], (codes)),                                \
                     _mm256_castsi256_ps(_mm256_slli_epi32((codes), 28)))
#define LOOKS_UP 0
#define ZIP(even, odd, out)                                                                        \
    do {                                                                                           \
        const __m256 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);    \
        (out)[0] = _mm256_permute2f128_ps(low, high, 0x20);                                        \
        (out)[1] = _mm256_permute2f128_ps(low, high, 0x31);                                        \
    } while (0)
#include "kernels/few_bits_tmpl.h"

/* Blocks too short for wider vectors where products read panels of 32. */
const struct ox_few_bits_kernels ox_few_bits_avx2_wide = {.chunk = 2 * VW,
                                                          .rows = FEW_BITS_ROWS,
                                                          .dots = dots,
                                                          .widen = widen,
                                                          .list = list,
                                                          .panel = ox_few_bits_panel_wide_avx2,
                                                          .panel_cols = 32,
                                                          .panel_bytes = 16};
