/* Reductions of floats as an instruction set does them: the same steps in the same order as the loops of fold_tmpl.h in plain C, so
 * the same bits. */
#ifndef OX_KERNELS_FOLDS_H
#define OX_KERNELS_FOLDS_H

#include <stddef.h>

#include "kernels/cpu.h"

/* Accumulators that a row is taken into side by side: a fixed order, and too many for the compiler to unroll instead of using
 * vector registers. */
enum { OX_FOLD_PARTS = 32 };

/* NaN stays; no branch. */
#define OX_FOLD_GREATER(a, x) ((((x) > (a)) | ((x) != (x))) ? (x) : (a))
#define OX_FOLD_LESS(a, x) ((((x) < (a)) | ((x) != (x))) ? (x) : (a))

/* run: one accumulator takes in n elements of a row; lanes: n accumulators take in an element each. `shifts` is not looked at. The
 * accumulators are double, those of least and greatest float. rows: an accumulator each takes in a row of n elements;
 * rows lie one after another. */
struct ox_fold {
    void (*run)(void *acc, const void *x, size_t n, const void *shifts);
    void (*lanes)(void *acc, const void *x, size_t n, const void *shifts);
    void (*rows)(void *acc, const void *x, size_t rows, size_t n);
};

struct ox_folds {
    struct ox_fold sum, sum_of_abs, sum_of_squares, greatest, least;
};

/* NULL: nothing better than plain C. */
const struct ox_folds *ox_folds(enum ox_cpu level);

/* For folds.c. */
extern const struct ox_folds ox_folds_avx2;

#endif
