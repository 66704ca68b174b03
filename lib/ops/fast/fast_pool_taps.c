/* MaxPool with indices, and of doubles, over one to three axes, a tap of a line of windows at a time: the first of the greatest, and
 * NaN only where there is nothing else, as the reference kernel has it. */
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "kernels/sizes.h"
#include "ops/fast/fast.h"
#include "ops/window.h"

enum { AXES = 3 };

/* A tap of the last axis: the outputs that it reaches the input from, and the first place there. */
struct tap {
    size_t from, n;
    int64_t at;
};

struct tap_pools {
    const struct ox_window *w;
    const struct tap *taps;
    size_t n_taps;
    const void *x;
    void *y;
    int64_t *places; /* NULL: not wanted */
    void *work;      /* of each slot a line of places */
    size_t slot;     /* elements of it */
};

/* The lines of the input under the windows at a place of the axes before the last. */
struct lines {
    const struct ox_window *w;
    int64_t at[AXES], lo[AXES], hi[AXES], tap[AXES];
    int64_t place; /* in the volume */
};

static void lines_place(struct lines *l)
{
    const struct ox_window *w = l->w;
    int64_t line = 0;
    for (unsigned d = 0; d + 1 < w->n; d++)
        line =
            line * w->in[d] + l->at[d] * w->stride[d] - w->before[d] + l->tap[d] * w->dilation[d];
    l->place = line * w->in[w->n - 1];
}

/* False: the windows lie in padding alone. */
static bool lines_first(struct lines *l)
{
    for (unsigned d = 0; d + 1 < l->w->n; d++) {
        ox_window_range(l->w, d, l->at[d], &l->lo[d], &l->hi[d]);
        if (l->lo[d] == l->hi[d])
            return false;
        l->tap[d] = l->lo[d];
    }
    lines_place(l);
    return true;
}

static bool lines_next(struct lines *l)
{
    for (unsigned d = l->w->n - 1; d-- > 0;) {
        if (++l->tap[d] < l->hi[d]) {
            lines_place(l);
            return true;
        }
        l->tap[d] = l->lo[d];
    }
    return false;
}

static void lines_of_next(struct lines *l)
{
    for (unsigned d = l->w->n - 1; d-- > 0 && ++l->at[d] == l->w->out[d];)
        l->at[d] = 0;
}

#define T float
#define PLACE int32_t
#define NAME(x) x##_f32
#include "ops/fast/pool_taps_tmpl.h"
#undef T
#undef PLACE
#undef NAME
#define T double
#define PLACE double
#define NAME(x) x##_f64
#include "ops/fast/pool_taps_tmpl.h"

/* No window lies in padding alone. */
static bool all_have_taps(const struct ox_window *w)
{
    for (unsigned d = 0; d < w->n; d++) {
        for (int64_t o = 0; o < w->out[d]; o++) {
            int64_t lo, hi;
            ox_window_range(w, d, o, &lo, &hi);
            if (lo == hi)
                return false;
        }
    }
    return true;
}

/* Those that reach the input. */
static enum ox_status list_taps(struct ox_run *r, struct tap_pools *p, struct ox_error *err)
{
    const struct ox_window *w = p->w;
    const unsigned d = w->n - 1;
    struct tap *taps = ox_run_work(r, (size_t)w->kernel[d], sizeof *taps, err);
    if (!taps)
        return OX_NO_MEMORY;
    p->taps = taps;
    for (int64_t k = 0; k < w->kernel[d]; k++) {
        int64_t from, to;
        ox_window_outputs(w, d, k, &from, &to);
        if (from < to)
            taps[p->n_taps++] =
                (struct tap){(size_t)from, (size_t)(to - from),
                             from * w->stride[d] - w->before[d] + k * w->dilation[d]};
    }
    return OX_OK;
}

enum ox_status ox_fast_max_pool_taps(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const bool wide = x->dtype == OX_FLOAT64, with_places = ox_run_wants(r, 1);
    if (x->rank < 3 || x->rank > AXES + 2 || !x->n ||
        (with_places && ox_run_int(r, "storage_order", 0)))
        return OX_UNSUPPORTED;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    if (ox_window_init(r, x, NULL, ox_run_int(r, "ceil_mode", 0) != 0, w, err) != OX_OK ||
        !w->n_out || w->n_in > INT32_MAX || w->out[w->n - 1] == 1 ||
        !(with_places || all_have_taps(w)))
        return OX_UNSUPPORTED;
    struct tap_pools p = {.w = w, .x = x->data};
    OX_TRY(list_taps(r, &p, err));
    struct ox_tensor *y, *places;
    int64_t dims[AXES + 2] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, w->out, w->n * sizeof *dims);
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    p.y = y->data;
    if (with_places) {
        OX_TRY(ox_run_out(r, 1, OX_INT64, x->rank, dims, &places, err));
        p.places = places->data;
        p.slot = ox_round_up((size_t)w->out[w->n - 1], OX_SLOT_APART / sizeof(int32_t));
        if (!(p.work = ox_run_work(r, ox_slots(r->env) * p.slot, ox_dtype_size(x->dtype), err)))
            return OX_NO_MEMORY;
    }
    ox_spread(r->env, (size_t)(x->dims[0] * x->dims[1]), (double)y->n * (double)(w->taps + 4) * 40,
              wide ? pool_volume_f64 : pool_volume_f32, &p);
    return ox_env_poll(r->env, err);
}
