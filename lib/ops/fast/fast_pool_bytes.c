/* MaxPool of 8-bit integers over one to three axes as they lie. The rows that a line of outputs reaches become one, the greatest of each
 * column; its columns, dealt into as many rows as the stride is wide, become rows that lie beside each other, one a tap. */
#include <string.h>

#include "kernels/bytes.h"
#include "kernels/dense.h"
#include "kernels/sizes.h"
#include "ops/fast/fast.h"
#include "ops/window.h"

enum { TAPS = 256 }; /* of a window along one axis */

struct byte_pools {
    const struct ox_bytes *table;
    const struct ox_window *w;
    size_t in[3], out[3]; /* layers, rows and columns */
    const uint8_t *x;
    uint8_t *y, *work;
    uint8_t flip;      /* also the least code */
    size_t row, dealt; /* bytes of a row with its padding, and of one that it is dealt into */
    size_t slot;       /* bytes of a slot's work */
};

/* Where the rows (or layers) that an output reaches begin and end, in steps of the window, and where step 0 lies. An axis that is
 * missing has one. */
struct steps {
    int64_t lo, hi, first, step;
};

static struct steps steps_of(const struct ox_window *w, int axis, size_t o)
{
    struct steps s = {0, 1, 0, 0};
    if (axis < 0)
        return s;
    ox_window_range(w, (unsigned)axis, (int64_t)o, &s.lo, &s.hi);
    s.first = (int64_t)o * w->stride[axis] - w->before[axis];
    s.step = w->dilation[axis];
    return s;
}

static size_t list_rows(const struct byte_pools *p, const uint8_t *map, size_t oz, size_t oy,
                        const uint8_t **list)
{
    const int n = (int)p->w->n;
    const struct steps z = steps_of(p->w, n - 3, oz), y = steps_of(p->w, n - 2, oy);
    size_t found = 0;
    for (int64_t i = z.lo; i < z.hi; i++)
        for (int64_t k = y.lo; k < y.hi; k++)
            list[found++] =
                map + ((size_t)(z.first + i * z.step) * p->in[1] + (size_t)(y.first + k * y.step)) *
                          p->in[2];
    return found;
}

static void deal(const uint8_t *row, size_t n, size_t stride, size_t pitch, uint8_t *restrict out)
{
    for (size_t i = 0; i < n / 2 && stride == 2; i++) {
        out[i] = row[2 * i];
        out[pitch + i] = row[2 * i + 1];
    }
    for (size_t first = 0; first < stride && stride > 2; first++, out += pitch)
        for (size_t i = first, k = 0; i < n; i += stride)
            out[k++] = row[i];
}

static void pool_line(const struct byte_pools *p, const uint8_t *map, size_t oz, size_t oy,
                      uint8_t *row, uint8_t *out)
{
    const struct ox_window *w = p->w;
    const unsigned d = w->n - 1;
    const size_t stride = (size_t)w->stride[d], step = (size_t)w->dilation[d];
    const uint8_t *list[TAPS], *dealt = row;
    uint8_t *inside = row + w->before[d];
    memset(inside, p->flip, p->in[2]);
    p->table->greatest(p->in[2], list_rows(p, map, oz, oy, list), list, p->flip, inside);
    if (stride > 1) {
        deal(row, p->row, stride, p->dealt, row + p->row);
        dealt = row + p->row;
    }
    for (size_t k = 0; k < (size_t)w->kernel[d]; k++)
        list[k] = dealt + k * step % stride * p->dealt + k * step / stride;
    memset(out, p->flip, p->out[2]);
    p->table->greatest(p->out[2], (size_t)w->kernel[d], list, p->flip, out);
}

static void pool_map(void *arg, size_t i, size_t slot)
{
    const struct byte_pools *p = arg;
    uint8_t *row = p->work + slot * p->slot;
    const uint8_t *map = p->x + i * p->w->n_in;
    uint8_t *out = p->y + i * p->w->n_out;
    memset(row, p->flip, p->row);
    for (size_t oz = 0; oz < p->out[0]; oz++)
        for (size_t oy = 0; oy < p->out[1]; oy++, out += p->out[2])
            pool_line(p, map, oz, oy, row, out);
}

static bool fits(const struct ox_window *w)
{
    const int64_t most = 1 << 20;
    for (unsigned d = 0; d < w->n; d++)
        if (w->kernel[d] > TAPS || w->stride[d] > TAPS || w->dilation[d] > most ||
            w->before[d] > most || w->in[d] > INT32_MAX || w->out[d] > INT32_MAX)
            return false;
    return w->n_out > 0 && (w->n < 3 || w->kernel[0] * w->kernel[1] <= TAPS);
}

enum ox_status ox_fast_max_pool_bytes(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if ((x->dtype != OX_UINT8 && x->dtype != OX_INT8) || x->rank < 3 || x->rank > 5 || !x->n ||
        ox_run_wants(r, 1))
        return OX_UNSUPPORTED;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    if (ox_window_init(r, x, NULL, ox_run_int(r, "ceil_mode", 0) != 0, w, err) != OX_OK || !fits(w))
        return OX_UNSUPPORTED;
    const unsigned d = w->n - 1;
    struct byte_pools p = {.table = ox_bytes(ox_cpu()),
                           .w = w,
                           .in = {1, 1, (size_t)w->in[d]},
                           .out = {1, 1, (size_t)w->out[d]},
                           .x = x->data,
                           .flip = x->dtype == OX_INT8 ? 0x80 : 0};
    for (unsigned i = 0; i < d; i++) {
        p.in[2 - d + i] = (size_t)w->in[i];
        p.out[2 - d + i] = (size_t)w->out[i];
    }
    const size_t stride = (size_t)w->stride[d], inside = (size_t)w->before[d] + p.in[2];
    const size_t reach =
        (p.out[2] - 1) * stride + (size_t)((w->kernel[d] - 1) * w->dilation[d]) + 1;
    p.dealt = ((reach > inside ? reach : inside) + stride - 1) / stride;
    p.row = p.dealt * stride;
    p.slot = ox_round_up(2 * p.row, OX_SLOT_APART);
    p.work = ox_run_work(r, ox_slots(r->env), p.slot, err);
    if (!p.work)
        return OX_NO_MEMORY;
    struct ox_tensor *y;
    int64_t dims[5] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, w->out, w->n * sizeof *dims);
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    p.y = y->data;
    ox_spread(r->env, (size_t)(x->dims[0] * x->dims[1]), (double)(x->n + y->n) * 8, pool_map, &p);
    return ox_env_poll(r->env, err);
}
