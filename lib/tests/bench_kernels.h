#ifndef OX_TESTS_BENCH_KERNELS_H
#define OX_TESTS_BENCH_KERNELS_H

#include "kernels/cpu.h"

/* Prints a line a kernel. only: "product", "few", "convolution", "integer" or "maps"; NULL: all. */
void bench_kernels(enum ox_cpu level, const char *only);

#endif
