/* Depthwise convolution, and that of groups of few channels: an output row at a time, vectors over channels. Of a narrow image each line is copied once between
 * its zeros, into a ring of as many lines as the kernel is high; for kernels of many taps of so few channels at a time that the
 * ring stays in L1, where their pixels are adjacent. Of a wide one only the outputs whose taps leave the image at the left or
 * right are computed from a small patch that has the zeros in it. */
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/inline.h"
#include "kernels/sizes.h"

void ox_conv_depthwise_pack(const struct ox_compute *t, const struct ox_conv *c,
                            const void *weights, enum ox_weight_type type, float *out)
{
    const size_t taps = c->kernel[0] * c->kernel[1];
    if (type == OX_WEIGHT_F32) {
        t->transpose(c->out_channels, taps, weights, taps, out, c->out_channels);
        return;
    }
    for (size_t tap = 0; tap < taps; tap++) {
        for (size_t j = 0; j < c->out_channels; j++)
            *out++ = ox_conv_weight(t, weights, type, j * taps + tap);
    }
}

/* Channels of a group: of a depthwise convolution 1. */
static size_t turns_of(const struct ox_conv *c)
{
    return c->in_channels / c->groups;
}

bool ox_conv_turned_fits(const struct ox_compute *t, const struct ox_conv *c)
{
    const size_t n = c->groups ? turns_of(c) : 0;
    return !c->transposed && !c->planar && c->groups > 1 && c->in_channels == c->out_channels &&
           c->kernel[0] <= OX_CONV_DEPTHWISE_ROWS && n >= 2 && n <= t->turns_most &&
           (n & (n - 1)) == 0;
}

void ox_conv_turned_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                         enum ox_weight_type type, float *out)
{
    const size_t taps = c->kernel[0] * c->kernel[1], turns = turns_of(c);
    for (size_t r = 0; r < c->kernel[0]; r++)
        for (size_t s = 0; s < turns; s++)
            for (size_t q = 0; q < c->kernel[1]; q++)
                for (size_t j = 0; j < c->out_channels; j++) {
                    const size_t from = j * turns + (j + s) % turns;
                    *out++ = ox_conv_weight(t, weights, type, from * taps + r * c->kernel[1] + q);
                }
}

enum { NARROW = 32, RING_FLOATS = 1 << 17, RING_LINES = 64 };
/* Taps from which on channels are taken a block at a time; floats of the ring of one, and at most. */
enum { MANY_TAPS = 15, NEAR_FLOATS = 8192, NEAR_MOST = 16384, BLOCK = 16 };

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const float *weights, *in;
    float *out;
    const struct ox_epilogue *end;
    size_t in_batch, out_batch;
    size_t inner[2]; /* outputs [inner[0], inner[1]) of a row have all columns of taps inside */
    size_t edge;     /* most outputs that are done from a patch at once */
    size_t patch;    /* its pixels across */
    size_t ring;     /* lines of the ring; 0: patches */
    size_t block, blocks; /* channels in the ring, and how often */
    size_t rows;          /* output rows of a task */
    size_t slot;          /* floats of work */
    const float *zeros;   /* a row of the image */
    float *work;
};

static size_t span(const struct ox_conv *c, size_t outputs)
{
    return (outputs - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1;
}

/* A block and its finished row take a slot. Neighbouring tasks copy the lines that they share: blocks are tasks first. */
static void plan_blocks(const struct ox_conv *c, size_t lines, size_t across, struct job *j)
{
    enum { TASKS = 16 };
    const size_t most = NEAR_FLOATS / (across * lines + 1) / BLOCK * BLOCK;
    const size_t all = c->batch * c->out[0];
    j->ring = lines;
    j->block = ox_even_part(c->in_channels, most > BLOCK ? most : BLOCK, BLOCK);
    j->blocks = (c->in_channels + j->block - 1) / j->block;
    const size_t parts = (TASKS + j->blocks - 1) / j->blocks;
    j->rows = (all + parts - 1) / parts;
    j->rows = j->rows < 2 * lines ? 2 * lines : j->rows;
    j->slot = (across * lines + c->out[1]) * j->block;
    j->slot = (j->slot + 15) / 16 * 16;
}

static void plan(const struct ox_conv *c, struct job *j)
{
    enum { EDGE = 8, TASKS = 16 };
    const size_t reach = (c->kernel[1] - 1) * c->dilation[1];
    j->c = c;
    size_t first = (c->pad[1] + c->stride[1] - 1) / c->stride[1];
    size_t end =
        c->in[1] + c->pad[1] > reach ? (c->in[1] + c->pad[1] - reach - 1) / c->stride[1] + 1 : 0;
    end = ox_least(end, c->out[1]);
    first = ox_least(first, c->out[1]);
    j->inner[0] = first;
    j->inner[1] = end > first ? end : first;
    j->edge = c->out[1] ? ox_least(EDGE, c->out[1]) : 1;
    j->patch = span(c, j->edge);
    const size_t all = c->batch * c->out[0];
    j->rows = (all + TASKS - 1) / TASKS;
    j->rows = j->rows ? j->rows : 1;
    j->slot = (j->patch * c->kernel[0] * c->in_channels + 15) / 16 * 16;
    const size_t lines = ox_conv_height(c);
    const size_t across = c->out[1] ? span(c, c->out[1]) : 0, line = across * c->in_channels;
    j->block = c->in_channels;
    j->blocks = 1;
    j->ring = c->out[1] <= NARROW && lines <= RING_LINES && line * lines <= RING_FLOATS ? lines : 0;
    if (c->kernel[0] * c->kernel[1] >= MANY_TAPS && lines <= RING_LINES &&
        across * lines * BLOCK <= NEAR_MOST) {
        plan_blocks(c, lines, across, j);
        return;
    }
    if (j->ring == 0)
        return;
    j->slot = (line * lines + 15) / 16 * 16;
    /* Neighbouring tasks copy the lines that they share: not too many tasks. */
    const size_t least = 16384 / (c->out[1] * c->out_channels + 1) + 1;
    j->rows = j->rows < least ? least : j->rows;
}

static size_t zero_floats(const struct ox_conv *c)
{
    const size_t line = c->in[1] * c->in_pixel;
    const size_t framed = c->out[1] ? span(c, c->out[1]) * c->in_channels : 0;
    return ((line > framed ? line : framed) + 15) / 16 * 16;
}

/* The same of input whose channels are there once for each output channel. */
static struct ox_conv repeated(const struct ox_conv *c)
{
    struct ox_conv wide = *c;
    wide.in_channels = wide.groups = wide.in_pixel = c->out_channels;
    wide.in_batch = 0;
    return wide;
}

static size_t repeated_floats(const struct ox_conv *c)
{
    return ox_round_up(c->batch * c->in[0] * c->in[1] * c->out_channels, 16);
}

size_t ox_conv_depthwise_work(const struct ox_conv *c, const struct ox_env *env)
{
    struct job j;
    if (c->out_channels > c->in_channels) {
        const struct ox_conv wide = repeated(c);
        return repeated_floats(c) + ox_conv_depthwise_work(&wide, env);
    }
    if (turns_of(c) == 1 && ox_conv_upright_fits(c))
        return ox_conv_upright_work(c, env);
    plan(c, &j);
    return zero_floats(c) + ox_slots(env) * j.slot;
}

static void run_kernel(const struct job *j, const struct ox_depthwise *d)
{
    if (d->turns > 1)
        j->t->turned(d);
    else
        j->t->depthwise(d);
}

/* Outputs [x, x + n) of a row, from a patch in which columns outside the image are zeros. */
static void from_patch(const struct job *j, struct ox_depthwise *d, const float *const *lines,
                       size_t x, size_t n, float *patch, const float **rows)
{
    const struct ox_conv *c = j->c;
    const size_t across = span(c, n), channels = c->in_channels;
    for (unsigned r = 0; r < d->rows; r++) {
        float *to = patch + r * across * channels;
        rows[r] = to;
        for (size_t q = 0; q < across; q++, to += channels) {
            const size_t at = x * c->stride[1] + q - c->pad[1]; /* wraps left of the image */
            if (at < c->in[1])
                memcpy(to, lines[r] + at * c->in_pixel, channels * sizeof *to);
            else
                memset(to, 0, channels * sizeof *to);
        }
    }
    d->row = rows;
    d->pixel = channels;
    d->count = n;
    run_kernel(j, d);
}

struct row {
    const float *lines[OX_CONV_DEPTHWISE_ROWS], *at[OX_CONV_DEPTHWISE_ROWS];
    size_t held[RING_LINES]; /* input line + 1 in each place of the ring */
    float *room;
};

static struct ox_depthwise describe(const struct job *j)
{
    const struct ox_conv *c = j->c;
    return (struct ox_depthwise){.channels = c->out_channels,
                                 .rows = (unsigned)c->kernel[0],
                                 .cols = (unsigned)c->kernel[1],
                                 .step = c->stride[1],
                                 .dilation = c->dilation[1],
                                 .weights = j->weights,
                                 .weights_ld = c->out_channels,
                                 .turns = (unsigned)turns_of(c),
                                 .out_pixel = c->out_pixel};
}

static void wide_row(const struct job *j, struct ox_depthwise *d, float *out, struct row *row)
{
    const struct ox_conv *c = j->c;
    for (size_t x = 0; x < c->out[1]; x += d->count) {
        d->out = out + x * c->out_pixel;
        if (x < j->inner[0] || x >= j->inner[1]) {
            const size_t stop = x < j->inner[0] ? j->inner[0] : c->out[1];
            from_patch(j, d, row->lines, x, ox_least(j->edge, stop - x), row->room, row->at);
            continue;
        }
        for (size_t r = 0; r < c->kernel[0]; r++)
            row->at[r] = row->lines[r] + (x * c->stride[1] - c->pad[1]) * c->in_pixel;
        d->row = row->at;
        d->pixel = c->in_pixel;
        d->count = j->inner[1] - x;
        d->ahead = c->dilation[0] == 1;
        run_kernel(j, d);
        d->ahead = false;
    }
}

/* Channels [first, first + d->channels), which alone are in the ring. */
static void ring_row(const struct job *j, struct ox_depthwise *d, size_t image, size_t y,
                     size_t first, struct row *row)
{
    const struct ox_conv *c = j->c;
    const size_t line = span(c, c->out[1]) * d->channels;
    for (size_t r = 0; r < c->kernel[0]; r++) {
        const size_t at = y * c->stride[0] + r * c->dilation[0] - c->pad[0];
        row->at[r] = j->zeros;
        if (at >= c->in[0])
            continue;
        const size_t place = at % j->ring, known = image * c->in[0] + at + 1;
        float *to = row->room + place * line;
        if (row->held[place] != known)
            ox_conv_frame_pixels(span(c, c->out[1]), c->pad[1], c->in[1], d->channels,
                                 row->lines[r] + first, c->in_pixel, to);
        row->held[place] = known;
        row->at[r] = to;
    }
    d->row = row->at;
    d->pixel = d->channels;
    d->count = c->out[1];
    run_kernel(j, d);
}

static void one_row(const struct job *j, size_t image, size_t y, size_t first, struct row *row)
{
    const struct ox_conv *c = j->c;
    struct ox_depthwise d = describe(j);
    const size_t pixel = (image * c->out[0] + y) * c->out[1];
    float *out = j->out + image * j->out_batch + y * c->out[1] * c->out_pixel + first;
    const bool done = ox_conv_depthwise_begin(&d, j->end, first), aside = !done && j->blocks > 1;
    d.channels = ox_least(j->block, c->in_channels - first);
    d.weights += first;
    d.out = aside ? row->room + j->ring * span(c, c->out[1]) * j->block : out;
    d.out_pixel = aside ? d.channels : c->out_pixel;
    for (size_t r = 0; r < c->kernel[0]; r++) {
        const size_t at = y * c->stride[0] + r * c->dilation[0] - c->pad[0];
        row->lines[r] =
            at < c->in[0] ? j->in + image * j->in_batch + at * c->in[1] * c->in_pixel : j->zeros;
    }
    if (j->ring)
        ring_row(j, &d, image, y, first, row);
    else
        wide_row(j, &d, out, row);
    if (!done)
        ox_conv_depthwise_end(j->t, &d, j->end, pixel, first, c->out[1], aside ? d.out : out);
    if (aside)
        ox_conv_copy_pixels(c->out[1], d.channels, d.out, d.out_pixel, out, c->out_pixel);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_conv *c = j->c;
    struct row row = {.room = j->work + slot * j->slot};
    const size_t all = c->batch * c->out[0], y0 = i / j->blocks * j->rows;
    for (size_t y = y0; y < all && y < y0 + j->rows; y++)
        one_row(j, y / c->out[0], y % c->out[0], i % j->blocks * j->block, &row);
}

struct repeating {
    const struct ox_conv *c;
    const float *in;
    float *out;
};

INLINE void repeat_each(size_t n, const size_t times, const float *restrict in, float *restrict out)
{
    for (size_t j = 0; j < n; j++, out += times)
        for (size_t i = 0; i < times; i++)
            out[i] = in[j];
}

static void repeat_line(void *arg, size_t i, size_t slot)
{
    const struct repeating *r = arg;
    const struct ox_conv *c = r->c;
    const size_t times = c->out_channels / c->in_channels, n = c->in_channels;
    const float *in =
        r->in + i / c->in[0] * ox_conv_in_batch(c) + i % c->in[0] * c->in[1] * c->in_pixel;
    float *out = r->out + i * c->in[1] * c->out_channels;
    (void)slot;
    for (size_t x = 0; x < c->in[1]; x++, in += c->in_pixel, out += c->out_channels) {
        if (times == 2)
            repeat_each(n, 2, in, out);
        else if (times == 4)
            repeat_each(n, 4, in, out);
        else
            repeat_each(n, times, in, out);
    }
}

void ox_conv_depthwise(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                       const float *packed, const float *in, float *out,
                       const struct ox_epilogue *end, float *work)
{
    struct job j;
    if (c->out_channels == 0 || c->out[1] == 0)
        return;
    if (c->out_channels > c->in_channels) {
        const struct ox_conv wide = repeated(c);
        struct repeating r = {.c = c, .in = in, .out = work};
        const size_t lines = c->batch * c->in[0];
        ox_spread_sums(env, lines, 2.0 * (double)repeated_floats(c), repeat_line, &r);
        ox_conv_depthwise(t, env, &wide, packed, r.out, out, end, work + repeated_floats(c));
        return;
    }
    if (turns_of(c) == 1 && ox_conv_upright_fits(c)) {
        ox_conv_upright(t, env, c, packed, in, out, end, work);
        return;
    }
    plan(c, &j);
    j.t = t;
    j.weights = packed;
    j.in = in;
    j.out = out;
    j.end = end;
    j.in_batch = ox_conv_in_batch(c);
    j.out_batch = ox_conv_out_batch(c);
    j.zeros = work;
    j.work = work + zero_floats(c);
    memset(work, 0, zero_floats(c) * sizeof *work);
    const size_t all = c->batch * c->out[0];
    const double flops = 2.0 * (double)all * (double)c->out[1] * (double)c->out_channels *
                         (double)(c->kernel[0] * c->kernel[1] * turns_of(c));
    ox_spread_sums(env, (all + j.rows - 1) / j.rows * j.blocks, flops * 3, run_task, &j);
}
