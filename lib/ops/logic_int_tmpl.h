/* Bitwise operators of an integer type; for bool those of uint8_t serve, as it is 0 or 1. */
#define TA T
#define TB T
#define TI T
#define TO T

#define FN N(bit_and)
#define OP(x, y) (x) & (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(bit_or)
#define OP(x, y) (x) | (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(bit_xor)
#define OP(x, y) (x) ^ (y)
#include "ops/binary_loop_tmpl.h"
#define FN N(bit_not)
#define OP(x) ~(x)
#include "ops/unary_loop_tmpl.h"

#undef TA
#undef TB
#undef TI
#undef TO
