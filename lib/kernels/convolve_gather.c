/* Convolution by a kernel so wide that its rows are no runs that OX_CONV_INDIRECT would take, of few channels: its taps would be segments
 * of a product or two each. Where outputs are few, what each reads is copied side by side: a product of rows and weights as they are packed. */
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"
#include "kernels/triples.h"

static size_t depth_of(const struct ox_conv *c)
{
    return c->kernel[0] * c->kernel[1] * c->in_channels;
}

bool ox_conv_gathers(const struct ox_conv *c)
{
    enum { CHANNELS = 16, TAPS = 64, DEPTH = 1 << 16, FLOATS = 1 << 18 };
    const size_t m = c->batch * c->out[0] * c->out[1];
    return !c->transposed && c->groups == 1 && c->kernel[1] > TAPS && c->in_channels > 0 &&
           c->in_channels <= CHANNELS && c->kernel[0] <= DEPTH && c->kernel[1] <= DEPTH && m > 0 &&
           m <= FLOATS / depth_of(c);
}

size_t ox_conv_gather_work(const struct ox_conv *c)
{
    return c->batch * c->out[0] * c->out[1] * depth_of(c);
}

struct ox_conv ox_conv_gathered(const struct ox_conv *c)
{
    struct ox_conv rows = *c;
    for (unsigned axis = 0; axis < 2; axis++) {
        rows.kernel[axis] = rows.stride[axis] = rows.dilation[axis] = 1;
        rows.pad[axis] = 0;
        rows.in[axis] = c->out[axis];
    }
    rows.in_channels = rows.in_pixel = depth_of(c);
    rows.in_batch = 0;
    return rows;
}

/* The taps of a row of the kernel that begins at pixel x of a line; NULL: the line lies outside. */
static void copy_taps(const struct ox_conv *c, const float *line, size_t x, float *to)
{
    const size_t channels = c->in_channels, run = c->kernel[1] * channels;
    if (!line) {
        memset(to, 0, run * sizeof *to);
        return;
    }
    if (c->dilation[1] == 1 && c->in_pixel == channels && x < c->in[1] &&
        c->kernel[1] <= c->in[1] - x) {
        memcpy(to, line + x * channels, run * sizeof *to);
        return;
    }
    for (size_t q = 0; q < c->kernel[1]; q++, to += channels) {
        const size_t at = x + q * c->dilation[1]; /* wraps left of the image */
        if (at < c->in[1])
            memcpy(to, line + at * c->in_pixel, channels * sizeof *to);
        else
            memset(to, 0, channels * sizeof *to);
    }
}

void ox_conv_gather_rows(const void *arg, size_t first, size_t n, float *to)
{
    const struct ox_conv_rows *rows = arg;
    const struct ox_conv *c = rows->c;
    const size_t area = c->out[0] * c->out[1], run = c->kernel[1] * c->in_channels;
    for (size_t i = first; i < first + n; i++) {
        const size_t y = i % area / c->out[1] * c->stride[0] - c->pad[0];
        const size_t x = i % c->out[1] * c->stride[1] - c->pad[1];
        const float *image = rows->in + i / area * ox_conv_in_batch(c);
        for (size_t r = 0; r < c->kernel[0]; r++, to += run) {
            const size_t at = y + r * c->dilation[0]; /* wraps above */
            copy_taps(c, at < c->in[0] ? image + at * c->in[1] * c->in_pixel : NULL, x, to);
        }
    }
}

struct job {
    struct ox_conv_rows rows;
    float *to;
};

static void gather_row(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    (void)slot;
    ox_conv_gather_rows(&j->rows, i, 1, j->to + i * depth_of(j->rows.c));
}

void ox_conv_gather(struct ox_env *env, const struct ox_conv *c, const float *in, float *rows)
{
    struct job j = {{c, in}, rows};
    const size_t m = c->batch * c->out[0] * c->out[1];
    ox_spread(env, m, 8 * (double)ox_conv_gather_work(c), gather_row, &j);
}

/* Whether much of the kernel lies above or below the image at most outputs, lines of which are long: OX_CONV_INDIRECT leaves out the rows of
 * the kernel that a tile has no use for. */
static bool reaches_beyond(const struct ox_compute *t, const struct ox_conv *c)
{
    const double inside_least = 0.75;
    const size_t step = c->stride[0], pad = c->pad[0];
    size_t inside = 0;
    for (size_t tap = 0; tap < c->kernel[0]; tap++) {
        const size_t at = tap * c->dilation[0];
        const size_t first = at < pad ? (pad - at + step - 1) / step : 0;
        const size_t end = c->in[0] + pad > at ? (c->in[0] + pad - at - 1) / step + 1 : 0;
        const size_t last = ox_least(end, c->out[0]);
        inside += last > first ? last - first : 0;
    }
    return c->out[1] >= t->mr && (double)inside < inside_least * (double)(c->kernel[0] * c->out[0]);
}

bool ox_conv_gathers_parts(const struct ox_compute *t, const struct ox_conv *c)
{
    const size_t outputs = c->out[0] * c->out[1], m = c->batch * outputs;
    const bool gaps = c->out_batch && c->out_batch != outputs * c->out_pixel;
    return !c->transposed && c->groups == 1 && !gaps && depth_of(c) > 0 &&
           ox_triples_pay(t, m, c->out_channels, depth_of(c)) && !reaches_beyond(t, c);
}

struct ox_dense ox_conv_gathered_product(const struct ox_conv *c, const struct ox_made *made)
{
    return (struct ox_dense){.m = c->batch * c->out[0] * c->out[1],
                             .n = c->out_channels,
                             .k = depth_of(c),
                             .made = made,
                             .c_row = c->out_pixel};
}
