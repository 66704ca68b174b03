/* How one reduction takes in elements. RED its name, ACC the accumulator's type, START(), STEP(a, x, s) one element (s: the
 * shift of its lane, where there is one), JOIN(a, b) two accumulators, END(a, n) the result of n elements; T the element
 * type. */
static void N(OX_STAMP(RED, _start))(void *to, size_t lanes)
{
    ACC *acc = to;
    for (size_t i = 0; i < lanes; i++)
        acc[i] = START();
}

#define FOLD_RUN N(OX_STAMP(RED, _run))
#define FOLD_LANES N(OX_STAMP(RED, _lanes))
#ifdef T_FLOAT
#define FOLD_ROWS N(OX_STAMP(RED, _rows))
#define FOLD_SHORT N(OX_STAMP(RED, _short))
#define ROWS N(OX_STAMP(RED, _rows))
#else
#define ROWS NULL
#endif
#include "kernels/fold_tmpl.h"

static void N(OX_STAMP(RED, _end))(const void *from, void *to, size_t lanes, size_t n,
                                   const void *shifts)
{
    const ACC *acc = from;
    const ACC *shift = shifts;
    T *out = to;
    (void)n;
    (void)shift;
    for (size_t i = 0; i < lanes; i++)
        out[i] = (T)(END(acc[i], n, shift[i]));
}

static const struct reducer N(RED) = {N(OX_STAMP(RED, _start)),
                                      N(OX_STAMP(RED, _run)),
                                      N(OX_STAMP(RED, _lanes)),
                                      N(OX_STAMP(RED, _end)),
                                      SHIFT,
                                      ROWS};

#undef RED
#undef ACC
#undef START
#undef STEP
#undef JOIN
#undef END
#undef SHIFT
#undef ROWS
