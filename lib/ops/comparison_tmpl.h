/* Equal Greater GreaterOrEqual Less LessOrEqual of a type. */
#define TA T
#define TB T
#define TO uint8_t

#define FN N(equal)
#define OP(x, y) (x) == (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(greater)
#define OP(x, y) (x) > (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(greater_equal)
#define OP(x, y) (x) >= (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(less)
#define OP(x, y) (x) < (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(less_equal)
#define OP(x, y) (x) <= (y)
#include "ops/binary_loop_tmpl.h"

#undef TA
#undef TB
#undef TO
