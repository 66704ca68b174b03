/* Stamped by whole_products_avx2.c: UINT, NAME(x), LANES of a vector, ROWS of a tile, ONE(x) for all lanes and ADD(x, y) are the
 * includer's, as are LOAD(p, mask), STORE(p, mask, x) of the lanes that a mask has, the types and functions of factors and sums. */

/* Rows by whole vectors of columns, whose k rows lie `step` apart. */
INLINE void NAME(tile)(const size_t rows, const size_t vecs, size_t k, const UINT *a, size_t a_row,
                       size_t a_col, const UINT *b, size_t step, UINT *c, size_t ldc, bool add)
{
    struct NAME(sum) sum[4][4];
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < vecs; v++)
            memset(&sum[i][v], 0, sizeof sum[i][v]);
    for (size_t p = 0; p < k; p++, a += a_col, b += step) {
        struct NAME(factor) y[4];
#pragma GCC unroll 4
        for (size_t v = 0; v < vecs; v++)
            y[v] =
                NAME(factor_of)(_mm256_loadu_si256((const __m256i *)(const void *)(b + v * LANES)));
#pragma GCC unroll 4
        for (size_t i = 0; i < rows; i++) {
            const struct NAME(factor) x = NAME(factor_of)(ONE(a[i * a_row]));
#pragma GCC unroll 4
            for (size_t v = 0; v < vecs; v++)
                NAME(accumulate)(&sum[i][v], x, y[v]);
        }
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < vecs; v++) {
            __m256i *to = (__m256i *)(void *)(c + i * ldc + v * LANES), x = NAME(total)(sum[i][v]);
            _mm256_storeu_si256(to, add ? ADD(_mm256_loadu_si256(to), x) : x);
        }
}

/* m rows by `cols` columns, at most two vectors: `b` has its zeros where there are less. */
static void NAME(rows)(size_t m, size_t cols, size_t k, const UINT *a, size_t a_row, size_t a_col,
                       const UINT *b, size_t step, UINT *c, size_t ldc, bool add)
{
    enum { COLS = 2 * LANES };
    UINT part[ROWS * COLS];
    for (size_t i = 0, n; i < m; i += n, a += n * a_row, c += n * ldc) {
        n = m - i < ROWS ? 1 : ROWS;
        UINT *to = cols < COLS ? part : c;
        const size_t ld = cols < COLS ? COLS : ldc;
        if (n == ROWS)
            NAME(tile)(ROWS, 2, k, a, a_row, a_col, b, step, to, ld, add && to == c);
        else
            NAME(tile)(1, 2, k, a, a_row, a_col, b, step, to, ld, add && to == c);
        for (size_t r = 0; to == part && r < n; r++)
            for (size_t j = 0; j < cols; j++)
                c[r * ldc + j] = (add ? c[r * ldc + j] : 0) + part[r * COLS + j];
    }
}

/* Columns that lie at a distance, are too few for vectors or serve many rows are laid out first, a block of k at a time. */
static void NAME(laid_out)(size_t m, size_t cols, size_t k, const UINT *a, size_t a_row,
                           size_t a_col, const UINT *b, size_t b_row, size_t b_col, UINT *c,
                           size_t ldc, bool add)
{
    enum { COLS = 2 * LANES, DEPTH = 256 };
    UINT panel[DEPTH * COLS];
    for (size_t p = 0, deep; p < k; p += deep, a += deep * a_col, b += deep * b_row, add = true) {
        deep = ox_least(DEPTH, k - p);
        if (b_col == 1 && cols == COLS)
            for (size_t q = 0; q < deep; q++)
                memcpy(panel + q * COLS, b + q * b_row, sizeof *panel * COLS);
        else
            for (size_t q = 0; q < deep; q++)
                for (size_t j = 0; j < COLS; j++)
                    panel[q * COLS + j] = j < cols ? b[q * b_row + j * b_col] : 0;
        NAME(rows)(m, cols, deep, a, a_row, a_col, panel, COLS, c, ldc, add);
    }
}

/* Both sides' k elements lie in a row. */
static UINT NAME(dot)(size_t k, const UINT *a, const UINT *b)
{
    enum { SUMS = 4 };
    struct NAME(sum) sum[SUMS];
    UINT lanes[LANES], total = 0;
    size_t p = 0;
    memset(sum, 0, sizeof sum);
    for (; p + SUMS * LANES <= k; p += SUMS * LANES)
#pragma GCC unroll 4
        for (size_t v = 0; v < SUMS; v++) {
            const void *x = a + p + v * LANES, *y = b + p + v * LANES;
            NAME(accumulate)
            (&sum[v], NAME(factor_of)(_mm256_loadu_si256(x)),
             NAME(factor_of)(_mm256_loadu_si256(y)));
        }
    const __m256i first = ADD(NAME(total)(sum[0]), NAME(total)(sum[1]));
    const __m256i second = ADD(NAME(total)(sum[2]), NAME(total)(sum[3]));
    _mm256_storeu_si256((__m256i *)(void *)lanes, ADD(first, second));
    for (size_t l = 0; l < LANES; l++)
        total += lanes[l];
    for (; p < k; p++)
        total += a[p] * b[p];
    return total;
}

/* Of so many rows to the columns of a mask. */
INLINE void NAME(narrow)(const size_t rows, __m256i mask, size_t k, const UINT *a, size_t a_row,
                         size_t a_col, const UINT *b, size_t b_row, UINT *c, size_t ldc, bool add)
{
    struct NAME(sum) sum[4];
    memset(sum, 0, sizeof sum);
    for (size_t p = 0; p < k; p++, a += a_col, b += b_row) {
        const struct NAME(factor) y = NAME(factor_of)(LOAD(b, mask));
#pragma GCC unroll 4
        for (size_t i = 0; i < rows; i++)
            NAME(accumulate)(&sum[i], NAME(factor_of)(ONE(a[i * a_row])), y);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++, c += ldc) {
        const __m256i x = NAME(total)(sum[i]);
        STORE(c, mask, add ? ADD(LOAD(c, mask), x) : x);
    }
}

/* Rows by columns that fill a vector at most, where they lie. */
static void NAME(narrow_rows)(size_t m, size_t n, size_t k, const UINT *a, size_t a_row,
                              size_t a_col, const UINT *b, size_t b_row, UINT *c, size_t ldc,
                              bool add)
{
    UINT lanes[LANES];
    for (size_t l = 0; l < LANES; l++)
        lanes[l] = l < n ? (UINT)-1 : 0;
    const __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)lanes);
    size_t i = 0;
    for (; i + ROWS <= m; i += ROWS)
        NAME(narrow)(ROWS, mask, k, a + i * a_row, a_row, a_col, b, b_row, c + i * ldc, ldc, add);
    for (; i < m; i++)
        NAME(narrow)(1, mask, k, a + i * a_row, a_row, a_col, b, b_row, c + i * ldc, ldc, add);
}

static void NAME(product)(size_t m, size_t n, size_t k, const UINT *a, size_t a_row, size_t a_col,
                          const UINT *b, size_t b_row, size_t b_col, UINT *c, size_t ldc, bool add)
{
    enum { COLS = 2 * LANES, FEW = ROWS };
    if (a_col == 1 && b_row == 1 && (m < FEW || n < FEW)) {
        for (size_t i = 0; i < m; i++, a += a_row, c += ldc)
            for (size_t j = 0; j < n; j++)
                c[j] = (add ? c[j] : 0) + NAME(dot)(k, a, b + j * b_col);
        return;
    }
    if (b_col == 1 && n <= LANES) {
        NAME(narrow_rows)(m, n, k, a, a_row, a_col, b, b_row, c, ldc, add);
        return;
    }
    for (size_t i = 0; k == 0 && !add && i < m; i++)
        memset(c + i * ldc, 0, n * sizeof *c);
    for (size_t j = 0, cols; k && j < n; j += cols) {
        cols = ox_least(COLS, n - j);
        const UINT *from = b + j * b_col;
        if (m < 3 * ROWS && b_col == 1 && cols == COLS)
            NAME(rows)(m, cols, k, a, a_row, a_col, from, b_row, c + j, ldc, add);
        else
            NAME(laid_out)(m, cols, k, a, a_row, a_col, from, b_row, b_col, c + j, ldc, add);
    }
}
#undef UINT
#undef NAME
#undef LANES
#undef ROWS
#undef ONE
#undef ADD
#undef LOAD
#undef STORE
