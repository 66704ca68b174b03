/* Conv in float32 from planes to planes: where it was not made a FusedConv (more than two spatial axes and the like), and for one of
 * few taps whose output is wanted in planes. The input is copied into planes with
 * their padding, so that no tap lies outside; of a line every stride-th element lies together, so that what neighbouring outputs
 * read at a tap is adjacent. */
#include <stdint.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_filter.h"
#include "kernels/convolve_planes.h"
#include "kernels/convolve_volume.h"
#include "kernels/sizes.h"
#include "ops/conv.h"
#include "ops/fast/deal.h"
#include "ops/fast/fast.h"

enum { AXES = 6 };

struct padded {
    const struct ox_compute *t;
    const struct ox_window *w;
    size_t dims[AXES], planes, plane;
    size_t stride, phase; /* along a line, which has `stride` phases of so many elements */
    const float *x;
    float *y;
};

/* What `outputs` channels read, `floats` long. */
struct shared {
    const float *x;
    size_t outputs, floats;
};

/* False: too large. */
static bool find_padded(const struct ox_plain_conv *cv, struct padded *p)
{
    const struct ox_window *w = &cv->w;
    *p = (struct padded){.t = ox_compute(ox_cpu()),
                         .w = w,
                         .plane = 1,
                         .planes = cv->images * cv->groups * cv->in_group};
    p->stride = (size_t)w->stride[w->n - 1];
    for (unsigned d = 0; d < w->n; d++) {
        int64_t reach = (w->out[d] - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
        if (d == w->n - 1 && reach > 0) {
            p->phase = ((size_t)reach + p->stride - 1) / p->stride;
            reach = p->phase < (size_t)1 << 31 && p->stride < (size_t)1 << 31
                        ? (int64_t)(p->phase * p->stride)
                        : 0;
        }
        if (w->before[d] < 0 || reach < 1 || reach > (int64_t)1 << 31 ||
            OX_MUL_OVERFLOWS(p->plane, (size_t)reach, &p->plane))
            return false;
        p->dims[d] = (size_t)reach;
    }
    return p->plane < SIZE_MAX / 64 / (p->planes + 1);
}

/* Elements [from, end) of a line, the first of which is at place `at` of the padded one. */
static void copy_elements(const struct padded *p, const float *x, size_t at, size_t from,
                          size_t end, float *y)
{
    for (size_t i = from; i < end; i++)
        y[(at + i) % p->stride * p->phase + (at + i) / p->stride] = x[i];
}

/* n elements of a line, the first at place `at` of the padded one. Whole strides of them lie like a matrix that is turned. */
static void copy_line(const struct padded *p, const float *x, size_t at, size_t n, float *y)
{
    if (p->stride == 1) {
        memcpy(y + at, x, n * sizeof *y);
        return;
    }
    if (p->stride == 2) {
        ox_deal_two(x, n, y + at % 2 * p->phase + at / 2,
                    y + (at + 1) % 2 * p->phase + (at + 1) / 2);
        return;
    }
    const size_t before = ox_least((p->stride - at % p->stride) % p->stride, n);
    const size_t strides = (n - before) / p->stride;
    copy_elements(p, x, at, 0, before, y);
    if (strides)
        p->t->transpose(strides, p->stride, x + before, p->stride, y + (at + before) / p->stride,
                        p->phase);
    copy_elements(p, x, at, before + strides * p->stride, n, y);
}

/* Zeros in [from, to) of a padded plane; few may reach into what is written after them. */
static void clear(const struct padded *p, float *y, size_t from, size_t to)
{
    static const float none[16];
    if (to - from <= OX_COUNT(none) && from + OX_COUNT(none) <= p->plane)
        memcpy(y + from, none, sizeof none);
    else
        memset(y + from, 0, (to - from) * sizeof *y);
}

/* Copies what of a plane lies in the padded one; the rest is zero. */
static void copy_plane(const struct padded *p, const float *x, float *y)
{
    const struct ox_window *w = p->w;
    const unsigned last = w->n - 1;
    const size_t before = (size_t)w->before[last], width = p->dims[last];
    const size_t whole = (size_t)w->in[last], room = width > before ? width - before : 0;
    const size_t n = whole < room ? whole : room;
    size_t written = p->stride == 1 ? 0 : p->plane;
    clear(p, y, 0, written);
    for (size_t line = 0; whole && line < w->n_in / whole; line++) {
        size_t rest = line, at = 0, step = width;
        bool inside = true;
        for (unsigned d = last; d-- > 0;) {
            const size_t place = (d ? rest % (size_t)w->in[d] : rest) + (size_t)w->before[d];
            rest = d ? rest / (size_t)w->in[d] : 0;
            inside &= place < p->dims[d];
            at += place * step;
            step *= p->dims[d];
        }
        if (!inside || !n)
            continue;
        if (p->stride == 1) { /* lines come in their order */
            clear(p, y, written, at + before);
            written = at + before + n;
        }
        copy_line(p, x + line * whole, before, n, y + at);
    }
    clear(p, y, written, p->plane);
}

static void copy_task(void *arg, size_t from, size_t to)
{
    const struct padded *p = arg;
    for (size_t i = from; i < to; i++)
        copy_plane(p, p->x + i * p->w->n_in, p->y + i * p->plane);
}

/* Offsets in a padded plane of the points of a grid of `n` sizes, `step` apart on each of the first axes. */
static void grid_offsets(const struct padded *p, unsigned axes, const int64_t *sizes,
                         const int64_t *step, size_t n, size_t *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t rest = i, scale = 1, at = 0;
        for (unsigned d = p->w->n; d-- > 0;) {
            if (d < axes) {
                const size_t place = rest % (size_t)sizes[d] * (size_t)step[d];
                rest /= (size_t)sizes[d];
                at += d + 1 < p->w->n ? place * scale
                                      : place % p->stride * p->phase + place / p->stride;
            }
            scale *= p->dims[d];
        }
        out[i] = at;
    }
}

/* Whether each output reads the pixel in its own place, so that all of a plane are as good as one line. */
static bool reads_in_place(const struct ox_window *w)
{
    for (unsigned d = 0; d < w->n; d++)
        if (w->kernel[d] != 1 || w->stride[d] != 1 || w->before[d] || w->out[d] != w->in[d])
            return false;
    return true;
}

static const float *framed_plane(const void *arg, size_t plane, float *room)
{
    const struct padded *p = arg;
    copy_plane(p, p->x + plane * p->w->n_in, room);
    return room;
}

/* Planes that the outputs of a group read, one behind the other. */
static const float *whole_planes(const void *arg, size_t output, float *room)
{
    const struct shared *s = arg;
    (void)room;
    return s->x + output / s->outputs * s->floats;
}

/* All planes with their padding, for what shares one out by lines. */
static enum ox_status frame_all(struct ox_run *r, struct padded *p, struct ox_error *err)
{
    p->y = ox_run_work(r, p->planes * p->plane + OX_PLANE_SLACK, sizeof *p->y, err);
    if (!p->y)
        return OX_NO_MEMORY;
    memset(p->y + p->planes * p->plane, 0, OX_PLANE_SLACK * sizeof *p->y);
    ox_fast_spread(r->env, p->planes, 1, 0.3 * (double)p->plane, copy_task, p);
    return OX_OK;
}

/* Each output is a sum over few planes by a filter of its own: a filter's taps in several planes are as good as those in one. */
static enum ox_status filter(struct ox_run *r, const struct ox_plain_conv *cv, struct padded *p,
                             const struct ox_epilogue *end, struct ox_error *err)
{
    enum { MANY = 8 };
    const struct ox_window *w = &cv->w;
    const struct ox_compute *t = ox_compute(ox_cpu());
    const bool in_place = reads_in_place(w);
    const bool each = !in_place && cv->in_group == 1 && cv->out_group == 1 && p->planes >= MANY;
    struct shared shared = {p->x, cv->out_group, cv->in_group * (in_place ? w->n_in : p->plane)};
    struct ox_filter_conv c = {.planes = cv->images * cv->groups * cv->out_group,
                               .filters = cv->groups * cv->out_group,
                               .width = in_place ? w->n_out : (size_t)w->out[w->n - 1],
                               .taps = cv->in_group * w->taps,
                               .weights = cv->weights,
                               .bias = cv->bias,
                               .end = end,
                               .frame = each ? framed_plane : whole_planes,
                               .arg = each ? (void *)p : &shared,
                               .room = each ? p->plane : 0,
                               .y = cv->y};
    c.lines = w->n_out / c.width;
    size_t *taps = ox_run_scratch(r, c.taps, sizeof *taps, err);
    size_t *lines = ox_run_scratch(r, c.lines, sizeof *lines, err);
    float *work = ox_run_work(r, ox_filter_conv_work(r->env, &c) + 1, sizeof *work, err);
    if (!taps || !lines || !work)
        return OX_NO_MEMORY;
    if (in_place) {
        taps[0] = lines[0] = 0;
    } else {
        grid_offsets(p, w->n, w->kernel, w->dilation, w->taps, taps);
        grid_offsets(p, w->n - 1, w->out, w->stride, c.lines, lines);
    }
    for (size_t i = w->taps; i < c.taps; i++)
        taps[i] = taps[i - w->taps] + (in_place ? w->n_in : p->plane);
    c.tap = taps;
    c.line = lines;
    if (!each && !in_place) {
        OX_TRY(frame_all(r, p, err));
        shared.x = p->y;
    }
    ox_filter_conv_run(t, r->env, &c, work);
    return ox_env_poll(r->env, err);
}

static enum ox_status convolve(struct ox_run *r, const struct ox_plain_conv *cv, struct padded *p,
                               const struct ox_epilogue *end, struct ox_error *err)
{
    enum { LONG = 32 };
    const struct ox_window *w = &cv->w;
    const struct ox_compute *t = ox_compute(ox_cpu());
    const bool in_place = reads_in_place(w);
    const size_t width = in_place ? w->n_out : (size_t)w->out[w->n - 1];
    const bool few =
        in_place && ox_filter_conv_is_few(w->n_out, cv->groups, cv->in_group, cv->out_group);
    if (few || (cv->out_group == 1 &&
                (cv->in_group == 1 || (width >= LONG && cv->in_group * w->taps <= t->depth_most))))
        return filter(r, cv, p, end, err);
    struct ox_plane_conv c = {.rows = cv->out_group,
                              .channels = cv->in_group,
                              .taps = w->taps,
                              .width = (size_t)w->out[w->n - 1],
                              .plane = p->plane,
                              .weights = cv->weights,
                              .bias = cv->bias,
                              .end = end,
                              .y = cv->y,
                              .batch = cv->images,
                              .groups = cv->groups};
    if (in_place)
        c.width = w->n_out;
    c.lines = w->n_out / c.width;
    size_t *taps = ox_run_scratch(r, c.taps, sizeof *taps, err);
    size_t *lines = ox_run_scratch(r, c.lines, sizeof *lines, err);
    float *work = ox_run_work(r, ox_plane_conv_work(t, r->env, &c), sizeof *work, err);
    if (!taps || !lines || !work)
        return OX_NO_MEMORY;
    c.tap = taps;
    c.line = lines;
    if (in_place) {
        taps[0] = lines[0] = 0;
        c.x = p->x;
        c.ends = true;
    } else {
        OX_TRY(frame_all(r, p, err));
        grid_offsets(p, w->n, w->kernel, w->dilation, c.taps, taps);
        grid_offsets(p, w->n - 1, w->out, w->stride, c.lines, lines);
        c.x = p->y;
    }
    ox_plane_conv_run(t, r->env, &c, work);
    return ox_env_poll(r->env, err);
}

enum ox_status ox_conv_planes(struct ox_run *r, const struct ox_plain_conv *cv,
                              const struct ox_epilogue *end, struct ox_error *err)
{
    struct padded p;
    if (!find_padded(cv, &p))
        return OX_UNSUPPORTED;
    p.x = cv->x;
    return convolve(r, cv, &p, end, err);
}

/* Depthwise over three axes, all but the pointers; false: it is something else. */
static bool find_volume(const struct ox_plain_conv *cv, struct ox_volume_conv *c)
{
    const struct ox_window *w = &cv->w;
    if (w->n != 3 || cv->in_group != 1 || cv->out_group != 1)
        return false;
    *c = (struct ox_volume_conv){.batch = cv->images, .channels = cv->groups};
    for (unsigned d = 0; d < 3; d++) {
        if (w->before[d] < 0)
            return false;
        c->kernel[d] = (size_t)w->kernel[d];
        c->stride[d] = (size_t)w->stride[d];
        c->dilation[d] = (size_t)w->dilation[d];
        c->pad[d] = (size_t)w->before[d];
        c->in[d] = (size_t)w->in[d];
        c->out[d] = (size_t)w->out[d];
    }
    return ox_volume_conv_fits(c);
}

static enum ox_status run_volume(struct ox_run *r, const struct ox_plain_conv *cv,
                                 struct ox_volume_conv *c, struct ox_error *err)
{
    float *work = ox_run_work(r, ox_volume_conv_work(r->env, c), sizeof *work, err);
    if (!work)
        return OX_NO_MEMORY;
    c->x = cv->x;
    c->weights = cv->weights;
    c->bias = cv->bias;
    c->y = cv->y;
    ox_volume_conv_run(ox_compute(ox_cpu()), r->env, c, work);
    return ox_env_poll(r->env, err);
}

/* Whether outputs read their own place of an axis alone. */
static bool is_plain_axis(const struct ox_window *w, unsigned d)
{
    return w->kernel[d] == 1 && w->stride[d] == 1 && w->before[d] == 0 && w->in[d] == w->out[d];
}

/* Two such axes behind the others are one, whose lines are longer. */
static void join_axes(struct ox_window *w)
{
    while (w->n > 1 && is_plain_axis(w, w->n - 1) && is_plain_axis(w, w->n - 2)) {
        w->n--;
        w->in[w->n - 1] *= w->in[w->n];
        w->out[w->n - 1] *= w->out[w->n];
    }
}

enum ox_status ox_fast_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0), *w = ox_fast_in(r, 1), *b = ox_run_in(r, 2);
    int64_t dims[OX_WINDOW_AXES + 2];
    struct padded p;
    if (!x || !w || (b && b->dtype != OX_FLOAT32) || x->rank > AXES + 2)
        return OX_UNSUPPORTED;
    struct ox_plain_conv *cv = ox_run_scratch(r, 1, sizeof *cv, err);
    if (!cv)
        return OX_NO_MEMORY;
    if (ox_plain_conv_plan(r, x, w, b, cv, dims, err) != OX_OK)
        return OX_UNSUPPORTED;
    struct ox_volume_conv volume;
    if (!x->n || !w->n || !cv->w.n_out)
        return OX_UNSUPPORTED;
    const bool is_volume = find_volume(cv, &volume);
    /* A pixel times one factor is no sum: the plain form scales. */
    const bool scales = cv->out_group < 4 && cv->in_group * cv->w.taps == 1;
    if (!is_volume)
        join_axes(&cv->w);
    if (!is_volume && (scales || !find_padded(cv, &p)))
        return OX_UNSUPPORTED;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    p.x = cv->x = x->data;
    cv->weights = w->data;
    cv->bias = b ? b->data : NULL;
    cv->y = y->data;
    if (is_volume)
        return run_volume(r, cv, &volume, err);
    return convolve(r, cv, &p, NULL, err);
}
