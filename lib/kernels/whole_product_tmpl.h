/* Stamped by whole_products.c: UINT and NAME(x) are the includer's. */

static void NAME(product)(size_t m, size_t n, size_t k, const UINT *a, size_t a_row, size_t a_col,
                          const UINT *b, size_t b_row, size_t b_col, UINT *c, size_t ldc, bool add)
{
    for (size_t i = 0; i < m; i++, c += ldc) {
        for (size_t j = 0; !add && j < n; j++)
            c[j] = 0;
        for (size_t p = 0; p < k; p++) {
            const UINT x = a[i * a_row + p * a_col];
            const UINT *from = b + p * b_row;
            if (b_col == 1) {
                for (size_t j = 0; j < n; j++)
                    c[j] += x * from[j];
            } else {
                for (size_t j = 0; j < n; j++)
                    c[j] += x * from[j * b_col];
            }
        }
    }
}
