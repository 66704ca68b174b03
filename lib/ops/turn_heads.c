#include "ops/turn_heads.h"

#include <string.h>

#include "kernels/dense.h"
#include "kernels/turns.h"

static void turn_token(void *arg, size_t token, size_t slot)
{
    const struct ox_turn_heads *t = arg;
    const struct ox_turns *turns = ox_turns();
    const size_t batch = token / t->rows, row = token % t->rows;
    const float *c = t->cosines + t->place[token], *s = t->sines + t->place[token];
    (void)slot;
    for (size_t h = 0; h < t->heads; h++) {
        const float *x = t->x + batch * t->x_at.batch + h * t->x_at.head + row * t->x_at.row;
        float *y = t->y + batch * t->y_at.batch + h * t->y_at.head + row * t->y_at.row;
        if (t->interleaved)
            turns->neighbours(t->half, c, s, x, y);
        else
            turns->halves(t->half, c, s, x, x + t->half, y, y + t->half);
        memcpy(y + 2 * t->half, x + 2 * t->half, (t->size - 2 * t->half) * sizeof *y);
    }
}

void ox_turn_heads(struct ox_env *env, struct ox_turn_heads *turn)
{
    const double flops_an_element = 20; /* in which ox_spread() counts */
    const size_t tokens = turn->batch * turn->rows;
    ox_spread(env, tokens, flops_an_element * (double)(tokens * turn->heads * turn->size),
              turn_token, turn);
}
