/* Elementary functions of rows of doubles, by polynomials. */
#ifndef OX_KERNELS_DOUBLES_H
#define OX_KERNELS_DOUBLES_H

#include "kernels/rows.h"

typedef void ox_doubles(size_t n, const double *x, double *y);

/* y = f(x), y may be x: within 2 units in the last place (Sigmoid and Tanh: 3), special values as the C library has them. NULL: nothing
 * better than the C library. */
ox_doubles *ox_doubles_unary(enum ox_cpu level, enum ox_unary function);

/* By an instruction set; for doubles.c. */
ox_doubles *ox_doubles_avx2(enum ox_unary function);

#endif
