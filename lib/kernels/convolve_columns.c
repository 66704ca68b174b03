/* Convolution to few output channels, transposed or of stride 1, which is the transposed by the flipped kernel: each pixel of the input by all taps at once, whose vectors are full where those of a sum over
 * taps would be almost empty; then what a pixel gives to a row of the output, which lies in one piece, is added there. A band of the
 * input's rows at a time, whose products stay near. An output's terms are added in the order of the input's pixels. */
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

enum { BAND_FLOATS = 1 << 18, CHUNK = 8, CHANNELS_MOST = 4, PIXELS_LEAST = 64 };

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
    const double gain = 0.8;
    return turns(c) && !c->planar && c->groups == 1 && c->dilation[1] == 1 && c->in_channels &&
           c->out_channels && c->out_channels <= CHANNELS_MOST && c->out_pixel == c->out_channels &&
           c->in[0] * c->in[1] >= PIXELS_LEAST && c->in_channels <= t->depth_most &&
           cost(t, c) < gain * other;
}

size_t ox_conv_columns_packed(const struct ox_compute *t, const struct ox_conv *c)
{
    return ox_dense_packed(t, c->in_channels, job_of(c).cols);
}

/* Columns are rows of the kernel, then its columns, then channels. */
void ox_conv_columns_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                          enum ox_weight_type type, float *out)
{
    const struct job j = job_of(c);
    const size_t n = c->out_channels, taps = c->kernel[0] * c->kernel[1], k = c->in_channels;
    for (size_t first = 0; first < j.cols; first += t->nr) {
        for (size_t u = 0; u < k; u++) {
            for (size_t col = first; col < first + t->nr; col++) {
                const size_t tap = col / n, o = col % n;
                const size_t at =
                    c->transposed ? (u * n + o) * taps + tap : (o * k + u) * taps + taps - 1 - tap;
                *out++ = col < j.cols ? ox_conv_weight(t, weights, type, at) : 0;
            }
        }
    }
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

/* What a row of the input gives to rows [from, to) of the output. */
static void add_row(const struct job *j, size_t iy, size_t from, size_t to)
{
    const struct ox_conv *c = j->c;
    const size_t channels = c->out_channels, line = line_of(c), top = iy * c->stride[0];
    size_t r0 = 0, r1 = 0; /* the kernel's rows that lie there */
    while (r0 < c->kernel[0] && top + r0 * c->dilation[0] < from + c->pad[0])
        r0++;
    for (r1 = r0; r1 < c->kernel[0] && top + r1 * c->dilation[0] < to + c->pad[0];)
        r1++;
    const float *products = j->products + (iy - j->first) * c->in[1] * j->cols;
    for (size_t x = 0; x < c->in[1] && r0 < r1; x++, products += j->cols) {
        const size_t left = x * c->stride[1];
        const size_t skip = left < c->pad[1] ? c->pad[1] - left : 0;
        const size_t rest = left + skip < c->out[1] + c->pad[1] ? c->out[1] + c->pad[1] - left : 0;
        const size_t q1 = ox_least(rest, c->kernel[1]);
        if (skip >= q1)
            continue;
        const size_t n = (q1 - skip) * channels, at = (left + skip - c->pad[1]) * channels;
        for (size_t r = r0; r < r1; r++) {
            const float *restrict from_row = products + r * j->run + skip * channels;
            float *restrict y = j->out + (top + r * c->dilation[0] - c->pad[0]) * line + at;
            for (size_t i = 0; i < n; i++)
                y[i] += from_row[i];
        }
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
