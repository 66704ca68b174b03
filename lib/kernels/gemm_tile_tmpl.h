/* The tile of gemm.h with four rows and NR columns: REAL, NAME(x) and NR are defined by the includer. Each element is a sum in the order
 * of k, so that every width gives the same bits. */

static void NAME(tile)(size_t k, const REAL *restrict a, const REAL *restrict b, REAL *restrict c,
                       size_t ldc, unsigned rows, unsigned cols, bool add)
{
    REAL sum[4][NR] = {{0}};
    for (size_t p = 0; p < k; p++, a += 4, b += NR) {
        for (unsigned j = 0; j < NR; j++) {
            sum[0][j] += a[0] * b[j];
            sum[1][j] += a[1] * b[j];
            sum[2][j] += a[2] * b[j];
            sum[3][j] += a[3] * b[j];
        }
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
