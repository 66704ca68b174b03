#include "ops/turn_heads.h"

#include <string.h>

#include "kernels/dense.h"
#include "kernels/turns.h"

static void turn_head(const struct ox_turn_heads *t, const struct ox_turns *turns, size_t batch,
                      size_t head, size_t row)
{
    const size_t place = t->place[batch * t->rows + row];
    const float *c = t->cosines + place, *s = t->sines + place;
    const float *x = t->x + batch * t->x_at.batch + head * t->x_at.head + row * t->x_at.row;
    float *y = t->y + batch * t->y_at.batch + head * t->y_at.head + row * t->y_at.row;
    if (t->interleaved)
        turns->neighbours(t->half, c, s, x, y);
    else
        turns->halves(t->half, c, s, x, x + t->half, y, y + t->half);
    if (t->size > 2 * t->half)
        memcpy(y + 2 * t->half, x + 2 * t->half, (t->size - 2 * t->half) * sizeof *y);
}

enum { ROWS = 16 }; /* of a task: what heads far apart have of them lies together */

static void turn_rows(void *arg, size_t i, size_t slot)
{
    const struct ox_turn_heads *t = arg;
    const struct ox_turns *turns = ox_turns();
    const size_t blocks = (t->rows + ROWS - 1) / ROWS, batch = i / blocks, from = i % blocks * ROWS;
    const size_t to = t->rows - from < ROWS ? t->rows : from + ROWS;
    (void)slot;
    if (t->x_at.head > t->x_at.row) {
        for (size_t h = 0; h < t->heads; h++)
            for (size_t row = from; row < to; row++)
                turn_head(t, turns, batch, h, row);
        return;
    }
    for (size_t row = from; row < to; row++)
        for (size_t h = 0; h < t->heads; h++)
            turn_head(t, turns, batch, h, row);
}

void ox_turn_heads(struct ox_env *env, struct ox_turn_heads *turn)
{
    const double flops_an_element = 20; /* in which ox_spread() counts */
    const size_t tokens = turn->batch * turn->rows;
    ox_spread(env, turn->batch * ((turn->rows + ROWS - 1) / ROWS),
              flops_an_element * (double)(tokens * turn->heads * turn->size), turn_rows, turn);
}
