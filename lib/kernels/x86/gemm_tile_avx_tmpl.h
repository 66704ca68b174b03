/* The tiles of gemm.h with ROWS rows and VECTORS vectors of columns: REAL, NAME(x), and of the vectors V, LANES and the operations
 * LOAD, STORE, ONE, SUM and ADD_PRODUCT(sum, x, y), which decides on the rounding, are the includer's. FIRST(n) is the MASK of
 * n lanes, 0 < n <= LANES, for LOAD_SOME and STORE_SOME. With IN_PLACE the tile of sides that lie as they are, too. */

/* By as many of its rows and vectors as are asked for: element (i, p) at a[i * a_row + p * a_col], of rows beyond `rows` as of the last;
 * no more of b than has columns is read where it is not `padded`. */
static inline __attribute__((always_inline)) void
NAME(tile_of)(unsigned lines, unsigned vectors, bool padded, size_t k, const REAL *restrict a,
              size_t a_row, size_t a_col, const REAL *restrict b, size_t b_row, REAL *restrict c,
              size_t ldc, unsigned rows, unsigned cols, bool add)
{
    const MASK mask = FIRST(cols - (vectors - 1) * LANES);
    const REAL *from[ROWS];
    V total[ROWS][VECTORS];
#pragma GCC unroll 8
    for (unsigned i = 0; i < lines; i++) {
        from[i] = a + (padded || i < rows ? i : rows - 1) * a_row;
#pragma GCC unroll 8
        for (unsigned v = 0; v < vectors; v++)
            total[i][v] = ONE(0);
    }
    for (unsigned i = 0; add && i < rows; i++)
        for (unsigned v = 0; v < cols; v += LANES)
            _mm_prefetch((const char *)(c + i * ldc + v), _MM_HINT_T0);
    for (size_t p = 0, at = 0; p < k; p++, at += a_col, b += b_row) {
        V y[VECTORS];
#pragma GCC unroll 8
        for (unsigned v = 0; v < vectors; v++)
            y[v] = padded || v + 1 < vectors ? LOAD(b + v * LANES) : LOAD_SOME(b + v * LANES, mask);
#pragma GCC unroll 8
        for (unsigned i = 0; i < lines; i++) {
            const V x = ONE(from[i][at]);
#pragma GCC unroll 8
            for (unsigned v = 0; v < vectors; v++)
                total[i][v] = ADD_PRODUCT(total[i][v], x, y[v]);
        }
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < lines; i++) {
        if (i >= rows)
            break;
#pragma GCC unroll 8
        for (unsigned v = 0; v < vectors; v++) {
            REAL *to = c + i * ldc + v * LANES;
            if (v + 1 < vectors)
                STORE(to, add ? SUM(LOAD(to), total[i][v]) : total[i][v]);
            else
                STORE_SOME(to, mask, add ? SUM(LOAD_SOME(to, mask), total[i][v]) : total[i][v]);
        }
    }
}

static void NAME(tile)(size_t k, const REAL *a, const REAL *b, REAL *c, size_t ldc, unsigned rows,
                       unsigned cols, bool add)
{
    enum { NR = VECTORS * LANES };
    if (cols <= LANES)
        NAME(tile_of)(ROWS, 1, true, k, a, 1, ROWS, b, NR, c, ldc, rows, cols, add);
    else if (VECTORS > 2 && cols <= 2 * LANES)
        NAME(tile_of)(ROWS, 2, true, k, a, 1, ROWS, b, NR, c, ldc, rows, cols, add);
    else
        NAME(tile_of)(ROWS, VECTORS, true, k, a, 1, ROWS, b, NR, c, ldc, rows, cols, add);
}

#ifdef IN_PLACE
static inline __attribute__((always_inline)) void
NAME(in_place_of)(unsigned lines, size_t k, const REAL *a, size_t a_row, size_t a_col,
                  const REAL *b, size_t b_row, REAL *c, size_t ldc, unsigned rows, unsigned cols,
                  bool add)
{
    if (cols <= LANES)
        NAME(tile_of)(lines, 1, false, k, a, a_row, a_col, b, b_row, c, ldc, rows, cols, add);
    else if (VECTORS > 2 && cols <= 2 * LANES)
        NAME(tile_of)(lines, 2, false, k, a, a_row, a_col, b, b_row, c, ldc, rows, cols, add);
    else
        NAME(tile_of)(lines, VECTORS, false, k, a, a_row, a_col, b, b_row, c, ldc, rows, cols, add);
}

static void NAME(in_place)(size_t k, const REAL *a, size_t a_row, size_t a_col, const REAL *b,
                           size_t b_row, REAL *c, size_t ldc, unsigned rows, unsigned cols,
                           bool add)
{
    if (rows <= ROWS / 2)
        NAME(in_place_of)(ROWS / 2, k, a, a_row, a_col, b, b_row, c, ldc, rows, cols, add);
    else
        NAME(in_place_of)(ROWS, k, a, a_row, a_col, b, b_row, c, ldc, rows, cols, add);
}
#endif
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
#undef MASK
#undef FIRST
#undef LOAD_SOME
#undef STORE_SOME
