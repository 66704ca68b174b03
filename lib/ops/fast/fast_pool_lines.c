/* Pools by lines of outputs, straight from the rows of their windows. */
#include <string.h>

#include "ops/fast/fast_pool.h"

/* Rows of a window: of more of them the largest or the sums of each column are worth keeping. */
enum { MOST_ROWS = 4 };

/* Whether tap q of output o is no padding. */
static bool is_inside(const struct ox_pool_axis *x, size_t o, size_t q)
{
    const size_t at = o * x->stride + q * x->dilation;
    return at >= x->before && at - x->before < x->in;
}

static bool all_inside(const struct ox_pool_axis *x, size_t o)
{
    for (size_t q = 0; q < x->kernel; q++)
        if (!is_inside(x, o, q))
            return false;
    return true;
}

bool ox_pool_has_lines(const struct ox_pools *p, struct ox_pool_line *line, bool *flat)
{
    const struct ox_pool_axis *x = &p->x;
    *flat = p->z.kernel > 1 && p->z.kernel * p->y.kernel > MOST_ROWS;
    if (p->y.kernel > MOST_ROWS || x->kernel < 2 || x->kernel > OX_POOL_LINE_TAPS ||
        x->stride < 1 || x->stride > 2 || !p->t->pool_lines[p->max][x->kernel - 2][x->stride - 1])
        return false;
    const size_t last = x->out > OX_POOL_LINE ? x->out - OX_POOL_LINE : 0;
    for (size_t o = OX_POOL_LINE; o < last; o++)
        if (!all_inside(x, o))
            return false;
    *line = (struct ox_pool_line){.out = x->out,
                                  .dilation = x->dilation,
                                  .before = x->before,
                                  .taps = p->max ? NULL : p->counts + p->z.out + p->y.out};
    for (size_t i = 0; i < OX_POOL_LINE; i++) {
        line->some[i] = i < x->out ? -1 : 0;
        for (size_t q = 0; q < x->kernel; q++) {
            line->edges[0][q][i] = i < x->out && is_inside(x, i, q) ? -1 : 0;
            line->edges[1][q][i] = i < x->out && is_inside(x, last + i, q) ? -1 : 0;
        }
    }
    return true;
}

bool ox_pool_by_lines(const struct ox_pools *p, const struct ox_pool_line *line, size_t total,
                      const float *const *rows, size_t n, size_t lines, size_t step, float taps,
                      float *out)
{
    const struct ox_pool_axis *x = &p->x;
    const size_t whole = x->out > OX_POOL_LINE ? x->out : OX_POOL_LINE;
    const size_t reach = (lines - 1) * step + whole * x->stride + (x->kernel - 1) * x->dilation;
    /* What is read beside the rows must be the tensor's. */
    return (size_t)(rows[0] - p->in) >= x->before &&
           (size_t)(rows[n - 1] - p->in) + reach <= total + x->before &&
           p->t->pool_lines[p->max][x->kernel - 2][x->stride - 1](line, rows, n, lines, step, taps,
                                                                  out);
}
