/* The rows of code_rows.h for compilers to make vectors of, and codes_find() to find them; stamped once an instruction set. */
#include "kernels/code_rows.h"

/* Rounded by way of a number so great that its last bit is 1: q is less than 2^22. */
static inline int32_t nearest_code(float x, float scale, int32_t zero, int32_t low, int32_t high)
{
    const float shift = 12582912.0f; /* 3 * 2^22 */
    const float least = (float)(low - zero), most = (float)(high - zero);
    float q = x / scale;
    q = q > least ? q : least;
    q = q < most ? q : most;
    return (int32_t)(q + shift - shift) + zero;
}

#define FN(name) name##_u8
#define T uint8_t
#define LOW 0
#define HIGH UINT8_MAX
#include "kernels/code_row_tmpl.h"
#define FN(name) name##_i8
#define T int8_t
#define LOW INT8_MIN
#define HIGH INT8_MAX
#include "kernels/code_row_tmpl.h"
#define FN(name) name##_u16
#define T uint16_t
#define LOW 0
#define HIGH UINT16_MAX
#include "kernels/code_row_tmpl.h"
#define FN(name) name##_i16
#define T int16_t
#define LOW INT16_MIN
#define HIGH INT16_MAX
#include "kernels/code_row_tmpl.h"

/* In double: differences have more bits than a float, and products are rounded once. */
static void dequantize_i32(size_t n, const void *from, size_t step, const float *scale,
                           const int32_t *zero, float *restrict y)
{
    const int32_t *x = from;
    const double by = (double)scale[0], less = zero[0];
    for (size_t i = 0; i < n && !step; i++)
        y[i] = (float)((x[i] - less) * by);
    for (size_t i = 0; i < n && step; i++)
        y[i] = (float)(((double)x[i] - zero[i]) * (double)scale[i]);
}

static const struct ox_codes codes[] = {{OX_UINT8, quantize_u8, dequantize_u8},
                                        {OX_INT8, quantize_i8, dequantize_i8},
                                        {OX_UINT16, quantize_u16, dequantize_u16},
                                        {OX_INT16, quantize_i16, dequantize_i16},
                                        {OX_INT32, NULL, dequantize_i32}};

static const struct ox_codes *codes_find(enum ox_dtype dtype)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].dtype == dtype)
            return &codes[i];
    return NULL;
}
