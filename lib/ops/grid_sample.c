/* GridSample: elements at places between those of a map. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/stamp.h"
#include "kernels/dense.h"
#include "ops/carry.h"
#include "ops/fast/fast.h"
#include "ops/real.h"
#include "ops/resample.h"
#include "ops/rules.h"

/* Weights multiply over the axes: more of them than this are refused. */
enum { GRID_AXES = 8, GRID_TAPS = 4 };

enum grid_mode { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

struct grid {
    enum grid_mode mode;
    enum grid_padding padding;
    bool align_corners;
    unsigned n_axes;
    int64_t dims[GRID_AXES];    /* of the input */
    int64_t strides[GRID_AXES]; /* in elements */
};

/* The elements and weights of one axis for one place; index -1 is outside. */
struct grid_axis {
    unsigned n;
    int64_t index[GRID_TAPS];
    double weight[GRID_TAPS];
};

/* ---- Attributes and shapes ---------------------------------------------------------------------------------------------- */

static enum ox_status grid_attrs(const struct ox_run *r, struct grid *g, struct ox_error *err)
{
    /* Named anew in opset 20; both names mean the same, and files do mix them with the other versions. */
    static const char *const old_modes[] = {"nearest", "bilinear", "bicubic"};
    static const char *const new_modes[] = {"nearest", "linear", "cubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    const char *mode = ox_run_string(r, "mode"), *padding = ox_run_string(r, "padding_mode");
    int found_mode = mode ? -1 : GRID_LINEAR, found_padding = padding ? -1 : GRID_ZEROS;

    for (int i = 0; i < 3; i++) {
        if (mode && (strcmp(mode, old_modes[i]) == 0 || strcmp(mode, new_modes[i]) == 0))
            found_mode = i;
        if (padding && strcmp(padding, paddings[i]) == 0)
            found_padding = i;
    }
    if (found_mode < 0)
        return ox_run_fail(r, err, OX_INPUT, "mode '%s' is unknown", mode);
    if (found_padding < 0)
        return ox_run_fail(r, err, OX_INPUT, "padding_mode '%s' is unknown", padding);
    g->mode = (enum grid_mode)found_mode;
    g->padding = (enum grid_padding)found_padding;
    g->align_corners = ox_run_int(r, "align_corners", 0) != 0;
    return OX_OK;
}

static enum ox_status grid_shapes(const struct ox_run *r, const struct ox_tensor *in,
                                  const struct ox_tensor *places, struct grid *g, int64_t *out,
                                  struct ox_error *err)
{
    if (in->rank < 3 || in->rank != places->rank)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, the grid %u", in->rank,
                           places->rank);
    g->n_axes = in->rank - 2;
    if (g->n_axes > GRID_AXES)
        return ox_run_fail(r, err, OX_LIMIT, "%u spatial axes, more than %d", g->n_axes, GRID_AXES);
    if (places->dims[0] != in->dims[0] || places->dims[places->rank - 1] != (int64_t)g->n_axes)
        return ox_run_fail(r, err, OX_INPUT,
                           "the grid has batch %" PRId64 " and %" PRId64
                           " coordinates, not %" PRId64 " and %u",
                           places->dims[0], places->dims[places->rank - 1], in->dims[0], g->n_axes);
    out[0] = in->dims[0];
    out[1] = in->dims[1];
    for (unsigned i = 0; i < g->n_axes; i++) {
        out[2 + i] = places->dims[1 + i];
        g->dims[i] = in->dims[2 + i];
    }
    ox_move_strides(g->n_axes, g->dims, g->strides);
    return OX_OK;
}

/* ---- Places -------------------------------------------------------------------------------------------------------------- */

/* x thrown back by the borders until it lies between them. */
static double reflect(double x, double low, double high)
{
    double range = high - low, over;
    bool odd;

    if (!(range > 0) || !isfinite(x))
        return low > 0 ? low : 0;
    over = fmod(x < low ? low - x : x - low, 2 * range);
    odd = over > range;
    return odd ? high - (over - range) : low + over;
}

static int64_t grid_index(const struct grid *g, double i, unsigned axis)
{
    double last = (double)(g->dims[axis] - 1);

    if (i >= 0 && i <= last)
        return (int64_t)i;
    if (g->padding == GRID_ZEROS || !(i == i))
        return -1;
    if (g->padding == GRID_REFLECTION)
        i = trunc(reflect(i, g->align_corners ? 0 : -0.5, g->align_corners ? last : last + 0.5));
    return i < 0 ? 0 : i > last ? (int64_t)last : (int64_t)i;
}

static void cubic_weights(double x, double *weight)
{
    const double a = -0.75;

    weight[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
    weight[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
    weight[2] = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1;
    weight[3] = ((a * (2 - x) - 5 * a) * (2 - x) + 8 * a) * (2 - x) - 4 * a;
}

/* floor() without a call where integers hold it. */
static double floor_of(double x)
{
    const double most = 1e15;
    if (!(x > -most && x < most))
        return floor(x);
    const double near = (double)(int64_t)x;
    return near > x ? near - 1 : near;
}

/* nearbyint() without a call where the sum's last digit is one; ties to even. */
static double near_of(double x)
{
    const double most = 1e15, ones = 6755399441055744.0;
    return x > -most && x < most ? (x + ones) - ones : nearbyint(x);
}

/* From a normalized coordinate (-1 to 1) to elements and weights. */
static void grid_place(const struct grid *g, double normal, unsigned axis, struct grid_axis *out)
{
    double dim = (double)g->dims[axis], low = g->align_corners ? 0 : -0.5;
    double high = g->align_corners ? dim - 1 : dim - 0.5;
    double x = g->align_corners ? (normal + 1) / 2 * (dim - 1) : ((normal + 1) * dim - 1) / 2;

    if (g->mode == GRID_NEAREST)
        x = near_of(x);
    if ((x < low || x > high) && g->padding == GRID_BORDER)
        x = x < 0 ? 0 : x > dim - 1 ? dim - 1 : x;
    else if ((x < low || x > high) && g->padding == GRID_REFLECTION)
        x = reflect(x, low, high);
    if (g->mode == GRID_NEAREST) {
        out->n = 1;
        out->weight[0] = 1;
        out->index[0] = grid_index(g, x < 0 ? trunc(x) : floor_of(x), axis);
        return;
    }
    double left = floor_of(x);
    if (g->mode == GRID_LINEAR) {
        out->n = 2;
        out->weight[0] = 1 - (x - left);
        out->weight[1] = x - left;
    } else {
        out->n = 4;
        cubic_weights(x - left, out->weight);
        left -= 1;
    }
    for (unsigned k = 0; k < out->n; k++)
        out->index[k] = grid_index(g, left + k, axis);
}

/* Of an axis. */
static size_t taps_each(const struct grid *g)
{
    return g->mode == GRID_NEAREST ? 1 : g->mode == GRID_LINEAR ? 2 : GRID_TAPS;
}

/* All taps of a place: offsets into a channel (-1: outside) and the products of the axes' weights. */
static size_t grid_taps(const struct grid *g, const struct grid_axis *axes, int64_t *offset,
                        double *weight)
{
    size_t n = 1;

    offset[0] = 0;
    weight[0] = 1;
    for (unsigned i = 0; i < g->n_axes; i++) {
        const struct grid_axis *a = &axes[i];

        /* Backwards, so that each entry is read before it is written over. */
        for (size_t at = n; at-- > 0;) {
            int64_t base = offset[at];
            double w = weight[at];

            for (unsigned k = a->n; k-- > 0;) {
                offset[at * a->n + k] =
                    base < 0 || a->index[k] < 0 ? -1 : base + a->index[k] * g->strides[i];
                weight[at * a->n + k] = w * a->weight[k];
            }
        }
        n *= a->n;
    }
    return n;
}

/* ---- GridSample ------------------------------------------------------------------------------------------------------------ */

/* One output element of each channel, moved as it is. */
static void sample_moved(const struct ox_tensor *in, size_t image, int64_t offset, size_t channels,
                         size_t area, size_t places, size_t at, struct ox_tensor *out)
{
    static const char zeros[16];
    size_t size = ox_dtype_size(in->dtype);

    for (size_t c = 0; c < channels; c++) {
        const char *from =
            (const char *)in->data + ((image * channels + c) * area + (size_t)offset) * size;

        memcpy((char *)out->data + ((image * channels + c) * places + at) * size,
               offset < 0 ? zeros : from, size);
    }
}

/* One output element of each channel, as a weighted sum; part: of complex numbers, how many reals. */
static void sample_summed(const double *in, size_t image, const int64_t *offset,
                          const double *weight, size_t taps, size_t channels, size_t area,
                          size_t places, size_t at, size_t part, double *out)
{
    for (size_t c = 0; c < channels; c++) {
        const double *channel = in + (image * channels + c) * area * part;

        for (size_t p = 0; p < part; p++) {
            double sum = 0;

            for (size_t k = 0; k < taps; k++)
                sum += offset[k] < 0 ? 0 : weight[k] * channel[(size_t)offset[k] * part + p];
            out[((image * channels + c) * places + at) * part + p] = sum;
        }
    }
}

struct sample {
    const struct grid *g;
    const struct ox_tensor *in, *grid;
    struct ox_tensor *out;
    size_t channels, area, places, part;
    const double *wide; /* NULL: elements are moved */
    double *sums;
    size_t most, apart; /* taps of a place; from one slot's to the next */
    int64_t *offset;
    double *weight;
};

enum { SOME = 64 }; /* places of a task */

static void sample_place(const struct sample *s, size_t i, int64_t *offset, double *weight)
{
    const struct grid *g = s->g;
    const size_t image = i / s->places, at = i % s->places;
    double normal[GRID_AXES];
    struct grid_axis axes[GRID_AXES];
    ox_real_load(s->grid, i * g->n_axes, g->n_axes, normal);
    /* The innermost axis comes first. */
    for (unsigned k = 0; k < g->n_axes; k++)
        grid_place(g, normal[g->n_axes - 1 - k], k, &axes[k]);
    const size_t taps = grid_taps(g, axes, offset, weight);
    if (s->wide)
        sample_summed(s->wide, image, offset, weight, taps, s->channels, s->area, s->places, at,
                      s->part, s->sums);
    else
        sample_moved(s->in, image, offset[0], s->channels, s->area, s->places, at, s->out);
}

static void sample_task(void *arg, size_t i, size_t slot)
{
    const struct sample *s = arg;
    const size_t all = (size_t)s->in->dims[0] * s->places, first = i * SOME;
    const size_t end = all - first < SOME ? all : first + SOME;
    for (size_t place = first; place < end; place++)
        sample_place(s, place, s->offset + slot * s->apart, s->weight + slot * s->apart);
}

static enum ox_status sample_all(struct ox_run *r, struct sample *s, struct ox_error *err)
{
    const size_t all = (size_t)s->in->dims[0] * s->places, slots = ox_slots(r->env);
    s->most = 1;
    for (unsigned i = 0; i < s->g->n_axes; i++)
        s->most *= taps_each(s->g);
    s->apart = s->most + OX_SLOT_APART / sizeof *s->weight;
    s->offset = ox_run_scratch(r, slots * s->apart, sizeof *s->offset, err);
    s->weight = ox_real_scratch(r, slots * s->apart, err);
    if (!s->offset || !s->weight)
        return OX_NO_MEMORY;
    const double of_place = 5000, of_tap = 100; /* as ox_spread() counts */
    ox_spread(r->env, (all + SOME - 1) / SOME,
              (double)all * (of_place + of_tap * (double)(s->channels * s->most)), sample_task, s);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_grid_sample(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *places = ox_run_in(r, 1);
    struct grid g = {.n_axes = 0};
    struct sample s = {.g = &g, .in = in, .grid = places, .area = 1, .places = 1};
    int64_t dims[OX_MOVE_RANK];
    struct ox_tensor *out = NULL;
    size_t count = 0;

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(grid_attrs(r, &g, err));
    OX_TRY(grid_shapes(r, in, places, &g, dims, err));
    bool moved = g.mode == GRID_NEAREST || in->dtype == OX_STRING;

    if (in->dtype == OX_STRING && g.mode != GRID_NEAREST)
        return ox_run_fail(r, err, OX_INPUT, "strings can be sampled by mode 'nearest' alone");
    if (!ox_dims_count(in->rank, dims, &count))
        return ox_run_fail(r, err, OX_INPUT, "too many elements");
    if (count > 0 && in->n == 0)
        return ox_run_fail(r, err, OX_INPUT, "the input has no elements to sample");
    if (moved || count == 0)
        OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, dims, &out, err));
    if (count == 0)
        return OX_OK;
    for (unsigned i = 0; i < g.n_axes; i++) {
        s.area *= (size_t)g.dims[i];
        s.places *= (size_t)dims[2 + i];
    }
    s.channels = (size_t)in->dims[1];
    s.part = ox_resample_parts(in->dtype);
    if (!moved) {
        s.wide = ox_resample_load(r, in, err);
        s.sums = ox_real_scratch(r, count * s.part, err);
        if (!s.wide || !s.sums)
            return OX_NO_MEMORY;
    }
    s.out = out;
    OX_TRY(sample_all(r, &s, err));
    return moved ? ox_move_own(out, err)
                 : ox_resample_store(r, in->dtype, in->rank, dims, s.sums, err);
}

/* ---- In the type of float32 and float64 ---------------------------------------------------------------------------- */

/* Taps of places that are worked on side by side, and of one place at most. */
enum { TAPS = 1024, TAPS_MOST = 64, SOME_MOST = 256 };

struct plane {
    const struct grid *g;
    size_t channels, area, places, taps, some; /* some: places side by side */
    const void *x, *at;
    void *y;
};

/* Places [first, first + n) of an image. */
struct stretch {
    size_t image, first, n;
};

static struct stretch stretch_of(const struct plane *p, size_t unit)
{
    const size_t blocks = (p->places + p->some - 1) / p->some, first = unit % blocks * p->some;
    const size_t left = p->places - first;
    return (struct stretch){unit / blocks, first, left < p->some ? left : p->some};
}

/* Where grid_place() finds a normalized coordinate, before it looks at borders. */
static inline double grid_at(const struct grid *g, double normal, unsigned axis)
{
    const double dim = (double)g->dims[axis];
    return g->align_corners ? (normal + 1) / 2 * (dim - 1) : ((normal + 1) * dim - 1) / 2;
}

/* Of a place `before` elements behind the first and `after` before the last, at least, what grid_place() finds for an axis; false
 * elsewhere. */
static inline bool between(const struct grid *g, double normal, unsigned axis, double before,
                           double after, int64_t *index, double *weight)
{
    const double x = grid_at(g, normal, axis);
    if (!(x >= before && x < (double)g->dims[axis] - after))
        return false;
    *index = (int64_t)x;
    *weight = x - (double)*index;
    return true;
}

/* The nearest element, -1 outside; false where grid_place() must say. */
static inline bool nearest(const struct grid *g, double normal, unsigned axis, int64_t *index)
{
    const double x = near_of(grid_at(g, normal, axis)), last = (double)(g->dims[axis] - 1);
    if (x >= 0 && x <= last) {
        *index = (int64_t)x;
        return true;
    }
    *index = g->padding == GRID_ZEROS || x < 0 ? 0 : (int64_t)last;
    if (g->padding == GRID_ZEROS)
        *index = -1;
    return x == x && g->padding != GRID_REFLECTION;
}

#define STAMP "ops/grid_planes_tmpl.h"
#include "common/stamp_floats.h"

enum ox_status ox_fast_grid_sample(struct ox_run *r, struct ox_error *err)
{
    static void (*const tasks[][2])(void *, size_t, size_t) = {{summed_task_f32, nearest_task_f32},
                                                               {summed_task_f64, nearest_task_f64}};
    const struct ox_tensor *x = ox_run_in(r, 0), *at = ox_run_in(r, 1);
    struct grid g = {0};
    struct ox_tensor *y;
    int64_t dims[OX_MOVE_RANK];
    if ((x->dtype != OX_FLOAT32 && x->dtype != OX_FLOAT64) || at->dtype != x->dtype ||
        x->rank > OX_MOVE_RANK || x->n == 0 || grid_attrs(r, &g, err) != OX_OK ||
        grid_shapes(r, x, at, &g, dims, err) != OX_OK)
        return OX_UNSUPPORTED;
    const size_t each = taps_each(&g);
    struct plane p = {.g = &g, .channels = (size_t)dims[1], .area = 1, .places = 1, .taps = 1};
    for (unsigned i = 0; i < g.n_axes; i++) {
        p.area *= (size_t)g.dims[i];
        p.places *= (size_t)dims[2 + i];
        p.taps *= each;
    }
    if (p.taps > TAPS_MOST)
        return OX_UNSUPPORTED;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    p.some = TAPS / p.taps < SOME_MOST ? TAPS / p.taps : SOME_MOST;
    p.x = x->data;
    p.at = at->data;
    p.y = y->data;
    const bool is_nearest = g.mode == GRID_NEAREST;
    const double of_place = 20 + 4 * (double)p.taps, of_tap = is_nearest ? 1 : 0.5;
    ox_fast_spread(r->env, p.places ? (size_t)dims[0] * ((p.places + p.some - 1) / p.some) : 0, 1,
                   (double)p.some * (of_place + of_tap * (double)(p.taps * p.channels)),
                   tasks[x->dtype == OX_FLOAT64][is_nearest], &p);
    return ox_env_poll(r->env, err);
}

static void infer_grid_sample(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *places, **out;
    unsigned rank, grid_rank;
    bool has_in = ox_infer_shape(c, 0, &rank, &in),
         has_grid = ox_infer_shape(c, 1, &grid_rank, &places);

    ox_infer_same_dtype(c, 0, 0);
    if (!has_in && !has_grid)
        return;
    if (has_in && has_grid && rank != grid_rank) {
        ox_infer_conflict(c, "the input has rank %u, the grid %u", rank, grid_rank);
        return;
    }
    rank = has_in ? rank : grid_rank;
    if (rank < 3) {
        ox_infer_conflict(c, "the input has rank %u, less than 3", rank);
        return;
    }
    out = ox_infer_dims(c, rank);
    if (!out)
        return;
    if (has_grid)
        ox_infer_equal(c, places[rank - 1], ox_infer_num(c, (int64_t)rank - 2),
                       "coordinates of a place and spatial axes");
    out[0] = has_in && has_grid ? ox_infer_equal(c, in[0], places[0], "batches")
             : has_in           ? in[0]
                                : places[0];
    out[1] = has_in ? in[1] : NULL;
    for (unsigned i = 2; i < rank; i++)
        out[i] = has_grid ? places[i - 1] : NULL;
    ox_infer_set_shape(c, 0, rank, out);
}

const struct ox_op ox_ops_grid_sample[] = {{"", "GridSample", 16, OX_OP_DOUBLE,
                                            .infer = infer_grid_sample, .run = run_grid_sample,
                                            .fast = ox_fast_grid_sample},
                                           {0}};
