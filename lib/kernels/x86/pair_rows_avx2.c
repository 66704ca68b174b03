#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/inline.h"
#include "kernels/pair_rows.h"

#include "kernels/pair_rows_tmpl.h"

#define FN max_f64
#define T double
#define TO double
#define OP(x, y) ((((x) > (y)) | ((x) != (x))) ? (x) : (y))
#include "kernels/pair_row_tmpl.h"
#define FN min_f64
#define T double
#define TO double
#define OP(x, y) ((((x) < (y)) | ((x) != (x))) ? (x) : (y))
#include "kernels/pair_row_tmpl.h"
#define FN max_i32
#define T int32_t
#define TO int32_t
#define OP(x, y) ((x) > (y) ? (x) : (y))
#include "kernels/pair_row_tmpl.h"
#define FN min_i32
#define T int32_t
#define TO int32_t
#define OP(x, y) ((x) < (y) ? (x) : (y))
#include "kernels/pair_row_tmpl.h"
#define FN max_i64
#define T int64_t
#define TO int64_t
#define OP(x, y) ((x) > (y) ? (x) : (y))
#include "kernels/pair_row_tmpl.h"
#define FN min_i64
#define T int64_t
#define TO int64_t
#define OP(x, y) ((x) < (y) ? (x) : (y))
#include "kernels/pair_row_tmpl.h"
#define FN mul_32
#define T uint32_t
#define TO uint32_t
#define OP(x, y) ((x) * (y))
#include "kernels/pair_row_tmpl.h"
#define FN mul_64
#define T uint64_t
#define TO uint64_t
#define OP(x, y) ((x) * (y))
#include "kernels/pair_row_tmpl.h"

enum { RESTS = 256 };

/* |x| - q |y|, rounded once, is exact while q has no more than 53 bits; q, rounded, may be one too many. *odd is counted up where that
 * or an operand is out of bounds. */
INLINE double rest_of(double x, double y, int64_t *odd)
{
    const double a = fabs(x), b = fabs(y), q = trunc(a / b), rest = fma(-q, b, a);
    *odd += !((q <= 0x1p53) & (b <= DBL_MAX));
    return copysign(rest < 0 ? rest + b : rest, x);
}

#define T double
#define REST_OF_ANY fmod
#define FN rest_f64
#include "kernels/x86/rest_avx2_tmpl.h"
#define T float
#define REST_OF_ANY fmodf
#define FN rest_f32
#include "kernels/x86/rest_avx2_tmpl.h"

const struct ox_pairs ox_pairs_avx2 = {
    OX_PAIR_COMPARISONS,
    .value = {
        [OX_PAIR_MAX] = {[OX_FLOAT64] = max_f64, [OX_INT32] = max_i32, [OX_INT64] = max_i64},
        [OX_PAIR_MIN] = {[OX_FLOAT64] = min_f64, [OX_INT32] = min_i32, [OX_INT64] = min_i64},
        [OX_PAIR_MUL] =
            {[OX_INT32] = mul_32, [OX_UINT32] = mul_32, [OX_INT64] = mul_64, [OX_UINT64] = mul_64},
        [OX_PAIR_DIV] = {[OX_INT32] = divide_i32},
        [OX_PAIR_REST] = {[OX_FLOAT32] = rest_f32, [OX_FLOAT64] = rest_f64}}};
