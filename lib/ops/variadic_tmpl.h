/* Max Min of a type; NaN wins over every number. Sum for floats. */
#define TA T
#define TB T
#define TO T

#ifdef T_FLOAT
#define FN N(max)
#define SETUP                                                                                      \
    if (ox_pair_row(row, OX_PAIR_MAX, N(ox_pair_type)))                                            \
        return;
#define OP(x, y) ((((x) > (y)) | ((x) != (x))) ? (x) : (y))
#include "ops/binary_loop_tmpl.h"
#define FN N(min)
#define SETUP                                                                                      \
    if (ox_pair_row(row, OX_PAIR_MIN, N(ox_pair_type)))                                            \
        return;
#define OP(x, y) ((((x) < (y)) | ((x) != (x))) ? (x) : (y))
#include "ops/binary_loop_tmpl.h"
#define FN N(sum)
#define OP(x, y) (x) + (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(mean_last)
#define SETUP const T count = (T) * (const size_t *)arg;
#define OP(x, y) ((x) + (y)) / count
#include "ops/binary_loop_tmpl.h"
#else
#define FN N(max)
#define SETUP                                                                                      \
    if (ox_pair_row(row, OX_PAIR_MAX, N(ox_pair_type)))                                            \
        return;
#define OP(x, y) ((x) > (y) ? (x) : (y))
#include "ops/binary_loop_tmpl.h"
#define FN N(min)
#define SETUP                                                                                      \
    if (ox_pair_row(row, OX_PAIR_MIN, N(ox_pair_type)))                                            \
        return;
#define OP(x, y) ((x) < (y) ? (x) : (y))
#include "ops/binary_loop_tmpl.h"
#endif

#undef TA
#undef TB
#undef TO
