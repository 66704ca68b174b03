/* The functions of states.h for one width of vectors. The includer defines STATES, what is made here. */
#include "kernels/inline.h"
#include "kernels/states.h"

enum { VECTORS = OX_STATE_COLS / VW, APART = 2 /* rows whose sums do not wait for each other */ };

INLINE void begin(VF sum[APART][VECTORS])
{
#pragma GCC unroll 2
    for (unsigned h = 0; h < APART; h++)
#pragma GCC unroll 4
        for (unsigned v = 0; v < VECTORS; v++)
            sum[h][v] = v_zero();
}

INLINE void write_out(VF sum[APART][VECTORS], float scale, float *y)
{
#pragma GCC unroll 4
    for (unsigned v = 0; v < VECTORS; v++)
        v_store(y + v * VW, v_mul(v_set1(scale), v_add(sum[0][v], sum[1][v])));
}

/* Rows of the state, each by its number, and by its factor where there are any. */
INLINE void sum_rows(size_t rows, const float *state, const float *by, const float *factor,
                     VF sum[APART][VECTORS])
{
    begin(sum);
    for (size_t d = 0; d < rows; d += APART)
#pragma GCC unroll 2
        for (unsigned h = 0; h < APART; h++)
#pragma GCC unroll 4
            for (unsigned v = 0; v < VECTORS; v++)
                sum[h][v] = v_fma(v_set1(factor ? by[d + h] * factor[d + h] : by[d + h]),
                                  v_load(state + (d + h) * OX_STATE_COLS + v * VW), sum[h][v]);
}

static void query(size_t rows, const float *state, const float *q, float scale, float *y)
{
    VF sum[APART][VECTORS];
    sum_rows(rows, state, q, NULL, sum);
    write_out(sum, scale, y);
}

static void correct(size_t rows, const float *state, const struct ox_state_token *t,
                    VF update[VECTORS])
{
    VF sum[APART][VECTORS];
    sum_rows(rows, state, t->k, t->factor, sum);
#pragma GCC unroll 4
    for (unsigned v = 0; v < VECTORS; v++)
        update[v] = v_mul(v_set1(t->rate), v_sub(update[v], v_add(sum[0][v], sum[1][v])));
}

/* The first query reads the state as it is written. */
static void token(size_t rows, float *state, const struct ox_state_token *t)
{
    VF update[VECTORS], sum[APART][VECTORS];
#pragma GCC unroll 4
    for (unsigned v = 0; v < VECTORS; v++)
        update[v] = v_load(t->v + v * VW);
    if (t->corrects)
        correct(rows, state, t, update);
    begin(sum);
    for (size_t d = 0; d < rows; d += APART)
#pragma GCC unroll 2
        for (unsigned h = 0; h < APART; h++)
#pragma GCC unroll 4
            for (unsigned v = 0; v < VECTORS; v++) {
                float *at = state + (d + h) * OX_STATE_COLS + v * VW;
                const VF s = v_fma(v_set1(t->k[d + h]), update[v],
                                   v_mul(v_set1(t->factor[d + h]), v_load(at)));
                v_store(at, s);
                sum[h][v] = v_fma(v_set1(t->q[d + h]), s, sum[h][v]);
            }
    write_out(sum, t->scale, t->y);
    for (size_t i = 1; i < t->queries; i++)
        query(rows, state, t->q + i * rows, t->scale, t->y + i * OX_STATE_COLS);
}

const struct ox_states STATES = {token};
