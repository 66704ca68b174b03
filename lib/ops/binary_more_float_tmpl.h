/* PRelu, SwiGLU and powers of a floating type. */
#define TA T
#define TB T
#define TO T

#define FN N(prelu)
#define OP(x, y) ((x) < 0 ? (x) * (y) : (x))
#include "ops/binary_loop_tmpl.h"

#define FN N(pow_same)
#define OP(x, y) M(pow)((x), (y))
#include "ops/binary_loop_tmpl.h"

#define FN N(swiglu)
#define SETUP const T alpha = (T) * (const double *)arg;
#define OP(x, y) ((x) / (1 + M(exp)(-alpha * (x))) * (y))
#include "ops/binary_loop_tmpl.h"

#undef TB
#define TB double
#define FN N(pow_double)
#define OP(x, y) pow((double)(x), (y))
#include "ops/binary_loop_tmpl.h"

#undef TA
#undef TB
#undef TO
