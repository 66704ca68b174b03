/* What becomes of a type's accumulators, and exponentials of what is below a lane's greatest element. */
#ifdef T_FLOAT
#define SUM_TYPE double
#define FROM_DOUBLE(x) (x)
#define SQUARES(a)                                                                                 \
    (double)(T)(a) /* floats: what overflows in their type is infinite, as in the function that the standard gives */
#else
#define SUM_TYPE W
#define FROM_DOUBLE(x) N(ox_whole)(x)
#define SQUARES(a) (a)
#endif

#define END element
#define ACC T
#define RESULT(a, n, s) (a)
#include "ops/reduce_end_tmpl.h"

#if defined(T_FLOAT) || T_BITS >= 32

#define END sum
#define ACC SUM_TYPE
#define RESULT(a, n, s) (a)
#include "ops/reduce_end_tmpl.h"

#define END mean
#define ACC double
#define RESULT(a, n, s) FROM_DOUBLE((a) / (double)(n))
#include "ops/reduce_end_tmpl.h"

#define END root
#define ACC double
#define RESULT(a, n, s) FROM_DOUBLE(sqrt(SQUARES(a)))
#include "ops/reduce_end_tmpl.h"

#define END logarithm
#define ACC double
#define RESULT(a, n, s) FROM_DOUBLE(log(a))
#include "ops/reduce_end_tmpl.h"

#define END shifted_logarithm
#define ACC double
#define RESULT(a, n, s) FROM_DOUBLE(shifted_log((a), (s)))
#include "ops/reduce_end_tmpl.h"

#define FOLD sum_of_exps
#define ACC double
#define START() 0
#define STEP(a, x, s) (a) + shifted_exp((double)(x), (s))
#define JOIN(a, b) (a) + (b)
#include "kernels/fold_tmpl.h"

#endif

#undef SUM_TYPE
#undef FROM_DOUBLE
#undef SQUARES
