/* A double as an integer the way Cast has it (tensor/tensor.h): truncated to int32, or int64 for the wider types, of which the low
 * bits stay; what does not fit and NaN is the least of those. */
#ifndef OX_OPS_WHOLE_H
#define OX_OPS_WHOLE_H

#include <stdint.h>

static inline int64_t ox_whole_i64(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

static inline uint64_t ox_whole_u64(double x)
{
    if (!(x >= 9223372036854775808.0))
        return (uint64_t)ox_whole_i64(x);
    return x < 18446744073709551616.0 ? (uint64_t)x : 0;
}

static inline uint32_t ox_whole_u32(double x)
{
    return (uint32_t)ox_whole_i64(x);
}

static inline int32_t ox_whole_i32(double x)
{
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static inline int16_t ox_whole_i16(double x)
{
    return (int16_t)ox_whole_i32(x);
}

static inline uint16_t ox_whole_u16(double x)
{
    return (uint16_t)ox_whole_i32(x);
}

static inline int8_t ox_whole_i8(double x)
{
    return (int8_t)ox_whole_i32(x);
}

static inline uint8_t ox_whole_u8(double x)
{
    return (uint8_t)ox_whole_i32(x);
}

#endif
