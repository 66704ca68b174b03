#include "kernels/maps.h"

#include <math.h>
#include <string.h>

#include "kernels/sizes.h"

struct moving {
    const struct ox_compute *t;
    size_t rows, cols, parts, part; /* of one image; it is cut into parts along the longer side */
    bool by_rows;
    const float *x;
    float *y;
    size_t ldx, ldy, x_batch, y_batch;
};

static void move_part(void *arg, size_t i, size_t slot)
{
    const struct moving *m = arg;
    const size_t image = i / m->parts, first = i % m->parts * m->part;
    const float *x = m->x + image * m->x_batch;
    float *y = m->y + image * m->y_batch;
    (void)slot;
    if (m->by_rows)
        m->t->transpose(ox_least(m->part, m->rows - first), m->cols, x + first * m->ldx, m->ldx,
                        y + first, m->ldy);
    else
        m->t->transpose(m->rows, ox_least(m->part, m->cols - first), x + first, m->ldx,
                        y + first * m->ldy, m->ldy);
}

static void move_all(struct ox_env *env, struct moving *m, size_t batch)
{
    enum { PART = 256 };
    const size_t longer = m->rows > m->cols ? m->rows : m->cols;
    m->by_rows = m->rows > m->cols;
    m->part = ox_even_part(longer, PART, 16);
    m->parts = m->part ? (longer + m->part - 1) / m->part : 0;
    if (m->rows && m->cols)
        ox_spread(env, batch * m->parts, (double)(batch * m->rows) * (double)m->cols * 40,
                  move_part, m);
}

void ox_maps_to_nhwc(const struct ox_compute *t, struct ox_env *env, size_t batch, size_t channels,
                     size_t pixels, const float *x, float *y, size_t pixel)
{
    struct moving m = {.t = t,
                       .rows = channels,
                       .cols = pixels,
                       .x = x,
                       .y = y,
                       .ldx = pixels,
                       .ldy = pixel,
                       .x_batch = channels * pixels,
                       .y_batch = pixels * pixel};
    move_all(env, &m, batch);
}

void ox_maps_to_nchw(const struct ox_compute *t, struct ox_env *env, size_t batch, size_t channels,
                     size_t pixels, const float *x, size_t pixel, float *y)
{
    struct moving m = {.t = t,
                       .rows = pixels,
                       .cols = channels,
                       .x = x,
                       .y = y,
                       .ldx = pixel,
                       .ldy = pixels,
                       .x_batch = pixels * pixel,
                       .y_batch = channels * pixels};
    move_all(env, &m, batch);
}

enum { WINDOW = 64, LINE = 16 };

struct pooling {
    const struct ox_compute *t;
    const struct ox_pooling *p;
    const float *in;
    float *out;
};

/* A window of more pixels than fit the list goes in pieces: `out` holds the result so far. */
static void pool_piece(const struct pooling *job, struct ox_pool *k, const float **list, bool first)
{
    if (!first)
        list[k->n++] = k->out;
    if (job->p->kind == OX_POOL_MAX)
        job->t->pool_max(k);
    else
        job->t->pool_sum(k);
}

static size_t padded_taps(const struct ox_pooling *p, unsigned axis, size_t at)
{
    const size_t end = p->in[axis] + p->pad[axis] + p->pad_end[axis];
    size_t n = 0;
    for (size_t r = 0; r < p->kernel[axis]; r++)
        n += at * p->stride[axis] + r * p->dilation[axis] < end;
    return n;
}

/* Outputs [from, to) of a line whose columns all lie inside. */
static void inner_columns(const struct ox_pooling *p, size_t *from, size_t *to)
{
    const size_t reach = (p->kernel[1] - 1) * p->dilation[1], end = p->in[1] + p->pad[1];
    *from = ox_least((p->pad[1] + p->stride[1] - 1) / p->stride[1], p->out[1]);
    *to = end > reach ? ox_least((end - reach - 1) / p->stride[1] + 1, p->out[1]) : 0;
    *to = *to > *from ? *to : *from;
}

/* Those outputs of line y: the same windows a step further each. */
static void pool_inner(const struct pooling *job, size_t image, size_t y, size_t from, size_t to)
{
    const struct ox_pooling *p = job->p;
    const float *in = job->in + image * p->in[0] * p->in[1] * p->in_pixel;
    const float *list[WINDOW];
    struct ox_pool k = {.channels = p->channels, .in = list, .divisor = 1};
    k.out = job->out + ((image * p->out[0] + y) * p->out[1] + from) * p->out_pixel;
    for (size_t r = 0; r < p->kernel[0]; r++) {
        const size_t iy = y * p->stride[0] + r * p->dilation[0] - p->pad[0];
        for (size_t q = 0; iy < p->in[0] && q < p->kernel[1]; q++) {
            const size_t ix = from * p->stride[1] + q * p->dilation[1] - p->pad[1];
            list[k.n++] = in + (iy * p->in[1] + ix) * p->in_pixel;
        }
    }
    if (p->kind == OX_POOL_AVERAGE)
        k.divisor = (float)k.n;
    else if (p->kind == OX_POOL_AVERAGE_PADDED)
        k.divisor = (float)(padded_taps(p, 0, y) * p->kernel[1]);
    k.more = to - from - 1;
    k.step = p->stride[1] * p->in_pixel;
    k.out_step = p->out_pixel;
    if (p->kind == OX_POOL_MAX)
        job->t->pool_max(&k);
    else
        job->t->pool_sum(&k);
}

/* Whether any row of a window at line y lies inside. */
static bool meets_rows(const struct ox_pooling *p, size_t y)
{
    bool meets = false;
    for (size_t r = 0; r < p->kernel[0]; r++)
        meets |= y * p->stride[0] + r * p->dilation[0] - p->pad[0] < p->in[0];
    return meets;
}

static void pool_pixel(const struct pooling *job, size_t image, size_t y, size_t x)
{
    const struct ox_pooling *p = job->p;
    const float *in = job->in + image * p->in[0] * p->in[1] * p->in_pixel;
    const float *list[WINDOW + 1];
    struct ox_pool k = {.channels = p->channels, .in = list, .divisor = 1};
    size_t inside = 0;
    bool first = true;
    k.out = job->out + ((image * p->out[0] + y) * p->out[1] + x) * p->out_pixel;
    for (size_t r = 0; r < p->kernel[0]; r++) {
        const size_t iy = y * p->stride[0] + r * p->dilation[0] - p->pad[0];
        for (size_t q = 0; iy < p->in[0] && q < p->kernel[1]; q++) {
            const size_t ix = x * p->stride[1] + q * p->dilation[1] - p->pad[1];
            if (ix >= p->in[1])
                continue;
            if (k.n == WINDOW) {
                pool_piece(job, &k, list, first);
                first = false;
                k.n = 0;
            }
            list[k.n++] = in + (iy * p->in[1] + ix) * p->in_pixel;
            inside++;
        }
    }
    if (inside == 0) {
        for (size_t c = 0; c < p->channels; c++)
            k.out[c] = p->kind == OX_POOL_MAX ? -INFINITY : 0;
        return;
    }
    if (p->kind == OX_POOL_AVERAGE)
        k.divisor = (float)inside;
    else if (p->kind == OX_POOL_AVERAGE_PADDED)
        k.divisor = (float)(padded_taps(p, 0, y) * padded_taps(p, 1, x));
    pool_piece(job, &k, list, first);
}

static void pool_row(void *arg, size_t i, size_t slot)
{
    const struct pooling *job = arg;
    const struct ox_pooling *p = job->p;
    const size_t image = i / p->out[0], y = i % p->out[0];
    size_t from = p->out[1], to = from;
    (void)slot;
    if (p->kernel[0] * p->kernel[1] <= WINDOW && meets_rows(p, y))
        inner_columns(p, &from, &to);
    for (size_t x = 0; x < from; x++)
        pool_pixel(job, image, y, x);
    if (from < to)
        pool_inner(job, image, y, from, to);
    for (size_t x = to; x < p->out[1]; x++)
        pool_pixel(job, image, y, x);
}

/* Of a map that a core's cache holds. */
enum { NEAR_FLOATS = 5 << 16 };

void ox_maps_pool(const struct ox_compute *t, struct ox_env *env, const struct ox_pooling *p,
                  const float *in, float *out)
{
    struct pooling job = {t, p, in, out};
    const size_t rows = p->batch * p->out[0];
    const double work =
        (double)rows * (double)(p->out[1] * p->channels) * (double)(p->kernel[0] * p->kernel[1]);
    const bool is_far = p->batch * p->in[0] * p->in[1] * p->channels > NEAR_FLOATS;
    (is_far ? ox_spread_back : ox_spread)(env, rows, work * 6, pool_row, &job);
}

/* Of a large map a part of the pixels is a task: a core finds those that it made itself in the job before. There are as many for any
 * number of threads, so that sums are the same bits. */
enum { PIXEL_PARTS = 4, PARTED_PIXELS = 2048, PARTED_CHANNELS = 512 };

struct all_pixels {
    const struct ox_compute *t;
    bool max;
    size_t channels, pixels;
    size_t parts, part; /* tasks of an image, and their channels */
    const float *in;
    float *out;
    size_t in_pixel, out_pixel;
};

/* `n` pixels to one, of `channels`. */
static void pool_pixels(const struct all_pixels *a, size_t channels, size_t n, const float *in,
                        size_t in_pixel, size_t divisor, float *out)
{
    const float *list[WINDOW + 1];
    struct ox_pool k = {.channels = channels, .in = list, .out = out};
    for (size_t at = 0; at < n; at += WINDOW) {
        k.n = ox_least(WINDOW, n - at);
        for (size_t u = 0; u < k.n; u++)
            list[u] = in + (at + u) * in_pixel;
        k.divisor = at + k.n == n ? (float)divisor : 1;
        if (at)
            list[k.n++] = k.out;
        if (a->max)
            a->t->pool_max(&k);
        else
            a->t->pool_sum(&k);
    }
}

static void pool_chunk(void *arg, size_t i, size_t slot)
{
    const struct all_pixels *a = arg;
    const size_t image = i / a->parts, first = i % a->parts * a->part;
    (void)slot;
    pool_pixels(a, ox_least(a->part, a->channels - first), a->pixels,
                a->in + image * a->pixels * a->in_pixel + first, a->in_pixel, a->pixels,
                a->out + image * a->out_pixel + first);
}

static void pool_part_of_pixels(void *arg, size_t i, size_t slot)
{
    const struct all_pixels *a = arg;
    const size_t first = i * a->pixels / PIXEL_PARTS, end = (i + 1) * a->pixels / PIXEL_PARTS;
    (void)slot;
    pool_pixels(a, a->channels, end - first, a->in + first * a->in_pixel, a->in_pixel, 1,
                a->out + i * a->out_pixel);
}

static void pool_parts(const struct all_pixels *a, struct ox_env *env, double work)
{
    _Alignas(2 * LINE * sizeof(float)) float sums[PIXEL_PARTS * PARTED_CHANNELS];
    struct all_pixels parts = *a;
    parts.out = sums;
    parts.out_pixel = PARTED_CHANNELS;
    ox_spread(env, PIXEL_PARTS, work, pool_part_of_pixels, &parts);
    pool_pixels(a, a->channels, PIXEL_PARTS, sums, PARTED_CHANNELS, a->pixels, a->out);
}

void ox_maps_pool_global(const struct ox_compute *t, struct ox_env *env, bool max, size_t batch,
                         size_t channels, size_t pixels, const float *in, size_t in_pixel,
                         float *out, size_t out_pixel)
{
    struct all_pixels a = {.t = t,
                           .max = max,
                           .channels = channels,
                           .pixels = pixels,
                           .in = in,
                           .out = out,
                           .in_pixel = in_pixel,
                           .out_pixel = out_pixel};
    const double work = (double)(batch * channels) * (double)pixels * 10;
    if (batch == 1 && pixels >= PARTED_PIXELS && channels <= PARTED_CHANNELS) {
        pool_parts(&a, env, work);
        return;
    }
    /* Whole pixels come from memory in the order in which they lie there, or at least whole lines of the cache. */
    const size_t tasks = batch < ox_slots(env) ? ox_slots(env) : 1;
    a.part = ox_round_up((channels + tasks - 1) / tasks, LINE);
    a.parts = (channels + a.part - 1) / a.part;
    ox_spread(env, batch * a.parts, work, pool_chunk, &a);
}

struct resizing {
    const struct ox_compute *t;
    const struct ox_resizing *r;
    const float *in;
    float *out;
};

/* Stores would wait for the lines they go to. */
static void expect_pixel(size_t channels, const float *out)
{
    for (size_t i = 0; i < channels; i += LINE)
        __builtin_prefetch(out + i, 1, 3);
}

static void resize_row(void *arg, size_t i, size_t slot)
{
    enum { NEAR = 512 };
    const struct resizing *job = arg;
    const struct ox_resizing *r = job->r;
    const size_t image = i / r->out[0], y = i % r->out[0];
    const float *in = job->in + image * r->in[0] * r->in[1] * r->in_pixel;
    const size_t line = r->in[1] * r->in_pixel;
    float *out = job->out + i * r->out[1] * r->out_pixel;
    const size_t ahead = NEAR / (r->channels + 1) + 1;
    (void)slot;
    for (size_t x = 0; x < r->out[1]; x++, out += r->out_pixel) {
        if (x + ahead < r->out[1])
            expect_pixel(r->channels, out + ahead * r->out_pixel);
        const float *top = in + r->row[2 * y] * line, *low = in + r->row[2 * y + 1] * line;
        const size_t left = r->col[2 * x] * r->in_pixel, right = r->col[2 * x + 1] * r->in_pixel;
        if (!r->row_weight) {
            memcpy(out, top + left, r->channels * sizeof *out);
            continue;
        }
        const float u = r->row_weight[y], v = r->col_weight[x];
        const float w[4] = {u * v, u * (1 - v), (1 - u) * v, (1 - u) * (1 - v)};
        const float *const from[4] = {top + left, top + right, low + left, low + right};
        job->t->blend(r->channels, w, from, out);
    }
}

void ox_maps_resize(const struct ox_compute *t, struct ox_env *env, const struct ox_resizing *r,
                    const float *in, float *out)
{
    struct resizing job = {t, r, in, out};
    ox_spread(env, r->batch * r->out[0],
              (double)(r->batch * r->out[0]) * (double)(r->out[1] * r->channels) * 20, resize_row,
              &job);
}
