/* Convolution of groups of two or four channels, as many out as in, as a depthwise one: an output is the sum of what its own channel gives
 * and the next ones of its group, around. So the lines of a block of channels lie in a ring once for each such turn, and a kernel row is as
 * many rows of the depthwise kernel, whose vectors are full. */
#include <math.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_impl.h"
#include "kernels/inline.h"
#include "kernels/sizes.h"

/* Channels of a block; floats of its ring, at most. */
enum { BLOCK = 8, TURNS_MOST = 4, NEAR_FLOATS = 1 << 15 };

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const float *weights, *in;
    float *out;
    const struct ox_epilogue *end;
    size_t turns;             /* channels of a group */
    size_t across;            /* pixels of a framed line */
    size_t lines;             /* of the ring */
    size_t blocks, rows;      /* of channels; output rows of a task */
    size_t line, place, ring; /* floats of a line, of all its turns, of the ring */
    size_t slot;              /* of a task's own: ring, the row that is made and its bias */
    float *work;              /* first a line of zeros */
};

/* False: too much, or nothing. */
static bool plan(const struct ox_conv *c, struct job *j)
{
    enum { TASKS = 16 };
    *j = (struct job){.c = c, .turns = c->in_channels / c->groups};
    const size_t all = c->batch * c->out[0];
    if (all == 0 || c->out[1] == 0)
        return false;
    j->across = (c->out[1] - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1;
    j->lines = ox_conv_height(c);
    if (j->across > SIZE_MAX / 64 / (j->lines + 1) / (BLOCK * TURNS_MOST))
        return false;
    j->line = j->across * BLOCK;
    j->place = j->turns * j->line;
    j->ring = j->lines * j->place;
    j->blocks = (c->in_channels + BLOCK - 1) / BLOCK;
    j->slot = ox_round_up(j->ring + 2 * c->out[1] * BLOCK, 16);
    /* Neighbouring tasks copy the lines that they share: blocks are tasks first. */
    const size_t parts = (TASKS + j->blocks - 1) / j->blocks;
    j->rows = (all + parts - 1) / parts;
    j->rows = j->rows < 2 * j->lines ? 2 * j->lines : j->rows;
    return true;
}

bool ox_conv_turned_fits(const struct ox_conv *c)
{
    struct job j;
    if (c->transposed || c->planar || c->groups < 2 || c->in_channels != c->out_channels ||
        !ox_conv_lines_fit(c))
        return false;
    const size_t n = c->in_channels / c->groups;
    return (n == 2 || n == TURNS_MOST) && plan(c, &j) && j.ring <= NEAR_FLOATS;
}

void ox_conv_turned_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                         enum ox_weight_type type, float *out)
{
    const size_t taps = c->kernel[0] * c->kernel[1], turns = c->in_channels / c->groups;
    for (size_t r = 0; r < c->kernel[0]; r++)
        for (size_t s = 0; s < turns; s++)
            for (size_t q = 0; q < c->kernel[1]; q++)
                for (size_t j = 0; j < c->out_channels; j++) {
                    const size_t from = j * turns + (j + s) % turns;
                    *out++ = ox_conv_weight(t, weights, type, from * taps + r * c->kernel[1] + q);
                }
}

static size_t zero_floats(const struct job *j)
{
    return ox_round_up(j->line, 16);
}

size_t ox_conv_turned_work(const struct ox_conv *c, const struct ox_env *env)
{
    struct job j;
    size_t all;
    if (c->batch == 0 || c->out[0] == 0 || c->out[1] == 0)
        return 0;
    if (!plan(c, &j) || OX_MUL_OVERFLOWS(j.slot, ox_slots(env), &all) || all > SIZE_MAX / 2)
        return SIZE_MAX;
    return zero_floats(&j) + all;
}

/* n pixels of `channels` floats, in each of `turns` lines by one more place of their group. */
INLINE void turn(const size_t turns, size_t n, size_t channels, const float *restrict from,
                 size_t pixel, float *restrict to, size_t line)
{
    for (size_t x = 0; x < n; x++, from += pixel, to += channels)
        for (size_t u = 0; u < channels; u += turns)
#pragma GCC unroll 8
            for (size_t s = 0; s < turns; s++)
#pragma GCC unroll 8
                for (size_t q = 0; q < turns; q++)
                    to[s * line + u + q] = from[u + (q + s) % turns];
}

struct ring {
    size_t held[OX_CONV_NARROW_LINES]; /* line + 1 of the batch that is in each place */
    const float *row[OX_CONV_NARROW_ROWS * TURNS_MOST];
    float *room, *line; /* and the row that is made */
    float *bias;        /* of all its pixels */
};

/* What lies between the zeros of a line, which stay. */
static void turn_line(const struct job *j, size_t channels, const float *from, float *to)
{
    const struct ox_conv *c = j->c;
    const size_t left = ox_least(c->pad[1], j->across), n = ox_least(c->in[1], j->across - left);
    to += left * channels;
    if (j->turns == 2)
        turn(2, n, channels, from, c->in_pixel, to, j->line);
    else
        turn(TURNS_MOST, n, channels, from, c->in_pixel, to, j->line);
}

static void find_rows(const struct job *j, size_t image, size_t y, size_t first, size_t channels,
                      struct ring *ring)
{
    const struct ox_conv *c = j->c;
    for (size_t r = 0; r < c->kernel[0]; r++) {
        const size_t at = y * c->stride[0] + r * c->dilation[0] - c->pad[0]; /* wraps above */
        const size_t place = at % j->lines, known = image * c->in[0] + at + 1;
        float *to = ring->room + place * j->place;
        if (at < c->in[0] && ring->held[place] != known) {
            turn_line(j, channels,
                      j->in + image * ox_conv_in_batch(c) + at * c->in[1] * c->in_pixel + first,
                      to);
            ring->held[place] = known;
        }
        for (size_t s = 0; s < j->turns; s++)
            ring->row[r * j->turns + s] = at < c->in[0] ? to + s * j->line : j->work;
    }
}

/* A row begins with pixel `row` of all images. */
static void end_line(const struct job *j, size_t row, size_t first, size_t channels,
                     const struct ring *ring)
{
    struct ox_epilogue end = ox_end_at(j->end, row, first);
    const size_t n = j->c->out[1];
    end.row_bias = NULL;
    if (end.residual) {
        ox_end_all(j->t, n, channels, ring->line, channels, &end);
        return;
    }
    end.col_bias = end.col_bias ? ring->bias : NULL;
    ox_end_all(j->t, 1, n * channels, ring->line, 0, &end);
}

/* Channels [first, first + channels) of a row of outputs. The bias comes last: begun with it, each of so many sums is rounded to its size. */
static void one_row(const struct job *j, size_t image, size_t y, size_t first, size_t channels,
                    struct ring *ring)
{
    const struct ox_conv *c = j->c;
    float *out = j->out + image * ox_conv_out_batch(c) + y * c->out[1] * c->out_pixel + first;
    struct ox_depthwise d = {.channels = channels,
                             .count = c->out[1],
                             .rows = (unsigned)(c->kernel[0] * j->turns),
                             .cols = (unsigned)c->kernel[1],
                             .row = ring->row,
                             .pixel = channels,
                             .step = c->stride[1],
                             .dilation = c->dilation[1],
                             .weights = j->weights + first,
                             .weights_ld = c->out_channels,
                             .out = ring->line,
                             .out_pixel = channels,
                             .lo = -INFINITY,
                             .hi = INFINITY};
    find_rows(j, image, y, first, channels, ring);
    j->t->depthwise(&d);
    end_line(j, (image * c->out[0] + y) * c->out[1], first, channels, ring);
    ox_conv_copy_pixels(c->out[1], channels, ring->line, channels, out, c->out_pixel);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_conv *c = j->c;
    const size_t all = c->batch * c->out[0], y0 = i / j->blocks * j->rows;
    const size_t first = i % j->blocks * BLOCK;
    const size_t channels = ox_least(BLOCK, c->in_channels - first);
    struct ring ring = {.room = j->work + zero_floats(j) + slot * j->slot};
    ring.line = ring.room + j->ring;
    ring.bias = ring.line + c->out[1] * BLOCK;
    memset(ring.room, 0, j->ring * sizeof *ring.room);
    for (size_t x = 0; j->end->col_bias && x < c->out[1]; x++)
        memcpy(ring.bias + x * channels, j->end->col_bias + first, channels * sizeof *ring.bias);
    for (size_t y = y0; y < all && y < y0 + j->rows; y++)
        one_row(j, y / c->out[0], y % c->out[0], first, channels, &ring);
}

void ox_conv_turned(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    const float *packed, const float *in, float *out, const struct ox_epilogue *end,
                    float *work)
{
    struct job j;
    if (!plan(c, &j))
        return;
    j.t = t;
    j.weights = packed;
    j.in = in;
    j.out = out;
    j.end = end;
    j.work = work;
    memset(work, 0, zero_floats(&j) * sizeof *work);
    const size_t all = c->batch * c->out[0];
    const double flops = 2.0 * (double)all * (double)c->out[1] * (double)c->out_channels *
                         (double)(c->kernel[0] * c->kernel[1] * j.turns);
    ox_spread_sums(env, (all + j.rows - 1) / j.rows * j.blocks, flops, run_task, &j);
}
