/* Search for the first element of a row that is greater or less than a value; stamped a type. NaN is greater than all numbers. */

/* Whether x is beyond `value`, of which it is known whether it is a number: one comparison an element. */
#ifdef T_FLOAT
#define IS_BEYOND(x) (greater ? !((x) <= value) : nan ? (x) == (x) : (x) < value)
#define IS_NAN(x) ((x) != (x))
#else
#define IS_BEYOND(x) (greater ? (x) > value : (x) < value)
#define IS_NAN(x) false
#endif
enum { N(BEYOND_BLOCK) = 32 };

/* The first of n elements that is; n: none is. */
INLINE size_t N(beyond_first)(const T *x, size_t n, T value, bool greater, bool nan)
{
    size_t i = 0;
    (void)nan;
    while (i < n && !IS_BEYOND(x[i]))
        i++;
    return i;
}

INLINE size_t N(beyond_scan)(const T *row, size_t i, size_t n, T value, bool greater, bool nan,
                             size_t *looked)
{
    for (;;) {
        const size_t end = i < *looked ? *looked : i;
        i += N(beyond_first)(row + i, end - i, value, greater, nan);
        if (i < end || i == n)
            return i;
        *looked = n;
        for (; n - i > N(BEYOND_BLOCK); i += N(BEYOND_BLOCK)) {
            int any = 0;
            for (size_t k = 0; k < N(BEYOND_BLOCK); k++)
                any |= IS_BEYOND(row[i + k]);
            if (any) {
                *looked = i + N(BEYOND_BLOCK);
                break;
            }
        }
    }
}

static size_t N(beyond_find)(const void *data, size_t i, size_t n, const void *to, bool greater,
                             size_t *looked)
{
    const T *row = data, value = *(const T *)to;
    const bool nan = IS_NAN(value);
    if (greater)
        return nan ? n : N(beyond_scan)(row, i, n, value, true, false, looked);
    return nan ? N(beyond_scan)(row, i, n, value, false, true, looked)
               : N(beyond_scan)(row, i, n, value, false, false, looked);
}

static const struct ox_beyond N(beyond) = {N(beyond_find)};

#undef IS_BEYOND
#undef IS_NAN
