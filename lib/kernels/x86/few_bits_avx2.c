#include "kernels/x86/few_bits_panel_avx2.h"
#include "kernels/x86/vec_avx2.h"

#define FEW_BITS_KERNELS ox_few_bits_avx2
#define FEW_BITS_ROWS 4
#define FEW_BITS_PANEL .panel = ox_few_bits_panel_avx2, .panel_cols = 16, .panel_bytes = 16
#define LOAD_BYTES(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#include "kernels/few_bits_tmpl.h"

/* Blocks too short for wider vectors where products read panels of 32. */
const struct ox_few_bits_kernels ox_few_bits_avx2_wide = {.chunk = 2 * VW,
                                                          .rows = FEW_BITS_ROWS,
                                                          .dots = dots,
                                                          .widen = widen,
                                                          .panel = ox_few_bits_panel_wide_avx2,
                                                          .panel_cols = 32,
                                                          .panel_bytes = 16};
