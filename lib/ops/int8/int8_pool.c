/* IntegerAveragePool and IntegerGlobalAveragePool of our own domain: averages of 8-bit codes of rank 4. Inputs: codes, scale and zero
 * point, those of the result; attributes of AveragePool and `layout`. */
#include <string.h>

#include "kernels/bytes.h"
#include "ops/broadcast.h"
#include "ops/contrib/qlinear.h"
#include "ops/fast/fast.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/window.h"

struct pool {
    const struct ox_bytes *table;
    struct ox_window window;
    const uint8_t *x;
    uint8_t *y;
    uint8_t flip;
    bool padded; /* what is outside counts as 0 */
    struct ox_qparam from, to;
    size_t channels, batch;
    enum ox_dtype dtype;
    int32_t *sums; /* a row of channels */
};

/* Codes of the averages over n elements, of which `inside` are there: as ox_qcode() has them. */
static void finish(const struct pool *p, size_t inside, size_t n, uint8_t *y)
{
    const double whole = 0x1.8p52; /* adding it rounds, halves to even */
    const double outside = (p->from.zero + p->flip) * (double)inside;
    const double by = p->from.scale / (double)n, scale = p->to.scale, zero = p->to.zero;
    const double lo = (p->flip ? -128 : 0) - zero, hi = lo + 255;
    for (size_t c = 0; c < p->channels; c++) {
        double q = ((double)p->sums[c] - outside) * by / scale;
        q = q > lo ? q : lo;
        q = q < hi ? q : hi;
        y[c] = (uint8_t)(int)((q + whole) - whole + zero);
    }
}

/* One output pixel, channels last. */
static void pool_pixel(const struct pool *p, const uint8_t *image, int64_t row, int64_t col,
                       uint8_t *y)
{
    const struct ox_window *w = &p->window;
    int64_t lo[2], hi[2];
    ox_window_range(w, 0, row, &lo[0], &hi[0]);
    ox_window_range(w, 1, col, &lo[1], &hi[1]);
    memset(p->sums, 0, p->channels * sizeof *p->sums);
    for (int64_t r = lo[0]; r < hi[0]; r++) {
        const int64_t at = row * w->stride[0] - w->before[0] + r * w->dilation[0];
        const int64_t across = col * w->stride[1] - w->before[1] + lo[1] * w->dilation[1];
        if (lo[1] < hi[1])
            p->table->accumulate(
                p->channels, (size_t)(hi[1] - lo[1]), (size_t)w->dilation[1] * p->channels,
                image + (size_t)(at * w->in[1] + across) * p->channels, p->flip, p->sums);
    }
    const size_t inside = (size_t)((hi[0] - lo[0]) * (hi[1] - lo[1]));
    size_t n = inside;
    if (p->padded) { /* over the padded image, but not beyond it */
        n = 1;
        for (unsigned d = 0; d < 2; d++) {
            const int64_t from = (d ? col : row) * w->stride[d] - w->before[d];
            const int64_t end = w->in[d] + w->after[d];
            int64_t taps = 0;
            for (int64_t k = 0; k < w->kernel[d]; k++)
                taps += from + k * w->dilation[d] < end;
            n *= (size_t)taps;
        }
    }
    finish(p, inside, n ? n : 1, y);
}

static void pool_images(const struct pool *p)
{
    const struct ox_window *w = &p->window;
    for (size_t b = 0; b < p->batch; b++) {
        const uint8_t *image = p->x + b * w->n_in * p->channels;
        uint8_t *out = p->y + b * w->n_out * p->channels;
        for (int64_t row = 0; row < w->out[0]; row++)
            for (int64_t col = 0; col < w->out[1]; col++, out += p->channels)
                pool_pixel(p, image, row, col, out);
    }
}

static void turn(const struct pool *p, bool back, const uint8_t *from, uint8_t *to)
{
    const size_t pixels = back ? p->window.n_out : p->window.n_in, each = pixels * p->channels;
    for (size_t b = 0; b < p->batch; b++)
        p->table->transpose(back ? pixels : p->channels, back ? p->channels : pixels,
                            from + b * each, back ? p->channels : pixels, to + b * each,
                            back ? pixels : p->channels);
}

static void sum_planes(void *arg, size_t from, size_t to)
{
    const struct pool *p = arg;
    const size_t n = p->window.n_in;
    for (size_t c = from; c < to; c++)
        p->sums[c] = p->table->sum(n, p->x + c * n, p->flip);
}

/* Averages of planes, channels first. */
static enum ox_status average_planes(struct ox_run *r, struct pool *p, struct ox_error *err)
{
    const size_t n = p->window.n_in;
    p->channels *= p->batch;
    p->sums = ox_run_scratch(r, p->channels, sizeof *p->sums, err);
    if (!p->sums)
        return OX_NO_MEMORY;
    ox_fast_spread(r->env, p->channels, OX_GRAIN / (n + 1) + 1, 0.03 * (double)n + 2, sum_planes,
                   p);
    finish(p, n, n ? n : 1, p->y);
    return ox_env_poll(r->env, err);
}

/* A window over all pixels. */
static void whole_window(const struct ox_tensor *shape, struct ox_window *w)
{
    *w = (struct ox_window){.n = 2, .n_in = 1, .n_out = 1, .taps = 1};
    for (unsigned d = 0; d < 2; d++) {
        w->in[d] = w->kernel[d] = shape->dims[2 + d];
        w->out[d] = w->stride[d] = w->dilation[d] = 1;
        w->n_in *= (size_t)w->in[d];
    }
    w->taps = w->n_in;
}

static enum ox_status run(struct ox_run *r, bool global, struct ox_error *err)
{
    const struct ox_tensor *x = ox_int8_even_empty(r, 0);
    struct pool *p = ox_run_scratch(r, 1, sizeof *p, err);
    struct ox_tensor *shape, *y;
    if (!p)
        return OX_NO_MEMORY;
    if (!x || x->rank != 4)
        return ox_run_fail(r, err, OX_INPUT, "the data are no 8-bit codes of rank 4");
    const bool last = ox_run_int(r, "layout", 0) & OX_IN_LAST || ox_run_int(r, "channels_last", 0);
    OX_TRY(ox_fused_first(r, x, last, &shape, err));
    *p = (struct pool){.table = ox_bytes(ox_cpu()),
                       .x = x->data,
                       .flip = x->dtype == OX_INT8 ? 0x80 : 0,
                       .padded = ox_run_int(r, "count_include_pad", 0) != 0,
                       .channels = (size_t)shape->dims[1],
                       .batch = (size_t)shape->dims[0],
                       .dtype = x->dtype};
    if (global)
        whole_window(shape, &p->window);
    else
        OX_TRY(ox_window_init(r, shape, NULL, ox_run_int(r, "ceil_mode", 0) != 0, &p->window, err));
    OX_TRY(ox_qparam_in(r, 1, 2, &p->from, err));
    OX_TRY(ox_qparam_in(r, 3, 4, &p->to, err));
    int64_t dims[4] = {shape->dims[0]};
    dims[last ? 3 : 1] = shape->dims[1];
    dims[last ? 1 : 2] = p->window.out[0];
    dims[last ? 2 : 3] = p->window.out[1];
    OX_TRY(ox_run_out(r, 0, x->dtype, 4, dims, &y, err));
    if (global && !last) {
        p->y = y->data;
        return average_planes(r, p, err);
    }
    p->sums = ox_run_scratch(r, p->channels, sizeof *p->sums, err);
    uint8_t *in = last ? NULL : ox_run_work(r, x->n, 1, err);
    uint8_t *out = last ? NULL : ox_run_work(r, y->n, 1, err);
    if (!p->sums || (!last && (!in || !out)))
        return OX_NO_MEMORY;
    if (!y->n)
        return OX_OK;
    if (!last) {
        turn(p, false, x->data, in);
        p->x = in;
    }
    p->y = last ? y->data : out;
    pool_images(p);
    if (!last)
        turn(p, true, out, y->data);
    return ox_env_poll(r->env, err);
}

/* ---- Operators ---------------------------------------------------------------------------------------------------- */

static enum ox_status run_average(struct ox_run *r, struct ox_error *err)
{
    return run(r, false, err);
}

static enum ox_status run_global(struct ox_run *r, struct ox_error *err)
{
    return run(r, true, err);
}

static bool is_map(const struct ox_run *r)
{
    const struct ox_tensor *x = ox_int8_even_empty(r, 0);
    return x && x->rank == 4;
}

enum ox_status ox_int8_average_pool(struct ox_run *r, struct ox_error *err)
{
    return is_map(r) ? run_average(r, err) : OX_UNSUPPORTED;
}

enum ox_status ox_int8_global_average(struct ox_run *r, struct ox_error *err)
{
    return is_map(r) ? run_global(r, err) : OX_UNSUPPORTED;
}

static void infer_average(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    if (ox_infer_int_attr(c, "layout", 0) == 0)
        ox_infer_pool(c);
}

static void infer_global(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank < 3)
        return;
    const bool last = ox_infer_int_attr(c, "layout", 0) != 0;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    for (unsigned d = 0; dims && d < rank; d++)
        dims[d] = d == 0 || d == (last ? rank - 1 : 1) ? x[d] : ox_infer_num(c, 1);
    if (dims)
        ox_infer_set_shape(c, 0, rank, dims);
}

const struct ox_op ox_ops_int8_pool[] = {
    {OX_OWN_DOMAIN, "IntegerAveragePool", 1, .infer = infer_average, .run = run_average},
    {OX_OWN_DOMAIN, "IntegerGlobalAveragePool", 1, .infer = infer_global, .run = run_global},
    {0}};
