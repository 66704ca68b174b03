/* Of an integer type its casts to all that are no floats of few bits: TX the C type, NAME(to) a function's name. Signed or not,
 * the low bits are the same. */
#define FN NAME(8)
#define TY uint8_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN NAME(16)
#define TY uint16_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN NAME(32)
#define TY uint32_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN NAME(64)
#define TY uint64_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN NAME(bool)
#define TY uint8_t
#define OP(x) (x) != 0
#include "kernels/cast_row_tmpl.h"
#define FN NAME(f32)
#define TY float
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN NAME(f64)
#define TY double
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#undef TX
#undef NAME
