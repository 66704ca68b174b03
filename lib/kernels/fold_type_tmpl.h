/* The folds of a type that common/stamp_*.h names. Sums of floats are kept in double; sums and products of integers wrap in the type.
 * FOLD_RUNS_MADE: those of floats have their runs already; and there are the hits of elements of 32 and 64 bits. */
#ifdef T_FLOAT
#define SUM_TYPE double
#define LEAST -(T)INFINITY
#define GREATEST (T) INFINITY
#define GREATER OX_FOLD_GREATER
#define LESS OX_FOLD_LESS
#define ABSOLUTE(x) fabs((double)(x))
#define SAME(x, y) (((x) == (y)) | (((x) != (x)) & ((y) != (y))))
#else
#define SUM_TYPE W
#define LEAST T_MIN
#define GREATEST T_MAX
#define GREATER(a, x) ((x) > (a) ? (x) : (a))
#define LESS(a, x) ((x) < (a) ? (x) : (a))
#define SAME(x, y) ((x) == (y))
#if T_SIGNED
#define ABSOLUTE(x) ((x) < 0 ? 0 - (W)(x) : (W)(x))
#else
#define ABSOLUTE(x) (W)(x)
#endif
#endif
#if defined(T_FLOAT) && defined(FOLD_RUNS_MADE)
#define HAS_RUNS 1
#else
#define HAS_RUNS 0
#endif

#if !defined(T_FLOAT) && (!defined(FOLD_RUNS_MADE) || T_BITS < 32)
#define FOLD_PLAIN_ROWS
#endif

#if HAS_RUNS
#define FOLD_RUN_MADE
#endif
#define FOLD greatest
#define ACC T
#define START() LEAST
#define STEP(a, x, s) GREATER(a, x)
#define JOIN(a, b) GREATER(a, b)
#include "kernels/fold_tmpl.h"

#if HAS_RUNS
#define FOLD_RUN_MADE
#endif
#define FOLD least
#define ACC T
#define START() GREATEST
#define STEP(a, x, s) LESS(a, x)
#define JOIN(a, b) LESS(a, b)
#include "kernels/fold_tmpl.h"

#include "kernels/beyond_tmpl.h"

/* A bit for each of n <= 64 elements that is the value. */
#if !defined(FOLD_RUNS_MADE) || !(defined(T_FLOAT) || T_BITS >= 32)
INLINE uint64_t N(hits)(const T *x, size_t n, T value)
{
    uint64_t hits = 0;
    for (size_t i = 0; i < n; i++)
        hits |= (uint64_t)SAME(x[i], value) << i;
    return hits;
}
#endif

INLINE size_t N(place)(const T *x, size_t n, T value, bool last)
{
    enum { BLOCK = 64 };
    for (size_t passed = 0, some; passed < n; passed += some) {
        some = n - passed < BLOCK ? n - passed : BLOCK;
        const size_t at = last ? n - passed - some : passed;
        const uint64_t hits = N(hits)(x + at, some, value);
        if (hits)
            return at + (size_t)(last ? 63 - __builtin_clzll(hits) : __builtin_ctzll(hits));
    }
    return n;
}

static void N(places)(const void *from, size_t rows, size_t n, const void *values, bool last,
                      int64_t *to)
{
    const T *x = from, *value = values;
    for (size_t row = 0; row < rows; row++, x += n)
        to[row] = (int64_t)(n == 1 ? 0 : N(place)(x, n, value[row], last));
}

#if defined(T_FLOAT) || T_BITS >= 32

#if HAS_RUNS
#define FOLD_RUN_MADE
#endif
#define FOLD sum
#define ACC SUM_TYPE
#define START() 0
#define STEP(a, x, s) (a) + (SUM_TYPE)(x)
#define JOIN(a, b) (a) + (b)
#include "kernels/fold_tmpl.h"

#if HAS_RUNS
#define FOLD_RUN_MADE
#endif
#define FOLD sum_of_abs
#define ACC SUM_TYPE
#define START() 0
#define STEP(a, x, s) (a) + ABSOLUTE(x)
#define JOIN(a, b) (a) + (b)
#include "kernels/fold_tmpl.h"

#if HAS_RUNS
#define FOLD_RUN_MADE
#endif
#define FOLD sum_of_squares
#define ACC SUM_TYPE
#define START() 0
#define STEP(a, x, s) (a) + (SUM_TYPE)(x) * (SUM_TYPE)(x)
#define JOIN(a, b) (a) + (b)
#include "kernels/fold_tmpl.h"

#if HAS_RUNS
#define FOLD_RUN_MADE
#endif
#define FOLD product
#define ACC SUM_TYPE
#define START() 1
#define STEP(a, x, s) (a) * (SUM_TYPE)(x)
#define JOIN(a, b) (a) * (b)
#include "kernels/fold_tmpl.h"

#ifndef T_FLOAT /* floats: their sums */
#define FOLD sum_in_double
#define ACC double
#define START() 0
#define STEP(a, x, s) (a) + (double)(x)
#define JOIN(a, b) (a) + (b)
#include "kernels/fold_tmpl.h"
#endif

/* Floats are squared in their type. */
#ifdef T_FLOAT
#define SQUARE(x) (double)((x) * (x))
#else
#define SQUARE(x) (double)(x) * (double)(x)
#endif
#if HAS_RUNS
#define FOLD_RUN_MADE
#endif
#define FOLD squares_in_double
#define ACC double
#define START() 0
#define STEP(a, x, s) (a) + SQUARE(x)
#define JOIN(a, b) (a) + (b)
#include "kernels/fold_tmpl.h"

#ifndef FOLD_PLAIN_ROWS
#define FOLD_PLAIN_ROWS
#endif
#define FOLD greatest_in_double
#define ACC double
#define START() -(double)INFINITY
#define STEP(a, x, s) ((double)(x) > (a) || (x) != (x) ? (double)(x) : (a))
#define JOIN(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#include "kernels/fold_tmpl.h"

#endif

#undef SUM_TYPE
#undef LEAST
#undef GREATEST
#undef GREATER
#undef LESS
#undef ABSOLUTE
#undef SAME
#undef SQUARE
#undef HAS_RUNS
#undef FOLD_PLAIN_ROWS
