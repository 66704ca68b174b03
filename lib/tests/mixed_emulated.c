/* The AVX512 table's rows of bytes without AVX512. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include "tests/emulate_avx512.h"

#define ox_integer_mixed_avx512 ox_integer_mixed_avx512_emulated
#include "kernels/x86/integer_mixed_avx512.c"
#else
extern int ox_no_emulation;
#endif
