/* All folds of all types, and OX_FOLD_TABLE, which lists them; stamped once an instruction set. */
#include <math.h>
#include <stdint.h>

#include "common/stamp.h"
#include "kernels/folds.h"
#include "kernels/inline.h"

#define STAMP "kernels/fold_type_tmpl.h"
#include "common/stamp_integers.h"
#define STAMP "kernels/fold_type_tmpl.h"
#include "common/stamp_floats.h"

/* Two rows at a time: the sums are loaded and stored once for them. */
static void running_sums(double *restrict acc, const float *restrict x, size_t n, size_t rows,
                         ptrdiff_t stride, bool exclusive, float *restrict y)
{
    size_t row = 0;
    for (; row + 2 <= rows; row += 2, x += 2 * stride, y += 2 * stride) {
        const float *restrict x2 = x + stride;
        float *first = exclusive ? y + stride : y, *second = exclusive ? y : y + stride;
        for (size_t i = 0; i < n; i++) {
            const double before = acc[i], one = before + (double)x[i], two = one + (double)x2[i];
            first[i] = (float)one;
            second[i] = (float)(exclusive ? before : two);
            acc[i] = two;
        }
    }
    for (size_t i = 0; row < rows && i < n; i++) {
        const double after = acc[i] + (double)x[i];
        y[i] = (float)(exclusive ? acc[i] : after);
        acc[i] = after;
    }
}

#ifndef RUNNING_SUMS
#define RUNNING_SUMS running_sums
#endif

#define WIDE_INTEGERS(name)                                                                        \
    [OX_INT32] = name##_i32, [OX_INT64] = name##_i64, [OX_UINT32] = name##_u32,                    \
    [OX_UINT64] = name##_u64
#define WIDE(name) [OX_FLOAT32] = name##_f32, [OX_FLOAT64] = name##_f64, WIDE_INTEGERS(name)
#define ALL(name)                                                                                  \
    WIDE(name), [OX_INT8] = name##_i8, [OX_INT16] = name##_i16, [OX_UINT8] = name##_u8,            \
                [OX_UINT16] = name##_u16, [OX_BOOL] = name##_u8

#define OX_FOLD_TABLE                                                                              \
    {                                                                                              \
        {[OX_FOLD_GREATEST] = {ALL(&greatest)},                                                    \
         [OX_FOLD_LEAST] = {ALL(&least)},                                                          \
         [OX_FOLD_SUM] = {WIDE(&sum)},                                                             \
         [OX_FOLD_SUM_OF_ABS] = {WIDE(&sum_of_abs)},                                               \
         [OX_FOLD_SUM_OF_SQUARES] = {WIDE(&sum_of_squares)},                                       \
         [OX_FOLD_PRODUCT] = {WIDE(&product)},                                                     \
         [OX_FOLD_SUM_IN_DOUBLE] =                                                                 \
             {[OX_FLOAT32] = &sum_f32, [OX_FLOAT64] = &sum_f64, WIDE_INTEGERS(&sum_in_double)},    \
         [OX_FOLD_SQUARES_IN_DOUBLE] = {WIDE(&squares_in_double)},                                 \
         [OX_FOLD_GREATEST_IN_DOUBLE] = {WIDE(&greatest_in_double)}},                              \
            {ALL(places)}, {ALL(&beyond)}, RUNNING_SUMS,                                           \
    }
