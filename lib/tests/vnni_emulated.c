/* The VNNI table of 8-bit products without VNNI. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include "tests/emulate_avx512.h"

#define ox_integer_vnni ox_integer_vnni_emulated
#include "kernels/x86/integer_vnni.c"
#else
extern int ox_no_emulation;
#endif
