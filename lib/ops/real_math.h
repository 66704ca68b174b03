/* Functions of doubles that several operators are made of. */
#ifndef OX_OPS_REAL_MATH_H
#define OX_OPS_REAL_MATH_H

#include <stddef.h>

/* 1 / (1 + e^-x). */
double ox_sigmoid(double x);
/* log(1 + e^x), without overflow. */
double ox_softplus(double x);
/* The sum of a[i] * b[i]; a may be b. */
double ox_dot(const double *a, const double *b, size_t n);

#endif
