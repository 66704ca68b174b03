/* Abs Neg Sign Erf of an integer type. What does not fit wraps. */
#define TI T
#define TO T

#if T_SIGNED
/* No branch: signs are hard to foresee. A shift brings out the sign of 64 bits faster than a comparison. */
#if T_BITS == 64
#define SIGN(x) ((W)(x) >> 63)
#else
#define SIGN(x) (W)((x) < 0)
#endif
#define FN N(absolute)
#define OP(x) ((W)(x) ^ (0 - SIGN(x))) + SIGN(x)
#include "ops/unary_loop_tmpl.h"
#undef SIGN
#define FN N(negate)
#define OP(x) 0 - (W)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(sign)
#define OP(x) ((x) > 0) - ((x) < 0)
#include "ops/unary_loop_tmpl.h"
#else
#define FN N(absolute)
#define OP(x) (x)
#include "ops/unary_loop_tmpl.h"
#define FN N(sign)
#if T_BITS == 64 /* comparisons of such are slow */
#define OP(x) ((x) | (0 - (x))) >> 63
#else
#define OP(x) (x) > 0
#endif
#include "ops/unary_loop_tmpl.h"
#endif

/* Version 9 allows integers: float32's value truncated, which is 0 up to where it rounds to 1. */
#define FN N(erf)
#define OP(x) erff((float)(x))
#include "ops/unary_loop_tmpl.h"

#undef TI
#undef TO
