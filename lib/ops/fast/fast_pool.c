/* MaxPool and AveragePool in float32 over volumes as they lie. A window is its rows, then its columns: the rows of one line of outputs,
 * of all planes that it reaches, become one row of the volume's width; its columns, dealt into as many rows as the stride is wide, become rows that lie beside each
 * other, one a tap. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/sizes.h"
#include "ops/fast/deal.h"
#include "ops/fast/fast_pool.h"
#include "ops/window.h"

enum {
    LINE = 16,
    BLOCK = 4096
}; /* floats of a cache line; of planes that are pooled in one task, about */

static struct ox_pool_axis axis_of(const struct ox_window *w, unsigned d)
{
    return (struct ox_pool_axis){.in = (size_t)w->in[d],
                                 .out = (size_t)w->out[d],
                                 .kernel = (size_t)w->kernel[d],
                                 .stride = (size_t)w->stride[d],
                                 .dilation = (size_t)w->dilation[d],
                                 .before = (size_t)w->before[d],
                                 .after = (size_t)w->after[d]};
}

/* Taps at output o before element `to`, padding before counted. */
static size_t taps_before(const struct ox_pool_axis *a, size_t o, size_t to)
{
    const size_t at = o * a->stride;
    return to <= at ? 0 : ox_least(a->kernel, (to - at - 1) / a->dilation + 1);
}

/* Those that lie in the `length` elements from `from` on. */
static size_t taps_in(const struct ox_pool_axis *a, size_t o, size_t from, size_t length)
{
    return taps_before(a, o, from + length) - taps_before(a, o, from);
}

/* Windows in padding alone, and large ones, are left to the reference. */
static bool fits(const struct ox_pool_axis *a)
{
    if (a->kernel > OX_POOL_TAPS || a->in > SIZE_MAX / 64 || a->before > SIZE_MAX / 64)
        return false;
    for (size_t o = 0; o < a->out; o++)
        if (!taps_in(a, o, a->before, a->in))
            return false;
    return true;
}

void ox_pool_reduce(const struct ox_pools *p, size_t n, size_t rows, const float *const *in,
                    float *out)
{
    const struct ox_pool pool = {.channels = n, .n = rows, .in = in, .divisor = 1, .out = out};
    if (p->max)
        p->t->pool_max(&pool);
    else
        p->t->pool_sum(&pool);
}

void ox_pool_deal(const float *row, size_t n, size_t stride, size_t pitch, float *out)
{
    if (stride == 2) {
        ox_deal_two(row, n, out, out + pitch);
        return;
    }
    for (size_t first = 0; first < stride; first++, out += pitch)
        for (size_t i = first, k = 0; i < n; i += stride)
            out[k++] = row[i];
}

/* The rows that the windows of a line of outputs have taps in. */
static size_t list_rows(const struct ox_pools *p, const float *volume, size_t oz, size_t oy,
                        const float **list)
{
    const struct ox_pool_axis *z = &p->z, *y = &p->y;
    size_t n = 0;
    for (size_t d = 0; d < z->kernel; d++) {
        const size_t plane = oz * z->stride + d * z->dilation - z->before; /* wraps before it */
        for (size_t q = 0; q < y->kernel && plane < z->in; q++) {
            const size_t at = oy * y->stride + q * y->dilation - y->before;
            if (at < y->in)
                list[n++] = volume + (plane * y->in + at) * p->x.in;
        }
    }
    return n;
}

/* Windows of a row with its padding, behind which is work; `list` has place for the taps of one. */
static void pool_row(const struct ox_pools *p, const float **list, float *row, float *out)
{
    const struct ox_pool_axis *x = &p->x;
    const size_t pitch = (ox_pool_span(x) + x->stride - 1) / x->stride;
    const float *dealt = row;
    if (ox_pool_is_wide(x)) {
        ox_pool_wide(p, row, row + p->row, out);
        return;
    }
    if (x->stride > 1) {
        ox_pool_deal(row, ox_pool_span(x), x->stride, pitch, row + p->row);
        dealt = row + p->row;
    }
    for (size_t q = 0; q < x->kernel; q++) {
        const size_t at = q * x->dilation;
        list[q] = dealt + at % x->stride * pitch + at / x->stride;
    }
    ox_pool_reduce(p, x->out, x->kernel, list, out);
}

/* The n rows of a window stand in `list`, which is lost; of an average they are `rows` with the padding that counts. */
static void pool_line(const struct ox_pools *p, const float **list, size_t n, float rows,
                      float *row, float *out)
{
    const struct ox_pool_axis *x = &p->x;
    ox_pool_reduce(p, x->in, n, list, row + x->before);
    pool_row(p, list, row, out);
    if (p->max)
        return;
    const float *columns = p->counts + p->z.out + p->y.out;
    for (size_t i = 0; i < x->out; i++)
        out[i] /= rows * columns[i];
}

static float rows_counted(const struct ox_pools *p, size_t oz, size_t oy)
{
    return p->max ? 0 : p->counts[oz] * p->counts[p->z.out + oy];
}

static void pad_row(const struct ox_pools *p, float *row)
{
    const float pad = p->max ? NAN : 0; /* the largest passes over what is no number */
    for (size_t k = 0; k < p->row; k++)
        row[k] = pad;
}

/* From output oy on: those whose windows have the same rows, each a step behind those of the one before. */
static size_t lines_alike(const struct ox_pool_axis *y, size_t oy, size_t most)
{
    const size_t span = (y->kernel - 1) * y->dilation + 1;
    size_t n = 0;
    while (n < most && oy + n < y->out && (oy + n) * y->stride >= y->before &&
           (oy + n) * y->stride + span <= y->before + y->in)
        n++;
    return n ? n : 1;
}

/* Windows that are a column wide: `lines` lines of outputs from the n rows of the first. */
static void pool_upright(const struct ox_pools *p, const float *const *list, size_t n, size_t lines,
                         float rows, float *out)
{
    const struct ox_pool pool = {.channels = p->x.out,
                                 .n = n,
                                 .in = list,
                                 .divisor = p->max ? 1 : rows,
                                 .out = out,
                                 .more = lines - 1,
                                 .step = p->y.stride * p->x.in,
                                 .out_step = p->x.out};
    if (p->max)
        p->t->pool_max(&pool);
    else
        p->t->pool_sum(&pool);
}

static void pool_volume(void *arg, size_t i, size_t slot)
{
    const struct ox_pools *p = arg;
    const struct ox_pool_axis *x = &p->x;
    const bool upright = x->kernel == 1 && x->stride == 1 && x->out == x->in;
    float *row = p->work + slot * p->slot;
    pad_row(p, row);
    const float *in = p->in + i * p->z.in * p->y.in * x->in;
    float *out = p->out + i * p->z.out * p->y.out * x->out;
    for (size_t oz = 0; oz < p->z.out; oz++)
        for (size_t oy = 0, lines; oy < p->y.out; oy += lines, out += lines * x->out) {
            const float *list[OX_POOL_TAPS];
            const float rows = rows_counted(p, oz, oy);
            const size_t n = list_rows(p, in, oz, oy, list);
            lines = upright ? lines_alike(&p->y, oy, SIZE_MAX) : 1;
            if (upright)
                pool_upright(p, list, n, lines, rows, out);
            else
                pool_line(p, list, n, rows, row, out);
        }
}

/* Units are blocks of narrow planes; slot's floats are its own. */
struct narrow {
    const struct ox_pools *p;
    size_t planes, together;
};

static void pool_narrow(void *arg, size_t i, size_t slot)
{
    const struct narrow *job = arg;
    const size_t from = i * job->together, left = job->planes - from;
    ox_pool_narrow(job->p, from, left < job->together ? left : job->together,
                   job->p->work + slot * job->p->slot);
}

/* Units are blocks of planes whose lines are made without copies, but for those at the ends of the tensor. */
struct lined {
    const struct ox_pools *p;
    struct ox_pool_line line;
    size_t volumes, together;
    bool flat; /* windows deep in z: the planes of each become one, in the slot's work */
};

/* Lines of outputs oz of a volume of q, of which `total` floats are there and `follows` says that another one does. */
static void pool_plane(const struct lined *job, const struct ox_pools *q, const float *volume,
                       size_t total, bool follows, size_t oz, float *row, float *out)
{
    const struct ox_pools *p = job->p;
    const size_t step = p->y.stride * p->x.in, most = BLOCK / step + 2;
    const float *list[OX_POOL_TAPS];
    for (size_t oy = 0, lines; oy < p->y.out; oy += lines, out += lines * p->x.out) {
        const float rows = rows_counted(p, oz, oy);
        size_t n = list_rows(q, volume, job->flat ? 0 : oz, oy, list);
        lines = lines_alike(&p->y, oy, follows ? most : 1);
        if (ox_pool_by_lines(q, &job->line, total, list, n, lines, step, rows, out))
            continue;
        for (size_t k = 0; k < lines; k++) {
            n = list_rows(q, volume, job->flat ? 0 : oz, oy + k, list);
            pool_line(p, list, n, rows, row, out + k * p->x.out);
        }
    }
}

/* The largest, or the sums, of the planes that windows oz reach. */
static void flatten(const struct ox_pools *p, const float *volume, size_t oz, float *plane)
{
    const struct ox_pool_axis *z = &p->z;
    const float *list[OX_POOL_TAPS];
    const size_t size = p->y.in * p->x.in;
    size_t n = 0;
    for (size_t d = 0; d < z->kernel; d++) {
        const size_t at = oz * z->stride + d * z->dilation - z->before; /* wraps before it */
        if (at < z->in)
            list[n++] = volume + at * size;
    }
    ox_pool_reduce(p, size, n, list, plane);
}

/* Floats beside a plane that its lines may be read with. */
static size_t flat_edge(const struct ox_pools *p)
{
    return p->row + 2 * OX_POOL_LINE;
}

static void pool_flat(const struct lined *job, const float *volume, float *row, float *out)
{
    const struct ox_pools *p = job->p;
    const size_t size = p->y.in * p->x.in, edge = flat_edge(p), total = edge + size + edge;
    struct ox_pools flat = *p;
    float *edges = row + p->slot - total, *plane = edges + edge;
    flat.z = (struct ox_pool_axis){.in = 1, .out = 1, .kernel = 1, .stride = 1};
    flat.in = edges;
    memset(edges, 0, edge * sizeof *edges);
    memset(plane + size, 0, edge * sizeof *edges);
    for (size_t oz = 0; oz < p->z.out; oz++, out += p->y.out * p->x.out) {
        flatten(p, volume, oz, plane);
        pool_plane(job, &flat, plane, total, true, oz, row, out);
    }
}

static void pool_lined(void *arg, size_t i, size_t slot)
{
    const struct lined *job = arg;
    const struct ox_pools *p = job->p;
    const size_t in = p->z.in * p->y.in * p->x.in, out = p->z.out * p->y.out * p->x.out;
    const size_t from = i * job->together, left = job->volumes - from;
    const size_t to = from + (left < job->together ? left : job->together);
    float *row = p->work + slot * p->slot;
    pad_row(p, row);
    for (size_t volume = from; volume < to; volume++) {
        const float *x = p->in + volume * in;
        float *y = p->out + volume * out;
        if (job->flat)
            pool_flat(job, x, row, y);
        for (size_t oz = 0; oz < p->z.out && !job->flat; oz++)
            pool_plane(job, p, x, job->volumes * in, volume + 1 < job->volumes, oz, row,
                       y + oz * p->y.out * p->x.out);
    }
}

/* Units are blocks of planes that the processor has a kernel for. */
struct planes {
    struct ox_pools *p;
    struct ox_pool_plane plane;
    size_t together;
};

static void pool_planes(void *arg, size_t i, size_t slot)
{
    const struct planes *job = arg;
    struct ox_pools *p = job->p;
    const size_t in = p->y.in * p->x.in, out = p->y.out * p->x.out;
    const size_t from = i * job->together, to = ox_least(from + job->together, p->volumes);
    for (size_t plane = from; plane < to; plane++)
        if (!p->t->pool_plane[p->max](&job->plane, p->in + plane * in, p->out + plane * out,
                                      p->work + slot * p->slot))
            pool_volume(p, plane, slot);
}

static float *count_taps(struct ox_run *r, const struct ox_pools *p, bool padded,
                         struct ox_error *err)
{
    const struct ox_pool_axis *axes[3] = {&p->z, &p->y, &p->x};
    const size_t n = p->z.out + p->y.out + p->x.out;
    float *counts = ox_run_scratch(r, n, sizeof *counts, err), *to = counts;
    for (unsigned d = 0; counts && d < 3; d++) {
        const struct ox_pool_axis *a = axes[d];
        for (size_t o = 0; o < a->out; o++)
            *to++ = (float)(padded ? taps_in(a, o, 0, a->before + a->in + a->after)
                                   : taps_in(a, o, a->before, a->in));
    }
    return counts;
}

/* Whether the one window is all of the input. */
static bool is_whole(const struct ox_window *w)
{
    for (unsigned d = 0; d < w->n; d++)
        if (w->out[d] != 1 || w->kernel[d] != w->in[d] || w->before[d] || w->dilation[d] != 1)
            return false;
    return true;
}

/* Work of every slot, and the output. */
static enum ox_status make_room(struct ox_run *r, struct ox_pools *p, const struct ox_window *w,
                                struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    p->work = ox_run_work(r, ox_slots(r->env) * p->slot, sizeof *p->work, err);
    if (!p->work)
        return OX_NO_MEMORY;
    struct ox_tensor *y;
    int64_t dims[5] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, w->out, w->n * sizeof *dims);
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    p->out = y->data;
    return OX_OK;
}

static double work_of(const struct ox_pools *p)
{
    const double in = (double)(p->z.in * p->y.in * p->x.in);
    const double out = (double)(p->z.out * p->y.out * p->x.out);
    const double taps = (double)(p->x.kernel + p->y.kernel * p->z.kernel);
    return 4 * (double)p->volumes * (in + out) * taps;
}

static enum ox_status run_planes(struct ox_run *r, struct ox_pools *p, const struct ox_window *w,
                                 struct ox_error *err)
{
    struct planes job = {.p = p, .together = BLOCK / (p->y.in * p->x.in) + 1};
    OX_TRY(ox_pool_plane_init(r, p, &job.plane, err));
    const size_t own = ox_pool_plane_work(&job.plane);
    p->slot = ox_round_up(p->slot > own ? p->slot : own, OX_SLOT_APART / sizeof *p->work);
    OX_TRY(make_room(r, p, w, err));
    ox_spread(r->env, (p->volumes - 1) / job.together + 1, work_of(p), pool_planes, &job);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_volumes(struct ox_run *r, struct ox_pools *p, const struct ox_window *w,
                                  struct ox_error *err)
{
    const size_t volumes = p->volumes, in = p->z.in * p->y.in * p->x.in;
    struct lined lined = {.p = p, .volumes = volumes};
    struct narrow blocks = {.p = p, .planes = volumes};
    const bool by_lines = ox_pool_has_lines(p, &lined.line, &lined.flat);
    const bool narrow = !by_lines && ox_pool_is_narrow(p);
    if (!by_lines && !narrow && is_whole(w))
        return (p->max ? ox_fast_global_max : ox_fast_global_average)(r, err);
    if (by_lines && lined.flat)
        p->slot += p->y.in * p->x.in + 2 * flat_edge(p);
    p->slot = narrow ? OX_POOL_NARROW_WORK : ox_round_up(p->slot, OX_SLOT_APART / sizeof *p->work);
    OX_TRY(make_room(r, p, w, err));
    if (by_lines) {
        lined.together = BLOCK / in + 1;
        ox_spread(r->env, (volumes - 1) / lined.together + 1, work_of(p), pool_lined, &lined);
    } else if (narrow) {
        blocks.together = ox_pool_narrow_planes(p);
        ox_spread(r->env, (volumes - 1) / blocks.together + 1, work_of(p), pool_narrow, &blocks);
    } else {
        ox_spread(r->env, volumes, work_of(p), pool_volume, p);
    }
    return ox_env_poll(r->env, err);
}

static enum ox_status run_pools(struct ox_run *r, bool max, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    if (!x || x->rank < 3 || x->rank > 5 || !x->n || ox_run_wants(r, 1))
        return OX_UNSUPPORTED;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    if (ox_window_init(r, x, NULL, ox_run_int(r, "ceil_mode", 0) != 0, w, err) != OX_OK)
        return OX_UNSUPPORTED;
    struct ox_pools p = {.t = ox_compute(ox_cpu()), .max = max, .in = x->data};
    const struct ox_pool_axis none = {.in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1};
    p.z = w->n > 2 ? axis_of(w, 0) : none;
    p.y = w->n > 1 ? axis_of(w, w->n - 2) : none;
    p.x = axis_of(w, w->n - 1);
    p.volumes = (size_t)(x->dims[0] * x->dims[1]);
    if (p.z.kernel == 1 && p.z.stride == 1 && p.z.out == p.z.in) {
        p.volumes *= p.z.in;
        p.z = none;
    }
    if (!w->n_out || !fits(&p.z) || !fits(&p.y) || !fits(&p.x) ||
        p.z.kernel * p.y.kernel > OX_POOL_TAPS)
        return OX_UNSUPPORTED;
    const size_t reach = p.x.before + p.x.in;
    p.row = ((ox_pool_span(&p.x) > reach ? ox_pool_span(&p.x) : reach) + LINE - 1) / LINE * LINE;
    p.slot = ox_pool_is_wide(&p.x) ? 3 * p.row
             : p.x.stride > 1      ? 2 * p.row + p.x.stride * LINE
                                   : p.row;
    if (!max && !(p.counts = count_taps(r, &p, ox_run_int(r, "count_include_pad", 0) != 0, err)))
        return OX_NO_MEMORY;
    if (p.z.in == 1 && p.z.out == 1 && p.z.kernel == 1 && ox_pool_has_planes(&p))
        return run_planes(r, &p, w, err);
    return run_volumes(r, &p, w, err);
}

enum ox_status ox_fast_max_pool(struct ox_run *r, struct ox_error *err)
{
    const enum ox_dtype type = ox_run_in(r, 0)->dtype;
    if (type != OX_FLOAT32 && type != OX_FLOAT64)
        return ox_fast_max_pool_bytes(r, err);
    const bool by_taps = type == OX_FLOAT64 || ox_run_wants(r, 1);
    const enum ox_status status = by_taps ? OX_UNSUPPORTED : run_pools(r, true, err);
    return status == OX_UNSUPPORTED ? ox_fast_max_pool_taps(r, err) : status;
}

enum ox_status ox_fast_average_pool(struct ox_run *r, struct ox_error *err)
{
    return run_pools(r, false, err);
}
