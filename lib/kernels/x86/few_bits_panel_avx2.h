/* `panel` of the tables with panels of sixteen columns (few_bits_avx2.c) and of 32 (few_bits_avx512.c). */
#ifndef OX_KERNELS_X86_FEW_BITS_PANEL_AVX2_H
#define OX_KERNELS_X86_FEW_BITS_PANEL_AVX2_H

#include "kernels/few_bits.h"

void ox_few_bits_panel_avx2(const struct ox_few_bits *w, size_t first, size_t cols, float *out);
void ox_few_bits_panel_wide_avx2(const struct ox_few_bits *w, size_t first, size_t cols,
                                 float *out);

#endif
