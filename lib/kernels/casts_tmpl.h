/* The casts that compilers make vectors of, and casts_find() to find them; stamped once an instruction set. */
#include <string.h>

#include "kernels/bfloat.h"
#include "kernels/float8.h"

#define FN f32_bool
#define TX float
#define TY uint8_t
#define OP(x) (x) != 0
#include "kernels/cast_row_tmpl.h"
#define FN f32_f64
#define TX float
#define TY double
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN f64_f32
#define TX double
#define TY float
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN f32_bf16
#define TX float
#define TY uint16_t
#define OP(x) ox_bfloat_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN f32_e4m3fn
#define TX float
#define TY uint8_t
#define OP(x) ox_e4m3fn_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN f32_e4m3fnuz
#define TX float
#define TY uint8_t
#define OP(x) ox_e4m3fnuz_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN f32_e5m2
#define TX float
#define TY uint8_t
#define OP(x) ox_e5m2_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN f32_e5m2fnuz
#define TX float
#define TY uint8_t
#define OP(x) ox_e5m2fnuz_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN bf16_f32
#define TX uint16_t
#define TY float
#define OP(x) ox_bfloat_widen(x)
#include "kernels/cast_row_tmpl.h"
#define FN i32_f32
#define TX int32_t
#define TY float
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i32_i64
#define TX int32_t
#define TY int64_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i32_u8
#define TX int32_t
#define TY uint8_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i32_bool
#define TX int32_t
#define TY uint8_t
#define OP(x) (x) != 0
#include "kernels/cast_row_tmpl.h"
#define FN i64_f32
#define TX int64_t
#define TY float
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i64_i32
#define TX int64_t
#define TY int32_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i64_u8
#define TX int64_t
#define TY uint8_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i64_bool
#define TX int64_t
#define TY uint8_t
#define OP(x) (x) != 0
#include "kernels/cast_row_tmpl.h"
#define FN u8_f32
#define TX uint8_t
#define TY float
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN u8_i32
#define TX uint8_t
#define TY int32_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN u8_i64
#define TX uint8_t
#define TY int64_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN u8_bool
#define TX uint8_t
#define TY uint8_t
#define OP(x) (x) != 0
#include "kernels/cast_row_tmpl.h"
#define FN i8_f32
#define TX int8_t
#define TY float
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i8_f64
#define TX int8_t
#define TY double
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i8_i32
#define TX int8_t
#define TY int32_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i8_i64
#define TX int8_t
#define TY int64_t
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN u8_f64
#define TX uint8_t
#define TY double
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i32_f64
#define TX int32_t
#define TY double
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN i64_f64
#define TX int64_t
#define TY double
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN f64_bool
#define TX double
#define TY uint8_t
#define OP(x) (x) != 0
#include "kernels/cast_row_tmpl.h"

/* Signed or not: the bits stay. */
static void same_byte(size_t n, const void *x, void *y)
{
    memcpy(y, x, n);
}

static const struct ox_cast casts[] = {{OX_FLOAT32, OX_BOOL, f32_bool},
                                       {OX_FLOAT32, OX_FLOAT64, f32_f64},
                                       {OX_FLOAT64, OX_FLOAT32, f64_f32},
                                       {OX_FLOAT32, OX_BFLOAT16, f32_bf16},
                                       {OX_BFLOAT16, OX_FLOAT32, bf16_f32},
                                       {OX_INT32, OX_FLOAT32, i32_f32},
                                       {OX_INT32, OX_INT64, i32_i64},
                                       {OX_INT32, OX_UINT8, i32_u8},
                                       {OX_INT32, OX_BOOL, i32_bool},
                                       {OX_INT64, OX_FLOAT32, i64_f32},
                                       {OX_INT64, OX_INT32, i64_i32},
                                       {OX_INT64, OX_UINT8, i64_u8},
                                       {OX_INT64, OX_BOOL, i64_bool},
                                       {OX_UINT8, OX_FLOAT32, u8_f32},
                                       {OX_UINT8, OX_INT32, u8_i32},
                                       {OX_UINT8, OX_INT64, u8_i64},
                                       {OX_UINT8, OX_BOOL, u8_bool},
                                       {OX_BOOL, OX_FLOAT32, u8_f32},
                                       {OX_BOOL, OX_INT32, u8_i32},
                                       {OX_BOOL, OX_INT64, u8_i64},
                                       {OX_INT8, OX_FLOAT32, i8_f32},
                                       {OX_INT8, OX_FLOAT64, i8_f64},
                                       {OX_INT8, OX_INT32, i8_i32},
                                       {OX_INT8, OX_INT64, i8_i64},
                                       {OX_INT8, OX_BOOL, u8_bool},
                                       {OX_INT8, OX_UINT8, same_byte},
                                       {OX_UINT8, OX_INT8, same_byte},
                                       {OX_BOOL, OX_UINT8, same_byte},
                                       {OX_BOOL, OX_INT8, same_byte},
                                       {OX_INT32, OX_INT8, i32_u8},
                                       {OX_INT64, OX_INT8, i64_u8},
                                       {OX_UINT8, OX_FLOAT64, u8_f64},
                                       {OX_BOOL, OX_FLOAT64, u8_f64},
                                       {OX_INT32, OX_FLOAT64, i32_f64},
                                       {OX_INT64, OX_FLOAT64, i64_f64},
                                       {OX_FLOAT64, OX_BOOL, f64_bool},
                                       {OX_FLOAT32, OX_FLOAT8E4M3FN, f32_e4m3fn},
                                       {OX_FLOAT32, OX_FLOAT8E4M3FNUZ, f32_e4m3fnuz},
                                       {OX_FLOAT32, OX_FLOAT8E5M2, f32_e5m2},
                                       {OX_FLOAT32, OX_FLOAT8E5M2FNUZ, f32_e5m2fnuz}};

static const struct ox_cast *casts_find(enum ox_dtype from, enum ox_dtype to)
{
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        if (casts[i].from == from && casts[i].to == to)
            return &casts[i];
    return NULL;
}
