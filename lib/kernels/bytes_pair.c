/* Two codes made one: how sums go in fixed point. */
#include <math.h>

#include "kernels/bytes.h"

enum { GRID_BITS = 10 };

/* Whether a side's share is first + unit * code, all of it on the grid and far from where floats would round it. */
static bool is_on_grid(const double share[256], uint8_t flip, double unit)
{
    const double most = 1 << 11, first = share[flip];
    for (int c = 0; c < 256; c++)
        if (!(fabs(share[c]) < most) || share[c ^ flip] != first + c * unit)
            return false;
    return ldexp(first, GRID_BITS) == rint(ldexp(first, GRID_BITS)) &&
           ldexp(unit, GRID_BITS) == rint(ldexp(unit, GRID_BITS));
}

void ox_bytes_pair_plan(struct ox_bytes_pair *pair)
{
    enum { MOST_BITS = 30, LEAST_BITS = 8, FACTOR = (1 << 22) - (1 << OX_BYTES_LOW_BITS) };
    const double range = 1 << 14;
    const unsigned least = pair->flip, most = least ^ 255;
    const double a = pair->scale_a != 0 ? (pair->a[most] - pair->a[least]) / 255 : 0;
    const double b = pair->scale_b != 0 ? (pair->b[most] - pair->b[least]) / 255 : 0;
    const double base =
        (pair->scale_a != 0 ? pair->a[least] : 0) + (pair->scale_b != 0 ? pair->b[least] : 0);
    const double reach = 255 * (fabs(a) + fabs(b)) / 2 + 2;
    pair->bits = 0;
    pair->exact = false;
    if (!(reach < range) || !(fabs(base) < range))
        return;
    int bits = MOST_BITS - ilogb(reach);
    while (bits >= LEAST_BITS && ldexp(fmax(fabs(a), fabs(b)), bits) >= FACTOR)
        bits--;
    if (bits < LEAST_BITS)
        return;
    const double centre = base + 255 * (a + b) / 2;
    const bool direct = fabs(centre + pair->zero) + reach < ldexp(1, 31 - bits);
    const double middle = direct ? -pair->zero : rint(centre);
    pair->by_a = (int32_t)rint(ldexp(a, bits));
    pair->by_b = (int32_t)rint(ldexp(b, bits));
    pair->start = (int32_t)(rint(ldexp(base - middle + 0.5, bits)) + OX_BYTES_UNSURE);
    pair->middle = (int32_t)middle;
    pair->bits = (unsigned)bits;
    pair->exact = bits > GRID_BITS && pair->scale_a != 0 && pair->scale_b != 0 &&
                  is_on_grid(pair->a, pair->flip, a) && is_on_grid(pair->b, pair->flip, b);
}
