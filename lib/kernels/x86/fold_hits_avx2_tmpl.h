/* N(hits) of fold_type_tmpl.h: VT a vector of T, ALL(value), LOAD(x), LOAD_SOME(x, m) those that the 32-bit mask m tells, SAME(x, v) a
 * bit a lane. */
static inline uint64_t N(hits)(const T *x, size_t n, T value)
{
    enum { WIDTH = sizeof(VT) / sizeof(T) };
    const VT v = ALL(value);
    uint64_t hits = 0;
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH)
        hits |= (uint64_t)(unsigned)SAME(LOAD(x + i), v) << i;
    if (i < n) {
        const unsigned some = (1u << (n - i)) - 1;
        const VT last = LOAD_SOME(x + i, some_of_parts + OX_FOLD_PARTS - (n - i));
        hits |= (uint64_t)((unsigned)SAME(last, v) & some) << i;
    }
    return hits;
}
#undef T
#undef N
#undef VT
#undef ALL
#undef LOAD
#undef LOAD_SOME
#undef SAME
