/* Elementwise of our own domain: a chain of elementwise functions, worked out a stretch at a time. Input 0 begins it; the others are
 * operands of its functions of two. `steps` is a list of integers, OX_STEP_FIELDS a step. `joined` (0: none) is the first of the inputs that are joined to input 0
 * along the last axis before. Codes of 8 bits may stand at either end: `from` and `to` (0: floats) are inputs that are the scale of
 * input 0's or of the result's, and behind each is its zero point, or nothing; `table` is an input of 256 floats that input 0's codes
 * stand for instead. Operands of the chain's shape may be codes too: behind them are their scale and zero point. Where rows of the
 * last axis are normalized, they have at most OX_STEPS_ROW elements. */
#ifndef OX_OPS_FUSED_STEPS_H
#define OX_OPS_FUSED_STEPS_H

#include "ops/op.h"

enum ox_step_field {
    OX_STEP_KIND,     /* enum ox_step_kind */
    OX_STEP_FUNCTION, /* enum ox_unary, enum ox_binary; of a norm, whether it is centred */
    OX_STEP_A, /* a parameter's bits; of a pair, which input is the operand; of a norm, which is the scale, behind which the shift is */
    OX_STEP_B, /* a parameter's bits; of a norm, epsilon's */
    OX_STEP_FIELDS
};
enum ox_step_kind {
    OX_STEP_UNARY,
    OX_STEP_LEFT, /* where the chain's value stands */
    OX_STEP_RIGHT,
    OX_STEP_GRID, /* to codes and back: FUNCTION is their type, A the scale's bits, B the zero point */
    OX_STEP_SOFTMAX, /* of rows */
    OX_STEP_NORM
};
enum { OX_MOST_STEPS = 24, OX_STEPS_ROW = 4096 };

/* Of another operator of our own domain with the attributes `steps` and `joined`: what they make of its input 0 and others, floats, until the
 * kernel returns. *row: elements of the last axis. */
struct ox_steps;
enum ox_status ox_steps_read(struct ox_run *r, struct ox_steps **steps, size_t *row,
                             struct ox_error *err);
/* Rows [first, first + n) of the last axis, one behind the other; as struct ox_made has it. */
void ox_steps_rows(const void *steps, size_t first, size_t n, float *to);

#endif
