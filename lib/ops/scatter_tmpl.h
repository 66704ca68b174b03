/* The four ways of scatter_merge_tmpl.h, stamped a type. */

#ifdef T_FLOAT
#define MERGED(a, b) ((a) + (b))
#else
#define MERGED(a, b) ((T)((W)(a) + (W)(b)))
#endif
#define MERGE N(scatter_add)
#include "ops/scatter_merge_tmpl.h"

#ifdef T_FLOAT
#define MERGED(a, b) ((a) * (b))
#else
#define MERGED(a, b) ((T)((W)(a) * (W)(b)))
#endif
#define MERGE N(scatter_mul)
#include "ops/scatter_merge_tmpl.h"

/* NaN stays; it is rare, and what remains has an instruction. */
#ifdef T_FLOAT
#define MERGED(a, b) ((a) != (a) ? (a) : (a) > (b) ? (a) : (b))
#define MERGED_ROW(a, b) (((a) > (b)) | ((a) != (a)) ? (a) : (b))
#else
#define MERGED(a, b) ((a) > (b) ? (a) : (b))
#endif
#define MERGE N(scatter_max)
#include "ops/scatter_merge_tmpl.h"

#ifdef T_FLOAT
#define MERGED(a, b) ((a) != (a) ? (a) : (a) < (b) ? (a) : (b))
#define MERGED_ROW(a, b) (((a) < (b)) | ((a) != (a)) ? (a) : (b))
#else
#define MERGED(a, b) ((a) < (b) ? (a) : (b))
#endif
#define MERGE N(scatter_min)
#include "ops/scatter_merge_tmpl.h"

#ifdef T_FLOAT
/* Complex numbers: a block is of 2 reals an element. */
static void N(scatter_mul_pairs)(void *out, const void *updates, const int64_t *place, size_t n,
                                 size_t block)
{
    const T *from = updates;

    for (size_t i = 0; i < n; i++) {
        T *to = (T *)out + (size_t)place[i] * block;

        for (size_t k = 0; k < block; k += 2, from += 2) {
            T real = to[k] * from[0] - to[k + 1] * from[1];

            to[k + 1] = to[k] * from[1] + to[k + 1] * from[0];
            to[k] = real;
        }
    }
}
#endif
