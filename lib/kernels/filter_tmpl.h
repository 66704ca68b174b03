/* A plane's lines by a filter of its own. Stamped for each vector width. */

/* Vectors of outputs, of the last one m. */
INLINE void filter_line_part(const struct ox_filter *f, const float *x, float *y,
                             const unsigned vecs, const bool some, size_t m)
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

static void filter_line(const struct ox_filter *f, size_t n, const float *x, float *y)
{
    size_t i = 0;
    for (; i + 8 * VW <= n; i += 8 * VW)
        filter_line_part(f, x + i, y + i, 8, false, VW);
    if (i + 4 * VW <= n) {
        filter_line_part(f, x + i, y + i, 4, false, VW);
        i += 4 * VW;
    }
    const size_t left = n - i, m = (left + VW - 1) % VW + 1;
    if (left > 3 * VW)
        filter_line_part(f, x + i, y + i, 4, m < VW, m);
    else if (left > 2 * VW)
        filter_line_part(f, x + i, y + i, 3, m < VW, m);
    else if (left > VW)
        filter_line_part(f, x + i, y + i, 2, m < VW, m);
    else if (left > 0)
        filter_line_part(f, x + i, y + i, 1, m < VW, m);
}

/* Lines that are summed side by side: of a short one alone there are too few sums to keep a core busy. */
enum { FILTER_LINES = 4 };

INLINE void filter_part(const struct ox_filter *f, const float *const *x, size_t n, float *y,
                        const unsigned vecs, const bool some, size_t m)
{
    VF sum[FILTER_LINES][2];
#pragma GCC unroll 4
    for (unsigned l = 0; l < FILTER_LINES; l++)
#pragma GCC unroll 2
        for (unsigned v = 0; v < vecs; v++)
            sum[l][v] = v_set1(f->bias);
    for (size_t t = 0; t < f->taps; t++) {
        const VF weight = v_set1(f->weights[t]);
        const size_t at = f->at[t];
#pragma GCC unroll 4
        for (unsigned l = 0; l < FILTER_LINES; l++)
#pragma GCC unroll 2
            for (unsigned v = 0; v < vecs; v++)
                sum[l][v] = v_fma(weight, load_part(x[l] + at + v * VW, some && v + 1 == vecs, m),
                                  sum[l][v]);
    }
#pragma GCC unroll 4
    for (unsigned l = 0; l < FILTER_LINES; l++)
#pragma GCC unroll 2
        for (unsigned v = 0; v < vecs; v++)
            store_part(y + l * n + v * VW, some && v + 1 == vecs, m, sum[l][v]);
}

static void filter(const struct ox_filter *f, size_t n, const float *x, float *y)
{
    size_t line = 0;
    for (; line + FILTER_LINES <= f->lines; line += FILTER_LINES, y += FILTER_LINES * n) {
        const float *from[FILTER_LINES];
        for (unsigned l = 0; l < FILTER_LINES; l++)
            from[l] = x + f->line[line + l];
        size_t i = 0;
        for (; i + 2 * VW <= n; i += 2 * VW) {
            filter_part(f, from, n, y + i, 2, false, VW);
            for (unsigned l = 0; l < FILTER_LINES; l++)
                from[l] += 2 * VW;
        }
        const size_t left = n - i, m = (left + VW - 1) % VW + 1;
        if (left > VW)
            filter_part(f, from, n, y + i, 2, m < VW, m);
        else if (left > 0)
            filter_part(f, from, n, y + i, 1, m < VW, m);
    }
    for (; line < f->lines; line++, y += n)
        filter_line(f, n, x + f->line[line], y);
}
