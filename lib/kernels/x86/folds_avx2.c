#include <math.h>

#include "kernels/folds.h"

#define T float

#define ACC double
#define START() 0
#define JOIN(a, b) (a) + (b)

#define FOLD_RUN sum_run
#define FOLD_LANES sum_lanes
#define FOLD_ROWS sum_rows
#define FOLD_SHORT sum_short
#define STEP(a, x, s) (a) + (double)(x)
#include "kernels/fold_tmpl.h"
#undef STEP

#define FOLD_RUN sum_of_abs_run
#define FOLD_LANES sum_of_abs_lanes
#define FOLD_ROWS sum_of_abs_rows
#define FOLD_SHORT sum_of_abs_short
#define STEP(a, x, s) (a) + fabs((double)(x))
#include "kernels/fold_tmpl.h"
#undef STEP

#define FOLD_RUN sum_of_squares_run
#define FOLD_LANES sum_of_squares_lanes
#define FOLD_ROWS sum_of_squares_rows
#define FOLD_SHORT sum_of_squares_short
#define STEP(a, x, s) (a) + (double)(x) * (double)(x)
#include "kernels/fold_tmpl.h"
#undef STEP

#undef ACC
#undef START
#undef JOIN
#define ACC float

#define START() -INFINITY
#define JOIN(a, b) OX_FOLD_GREATER(a, b)
#define FOLD_RUN greatest_run
#define FOLD_LANES greatest_lanes
#define FOLD_ROWS greatest_rows
#define FOLD_SHORT greatest_short
#define STEP(a, x, s) OX_FOLD_GREATER(a, x)
#include "kernels/fold_tmpl.h"
#undef STEP
#undef START
#undef JOIN

#define START() INFINITY
#define JOIN(a, b) OX_FOLD_LESS(a, b)
#define FOLD_RUN least_run
#define FOLD_LANES least_lanes
#define FOLD_ROWS least_rows
#define FOLD_SHORT least_short
#define STEP(a, x, s) OX_FOLD_LESS(a, x)
#include "kernels/fold_tmpl.h"
#undef STEP

const struct ox_folds ox_folds_avx2 = {
    .sum = {sum_run, sum_lanes, sum_rows},
    .sum_of_abs = {sum_of_abs_run, sum_of_abs_lanes, sum_of_abs_rows},
    .sum_of_squares = {sum_of_squares_run, sum_of_squares_lanes, sum_of_squares_rows},
    .greatest = {greatest_run, greatest_lanes, greatest_rows},
    .least = {least_run, least_lanes, least_rows}};
