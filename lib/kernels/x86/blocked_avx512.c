#include "kernels/x86/vec_avx512.h"

#define BLOCKED_KERNELS ox_blocked_avx512
#define BLOCKED_LOAD(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#include "kernels/blocked_tmpl.h"
