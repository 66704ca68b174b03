/* The rows of pair_rows.h for compilers to make vectors of, and OX_PAIR_COMPARISONS, which lists most of them; stamped once an instruction set. */
#include <math.h>

#define FN equal_f64
#define T double
#define TO uint8_t
#define OP(x, y) ((x) == (y))
#include "kernels/pair_row_tmpl.h"
#define FN greater_f64
#define T double
#define TO uint8_t
#define OP(x, y) ((x) > (y))
#include "kernels/pair_row_tmpl.h"
#define FN greater_equal_f64
#define T double
#define TO uint8_t
#define OP(x, y) ((x) >= (y))
#include "kernels/pair_row_tmpl.h"
#define FN equal_i64
#define T int64_t
#define TO uint8_t
#define OP(x, y) ((x) == (y))
#include "kernels/pair_row_tmpl.h"
#define FN greater_i64
#define T int64_t
#define TO uint8_t
#define OP(x, y) ((x) > (y))
#include "kernels/pair_row_tmpl.h"
#define FN greater_equal_i64
#define T int64_t
#define TO uint8_t
#define OP(x, y) ((x) >= (y))
#include "kernels/pair_row_tmpl.h"

/* In double, where the quotient's distance to a whole number is never rounded away. */
static inline int32_t quotient(int32_t x, int32_t y)
{
    const double ratio = (double)x / (y == 0 ? (double)INFINITY : (double)y);
    return (int32_t)(ratio > INT32_MAX ? (double)INT32_MIN : ratio);
}

#define FN divide_i32
#define T int32_t
#define TO int32_t
#define OP(x, y) quotient((x), (y))
#include "kernels/pair_row_tmpl.h"

#define OX_PAIR_COMPARISONS                                                                        \
    .compare_f64 = {equal_f64, greater_f64, greater_equal_f64},                                    \
    .compare_i64 = {equal_i64, greater_i64, greater_equal_i64}
