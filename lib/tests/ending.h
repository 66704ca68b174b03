/* What the epilogue of a product or a convolution makes of a sum, in double. */
#ifndef OX_TESTS_ENDING_H
#define OX_TESTS_ENDING_H

#include "kernels/dense.h"

/* The row function that OX_ACT_ROW stands for in ending(): x / 2. */
void ending_row(const void *arg, size_t n, float *x);

/* The element of row (or pixel) i and column (or channel) j whose sum is x. */
double ending(const struct ox_epilogue *end, double x, size_t i, size_t j);

#endif
