/* Pools of narrow planes: as many planes as fill a block are laid out with their padding, the first rows of all of them, then the second
 * rows, and so on. A row of outputs of all planes is made of such rows as if they were long ones, and all rows of outputs together are
 * one row, of which the columns become outputs. */
#include <math.h>
#include <string.h>

#include "kernels/sizes.h"
#include "ops/fast/fast_pool.h"

/* The greatest width and height of a plane with its padding. */
enum { WIDE = 32 };

struct plane {
    size_t width, height; /* with padding; width a multiple of the stride */
};

static struct plane plane_of(const struct ox_pools *p)
{
    const struct ox_pool_axis *y = &p->y, *x = &p->x;
    struct plane plane = {.width = x->before + x->in + x->after,
                          .height = y->before + y->in + y->after};
    const size_t span_x = ox_pool_span(x), span_y = ox_pool_span(y);
    plane.width = plane.width < span_x ? span_x : plane.width;
    plane.height = plane.height < span_y ? span_y : plane.height;
    plane.width = ox_round_up(plane.width, x->stride);
    return plane;
}

bool ox_pool_is_narrow(const struct ox_pools *p)
{
    if (p->z.in != 1 || p->z.out != 1 || p->z.kernel != 1 || p->x.in > WIDE || p->y.in > WIDE ||
        p->x.stride > WIDE)
        return false;
    const struct plane plane = plane_of(p);
    return plane.width <= WIDE && plane.height <= WIDE;
}

size_t ox_pool_narrow_planes(const struct ox_pools *p)
{
    const struct plane plane = plane_of(p);
    return OX_POOL_BLOCK / (plane.width * plane.height);
}

/* A short row: calls of memcpy() take longer. */
static inline void copy_row(float *to, const float *from, size_t n)
{
    enum { PART = 4 };
    if (n < PART) {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
        return;
    }
    for (size_t i = 0; i + PART < n; i += PART)
        memcpy(to + i, from + i, PART * sizeof *to);
    memcpy(to + n - PART, from + n - PART, PART * sizeof *to);
}

static void lay_out(const struct ox_pools *p, const struct plane *plane, size_t from, size_t n,
                    float *to)
{
    const size_t size = p->y.in * p->x.in, pitch = n * plane->width;
    const float pad = p->max ? NAN : 0; /* the largest passes over what is no number */
    if (size != plane->height * plane->width)
        for (size_t i = 0; i < plane->height * pitch; i++)
            to[i] = pad;
    const float *in = p->in + from * size;
    for (size_t i = 0; i < n; i++) {
        float *first = to + p->y.before * pitch + i * plane->width + p->x.before;
        for (size_t row = 0; row < p->y.in; row++, in += p->x.in)
            copy_row(first + row * pitch, in, p->x.in);
    }
}

/* Rows of outputs, `pitch` floats each. */
static void pool_rows(const struct ox_pools *p, size_t pitch, const float *x, float *y)
{
    const float *list[OX_POOL_TAPS];
    for (size_t oy = 0; oy < p->y.out; oy++) {
        for (size_t q = 0; q < p->y.kernel; q++)
            list[q] = x + (oy * p->y.stride + q * p->y.dilation) * pitch;
        ox_pool_reduce(p, pitch, p->y.kernel, list, y + oy * pitch);
    }
}

/* Of x, `all` floats that have been dealt by the stride: every place but those whose windows end behind it. */
static void pool_columns(const struct ox_pools *p, size_t all, const float *x, float *y)
{
    const float *list[OX_POOL_TAPS];
    const size_t stride = p->x.stride, last = (p->x.kernel - 1) * p->x.dilation / stride;
    for (size_t q = 0; q < p->x.kernel; q++) {
        const size_t at = q * p->x.dilation;
        list[q] = x + at % stride * (all / stride) + at / stride;
    }
    ox_pool_reduce(p, all / stride - last, p->x.kernel, list, y);
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

void ox_pool_narrow(const struct ox_pools *p, size_t from, size_t n, float *work)
{
    const struct plane plane = plane_of(p);
    float *laid = work, *lines = work + OX_POOL_BLOCK, *windows = lines + OX_POOL_BLOCK;
    const size_t pitch = n * plane.width, all = p->y.out * pitch, stride = p->x.stride;
    const size_t width = plane.width / stride, size = p->y.out * p->x.out;
    float *out = p->out + from * size;
    lay_out(p, &plane, from, n, laid);
    pool_rows(p, pitch, laid, lines);
    if (stride > 1)
        ox_pool_deal(lines, all, stride, all / stride, laid);
    pool_columns(p, all, stride > 1 ? laid : lines, windows);
    for (size_t i = 0; i < n; i++)
        for (size_t oy = 0; oy < p->y.out; oy++)
            copy_row(out + i * size + oy * p->x.out, windows + (oy * n + i) * width, p->x.out);
    if (!p->max)
        divide(p, n, out);
}
