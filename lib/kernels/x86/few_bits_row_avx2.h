/* For few_bits_bytes_avx2.c: dots() of ox_few_bits_bytes where rows are few. */
#ifndef OX_KERNELS_X86_FEW_BITS_ROW_AVX2_H
#define OX_KERNELS_X86_FEW_BITS_ROW_AVX2_H

#include "kernels/few_bits_bytes.h"

void ox_few_bits_row_avx2(const struct ox_few_bits *w, size_t first, size_t n,
                          const struct ox_byte_rows *a, float *c, size_t ldc);

#endif
