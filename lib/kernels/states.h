/* Linear attention's matrix of state, [rows, columns], that tokens update one by one. No column depends on another: kernels work on so
 * many at a time. */
#ifndef OX_KERNELS_STATES_H
#define OX_KERNELS_STATES_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cpu.h"

enum { OX_STATE_COLS = 32 };

/* state = factor * state + k (x) u, where u is v, or, where it corrects, rate * (v - k by factor * state); then y = scale * q by
 * state for each query. */
struct ox_state_token {
    const float *k, *factor; /* [rows] */
    const float *v;          /* [OX_STATE_COLS] */
    bool corrects;
    float rate;
    size_t queries; /* > 0 */
    const float *q; /* [queries][rows] */
    float scale;
    float *y; /* [queries][OX_STATE_COLS] */
};

struct ox_states {
    /* state: [rows][OX_STATE_COLS]; rows are even. */
    void (*token)(size_t rows, float *state, const struct ox_state_token *t);
};

const struct ox_states *ox_states(enum ox_cpu level);

/* For states.c. */
extern const struct ox_states ox_states_avx2, ox_states_avx512;

#endif
