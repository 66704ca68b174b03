/* Squared distances between points of doubles. */
#ifndef OX_KERNELS_DISTANCES_H
#define OX_KERNELS_DISTANCES_H

#include <stddef.h>

#include "kernels/cpu.h"

enum { OX_DISTANCE_COLUMNS = 16 };

struct ox_distances {
    /* y[i * n + j] = the sum over p < k, in that order, of (x[i * k + p] - columns[p * n_columns + j])^2, for i < rows, j < n.
     * n_columns >= n is a multiple of OX_DISTANCE_COLUMNS: columns beyond n are read. */
    void (*squares)(size_t rows, size_t n, size_t k, const double *x, const double *columns,
                    size_t n_columns, double *y);
};

/* At that level; but in plain C a square and its sum are rounded once. */
const struct ox_distances *ox_distances(enum ox_cpu level);

/* By an instruction set; for distances.c. */
extern const struct ox_distances ox_distances_avx2, ox_distances_avx512;

#endif
