/* Includes STAMP for float and double. In it: T the type, N(x) the name x with the type's suffix, M(f) the C library's
 * function f for the type, T_FLOAT. No include guard: meant to be included again. */
#define T float
#define N(x) OX_STAMP(x, _f32)
#define M(x) x##f
#define T_FLOAT 1
#include STAMP
#include "common/stamp_end.h"

#define T double
#define N(x) OX_STAMP(x, _f64)
#define M(x) x
#define T_FLOAT 1
#include STAMP
#include "common/stamp_end.h"

#undef STAMP
