/* Convolution to few output channels, transposed or of stride 1, which is the transposed by the flipped kernel: each pixel of the input by all taps at once, whose vectors are full where those of a sum over
 * taps would be almost empty; then what a pixel gives to a row of the output, which lies in one piece, is added there. A band of the
 * input's rows at a time, whose products stay near. An output's terms are added in the order of the input's pixels. */
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_impl.h"
#include "kernels/inline.h"
#include "kernels/sizes.h"

enum { BAND_FLOATS = 1 << 18, CHUNK = 8, CHANNELS_MOST = 4, PIXELS_LEAST = 64 };
enum { FLOATS_MOST = 16 }; /* of a run that stays in registers */

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const struct ox_epilogue *end; /* of whole rows */
    size_t cols, run;              /* of a pixel's products; and of those, what one row gets */
    const float *products;
    float *out;             /* of an image */
    size_t image;           /* its number */
    size_t first, band_end; /* rows of the input */
    size_t from, fresh,
        done; /* rows of the output: of this band; unwritten as yet; complete after it */
    size_t to;
};

/* The same as a transposed convolution. */
static struct ox_conv transposed_of(const struct ox_conv *c)
{
    struct ox_conv out = *c;
    for (unsigned axis = 0; axis < 2 && !c->transposed; axis++)
        out.pad[axis] = (c->kernel[axis] - 1) * c->dilation[axis] - c->pad[axis];
    out.transposed = true;
    return out;
}

static bool turns(const struct ox_conv *c)
{
    for (unsigned axis = 0; axis < 2 && !c->transposed; axis++)
        if (c->stride[axis] != 1 || c->pad[axis] > (c->kernel[axis] - 1) * c->dilation[axis])
            return false;
    return true;
}

static struct job job_of(const struct ox_conv *c)
{
    return (struct job){.c = c,
                        .cols = c->kernel[0] * c->kernel[1] * c->out_channels,
                        .run = c->kernel[1] * c->out_channels};
}

static size_t band_of(const struct ox_conv *c)
{
    const struct job j = job_of(c);
    const size_t line = c->in[1] * j.cols, band = line ? BAND_FLOATS / line : 0;
    return band ? ox_least(band, c->in[0]) : 1;
}

/* Cycles for each pixel of the input: products in full vectors, and rows of the output, each of which waits for what was just stored. */
static double cost(const struct ox_compute *t, const struct ox_conv *c)
{
    const struct job j = job_of(c);
    const double vectors = (double)ox_round_up(j.cols, t->width) / (double)t->width;
    return 0.6 * vectors * (double)c->in_channels +
           (double)c->kernel[0] * (8 + 0.25 * (double)j.run);
}

bool ox_conv_columns_fits(const struct ox_compute *t, const struct ox_conv *c, double other)
{
    const double gain = 0.8, few_gain = 0.25; /* few pixels fill no tiles of rows */
    return turns(c) && !c->planar && c->dilation[1] == 1 && c->in_channels && c->out_channels &&
           c->out_channels <= CHANNELS_MOST && c->out_pixel == c->out_channels &&
           (c->in[0] * c->in[1] >= PIXELS_LEAST || cost(t, c) < few_gain * other) &&
           cost(t, c) < gain * other;
}

size_t ox_conv_columns_packed(const struct ox_compute *t, const struct ox_conv *c)
{
    return ox_dense_packed(t, c->in_channels, job_of(c).cols);
}

/* What input channel u gives to output channel o at a tap of the transposed kernel. */
static float weight_at(const struct ox_compute *t, const struct ox_conv *c, size_t u, size_t o,
                       size_t tap, const void *weights, enum ox_weight_type type)
{
    const size_t taps = c->kernel[0] * c->kernel[1];
    const size_t k = c->in_channels / c->groups, n = c->out_channels / c->groups;
    if (u / k != o / n)
        return 0;
    return ox_conv_weight(t, weights, type,
                          c->transposed ? (u * n + o % n) * taps + tap
                                        : (o * k + u % k) * taps + taps - 1 - tap);
}

/* Columns are rows of the kernel, then its columns, then channels. */
void ox_conv_columns_pack(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                          const void *weights, enum ox_weight_type type, float *out)
{
    const struct job j = job_of(c);
    const size_t n = c->out_channels;
    if (c->transposed && n == 1) {
        ox_dense_pack(t, env, c->in_channels, j.cols, weights, type, j.cols, 1, out);
        return;
    }
    for (size_t first = 0; first < j.cols; first += t->nr)
        for (size_t u = 0; u < c->in_channels; u++)
            for (size_t col = first; col < first + t->nr; col++)
                *out++ = col < j.cols ? weight_at(t, c, u, col % n, col / n, weights, type) : 0;
}

static size_t line_of(const struct ox_conv *c)
{
    return c->out[1] * c->out_channels;
}

size_t ox_conv_columns_work(const struct ox_conv *c)
{
    size_t line, all;
    if (OX_MUL_OVERFLOWS(c->in[1], job_of(c).cols, &line) ||
        OX_MUL_OVERFLOWS(line, band_of(c), &all) ||
        OX_ADD_OVERFLOWS(all, ox_round_up(line_of(c), 16), &all))
        return SIZE_MAX;
    return all;
}

INLINE void add_run(size_t n, const float *restrict from, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += from[i];
}

/* Runs of n floats, each `step` behind the one before, from products of `cols`. What a run shares with the next stays in registers. */
INLINE void add_runs(size_t count, const size_t n, const size_t step, const float *restrict from,
                     size_t cols, float *restrict y)
{
    float sums[FLOATS_MOST];
#pragma GCC unroll 16
    for (size_t i = 0; i < n; i++)
        sums[i] = y[i];
    for (size_t x = 0; x < count; x++, from += cols, y += step) {
#pragma GCC unroll 16
        for (size_t i = 0; i < step; i++)
            y[i] = sums[i] + from[i];
#pragma GCC unroll 16
        for (size_t i = step; i < n; i++)
            sums[i - step] = sums[i] + from[i];
        if (x + 1 < count)
#pragma GCC unroll 16
            for (size_t i = 0; i < step; i++)
                sums[n - step + i] = y[n + i];
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < n - step; i++)
        y[i] = sums[i];
}

static void add_whole(size_t count, size_t n, size_t step, const float *from, size_t cols, float *y)
{
#define RUNS(size, apart)                                                                          \
    if (n == (size) && step == (apart)) {                                                          \
        add_runs(count, size, apart, from, cols, y);                                               \
        return;                                                                                    \
    }
    RUNS(3, 1)
    RUNS(6, 2)
    RUNS(4, 2)
    RUNS(8, 4)
    RUNS(12, 6)
    RUNS(16, 8)
    RUNS(5, 1)
    RUNS(7, 1)
#undef RUNS
    if (n == 9)
        for (size_t x = 0; x < count; x++)
            add_run(9, from + x * cols, y + x * step);
    else
        for (size_t x = 0; x < count; x++)
            add_run(n, from + x * cols, y + x * step);
}

/* What one row of the kernel gives to a row of the output, of all pixels of a row of the input. */
static void add_line(const struct job *j, const float *products, float *y)
{
    const struct ox_conv *c = j->c;
    const size_t channels = c->out_channels, stride = c->stride[1], end = c->out[1] + c->pad[1];
    /* Pixels before x0 and from x1 on reach into the padding. */
    const size_t x0 = ox_least((c->pad[1] + stride - 1) / stride, c->in[1]);
    const size_t whole = end < c->kernel[1] ? 0 : (end - c->kernel[1]) / stride + 1;
    const size_t x1 = ox_least(whole, c->in[1]);
    for (size_t x = 0; x < c->in[1]; x++) {
        if (x >= x0 && x < x1) {
            add_whole(x1 - x, j->run, stride * channels, products + x * j->cols, j->cols,
                      y + (x * stride - c->pad[1]) * channels);
            x = x1 - 1;
            continue;
        }
        const size_t left = x * stride, skip = left < c->pad[1] ? c->pad[1] - left : 0;
        const size_t q1 = ox_least(left < end ? end - left : 0, c->kernel[1]);
        if (skip < q1)
            add_run((q1 - skip) * channels, products + x * j->cols + skip * channels,
                    y + (left + skip - c->pad[1]) * channels);
    }
}

/* What a row of the input gives to rows [from, to) of the output. */
static void add_row(const struct job *j, size_t iy, size_t from, size_t to)
{
    const struct ox_conv *c = j->c;
    const size_t top = iy * c->stride[0];
    const float *products = j->products + (iy - j->first) * c->in[1] * j->cols;
    for (size_t r = 0; r < c->kernel[0]; r++) {
        const size_t y = top + r * c->dilation[0];
        if (y >= from + c->pad[0] && y < to + c->pad[0])
            add_line(j, products + r * j->run, j->out + (y - c->pad[0]) * line_of(c));
    }
}

static void end_row(const struct job *j, size_t y)
{
    const struct ox_conv *c = j->c;
    const size_t row = (j->image * c->out[0] + y) * c->out[1], channels = c->out_channels;
    float *line = j->out + y * line_of(c);
    struct ox_epilogue end = *j->end;
    const bool apart = end.residual && end.residual_ld != channels;
    if (apart) {
        end = ox_end_at(j->end, row, 0);
        ox_end_all(j->t, c->out[1], channels, line, channels, &end);
        return;
    }
    end.residual = end.residual ? end.residual + row * channels : NULL;
    ox_end_all(j->t, 1, line_of(c), line, line_of(c), &end);
}

static void add_chunk(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const size_t from = j->from + i * CHUNK, to = ox_least(from + CHUNK, j->to);
    (void)slot;
    if (to > j->fresh) {
        const size_t begin = from > j->fresh ? from : j->fresh;
        memset(j->out + begin * line_of(j->c), 0, (to - begin) * line_of(j->c) * sizeof *j->out);
    }
    for (size_t iy = j->first; iy < j->band_end; iy++)
        add_row(j, iy, from, to);
    for (size_t y = from; y < to && y < j->done; y++)
        end_row(j, y);
}

/* The row of the output at which the input's row iy begins. */
static size_t row_at(const struct ox_conv *c, size_t iy)
{
    const size_t at = iy * c->stride[0];
    return at > c->pad[0] ? ox_least(at - c->pad[0], c->out[0]) : 0;
}

static void run_image(struct job *j, struct ox_env *env, const float *packed, const float *in,
                      float *products)
{
    const struct ox_conv *c = j->c;
    const size_t reach = ox_conv_height(c), band = band_of(c);
    j->fresh = j->from = 0;
    for (j->first = 0; j->first < c->in[0]; j->first = j->band_end) {
        j->band_end = ox_least(j->first + band, c->in[0]);
        const bool last = j->band_end == c->in[0];
        const struct ox_dense d = {.m = (j->band_end - j->first) * c->in[1],
                                   .n = j->cols,
                                   .k = c->in_channels,
                                   .a = in + j->first * c->in[1] * c->in_pixel,
                                   .a_row = c->in_pixel,
                                   .a_col = 1,
                                   .packed = packed,
                                   .c = products,
                                   .c_row = j->cols};
        ox_dense_run(j->t, env, &d, NULL);
        const size_t bottom = (j->band_end - 1) * c->stride[0] + reach;
        const size_t to = bottom > c->pad[0] ? ox_least(bottom - c->pad[0], c->out[0]) : 0;
        j->done = last ? c->out[0] : row_at(c, j->band_end);
        j->to = last ? c->out[0] : to > j->done ? to : j->done;
        j->to = j->to > j->fresh ? j->to : j->fresh;
        const size_t rows = j->to - j->from;
        ox_spread_sums(env, (rows + CHUNK - 1) / CHUNK, 4.0 * (double)(d.m * d.n), add_chunk, j);
        j->fresh = j->to;
        j->from = j->done;
    }
}

void ox_conv_columns(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                     const float *packed, const float *in, float *out,
                     const struct ox_epilogue *end, float *work)
{
    const struct ox_conv transposed = transposed_of(c);
    struct job j = job_of(&transposed);
    struct ox_epilogue rows = ox_end_at(end, 0, 0);
    const bool apart = end->residual && end->residual_ld != c->out_channels;
    if (c->out[0] == 0 || c->out[1] == 0)
        return;
    for (size_t i = 0; end->col_bias && !apart && i < c->out[1]; i++)
        memcpy(work + i * c->out_channels, end->col_bias, c->out_channels * sizeof *work);
    rows.row_bias = NULL;
    if (end->col_bias && !apart)
        rows.col_bias = work;
    j.t = t;
    j.end = &rows;
    j.products = work + ox_round_up(line_of(c), 16);
    for (j.image = 0; j.image < c->batch; j.image++) {
        j.out = out + j.image * ox_conv_out_batch(c);
        run_image(&j, env, packed, in + j.image * ox_conv_in_batch(c),
                  work + ox_round_up(line_of(c), 16));
    }
}
