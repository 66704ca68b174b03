/* BitShift, PRelu and powers of an integer type. */
#define TA T
#define TB T
#define TO T

/* Bits shifted out are lost; a count that is negative or too large leaves what the fill alone gives. */
static T N(shift_left_of)(T x, T count)
{
    if ((uint64_t)count >= T_BITS)
        return 0;
    return (T)((W)x << (unsigned)count);
}

static T N(shift_right_of)(T x, T count)
{
    W fill = 0;
    T magnitude = x;
#if T_SIGNED
    if (x < 0) { /* shift the complement, so that no negative number is shifted */
        fill = (W)-1;
        magnitude = (T)~x;
    }
#endif
    if ((uint64_t)count >= T_BITS)
        return (T)fill;
    return (T)(((W)magnitude >> (unsigned)count) ^ fill);
}

#define FN N(shift_left)
#define OP(x, y) N(shift_left_of)((x), (y))
#include "ops/binary_loop_tmpl.h"
#define FN N(shift_right)
#define OP(x, y) N(shift_right_of)((x), (y))
#include "ops/binary_loop_tmpl.h"

#if T_SIGNED
#define FN N(prelu)
#define OP(x, y) ((x) < 0 ? (T)((W)(x) * (W)(y)) : (x))
#include "ops/binary_loop_tmpl.h"
#else
#define FN N(prelu)
#define OP(x, y) ((void)(y), (x))
#include "ops/binary_loop_tmpl.h"
#endif

static T N(power_of)(T x, uint64_t exponent)
{
    W power = 1, square = (W)x;
    for (; exponent; exponent >>= 1) { /* no branch on a bit */
        power *= exponent & 1 ? square : 1;
        square *= square;
    }
    return (T)power;
}

/* A negative power of anything but 1 and -1 truncates to 0; of 0 it is as large as can be. */
static T N(signed_power_of)(T x, int64_t exponent)
{
    if (exponent >= 0)
        return N(power_of)(x, (uint64_t)exponent);
    if (x == 0)
        return T_MAX;
    if (x == 1)
        return 1;
#if T_SIGNED
    if (x == -1)
        return exponent & 1 ? -1 : 1;
#endif
    return 0;
}

#undef TB
#define TB uint64_t
#define FN N(pow_uint)
#define OP(x, y) N(power_of)((x), (y))
#include "ops/binary_loop_tmpl.h"
#undef TB
#define TB int64_t
#define FN N(pow_int)
#define OP(x, y) N(signed_power_of)((x), (y))
#include "ops/binary_loop_tmpl.h"
#undef TB
#define TB double
#define FN N(pow_double)
#define OP(x, y) N(ox_whole)(pow((double)(x), (y)))
#include "ops/binary_loop_tmpl.h"

#undef TA
#undef TB
#undef TO
