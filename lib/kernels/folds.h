/* Reductions: how accumulators take in elements. An instruction set's do the same steps in the same order as those of plain C, so they have
 * the same bits. */
#ifndef OX_KERNELS_FOLDS_H
#define OX_KERNELS_FOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cpu.h"
#include "onnxtool.h"

/* Accumulators that a row is taken into side by side: a fixed order, and too many for the compiler to unroll instead of using
 * vector registers. */
enum { OX_FOLD_PARTS = 32 };

/* NaN stays; no branch. */
#define OX_FOLD_GREATER(a, x) ((((x) > (a)) | ((x) != (x))) ? (x) : (a))
#define OX_FOLD_LESS(a, x) ((((x) < (a)) | ((x) != (x))) ? (x) : (a))

/* Accumulators: those of greatest and least the type; of the sums and the product of integers an unsigned one of no fewer bits, of all
 * else double. Squares in double are rounded to a float's type first. */
enum ox_fold_kind {
    OX_FOLD_GREATEST,
    OX_FOLD_LEAST,
    OX_FOLD_SUM,
    OX_FOLD_SUM_OF_ABS,
    OX_FOLD_SUM_OF_SQUARES,
    OX_FOLD_PRODUCT,
    OX_FOLD_SUM_IN_DOUBLE,
    OX_FOLD_SQUARES_IN_DOUBLE,
    OX_FOLD_GREATEST_IN_DOUBLE,
    OX_FOLDS
};

/* start: n accumulators to what changes nothing. run: one takes in n elements of a row. lanes: n accumulators take in an element each of
 * `rows` rows, `stride` elements apart. rows: an accumulator each takes in a row of n elements, which lie one after
 * another. These folds do not look at `shifts`, which may be NULL. */
struct ox_fold {
    void (*start)(void *acc, size_t n);
    void (*run)(void *acc, const void *x, size_t n, const void *shifts);
    void (*lanes)(void *acc, const void *x, size_t n, size_t rows, size_t stride,
                  const void *shifts);
    void (*rows)(void *acc, const void *x, size_t rows, size_t n);
};

/* From element i of a row of n on, the first that is greater (or less) than *value; NaN is greater than all numbers. n: none is. Blocks without
 * such are passed over; the one that ends at *looked (0 at first) has been found to have one, as *value moves only towards what is sought. */
struct ox_beyond {
    size_t (*find)(const void *row, size_t i, size_t n, const void *value, bool greater,
                   size_t *looked);
};

struct ox_folds {
    /* NULL: none; there are those of numbers of 32 and 64 bits, and of all integers for greatest and least. */
    const struct ox_fold *of[OX_FOLDS][OX_N_DTYPES];
    /* Where a row's value, which it has, stands first or last in it; any NaN, if it is one. Rows of n elements of the types of
     * greatest and least, one after another. */
    void (*places[OX_N_DTYPES])(const void *x, size_t rows, size_t n, const void *values, bool last,
                                int64_t *place);
    const struct ox_beyond *beyond[OX_N_DTYPES]; /* of the types of greatest and least */
    /* The sums of n neighbours over `rows` rows, `stride` elements apart: y gets them before or, unless exclusive, after each. */
    void (*running_sums)(double *acc, const float *x, size_t n, size_t rows, ptrdiff_t stride,
                         bool exclusive, float *y);
};

/* Constant. */
const struct ox_folds *ox_folds(enum ox_cpu level);

/* Where the greatest (OX_FOLD_GREATEST) or least element of each row of n stands, first or last in it; any NaN, if it has one. Rows
 * one after another, n >= 1, of a type of `places`. */
void ox_folds_find(enum ox_cpu level, enum ox_fold_kind kind, enum ox_dtype type, const void *x,
                   size_t rows, size_t n, bool last, int64_t *place);

/* The same compiled for an instruction set; for folds.c. */
extern const struct ox_folds ox_folds_avx2;

#endif
