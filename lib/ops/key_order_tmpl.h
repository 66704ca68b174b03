/* What decides in a key (keys.h) of a number, stamped a type: NaN is greater than all others, zeros are one. Of doubles the upper half. */

/* Whether 32 bits tell numbers of a row apart; *least is where they start. */
static inline bool N(key_least)(const T *x, size_t n, T *least)
{
#if defined(T_FLOAT)
    (void)x;
    (void)n;
    *least = 0;
    return true;
#elif T_BITS < 64
    (void)x;
    (void)n;
    *least = T_MIN;
    return true;
#else
    T most = x[0];
    *least = x[0];
    for (size_t i = 1; i < n; i++) {
        *least = x[i] < *least ? x[i] : *least;
        most = x[i] > most ? x[i] : most;
    }
    return (W)most - (W)*least <= UINT32_MAX;
#endif
}

static inline uint32_t N(key_order)(T x, T least)
{
#ifdef T_FLOAT
    (void)least;
    return x != x ? UINT32_MAX : sizeof(T) == 4 ? ox_key_order((float)x) : ox_key_upper((double)x);
#else
    return (uint32_t)((W)x - (W)least);
#endif
}
