#include <string.h>
#include <strings.h>

#include "common/compiler.h"
#include "tensor/tensor.h"

enum { FLOATING = 1, INTEGER = 2, SIGNED = 4 };

static const struct dtype_row {
    const char *name;
    const char *onnx_name;
    uint8_t bits;
} rows[OX_N_DTYPES] = {
#define DTYPE_ROW(dtype, value, width, text, onnx_text) [dtype] = {text, onnx_text, width},
    OX_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

static const uint8_t kinds[OX_N_DTYPES] = {
    [OX_FLOAT32] = FLOATING | SIGNED,
    [OX_UINT8] = INTEGER,
    [OX_INT8] = INTEGER | SIGNED,
    [OX_UINT16] = INTEGER,
    [OX_INT16] = INTEGER | SIGNED,
    [OX_INT32] = INTEGER | SIGNED,
    [OX_INT64] = INTEGER | SIGNED,
    [OX_FLOAT16] = FLOATING | SIGNED,
    [OX_FLOAT64] = FLOATING | SIGNED,
    [OX_UINT32] = INTEGER,
    [OX_UINT64] = INTEGER,
    [OX_COMPLEX64] = SIGNED,
    [OX_COMPLEX128] = SIGNED,
    [OX_BFLOAT16] = FLOATING | SIGNED,
    [OX_FLOAT8E4M3FN] = FLOATING | SIGNED,
    [OX_FLOAT8E4M3FNUZ] = FLOATING | SIGNED,
    [OX_FLOAT8E5M2] = FLOATING | SIGNED,
    [OX_FLOAT8E5M2FNUZ] = FLOATING | SIGNED,
    [OX_UINT4] = INTEGER,
    [OX_INT4] = INTEGER | SIGNED,
    [OX_FLOAT4E2M1] = FLOATING | SIGNED,
    [OX_FLOAT8E8M0] = FLOATING,
    [OX_UINT2] = INTEGER,
    [OX_INT2] = INTEGER | SIGNED,
    [OX_FLOAT6E2M3] = FLOATING | SIGNED,
    [OX_FLOAT6E3M2] = FLOATING | SIGNED,
};

/* numpy's names, those of ml_dtypes, and what people write. */
static const struct alias {
    const char *name;
    enum ox_dtype dtype;
} aliases[] = {
    {"f2", OX_FLOAT16},
    {"f4", OX_FLOAT32},
    {"f8", OX_FLOAT64},
    {"i1", OX_INT8},
    {"i2", OX_INT16},
    {"i4", OX_INT32},
    {"i8", OX_INT64},
    {"u1", OX_UINT8},
    {"u2", OX_UINT16},
    {"u4", OX_UINT32},
    {"u8", OX_UINT64},
    {"b1", OX_BOOL},
    {"?", OX_BOOL},
    {"c8", OX_COMPLEX64},
    {"c16", OX_COMPLEX128},
    {"half", OX_FLOAT16},
    {"single", OX_FLOAT32},
    {"float8_e4m3fn", OX_FLOAT8E4M3FN},
    {"float8_e4m3fnuz", OX_FLOAT8E4M3FNUZ},
    {"float8_e5m2", OX_FLOAT8E5M2},
    {"float8_e5m2fnuz", OX_FLOAT8E5M2FNUZ},
    {"float8_e8m0fnu", OX_FLOAT8E8M0},
    {"float6_e2m3fn", OX_FLOAT6E2M3},
    {"float6_e3m2fn", OX_FLOAT6E3M2},
    {"float4_e2m1fn", OX_FLOAT4E2M1},
};

static const struct dtype_row *row_of(enum ox_dtype dtype)
{
    return &rows[(unsigned)dtype < OX_N_DTYPES ? dtype : OX_UNDEFINED];
}

const char *ox_dtype_name(enum ox_dtype dtype)
{
    return row_of(dtype)->name;
}

bool ox_dtype_parse(const char *name, enum ox_dtype *dtype)
{
    for (unsigned i = OX_UNDEFINED + 1; i < OX_N_DTYPES; i++) {
        if (strcmp(name, rows[i].name) == 0 || strcasecmp(name, rows[i].onnx_name) == 0) {
            *dtype = (enum ox_dtype)i;
            return true;
        }
    }
    /* '<', '|' and '=' say that the bytes are as everywhere here; of '>' only a single byte is. */
    size_t mark = strspn(name, "<|=") ? 1 : 0;
    for (size_t i = 0; i < OX_COUNT(aliases); i++) {
        if (strcmp(name + mark, aliases[i].name) == 0) {
            *dtype = aliases[i].dtype;
            return true;
        }
    }
    return false;
}

size_t ox_dtype_size(enum ox_dtype dtype)
{
    if (dtype == OX_STRING)
        return sizeof(struct ox_str);
    return (row_of(dtype)->bits + 7u) / 8;
}

unsigned ox_dtype_bits(enum ox_dtype dtype)
{
    return row_of(dtype)->bits;
}

static bool has_kind(enum ox_dtype dtype, uint8_t kind)
{
    return (unsigned)dtype < OX_N_DTYPES && (kinds[dtype] & kind) != 0;
}

bool ox_dtype_is_float(enum ox_dtype dtype)
{
    return has_kind(dtype, FLOATING);
}

bool ox_dtype_is_half(int64_t dtype)
{
    return dtype == OX_FLOAT16 || dtype == OX_BFLOAT16;
}

bool ox_dtype_is_real(int64_t dtype)
{
    return ox_dtype_is_half(dtype) || dtype == OX_FLOAT32 || dtype == OX_FLOAT64;
}

bool ox_dtype_is_integer(enum ox_dtype dtype)
{
    return has_kind(dtype, INTEGER);
}

bool ox_dtype_is_signed(enum ox_dtype dtype)
{
    return has_kind(dtype, SIGNED);
}

bool ox_dtype_packed_bytes(enum ox_dtype dtype, uint64_t n, uint64_t *bytes)
{
    uint64_t width = row_of(dtype)->bits;
    if (width == 0)
        return false;
    uint64_t result;
    if (width >= 8) {
        if (OX_MUL_OVERFLOWS(n, width / 8, &result))
            return false;
    } else { /* n * width may overflow although the bytes do not: eight elements take `width` bytes */
        result = n / 8 * width + (n % 8 * width + 7) / 8;
    }
    *bytes = result;
    return true;
}
