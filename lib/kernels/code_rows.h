/* Rows of 8-, 16- and 32-bit codes to and from floats, where each element has a scale and a zero point of its own, or all have
 * one. */
#ifndef OX_KERNELS_CODE_ROWS_H
#define OX_KERNELS_CODE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "kernels/cpu.h"

struct ox_codes {
    enum ox_dtype dtype; /* of the codes */
    /* The nearest integer (half to even) of x / scale, plus zero, within what the type has; NaN gives the least. step: 1, or 0
     * where the first scale and zero point serve all. NULL: of int32. */
    void (*quantize)(size_t n, const float *x, size_t step, const float *scale, const int32_t *zero,
                     void *y);
    /* (x - zero) * scale, rounded once. */
    void (*dequantize)(size_t n, const void *x, size_t step, const float *scale,
                       const int32_t *zero, float *y);
};

/* Of uint8, int8, uint16, int16, int32; of another type no functions. */
struct ox_codes ox_codes(enum ox_cpu level, enum ox_dtype dtype);

/* By an instruction set, and what another does better; for code_rows.c. */
const struct ox_codes *ox_codes_avx2(enum ox_dtype dtype);
void ox_codes_avx512(struct ox_codes *c);

#endif
