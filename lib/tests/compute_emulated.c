/* The AVX-512 table without AVX-512. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include "tests/emulate_avx512.h"

#define INLINE static __attribute__((noinline, unused))

#define ox_compute_avx512 ox_compute_emulated
#include "kernels/x86/compute_avx512.c"
#else
extern int ox_no_emulation;
#endif
