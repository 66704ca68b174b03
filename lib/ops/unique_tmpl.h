/* Comparing runs of elements, stamped a type. */

#include "ops/key_order_tmpl.h"
#include "ops/value_less.h"

/* n elements from a and from b on, the first that differ deciding. */
static int N(compare)(const void *data, size_t a, size_t b, size_t n)
{
    const T *x = (const T *)data + a, *y = (const T *)data + b;

    for (size_t i = 0; i < n; i++) {
        if (SELECT_LESS(x[i], y[i]))
            return -1;
        if (SELECT_LESS(y[i], x[i]))
            return 1;
    }
    return 0;
}

/* Keys of n > 0 numbers, of the upper half of doubles; false: they do not tell them apart. */
static inline bool N(keys)(const void *data, size_t n, uint64_t *keys)
{
    const T *x = data;
    T least;
    if (!N(key_least)(x, n, &least))
        return false;
    for (size_t i = 0; i < n; i++)
        keys[i] = (uint64_t)N(key_order)(x[i], least) << 32 | i;
    return true;
}

/* Groups of n elements of few values, none of which is NaN, numbered as they first occur: where that is, how many there are, of
 * which group each element is; `values` has room for as many as there may be. Gives how many groups; 0: there are more. */
static size_t N(few)(const void *data, size_t n, void *values, int64_t *first, int64_t *count,
                     int64_t *of)
{
    const T *x = data;
    T *known = values;
    uint16_t group[FEW_PLACES] = {0}; /* its number and one more */
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        const T value = (T)(x[i] + (T)0); /* of -0 it makes 0 */
        uint64_t bits = 0;
        memcpy(&bits, &value, sizeof value);
        size_t at = (size_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FEW_BITS));
        while (group[at] && known[group[at] - 1] != value)
            at = (at + 1) % FEW_PLACES;
        if (!group[at]) {
            if (m == FEW || SELECT_NAN(value))
                return 0;
            known[m] = value;
            first[m] = (int64_t)i;
            count[m++] = 0;
            group[at] = (uint16_t)m;
        }
        of[i] = group[at] - 1;
        count[of[i]]++;
    }
    return m;
}

#undef SELECT_LESS
#undef SELECT_NAN
