/* Two register tiles of attention, ROWS by ACROSS vectors of queries: NAMED(x) names them. */

/* sum[r][query] = sum over i < n of a[r * row + i * col] * x[i][query] */
static inline __attribute__((always_inline)) void NAMED(products)(size_t n, const float *x,
                                                                  const float *a, size_t row,
                                                                  size_t col, VF sum[ROWS][ACROSS])
{
    VF line[ACROSS];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++) {
#pragma GCC unroll 4
        for (int v = 0; v < ACROSS; v++)
            sum[r][v] = v_zero();
    }
    for (size_t i = 0; i < n; i++, x += ACROSS * VW, a += col) {
#pragma GCC unroll 4
        for (int v = 0; v < ACROSS; v++)
            line[v] = v_load(x + v * VW);
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; r++) {
            const VF factor = v_set1(a[(size_t)r * row]);
#pragma GCC unroll 4
            for (int v = 0; v < ACROSS; v++)
                sum[r][v] = v_fma(factor, line[v], sum[r][v]);
        }
    }
}

/* s[r][query] = sum over d of k[r * step + d] * q[d][query] */
static void NAMED(scores)(size_t depth, const float *q, const float *k, size_t step, float *s)
{
    VF sum[ROWS][ACROSS];
    NAMED(products)(depth, q, k, step, 1, sum);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++, s += ACROSS * VW) {
#pragma GCC unroll 4
        for (int v = 0; v < ACROSS; v++)
            v_store(s + v * VW, sum[r][v]);
    }
}

/* y[r][query] = y[r][query] * f[query] + sum over keys of v[key * step + r] * p[key][query], added at the end: a long sum in parts
 * rounds less. */
static void NAMED(values)(size_t keys, const float *p, const float *v, size_t step, const float *f,
                          float *y)
{
    VF sum[ROWS][ACROSS], factor[ACROSS];
    NAMED(products)(keys, p, v, 1, step, sum);
#pragma GCC unroll 4
    for (int i = 0; i < ACROSS; i++)
        factor[i] = v_load(f + i * VW);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++, y += ACROSS * VW) {
#pragma GCC unroll 4
        for (int i = 0; i < ACROSS; i++)
            v_store(y + i * VW, v_fma(v_load(y + i * VW), factor[i], sum[r][i]));
    }
}
#undef ROWS
#undef NAMED
