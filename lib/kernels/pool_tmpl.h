/* Pooling of windows of pixels, channels last. Stamped for each vector width. */

INLINE void pool_part(const struct ox_pool *p, const bool max, size_t c, bool some, size_t m)
{
    VF x = load_part(p->in[0] + c, some, m);
    for (size_t i = 1; i < p->n; i++) {
        const VF y = load_part(p->in[i] + c, some, m);
        /* A NaN so far gives way to y, a NaN in y to what is there. */
        x = max ? v_select(v_unordered(x, x), y, v_max(y, x)) : v_add(x, y);
    }
    if (!max && p->divisor != 1)
        x = v_div(x, v_set1(p->divisor));
    store_part(p->out + c, some, m, x);
}

/* Channels from c on. */
INLINE void pool_rest(const struct ox_pool *p, const bool max, size_t c)
{
    for (; c + VW <= p->channels; c += VW)
        pool_part(p, max, c, false, VW);
    if (c < p->channels)
        pool_part(p, max, c, true, p->channels - c);
}

/* Four vectors of channels. A maximum that begins at minus infinity passes over NaN by itself; only where nothing larger came does it
 * matter whether all was NaN. */
INLINE void pool_max_four(const struct ox_pool *p, size_t c)
{
    VF x[4];
#pragma GCC unroll 4
    for (unsigned v = 0; v < 4; v++)
        x[v] = v_set1(-INFINITY);
    for (size_t i = 0; i < p->n; i++) {
        const float *in = p->in[i] + c;
#pragma GCC unroll 4
        for (unsigned v = 0; v < 4; v++)
            x[v] = v_max(v_load(in + v * VW), x[v]);
    }
    const VF least = v_min(v_min(x[0], x[1]), v_min(x[2], x[3]));
    if (v_most(v_sub(v_zero(), least)) == INFINITY) {
        for (unsigned v = 0; v < 4; v++)
            pool_part(p, true, c + v * VW, false, VW);
        return;
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < 4; v++)
        v_store(p->out + c + v * VW, x[v]);
}

static void pool_max(const struct ox_pool *p)
{
    size_t c = 0;
    for (; c + 4 * VW <= p->channels; c += 4 * VW)
        pool_max_four(p, c);
    pool_rest(p, true, c);
}

/* Several vectors of channels: a sum alone waits for itself. */
INLINE void pool_sums(const struct ox_pool *p, size_t c, const unsigned vecs)
{
    VF x[4];
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v++)
        x[v] = v_load(p->in[0] + c + v * VW);
    for (size_t i = 1; i < p->n; i++) {
        const float *in = p->in[i] + c;
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++)
            x[v] = v_add(x[v], v_load(in + v * VW));
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < vecs; v++) {
        if (p->divisor != 1)
            x[v] = v_div(x[v], v_set1(p->divisor));
        v_store(p->out + c + v * VW, x[v]);
    }
}

static void pool_sum(const struct ox_pool *p)
{
    size_t c = 0;
    for (; c + 4 * VW <= p->channels; c += 4 * VW)
        pool_sums(p, c, 4);
    for (; c + 2 * VW <= p->channels; c += 2 * VW)
        pool_sums(p, c, 2);
    pool_rest(p, false, c);
}
