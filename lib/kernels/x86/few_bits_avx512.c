#include "kernels/x86/few_bits_panel_avx2.h"
#include "kernels/x86/vec_avx512.h"

#define FEW_BITS_KERNELS ox_few_bits_avx512
#define FEW_BITS_ROWS 8
#define FEW_BITS_PANEL .panel = ox_few_bits_panel_wide_avx2, .panel_cols = 32, .panel_bytes = 16
#define LOAD_BYTES(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define LOOK_UP(codes, table) _mm512_permutexvar_ps((codes), (table)[0])
#define LOOKS_UP 1
#define ZIP(even, odd, out)                                                                        \
    do {                                                                                           \
        const __m512 first = (even), second = (odd);                                               \
        const __m512i places =                                                                     \
            _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);             \
        (out)[0] = _mm512_permutex2var_ps(first, places, second);                                  \
        (out)[1] =                                                                                 \
            _mm512_permutex2var_ps(first, _mm512_add_epi32(places, _mm512_set1_epi32(8)), second); \
    } while (0)
#include "kernels/few_bits_tmpl.h"
