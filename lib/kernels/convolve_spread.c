/* Depthwise ConvTranspose whose kernel is as long as its stride at least, dilation 1: the upsampling of heatmaps and masks. An output
 * row whose position leaves the remainder r by the stride takes the kernel's rows r, r + stride ...; its columns fall into as many
 * phases, each a depthwise convolution of stride 1. Taps are packed phase after phase, the last of each first, for those
 * of lower number read input further on. */
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

bool ox_conv_spread_fits(const struct ox_conv *c)
{
    bool fits = c->transposed && c->groups > 1 && c->groups == c->in_channels &&
                c->groups == c->out_channels;
    for (unsigned axis = 0; axis < 2; axis++)
        fits = fits && c->dilation[axis] == 1 && c->kernel[axis] >= c->stride[axis] &&
               (c->kernel[axis] - 1) / c->stride[axis] < OX_CONV_DEPTHWISE_ROWS;
    return fits;
}

/* Taps of those that leave that remainder. */
static size_t n_taps(const struct ox_conv *c, unsigned axis, size_t rest)
{
    return (c->kernel[axis] - rest - 1) / c->stride[axis] + 1;
}

void ox_conv_spread_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                         enum ox_weight_type type, float *out)
{
    const size_t stride = c->stride[1], all = c->kernel[0] * c->kernel[1];
    for (size_t i = 0; i < c->stride[0] * stride; i++) {
        for (size_t r = n_taps(c, 0, i / stride); r-- > 0;) {
            for (size_t q = n_taps(c, 1, i % stride); q-- > 0;) {
                const size_t tap =
                    (i / stride + r * c->stride[0]) * c->kernel[1] + i % stride + q * stride;
                for (size_t j = 0; j < c->out_channels; j++)
                    *out++ = ox_conv_weight(t, weights, type, j * all + tap);
            }
        }
    }
}

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const float *weights, *in;
    float *out;
    const struct ox_epilogue *end;
    size_t in_batch, out_batch;
    size_t left, line; /* zeros before a framed line, and its pixels, zeros after it too */
    size_t lines;      /* that are held */
    size_t rows;       /* output rows of a task */
    float *work;
};

static size_t slot_floats(const struct job *j)
{
    return ox_round_up((j->lines + 1) * j->line * j->c->in_channels, 16);
}

static void plan(const struct ox_conv *c, struct job *j)
{
    enum { TASKS = 16 };
    const size_t all = c->batch * c->out[0];
    *j = (struct job){.c = c, .lines = n_taps(c, 0, 0), .left = n_taps(c, 1, 0) - 1};
    /* The last output reads (out - 1 + pad) / stride at most. */
    const size_t last = (c->out[1] + c->pad[1]) / c->stride[1] + 1;
    j->line = j->left + (last > c->in[1] ? last : c->in[1]);
    j->rows = (all + TASKS - 1) / TASKS;
    j->rows = j->rows < 2 * c->stride[0] ? 2 * c->stride[0] : j->rows;
}

size_t ox_conv_spread_work(const struct ox_conv *c, const struct ox_env *env)
{
    struct job j;
    plan(c, &j);
    return ox_slots(env) * slot_floats(&j);
}

struct held {
    float *room;                          /* of lines, and then of one that is all zeros */
    size_t known[OX_CONV_DEPTHWISE_ROWS]; /* the input line + 1 in each place */
};

/* Line `at` of all images' between its zeros, which are there from the beginning. */
static const float *framed_line(const struct job *j, struct held *held, size_t image, size_t at)
{
    const struct ox_conv *c = j->c;
    const size_t floats = j->line * c->in_channels, place = at % j->lines;
    if (at >= c->in[0])
        return held->room + j->lines * floats;
    float *to = held->room + place * floats;
    if (held->known[place] != image * c->in[0] + at + 1)
        ox_conv_copy_pixels(c->in[1], c->in_channels,
                            j->in + image * j->in_batch + at * c->in[1] * c->in_pixel, c->in_pixel,
                            to + j->left * c->in_channels, c->in_channels);
    held->known[place] = image * c->in[0] + at + 1;
    return to;
}

static void one_row(const struct job *j, struct held *held, size_t image, size_t y)
{
    const struct ox_conv *c = j->c;
    const size_t stride = c->stride[1], channels = c->in_channels;
    const size_t down = (y + c->pad[0]) % c->stride[0], at = (y + c->pad[0]) / c->stride[0];
    const float *lines[OX_CONV_DEPTHWISE_ROWS], *from[OX_CONV_DEPTHWISE_ROWS];
    struct ox_depthwise d = {.channels = channels,
                             .rows = (unsigned)n_taps(c, 0, down),
                             .row = from,
                             .pixel = channels,
                             .step = 1,
                             .dilation = 1,
                             .weights = j->weights,
                             .weights_ld = channels,
                             .out_pixel = stride * c->out_pixel};
    for (size_t r = 0; r < d.rows; r++)
        lines[r] = framed_line(j, held, image, at - (d.rows - 1 - r)); /* wraps above the image */
    for (size_t rest = 0; rest < down; rest++)
        d.weights += n_taps(c, 0, rest) * c->kernel[1] * channels;
    float *out = j->out + image * j->out_batch + y * c->out[1] * c->out_pixel;
    const bool done = ox_conv_depthwise_begin(&d, j->end, 0);
    for (size_t across = 0; across < stride; across++, d.weights += d.rows * d.cols * channels) {
        const size_t x = (across + stride - c->pad[1] % stride) % stride;
        d.cols = (unsigned)n_taps(c, 1, across);
        if (x >= c->out[1])
            continue;
        for (size_t r = 0; r < d.rows; r++)
            from[r] = lines[r] + ((x + c->pad[1]) / stride + j->left - (d.cols - 1)) * channels;
        d.count = (c->out[1] - x - 1) / stride + 1;
        d.out = out + x * c->out_pixel;
        j->t->depthwise(&d);
    }
    d.out_pixel = c->out_pixel;
    if (!done)
        ox_conv_depthwise_end(j->t, &d, j->end, (image * c->out[0] + y) * c->out[1], 0, c->out[1],
                              out);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_conv *c = j->c;
    struct held held = {.room = j->work + slot * slot_floats(j)};
    memset(held.room, 0, slot_floats(j) * sizeof *held.room);
    for (size_t y = i * j->rows; y < c->batch * c->out[0] && y < (i + 1) * j->rows; y++)
        one_row(j, &held, y / c->out[0], y % c->out[0]);
}

void ox_conv_spread(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    const float *packed, const float *in, float *out, const struct ox_epilogue *end,
                    float *work)
{
    struct job j;
    if (c->out[1] == 0)
        return;
    plan(c, &j);
    j.t = t;
    j.weights = packed;
    j.in = in;
    j.out = out;
    j.end = end;
    j.in_batch = ox_conv_in_batch(c);
    j.out_batch = ox_conv_out_batch(c);
    j.work = work;
    const size_t all = c->batch * c->out[0];
    const double taps =
        (double)(c->kernel[0] * c->kernel[1]) / (double)(c->stride[0] * c->stride[1]);
    ox_spread(env, (all + j.rows - 1) / j.rows,
              6 * taps * (double)all * (double)c->out[1] * (double)c->out_channels, run_task, &j);
}
