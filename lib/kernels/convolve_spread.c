/* ConvTranspose of groups of few channels, depthwise above all: the upsampling of heatmaps and masks. An output row whose position
 * leaves some remainder by the stride takes some of the kernel's rows; its columns fall into as many phases, each a depthwise
 * convolution of stride 1. Where groups have several channels, a line is copied once for each of them, so that every output channel
 * finds its own: they are further rows of the kernel. Taps are packed phase after phase, the last of each first, for
 * those of lower number read input further on. Phases that no tap reaches read zeros. */
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

enum { STRIDE_MOST = 32, LINES = 64 };

/* Input lines or columns from the first tap of an output to its last. */
static size_t reach(const struct ox_conv *c, unsigned axis)
{
    return (c->kernel[axis] - 1) * c->dilation[axis] / c->stride[axis];
}

/* Taps of an axis' phase, at most. */
static size_t taps_most(const struct ox_conv *c, unsigned axis)
{
    struct ox_conv_phase p;
    size_t most = 0;
    for (size_t rest = 0; rest < c->stride[axis]; rest++)
        if (ox_conv_phase(c, axis ? rest : rest * c->stride[1], &p) && p.taps[axis] > most)
            most = p.taps[axis];
    return most;
}

bool ox_conv_spread_fits(const struct ox_conv *c)
{
    enum { INNER = 8, OUTER = 16, RING = 1 << 17 };
    const size_t k = c->in_channels / c->groups, n = c->out_channels / c->groups;
    if (!c->transposed || c->groups == 1 || k == 0 || k > INNER || n > OUTER)
        return false;
    for (unsigned axis = 0; axis < 2; axis++)
        if (c->kernel[axis] == 0 || c->stride[axis] > STRIDE_MOST ||
            taps_most(c, axis) * (axis ? 1 : k) > OX_CONV_DEPTHWISE_ROWS)
            return false;
    const size_t lines = reach(c, 0) + 1;
    return lines <= LINES &&
           (k == 1 || lines * k * (c->in[1] + reach(c, 1)) * c->out_channels <= RING);
}

void ox_conv_spread_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                         enum ox_weight_type type, float *out)
{
    const size_t all = c->kernel[0] * c->kernel[1], n = c->out_channels / c->groups;
    const size_t k = c->in_channels / c->groups;
    struct ox_conv_phase p;
    for (size_t i = 0; ox_conv_phase(c, i, &p); i++) {
        for (size_t row = p.taps[0] * k; row-- > 0;) {
            for (size_t q = p.taps[1]; q-- > 0;) {
                const size_t tap = (p.first_tap[0] + row / k * p.tap_step[0]) * c->kernel[1] +
                                   p.first_tap[1] + q * p.tap_step[1];
                for (size_t j = 0; j < c->out_channels; j++)
                    *out++ = ox_conv_weight(t, weights, type,
                                            ((j / n * k + row % k) * n + j % n) * all + tap);
            }
        }
    }
}

/* A remainder on one axis: what output number `first` reads, tap 0 at `offset`, the next `spacing` before. */
struct phase {
    size_t first, count, taps, spacing;
    ptrdiff_t offset;
};

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const float *weights, *in;
    float *out;
    const struct ox_epilogue *end;
    struct phase phase[2][STRIDE_MOST];
    size_t in_batch, out_batch;
    size_t inner;      /* input channels of a group */
    size_t left, line; /* zeros before a framed line, and its pixels, zeros after it too */
    size_t lines;      /* that are held, `inner` times each */
    size_t rows;       /* output rows of a task */
    float *work;
};

static size_t slot_floats(const struct job *j)
{
    return ox_round_up((j->lines * j->inner + 1) * j->line * j->c->out_channels, 16);
}

static void plan(const struct ox_conv *c, struct job *j)
{
    enum { TASKS = 16 };
    const size_t all = c->batch * c->out[0];
    *j = (struct job){
        .c = c, .inner = c->in_channels / c->groups, .lines = reach(c, 0) + 1, .left = reach(c, 1)};
    /* The last output reads (out - 1 + pad) / stride at most. */
    const size_t last = (c->out[1] + c->pad[1]) / c->stride[1] + 1;
    j->line = j->left + (last > c->in[1] ? last : c->in[1]);
    j->rows = (all + TASKS - 1) / TASKS;
    j->rows = j->rows < 2 * c->stride[0] ? 2 * c->stride[0] : j->rows;
    for (unsigned axis = 0; axis < 2; axis++) {
        for (size_t rest = 0; rest < c->stride[axis]; rest++) {
            struct ox_conv_phase p;
            ox_conv_phase(c, axis ? rest : rest * c->stride[1], &p);
            j->phase[axis][rest] = (struct phase){.first = p.first_out[axis],
                                                  .count = p.count[axis],
                                                  .taps = p.taps[axis],
                                                  .spacing = (size_t)-p.tap_offset[axis],
                                                  .offset = p.offset[axis]};
        }
    }
}

size_t ox_conv_spread_work(const struct ox_conv *c, const struct ox_env *env)
{
    struct job j;
    plan(c, &j);
    return ox_slots(env) * slot_floats(&j);
}

struct held {
    float *room;         /* of lines, and then of one that is all zeros */
    size_t known[LINES]; /* the input line + 1 in each place */
};

/* Pixels as every output channel finds them that reads channel number `at` of its group, of k for n. */
static inline void copy_channel(const struct ox_conv *c, size_t at, size_t k, size_t n,
                                const float *from, float *to)
{
    for (size_t x = 0; x < c->in[1]; x++, from += c->in_pixel)
        for (size_t u = at; u < c->in_channels; u += k, to += n)
            for (size_t i = 0; i < n; i++)
                to[i] = from[u];
}

static void copy_grouped(const struct ox_conv *c, size_t at, const float *from, float *to)
{
    const size_t k = c->in_channels / c->groups, n = c->out_channels / c->groups;
    switch (n) {
    case 2:
        copy_channel(c, at, k, 2, from, to);
        break;
    case 4:
        copy_channel(c, at, k, 4, from, to);
        break;
    case 8:
        copy_channel(c, at, k, 8, from, to);
        break;
    default:
        copy_channel(c, at, k, n, from, to);
    }
}

/* Line `at` of all images' between its zeros, which are there from the beginning, once for each channel of a group. */
static const float *framed_lines(const struct job *j, struct held *held, size_t image, size_t at)
{
    const struct ox_conv *c = j->c;
    const size_t channels = c->out_channels, floats = j->line * channels, place = at % j->lines;
    float *to = held->room + place * j->inner * floats + j->left * channels;
    if (held->known[place] != image * c->in[0] + at + 1) {
        const float *from = j->in + image * j->in_batch + at * c->in[1] * c->in_pixel;
        if (c->groups == channels && j->inner == 1)
            ox_conv_copy_pixels(c->in[1], channels, from, c->in_pixel, to, channels);
        else
            for (size_t i = 0; i < j->inner; i++)
                copy_grouped(c, i, from, to + i * floats);
    }
    held->known[place] = image * c->in[0] + at + 1;
    return to;
}

/* The lines that an output row reads, from their first pixel, last tap first; gives how many. */
static size_t find_lines(const struct job *j, struct held *held, size_t image, size_t y,
                         const struct phase *p, const float **lines)
{
    const struct ox_conv *c = j->c;
    const size_t floats = j->line * c->out_channels;
    const float *zeros = held->room + j->lines * j->inner * floats + j->left * c->out_channels;
    size_t n = 0;
    for (size_t r = p->taps; r-- > 0;) {
        const size_t at = (size_t)p->offset + (y - p->first) / c->stride[0] -
                          r * p->spacing; /* wraps above the image */
        const float *first = at < c->in[0] ? framed_lines(j, held, image, at) : zeros;
        for (size_t i = j->inner; i-- > 0;)
            lines[n++] = at < c->in[0] ? first + i * floats : zeros;
    }
    return n;
}

static void one_row(const struct job *j, struct held *held, size_t image, size_t y)
{
    const struct ox_conv *c = j->c;
    const size_t channels = c->out_channels, down = (y + c->pad[0]) % c->stride[0];
    const float *lines[OX_CONV_DEPTHWISE_ROWS], *from[OX_CONV_DEPTHWISE_ROWS];
    const float *zeros = held->room + j->lines * j->inner * j->line * channels;
    const size_t rows = find_lines(j, held, image, y, &j->phase[0][down], lines);
    struct ox_depthwise d = {.channels = channels,
                             .row = from,
                             .pixel = channels,
                             .step = 1,
                             .weights_ld = channels,
                             .out_pixel = c->stride[1] * c->out_pixel};
    const float *weights = j->weights;
    for (size_t rest = 0; rest < down; rest++)
        weights += j->phase[0][rest].taps * j->inner * c->kernel[1] * channels;
    float *out = j->out + image * j->out_batch + y * c->out[1] * c->out_pixel;
    const bool done = ox_conv_depthwise_begin(&d, j->end, 0);
    for (size_t across = 0; across < c->stride[1]; across++) {
        const struct phase *p = &j->phase[1][across];
        const bool any = rows > 0 && p->taps > 0;
        d.rows = any ? (unsigned)rows : 1;
        d.cols = any ? (unsigned)p->taps : 1;
        d.dilation = any ? p->spacing : 1;
        d.weights = any ? weights : zeros;
        weights += rows * p->taps * channels;
        from[0] = zeros;
        for (size_t r = 0; any && r < rows; r++)
            from[r] = lines[r] +
                      (p->offset - (ptrdiff_t)((p->taps - 1) * p->spacing)) * (ptrdiff_t)channels;
        d.count = p->count;
        d.out = out + p->first * c->out_pixel;
        if (p->count)
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
        (double)(c->kernel[0] * c->kernel[1] * j.inner) / (double)(c->stride[0] * c->stride[1]);
    ox_spread_sums(env, (all + j.rows - 1) / j.rows,
                   6 * taps * (double)all * (double)c->out[1] * (double)c->out_channels, run_task,
                   &j);
}
