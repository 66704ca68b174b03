#include "kernels/x86/few_bits_panel_avx2.h"
#include "kernels/x86/vec_avx2.h"

#define FEW_BITS_KERNELS ox_few_bits_avx2
#define FEW_BITS_PANEL .panel = ox_few_bits_panel_avx2, .panel_cols = 16, .panel_bytes = 16
#define LOAD_BYTES(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#include "kernels/few_bits_tmpl.h"
