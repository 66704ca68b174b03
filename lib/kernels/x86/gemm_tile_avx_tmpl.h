/* The tile of gemm.h with four rows and two vectors of columns: REAL, NAME(x), and of the vectors V, LANES and the operations LOAD,
 * STORE, ONE, ADD, MUL are the includer's. Products and sums are rounded each, as in plain C: the same bits. */

static void NAME(tile)(size_t k, const REAL *restrict a, const REAL *restrict b, REAL *restrict c,
                       size_t ldc, unsigned rows, unsigned cols, bool add)
{
    enum { NR = 2 * LANES };
    V s00 = ONE(0), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
    REAL sum[4][NR];
    for (size_t p = 0; p < k; p++, a += 4, b += NR) {
        const V u = LOAD(b), v = LOAD(b + LANES);
        const V a0 = ONE(a[0]), a1 = ONE(a[1]), a2 = ONE(a[2]), a3 = ONE(a[3]);
        s00 = ADD(s00, MUL(a0, u));
        s01 = ADD(s01, MUL(a0, v));
        s10 = ADD(s10, MUL(a1, u));
        s11 = ADD(s11, MUL(a1, v));
        s20 = ADD(s20, MUL(a2, u));
        s21 = ADD(s21, MUL(a2, v));
        s30 = ADD(s30, MUL(a3, u));
        s31 = ADD(s31, MUL(a3, v));
    }
    STORE(sum[0], s00);
    STORE(sum[0] + LANES, s01);
    STORE(sum[1], s10);
    STORE(sum[1] + LANES, s11);
    STORE(sum[2], s20);
    STORE(sum[2] + LANES, s21);
    STORE(sum[3], s30);
    STORE(sum[3] + LANES, s31);
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
#undef LOAD
#undef STORE
#undef ONE
#undef ADD
#undef MUL
