/* What becomes of 8-bit results where they lie: a residual is added, or they are looked up in a table, by a task in what it has just made,
 * or in images that were made by lines or by filtering. */
#include "kernels/integer_impl.h"

static void add_rows(const struct ox_integer_after *a, size_t rows, size_t n, size_t step,
                     const uint8_t *with, uint8_t *out)
{
    if (a->kernels->add_rows) {
        a->kernels->add_rows(rows, n, step, out, with, a->pair, out);
        return;
    }
    for (; rows > 0; rows--, with += step, out += step)
        a->kernels->add(n, out, with, a->pair, out);
}

/* with: NULL without a residual. */
static void finish_rows(const struct ox_integer_after *a, size_t rows, size_t n, size_t step,
                        const uint8_t *with, uint8_t *out)
{
    if (n == step) {
        n *= rows;
        step *= rows;
        rows = 1;
    }
    if (with) {
        add_rows(a, rows, n, step, with, out);
        return;
    }
    if (a->kernels->look_up_rows) {
        a->kernels->look_up_rows(rows, n, step, a->table, out);
        return;
    }
    for (; rows > 0; rows--, out += step)
        a->kernels->look_up(n, out, a->table, out);
}

void ox_integer_after_rows(const struct ox_integer_core *k, size_t m, size_t rows, size_t col,
                           size_t cols)
{
    const size_t at = m * k->out_pixel + col;
    finish_rows(k->end->after, rows, cols, k->out_pixel, k->residual ? k->residual + at : NULL,
                (uint8_t *)k->out + at);
}

struct image {
    const struct ox_conv *c;
    const struct ox_integer_after *after;
    const uint8_t *with;
    uint8_t *out;
};

static void finish_line(void *arg, size_t y, size_t slot)
{
    const struct image *i = arg;
    const size_t pixel = i->c->out_pixel, across = i->c->out[1], at = y * across * pixel;
    (void)slot;
    finish_rows(i->after, across, i->c->out_channels, pixel, i->with ? i->with + at : NULL,
                i->out + at);
}

void ox_integer_after_image(struct ox_env *env, const struct ox_conv *c,
                            const struct ox_integer_after *after, size_t at, void *out)
{
    enum { WORK = 4 }; /* of a code */
    struct image i = {c, after, after->residual ? after->residual + at : NULL, (uint8_t *)out + at};
    ox_spread(env, c->out[0], (double)(c->out[0] * c->out[1] * c->out_channels) * WORK, finish_line,
              &i);
}
