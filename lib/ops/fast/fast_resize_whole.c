/* Linear Resize of integers of up to 32 bits over planes as they lie. */
#include "kernels/dense.h"
#include "ops/kernel_tables.h"
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

struct whole_planes {
    struct ox_resize_planes v;
    const void *x;
    void *y;
    double *work;
    struct places rows, cols;
};

#define FN(name) OX_STAMP(name, _u8)
#define T uint8_t
#define LOW 0
#define HIGH UINT8_MAX
#include "ops/resize_whole_tmpl.h"
#define FN(name) OX_STAMP(name, _i8)
#define T int8_t
#define LOW INT8_MIN
#define HIGH INT8_MAX
#include "ops/resize_whole_tmpl.h"
#define FN(name) OX_STAMP(name, _u16)
#define T uint16_t
#define LOW 0
#define HIGH UINT16_MAX
#include "ops/resize_whole_tmpl.h"
#define FN(name) OX_STAMP(name, _i16)
#define T int16_t
#define LOW INT16_MIN
#define HIGH INT16_MAX
#include "ops/resize_whole_tmpl.h"
#define FN(name) OX_STAMP(name, _i32)
#define T int32_t
#define LOW INT32_MIN
#define HIGH INT32_MAX
#include "ops/resize_whole_tmpl.h"

static void (*const resize_row[OX_N_DTYPES])(void *arg, size_t i,
                                             size_t slot) = {[OX_UINT8] = resize_row_u8,
                                                             [OX_INT8] = resize_row_i8,
                                                             [OX_UINT16] = resize_row_u16,
                                                             [OX_INT16] = resize_row_i16,
                                                             [OX_INT32] = resize_row_i32};

enum ox_status ox_fast_resize_whole(struct ox_run *r, const struct ox_resize *z,
                                    struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct whole_planes p = {.x = x->data};
    struct ox_tensor *y;
    if (z->how.mode != OX_RESAMPLE_LINEAR || !resize_row[x->dtype] ||
        !ox_resize_as_planes(z, x, &p.v))
        return OX_UNSUPPORTED;
    OX_TRY(find_places(r, z, p.v.axis, &p.rows, err));
    OX_TRY(find_places(r, z, p.v.axis + 1, &p.cols, err));
    p.work = ox_run_work(r, ox_slots(r->env) * p.v.in[1] * p.v.inner, sizeof *p.work, err);
    if (!p.work)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, p.v.dims, &y, err));
    p.y = y->data;
    if (y->n)
        ox_spread(r->env, p.v.planes * p.v.out[0], (double)y->n * 40, resize_row[x->dtype], &p);
    return ox_env_poll(r->env, err);
}
