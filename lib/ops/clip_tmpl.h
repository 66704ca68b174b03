/* Clip of a type: Min(max, Max(x, min)); NaN stays. arg is a struct clip. */
#define TI T
#define TO T
#define FN N(clip)
#define SETUP                                                                                      \
    const struct clip *bounds = arg;                                                               \
    const T low = bounds->min ? *(const T *)bounds->min : T_LOWEST;                                \
    const T high = bounds->max ? *(const T *)bounds->max : T_HIGHEST;
#define OP(x) (((x) < low ? low : (x)) > high ? high : (x) < low ? low : (x))
#include "ops/unary_loop_tmpl.h"
#undef TI
#undef TO
