/* A residual that is added to 8-bit results where they lie: by a task to what it has just made, or to images that were made by lines or
 * by filtering. */
#include "kernels/integer_impl.h"

static void add_rows(const struct ox_integer_residual *r, size_t rows, size_t n, size_t step,
                     const uint8_t *with, uint8_t *out)
{
    if (n == step) {
        n *= rows;
        step *= rows;
        rows = 1;
    }
    if (r->kernels->add_rows) {
        r->kernels->add_rows(rows, n, step, out, with, r->pair, out);
        return;
    }
    for (; rows > 0; rows--, with += step, out += step)
        r->kernels->add(n, out, with, r->pair, out);
}

void ox_integer_residual_add(const struct ox_integer_core *k, size_t m, size_t rows, size_t col,
                             size_t cols)
{
    const size_t at = m * k->out_pixel + col;
    add_rows(k->end->residual, rows, cols, k->out_pixel, k->residual + at, (uint8_t *)k->out + at);
}

struct image {
    const struct ox_conv *c;
    const struct ox_integer_residual *residual;
    const uint8_t *with;
    uint8_t *out;
};

static void add_line(void *arg, size_t y, size_t slot)
{
    const struct image *i = arg;
    const size_t pixel = i->c->out_pixel, across = i->c->out[1], at = y * across * pixel;
    (void)slot;
    add_rows(i->residual, across, i->c->out_channels, pixel, i->with + at, i->out + at);
}

void ox_integer_residual_image(struct ox_env *env, const struct ox_conv *c,
                               const struct ox_integer_residual *residual, size_t at, void *out)
{
    enum { WORK = 4 }; /* of a code */
    struct image i = {c, residual, residual->codes + at, (uint8_t *)out + at};
    ox_spread(env, c->out[0], (double)(c->out[0] * c->out[1] * c->out_channels) * WORK, add_line,
              &i);
}
