#include "kernels/states.h"

static void query(size_t rows, const float *state, const float *q, float scale, float *y)
{
    float sum[OX_STATE_COLS] = {0};
    for (size_t d = 0; d < rows; d++)
        for (size_t c = 0; c < OX_STATE_COLS; c++)
            sum[c] += q[d] * state[d * OX_STATE_COLS + c];
    for (size_t c = 0; c < OX_STATE_COLS; c++)
        y[c] = scale * sum[c];
}

static void token(size_t rows, float *state, const struct ox_state_token *t)
{
    float update[OX_STATE_COLS], sum[OX_STATE_COLS] = {0};
    for (size_t d = 0; d < rows; d++)
        for (size_t c = 0; c < OX_STATE_COLS; c++) {
            float *s = &state[d * OX_STATE_COLS + c];
            *s *= t->factor[d];
            sum[c] += t->k[d] * *s;
        }
    for (size_t c = 0; c < OX_STATE_COLS; c++)
        update[c] = t->corrects ? t->rate * (t->v[c] - sum[c]) : t->v[c];
    for (size_t d = 0; d < rows; d++)
        for (size_t c = 0; c < OX_STATE_COLS; c++)
            state[d * OX_STATE_COLS + c] += t->k[d] * update[c];
    for (size_t i = 0; i < t->queries; i++)
        query(rows, state, t->q + i * rows, t->scale, t->y + i * OX_STATE_COLS);
}

const struct ox_states *ox_states(enum ox_cpu level)
{
    static const struct ox_states plain = {token};
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX512)
        return &ox_states_avx512;
    if (level >= OX_CPU_AVX2)
        return &ox_states_avx2;
#endif
    (void)level;
    return &plain;
}
