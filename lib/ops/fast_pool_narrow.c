/* Pools of narrow planes: as many planes as fill a block are laid out with their padding one after another, and windows are reduced
 * at every place of the block as if it were one long row; the places of outputs are picked from it. */
#include <math.h>
#include <string.h>

#include "ops/fast_pool.h"

/* The greatest width of a plane with its padding. */
enum { WIDE = 24 };

struct plane {
    size_t width, height, floats; /* with padding */
    size_t reach;                 /* from a window's first place to its last */
};

static struct plane plane_of(const struct ox_pools *p)
{
    const struct ox_pool_axis *y = &p->y, *x = &p->x;
    struct plane plane = {.width = x->before + x->in + x->after,
                          .height = y->before + y->in + y->after};
    const size_t span_x = ox_pool_span(x), span_y = ox_pool_span(y);
    plane.width = plane.width < span_x ? span_x : plane.width;
    plane.height = plane.height < span_y ? span_y : plane.height;
    plane.floats = plane.width * plane.height;
    plane.reach = (y->kernel - 1) * y->dilation * plane.width + (x->kernel - 1) * x->dilation;
    return plane;
}

bool ox_pool_is_narrow(const struct ox_pools *p)
{
    if (p->z.in != 1 || p->z.out != 1 || p->z.kernel != 1 || p->x.in > WIDE || p->y.in > WIDE)
        return false;
    const struct plane plane = plane_of(p);
    return plane.width <= WIDE && plane.height <= WIDE &&
           p->x.stride * p->y.stride <= 4; /* so many places are worked out for one */
}

size_t ox_pool_narrow_planes(const struct ox_pools *p)
{
    return OX_POOL_BLOCK / plane_of(p).floats;
}

static void lay_out(const struct ox_pools *p, const struct plane *plane, size_t from, size_t n,
                    float *to)
{
    const size_t size = p->y.in * p->x.in;
    const float *in = p->in + from * size;
    if (plane->floats == size) {
        memcpy(to, in, n * size * sizeof *to);
        return;
    }
    const float pad = p->max ? NAN : 0; /* the largest passes over what is no number */
    for (size_t i = 0; i < n * plane->floats; i++)
        to[i] = pad;
    for (size_t i = 0; i < n; i++)
        for (size_t row = 0; row < p->y.in; row++, in += p->x.in)
            memcpy(to + i * plane->floats + (p->y.before + row) * plane->width + p->x.before, in,
                   p->x.in * sizeof *to);
}

/* `kernel` taps `step` floats apart, at each of n places. */
static void slide(const struct ox_pools *p, size_t kernel, size_t step, size_t n, const float *x,
                  float *y)
{
    const float *list[OX_POOL_TAPS];
    for (size_t q = 0; q < kernel; q++)
        list[q] = x + q * step;
    ox_pool_reduce(p, n, kernel, list, y);
}

static bool all_are(const float *x, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (x[i] != x[0])
            return false;
    return true;
}

/* Sums to averages, n planes of them. */
static void divide(const struct ox_pools *p, size_t n, float *y)
{
    const float *lines = p->counts + p->z.out, *columns = lines + p->y.out;
    const size_t size = p->y.out * p->x.out;
    float by[WIDE * WIDE];
    if (all_are(lines, p->y.out) && all_are(columns, p->x.out)) {
        by[0] = p->counts[0] * lines[0] * columns[0];
        ox_fast_rows()->binary[OX_BINARY_DIV][OX_ROW_RIGHT_ONE](n * size, y, by, y);
        return;
    }
    for (size_t oy = 0; oy < p->y.out; oy++)
        for (size_t ox = 0; ox < p->x.out; ox++)
            by[oy * p->x.out + ox] = p->counts[0] * lines[oy] * columns[ox];
    for (size_t i = 0; i < n; i++, y += size)
        ox_fast_rows()->binary[OX_BINARY_DIV][OX_ROW_BOTH](size, y, by, y);
}

static void pick(const struct ox_pools *p, const struct plane *plane, const float *x, float *y)
{
    for (size_t oy = 0; oy < p->y.out; oy++, y += p->x.out) {
        const float *row = x + oy * p->y.stride * plane->width;
        for (size_t ox = 0; ox < p->x.out; ox++)
            y[ox] = row[ox * p->x.stride];
    }
}

void ox_pool_narrow(const struct ox_pools *p, size_t from, size_t n, float *work)
{
    const struct plane plane = plane_of(p);
    float *laid = work, *lines = work + OX_POOL_BLOCK, *windows = lines + OX_POOL_BLOCK;
    const size_t places = n * plane.floats - plane.reach, size = p->y.out * p->x.out;
    const size_t across = (p->x.kernel - 1) * p->x.dilation;
    float *out = p->out + from * size;
    lay_out(p, &plane, from, n, laid);
    slide(p, p->y.kernel, p->y.dilation * plane.width, places + across, laid, lines);
    slide(p, p->x.kernel, p->x.dilation, places, lines, windows);
    for (size_t i = 0; i < n; i++)
        pick(p, &plane, windows + i * plane.floats, out + i * size);
    if (!p->max)
        divide(p, n, out);
}
