/* MaxPool with indices of float32 over one or two axes: the first of the greatest, and NaN only where there is nothing else, as the
 * reference kernel has it. */
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "kernels/sizes.h"
#include "ops/fast/fast.h"
#include "ops/window.h"

struct place_pools {
    const struct ox_window *w;
    const float *x;
    float *y;
    int64_t *places;
    size_t n_in, n_out, out[2];
    int32_t *work; /* of each slot a row of places */
    size_t slot;   /* elements of it */
};

/* One tap of a row of windows, whose elements lie `stride` apart from place `at` on. */
static inline __attribute__((always_inline)) void take_tap(size_t n, size_t stride, const float *x,
                                                           int32_t at, float *restrict best,
                                                           int32_t *restrict where)
{
    for (size_t i = 0; i < n; i++) {
        const float v = x[i * stride], b = best[i];
        const int32_t was = where[i];
        const bool better = (v > b) | (b != b) | (was < 0);
        best[i] = better ? v : b;
        where[i] = better ? at + (int32_t)(i * stride) : was;
    }
}

static void take_row(const struct place_pools *p, const float *plane, int64_t row, float *best,
                     int32_t *where)
{
    const struct ox_window *w = p->w;
    const unsigned d = w->n - 1;
    const size_t stride = (size_t)w->stride[d];
    for (int64_t k = 0; k < w->kernel[d]; k++) {
        int64_t from, to;
        ox_window_outputs(w, d, k, &from, &to);
        if (from >= to)
            continue;
        const int64_t at = row * w->in[d] + from * w->stride[d] - w->before[d] + k * w->dilation[d];
        const size_t n = (size_t)(to - from);
        if (stride == 1)
            take_tap(n, 1, plane + at, (int32_t)at, best + from, where + from);
        else if (stride == 2)
            take_tap(n, 2, plane + at, (int32_t)at, best + from, where + from);
        else
            take_tap(n, stride, plane + at, (int32_t)at, best + from, where + from);
    }
}

static void pool_plane(void *arg, size_t i, size_t slot)
{
    const struct place_pools *p = arg;
    const struct ox_window *w = p->w;
    const float *plane = p->x + i * p->n_in;
    const size_t n = p->out[1];
    float *y = p->y + i * p->n_out;
    int64_t *places = p->places + i * p->n_out;
    int32_t *where = p->work + slot * p->slot;
    for (size_t row = 0; row < p->out[0]; row++, y += n, places += n) {
        int64_t lo = 0, hi = 1, first = 0, step = 0;
        if (w->n == 2) {
            ox_window_range(w, 0, (int64_t)row, &lo, &hi);
            first = (int64_t)row * w->stride[0] - w->before[0];
            step = w->dilation[0];
        }
        for (size_t q = 0; q < n; q++) {
            y[q] = -INFINITY;
            where[q] = -1;
        }
        for (int64_t k = lo; k < hi; k++)
            take_row(p, plane, first + k * step, y, where);
        for (size_t q = 0; q < n; q++)
            places[q] = where[q] < 0 ? -1 : (int64_t)(i * p->n_in) + where[q];
    }
}

enum ox_status ox_fast_max_pool_places(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    if (!x || x->rank < 3 || x->rank > 4 || !x->n || ox_run_int(r, "storage_order", 0))
        return OX_UNSUPPORTED;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    if (ox_window_init(r, x, NULL, ox_run_int(r, "ceil_mode", 0) != 0, w, err) != OX_OK ||
        !w->n_out || w->n_in > INT32_MAX)
        return OX_UNSUPPORTED;
    const unsigned d = w->n - 1;
    struct place_pools p = {.w = w,
                            .x = x->data,
                            .n_in = w->n_in,
                            .n_out = w->n_out,
                            .out = {d ? (size_t)w->out[0] : 1, (size_t)w->out[d]}};
    p.slot = ox_round_up(p.out[1], OX_SLOT_APART / sizeof *p.work);
    p.work = ox_run_work(r, ox_slots(r->env) * p.slot, sizeof *p.work, err);
    if (!p.work)
        return OX_NO_MEMORY;
    struct ox_tensor *y, *places;
    int64_t dims[4] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, w->out, w->n * sizeof *dims);
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    OX_TRY(ox_run_out(r, 1, OX_INT64, x->rank, dims, &places, err));
    p.y = y->data;
    p.places = places->data;
    ox_spread(r->env, (size_t)(x->dims[0] * x->dims[1]), (double)y->n * (double)(w->taps + 4) * 40,
              pool_plane, &p);
    return ox_env_poll(r->env, err);
}
