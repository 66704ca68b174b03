/* Greatest codes of windows over [N, H, W, C] or [N, W, C]. Windows that overlap along a line, or pixels of few codes: the rows that a line of outputs
 * reaches become one first, the greatest of each place; of a stride of 1 its windows are that row itself, a pixel further on a tap. */
#include <string.h>

#include "common/compiler.h"
#include "kernels/bytes.h"
#include "kernels/dense.h"
#include "kernels/sizes.h"
#include "ops/fast/fast.h"
#include "ops/int8/int8.h"
#include "ops/window.h"

enum {
    LISTED = 64, /* rows that are compared at a time */
    FEW = 32     /* channels */
};

struct greatest {
    const struct ox_bytes *table;
    const struct ox_window *w;
    const uint8_t *x;
    uint8_t *y, *work;
    uint8_t flip;
    size_t channels;
    size_t line; /* pixels of a row with its padding; 0: each window is looked at alone */
    size_t slot; /* bytes of a slot's work */
};

struct listed {
    size_t n, rows;
    const uint8_t *row[LISTED];
    uint8_t *out;
};

static void compare(const struct greatest *g, struct listed *list)
{
    g->table->greatest(list->n, list->rows, list->row, g->flip, list->out);
    list->rows = 0;
}

static void add(const struct greatest *g, struct listed *list, const uint8_t *row)
{
    list->row[list->rows++] = row;
    if (list->rows == LISTED)
        compare(g, list);
}

static void begin(const struct greatest *g, struct listed *list, size_t n, uint8_t *out)
{
    memset(out, g->flip, n); /* the least */
    list->n = n;
    list->rows = 0;
    list->out = out;
}

static void one_window(const struct greatest *g, const uint8_t *image, int64_t row, int64_t col,
                       const int64_t *lo, const int64_t *hi, uint8_t *out)
{
    const struct ox_window *w = g->w;
    struct listed list;
    begin(g, &list, g->channels, out);
    for (int64_t r = lo[0]; r < hi[0]; r++) {
        const int64_t at = row * w->stride[0] - w->before[0] + r * w->dilation[0];
        for (int64_t q = lo[1]; q < hi[1]; q++) {
            const int64_t across = col * w->stride[1] - w->before[1] + q * w->dilation[1];
            add(g, &list, image + (size_t)(at * w->in[1] + across) * g->channels);
        }
    }
    compare(g, &list);
}

/* Where the outputs of a line begin, and end, whose windows have all their columns. */
static void whole_columns(const struct ox_window *w, int64_t *from, int64_t *to)
{
    const int64_t stride = w->stride[1], reach = (w->kernel[1] - 1) * w->dilation[1];
    const int64_t last = w->in[1] + w->before[1] - 1 - reach; /* the last column where one begins */
    *from = (w->before[1] + stride - 1) / stride;
    *to = last < 0 ? 0 : last / stride + 1;
    if (*to > w->out[1])
        *to = w->out[1];
    if (*to < *from)
        *to = *from;
}

/* Outputs col to end - 1 of a line, whose windows have all their columns; false: they are looked at one by one. */
static bool many_windows(const struct greatest *g, const uint8_t *image, int64_t row, int64_t col,
                         int64_t end, const int64_t *lo, const int64_t *hi, uint8_t *out)
{
    const struct ox_window *w = g->w;
    const uint8_t *rows[LISTED];
    size_t n = 0;
    if (!g->table->windows || g->channels < OX_BYTES_WINDOW || col >= end || lo[0] >= hi[0] ||
        (hi[0] - lo[0]) > LISTED / w->kernel[1])
        return false;
    const int64_t across = col * w->stride[1] - w->before[1];
    for (int64_t r = lo[0]; r < hi[0]; r++) {
        const int64_t at = row * w->stride[0] - w->before[0] + r * w->dilation[0];
        for (int64_t q = 0; q < w->kernel[1]; q++)
            rows[n++] = image + (size_t)(at * w->in[1] + across + q * w->dilation[1]) * g->channels;
    }
    g->table->windows((size_t)(end - col), (size_t)w->stride[1] * g->channels, g->channels, n, rows,
                      g->flip, out);
    return true;
}

/* The rows of the image that a line of outputs reaches, as one within its padding. */
static void join_rows(const struct greatest *g, const uint8_t *image, int64_t row,
                      const int64_t *lo, const int64_t *hi, uint8_t *line)
{
    const struct ox_window *w = g->w;
    const size_t n = (size_t)w->in[1] * g->channels;
    struct listed list;
    begin(g, &list, n, line + (size_t)w->before[1] * g->channels);
    for (int64_t r = lo[0]; r < hi[0]; r++)
        add(g, &list, image + (size_t)(row * w->stride[0] - w->before[0] + r * w->dilation[0]) * n);
    compare(g, &list);
}

static void windows_of_line(const struct greatest *g, const uint8_t *line, uint8_t *out)
{
    const struct ox_window *w = g->w;
    const bool whole = w->stride[1] == 1;
    const size_t n = whole ? (size_t)w->out[1] * g->channels : g->channels;
    const size_t step = (size_t)w->dilation[1] * g->channels;
    struct listed list;
    for (int64_t col = 0; col < (whole ? 1 : w->out[1]); col++, out += n) {
        const uint8_t *from = line + (size_t)(col * w->stride[1]) * g->channels;
        begin(g, &list, n, out);
        for (size_t q = 0; q < (size_t)w->kernel[1]; q++)
            add(g, &list, from + q * step);
        compare(g, &list);
    }
}

/* A row of outputs. */
static void row_of_outputs(void *arg, size_t i, size_t slot)
{
    const struct greatest *g = arg;
    const struct ox_window *w = g->w;
    const size_t rows = (size_t)w->out[0];
    const uint8_t *image = g->x + i / rows * w->n_in * g->channels;
    uint8_t *out = g->y + i * (size_t)w->out[1] * g->channels;
    const int64_t row = (int64_t)(i % rows);
    int64_t lo[2], hi[2];
    ox_window_range(w, 0, row, &lo[0], &hi[0]);
    if (g->line) {
        uint8_t *line = g->work + slot * g->slot;
        const size_t before = (size_t)w->before[1] * g->channels;
        const size_t end = before + (size_t)w->in[1] * g->channels;
        memset(line, g->flip, before);
        memset(line + end, g->flip, g->line * g->channels - end);
        join_rows(g, image, row, lo, hi, line);
        windows_of_line(g, line, out);
        return;
    }
    int64_t from, to;
    whole_columns(w, &from, &to);
    for (int64_t col = 0; col < w->out[1];) {
        uint8_t *at = out + (size_t)col * g->channels;
        if (col == from && many_windows(g, image, row, from, to, lo, hi, at)) {
            col = to;
            continue;
        }
        ox_window_range(w, 1, col, &lo[1], &hi[1]);
        one_window(g, image, row, col++, lo, hi, at);
    }
}

/* Pixels from the first of a row's padding to the last that its outputs reach; 0: more than is worth laying out. */
static size_t line_of(const struct ox_window *w)
{
    const int64_t most = 1 << 20;
    if (w->kernel[1] > LISTED || w->stride[1] > LISTED || w->dilation[1] > most ||
        w->before[1] > most || w->in[1] > most || w->out[1] > most)
        return 0;
    const size_t inside = (size_t)(w->before[1] + w->in[1]);
    const size_t reach =
        (size_t)((w->out[1] - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1);
    return reach > inside ? reach : inside;
}

/* Of one axis as of two, of which the first has one row. */
static void in_rows(struct ox_window *w)
{
    if (w->n != 1)
        return;
    int64_t *const of[] = {w->kernel, w->stride, w->dilation, w->before, w->after, w->in, w->out};
    for (size_t i = 0; i < OX_COUNT(of); i++) {
        of[i][1] = of[i][0];
        of[i][0] = of[i] != w->before && of[i] != w->after;
    }
    w->n = 2;
}

enum ox_status ox_int8_max_pool(struct ox_run *r, const struct ox_tensor *x, struct ox_window *w,
                                struct ox_tensor *y, struct ox_error *err)
{
    in_rows(w);
    struct greatest g = {.table = ox_bytes(ox_cpu()),
                         .w = w,
                         .x = x->data,
                         .y = y->data,
                         .flip = x->dtype == OX_INT8 ? 0x80 : 0,
                         .channels = (size_t)x->dims[x->rank - 1]};
    if (w->kernel[1] > 1 && (w->stride[1] == 1 || g.channels < FEW))
        g.line = line_of(w);
    if (g.line) {
        size_t bytes;
        if (OX_MUL_OVERFLOWS(g.line, g.channels, &bytes) || bytes > SIZE_MAX / 2)
            return ox_run_fail(r, err, OX_NO_MEMORY, "a row with its padding is too large");
        g.slot = ox_round_up(bytes, OX_SLOT_APART);
        g.work = ox_run_work(r, ox_slots(r->env), g.slot, err);
        if (!g.work)
            return OX_NO_MEMORY;
    }
    const double taps = (double)(g.line ? w->kernel[0] + w->kernel[1] : (int64_t)w->taps);
    ox_spread(r->env, (size_t)(x->dims[0] * w->out[0]), (double)y->n * taps, row_of_outputs, &g);
    return ox_env_poll(r->env, err);
}
