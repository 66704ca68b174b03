/* Resize of float32 between more than two points an axis, antialiased or cubic, where the last two axes alone change: what the
 * reference kernel computes, a plane at a time. */
#include "kernels/dense.h"
#include "ops/fast/fast.h"
#include "ops/resize.h"

struct filter {
    const struct ox_resample_axis *axis;
    size_t taps; /* 0: the axis stays */
    const int64_t *index;
    const double *weight;
};

struct planes {
    const float *x;
    float *y;
    struct filter filter[2];
    size_t in[2], out[2];
    double extrapolation;
    double *work; /* of each slot the plane, and what each filter makes of it */
    size_t slot;
};

static void resample_plane(void *arg, size_t i, size_t slot)
{
    const struct planes *p = arg;
    const struct filter *down = &p->filter[0], *across = &p->filter[1];
    const size_t n_in = p->in[0] * p->in[1], n_out = p->out[0] * p->out[1];
    double *plane = p->work + slot * p->slot, *next = plane + n_in;
    for (size_t k = 0; k < n_in; k++)
        plane[k] = (double)p->x[i * n_in + k];
    if (down->taps) {
        ox_resample_apply(down->axis, 1, p->in[1], down->taps, down->index, down->weight,
                          p->extrapolation, plane, next);
        plane = next;
        next += p->out[0] * p->in[1];
    }
    if (across->taps) {
        ox_resample_apply(across->axis, p->out[0], 1, across->taps, across->index, across->weight,
                          p->extrapolation, plane, next);
        plane = next;
    }
    for (size_t k = 0; k < n_out; k++)
        p->y[i * n_out + k] = (float)plane[k];
}

static enum ox_status make_filter(struct ox_run *r, const struct ox_resize *z, unsigned axis,
                                  struct filter *f, struct ox_error *err)
{
    size_t n;
    f->axis = &z->axes[axis];
    if (ox_resample_is_identity(&z->how, f->axis))
        return OX_OK;
    f->taps = ox_resample_taps(&z->how, f->axis);
    if (f->taps == 0 || OX_MUL_OVERFLOWS(f->taps, (size_t)f->axis->out, &n))
        return OX_UNSUPPORTED;
    int64_t *index = ox_run_scratch(r, n, sizeof *index, err);
    double *weight = ox_run_scratch(r, n, sizeof *weight, err);
    if (!index || !weight)
        return OX_NO_MEMORY;
    ox_resample_table(&z->how, f->axis, f->taps, index, weight);
    f->index = index;
    f->weight = weight;
    return OX_OK;
}

enum ox_status ox_fast_resample(struct ox_run *r, const struct ox_resize *z, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    size_t planes = 1, room;
    int64_t dims[OX_MOVE_RANK];
    if (!x || x->rank < 2 || !x->n || z->how.mode == OX_RESAMPLE_NEAREST)
        return OX_UNSUPPORTED;
    const unsigned h = x->rank - 2, w = x->rank - 1;
    for (unsigned d = 0; d < x->rank; d++) {
        dims[d] = z->axes[d].out;
        if (d < h && !ox_resample_is_identity(&z->how, &z->axes[d]))
            return OX_UNSUPPORTED;
        planes *= d < h ? (size_t)dims[d] : 1;
    }
    struct planes p = {.x = x->data,
                       .in = {(size_t)x->dims[h], (size_t)x->dims[w]},
                       .out = {(size_t)dims[h], (size_t)dims[w]},
                       .extrapolation = z->extrapolation};
    if (p.out[0] == 0 || p.out[1] == 0 || OX_MUL_OVERFLOWS(p.out[0], p.in[1] + p.out[1], &room) ||
        room > SIZE_MAX / 64)
        return OX_UNSUPPORTED;
    p.slot = (p.in[0] * p.in[1] + room + 7) / 8 * 8;
    OX_TRY(make_filter(r, z, h, &p.filter[0], err));
    OX_TRY(make_filter(r, z, w, &p.filter[1], err));
    p.work = ox_run_work(r, ox_slots(r->env) * p.slot, sizeof *p.work, err);
    struct ox_tensor *y;
    if (!p.work)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    p.y = y->data;
    const double flops_a_tap = 32; /* in which ox_spread() counts */
    const double taps = (double)(p.filter[0].taps * p.out[0] * p.in[1]) +
                        (double)(p.filter[1].taps * p.out[0] * p.out[1]);
    ox_spread(r->env, planes, (double)planes * taps * flops_a_tap, resample_plane, &p);
    return ox_env_poll(r->env, err);
}
