/* Rows of doubles: elementary functions by polynomials; inverses. */
#ifndef OX_KERNELS_DOUBLES_H
#define OX_KERNELS_DOUBLES_H

#include "kernels/rows.h"

struct ox_doubles {
    /* y = f(x), with the parameters a and b where rows.h names them, y may be x: within 2 units in the last place
     * (what is made of several such functions: 4; GELU_TANH and half a unit of x in its last place), special values as the C library has them. NULL: nothing better
     * than the C library. */
    void (*unary[OX_UNARIES])(size_t n, const double *x, double *y, double a, double b);
    void (*sign)(size_t n, const double *x, double *y); /* exact; NULL likewise */
    /* The inverse of the n x n numbers of a, in their place; pivots: work for n. What is singular becomes NaN or infinite. */
    void (*invert)(size_t n, double *a, size_t *pivots);
};

/* Constant. */
const struct ox_doubles *ox_doubles(enum ox_cpu level);

/* By an instruction set; for doubles.c. */
extern const struct ox_doubles ox_doubles_avx2;

#endif
