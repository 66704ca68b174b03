/* Rows of struct ox_kernels, and of other tables by type, for what the stamps make. */
#ifndef OX_OPS_KERNEL_TABLES_H
#define OX_OPS_KERNEL_TABLES_H

#include "common/stamp.h"

#define OX_KERNELS_FLOAT(name) [OX_FLOAT32] = name##_f32, [OX_FLOAT64] = name##_f64
#define OX_KERNELS_SIGNED(name)                                                                    \
    [OX_INT8] = name##_i8, [OX_INT16] = name##_i16, [OX_INT32] = name##_i32, [OX_INT64] = name##_i64
#define OX_KERNELS_UNSIGNED(name)                                                                  \
    [OX_UINT8] = name##_u8, [OX_UINT16] = name##_u16, [OX_UINT32] = name##_u32,                    \
    [OX_UINT64] = name##_u64
#define OX_KERNELS_WIDE_INTEGER(name)                                                              \
    [OX_INT32] = name##_i32, [OX_INT64] = name##_i64, [OX_UINT32] = name##_u32,                    \
    [OX_UINT64] = name##_u64
#define OX_KERNELS_INTEGER(name) OX_KERNELS_SIGNED(name), OX_KERNELS_UNSIGNED(name)
#define OX_KERNELS_NUMBER(name) OX_KERNELS_FLOAT(name), OX_KERNELS_INTEGER(name)

#endif
