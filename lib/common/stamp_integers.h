/* Includes STAMP once for each integer type. In it: T the type, W an unsigned type to compute in without overflow, N(x) the
 * name x with the type's suffix, T_BITS, T_SIGNED, T_MIN, T_MAX. No include guard: meant to be included again. */
#define T int8_t
#define W uint32_t
#define N(x) OX_STAMP(x, _i8)
#define T_BITS 8
#define T_SIGNED 1
#define T_MIN INT8_MIN
#define T_MAX INT8_MAX
#include STAMP
#include "common/stamp_end.h"

#define T int16_t
#define W uint32_t
#define N(x) OX_STAMP(x, _i16)
#define T_BITS 16
#define T_SIGNED 1
#define T_MIN INT16_MIN
#define T_MAX INT16_MAX
#include STAMP
#include "common/stamp_end.h"

#define T int32_t
#define W uint32_t
#define N(x) OX_STAMP(x, _i32)
#define T_BITS 32
#define T_SIGNED 1
#define T_MIN INT32_MIN
#define T_MAX INT32_MAX
#include STAMP
#include "common/stamp_end.h"

#define T int64_t
#define W uint64_t
#define N(x) OX_STAMP(x, _i64)
#define T_BITS 64
#define T_SIGNED 1
#define T_MIN INT64_MIN
#define T_MAX INT64_MAX
#include STAMP
#include "common/stamp_end.h"

#define T uint8_t
#define W uint32_t
#define N(x) OX_STAMP(x, _u8)
#define T_BITS 8
#define T_SIGNED 0
#define T_MIN 0
#define T_MAX UINT8_MAX
#include STAMP
#include "common/stamp_end.h"

#define T uint16_t
#define W uint32_t
#define N(x) OX_STAMP(x, _u16)
#define T_BITS 16
#define T_SIGNED 0
#define T_MIN 0
#define T_MAX UINT16_MAX
#include STAMP
#include "common/stamp_end.h"

#define T uint32_t
#define W uint32_t
#define N(x) OX_STAMP(x, _u32)
#define T_BITS 32
#define T_SIGNED 0
#define T_MIN 0
#define T_MAX UINT32_MAX
#include STAMP
#include "common/stamp_end.h"

#define T uint64_t
#define W uint64_t
#define N(x) OX_STAMP(x, _u64)
#define T_BITS 64
#define T_SIGNED 0
#define T_MIN 0
#define T_MAX UINT64_MAX
#include STAMP
#include "common/stamp_end.h"

#undef STAMP
