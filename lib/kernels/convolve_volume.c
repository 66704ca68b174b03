/* A block of channels of some slices is turned so that they are adjacent, with zeros around. There the lines of a kernel over three
 * axes are but more rows of one over two, and vectors go over channels. */
#include "kernels/convolve_volume.h"

#include <math.h>
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

enum { BLOCK = 16, FRAME = 1 << 17, FRAME_MOST = 1 << 20, TURNED = 1 << 13 };

struct job {
    const struct ox_compute *t;
    const struct ox_volume_conv *c;
    size_t block, blocks; /* channels */
    size_t slices, parts; /* of the output, at a time; how often */
    size_t across[3];     /* of the frame */
    size_t lines;         /* of the output that are turned at once */
    size_t frame, slot;   /* floats */
    const float *weights; /* [taps][channels] */
    float *work;
};

static size_t reach(const struct ox_volume_conv *c, unsigned axis, size_t outputs)
{
    return (outputs - 1) * c->stride[axis] + (c->kernel[axis] - 1) * c->dilation[axis] + 1;
}

static struct job plan(const struct ox_volume_conv *c)
{
    struct job j = {.c = c, .block = ox_least(BLOCK, c->channels), .slices = 1};
    j.blocks = (c->channels + j.block - 1) / j.block;
    j.across[1] = reach(c, 1, c->out[1]);
    j.across[2] = reach(c, 2, c->out[2]);
    const size_t slice = j.across[1] * j.across[2] * j.block;
    while (j.slices < c->out[0] && reach(c, 0, j.slices + 1) * slice <= FRAME)
        j.slices++;
    j.slices = ox_even_part(c->out[0], j.slices, 1);
    j.parts = (c->out[0] + j.slices - 1) / j.slices;
    j.across[0] = reach(c, 0, j.slices);
    j.lines = TURNED / (c->out[2] * j.block) + 1;
    j.lines = ox_least(j.lines, c->out[1]);
    j.frame = ox_round_up(j.across[0] * slice, 16);
    j.slot = j.frame + ox_round_up(j.lines * c->out[2] * j.block, 16);
    return j;
}

bool ox_volume_conv_fits(const struct ox_volume_conv *c)
{
    size_t floats = ox_least(BLOCK, c->channels);
    for (unsigned axis = 0; axis < 3; axis++) {
        if (c->kernel[axis] > FRAME_MOST || c->out[axis] > FRAME_MOST ||
            c->stride[axis] > FRAME_MOST || c->dilation[axis] > FRAME_MOST ||
            c->pad[axis] > FRAME_MOST)
            return false;
        const size_t n = reach(c, axis, axis ? c->out[axis] : 1);
        if (n > FRAME_MOST / floats)
            return false;
        floats *= n;
    }
    return c->channels > 1 && c->kernel[0] * c->kernel[1] <= OX_CONV_DEPTHWISE_ROWS;
}

static size_t weight_floats(const struct ox_volume_conv *c)
{
    return ox_round_up(c->kernel[0] * c->kernel[1] * c->kernel[2] * c->channels, 16);
}

size_t ox_volume_conv_work(const struct ox_env *env, const struct ox_volume_conv *c)
{
    return weight_floats(c) + ox_slots(env) * plan(c).slot;
}

/* What outputs from slice `z` on read of n channels' planes at x. */
static void fill_frame(const struct job *j, const float *x, size_t n, size_t z, float *frame)
{
    const struct ox_volume_conv *c = j->c;
    const size_t plane = c->in[0] * c->in[1] * c->in[2], left = ox_least(c->pad[2], j->across[2]);
    const size_t width = ox_least(c->in[2], j->across[2] - left);
    memset(frame, 0, j->frame * sizeof *frame);
    for (size_t d = 0; d < j->across[0]; d++) {
        const size_t slice = z * c->stride[0] + d - c->pad[0]; /* wraps before the first */
        for (size_t h = 0; slice < c->in[0] && h < j->across[1]; h++) {
            const size_t line = h - c->pad[1];
            if (line < c->in[1])
                j->t->transpose(n, width, x + (slice * c->in[1] + line) * c->in[2], plane,
                                frame + ((d * j->across[1] + h) * j->across[2] + left) * n, n);
        }
    }
}

/* Output lines [y, y + lines) of slice `z` of the frame, to planes at `out`. */
static void some_lines(const struct job *j, struct ox_depthwise *d, const float *frame, size_t z,
                       size_t y, size_t lines, float *turned, float *out)
{
    const struct ox_volume_conv *c = j->c;
    const float *row[OX_CONV_DEPTHWISE_ROWS];
    d->row = row;
    for (size_t line = 0; line < lines; line++) {
        for (size_t r = 0; r < d->rows; r++) {
            const size_t down = z * c->stride[0] + r / c->kernel[1] * c->dilation[0];
            const size_t at = (y + line) * c->stride[1] + r % c->kernel[1] * c->dilation[1];
            row[r] = frame + (down * j->across[1] + at) * j->across[2] * d->channels;
        }
        d->out = turned + line * c->out[2] * d->channels;
        j->t->depthwise(d);
    }
    j->t->transpose(lines * c->out[2], d->channels, turned, d->channels, out + y * c->out[2],
                    c->out[0] * c->out[1] * c->out[2]);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_volume_conv *c = j->c;
    const size_t z = i % j->parts * j->slices, first = i / j->parts % j->blocks * j->block;
    const size_t image = i / j->parts / j->blocks, n = ox_least(j->block, c->channels - first);
    const size_t plane = image * c->channels + first;
    float *frame = j->work + slot * j->slot;
    struct ox_depthwise d = {.channels = n,
                             .count = c->out[2],
                             .rows = (unsigned)(c->kernel[0] * c->kernel[1]),
                             .cols = (unsigned)c->kernel[2],
                             .pixel = n,
                             .step = c->stride[2],
                             .dilation = c->dilation[2],
                             .weights = j->weights + first,
                             .weights_ld = c->channels,
                             .bias = c->bias ? c->bias + first : NULL,
                             .out_pixel = n,
                             .lo = -INFINITY,
                             .hi = INFINITY};
    fill_frame(j, c->x + plane * c->in[0] * c->in[1] * c->in[2], n, z, frame);
    for (size_t s = 0; s < j->slices && z + s < c->out[0]; s++)
        for (size_t y = 0; y < c->out[1]; y += j->lines)
            some_lines(j, &d, frame, s, y, ox_least(j->lines, c->out[1] - y), frame + j->frame,
                       c->y + (plane * c->out[0] + z + s) * c->out[1] * c->out[2]);
}

void ox_volume_conv_run(const struct ox_compute *t, struct ox_env *env,
                        const struct ox_volume_conv *c, float *work)
{
    const size_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    struct job j = plan(c);
    t->transpose(c->channels, taps, c->weights, taps, work, c->channels);
    j.t = t;
    j.weights = work;
    j.work = work + weight_floats(c);
    const double outputs =
        (double)(c->batch * c->channels) * (double)(c->out[0] * c->out[1]) * (double)c->out[2];
    ox_spread_sums(env, c->batch * j.blocks * j.parts, 6 * outputs * (double)taps, run_task, &j);
}
