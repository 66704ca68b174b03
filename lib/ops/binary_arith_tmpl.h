/* Add Sub Mul Div Mod of a type. */
#define TA T
#define TB T
#define TO T

#ifdef T_FLOAT
#define FN N(add)
#define OP(x, y) (x) + (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(sub)
#define OP(x, y) (x) - (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(mul)
#define OP(x, y) (x) * (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(divide)
#define OP(x, y) (x) / (y)
#include "ops/binary_loop_tmpl.h"

/* Rounded down: the result has the divisor's sign, a zero too. */
static T N(floor_mod_of)(T x, T y)
{
    T rest = M(fmod)(x, y);
    if (rest != 0)
        return (rest < 0) != (y < 0) ? rest + y : rest;
    return M(copysign)(rest, y);
}

#define FN N(trunc_mod)
#define SETUP                                                                                      \
    if (ox_pair_row(row, OX_PAIR_REST, N(ox_pair_type)))                                           \
        return;
#define OP(x, y) M(fmod)((x), (y))
#include "ops/binary_loop_tmpl.h"
#else
/* Computed unsigned and wrapped: no overflow is undefined. */
#define FN N(add)
#define OP(x, y) (W)(x) + (W)(y)
#include "ops/binary_loop_tmpl.h"
#define FN N(sub)
#define OP(x, y) (W)(x) - (W)(y)
#include "ops/binary_loop_tmpl.h"
#define FN N(mul)
#define SETUP                                                                                      \
    if (ox_pair_row(row, OX_PAIR_MUL, N(ox_pair_type)))                                            \
        return;
#define OP(x, y) (W)(x) * (W)(y)
#include "ops/binary_loop_tmpl.h"

/* By zero: 0, as in numpy. The least number by -1 wraps. */
static T N(divide_of)(T x, T y)
{
    if (y == 0)
        return 0;
#if T_SIGNED
    if (y == -1)
        return (T)(0 - (W)x);
#endif
    return (T)(x / y);
}

#define FN N(divide)
#define SETUP                                                                                      \
    if (ox_pair_row(row, OX_PAIR_DIV, N(ox_pair_type)))                                            \
        return;
#define OP(x, y) N(divide_of)((x), (y))
#include "ops/binary_loop_tmpl.h"

static T N(trunc_mod_of)(T x, T y)
{
    if (y == 0)
        return 0;
#if T_SIGNED
    if (y == -1)
        return 0;
#endif
    return (T)(x % y);
}

static T N(floor_mod_of)(T x, T y)
{
    T rest = N(trunc_mod_of)(x, y);
#if T_SIGNED
    if (rest != 0 && (rest < 0) != (y < 0))
        return (T)(rest + y);
#endif
    return rest;
}

#define FN N(trunc_mod)
#define OP(x, y) N(trunc_mod_of)((x), (y))
#include "ops/binary_loop_tmpl.h"
#endif

#define FN N(floor_mod)
#define OP(x, y) N(floor_mod_of)((x), (y))
#include "ops/binary_loop_tmpl.h"

#undef TA
#undef TB
#undef TO
