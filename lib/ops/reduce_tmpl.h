/* The reductions of an element type. Sums of floats are kept in double; sums and products of integers wrap in the type. */
#ifdef T_FLOAT
#define SUM_TYPE double
#define FROM_DOUBLE(x) (x)
#define LEAST -(T)INFINITY
#define GREATEST (T) INFINITY
#define GREATER OX_FOLD_GREATER
#define LESS OX_FOLD_LESS
#define ABSOLUTE(x) fabs((double)(x))
#else
#define SUM_TYPE W
#define LEAST T_MIN
#define GREATEST T_MAX
#define GREATER(a, x) ((x) > (a) ? (x) : (a))
#define LESS(a, x) ((x) < (a) ? (x) : (a))
#if T_SIGNED
#define ABSOLUTE(x) ((x) < 0 ? 0 - (W)(x) : (W)(x))
#else
#define ABSOLUTE(x) (W)(x)
#endif
#endif

#define RED max
#define ACC T
#define START() LEAST
#define STEP(a, x, s) GREATER(a, x)
#define JOIN(a, b) GREATER(a, b)
#define END(a, n, s) (a)
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

#define RED min
#define ACC T
#define START() GREATEST
#define STEP(a, x, s) LESS(a, x)
#define JOIN(a, b) LESS(a, b)
#define END(a, n, s) (a)
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

#if defined(T_FLOAT) || T_BITS >= 32

#ifndef T_FLOAT
#define FROM_DOUBLE(x) N(ox_whole)(x)
#endif

#define RED sum
#define ACC SUM_TYPE
#define START() 0
#define STEP(a, x, s) (a) + (SUM_TYPE)(x)
#define JOIN(a, b) (a) + (b)
#define END(a, n, s) (a)
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

#define RED prod
#define ACC SUM_TYPE
#define START() 1
#define STEP(a, x, s) (a) * (SUM_TYPE)(x)
#define JOIN(a, b) (a) * (b)
#define END(a, n, s) (a)
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

#define RED l1
#define ACC SUM_TYPE
#define START() 0
#define STEP(a, x, s) (a) + ABSOLUTE(x)
#define JOIN(a, b) (a) + (b)
#define END(a, n, s) (a)
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

#define RED sum_square
#define ACC SUM_TYPE
#define START() 0
#define STEP(a, x, s) (a) + (SUM_TYPE)(x) * (SUM_TYPE)(x)
#define JOIN(a, b) (a) + (b)
#define END(a, n, s) (a)
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

#define RED mean
#define ACC double
#define START() 0
#define STEP(a, x, s) (a) + (double)(x)
#define JOIN(a, b) (a) + (b)
#define END(a, n, s) FROM_DOUBLE((a) / (double)(n))
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

/* Floats are squared in their type, for so does the function that the standard gives: what overflows there is infinite. */
#ifdef T_FLOAT
#define SQUARE(x) (double)((x) * (x))
#define SQUARES(a) (double)(T)(a)
#else
#define SQUARE(x) (double)(x) * (double)(x)
#define SQUARES(a) (a)
#endif
#define RED l2
#define ACC double
#define START() 0
#define STEP(a, x, s) (a) + SQUARE(x)
#define JOIN(a, b) (a) + (b)
#define END(a, n, s) FROM_DOUBLE(sqrt(SQUARES(a)))
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

#define RED log_sum
#define ACC double
#define START() 0
#define STEP(a, x, s) (a) + (double)(x)
#define JOIN(a, b) (a) + (b)
#define END(a, n, s) FROM_DOUBLE(log(a))
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

/* The greatest element of each lane first, so that no exponential overflows; an infinite one is left where it is. */
#define RED shift
#define ACC double
#define START() -(double)INFINITY
#define STEP(a, x, s) ((double)(x) > (a) || (x) != (x) ? (double)(x) : (a))
#define JOIN(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define END(a, n, s) FROM_DOUBLE(a)
#define SHIFT NULL
#include "ops/reduce_step_tmpl.h"

#define RED log_sum_exp
#define ACC double
#define START() 0
#define STEP(a, x, s) (a) + shifted_exp((double)(x), (s))
#define JOIN(a, b) (a) + (b)
#define END(a, n, s) FROM_DOUBLE(shifted_log((a), (s)))
#define SHIFT &N(shift)
#include "ops/reduce_step_tmpl.h"

#endif

#undef SUM_TYPE
#undef FROM_DOUBLE
#undef LEAST
#undef GREATEST
#undef GREATER
#undef LESS
#undef ABSOLUTE
#undef SQUARE
#undef SQUARES
