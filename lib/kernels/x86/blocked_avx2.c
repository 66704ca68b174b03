#include "kernels/x86/vec_avx2.h"

#define BLOCKED_KERNELS ox_blocked_avx2
#define BLOCKED_LOAD(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#include "kernels/blocked_tmpl.h"
