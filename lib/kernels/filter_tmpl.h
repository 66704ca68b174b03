/* A plane's line by a filter of its own. Stamped for each vector width. */

/* Vectors of outputs, of the last one m. */
INLINE void filter_part(const struct ox_filter *f, const float *x, float *y, const unsigned vecs,
                        const bool some, size_t m)
{
    VF sum[8];
#pragma GCC unroll 8
    for (unsigned v = 0; v < vecs; v++)
        sum[v] = v_set1(f->bias);
    for (size_t t = 0; t < f->taps; t++) {
        const VF weight = v_set1(f->weights[t]);
        const float *from = x + f->at[t];
#pragma GCC unroll 8
        for (unsigned v = 0; v < vecs; v++)
            sum[v] = v_fma(weight, load_part(from + v * VW, some && v + 1 == vecs, m), sum[v]);
    }
#pragma GCC unroll 8
    for (unsigned v = 0; v < vecs; v++)
        store_part(y + v * VW, some && v + 1 == vecs, m, sum[v]);
}

static void filter(const struct ox_filter *f, size_t n, const float *x, float *y)
{
    size_t i = 0;
    for (; i + 8 * VW <= n; i += 8 * VW)
        filter_part(f, x + i, y + i, 8, false, VW);
    if (i + 4 * VW <= n) {
        filter_part(f, x + i, y + i, 4, false, VW);
        i += 4 * VW;
    }
    const size_t left = n - i, m = (left + VW - 1) % VW + 1;
    if (left > 3 * VW)
        filter_part(f, x + i, y + i, 4, m < VW, m);
    else if (left > 2 * VW)
        filter_part(f, x + i, y + i, 3, m < VW, m);
    else if (left > VW)
        filter_part(f, x + i, y + i, 2, m < VW, m);
    else if (left > 0)
        filter_part(f, x + i, y + i, 1, m < VW, m);
}
