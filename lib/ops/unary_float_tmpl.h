/* Mathematical functions of a floating type, by the C library. */
#define TI T
#define TO T

#define FN N(absolute)
#define OP(x) M(fabs)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(negate)
#define OP(x) -(x)
#include "ops/unary_loop_tmpl.h"
/* NaN stays NaN; by masks. */
#define FN N(sign)
#define OP(x) ((x) != (x) ? (x) : ((x) > 0 ? (T)1 : (T)0) - ((x) < 0 ? (T)1 : (T)0))
#include "ops/unary_loop_tmpl.h"

#define FN N(acos)
#define OP(x) M(acos)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(acosh)
#define OP(x) M(acosh)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(asin)
#define OP(x) M(asin)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(asinh)
#define OP(x) M(asinh)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(atan)
#define OP(x) M(atan)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(atanh)
#define OP(x) M(atanh)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(cos)
#define OP(x) M(cos)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(cosh)
#define OP(x) M(cosh)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(sin)
#define OP(x) M(sin)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(sinh)
#define OP(x) M(sinh)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(tan)
#define OP(x) M(tan)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(tanh)
#define OP(x) N(tanh_of)(x)
#include "ops/unary_loop_tmpl.h"

#define FN N(ceil)
#define OP(x) M(ceil)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(floor)
#define OP(x) M(floor)(x)
#include "ops/unary_loop_tmpl.h"
/* To the nearest, ties to even: the rounding mode that every thread starts with. */
#define FN N(round)
#define OP(x) M(rint)(x)
#include "ops/unary_loop_tmpl.h"

#define FN N(erf)
#define OP(x) M(erf)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(exp)
#define OP(x) M(exp)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(log)
#define OP(x) M(log)(x)
#include "ops/unary_loop_tmpl.h"
#define FN N(reciprocal)
#define OP(x) 1 / (x)
#include "ops/unary_loop_tmpl.h"
#define FN N(sqrt)
#define OP(x) M(sqrt)(x)
#include "ops/unary_loop_tmpl.h"

#undef TI
#undef TO
