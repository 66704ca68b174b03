/* MaxPool of 8-bit integers over planes as they lie. The rows that a line of outputs reaches become one, the greatest of each
 * column; its columns, dealt into as many rows as the stride is wide, become rows that lie beside each other, one a tap. */
#include <string.h>

#include "kernels/bytes.h"
#include "kernels/dense.h"
#include "kernels/sizes.h"
#include "ops/fast.h"
#include "ops/window.h"

enum { TAPS = 64 }; /* of a window along one axis */

struct byte_pools {
    const struct ox_bytes *table;
    const struct ox_window *w;
    size_t in[2], out[2]; /* rows and columns */
    const uint8_t *x;
    uint8_t *y, *work;
    uint8_t flip;      /* also the least code */
    size_t row, dealt; /* bytes of a row with its padding, and of one that it is dealt into */
    size_t slot;       /* bytes of a slot's work */
};

static size_t list_rows(const struct byte_pools *p, const uint8_t *plane, size_t oy,
                        const uint8_t **list)
{
    const struct ox_window *w = p->w;
    int64_t lo = 0, hi = 1, first = 0;
    if (w->n == 2) {
        ox_window_range(w, 0, (int64_t)oy, &lo, &hi);
        first = (int64_t)oy * w->stride[0] - w->before[0];
    }
    for (int64_t k = lo; k < hi; k++)
        list[k - lo] = plane + (size_t)(w->n == 2 ? first + k * w->dilation[0] : 0) * p->in[1];
    return (size_t)(hi - lo);
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

static void pool_line(const struct byte_pools *p, const uint8_t *plane, size_t oy, uint8_t *row,
                      uint8_t *out)
{
    const struct ox_window *w = p->w;
    const unsigned d = w->n - 1;
    const size_t stride = (size_t)w->stride[d], step = (size_t)w->dilation[d];
    const uint8_t *list[TAPS], *dealt = row;
    uint8_t *inside = row + w->before[d];
    memset(inside, p->flip, p->in[1]);
    p->table->greatest(p->in[1], list_rows(p, plane, oy, list), list, p->flip, inside);
    if (stride > 1) {
        deal(row, p->row, stride, p->dealt, row + p->row);
        dealt = row + p->row;
    }
    for (size_t k = 0; k < (size_t)w->kernel[d]; k++)
        list[k] = dealt + k * step % stride * p->dealt + k * step / stride;
    memset(out, p->flip, p->out[1]);
    p->table->greatest(p->out[1], (size_t)w->kernel[d], list, p->flip, out);
}

static void pool_plane(void *arg, size_t i, size_t slot)
{
    const struct byte_pools *p = arg;
    uint8_t *row = p->work + slot * p->slot;
    const uint8_t *plane = p->x + i * p->w->n_in;
    uint8_t *out = p->y + i * p->w->n_out;
    memset(row, p->flip, p->row);
    for (size_t oy = 0; oy < p->out[0]; oy++, out += p->out[1])
        pool_line(p, plane, oy, row, out);
}

static bool fits(const struct ox_window *w)
{
    const int64_t most = 1 << 20;
    for (unsigned d = 0; d < w->n; d++)
        if (w->kernel[d] > TAPS || w->stride[d] > TAPS || w->dilation[d] > most ||
            w->before[d] > most || w->in[d] > INT32_MAX || w->out[d] > INT32_MAX)
            return false;
    return w->n_out > 0;
}

enum ox_status ox_fast_max_pool_bytes(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if ((x->dtype != OX_UINT8 && x->dtype != OX_INT8) || x->rank < 3 || x->rank > 4 || !x->n ||
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
                           .in = {w->n == 2 ? (size_t)w->in[0] : 1, (size_t)w->in[d]},
                           .out = {w->n == 2 ? (size_t)w->out[0] : 1, (size_t)w->out[d]},
                           .x = x->data,
                           .flip = x->dtype == OX_INT8 ? 0x80 : 0};
    const size_t stride = (size_t)w->stride[d], inside = (size_t)w->before[d] + p.in[1];
    const size_t reach =
        (p.out[1] - 1) * stride + (size_t)((w->kernel[d] - 1) * w->dilation[d]) + 1;
    p.dealt = ((reach > inside ? reach : inside) + stride - 1) / stride;
    p.row = p.dealt * stride;
    p.slot = ox_round_up(2 * p.row, OX_SLOT_APART);
    p.work = ox_run_work(r, ox_slots(r->env), p.slot, err);
    if (!p.work)
        return OX_NO_MEMORY;
    struct ox_tensor *y;
    int64_t dims[4] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, w->out, w->n * sizeof *dims);
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    p.y = y->data;
    ox_spread(r->env, (size_t)(x->dims[0] * x->dims[1]), (double)(x->n + y->n) * 8, pool_plane, &p);
    return ox_env_poll(r->env, err);
}
