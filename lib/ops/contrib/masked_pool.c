/* MaxpoolWithMask of com.microsoft: of each row of a window no more counts than what comes before the first element that a mask leaves
 * out. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/contrib/contrib.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/window.h"

/* The greatest of a row's elements [from, to), which end at the first that the mask leaves out, and of what was found before. Element 0
 * of a plane counts always where there are rows. */
static double most_of_row(const void *x, bool floats, const int32_t *mask, size_t row, size_t from,
                          size_t to, bool rows, double most)
{
    for (size_t k = row + from; k < row + to; k++) {
        if (!mask[k] && (k || !rows))
            break;
        const double value = floats ? (double)((const float *)x)[k] : ((const double *)x)[k];
        most = value > most ? value : most;
    }
    return most;
}

/* Where on axis d the window lies whose place there is `o` modulo the number of windows. False: nowhere. */
static bool row_range(const struct ox_window *w, unsigned d, size_t o, int64_t *from, int64_t *to)
{
    const int64_t start = (int64_t)(o % (size_t)w->out[d]) * w->stride[d] - w->before[d];
    *from = start > 0 ? start : 0;
    *to = start + w->kernel[d] < w->in[d] ? start + w->kernel[d] : w->in[d];
    return *from < *to;
}

static bool next_row(unsigned n, const int64_t *from, const int64_t *to, int64_t *at)
{
    bool more = false;
    for (unsigned d = n; d-- > 0 && !more; at[d] = more ? at[d] : from[d])
        more = ++at[d] < to[d];
    return more;
}

/* A plane's maxima; a window of nothing has the lowest float. */
static void pool_plane(const struct ox_window *w, const void *x, bool floats, const int32_t *mask,
                       double *y)
{
    const unsigned last = w->n - 1;
    int64_t at[OX_WINDOW_AXES], from[OX_WINDOW_AXES], to[OX_WINDOW_AXES];
    for (size_t o = 0; o < w->n_out; o++) {
        size_t rest = o;
        bool any = true;
        for (unsigned d = w->n; d-- > 0; rest /= (size_t)w->out[d])
            any &= row_range(w, d, rest, &from[d], &to[d]);
        memcpy(at, from, last * sizeof *at);
        y[o] = (double)-FLT_MAX;
        for (bool more = any; more; more = next_row(last, from, to, at)) {
            size_t row = 0;
            for (unsigned d = 0; d < last; d++)
                row = (row + (size_t)at[d]) * (size_t)w->in[d + 1];
            y[o] = most_of_row(x, floats, mask, row, (size_t)from[last], (size_t)to[last], w->n > 1,
                               y[o]);
        }
    }
}

/* Floats go by lines of windows. Rows of planes and of masks are copied with their padding, elements of a line that are a stride apart
 * side by side: `phases` pieces of `line` elements, in which tap k stands at piece k % stride, k / stride further on. Where an element
 * counts a row of the mask has INFINITY, else the least float. */
struct lines {
    size_t kernel, stride, phases, line, n; /* of the last axis; n: windows */
    size_t rows;                            /* of a plane */
    size_t size;                            /* floats of a plane's copy */
};

/* False: padding is most of it. */
static bool lines_init(const struct ox_window *w, struct lines *l)
{
    const unsigned last = w->n - 1;
    const size_t kernel = (size_t)w->kernel[last], stride = (size_t)w->stride[last];
    const size_t wide = (size_t)w->in[last], n = (size_t)w->out[last];
    if (w->before[last] > w->in[last] || w->after[last] > w->in[last] || kernel > 3 * wide)
        return false;
    *l = (struct lines){.kernel = kernel, .stride = stride, .n = n};
    l->phases = stride < kernel ? stride : kernel;
    l->line = n + (kernel - 1) / stride;
    l->rows = w->n_in / wide;
    l->size = l->rows * l->phases * l->line;
    return true;
}

/* Elements [*from, *to) of a piece lie in the row, of which the first is *at. */
static void piece_range(const struct ox_window *w, const struct lines *l, size_t phase,
                        size_t *from, size_t *to, size_t *at)
{
    const int64_t stride = (int64_t)l->stride, line = (int64_t)l->line;
    const int64_t first = (int64_t)phase - w->before[w->n - 1], left = w->in[w->n - 1] - first;
    const int64_t low = first >= 0 ? 0 : (-first + stride - 1) / stride;
    const int64_t high = left <= 0 ? 0 : (left + stride - 1) / stride;
    *from = (size_t)(low < line ? low : line);
    *to = (size_t)(high < line ? high : line);
    *at = (size_t)(first + low * stride);
}

static void copy_plane(const struct ox_window *w, const struct lines *l, const float *x, float *out)
{
    const size_t wide = (size_t)w->in[w->n - 1], stride = l->stride;
    for (size_t phase = 0; phase < l->phases; phase++) {
        size_t from, to, at;
        piece_range(w, l, phase, &from, &to, &at);
        for (size_t row = 0; row < l->rows; row++) {
            const float *in = x + row * wide + at;
            float *piece = out + (row * l->phases + phase) * l->line;
            for (size_t i = 0; i < from; i++)
                piece[i] = -FLT_MAX;
            if (stride == 1)
                for (size_t i = from; i < to; i++)
                    piece[i] = in[i - from];
            else if (stride == 2)
                for (size_t i = from; i < to; i++)
                    piece[i] = in[2 * (i - from)];
            else
                for (size_t i = from; i < to; i++)
                    piece[i] = in[stride * (i - from)];
            for (size_t i = to > from ? to : from; i < l->line; i++)
                piece[i] = -FLT_MAX;
        }
    }
}

static void copy_mask(const struct ox_window *w, const struct lines *l, const int32_t *mask,
                      float *out)
{
    const size_t wide = (size_t)w->in[w->n - 1];
    for (size_t phase = 0; phase < l->phases; phase++) {
        size_t from, to, at;
        piece_range(w, l, phase, &from, &to, &at);
        for (size_t row = 0; row < l->rows; row++) {
            const int32_t *in = mask + row * wide;
            float *piece = out + (row * l->phases + phase) * l->line;
            for (size_t i = 0; i < l->line; i++)
                piece[i] = INFINITY;
            for (size_t i = from; i < to; i++) {
                const size_t k = at + l->stride * (i - from);
                const bool counts = in[k] || (row + k == 0 && w->n > 1);
                piece[i] = counts ? INFINITY : -FLT_MAX;
            }
        }
    }
}

/* What a row of each window of a line has. NaN counts nowhere. */
static void pool_row(const struct lines *l, const float *x, const float *mask, float *restrict cap,
                     float *restrict most)
{
    for (size_t k = 0; k < l->kernel; k++) {
        const size_t at = k % l->stride * l->line + k / l->stride;
        const float *restrict value = x + at, *restrict open = mask + at;
        for (size_t j = 0; j < l->n; j++) {
            const float low = k == 0 || open[j] < cap[j] ? open[j] : cap[j];
            const float v = low < value[j] ? low : value[j];
            cap[j] = low;
            most[j] = v > most[j] ? v : most[j];
        }
    }
}

/* x and mask as copied. */
static void pool_lines(const struct ox_window *w, const struct lines *l, const float *x,
                       const float *mask, float *cap, float *y)
{
    const unsigned last = w->n - 1;
    int64_t at[OX_WINDOW_AXES], from[OX_WINDOW_AXES], to[OX_WINDOW_AXES];
    for (size_t o = 0; o < w->n_out / l->n; o++, y += l->n) {
        size_t rest = o;
        bool any = true;
        for (unsigned d = last; d-- > 0; rest /= (size_t)w->out[d])
            any &= row_range(w, d, rest, &from[d], &to[d]);
        memcpy(at, from, last * sizeof *at);
        for (size_t j = 0; j < l->n; j++)
            y[j] = -FLT_MAX;
        for (bool more = any; more; more = next_row(last, from, to, at)) {
            size_t row = 0;
            for (unsigned d = 0; d < last; d++)
                row = row * (size_t)w->in[d] + (size_t)at[d];
            row *= l->phases * l->line;
            pool_row(l, x + row, mask + row, cap, y);
        }
    }
}

struct masked_pool {
    const struct ox_window *w;
    const void *x;
    bool floats;
    const struct ox_tensor *mask;
    struct ox_tensor *y;
    double *rows;              /* of each slot, without lines */
    const struct lines *lines; /* NULL: without */
    float *masks, *copies;     /* all, and a plane and a line for each slot */
};

static void line_task(void *arg, size_t p, size_t slot)
{
    const struct masked_pool *j = arg;
    const struct ox_window *w = j->w;
    float *copy = j->copies + slot * (j->lines->size + j->lines->n);
    copy_plane(w, j->lines, (const float *)j->x + p * w->n_in, copy);
    pool_lines(w, j->lines, copy, j->masks + p % (j->mask->n / w->n_in) * j->lines->size,
               copy + j->lines->size, (float *)j->y->data + p * w->n_out);
}

static void pool_task(void *arg, size_t p, size_t slot)
{
    const struct masked_pool *j = arg;
    const struct ox_window *w = j->w;
    const size_t plane = p % (j->mask->n / w->n_in);
    const int32_t *mask = (const int32_t *)j->mask->data + plane * w->n_in;
    double *row = j->rows + slot * w->n_out;
    if (j->floats)
        pool_plane(w, (const float *)j->x + p * w->n_in, true, mask, row);
    else
        pool_plane(w, (const double *)j->x + p * w->n_in, false, mask, row);
    ox_real_store(j->y, p * w->n_out, w->n_out, row);
}

/* Few planes by as many masks would only be copied. */
static enum ox_status prepare_lines(struct ox_run *r, struct masked_pool *j, struct lines *l,
                                    struct ox_error *err)
{
    const size_t planes = j->mask->n / j->w->n_in;
    if (!j->floats || !lines_init(j->w, l))
        return OX_OK;
    j->masks = ox_run_work(r, planes * l->size, sizeof *j->masks, err);
    j->copies = ox_run_work(r, ox_slots(r->env) * (l->size + l->n), sizeof *j->copies, err);
    if (!j->masks || !j->copies)
        return err->status;
    for (size_t p = 0; p < planes; p++)
        copy_mask(j->w, l, (const int32_t *)j->mask->data + p * j->w->n_in, j->masks + p * l->size);
    j->lines = l;
    return OX_OK;
}

static enum ox_status run_masked_pool(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *mask = ox_run_in(r, 1);
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    bool fits = x->rank >= 3 && mask->rank == x->rank;
    for (unsigned d = 2; fits && d < x->rank; d++)
        fits = mask->dims[d] == x->dims[d];
    if (!fits || (x->n && !mask->n))
        return ox_run_fail(r, err, OX_INPUT, "the mask does not have the planes of X");
    OX_TRY(ox_window_init(r, x, NULL, false, w, err));
    int64_t dims[OX_WINDOW_AXES + 2] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, w->out, w->n * sizeof *dims);
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    struct masked_pool j = {.w = w, .x = x->data, .floats = x->dtype == OX_FLOAT32};
    j.mask = mask;
    j.y = y;
    if (!x->n || !y->n)
        return OX_OK;
    if (!j.floats && !(j.x = ox_real_all(r, x, err)))
        return OX_NO_MEMORY;
    struct lines lines;
    OX_TRY(prepare_lines(r, &j, &lines, err));
    if (!j.lines && !(j.rows = ox_real_scratch(r, ox_slots(r->env) * w->n_out, err)))
        return OX_NO_MEMORY;
    double taps = 1;
    for (unsigned d = 0; d < w->n; d++)
        taps *= (double)w->kernel[d];
    ox_spread(r->env, x->n / w->n_in, (j.lines ? 4 : 300) * taps * (double)y->n,
              j.lines ? line_task : pool_task, &j);
    return ox_env_poll(r->env, err);
}

static void infer_masked_pool(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_standard(c, "MaxPool", 1);
}

const struct ox_op ox_ops_masked_pool[] = {
    {"com.microsoft", "MaxpoolWithMask", 1, .infer = infer_masked_pool, .run = run_masked_pool},
    {0}};
