/* Elements in files and elements in memory. */
#include <string.h>

#include "common/compiler.h"
#include "tensor/tensor.h"

/* Codes of 2, 4 or 6 bits as one stream of bits, low ones first. */
static void unpack_bits(unsigned width, const uint8_t *packed, size_t n, uint8_t *out)
{
    uint8_t mask = (uint8_t)((1u << width) - 1);
    if (width == 6) {
        uint32_t held = 0;
        unsigned n_held = 0;
        for (size_t i = 0; i < n; i++) {
            if (n_held < 6) {
                held |= (uint32_t)*packed++ << n_held;
                n_held += 8;
            }
            out[i] = held & mask;
            held >>= 6;
            n_held -= 6;
        }
        return;
    }
    unsigned per_byte = 8 / width;
    size_t whole = n / per_byte;
    for (size_t i = 0; i < whole; i++)
        for (unsigned k = 0; k < per_byte; k++)
            out[i * per_byte + k] = packed[i] >> (k * width) & mask;
    for (size_t i = whole * per_byte; i < n; i++)
        out[i] = packed[whole] >> (i % per_byte * width) & mask;
}

static void pack_bits(unsigned width, const uint8_t *data, size_t n, uint8_t *packed)
{
    uint8_t mask = (uint8_t)((1u << width) - 1);
    uint32_t held = 0;
    unsigned n_held = 0;
    for (size_t i = 0; i < n; i++) {
        held |= (uint32_t)(data[i] & mask) << n_held;
        n_held += width;
        if (n_held >= 8) {
            *packed++ = (uint8_t)held;
            held >>= 8;
            n_held -= 8;
        }
    }
    if (n_held)
        *packed = (uint8_t)held;
}

void ox_tensor_normalize(enum ox_dtype dtype, void *data, size_t n)
{
    uint8_t *bytes = data;
    if (dtype == OX_BOOL) {
        for (size_t i = 0; i < n; i++)
            bytes[i] = bytes[i] != 0;
        return;
    }
    unsigned width = ox_dtype_bits(dtype);
    if (width == 0 || width >= 8)
        return;
    uint8_t mask = (uint8_t)((1u << width) - 1);
    /* (x ^ s) - s extends the sign bit s; 0 extends nothing. */
    uint8_t sign = dtype == OX_INT4 || dtype == OX_INT2 ? (uint8_t)(1u << (width - 1)) : 0;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(((bytes[i] & mask) ^ sign) - sign);
}

/* Bytes of the unit that a big-endian machine turns around: a complex number is two. */
static size_t swap_unit(enum ox_dtype dtype)
{
    size_t size = ox_dtype_size(dtype);
    return dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128 ? size / 2 : size;
}

static void copy_elements(enum ox_dtype dtype, const void *from, size_t n, void *to)
{
    size_t bytes = n * ox_dtype_size(dtype);
    if (bytes == 0)
        return;
    memcpy(to, from, bytes);
    if (OX_BIG_ENDIAN)
        ox_bytes_swap(to, bytes, swap_unit(dtype));
}

void ox_bytes_swap(void *data, size_t bytes, size_t unit)
{
    uint8_t *p = data;
    for (size_t at = 0; unit > 1 && at + unit <= bytes; at += unit) {
        for (size_t i = 0; i < unit / 2; i++) {
            uint8_t other = p[at + i];
            p[at + i] = p[at + unit - 1 - i];
            p[at + unit - 1 - i] = other;
        }
    }
}

void ox_tensor_unpack(enum ox_dtype dtype, const void *packed, size_t n, void *out)
{
    unsigned width = ox_dtype_bits(dtype);
    if (width < 8)
        unpack_bits(width, packed, n, out);
    else
        copy_elements(dtype, packed, n, out);
    ox_tensor_normalize(dtype, out, n);
}

void ox_tensor_pack(enum ox_dtype dtype, const void *data, size_t n, void *packed)
{
    unsigned width = ox_dtype_bits(dtype);
    if (width < 8)
        pack_bits(width, data, n, packed);
    else
        copy_elements(dtype, data, n, packed);
}
