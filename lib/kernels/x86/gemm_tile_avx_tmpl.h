/* The tile of gemm.h with ROWS rows and two vectors of columns: REAL, NAME(x), and of the vectors V, LANES and the operations LOAD,
 * STORE, ONE, and ADD_PRODUCT(sum, x, y), which decides on the rounding, are the includer's. */

static void NAME(tile)(size_t k, const REAL *restrict a, const REAL *restrict b, REAL *restrict c,
                       size_t ldc, unsigned rows, unsigned cols, bool add)
{
    enum { NR = 2 * LANES };
    V total[ROWS][2];
    REAL sum[ROWS][NR];
#pragma GCC unroll 8
    for (unsigned i = 0; i < ROWS; i++)
        total[i][0] = total[i][1] = ONE(0);
    for (size_t p = 0; p < k; p++, a += ROWS, b += NR) {
        const V u = LOAD(b), v = LOAD(b + LANES);
#pragma GCC unroll 8
        for (unsigned i = 0; i < ROWS; i++) {
            const V x = ONE(a[i]);
            total[i][0] = ADD_PRODUCT(total[i][0], x, u);
            total[i][1] = ADD_PRODUCT(total[i][1], x, v);
        }
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < ROWS; i++) {
        STORE(sum[i], total[i][0]);
        STORE(sum[i] + LANES, total[i][1]);
    }
    for (unsigned i = 0; i < rows; i++, c += ldc) {
        if (add) {
            for (unsigned j = 0; j < cols; j++)
                c[j] += sum[i][j];
        } else {
            for (unsigned j = 0; j < cols; j++)
                c[j] = sum[i][j];
        }
    }
}
#undef REAL
#undef NAME
#undef V
#undef LANES
#undef ROWS
#undef LOAD
#undef STORE
#undef ONE
#undef ADD_PRODUCT
