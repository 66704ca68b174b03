/* MaxPool of doubles, a tap of a line of windows at a time: NaN only where there is nothing else, as the reference kernel has it. */
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/fast/fast.h"
#include "ops/window.h"

enum { AXES = 3 };

struct double_pools {
    const struct ox_window *w;
    const double *x;
    double *y;
};

static inline __attribute__((always_inline)) void take_tap(size_t n, size_t stride, const double *x,
                                                           double *restrict best)
{
    for (size_t i = 0; i < n; i++) {
        const double v = x[i * stride], b = best[i];
        best[i] = (v > b) | (b != b) ? v : b;
    }
}

/* The line of the input that begins at x. */
static void take_line(const struct ox_window *w, const double *x, double *best)
{
    const unsigned d = w->n - 1;
    const size_t stride = (size_t)w->stride[d];
    for (int64_t k = 0; k < w->kernel[d]; k++) {
        int64_t from, to;
        ox_window_outputs(w, d, k, &from, &to);
        if (from >= to)
            continue;
        const double *first = x + from * w->stride[d] - w->before[d] + k * w->dilation[d];
        if (stride == 1)
            take_tap((size_t)(to - from), 1, first, best + from);
        else if (stride == 2)
            take_tap((size_t)(to - from), 2, first, best + from);
        else
            take_tap((size_t)(to - from), stride, first, best + from);
    }
}

/* All lines under the windows at a place of the axes before the last. */
static void take_lines(const struct ox_window *w, const double *volume, const int64_t *at,
                       double *best)
{
    int64_t lo[AXES], hi[AXES], tap[AXES];
    for (unsigned d = 0; d + 1 < w->n; d++) {
        ox_window_range(w, d, at[d], &lo[d], &hi[d]);
        tap[d] = lo[d];
    }
    for (;;) {
        int64_t line = 0;
        for (unsigned d = 0; d + 1 < w->n; d++)
            line = line * w->in[d] + at[d] * w->stride[d] - w->before[d] + tap[d] * w->dilation[d];
        take_line(w, volume + line * w->in[w->n - 1], best);
        unsigned d = w->n - 1;
        while (d > 0 && ++tap[d - 1] == hi[d - 1]) {
            d--;
            tap[d] = lo[d];
        }
        if (d == 0)
            return;
    }
}

static void pool_volume(void *arg, size_t i, size_t slot)
{
    (void)slot;
    const struct double_pools *p = arg;
    const struct ox_window *w = p->w;
    const size_t n = (size_t)w->out[w->n - 1];
    double *y = p->y + i * w->n_out, *const end = y + w->n_out;
    int64_t at[AXES] = {0};
    for (; y < end; y += n) {
        for (size_t k = 0; k < n; k++)
            y[k] = NAN;
        take_lines(w, p->x + i * w->n_in, at, y);
        for (unsigned d = w->n - 1; d-- > 0 && ++at[d] == w->out[d];)
            at[d] = 0;
    }
}

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

enum ox_status ox_fast_max_pool_doubles(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if (x->rank < 3 || x->rank > AXES + 2 || !x->n || ox_run_wants(r, 1))
        return OX_UNSUPPORTED;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    if (ox_window_init(r, x, NULL, ox_run_int(r, "ceil_mode", 0) != 0, w, err) != OX_OK ||
        !w->n_out || !all_have_taps(w))
        return OX_UNSUPPORTED;
    struct ox_tensor *y;
    int64_t dims[AXES + 2] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, w->out, w->n * sizeof *dims);
    OX_TRY(ox_run_out(r, 0, OX_FLOAT64, x->rank, dims, &y, err));
    struct double_pools p = {w, x->data, y->data};
    ox_spread(r->env, (size_t)(x->dims[0] * x->dims[1]), (double)y->n * (double)(w->taps + 4) * 40,
              pool_volume, &p);
    return ox_env_poll(r->env, err);
}
