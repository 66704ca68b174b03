/* Two register tiles of attention, ROWS by ACROSS vectors of queries: NAMED(x) names them. */

/* s[r][query] = sum over d of k[r * step + d] * q[d][query] */
static void NAMED(scores)(size_t depth, const float *q, const float *k, size_t step, float *s)
{
    VF sum[ROWS][ACROSS], x[ACROSS];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++) {
#pragma GCC unroll 4
        for (int i = 0; i < ACROSS; i++)
            sum[r][i] = v_zero();
    }
    for (size_t d = 0; d < depth; d++, q += ACROSS * VW, k++) {
#pragma GCC unroll 4
        for (int i = 0; i < ACROSS; i++)
            x[i] = v_load(q + i * VW);
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; r++) {
            const VF key = v_set1(k[(size_t)r * step]);
#pragma GCC unroll 4
            for (int i = 0; i < ACROSS; i++)
                sum[r][i] = v_fma(key, x[i], sum[r][i]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++, s += ACROSS * VW) {
#pragma GCC unroll 4
        for (int i = 0; i < ACROSS; i++)
            v_store(s + i * VW, sum[r][i]);
    }
}

/* y[r][query] = y[r][query] * f[query] + sum over keys of v[key * step + r] * p[key][query] */
static void NAMED(values)(size_t keys, const float *p, const float *v, size_t step, const float *f,
                          float *y)
{
    VF sum[ROWS][ACROSS], x[ACROSS];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++) {
#pragma GCC unroll 4
        for (int i = 0; i < ACROSS; i++)
            sum[r][i] = v_zero();
    }
    for (size_t j = 0; j < keys; j++, p += ACROSS * VW, v += step) {
#pragma GCC unroll 4
        for (int i = 0; i < ACROSS; i++)
            x[i] = v_load(p + i * VW);
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; r++) {
            const VF value = v_set1(v[r]);
#pragma GCC unroll 4
            for (int i = 0; i < ACROSS; i++)
                sum[r][i] = v_fma(value, x[i], sum[r][i]);
        }
    }
    /* Added at the end: a long sum in parts rounds less. */
#pragma GCC unroll 4
    for (int i = 0; i < ACROSS; i++)
        x[i] = v_load(f + i * VW);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++, y += ACROSS * VW) {
#pragma GCC unroll 4
        for (int i = 0; i < ACROSS; i++)
            v_store(y + i * VW, v_fma(v_load(y + i * VW), x[i], sum[r][i]));
    }
}
#undef ROWS
#undef NAMED
