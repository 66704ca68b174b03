/* What the kernel for whole planes is told: which taps of a row are none of the padding's. */
#include "kernels/sizes.h"
#include "ops/fast/fast_pool.h"

bool ox_pool_has_planes(const struct ox_pools *p)
{
    enum { TAPS = 16, STRIDE = 8, WIDE = 1 << 16 };
    const struct ox_pool_axis *x = &p->x;
    return p->t->pool_plane[p->max] && x->kernel > 1 && x->kernel <= TAPS && x->stride <= STRIDE &&
           x->in <= WIDE && x->dilation <= WIDE && x->before <= WIDE &&
           (x->out - 1) * x->stride < x->in;
}

/* Lanes of OX_POOL_PLANE columns, the first of which is number `at` of a row, of rows that follow one another: where a window is made; or
 * that have a tap so many columns further on. */
static uint16_t lanes_kept(const struct ox_pool_axis *x, size_t at)
{
    uint16_t lanes = 0;
    for (size_t i = 0; i < OX_POOL_PLANE; i++) {
        if (at % x->stride == 0 && at / x->stride < x->out)
            lanes |= (uint16_t)(1u << i);
        at = at + 1 < x->in ? at + 1 : 0;
    }
    return lanes;
}

static uint16_t lanes_of_tap(const struct ox_pool_axis *x, size_t at, size_t further)
{
    uint16_t lanes = 0;
    for (size_t i = 0; i < OX_POOL_PLANE; i++) {
        if (at + further < x->in) /* wraps before the row */
            lanes |= (uint16_t)(1u << i);
        at = at + 1 < x->in ? at + 1 : 0;
    }
    return lanes;
}

static const float *count_all(struct ox_run *r, const struct ox_pools *p, struct ox_error *err)
{
    float *all = ox_run_scratch(r, p->y.out * p->x.out, sizeof *all, err), *to = all;
    const float *rows = p->counts + p->z.out, *columns = rows + p->y.out;
    for (size_t y = 0; all && y < p->y.out; y++)
        for (size_t x = 0; x < p->x.out; x++)
            *to++ = p->counts[0] * rows[y] * columns[x];
    return all;
}

enum ox_status ox_pool_plane_init(struct ox_run *r, const struct ox_pools *p,
                                  struct ox_pool_plane *plane, struct ox_error *err)
{
    enum { BAND = 2048 };
    const struct ox_pool_axis *x = &p->x, *y = &p->y;
    const size_t rows = x->in < BAND ? BAND / x->in : 1, band = ox_least(rows, y->out);
    const size_t parts = (band * x->in + OX_POOL_PLANE - 1) / OX_POOL_PLANE;
    uint16_t *taps = ox_run_scratch(r, parts * (x->kernel + 1), sizeof *taps, err);
    if (!taps)
        return OX_NO_MEMORY;
    uint16_t *kept = taps + parts * x->kernel;
    for (size_t i = 0; i < parts; i++) {
        const size_t at = i * OX_POOL_PLANE % x->in;
        kept[i] = lanes_kept(x, at);
        for (size_t q = 0; q < x->kernel; q++)
            taps[i * x->kernel + q] = lanes_of_tap(x, at, q * x->dilation - x->before);
    }
    *plane = (struct ox_pool_plane){.in = {y->in, x->in},
                                    .out = {y->out, x->out},
                                    .kernel = {y->kernel, x->kernel},
                                    .stride = y->stride,
                                    .dilation = y->dilation,
                                    .before = y->before,
                                    .band = band,
                                    .step = x->dilation,
                                    .ahead = x->before,
                                    .taps = taps,
                                    .kept = kept};
    if (!p->max && !(plane->counts = count_all(r, p, err)))
        return OX_NO_MEMORY;
    return OX_OK;
}
