/* DeformConv of images in float32: what the taps of a pixel see is gathered channels last, where a place between four pixels is the
 * sum of four rows, and multiplied by the weights. */
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/conv.h"
#include "ops/fast/fast.h"

struct deform {
    const struct ox_compute *t;
    struct ox_plain_conv cv; /* sizes */
    size_t sets, per_set;    /* of channels that are moved alike, and how many these are */
    const float *offset, *mask;
    const float *x;      /* of an image, [in, channels] */
    size_t image, group; /* worked on */
    size_t first;        /* pixel of the columns */
    float *columns;      /* [pixels, taps, channels of a group] */
};

/* The four pixels around a place, and what each counts. */
struct corners {
    const float *row[4];
    float weight[4];
};

static bool corner_inside(const struct ox_window *w, int64_t y, int64_t x)
{
    return y >= 0 && y < w->in[0] && x >= 0 && x < w->in[1];
}

/* What lies outside of the image counts as 0. The place is within a pixel of it. */
static void find_corners(const struct ox_window *w, const float *x, size_t channels, double y0,
                         double x0, struct corners *out)
{
    const int64_t y = (int64_t)y0 - (y0 < 0), col = (int64_t)x0 - (x0 < 0);
    const double below = y0 - (double)y, right = x0 - (double)col;
    const double weight[4] = {(1 - below) * (1 - right), (1 - below) * right, below * (1 - right),
                              below * right};
    const bool all = corner_inside(w, y, col) && corner_inside(w, y + 1, col + 1);
    for (unsigned k = 0; k < 4; k++) {
        const int64_t at_y = y + (k >> 1), at_x = col + (k & 1);
        const bool inside = all || corner_inside(w, at_y, at_x);
        out->weight[k] = inside ? (float)weight[k] : 0;
        out->row[k] = inside ? x + (size_t)(at_y * w->in[1] + at_x) * channels : x;
    }
}

/* out[0, n) = the sum of up to four rows of channels around a place. */
static void sample(const struct deform *d, const float *x, size_t n, double y0, double x0,
                   float *out)
{
    const struct ox_window *w = &d->cv.w;
    struct corners at;
    if (!(y0 > -1 && y0 < (double)w->in[0] && x0 > -1 && x0 < (double)w->in[1])) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    find_corners(w, x, d->cv.in_group * d->cv.groups, y0, x0, &at);
    if (at.weight[0] != 0 && at.weight[1] != 0 && at.weight[2] != 0 && at.weight[3] != 0) {
        d->t->blend(n, at.weight, at.row, out);
        return;
    }
    memset(out, 0, n * sizeof *out);
    for (unsigned k = 0; k < 4; k++) /* a weight of 0 hides what is infinite */
        for (size_t c = 0; at.weight[k] != 0 && c < n; c++)
            out[c] += at.weight[k] * at.row[k][c];
}

static void scale(size_t n, float by, float *restrict x)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

static void sample_pixels(void *arg, size_t from, size_t to)
{
    const struct deform *d = arg;
    const struct ox_window *w = &d->cv.w;
    const size_t in_group = d->cv.in_group, begin = d->group * in_group, n_out = w->n_out;
    for (size_t i = from; i < to; i++) {
        const size_t pixel = d->first + i;
        const int64_t y = (int64_t)(pixel / (size_t)w->out[1]) * w->stride[0] - w->before[0];
        const int64_t x = (int64_t)(pixel % (size_t)w->out[1]) * w->stride[1] - w->before[1];
        float *out = d->columns + i * w->taps * in_group;
        for (size_t t = 0; t < w->taps; t++) {
            const int64_t tap_y = (int64_t)t / w->kernel[1], tap_x = (int64_t)t % w->kernel[1];
            const int64_t at_y = y + tap_y * w->dilation[0], at_x = x + tap_x * w->dilation[1];
            size_t set = begin / d->per_set;
            for (size_t c = begin, n; c < begin + in_group; c += n, out += n, set++) {
                const size_t end = (set + 1) * d->per_set;
                const size_t tap = (d->image * d->sets + set) * w->taps + t;
                const float *by = d->offset + 2 * tap * n_out + pixel;
                n = (end < begin + in_group ? end : begin + in_group) - c;
                sample(d, d->x + c, n, (double)at_y + (double)by[0],
                       (double)at_x + (double)by[n_out], out);
                if (d->mask)
                    scale(n, d->mask[tap * n_out + pixel], out);
            }
        }
    }
}

/* Weights [out, in, taps] as [out, taps, in]. */
static void turn_weights(const struct deform *d, const float *from, float *to)
{
    const size_t taps = d->cv.w.taps, in = d->cv.in_group, rows = d->cv.groups * d->cv.out_group;
    for (size_t m = 0; m < rows; m++)
        for (size_t t = 0; t < taps; t++)
            for (size_t c = 0; c < in; c++)
                *to++ = from[(m * in + c) * taps + t];
}

/* Pixels at a time: their columns stay near. */
static size_t pixels_of(const struct deform *d)
{
    enum { LEAST = 64, FLOATS = 1 << 17 };
    const size_t depth = d->cv.w.taps * d->cv.in_group, n = FLOATS / (depth + 1) + 1;
    const size_t pixels = n < LEAST ? LEAST : n;
    return pixels < d->cv.w.n_out ? pixels : d->cv.w.n_out;
}

static enum ox_status run_group(struct ox_run *r, struct deform *d, const float *weights,
                                float *sums, float *work, float *y)
{
    enum { A_SAMPLE = 15 }; /* ns */
    const struct ox_compute *t = d->t;
    const size_t rows = d->cv.out_group, n_out = d->cv.w.n_out, most = pixels_of(d);
    const size_t depth = d->cv.w.taps * d->cv.in_group;
    const float *bias = d->cv.bias;
    struct ox_dense product = {.n = rows,
                               .k = depth,
                               .a = d->columns,
                               .a_row = depth,
                               .a_col = 1,
                               .b = weights + d->group * rows * depth,
                               .b_row = 1,
                               .b_col = depth,
                               .c = sums,
                               .c_row = rows,
                               .end.col_bias = bias ? bias + d->group * rows : NULL};
    for (d->first = 0; d->first < n_out; d->first += product.m) {
        product.m = n_out - d->first < most ? n_out - d->first : most;
        ox_fast_spread(r->env, product.m, 4, (double)(d->cv.w.taps * A_SAMPLE), sample_pixels, d);
        ox_dense_run(t, r->env, &product, work);
        t->transpose(product.m, rows, sums, rows, y + d->first, n_out);
    }
    return OX_OK;
}

static enum ox_status run_images(struct ox_run *r, struct deform *d, const float *weights, float *y,
                                 struct ox_error *err)
{
    const struct ox_compute *t = d->t;
    const size_t n_in = d->cv.w.n_in, channels = d->cv.groups * d->cv.in_group;
    const size_t depth = d->cv.w.taps * d->cv.in_group, rows = d->cv.out_group;
    const size_t most = pixels_of(d);
    const struct ox_dense shape = {.m = most,
                                   .n = rows,
                                   .k = depth,
                                   .a_row = depth,
                                   .a_col = 1,
                                   .b_row = 1,
                                   .b_col = depth,
                                   .c_row = rows};
    float *x = ox_run_work(r, n_in * channels, sizeof *x, err);
    float *sums = ox_run_work(r, most * rows, sizeof *sums, err);
    float *work = ox_run_work(r, ox_dense_work(t, r->env, &shape) + 16, sizeof *work, err);
    d->columns = ox_run_work(r, most * depth, sizeof *d->columns, err);
    if (!x || !sums || !work || !d->columns)
        return err->status;
    d->x = x;
    for (d->image = 0; d->image < d->cv.images; d->image++) {
        t->transpose(channels, n_in, (const float *)d->cv.x + d->image * channels * n_in, n_in, x,
                     channels);
        for (d->group = 0; d->group < d->cv.groups; d->group++, y += rows * d->cv.w.n_out)
            OX_TRY(run_group(r, d, weights, sums, work, y));
        OX_TRY(ox_env_poll(r->env, err));
    }
    return OX_OK;
}

static bool is_map(const struct ox_tensor *t, const int64_t *dims, size_t channels)
{
    return t->rank == 4 && t->dims[0] == dims[0] && t->dims[2] == dims[2] &&
           t->dims[3] == dims[3] && (size_t)t->dims[1] == channels;
}

enum ox_status ox_fast_deform_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0), *w = ox_fast_in(r, 1), *offset = ox_fast_in(r, 2);
    const struct ox_tensor *bias = ox_run_in(r, 3), *mask = ox_run_in(r, 4);
    const int64_t sets = ox_run_int(r, "offset_group", 1);
    struct deform d = {.t = ox_compute(ox_cpu()), .sets = (size_t)sets};
    int64_t dims[OX_WINDOW_AXES + 2];
    if (!x || !w || !offset || x->rank != 4 || w->rank != 4 || sets < 1 || x->dims[1] < sets ||
        x->dims[1] % sets || !w->n)
        return OX_UNSUPPORTED;
    OX_TRY(ox_plain_conv_plan(r, x, w, bias, &d.cv, dims, err));
    d.per_set = (size_t)(x->dims[1] / sets);
    if (!x->n || !d.cv.w.n_out || sets > INT32_MAX || d.cv.w.taps > INT32_MAX ||
        !is_map(offset, dims, d.sets * d.cv.w.taps * 2) ||
        (mask && !is_map(mask, dims, d.sets * d.cv.w.taps)))
        return OX_UNSUPPORTED;
    d.cv.x = x->data;
    d.cv.bias = bias ? bias->data : NULL;
    d.offset = offset->data;
    d.mask = mask ? mask->data : NULL;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 4, dims, &y, err));
    float *weights = ox_run_work(r, w->n, sizeof *weights, err);
    if (!weights)
        return err->status;
    turn_weights(&d, w->data, weights);
    return run_images(r, &d, weights, y->data, err);
}
