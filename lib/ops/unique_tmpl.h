/* Comparing runs of elements, stamped a type. */

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

#undef SELECT_LESS
#undef SELECT_NAN
