/* Rows of 8-bit codes: to and from floats, by table, two of them to one, pools, transposing. A code's sign lies with the
 * caller: `flip` is 0x80 where codes are s8, which turns them into u8 of 128 more. */
#ifndef OX_KERNELS_BYTES_H
#define OX_KERNELS_BYTES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

/* Floats to codes: the nearest integer (half to even) of x / scale, plus zero, within [lo, hi]; NaN gives lo. */
struct ox_bytes_code {
    float scale;
    int32_t zero, lo, hi;
};

/* Two codes to one: with u and v what they are as integers, u * a + v * b + c in double, or u' * v' * a with u' = u - zero_a and
 * v' likewise; rounded half to even, plus zero, within [lo, hi]. The tables hold each side's exact share by the code's bits:
 * the sum (or product) of both is what is rounded. */
struct ox_bytes_pair {
    uint8_t flip;
    int32_t zero_a, zero_b; /* of codes as they are after the flip */
    double a[256], b[256];
    float scale_a,
        scale_b; /* sums: of a unit of each; products: of a unit of the product, in scale_a */
    int32_t zero, lo,
        hi; /* of the result as it is stored (in two's complement when flip is 0x80) */
    /* Sums in fixed point, by ox_bytes_pair_plan(): of codes u and v after the flip, start + u * a + v * b is a sum less `middle`, a
     * half and OX_BYTES_UNSURE units more, in 32 bits of which so many are a fraction; 0 bits: they do not fit. */
    unsigned bits;
    /* Sums and the shares they are of lie on a grid of 1 / 1024, which floats and fixed point hold: none is near a half that is not one. */
    bool exact;
    int32_t by_a, by_b, start, middle;
};
enum {
    OX_BYTES_UNSURE = 258,
    OX_BYTES_LOW_BITS = 7 /* of by_a and by_b, whose others fit a word */
};

enum { OX_BYTES_WINDOW = 32 };

struct ox_bytes {
    enum ox_cpu level;
    void (*quantize)(size_t n, const float *x, const struct ox_bytes_code *code, uint8_t *y);
    /* ((x ^ flip) - zero) * scale */
    void (*dequantize)(size_t n, const uint8_t *x, uint8_t flip, int32_t zero, float scale,
                       float *y);
    /* The least and greatest of x[0..n) and of what *lo and *hi hold; NaN is passed over. */
    void (*range)(size_t n, const float *x, float *lo, float *hi);
    void (*look_up)(size_t n, const uint8_t *x, const uint8_t table[256], uint8_t *y);
    void (*look_up_floats)(size_t n, const uint8_t *x, const float table[256], float *y);
    /* The same in place, of rows that lie `step` apart; NULL: row by row. */
    void (*look_up_rows)(size_t rows, size_t n, size_t step, const uint8_t table[256], uint8_t *y);
    void (*add)(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                uint8_t *y);
    /* The same of rows that lie `step` apart in all three; NULL: row by row. */
    void (*add_rows)(size_t rows, size_t n, size_t step, const uint8_t *a, const uint8_t *b,
                     const struct ox_bytes_pair *pair, uint8_t *y);
    void (*multiply)(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                     uint8_t *y);
    /* y = max(y, x[0], x[1] ... x[rows - 1]) of codes whose order is that of x ^ flip as unsigned numbers. */
    void (*greatest)(size_t n, size_t rows, const uint8_t *const *x, uint8_t flip, uint8_t *y);
    /* y[w * n + i] = max(x[0][w * step + i] ... x[rows - 1][w * step + i]) for w < windows, i < n, at least OX_BYTES_WINDOW: the windows
     * of a line. NULL: one by one. */
    void (*windows)(size_t windows, size_t step, size_t n, size_t rows, const uint8_t *const *x,
                    uint8_t flip, uint8_t *y);
    /* y += x ^ flip, of each of the rows, which lie `step` apart. */
    void (*accumulate)(size_t n, size_t rows, size_t step, const uint8_t *x, uint8_t flip,
                       int32_t *y);
    /* The sum of x ^ flip, in 32 bits. */
    int32_t (*sum)(size_t n, const uint8_t *x, uint8_t flip);
    /* y[j * ldy + i] = x[i * ldx + j] for i < rows, j < cols. */
    void (*transpose)(size_t rows, size_t cols, const uint8_t *x, size_t ldx, uint8_t *y,
                      size_t ldy);
    /* The same of elements of two bytes, and of eight; NULL: in plain C by the caller. */
    void (*transpose_pairs)(size_t rows, size_t cols, const uint16_t *x, size_t ldx, uint16_t *y,
                            size_t ldy);
    void (*transpose_quads)(size_t rows, size_t cols, const uint64_t *x, size_t ldx, uint64_t *y,
                            size_t ldy);
};

/* The table of that level (of the highest below it that is built in); constant. */
const struct ox_bytes *ox_bytes(enum ox_cpu level);
/* Fills in what the instruction set does better; for bytes.c. */
void ox_bytes_avx2(struct ox_bytes *t);
void ox_bytes_turn_avx2(struct ox_bytes *t); /* what transposes alone */
void ox_bytes_avx512(struct ox_bytes *t);
void ox_bytes_vnni(struct ox_bytes *t); /* sums alone */
void ox_bytes_vbmi(struct ox_bytes *t); /* what looks up alone */

/* At the end of filling a pair for sums. A side whose scale is 0 is zeros at every run, whatever its table says. */
void ox_bytes_pair_plan(struct ox_bytes_pair *pair);
/* One element by the exact rule: what the vectors fall back on where they are not sure. */
static inline uint8_t ox_bytes_pair_code(double value, const struct ox_bytes_pair *pair)
{
    const double q = rint(value) + pair->zero;
    return (uint8_t)(int32_t)(q > pair->lo ? q < pair->hi ? q : pair->hi : pair->lo);
}

static inline uint8_t ox_bytes_add_one(uint8_t a, uint8_t b, const struct ox_bytes_pair *pair)
{
    return ox_bytes_pair_code(pair->a[a] + pair->b[b], pair);
}

static inline uint8_t ox_bytes_multiply_one(uint8_t a, uint8_t b, const struct ox_bytes_pair *pair)
{
    return ox_bytes_pair_code(pair->a[a] * pair->b[b], pair);
}

#endif
