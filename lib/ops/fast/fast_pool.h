/* Pools in float32, shared by their forms. */
#ifndef OX_OPS_FAST_POOL_H
#define OX_OPS_FAST_POOL_H

#include "kernels/dense.h"
#include "ops/fast/fast.h"

enum {
    OX_POOL_TAPS = 256,                     /* the most of a window along one axis */
    OX_POOL_BLOCK = 2048,                   /* floats of narrow planes that are pooled together */
    OX_POOL_NARROW_WORK = 3 * OX_POOL_BLOCK /* floats of work for a block of them */
};

struct ox_pool_axis {
    size_t in, out, kernel, stride, dilation, before, after;
};

/* Elements that the windows reach over, the padding before them too. */
static inline size_t ox_pool_span(const struct ox_pool_axis *a)
{
    return (a->out - 1) * a->stride + (a->kernel - 1) * a->dilation + 1;
}

struct ox_pools {
    const struct ox_compute *t;
    struct ox_pool_axis z, y, x;
    bool max;
    size_t volumes;
    const float *in,
        *counts; /* counts: taps of a window along each axis, z, y, then x; NULL: max */
    float *out, *work;
    size_t row,
        slot; /* floats of a row with its padding; of a task: that row, and what is made of it */
};

/* out = the largest, or the sum, of n floats of each of the rows; it may be the first row, and that may overlap the others before
 * their first floats. */
void ox_pool_reduce(const struct ox_pools *p, size_t n, size_t rows, const float *const *in,
                    float *out);

/* Every `stride`-th of n floats, from each of the first on; the rows that they become are `pitch` floats apart. */
void ox_pool_deal(const float *row, size_t n, size_t stride, size_t pitch, float *out);

/* Narrow planes: so many of them at a time, with OX_POOL_NARROW_WORK floats; all of p but work, row and slot is given. */
bool ox_pool_is_narrow(const struct ox_pools *p);
size_t ox_pool_narrow_planes(const struct ox_pools *p);
void ox_pool_narrow(const struct ox_pools *p, size_t from, size_t n, float *work);

/* Whether windows of a row have so many taps that ox_pool_wide() makes them: of the row with its padding to out, with the floats of two
 * rows for work. */
bool ox_pool_is_wide(const struct ox_pool_axis *x);
void ox_pool_wide(const struct ox_pools *p, const float *row, float *work, float *out);

/* Pools by lines of outputs that are made without copies, of short windows. False: there is none. flat: of windows that are deep the
 * planes become one before. */
bool ox_pool_has_lines(const struct ox_pools *p, struct ox_pool_line *line, bool *flat);
/* Whether so many lines were made, whose windows have the same n rows, each `step` floats behind those of the line before; the
 * volumes of p->in have `total` floats. */
bool ox_pool_by_lines(const struct ox_pools *p, const struct ox_pool_line *line, size_t total,
                      const float *const *rows, size_t n, size_t lines, size_t step, float taps,
                      float *out);

/* Pools of planes by the processor's kernel for whole ones, of p that has no depth: whether it may be used. OX_NO_MEMORY, with the
 * message in err. */
bool ox_pool_has_planes(const struct ox_pools *p);
enum ox_status ox_pool_plane_init(struct ox_run *r, const struct ox_pools *p,
                                  struct ox_pool_plane *plane, struct ox_error *err);

#endif
