/* Two register tiles of attention, ROWS by two vectors of queries: NAMED(x) names them. */

/* s[r][query] = sum over d of k[r * step + d] * q[d][query] */
static void NAMED(scores)(size_t depth, const float *q, const float *k, size_t step, float *s)
{
    VF a[ROWS], b[ROWS];
    for (int r = 0; r < ROWS; r++)
        a[r] = b[r] = v_zero();
    for (size_t d = 0; d < depth; d++, q += 2 * VW, k++) {
        const VF q0 = v_load(q), q1 = v_load(q + VW);
        for (int r = 0; r < ROWS; r++) {
            const VF x = v_set1(k[(size_t)r * step]);
            a[r] = v_fma(x, q0, a[r]);
            b[r] = v_fma(x, q1, b[r]);
        }
    }
    for (int r = 0; r < ROWS; r++) {
        v_store(s + (size_t)r * 2 * VW, a[r]);
        v_store(s + (size_t)r * 2 * VW + VW, b[r]);
    }
}

/* y[r][query] = y[r][query] * f[query] + sum over keys of v[key * step + r] * p[key][query] */
static void NAMED(values)(size_t keys, const float *p, const float *v, size_t step, const float *f,
                          float *y)
{
    VF a[ROWS], b[ROWS];
    for (int r = 0; r < ROWS; r++)
        a[r] = b[r] = v_zero();
    for (size_t j = 0; j < keys; j++, p += 2 * VW, v += step) {
        const VF p0 = v_load(p), p1 = v_load(p + VW);
        for (int r = 0; r < ROWS; r++) {
            const VF x = v_set1(v[r]);
            a[r] = v_fma(x, p0, a[r]);
            b[r] = v_fma(x, p1, b[r]);
        }
    }
    /* Added at the end: a long sum in parts rounds less. */
    const VF f0 = v_load(f), f1 = v_load(f + VW);
    for (int r = 0; r < ROWS; r++, y += 2 * VW) {
        v_store(y, v_fma(v_load(y), f0, a[r]));
        v_store(y + VW, v_fma(v_load(y + VW), f1, b[r]));
    }
}
#undef ROWS
#undef NAMED
