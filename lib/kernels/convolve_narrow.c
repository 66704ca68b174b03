/* Convolution of few channels (first layers), or of some more where Winograd does not serve: lines are copied once between their zeros,
 * planar ones turned on the way, into a ring of as many as the kernel is high. There outputs lie at equal steps, so the kernel needs no
 * pointers to pixels, and the taps of an output in one line are a run of memory. Where lines are few, and where one is long (of one
 * dimension there is one line), parts of them go by for themselves. */
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

enum { TASKS = 16, AT_ONCE = 16 };

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const float *packed, *in;
    float *out, *work;
    const struct ox_epilogue *end;
    size_t in_batch, out_batch;
    size_t abreast;
    size_t part, parts; /* outputs of a part of a line, and how many parts it has */
    size_t across;      /* floats of a framed part */
    size_t at_once;     /* lines of the output that go past a part of the weights */
    size_t lines;       /* of the ring */
    size_t all;         /* parts of rows of the output */
    size_t tasks;
    size_t ring, sums;            /* floats of a ring, and of a line's sums */
    size_t slot;                  /* floats of a task's own */
    float bias[OX_TILE_COLS_MAX]; /* of outputs abreast */
};

/* Floats of a line of so many outputs with its zeros, as far as they read it. */
static size_t framed(const struct ox_conv *c, size_t outputs, size_t abreast)
{
    const size_t reach = (c->kernel[1] - 1) * c->dilation[1] + 1;
    const size_t out = ox_round_up(outputs, abreast);
    return out ? ((out - 1) * c->stride[1] + reach) * c->in_channels : 0;
}

/* Whether the taps of a kernel's row are one run. */
static bool is_run(const struct ox_conv *c)
{
    return c->dilation[1] == 1;
}

/* Of more channels the copy pays where several taps read it, tiles of a line are high, and the weights, which every line goes past, and
 * the lines stay near. */
bool ox_conv_narrow_fits(const struct ox_compute *t, const struct ox_conv *c)
{
    enum { FEW = 12, CHANNELS = 64, DEPTH = 1024, LINES = 1 << 17, COUNT = 24 };
    const size_t taps = c->kernel[0] * c->kernel[1], depth = c->in_channels * taps;
    if (!ox_conv_lines_fit(c))
        return false;
    if (is_run(c) && c->in_channels <= FEW)
        return true;
    if (!is_run(c) && taps > OX_CONV_NARROW_TAPS)
        return false;
    return taps > 1 && c->in_channels <= CHANNELS && depth <= DEPTH &&
           (c->out_channels <= t->nr || c->out[1] >= COUNT) &&
           depth * c->out_channels <= t->block_floats &&
           framed(c, c->out[1], 1) * ox_conv_height(c) <= LINES;
}

/* Weights that would not stay near go past several lines of the output, which have as many lines of the input near. */
static size_t lines_at_once(const struct ox_compute *t, const struct ox_conv *c, size_t across,
                            size_t abreast)
{
    const size_t high = ox_conv_height(c);
    if (abreast == 1 || across == 0 || ox_conv_abreast_packed(t, c) <= 2 * t->block_floats)
        return 1;
    const size_t lines = ox_least(OX_CONV_NARROW_FLOATS / across, OX_CONV_NARROW_LINES);
    return lines <= high ? 1 : ox_least((lines - high) / c->stride[0] + 1, AT_ONCE);
}

/* Several parts where the lines are few for the threads, or where no line of the output shares those of the input with another and
 * they would not stay in L1. */
static size_t outputs_of_part(const struct job *j, size_t slots)
{
    enum { EACH = 4, LEAST = 96, FLOATS = 1 << 13 };
    const struct ox_conv *c = j->c;
    const size_t lines = c->batch * c->out[0], wanted = slots > 1 ? EACH * slots : 1;
    size_t parts = lines && lines < wanted ? (wanted + lines - 1) / lines : 1;
    if (c->kernel[0] == 1 || lines == c->batch) {
        const size_t long_ones = framed(c, c->out[1], j->abreast) / FLOATS;
        parts = parts > long_ones ? parts : long_ones;
    }
    parts = ox_least(parts, c->out[1] / LEAST);
    return parts > 1 ? ox_even_part(c->out[1], (c->out[1] + parts - 1) / parts,
                                    (size_t)j->t->mr * j->abreast)
                     : c->out[1];
}

/* What a task has for itself; false: too much. */
static bool lay_out(struct job *j, size_t slots)
{
    const struct ox_conv *c = j->c;
    const size_t abreast = j->abreast;
    j->part = outputs_of_part(j, slots);
    j->parts = j->part ? (c->out[1] + j->part - 1) / j->part : 0;
    j->across = framed(c, j->part, abreast);
    j->at_once = lines_at_once(j->t, c, j->across, abreast);
    j->lines = ox_conv_height(c) + (j->at_once - 1) * c->stride[0];
    if (j->across > SIZE_MAX / 16 / (j->lines + 1) ||
        OX_MUL_OVERFLOWS(ox_round_up(j->part, abreast), c->out_channels, &j->sums) ||
        j->sums > SIZE_MAX / 16 / (AT_ONCE + 1))
        return false;
    j->ring = ox_round_up(j->across * j->lines, 16);
    j->sums = abreast > 1 ? ox_round_up(j->sums, 16) : 0;
    j->slot = j->ring + (j->at_once + 1) * j->sums;
    return true;
}

size_t ox_conv_narrow_work(const struct ox_compute *t, const struct ox_conv *c, size_t abreast,
                           const struct ox_env *env)
{
    struct job j = {.t = t, .c = c, .abreast = abreast};
    size_t all;
    if (!lay_out(&j, ox_slots(env)) || OX_MUL_OVERFLOWS(j.slot, ox_slots(env), &all) ||
        all > SIZE_MAX / 2)
        return SIZE_MAX;
    return all + ox_round_up(j.across, 16);
}

/* What the outputs from x on read. */
static void copy_line(const struct job *j, const float *image, size_t y, size_t x, float *to)
{
    const struct ox_conv *c = j->c;
    const size_t channels = c->in_channels, across = j->across / channels;
    const size_t at = x * c->stride[1], before = at < c->pad[1] ? c->pad[1] - at : 0;
    const size_t first = at < c->pad[1] ? 0 : ox_least(at - c->pad[1], c->in[1]);
    const size_t left = ox_least(before, across), width = ox_least(c->in[1] - first, across - left);
    memset(to, 0, left * channels * sizeof *to);
    memset(to + (left + width) * channels, 0, (across - left - width) * channels * sizeof *to);
    to += left * channels;
    if (c->planar) {
        j->t->transpose(channels, width, image + y * c->in[1] + first, c->in[0] * c->in[1], to,
                        channels);
        return;
    }
    const float *from = image + (y * c->in[1] + first) * c->in_pixel;
    if (c->in_pixel == channels) {
        memcpy(to, from, width * channels * sizeof *to);
        return;
    }
    for (size_t i = 0; i < width; i++)
        memcpy(to + i * channels, from + i * c->in_pixel, channels * sizeof *to);
}

/* Outputs [x, x + width) of a line. */
struct part {
    size_t image, y, x, width;
};

struct ring {
    size_t held[OX_CONV_NARROW_LINES]; /* line + 1 of the batch that is in each place */
    size_t x;                          /* of the part that they are of */
    const float *zeros;
    float *room, *sums;
};

/* The lines that a line of the output reads. */
static void find_rows(const struct job *j, const struct part *p, struct ring *ring,
                      const float **row)
{
    const struct ox_conv *c = j->c;
    if (ring->x != p->x)
        memset(ring->held, 0, sizeof ring->held);
    ring->x = p->x;
    for (size_t r = 0; r < c->kernel[0]; r++) {
        const size_t at = p->y * c->stride[0] + r * c->dilation[0] - c->pad[0]; /* wraps above */
        row[r] = ring->zeros;
        if (at >= c->in[0])
            continue;
        const size_t place = at % j->lines, known = p->image * c->in[0] + at + 1;
        float *to = ring->room + place * j->across;
        if (ring->held[place] != known)
            copy_line(j, j->in + p->image * j->in_batch, at, p->x, to);
        ring->held[place] = known;
        row[r] = to;
    }
}

static struct ox_epilogue line_end(const struct job *j, const struct part *p)
{
    const struct ox_conv *c = j->c;
    const size_t pixel = (p->image * c->out[0] + p->y) * c->out[1] + p->x;
    struct ox_epilogue end = ox_end_at(j->end, pixel, 0);
    end.row_bias = NULL;
    return end;
}

/* The kernel's rows [r, r + rows) of n_outputs of a line. */
static void rows_abreast(const struct job *j, size_t n_outputs, const float *const *row, size_t r,
                         size_t rows, float *to, const struct ox_epilogue *end)
{
    const struct ox_conv *c = j->c;
    const size_t run = ox_conv_abreast_taps(c, j->abreast) * c->in_channels;
    const size_t cols = j->abreast * c->out_channels;
    const struct ox_line line = {.row = row + r,
                                 .rows = (unsigned)rows,
                                 .run = run,
                                 .step = j->abreast * c->stride[1] * c->in_channels,
                                 .count = (n_outputs + j->abreast - 1) / j->abreast,
                                 .b = j->packed + r * run * j->t->nr,
                                 .panel = c->kernel[0] * run * j->t->nr,
                                 .c = to,
                                 .ldc = cols,
                                 .cols = cols,
                                 .add = r > 0,
                                 .end = end};
    j->t->line(&line);
}

/* What is added at the end of a line, as its sums lie. */
static void end_abreast(const struct job *j, size_t n_outputs, float *added,
                        struct ox_epilogue *end)
{
    const size_t n = j->c->out_channels;
    if (end->residual && !end->residual_last && (end->residual_ld != n || n_outputs % j->abreast)) {
        ox_conv_copy_pixels(n_outputs, n, end->residual, end->residual_ld, added, n);
        end->residual = added;
    }
    end->residual_ld = j->abreast * n;
}

/* The part of `count` lines of the output from its own on. The last group of outputs may reach beyond it, and then does so where nothing
 * is yet. Few rows of the kernel at a time: longer chains of sums would lose digits. */
static void abreast(const struct job *j, struct part p, size_t count, struct ring *ring)
{
    enum { DEPTH = 1024 };
    const struct ox_conv *c = j->c;
    const size_t n = c->out_channels, line = c->out[1] * n, high = c->kernel[0];
    const size_t run = ox_conv_abreast_taps(c, j->abreast) * c->in_channels;
    const bool beyond = p.width % j->abreast != 0;
    const float *row[AT_ONCE][OX_CONV_NARROW_ROWS];
    float *out = j->out + p.image * j->out_batch + p.y * line + p.x * n;
    float *const to = beyond ? ring->sums + j->sums : out;
    const size_t apart = beyond ? j->sums : line;
    struct ox_epilogue ends[AT_ONCE];
    for (size_t i = 0; i < count; i++, p.y++) {
        find_rows(j, &p, ring, row[i]);
        ends[i] = line_end(j, &p);
    }
    for (size_t r = 0, rows; r < high; r += rows) {
        rows = ox_least(run < DEPTH ? DEPTH / run : 1, high - r);
        for (size_t i = 0; i < count; i++) {
            struct ox_epilogue end = ends[i];
            end.col_bias = end.col_bias ? j->bias : NULL;
            if (r + rows == high)
                end_abreast(j, p.width, ring->sums, &end);
            rows_abreast(j, p.width, row[i], r, rows, to + i * apart,
                         r + rows == high ? &end : NULL);
        }
    }
    for (size_t i = 0; i < count; i++, out += line) {
        if (beyond)
            memcpy(out, to + i * apart, p.width * n * sizeof *out);
        ox_end_rows(j->t, p.width, n, out, n, &ends[i]);
    }
}

static void one_row(const struct job *j, const struct part *p, struct ring *ring)
{
    const struct ox_conv *c = j->c;
    const size_t channels = c->in_channels, taps = c->kernel[0] * c->kernel[1];
    const float *row[OX_CONV_NARROW_ROWS], *tap[OX_CONV_NARROW_TAPS];
    float *out = j->out + p->image * j->out_batch + (p->y * c->out[1] + p->x) * c->out_pixel;
    const struct ox_epilogue end = line_end(j, p);
    struct ox_line line = {.row = row,
                           .rows = (unsigned)c->kernel[0],
                           .run = c->kernel[1] * channels,
                           .step = c->stride[1] * channels,
                           .count = p->width,
                           .b = j->packed,
                           .panel = taps * channels * j->t->nr,
                           .c = out,
                           .ldc = c->out_pixel,
                           .cols = c->out_channels,
                           .end = &end};
    find_rows(j, p, ring, row);
    if (!is_run(c)) {
        for (size_t i = 0; i < taps; i++)
            tap[i] = row[i / c->kernel[1]] + i % c->kernel[1] * c->dilation[1] * channels;
        line.row = tap;
        line.rows = (unsigned)taps;
        line.run = channels;
    }
    j->t->line(&line);
    ox_end_rows(j->t, p->width, c->out_channels, out, c->out_pixel, &end);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_conv *c = j->c;
    const size_t end = (i + 1) * j->all / j->tasks, lines = c->batch * c->out[0];
    float *own = j->work + ox_round_up(j->across, 16) + slot * j->slot;
    struct ring ring = {.zeros = j->work, .room = own, .sums = own + j->ring};
    for (size_t at = i * j->all / j->tasks, count; at < end; at += count) {
        const size_t x = at / lines * j->part, line = at % lines;
        const struct part p = {.image = line / c->out[0],
                               .y = line % c->out[0],
                               .x = x,
                               .width = ox_least(j->part, c->out[1] - x)};
        count = ox_least(ox_least(j->at_once, end - at), c->out[0] - p.y);
        if (j->abreast > 1)
            abreast(j, p, count, &ring);
        else
            one_row(j, &p, &ring);
    }
}

/* Neighbouring tasks copy the lines that they share: not too many, but as many for each thread. */
static size_t count_tasks(const struct job *j, size_t slots)
{
    if (slots == 1)
        return 1;
    const size_t shared = j->parts > 1 ? 1 : 2 * ox_conv_height(j->c);
    const size_t tasks = ox_least(j->all / shared + 1, TASKS);
    return ox_least(ox_round_up(tasks, slots), j->all);
}

void ox_conv_narrow(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    size_t abreast, const float *packed, const float *in, float *out,
                    const struct ox_epilogue *end, float *work)
{
    const size_t all = c->batch * c->out[0];
    if (all == 0 || c->out[1] == 0 || c->out_channels == 0)
        return;
    struct job j = {.t = t,
                    .c = c,
                    .packed = packed,
                    .in = in,
                    .out = out,
                    .work = work,
                    .end = end,
                    .in_batch = ox_conv_in_batch(c),
                    .out_batch = ox_conv_out_batch(c),
                    .abreast = abreast};
    if (!lay_out(&j, ox_slots(env)))
        return;
    j.all = all * j.parts;
    memset(work, 0, j.across * sizeof *work);
    for (size_t i = 0; end->col_bias && abreast > 1 && i < abreast; i++)
        memcpy(j.bias + i * c->out_channels, end->col_bias, c->out_channels * sizeof *j.bias);
    j.tasks = count_tasks(&j, ox_slots(env));
    const double flops = 2.0 * (double)(all * c->out[1]) * (double)c->out_channels *
                         (double)(c->kernel[0] * c->kernel[1] * c->in_channels);
    ox_spread_sums(env, j.tasks, flops, run_task, &j);
}
