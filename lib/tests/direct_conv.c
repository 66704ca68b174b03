#include "tests/direct_conv.h"

#include <check.h>
#include <math.h>

#include "tests/ending.h"

static float input_at(const struct ox_conv *c, const float *in, size_t n, size_t channel, size_t y,
                      size_t x)
{
    if (c->planar)
        return in[((n * c->in_channels + channel) * c->in[0] + y) * c->in[1] + x];
    return in[((n * c->in[0] + y) * c->in[1] + x) * c->in_pixel + channel];
}

/* Input position that tap `r` of output `y` reads; false when there is none. */
static bool tap_at(const struct ox_conv *c, unsigned axis, size_t y, size_t r, size_t *at)
{
    if (!c->transposed) {
        *at = y * c->stride[axis] + r * c->dilation[axis] - c->pad[axis];
        return *at < c->in[axis];
    }
    const size_t from = y + c->pad[axis] - r * c->dilation[axis];
    *at = from / c->stride[axis];
    return y + c->pad[axis] >= r * c->dilation[axis] && from % c->stride[axis] == 0 &&
           *at < c->in[axis];
}

double direct(const struct ox_conv *c, const struct sides *s, size_t image, size_t o, size_t y,
              size_t x, double *size)
{
    const size_t k = c->in_channels / c->groups, n = c->out_channels / c->groups, group = o / n;
    double sum = 0;
    for (size_t u = 0; u < k; u++) {
        for (size_t r = 0; r < c->kernel[0]; r++) {
            for (size_t q = 0; q < c->kernel[1]; q++) {
                size_t iy, ix;
                if (!tap_at(c, 0, y, r, &iy) || !tap_at(c, 1, x, q, &ix))
                    continue;
                const size_t matrix = c->transposed ? (group * k + u) * n + o % n : o * k + u;
                const double w = s->weights.at[(matrix * c->kernel[0] + r) * c->kernel[1] + q];
                const double term = w * input_at(c, s->in.at, image, group * k + u, iy, ix);
                sum += term;
                *size += fabs(term);
            }
        }
    }
    return sum;
}

void compare_direct(const struct ox_conv *c, const struct sides *s, const struct ox_epilogue *end,
                    double slack, enum ox_conv_way way)
{
    size_t pixel = 0;
    for (size_t image = 0; image < c->batch; image++) {
        for (size_t y = 0; y < c->out[0]; y++) {
            for (size_t x = 0; x < c->out[1]; x++, pixel++) {
                for (size_t o = 0; o < c->out_channels; o++) {
                    double size = 4;
                    const double sum = direct(c, s, image, o, y, x, &size);
                    const double want = ending(end, sum, pixel, o);
                    const double got = s->out.at[pixel * c->out_pixel + o];
                    const double bound = size * slack * 0x1p-24;
                    ck_assert_msg(fabs(want - got) <= bound,
                                  "way %d, %zux%zux%zu -> %zux%zux%zu, kernel %zux%zu, groups %zu, "
                                  "at (%zu,%zu,%zu): %g, expected %g",
                                  (int)way, c->in[0], c->in[1], c->in_channels, c->out[0],
                                  c->out[1], c->out_channels, c->kernel[0], c->kernel[1], c->groups,
                                  y, x, o, got, want);
                }
            }
        }
    }
}

struct ox_epilogue random_end(struct dice *d, const struct ox_conv *c, struct sides *s)
{
    const size_t pieces = dice_next(d);
    struct ox_epilogue end = {.residual_ld = c->out_channels + dice_between(d, 0, 3)};
    s->bias = guarded_new(d, c->out_channels, true);
    s->residual = guarded_new(d, c->batch * c->out[0] * c->out[1] * end.residual_ld, true);
    end.col_bias = pieces & 1 ? s->bias.at : NULL;
    end.residual = pieces & 2 ? s->residual.at : NULL;
    end.residual_last = pieces & 4;
    end.scale = (pieces & 24) == 24 ? 0.75f : 0;
    end.act = (enum ox_act)(pieces >> 5 & 3);
    end.lo = pieces & 128 ? 0 : -0.5f;
    end.hi = pieces & 256 ? INFINITY : 0.5f;
    end.alpha = 0.1f;
    end.row = ending_row;
    return end;
}

void free_sides(struct sides *s)
{
    guarded_free(&s->in);
    guarded_free(&s->out);
    guarded_free(&s->weights);
    guarded_free(&s->packed);
    guarded_free(&s->work);
    guarded_free(&s->bias);
    guarded_free(&s->residual);
}
