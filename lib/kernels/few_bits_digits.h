/* Products of few_bits.h for few rows by sums of bytes: a row's numbers become integers with a scale a block, of three signed bytes each
 * (digits to the base of 256; sums are then near those in float32), or of one, which accuracy_level 4 of com.microsoft's MatMulNBits
 * allows. A code meets the digits of four or eight terms at a time without any rounding, its zero with them; such sums are scaled and
 * added up in float32. */
#ifndef OX_KERNELS_FEW_BITS_DIGITS_H
#define OX_KERNELS_FEW_BITS_DIGITS_H

#include "kernels/few_bits.h"

enum {
    OX_DIGITS = 3,                        /* at most */
    OX_DIGITS_STEP = 64,                  /* bytes of codes */
    OX_DIGITS_LANES = OX_DIGITS_STEP / 4, /* sums of a step: bytes 4 i to 4 i + 3 make the sum i */
};

/* Of a step of a row, as the kernels want it; beyond k all is zero. */
struct ox_digits_end {
    /* Less the sums of the numbers by lanes, times the zero of all columns, where these have no zeros of their own. Of three digits that meet
     * codes of 8 bits the low one apart from the two others. Unused where there are `whole` sums. */
    int32_t low[OX_DIGITS_LANES], high[OX_DIGITS_LANES];
    float scales[OX_DIGITS_LANES]; /* by lanes */
};
/* Behind the digits, [codes of a byte][digits, from low to high][OX_DIGITS_STEP], stands struct ox_digits_end. */
struct ox_digit_rows {
    unsigned digits; /* 1 or OX_DIGITS */
    size_t m, steps; /* of a row */
    size_t record;   /* bytes of a step of a row */
    char *records;   /* [steps][m], aligned by 64 */
    /* Where columns have zeros of their own and rows one digit: the sums of blocks, as numbers, [m][whole]; they fill vectors. */
    size_t whole;
    float *sums; /* aligned by 64 */
};
/* The integer that the largest number of a block becomes: of three digits a little less than they hold, for what is rounded on the way. */
static inline int32_t ox_digits_most(unsigned digits)
{
    return digits == 1 ? 127 : 127 * (65536 + 256) + 120;
}

struct ox_few_digits {
    size_t rows; /* of three digits; more are as fast as floats */
    /* Row `row` out of k floats. False, and the row undefined, when a number is not finite or all of a block are too small: such rows go as
     * floats. */
    bool (*quantize)(const struct ox_few_bits *w, const struct ox_digit_rows *a, const float *x,
                     size_t row);
    /* c[i * ldc + j - first] = sum over p of a[i][p] * weight p of column j, for all rows, j in [first, first + n). A row's bits are the same
     * beside any others. */
    void (*dots)(const struct ox_few_bits *w, size_t first, size_t n, const struct ox_digit_rows *a,
                 float *c, size_t ldc);
};

/* For rows of so many digits. NULL: the level has none, or not for these sizes: bits other than 4 and 8, zeros that are no integers, blocks
 * that are no power of two or shorter than 16 bytes. */
const struct ox_few_digits *ox_few_digits(enum ox_cpu level, const struct ox_few_bits *w,
                                          unsigned digits);
/* Plain C, which no level uses: the truth of the others. */
extern const struct ox_few_digits ox_few_digits_c;
/* Sizes of m rows; nothing is allocated. */
struct ox_digit_rows ox_digit_rows(const struct ox_few_bits *w, size_t m, unsigned digits);
size_t ox_digit_rows_bytes(const struct ox_digit_rows *a);
/* Gives them room of so many bytes, aligned by 64. */
void ox_digit_rows_place(struct ox_digit_rows *a, void *room);
static inline char *ox_digits_record(const struct ox_digit_rows *a, size_t row, size_t step)
{
    return a->records + (step * a->m + row) * a->record;
}

/* For few_bits_digits.c. */
extern const struct ox_few_digits ox_few_digits_avx2, ox_few_digits_vnni;

#endif
