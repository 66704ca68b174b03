#include "kernels/x86/few_bits_panel_avx2.h"
#include "kernels/x86/vec_avx512.h"

#define FEW_BITS_KERNELS ox_few_bits_avx512
#define FEW_BITS_ROWS 8
#define FEW_BITS_PANEL .panel = ox_few_bits_panel_wide_avx2, .panel_cols = 32, .panel_bytes = 16
#define LOAD_BYTES(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define LOOK_UP(codes, table) _mm512_permutexvar_ps((codes), (table))
#include "kernels/few_bits_tmpl.h"
