/* Pooling of windows of pixels, channels last. Stamped for each vector width. */

INLINE void pool_part(const struct ox_pool *p, const bool max, size_t w, size_t c, bool some,
                      size_t m)
{
    const size_t at = w * p->step + c;
    VF x = load_part(p->in[0] + at, some, m);
    for (size_t i = 1; i < p->n; i++) {
        const VF y = load_part(p->in[i] + at, some, m);
        /* A NaN so far gives way to y, a NaN in y to what is there. */
        x = max ? v_select(v_unordered(x, x), y, v_max(y, x)) : v_add(x, y);
    }
    if (!max && p->divisor != 1)
        x = v_div(x, v_set1(p->divisor));
    store_part(p->out + w * p->out_step + c, some, m, x);
}

/* Vectors of channels of window w, of the last one m. A maximum that begins at minus infinity passes over NaN by itself; only where nothing larger
 * came does it matter whether all was NaN. */
INLINE void pool_maxima(const struct ox_pool *p, size_t w, size_t c, const unsigned vecs,
                        const bool some, size_t m)
{
    float *out = p->out + w * p->out_step + c;
    const VF none = v_set1(-INFINITY);
    VF x[4] = {none, none, none, none};
    for (size_t i = 0; i < p->n; i++) {
        const float *in = p->in[i] + w * p->step + c;
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            x[v] = v_max(load_part(in + v * VW, some && v + 1 == vecs, m), x[v]);
    }
    VF least = x[0];
#pragma GCC unroll 4
    for (unsigned v = 1; v < vecs; v++)
        least = v_min(least, x[v]);
    if (v_any(v_eq(least, none))) {
        for (unsigned v = 0; v < vecs; v++)
            pool_part(p, true, w, c + v * VW, some && v + 1 == vecs, m);
        return;
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v++)
        store_part(out + v * VW, some && v + 1 == vecs, m, x[v]);
}

INLINE void pool_window(const struct ox_pool *p, size_t w)
{
    size_t c = 0;
    for (; c + 4 * VW <= p->channels; c += 4 * VW)
        pool_maxima(p, w, c, 4, false, VW);
    const size_t left = p->channels - c, m = (left + VW - 1) % VW + 1;
    if (left > 3 * VW)
        pool_maxima(p, w, c, 4, m < VW, m);
    else if (left > 2 * VW)
        pool_maxima(p, w, c, 3, m < VW, m);
    else if (left > VW)
        pool_maxima(p, w, c, 2, m < VW, m);
    else if (left > 0)
        pool_part(p, true, w, c, m < VW, m);
}

static void pool_max(const struct ox_pool *p)
{
    for (size_t w = 0; w <= p->more; w++)
        pool_window(p, w);
}

/* Several vectors of channels: a sum alone waits for itself. */
INLINE void pool_sums(const struct ox_pool *p, size_t w, size_t c, const unsigned vecs)
{
    const size_t at = w * p->step + c;
    float *out = p->out + w * p->out_step + c;
    VF x[4];
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v++)
        x[v] = v_load(p->in[0] + at + v * VW);
    for (size_t i = 1; i < p->n; i++) {
        const float *in = p->in[i] + at;
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            x[v] = v_add(x[v], v_load(in + v * VW));
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v++) {
        if (p->divisor != 1)
            x[v] = v_div(x[v], v_set1(p->divisor));
        v_store(out + v * VW, x[v]);
    }
}

INLINE void pool_window_sum(const struct ox_pool *p, size_t w)
{
    size_t c = 0;
    for (; c + 4 * VW <= p->channels; c += 4 * VW)
        pool_sums(p, w, c, 4);
    for (; c + 2 * VW <= p->channels; c += 2 * VW)
        pool_sums(p, w, c, 2);
    for (; c + VW <= p->channels; c += VW)
        pool_sums(p, w, c, 1);
    if (c < p->channels)
        pool_part(p, false, w, c, true, p->channels - c);
}

static void pool_sum(const struct ox_pool *p)
{
    for (size_t w = 0; w <= p->more; w++)
        pool_window_sum(p, w);
}
