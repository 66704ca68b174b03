#include "ops/scale_spread.h"

#include <inttypes.h>

#include "ops/rules.h"

/* The axis attribute; a list of scales for a list of numbers needs none, so there its default may be out of range. */
static enum ox_status scale_axis(struct ox_run *r, const struct ox_tensor *x, unsigned *axis,
                                 struct ox_error *err)
{
    *axis = 0;
    if (x->rank == 1)
        return OX_OK;
    return ox_run_axis(r, ox_run_int(r, "axis", 1), x->rank, axis, err);
}

static enum ox_status spread_blocks(struct ox_run *r, const struct ox_tensor *x,
                                    const struct ox_tensor *scale, int64_t block,
                                    struct ox_scale_spread *s, struct ox_error *err)
{
    unsigned axis;
    OX_TRY(scale_axis(r, x, &axis, err));
    if (block < 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute block_size is %" PRId64, block);
    bool fits = scale->rank == x->rank;
    for (unsigned i = 0; fits && i < x->rank; i++)
        fits = scale->dims[i] == (i == axis ? (x->dims[i] + block - 1) / block : x->dims[i]);
    if (!fits)
        return ox_run_fail(r, err, OX_INPUT,
                           "the scale does not have the shape of x in blocks of %" PRId64
                           " along axis %u",
                           block, axis);
    for (unsigned i = 0; i < x->rank; i++)
        *(i < axis ? &s->outer : i == axis ? &s->axis : &s->inner) *= (size_t)x->dims[i];
    s->block = (size_t)block;
    s->per_inner = s->inner > 1;
    s->per_block = s->inner;
    s->per_outer = (size_t)scale->dims[axis] * s->inner;
    return OX_OK;
}

enum ox_status ox_spread_scale(struct ox_run *r, const struct ox_tensor *x,
                               const struct ox_tensor *scale, struct ox_scale_spread *s,
                               struct ox_error *err)
{
    *s = (struct ox_scale_spread){.outer = 1, .axis = 1, .inner = 1, .block = 1};
    int64_t block = ox_run_int(r, "block_size", 0);
    if (scale->n == 1 && !(block && scale->rank == x->rank && x->rank)) {
        s->inner = x->n;
        return OX_OK;
    }
    if (block)
        return spread_blocks(r, x, scale, block, s, err);
    unsigned axis;
    if (scale->rank != 1 || x->rank == 0)
        return ox_run_fail(r, err, OX_INPUT, "the scale has rank %u: neither a scalar nor a list",
                           scale->rank);
    OX_TRY(scale_axis(r, x, &axis, err));
    if (scale->dims[0] != x->dims[axis])
        return ox_run_fail(r, err, OX_INPUT, "%" PRId64 " scales for an axis of %" PRId64,
                           scale->dims[0], x->dims[axis]);
    for (unsigned i = 0; i < x->rank; i++)
        *(i < axis ? &s->outer : i == axis ? &s->axis : &s->inner) *= (size_t)x->dims[i];
    s->per_block = 1;
    return OX_OK;
}

void ox_spread_cut(struct ox_scale_spread *s)
{
    if (s->inner == 1 && s->block > 1 && s->axis % s->block == 0) { /* blocks one after another */
        s->axis *= s->outer;
        s->outer = 1;
    }
    if (s->outer != 1 || s->axis != 1 || s->per_inner)
        return;
    s->axis = s->inner;
    s->inner = 1;
    s->per_block = 0;
    s->block = 1;
}

struct ox_stretch ox_spread_next(const struct ox_scale_spread *p, size_t *from, size_t to)
{
    const size_t outer = p->outer == 1 ? 0 : *from / p->axis, i = *from - outer * p->axis;
    const size_t rows = p->axis - i < to - *from ? p->axis - i : to - *from; /* along the axis */
    const size_t scale = outer * p->per_outer + i / p->block * p->per_block;
    struct ox_stretch s = {
        .at = *from * p->inner, .n = p->inner, .scale = scale, .step = p->per_inner};
    if (p->inner == 1 && p->block == 1) {
        s.n = rows;
        s.step = p->per_block;
    } else if (p->inner == 1) {
        const size_t left = p->block - i % p->block;
        s.n = rows < left ? rows : left;
    }
    *from += p->inner == 1 ? s.n : 1;
    return s;
}
