/* Values along the lanes, for ROWS queries or less that would leave lanes of their own empty: NAMED(x) names it. */

/* y[r][d] = y[r][d] * f[r] + sum over keys of p[key * lanes + r] * v[key * step + d] for `across` vectors of d, or the `last` floats
 * of one. */
static inline __attribute__((always_inline)) void
NAMED(columns)(int across, size_t last, size_t keys, const float *p, size_t lanes, const float *v,
               size_t step, const float *f, float *y, size_t ldy)
{
    VF sum[ROWS][2], line[2];
#pragma GCC unroll 12
    for (int r = 0; r < ROWS; r++)
        sum[r][0] = sum[r][1] = v_zero();
    for (; keys-- > 0; p += lanes, v += step) {
        line[0] = last ? v_load_n(v, last) : v_load(v);
        if (across == 2)
            line[1] = v_load(v + VW);
#pragma GCC unroll 12
        for (int r = 0; r < ROWS; r++) {
            const VF factor = v_set1(p[r]);
#pragma GCC unroll 2
            for (int i = 0; i < across; i++)
                sum[r][i] = v_fma(factor, line[i], sum[r][i]);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < ROWS; r++, y += ldy) {
        const size_t left = last ? last : VW;
#pragma GCC unroll 2
        for (int i = 0; i < across; i++)
            put(y + i * VW, v_fma(get(y + i * VW, left), v_set1(f[r]), sum[r][i]), left);
    }
}

static void NAMED(values)(const struct ox_attend_head *h, size_t at, size_t keys, const float *p,
                          size_t lanes, const float *f, float *y)
{
    const size_t n = h->v_depth, step = h->v_step;
    const float *v = h->v + at * step;
    size_t d = 0;
    for (; d + 2 * VW <= n; d += 2 * VW)
        NAMED(columns)(2, 0, keys, p, lanes, v + d, step, f, y + d, n);
    if (d + VW <= n) {
        NAMED(columns)(1, 0, keys, p, lanes, v + d, step, f, y + d, n);
        d += VW;
    }
    if (d < n)
        NAMED(columns)(1, n - d, keys, p, lanes, v + d, step, f, y + d, n);
}
#undef ROWS
#undef NAMED
