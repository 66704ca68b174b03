/* Any element type to any other: from the source to a wide type that holds each of its values exactly (double, int64_t or
 * uint64_t), a block at a time, and from there to the target with the one rounding there is. */
#include <string.h>

#include "tensor/half.h"
#include "tensor/tensor.h"

enum { BLOCK = 512 };

enum wide { REAL, WHOLE, NATURAL }; /* double, int64_t, uint64_t */

static int32_t to_int32(double x)
{
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static int64_t to_int64(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

/* The unsigned types take what is above half of their range as the signed type takes it moved down. */
static uint32_t to_uint32(double x)
{
    return x >= 0x1p31 ? (uint32_t)to_int32(x - 0x1p31) ^ 0x80000000 : (uint32_t)to_int32(x);
}

static uint64_t to_uint64(double x)
{
    return x >= 0x1p63 ? (uint64_t)to_int64(x - 0x1p63) ^ (uint64_t)1 << 63 : (uint64_t)to_int64(x);
}

#define C_TYPE int8_t
#define NAME int8
#define WIDE int64_t
#define FROM_DOUBLE to_int32
#include "tensor/convert_tmpl.h"
#define C_TYPE uint8_t
#define NAME uint8
#define WIDE int64_t
#define FROM_DOUBLE to_int32
#include "tensor/convert_tmpl.h"
#define C_TYPE int16_t
#define NAME int16
#define WIDE int64_t
#define FROM_DOUBLE to_int32
#include "tensor/convert_tmpl.h"
#define C_TYPE uint16_t
#define NAME uint16
#define WIDE int64_t
#define FROM_DOUBLE to_int32
#include "tensor/convert_tmpl.h"
#define C_TYPE int32_t
#define NAME int32
#define WIDE int64_t
#define FROM_DOUBLE to_int32
#include "tensor/convert_tmpl.h"
#define C_TYPE uint32_t
#define NAME uint32
#define WIDE int64_t
#define FROM_DOUBLE to_uint32
#include "tensor/convert_tmpl.h"
#define C_TYPE int64_t
#define NAME int64
#define WIDE int64_t
#define FROM_DOUBLE to_int64
#include "tensor/convert_tmpl.h"
#define C_TYPE uint64_t
#define NAME uint64
#define WIDE uint64_t
#define FROM_DOUBLE to_uint64
#include "tensor/convert_tmpl.h"

/* A 64-bit integer as a double that rounds to any type of fewer than 50 bits as the integer would: when bits are lost the
 * last one that is kept is set (round to odd). */
static double odd_double(uint64_t magnitude)
{
    if (magnitude >> 53)
        magnitude = (magnitude & ~(uint64_t)0x7FF) | (uint64_t)((magnitude & 0x7FF) != 0) << 11;
    return (double)magnitude;
}

/* For the targets that are narrower than double: what is in the block becomes double. */
static void to_odd_doubles(enum wide wide, void *block, size_t n)
{
    double *out = block;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, (const char *)block + i * sizeof bits, sizeof bits);
        bool negative = wide == WHOLE && bits >> 63;
        double magnitude = odd_double(negative ? 0 - bits : bits);
        out[i] = negative ? -magnitude : magnitude;
    }
}

static void load_floats(enum ox_dtype dtype, const void *from, size_t n, double *out)
{
    const float *floats = from;
    const double *doubles = from;
    const uint16_t *codes = from;
    switch (dtype) {
    case OX_FLOAT32:
        for (size_t i = 0; i < n; i++)
            out[i] = (double)floats[i];
        break;
    case OX_COMPLEX64:
        for (size_t i = 0; i < n; i++)
            out[i] = (double)floats[2 * i];
        break;
    case OX_COMPLEX128:
        for (size_t i = 0; i < n; i++)
            out[i] = doubles[2 * i];
        break;
    case OX_FLOAT16:
        for (size_t i = 0; i < n; i++)
            out[i] = (double)ox_half_to_float(codes[i]);
        break;
    case OX_BFLOAT16:
        for (size_t i = 0; i < n; i++)
            out[i] = (double)ox_bfloat_to_float(codes[i]);
        break;
    default:
        memcpy(out, from, n * sizeof *out);
        break;
    }
}

/* A block of the source, each value exact. `small` are the values of the 256 codes of a type of 8 bits or fewer. */
static enum wide load(enum ox_dtype dtype, const void *from, size_t n, const double *small,
                      void *block)
{
    switch (dtype) {
    case OX_BOOL:
    case OX_UINT4:
    case OX_UINT2:
    case OX_UINT8:
        load_uint8(from, n, block);
        return WHOLE;
    case OX_INT4:
    case OX_INT2:
    case OX_INT8:
        load_int8(from, n, block);
        return WHOLE;
    case OX_UINT16:
        load_uint16(from, n, block);
        return WHOLE;
    case OX_INT16:
        load_int16(from, n, block);
        return WHOLE;
    case OX_UINT32:
        load_uint32(from, n, block);
        return WHOLE;
    case OX_INT32:
        load_int32(from, n, block);
        return WHOLE;
    case OX_INT64:
        load_int64(from, n, block);
        return WHOLE;
    case OX_UINT64:
        load_uint64(from, n, block);
        return NATURAL;
    case OX_FLOAT32:
    case OX_FLOAT64:
    case OX_FLOAT16:
    case OX_BFLOAT16:
    case OX_COMPLEX64:
    case OX_COMPLEX128:
        load_floats(dtype, from, n, block);
        return REAL;
    default:
        for (size_t i = 0; i < n; i++)
            ((double *)block)[i] = small[((const uint8_t *)from)[i]];
        return REAL;
    }
}

static void store_bool(enum wide wide, const void *block, size_t n, uint8_t *out)
{
    const double *reals = block;
    const uint64_t *wholes = block;
    if (wide == REAL) {
        for (size_t i = 0; i < n; i++)
            out[i] = reals[i] != 0;
    } else {
        for (size_t i = 0; i < n; i++)
            out[i] = wholes[i] != 0;
    }
}

static void store_integers(enum ox_dtype dtype, enum wide wide, const void *block, size_t n,
                           void *to)
{
    static const struct {
        void (*real)(const void *block, size_t n, void *to);
        void (*whole)(const void *block, size_t n, void *to);
    } stores[OX_N_DTYPES] = {
        [OX_INT2] = {store_real_int8, store_whole_int8},
        [OX_INT4] = {store_real_int8, store_whole_int8},
        [OX_INT8] = {store_real_int8, store_whole_int8},
        [OX_UINT2] = {store_real_uint8, store_whole_uint8},
        [OX_UINT4] = {store_real_uint8, store_whole_uint8},
        [OX_UINT8] = {store_real_uint8, store_whole_uint8},
        [OX_INT16] = {store_real_int16, store_whole_int16},
        [OX_UINT16] = {store_real_uint16, store_whole_uint16},
        [OX_INT32] = {store_real_int32, store_whole_int32},
        [OX_UINT32] = {store_real_uint32, store_whole_uint32},
        [OX_INT64] = {store_real_int64, store_whole_int64},
        [OX_UINT64] = {store_real_uint64, store_whole_uint64},
    };
    if (wide == REAL)
        stores[dtype].real(block, n, to);
    else
        stores[dtype].whole(block, n, to);
    ox_tensor_normalize(dtype, to, n); /* drops the high bits of 2 and 4 */
}

/* double and float take integers with C's own single rounding. */
static void store_doubles(enum wide wide, const void *block, size_t n, double *out, size_t step)
{
    for (size_t i = 0; i < n; i++) {
        if (wide == REAL)
            out[i * step] = ((const double *)block)[i];
        else if (wide == WHOLE)
            out[i * step] = (double)((const int64_t *)block)[i];
        else
            out[i * step] = (double)((const uint64_t *)block)[i];
    }
}

static void store_singles(enum wide wide, const void *block, size_t n, float *out, size_t step)
{
    for (size_t i = 0; i < n; i++) {
        if (wide == REAL)
            out[i * step] = (float)((const double *)block)[i];
        else if (wide == WHOLE)
            out[i * step] = (float)((const int64_t *)block)[i];
        else
            out[i * step] = (float)((const uint64_t *)block)[i];
    }
}

static void store_narrow(enum ox_dtype dtype, const double *block, size_t n, void *to,
                         bool saturate)
{
    uint16_t *codes = to;
    uint8_t *small = to;
    switch (dtype) {
    case OX_FLOAT16:
        for (size_t i = 0; i < n; i++)
            codes[i] = ox_double_to_half(block[i]);
        break;
    case OX_BFLOAT16:
        for (size_t i = 0; i < n; i++)
            codes[i] = ox_double_to_bfloat(block[i]);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            small[i] = ox_double_to_small(dtype, block[i], saturate);
        break;
    }
}

static void store(enum ox_dtype dtype, enum wide wide, void *block, size_t n, void *to,
                  bool saturate)
{
    switch (dtype) {
    case OX_BOOL:
        store_bool(wide, block, n, to);
        break;
    case OX_FLOAT64:
        store_doubles(wide, block, n, to, 1);
        break;
    case OX_FLOAT32:
        store_singles(wide, block, n, to, 1);
        break;
    case OX_COMPLEX64:
        memset(to, 0, n * 2 * sizeof(float));
        store_singles(wide, block, n, to, 2);
        break;
    case OX_COMPLEX128:
        memset(to, 0, n * 2 * sizeof(double));
        store_doubles(wide, block, n, to, 2);
        break;
    default:
        if (ox_dtype_is_integer(dtype)) {
            store_integers(dtype, wide, block, n, to);
            break;
        }
        if (wide != REAL)
            to_odd_doubles(wide, block, n);
        store_narrow(dtype, block, n, to, saturate);
        break;
    }
}

/* The pairs that whole models are converted by, without the way through double. */
static bool convert_directly(enum ox_dtype to_dtype, void *to, enum ox_dtype from_dtype,
                             const void *from, size_t n)
{
    if (from_dtype == OX_FLOAT32 && to_dtype == OX_FLOAT16) {
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)to)[i] = ox_float_to_half(((const float *)from)[i]);
    } else if (from_dtype == OX_FLOAT32 && to_dtype == OX_BFLOAT16) {
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)to)[i] = ox_float_to_bfloat(((const float *)from)[i]);
    } else if (from_dtype == OX_FLOAT16 && to_dtype == OX_FLOAT32) {
        for (size_t i = 0; i < n; i++)
            ((float *)to)[i] = ox_half_to_float(((const uint16_t *)from)[i]);
    } else if (from_dtype == OX_BFLOAT16 && to_dtype == OX_FLOAT32) {
        for (size_t i = 0; i < n; i++)
            ((float *)to)[i] = ox_bfloat_to_float(((const uint16_t *)from)[i]);
    } else if (from_dtype == OX_COMPLEX64 && to_dtype == OX_COMPLEX128) {
        for (size_t i = 0; i < 2 * n; i++)
            ((double *)to)[i] = (double)((const float *)from)[i];
    } else if (from_dtype == OX_COMPLEX128 && to_dtype == OX_COMPLEX64) {
        for (size_t i = 0; i < 2 * n; i++)
            ((float *)to)[i] = (float)((const double *)from)[i];
    } else {
        return false;
    }
    return true;
}

void ox_elements_convert(enum ox_dtype to_dtype, void *to, enum ox_dtype from_dtype,
                         const void *from, size_t n, bool saturate)
{
    if (n == 0)
        return;
    if (to_dtype == from_dtype) {
        memmove(to, from, n * ox_dtype_size(to_dtype));
        return;
    }
    if (convert_directly(to_dtype, to, from_dtype, from, n))
        return;
    double small[256];
    if (ox_dtype_is_float(from_dtype) && ox_dtype_bits(from_dtype) <= 8)
        for (unsigned code = 0; code < 256; code++)
            small[code] = (double)ox_small_to_float(from_dtype, (uint8_t)code);
    union {
        double reals[BLOCK];
        int64_t wholes[BLOCK];
        uint64_t naturals[BLOCK];
    } block;
    size_t from_size = ox_dtype_size(from_dtype);
    size_t to_size = ox_dtype_size(to_dtype);
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t part = n - at < BLOCK ? n - at : BLOCK;
        enum wide wide = load(from_dtype, (const char *)from + at * from_size, part, small, &block);
        store(to_dtype, wide, &block, part, (char *)to + at * to_size, saturate);
    }
}

enum ox_status ox_tensor_convert(struct ox_tensor **out, struct ox_budget *budget,
                                 const struct ox_tensor *in, enum ox_dtype to, bool saturate,
                                 struct ox_error *err)
{
    if (in->dtype == to) {
        *out = ox_tensor_ref(in);
        return OX_OK;
    }
    if (in->dtype == OX_STRING || to == OX_STRING)
        return ox_fail(err, OX_UNSUPPORTED, "%s cannot be converted to %s here",
                       ox_dtype_name(in->dtype), ox_dtype_name(to));
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, budget, to, in->rank, in->dims, err));
    ox_elements_convert(to, tensor->data, in->dtype, in->data, in->n, saturate);
    *out = tensor;
    return OX_OK;
}

double ox_tensor_get_double(const struct ox_tensor *tensor, size_t i)
{
    double value;
    const char *at = (const char *)tensor->data + i * ox_dtype_size(tensor->dtype);
    if (tensor->dtype == OX_FLOAT32)
        return (double)*(const float *)(const void *)at;
    if (ox_dtype_is_float(tensor->dtype) && ox_dtype_bits(tensor->dtype) <= 8)
        return (double)ox_small_to_float(tensor->dtype, (uint8_t)*at);
    ox_elements_convert(OX_FLOAT64, &value, tensor->dtype, at, 1, true);
    return value;
}

double ox_tensor_element(const struct ox_tensor *tensor, size_t i)
{
    return ox_tensor_get_double(tensor, i);
}

int64_t ox_tensor_get_int(const struct ox_tensor *tensor, size_t i)
{
    if (tensor->dtype == OX_INT64)
        return ((const int64_t *)tensor->data)[i];
    if (tensor->dtype == OX_UINT64) {
        uint64_t value = ((const uint64_t *)tensor->data)[i];
        return value > INT64_MAX ? INT64_MAX : (int64_t)value;
    }
    double value = ox_tensor_get_double(tensor, i);
    if (value != value)
        return 0;
    return value >= 0x1p63 ? INT64_MAX : value < -0x1p63 ? INT64_MIN : (int64_t)value;
}
