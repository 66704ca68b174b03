/* The tile of gemm.h with ROWS rows and VECTORS vectors of columns: REAL, NAME(x), and of the vectors V, LANES and the operations LOAD,
 * STORE, ONE, SUM and ADD_PRODUCT(sum, x, y), which decides on the rounding, are the includer's. */

/* By as many of its vectors as have columns. */
static inline __attribute__((always_inline)) void
NAME(tile_of)(unsigned vectors, size_t k, const REAL *restrict a, const REAL *restrict b,
              REAL *restrict c, size_t ldc, unsigned rows, unsigned cols, bool add)
{
    enum { NR = VECTORS * LANES };
    V total[ROWS][VECTORS];
#pragma GCC unroll 8
    for (unsigned i = 0; i < ROWS; i++)
#pragma GCC unroll 8
        for (unsigned v = 0; v < vectors; v++)
            total[i][v] = ONE(0);
    for (unsigned i = 0; add && i < rows; i++)
        for (unsigned v = 0; v < cols; v += LANES)
            _mm_prefetch((const char *)(c + i * ldc + v), _MM_HINT_T0);
    for (size_t p = 0; p < k; p++, a += ROWS, b += NR) {
        V y[VECTORS];
#pragma GCC unroll 8
        for (unsigned v = 0; v < vectors; v++)
            y[v] = LOAD(b + v * LANES);
#pragma GCC unroll 8
        for (unsigned i = 0; i < ROWS; i++) {
            const V x = ONE(a[i]);
#pragma GCC unroll 8
            for (unsigned v = 0; v < vectors; v++)
                total[i][v] = ADD_PRODUCT(total[i][v], x, y[v]);
        }
    }
    REAL sum[ROWS][NR];
    const bool whole = rows == ROWS && cols == vectors * LANES;
    const size_t step = whole ? ldc : NR;
    REAL *to = whole ? c : sum[0];
    if (whole && add) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < ROWS; i++)
#pragma GCC unroll 8
            for (unsigned v = 0; v < vectors; v++)
                total[i][v] = SUM(LOAD(c + i * ldc + v * LANES), total[i][v]);
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < ROWS; i++, to += step)
#pragma GCC unroll 8
        for (unsigned v = 0; v < vectors; v++)
            STORE(to + v * LANES, total[i][v]);
    for (unsigned i = 0; !whole && i < rows; i++, c += ldc) {
        for (unsigned j = 0; j < cols; j++)
            c[j] = add ? c[j] + sum[i][j] : sum[i][j];
    }
}

static void NAME(tile)(size_t k, const REAL *a, const REAL *b, REAL *c, size_t ldc, unsigned rows,
                       unsigned cols, bool add)
{
    if (cols <= LANES)
        NAME(tile_of)(1, k, a, b, c, ldc, rows, cols, add);
    else if (VECTORS > 2 && cols <= 2 * LANES)
        NAME(tile_of)(2, k, a, b, c, ldc, rows, cols, add);
    else
        NAME(tile_of)(VECTORS, k, a, b, c, ldc, rows, cols, add);
}
#undef REAL
#undef NAME
#undef V
#undef LANES
#undef ROWS
#undef VECTORS
#undef LOAD
#undef STORE
#undef ONE
#undef SUM
#undef ADD_PRODUCT
