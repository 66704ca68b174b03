/* Linear Resize of 8-bit integers over planes as they lie. */
#include <math.h>

#include "kernels/dense.h"
#include "ops/resize.h"
/* The elements that each place of an axis lies between, and their weights. */
struct places {
    int64_t *at;
    double *weight;
};

static enum ox_status find_places(struct ox_run *r, const struct ox_resize *z, unsigned axis,
                                  struct places *p, struct ox_error *err)
{
    const struct ox_resample_axis *a = &z->axes[axis];
    const size_t out = (size_t)a->out;
    p->at = ox_run_scratch(r, 2 * out, sizeof *p->at, err);
    p->weight = ox_run_scratch(r, 2 * out, sizeof *p->weight, err);
    if (!p->at || !p->weight)
        return OX_NO_MEMORY;
    if (!ox_resample_is_identity(&z->how, a)) {
        ox_resample_table(&z->how, a, 2, p->at, p->weight);
        return OX_OK;
    }
    for (size_t i = 0; i < out; i++) {
        p->at[2 * i] = p->at[2 * i + 1] = (int64_t)i;
        p->weight[2 * i] = 1;
        p->weight[2 * i + 1] = 0;
    }
    return OX_OK;
}

struct byte_planes {
    const uint8_t *x;
    uint8_t *y, flip; /* flip: 0x80 of signed ones */
    double *work;
    size_t in[2], out[2];
    struct places rows, cols;
};

/* In doubles, an axis after the other, as the reference kernel does it: the same codes. */
static void resize_byte_plane(void *arg, size_t i, size_t slot)
{
    const struct byte_planes *p = arg;
    const uint8_t *plane = p->x + i * p->in[0] * p->in[1];
    uint8_t *out = p->y + i * p->out[0] * p->out[1];
    double *line = p->work + slot * p->in[1];
    const int zero = p->flip;
    for (size_t y = 0; y < p->out[0]; y++) {
        const uint8_t *a = plane + (size_t)p->rows.at[2 * y] * p->in[1];
        const uint8_t *b = plane + (size_t)p->rows.at[2 * y + 1] * p->in[1];
        const double f = p->rows.weight[2 * y], g = p->rows.weight[2 * y + 1];
        for (size_t x = 0; x < p->in[1]; x++)
            line[x] = f * ((a[x] ^ p->flip) - zero) + g * ((b[x] ^ p->flip) - zero);
        for (size_t x = 0; x < p->out[1]; x++) {
            const double value = p->cols.weight[2 * x] * line[p->cols.at[2 * x]] +
                                 p->cols.weight[2 * x + 1] * line[p->cols.at[2 * x + 1]];
            const int code = (int)rint(value) + zero;
            *out++ = (uint8_t)(code < 0 ? 0 : code > UINT8_MAX ? UINT8_MAX : code) ^ p->flip;
        }
    }
}

enum ox_status ox_fast_resize_bytes(struct ox_run *r, const struct ox_resize *z, size_t planes,
                                    const int64_t *dims, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const unsigned h = x->rank - 2, w = x->rank - 1;
    struct ox_tensor *y;
    struct byte_planes p = {.x = x->data,
                            .flip = x->dtype == OX_INT8 ? 0x80 : 0,
                            .in = {(size_t)x->dims[h], (size_t)x->dims[w]},
                            .out = {(size_t)dims[h], (size_t)dims[w]}};
    OX_TRY(find_places(r, z, h, &p.rows, err));
    OX_TRY(find_places(r, z, w, &p.cols, err));
    p.work = ox_run_work(r, ox_slots(r->env) * p.in[1], sizeof *p.work, err);
    if (!p.work)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    p.y = y->data;
    if (y->n)
        ox_spread(r->env, planes, (double)y->n * 40, resize_byte_plane, &p);
    return ox_env_poll(r->env, err);
}
