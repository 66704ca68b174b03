/* The casts that compilers make vectors of, and casts_find() to find them; stamped once an instruction set. */
#include "kernels/bfloat.h"
#include "kernels/float8.h"

#define TX float
#define FN f32_bool
#define TY uint8_t
#define OP(x) (x) != 0
#include "kernels/cast_row_tmpl.h"
#define FN f32_f64
#define TY double
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN f32_bf16
#define TY uint16_t
#define OP(x) ox_bfloat_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN f32_e4m3fn
#define TY uint8_t
#define OP(x) ox_e4m3fn_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN f32_e4m3fnuz
#define TY uint8_t
#define OP(x) ox_e4m3fnuz_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN f32_e5m2
#define TY uint8_t
#define OP(x) ox_e5m2_narrow(x)
#include "kernels/cast_row_tmpl.h"
#define FN f32_e5m2fnuz
#define TY uint8_t
#define OP(x) ox_e5m2fnuz_narrow(x)
#include "kernels/cast_row_tmpl.h"
#undef TX
#define TX double
#define FN f64_f32
#define TY float
#define OP(x) x
#include "kernels/cast_row_tmpl.h"
#define FN f64_bool
#define TY uint8_t
#define OP(x) (x) != 0
#include "kernels/cast_row_tmpl.h"
#undef TX
#define TX uint16_t
#define FN bf16_f32
#define TY float
#define OP(x) ox_bfloat_widen(x)
#include "kernels/cast_row_tmpl.h"
#undef TX
#define TX uint8_t
#define NAME(to) u8_##to
#include "kernels/casts_from_tmpl.h"
#define TX int8_t
#define NAME(to) i8_##to
#include "kernels/casts_from_tmpl.h"
#define TX uint16_t
#define NAME(to) u16_##to
#include "kernels/casts_from_tmpl.h"
#define TX int16_t
#define NAME(to) i16_##to
#include "kernels/casts_from_tmpl.h"
#define TX uint32_t
#define NAME(to) u32_##to
#include "kernels/casts_from_tmpl.h"
#define TX int32_t
#define NAME(to) i32_##to
#include "kernels/casts_from_tmpl.h"
#define TX uint64_t
#define NAME(to) u64_##to
#include "kernels/casts_from_tmpl.h"
#define TX int64_t
#define NAME(to) i64_##to
#include "kernels/casts_from_tmpl.h"

struct pair {
    enum ox_dtype from, to;
    struct ox_cast cast;
};

static const struct pair pairs[] = {
    {OX_FLOAT32, OX_BOOL, {f32_bool}},
    {OX_FLOAT32, OX_FLOAT64, {f32_f64}},
    {OX_FLOAT32, OX_BFLOAT16, {f32_bf16}},
    {OX_FLOAT32, OX_FLOAT8E4M3FN, {f32_e4m3fn}},
    {OX_FLOAT32, OX_FLOAT8E4M3FNUZ, {f32_e4m3fnuz}},
    {OX_FLOAT32, OX_FLOAT8E5M2, {f32_e5m2}},
    {OX_FLOAT32, OX_FLOAT8E5M2FNUZ, {f32_e5m2fnuz}},
    {OX_FLOAT64, OX_FLOAT32, {f64_f32}},
    {OX_FLOAT64, OX_BOOL, {f64_bool}},
    {OX_BFLOAT16, OX_FLOAT32, {bf16_f32}},
};

enum { N_COLUMNS = 7 };

/* What an integer type becomes, by the columns of column(). */
static const struct {
    enum ox_dtype from;
    struct ox_cast to[N_COLUMNS];
} integers[] = {
    {OX_BOOL, {{u8_8}, {u8_16}, {u8_32}, {u8_64}, {u8_bool}, {u8_f32}, {u8_f64}}},
    {OX_UINT8, {{u8_8}, {u8_16}, {u8_32}, {u8_64}, {u8_bool}, {u8_f32}, {u8_f64}}},
    {OX_INT8, {{i8_8}, {i8_16}, {i8_32}, {i8_64}, {i8_bool}, {i8_f32}, {i8_f64}}},
    {OX_UINT16, {{u16_8}, {u16_16}, {u16_32}, {u16_64}, {u16_bool}, {u16_f32}, {u16_f64}}},
    {OX_INT16, {{i16_8}, {i16_16}, {i16_32}, {i16_64}, {i16_bool}, {i16_f32}, {i16_f64}}},
    {OX_UINT32, {{u32_8}, {u32_16}, {u32_32}, {u32_64}, {u32_bool}, {u32_f32}, {u32_f64}}},
    {OX_INT32, {{i32_8}, {i32_16}, {i32_32}, {i32_64}, {i32_bool}, {i32_f32}, {i32_f64}}},
    {OX_UINT64, {{u64_8}, {u64_16}, {u64_32}, {u64_64}, {u64_bool}, {u64_f32}, {u64_f64}}},
    {OX_INT64, {{i64_8}, {i64_16}, {i64_32}, {i64_64}, {i64_bool}, {i64_f32}, {i64_f64}}},
};

static unsigned column(enum ox_dtype to)
{
    switch (to) {
    case OX_UINT8:
    case OX_INT8:
        return 0;
    case OX_UINT16:
    case OX_INT16:
        return 1;
    case OX_UINT32:
    case OX_INT32:
        return 2;
    case OX_UINT64:
    case OX_INT64:
        return 3;
    case OX_BOOL:
        return 4;
    case OX_FLOAT32:
        return 5;
    case OX_FLOAT64:
        return 6;
    default:
        return N_COLUMNS;
    }
}

static const struct ox_cast *find_pair(const struct pair *rows, size_t n, enum ox_dtype from,
                                       enum ox_dtype to)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].from == from && rows[i].to == to)
            return &rows[i].cast;
    return NULL;
}

static const struct ox_cast *casts_find(enum ox_dtype from, enum ox_dtype to)
{
    const unsigned k = column(to);
    for (size_t i = 0; k < N_COLUMNS && i < sizeof integers / sizeof *integers; i++)
        if (integers[i].from == from)
            return &integers[i].to[k];
    return find_pair(pairs, sizeof pairs / sizeof *pairs, from, to);
}
