/* squares() of distances.h over vectors V of LANES doubles; stamped once an instruction set. LOAD, STORE, ONE, SUB and FUSED(a, b, c) = a b +
 * c are the includer's. */
#include <string.h>

#include "kernels/inline.h"

enum { VECTORS = OX_DISTANCE_COLUMNS / LANES };

/* Of so many rows to OX_DISTANCE_COLUMNS columns, whose sums stay in registers. */
INLINE void some_rows(size_t rows, size_t n, size_t n_y, size_t k, const double *x,
                      const double *columns, size_t n_columns, double *y)
{
    enum { MOST = 4 };
    V sum[MOST][VECTORS];
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < VECTORS; v++)
            sum[i][v] = ONE(0);
    for (size_t p = 0; p < k; p++, columns += n_columns)
        for (size_t v = 0; v < VECTORS; v++) {
            const V column = LOAD(columns + v * LANES);
            for (size_t i = 0; i < rows; i++) {
                const V d = SUB(ONE(x[i * k + p]), column);
                sum[i][v] = FUSED(d, d, sum[i][v]);
            }
        }
    for (size_t i = 0; i < rows; i++, y += n_y) {
        double row[OX_DISTANCE_COLUMNS];
        for (size_t v = 0; v < VECTORS; v++)
            STORE(row + v * LANES, sum[i][v]);
        memcpy(y, row, n * sizeof *y);
    }
}

static void squares(size_t rows, size_t n, size_t k, const double *x, const double *columns,
                    size_t n_columns, double *y)
{
    enum { ABREAST = 4 };
    for (size_t at = 0; at < n; at += OX_DISTANCE_COLUMNS) {
        const size_t some = n - at < OX_DISTANCE_COLUMNS ? n - at : OX_DISTANCE_COLUMNS;
        size_t i = 0;
        for (; i + ABREAST <= rows; i += ABREAST)
            some_rows(ABREAST, some, n, k, x + i * k, columns + at, n_columns, y + i * n + at);
        for (; i < rows; i++)
            some_rows(1, some, n, k, x + i * k, columns + at, n_columns, y + i * n + at);
    }
}
