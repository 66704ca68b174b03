/* Equal Greater GreaterOrEqual Less LessOrEqual of a type. */
#define TA T
#define TB T
#define TO uint8_t

/* What the kernels for pairs do better; `turned`: the right operand first. */
static bool N(by_pairs)(const struct ox_row *row, enum ox_pair_order kind, bool turned)
{
    void (*compare)(size_t n, const void *a, size_t a_step, const void *b, size_t b_step, void *y) =
        NULL;
    (void)kind;
#ifdef T_FLOAT
    if (sizeof(T) == sizeof(double))
        compare = ox_pairs(ox_cpu())->compare_f64[kind];
#elif T_BITS == 64 && T_SIGNED
    compare = ox_pairs(ox_cpu())->compare_i64[kind];
#endif
    if (compare)
        compare(row->n, row->in[turned], row->step[turned], row->in[!turned], row->step[!turned],
                row->out);
    return compare;
}

#define FN N(equal)
#define SETUP                                                                                      \
    if (N(by_pairs)(row, OX_PAIR_EQUAL, false))                                                    \
        return;
#define OP(x, y) (x) == (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(greater)
#define SETUP                                                                                      \
    if (N(by_pairs)(row, OX_PAIR_GREATER, false))                                                  \
        return;
#define OP(x, y) (x) > (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(greater_equal)
#define SETUP                                                                                      \
    if (N(by_pairs)(row, OX_PAIR_GREATER_EQUAL, false))                                            \
        return;
#define OP(x, y) (x) >= (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(less)
#define SETUP                                                                                      \
    if (N(by_pairs)(row, OX_PAIR_GREATER, true))                                                   \
        return;
#define OP(x, y) (x) < (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(less_equal)
#define SETUP                                                                                      \
    if (N(by_pairs)(row, OX_PAIR_GREATER_EQUAL, true))                                             \
        return;
#define OP(x, y) (x) <= (y)
#include "ops/binary_loop_tmpl.h"

#undef TA
#undef TB
#undef TO
