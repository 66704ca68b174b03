/* Rows of 16-bit codes to and from floats. */
#ifndef OX_KERNELS_WORDS_H
#define OX_KERNELS_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/bytes.h"

/* As ox_bytes's quantize(), to uint16 or int16 (in two's complement). */
void ox_words_quantize(enum ox_cpu level, size_t n, const float *x,
                       const struct ox_bytes_code *code, uint16_t *y);
/* ((x ^ flip) - zero) * scale; flip is 0x8000 where codes are signed. */
void ox_words_dequantize(enum ox_cpu level, size_t n, const uint16_t *x, uint16_t flip,
                         int32_t zero, float scale, float *y);

/* For words.c: whole vectors of eight; how many elements these were. */
size_t ox_words_quantize_avx2(size_t n, const float *x, const struct ox_bytes_code *code,
                              uint16_t *y);
size_t ox_words_dequantize_avx2(size_t n, const uint16_t *x, uint16_t flip, int32_t zero,
                                float scale, float *y);

#endif
