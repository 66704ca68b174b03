/* Convolution of groups of few channels: the lines of a group lie between their zeros, pixel by pixel, in room so small that they and
 * the group's weights stay near. Where lines are short, the outputs of all of them are made as one line, with some between that
 * nobody wants: a call for each would take longer than its sums. */
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

/* Floats of a band's lines that stay near, and rows of a band that pay for copying those that two bands share. */
enum { NEAR_FLOATS = 1 << 13, ROWS_LEAST = 8, TASKS = 16 };

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const float *packed, *in;
    float *out, *work;
    const struct ox_epilogue *end;
    size_t in_batch, out_batch;
    size_t channels, n; /* of a group: of the input, of the output */
    size_t across;      /* floats of a framed line */
    size_t rows, bands; /* lines of a band's output; bands of an image */
    size_t
        lines; /* of a frame: all that a band reads, or a ring of as many as the kernel is high */
    bool joined;
    size_t count;       /* outputs that are made at once */
    size_t frame, slot; /* floats of a band's lines, of a task's own */
};

bool ox_conv_groups_fits(const struct ox_conv *c)
{
    enum { CHANNELS = 32 };
    return c->in_channels / c->groups <= CHANNELS &&
           c->kernel[0] * c->kernel[1] <= OX_CONV_NARROW_TAPS && ox_conv_lines_fit(c);
}

/* Cycles for `count` outputs of a group side by side: so many rows of a tile are summed in registers, few of which wait for one another;
 * and a call. */
static double line_cost(const struct job *j, size_t count)
{
    enum { CALL = 300, WAIT = 8, SLIM_ROWS = 12 };
    const struct ox_conv *c = j->c;
    const size_t vectors = j->n <= j->t->width ? 1 : 2;
    const size_t tiles =
        vectors == 1 ? (count + SLIM_ROWS - 1) / SLIM_ROWS : (count + j->t->mr - 1) / j->t->mr;
    const size_t sums = count * vectors, least = tiles * WAIT;
    const double depth = (double)(c->kernel[0] * c->kernel[1] * j->channels);
    const double panels = (double)((j->n + j->t->nr - 1) / j->t->nr);
    return panels * (depth * (double)(sums > least ? sums : least) / 2 + CALL);
}

/* Outputs of a band of lines whose own are `across` pixels apart. */
static size_t joined_count(const struct job *j)
{
    return (j->rows - 1) * (j->across / j->channels) + j->c->out[1];
}

static void try_joined(struct job *j)
{
    const size_t high = ox_conv_height(j->c), most = NEAR_FLOATS / j->across;
    if (j->rows + high > most || joined_count(j) > NEAR_FLOATS / (j->n + 1))
        return;
    const size_t count = joined_count(j), lines = j->rows - 1 + high;
    const size_t frame = ox_round_up(lines * j->across, 16), sums = ox_round_up(count * j->n, 16);
    if (frame + sums > NEAR_FLOATS ||
        line_cost(j, count) >= (double)j->rows * line_cost(j, j->count))
        return;
    j->joined = true;
    j->count = count;
    j->lines = lines;
    j->frame = frame;
    j->slot = frame + sums;
}

/* What a task has for itself; false: too much. */
static bool plan(const struct ox_compute *t, const struct ox_conv *c, struct job *j)
{
    const size_t reach = (c->kernel[1] - 1) * c->dilation[1] + 1, high = ox_conv_height(c);
    *j = (struct job){
        .t = t, .c = c, .channels = c->in_channels / c->groups, .n = c->out_channels / c->groups};
    j->across = ((c->out[1] - 1) * c->stride[1] + reach) * j->channels;
    if (j->across > SIZE_MAX / 64 / (high + c->out[0] * c->stride[0]))
        return false;
    /* Of few groups each of two threads has as many bands: neighbouring groups lie in common cache lines. */
    size_t wanted = (TASKS + c->groups * c->batch - 1) / (c->groups * c->batch);
    wanted = wanted > 1 ? ox_round_up(wanted, 2) : 1;
    j->rows = (c->out[0] + wanted - 1) / wanted;
    j->lines = high;
    if (j->n > t->wide) {
        /* Weights of several panels would not all stay near: some lines go by each. */
        const size_t near = ox_least(NEAR_FLOATS / j->across, c->in[0] + 2 * high);
        j->rows = ox_least(j->rows, near > high ? (near - high) / c->stride[0] + 1 : 1);
        j->rows = ox_least(j->rows > ROWS_LEAST ? j->rows : ROWS_LEAST, c->out[0]);
        j->lines = (j->rows - 1) * c->stride[0] + high;
    }
    j->bands = (c->out[0] + j->rows - 1) / j->rows;
    j->count = c->out[1];
    j->frame = ox_round_up(j->lines * j->across, 16);
    j->slot = j->frame;
    if (c->stride[0] == 1 && c->stride[1] == 1 && c->dilation[1] == 1)
        try_joined(j);
    return true;
}

size_t ox_conv_groups_work(const struct ox_compute *t, const struct ox_conv *c,
                           const struct ox_env *env)
{
    struct job j;
    size_t all;
    if (c->batch == 0 || c->out[0] == 0 || c->out[1] == 0 || c->out_channels == 0)
        return 0;
    if (!plan(t, c, &j) || OX_MUL_OVERFLOWS(j.slot, ox_slots(env), &all))
        return SIZE_MAX;
    return all;
}

/* A task: the group's rows [y, y + rows) of an image. */
struct band {
    size_t group, image, y, rows;
    size_t framed; /* lines that were copied, of which the first is that of the first tap */
    float *frame, *sums;
};

static void frame_line(const struct job *j, const struct band *b, size_t line)
{
    const struct ox_conv *c = j->c;
    const size_t channels = j->channels, across = j->across / channels, first = b->group * channels;
    const size_t y = b->y * c->stride[0] + line - c->pad[0]; /* wraps above */
    float *to = b->frame + line % j->lines * j->across;
    if (y >= c->in[0]) {
        memset(to, 0, j->across * sizeof *to);
        return;
    }
    const size_t left = ox_least(c->pad[1], across), width = ox_least(c->in[1], across - left);
    memset(to, 0, left * channels * sizeof *to);
    memset(to + (left + width) * channels, 0, (across - left - width) * channels * sizeof *to);
    to += left * channels;
    const float *image = j->in + b->image * j->in_batch;
    ox_conv_copy_pixels(width, channels, image + y * c->in[1] * c->in_pixel + first, c->in_pixel,
                        to, channels);
}

static void frame_lines(const struct job *j, struct band *b, size_t until)
{
    for (; b->framed < until; b->framed++)
        frame_line(j, b, b->framed);
}

/* The outputs from row y of the band on, columns [col, col + cols) of the group, to `out`. */
static void one_line(const struct job *j, const struct band *b, size_t y, size_t col, size_t cols,
                     float *out, size_t ldc, const struct ox_epilogue *end)
{
    const struct ox_conv *c = j->c;
    const size_t taps = c->kernel[0] * c->kernel[1], nr = j->t->nr;
    const size_t panels = (j->n + nr - 1) / nr, panel = taps * j->channels * nr;
    const bool is_run = c->dilation[1] == 1;
    const float *row[OX_CONV_NARROW_TAPS];
    struct ox_line line = {.row = row,
                           .rows = (unsigned)(is_run ? c->kernel[0] : taps),
                           .run = (is_run ? c->kernel[1] : 1) * j->channels,
                           .step = c->stride[1] * j->channels,
                           .count = j->count,
                           .b = j->packed + (b->group * panels + col / nr) * panel,
                           .panel = panel,
                           .c = out,
                           .ldc = ldc,
                           .cols = cols,
                           .end = end};
    for (size_t i = 0; i < line.rows; i++) {
        const size_t r = is_run ? i : i / c->kernel[1], q = is_run ? 0 : i % c->kernel[1];
        row[i] = b->frame + (y * c->stride[0] + r * c->dilation[0]) % j->lines * j->across +
                 q * c->dilation[1] * j->channels;
    }
    j->t->line(&line);
}

static struct ox_epilogue line_end(const struct job *j, const struct band *b, size_t y, size_t col)
{
    const struct ox_conv *c = j->c;
    const size_t row = (b->image * c->out[0] + b->y + y) * c->out[1];
    struct ox_epilogue end = ox_end_at(j->end, row, b->group * j->n + col);
    end.row_bias = NULL;
    return end;
}

static void line_by_line(const struct job *j, struct band *b, float *out)
{
    const struct ox_conv *c = j->c;
    const size_t line = c->out[1] * c->out_pixel;
    for (size_t col = 0, cols; col < j->n; col += cols) {
        cols = ox_least(j->t->wide, j->n - col);
        for (size_t y = 0; y < b->rows; y++) {
            const struct ox_epilogue end = line_end(j, b, y, col);
            float *to = out + y * line + col;
            frame_lines(j, b, y * c->stride[0] + ox_conv_height(c));
            one_line(j, b, y, col, cols, to, c->out_pixel, &end);
            ox_end_rows(j->t, c->out[1], cols, to, c->out_pixel, &end);
        }
    }
}

/* What is added to each output for itself comes when they lie in their lines. */
static void joined(const struct job *j, struct band *b, float *out)
{
    const struct ox_conv *c = j->c;
    const size_t pitch = j->across / j->channels, line = c->out[1] * c->out_pixel;
    const bool apart = j->end->residual || j->end->act == OX_ACT_ROW;
    const struct ox_epilogue common = line_end(j, b, 0, 0);
    frame_lines(j, b, b->rows - 1 + ox_conv_height(c));
    one_line(j, b, 0, 0, j->n, b->sums, j->n, apart ? NULL : &common);
    for (size_t y = 0; y < b->rows; y++, out += line) {
        ox_conv_copy_pixels(c->out[1], j->n, b->sums + y * pitch * j->n, j->n, out, c->out_pixel);
        if (!apart)
            continue;
        const struct ox_epilogue end = line_end(j, b, y, 0);
        ox_end_all(j->t, c->out[1], j->n, out, c->out_pixel, &end);
    }
}

static void run_task(void *arg, size_t i, size_t slot)
{
    struct job j = *(const struct job *)arg;
    const struct ox_conv *c = j.c;
    const size_t part = i / c->groups;
    struct band b = {.group = i % c->groups,
                     .image = part / j.bands,
                     .y = part % j.bands * j.rows,
                     .frame = j.work + slot * j.slot};
    b.rows = ox_least(j.rows, c->out[0] - b.y);
    b.sums = b.frame + j.frame;
    float *out = j.out + b.image * j.out_batch + b.y * c->out[1] * c->out_pixel + b.group * j.n;
    if (!j.joined) {
        line_by_line(&j, &b, out);
        return;
    }
    j.rows = b.rows;
    j.count = joined_count(&j);
    joined(&j, &b, out);
}

void ox_conv_groups(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    const float *packed, const float *in, float *out, const struct ox_epilogue *end,
                    float *work)
{
    enum { FLOPS = 24 }; /* a cycle */
    struct job j;
    if (c->batch == 0 || c->out[0] == 0 || c->out[1] == 0 || c->out_channels == 0 ||
        !plan(t, c, &j))
        return;
    j.packed = packed;
    j.in = in;
    j.out = out;
    j.work = work;
    j.end = end;
    j.in_batch = ox_conv_in_batch(c);
    j.out_batch = ox_conv_out_batch(c);
    const size_t tasks = c->groups * c->batch * j.bands;
    const double cycles = line_cost(&j, j.count) * (double)(j.joined ? 1 : j.rows);
    ox_spread_sums(env, tasks, (double)tasks * cycles * FLOPS, run_task, &j);
}
