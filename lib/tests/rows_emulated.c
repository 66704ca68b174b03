/* The AVX-512 table of rows without AVX-512. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include "tests/emulate_avx512.h"

#define ox_rows_avx512 ox_rows_emulated
#include "kernels/x86/rows_avx512.c"
#else
extern int ox_no_emulation_of_rows;
#endif
