/* ConvTranspose of few channels whose kernel is a whole number of strides: all phases read the same input pixels, so that their
 * channels are the columns of one convolution of stride 1, whose sums go where they belong in pieces of a line. A product for each
 * phase would leave most of a vector empty. Where that would be empty still, neighbouring pixels' sums are columns too, as in
 * convolve_abreast.c. */
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

enum { TAP_ROWS = 16, BAND_FLOATS = 8192, BAND_READ = 16384 };

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const float *packed, *in, *zeros;
    const struct ox_epilogue *end;
    struct ox_epilogue
        sums; /* what is done to the sums of all phases while they are in registers */
    float *out, *rooms;
    size_t abreast; /* inner outputs of a product's row */
    size_t taps[2], cols;
    size_t first[2],
        count[2]; /* inner outputs; number i of an axis is at output (first + i) * stride - pad */
    size_t band, bands; /* of them in a task; tasks a line */
    size_t line, room;  /* floats of a piece of input, of a task's memory */
    size_t in_batch, out_batch;
};

static struct ox_abreast columns_of(const struct job *j)
{
    return (struct ox_abreast){j->cols, j->taps[1], 1};
}

static struct job job_of(const struct ox_compute *t, const struct ox_conv *c, bool abreast)
{
    struct job j = {
        .t = t, .c = c, .abreast = 1, .cols = c->out_channels * c->stride[0] * c->stride[1]};
    for (unsigned axis = 0; axis < 2; axis++) {
        j.taps[axis] = c->kernel[axis] / c->stride[axis];
        j.first[axis] = c->pad[axis] / c->stride[axis];
        j.count[axis] =
            c->out[axis] ? (c->out[axis] - 1 + c->pad[axis]) / c->stride[axis] + 1 - j.first[axis]
                         : 0;
    }
    const struct ox_abreast columns = columns_of(&j);
    if (abreast)
        j.abreast = ox_abreast_best(t, &columns);
    const size_t most = ox_least(BAND_FLOATS / j.cols, BAND_READ / c->in_channels);
    const size_t least = t->mr * j.abreast;
    j.band = ox_even_part(j.count[1], most > least ? most : least, j.abreast);
    j.bands = j.band ? (j.count[1] + j.band - 1) / j.band : 0;
    j.line = (j.band + j.taps[1] - 1) * c->in_channels;
    j.room = ox_round_up(j.taps[0] * j.line + j.band * j.cols, 16);
    return j;
}

bool ox_conv_joined_abreast_fits(const struct ox_compute *t, const struct ox_conv *c)
{
    const double gain = 0.9;
    if (!ox_conv_joined_fits(t, c))
        return false;
    const struct job j = job_of(t, c, true);
    const struct ox_abreast columns = columns_of(&j);
    return ox_abreast_cost(t, &columns, j.abreast) < gain * ox_abreast_cost(t, &columns, 1) &&
           j.count[1] >= 2 * j.abreast &&
           j.taps[0] * (j.taps[1] + j.abreast - 1) * c->in_channels <= t->depth_most;
}

bool ox_conv_joined_fits(const struct ox_compute *t, const struct ox_conv *c)
{
    if (!c->transposed || c->groups != 1 || c->in_channels == 0 || c->out_channels == 0 ||
        c->out_channels >= t->nr || c->stride[0] * c->stride[1] == 1)
        return false;
    for (unsigned axis = 0; axis < 2; axis++)
        if (c->dilation[axis] != 1 || c->kernel[axis] % c->stride[axis] != 0)
            return false;
    const struct job j = job_of(t, c, false);
    return j.taps[0] <= TAP_ROWS && j.taps[0] * j.taps[1] * c->in_channels <= t->depth_most;
}

double ox_conv_joined_cost(const struct ox_compute *t, const struct ox_conv *c, bool abreast)
{
    const struct job j = job_of(t, c, abreast);
    const struct ox_abreast columns = columns_of(&j);
    return ox_abreast_cost(t, &columns, j.abreast) * (double)(j.taps[0] * c->in_channels);
}

/* Taps of a product's row. */
static size_t all_taps(const struct job *j)
{
    return j->taps[0] * (j->taps[1] + j->abreast - 1);
}

size_t ox_conv_joined_packed(const struct ox_compute *t, const struct ox_conv *c, bool abreast)
{
    const struct job j = job_of(t, c, abreast);
    return ox_dense_packed(t, all_taps(&j) * c->in_channels, j.abreast * j.cols);
}

/* What input channel `u` of a tap adds to a column; 0 where the output does not reach the tap. */
static float weight_at(const struct job *j, size_t tap, size_t u, size_t col, const void *weights,
                       enum ox_weight_type type)
{
    const struct ox_conv *c = j->c;
    const size_t wide = j->taps[1] + j->abreast - 1, n = c->out_channels;
    const size_t phase = col % j->cols / n, plane = u * n + col % n;
    const size_t across = tap % wide - col / j->cols; /* wraps before the first */
    if (col >= j->abreast * j->cols || across >= j->taps[1])
        return 0;
    const size_t r = (j->taps[0] - 1 - tap / wide) * c->stride[0] + phase / c->stride[1];
    const size_t q = (j->taps[1] - 1 - across) * c->stride[1] + phase % c->stride[1];
    return ox_conv_weight(j->t, weights, type, (plane * c->kernel[0] + r) * c->kernel[1] + q);
}

/* Columns are pixels abreast, then phases, then channels; depth is taps in the order of the pixels that they read, then channels. */
void ox_conv_joined_pack(const struct ox_compute *t, const struct ox_conv *c, bool abreast,
                         const void *weights, enum ox_weight_type type, float *out)
{
    const struct job j = job_of(t, c, abreast);
    for (size_t first = 0; first < j.abreast * j.cols; first += t->nr)
        for (size_t tap = 0; tap < all_taps(&j); tap++)
            for (size_t u = 0; u < c->in_channels; u++)
                for (size_t col = first; col < first + t->nr; col++)
                    *out++ = weight_at(&j, tap, u, col, weights, type);
}

size_t ox_conv_joined_work(const struct ox_compute *t, const struct ox_env *env,
                           const struct ox_conv *c, bool abreast)
{
    const struct job j = job_of(t, c, abreast);
    return ox_round_up(j.abreast * j.cols, 16) + ox_round_up(j.line, 16) + ox_slots(env) * j.room;
}

/* The input that outputs from `x` on read, of one line: where it lies, or copied; pixels that are none are zeros. */
static const float *find_piece(const struct job *j, const float *line, size_t x, float *to)
{
    const struct ox_conv *c = j->c;
    const size_t channels = c->in_channels, all = j->line / channels;
    const size_t at = j->first[1] + x, before = j->taps[1] - 1;
    const size_t left = at < before ? (before - at < all ? before - at : all) : 0;
    const size_t from = at + left - before;
    if (c->in_pixel == channels && left == 0 && from + all <= c->in[1])
        return line + from * channels;
    const size_t rest = from < c->in[1] ? c->in[1] - from : 0;
    const size_t width = rest < all - left ? rest : all - left;
    memset(to, 0, left * channels * sizeof *to);
    memset(to + (left + width) * channels, 0, (all - left - width) * channels * sizeof *to);
    if (width && c->in_pixel == channels)
        memcpy(to + left * channels, line + from * channels, width * channels * sizeof *to);
    else if (width)
        ox_conv_copy_pixels(width, channels, line + from * c->in_pixel, c->in_pixel,
                            to + left * channels, channels);
    return to;
}

/* n pixels of a line of the output, the first of which is number `pixel` of all images. */
static void end_pixels(const struct job *j, size_t n, size_t pixel, float *out)
{
    if (!j->end->residual)
        return;
    struct ox_epilogue end = ox_end_at(j->end, pixel, 0);
    end.scale = 0;
    end.col_bias = NULL;
    end.row_bias = NULL;
    ox_end_all(j->t, n, j->c->out_channels, out, j->c->out_pixel, &end);
}

/* The sums of `n` inner outputs from `x` on go to the output's line y; those of one of its pixels from place `at` on. */
static void leave_line(const struct job *j, const float *sums, size_t image, size_t y, size_t x,
                       size_t n, size_t at)
{
    const struct ox_conv *c = j->c;
    const size_t channels = c->out_channels, stride = c->stride[1];
    const size_t begin = (j->first[1] + x) * stride; /* with the padding */
    const size_t skip = begin < c->pad[1] ? c->pad[1] - begin : 0, p0 = begin + skip - c->pad[1];
    const size_t p1 =
        begin + n * stride - c->pad[1] < c->out[1] ? begin + n * stride - c->pad[1] : c->out[1];
    float *line = j->out + image * j->out_batch + y * c->out[1] * c->out_pixel;
    const bool whole = c->out_pixel == channels;
    if (whole && j->cols == stride * channels) {
        memcpy(line + p0 * channels, sums + skip * channels, (p1 - p0) * channels * sizeof *line);
    } else {
        for (size_t p = p0; p < p1;) {
            const size_t i = (p + c->pad[1] - begin) / stride;
            const size_t phase = (p + c->pad[1] - begin) % stride;
            const size_t run = stride - phase < p1 - p ? stride - phase : p1 - p;
            const size_t times = whole && phase == 0 && p1 - p >= stride ? (p1 - p) / stride : 1;
            const float *from = sums + i * j->cols + at + phase * channels;
            if (whole)
                ox_conv_copy_pixels(times, run * channels, from, j->cols, line + p * channels,
                                    run * channels);
            else
                ox_conv_copy_pixels(run, channels, from, channels, line + p * c->out_pixel,
                                    c->out_pixel);
            p += times * run;
        }
    }
    end_pixels(j, p1 - p0, (image * c->out[0] + y) * c->out[1] + p0, line + p0 * c->out_pixel);
}

static void run_band(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_conv *c = j->c;
    const size_t x = i % j->bands * j->band,
                 n = x + j->band < j->count[1] ? j->band : j->count[1] - x;
    const size_t down = i / j->bands % j->count[0], image = i / j->bands / j->count[0];
    const float *row[TAP_ROWS];
    float *room = j->rooms + slot * j->room, *sums = room + j->taps[0] * j->line;
    for (size_t r = 0; r < j->taps[0]; r++) {
        const size_t y = j->first[0] + down + r - (j->taps[0] - 1); /* wraps above */
        row[r] = y < c->in[0]
                     ? find_piece(j, j->in + image * j->in_batch + y * c->in[1] * c->in_pixel, x,
                                  room + r * j->line)
                     : j->zeros;
    }
    const size_t run = (j->taps[1] + j->abreast - 1) * c->in_channels;
    const size_t cols = j->abreast * j->cols, rows = (n + j->abreast - 1) / j->abreast;
    const struct ox_line line = {.row = row,
                                 .rows = (unsigned)j->taps[0],
                                 .run = run,
                                 .step = j->abreast * c->in_channels,
                                 .count = rows,
                                 .b = j->packed,
                                 .panel = j->taps[0] * run * j->t->nr,
                                 .c = sums,
                                 .ldc = cols,
                                 .cols = cols,
                                 .end = &j->sums};
    j->t->line(&line);
    ox_end_rows(j->t, 1, n * j->cols, sums, 0, &j->sums);
    for (size_t r = 0; r < c->stride[0]; r++) {
        const size_t y = (j->first[0] + down) * c->stride[0] + r - c->pad[0]; /* wraps above */
        if (y < c->out[0])
            leave_line(j, sums, image, y, x, n, r * c->stride[1] * c->out_channels);
    }
}

void ox_conv_joined(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    bool abreast, const float *packed, const float *in, float *out,
                    const struct ox_epilogue *end, float *work)
{
    struct job j = job_of(t, c, abreast);
    const size_t tasks = c->batch * j.count[0] * j.bands, channels = c->out_channels;
    if (tasks == 0)
        return;
    j.packed = packed;
    j.in = in;
    j.out = out;
    j.end = end;
    j.in_batch = ox_conv_in_batch(c);
    j.out_batch = ox_conv_out_batch(c);
    j.sums = ox_end_at(end, 0, 0);
    j.sums.row_bias = NULL;
    if (end->residual) {
        j.sums.residual = NULL;
        j.sums.act = OX_ACT_NONE;
    }
    for (size_t i = 0; end->col_bias && i < j.abreast * j.cols; i += channels)
        memcpy(work + i, end->col_bias, channels * sizeof *work);
    j.sums.col_bias = end->col_bias ? work : NULL;
    work += ox_round_up(j.abreast * j.cols, 16);
    memset(work, 0, j.line * sizeof *work);
    j.zeros = work;
    j.rooms = work + ox_round_up(j.line, 16);
    ox_spread_sums(env, tasks,
                   2.0 * (double)(c->batch * j.count[0] * j.count[1] * j.cols) *
                       (double)(j.taps[0] * j.taps[1] * c->in_channels),
                   run_band, &j);
}
