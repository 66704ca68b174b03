/* Rotary embeddings of float32 over heads. */
#ifndef OX_OPS_TURN_HEADS_H
#define OX_OPS_TURN_HEADS_H

#include "ops/fast/attend_fast.h"

/* Turns the first 2 * half elements of each head of each token; the others are copied. */
struct ox_turn_heads {
    size_t batch, heads, rows, size;
    struct ox_heads_step x_at, y_at;
    const float *x, *cosines, *sines;
    float *y;
    const size_t *place; /* of each token in the tables, in floats */
    size_t half;
    bool interleaved;
};

void ox_turn_heads(struct ox_env *env, struct ox_turn_heads *turn);

#endif
