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

#undef SELECT_LESS
#undef SELECT_NAN
