/* Convolution to few output channels, of which a vector would hold but a part: neighbouring outputs are columns of one product, by a
 * kernel's row that is as long as what they read together, with zeros where an output does not reach. */
#include <stdint.h>
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

double ox_abreast_cost(const struct ox_compute *t, const struct ox_abreast *a, size_t abreast)
{
    const double vectors = abreast * a->cols > t->width ? 1.15 : 1;
    return vectors * (double)(a->taps + (abreast - 1) * a->step) / (double)abreast;
}

size_t ox_abreast_best(const struct ox_compute *t, const struct ox_abreast *a)
{
    size_t best = 1;
    for (size_t s = 2; s * a->cols <= t->nr; s++)
        if (ox_abreast_cost(t, a, s) < ox_abreast_cost(t, a, best))
            best = s;
    return best;
}

static struct ox_abreast columns_of(const struct ox_conv *c)
{
    return (struct ox_abreast){c->out_channels, c->kernel[1], c->stride[1]};
}

size_t ox_conv_abreast(const struct ox_compute *t, const struct ox_conv *c)
{
    const struct ox_abreast a = columns_of(c);
    return ox_abreast_best(t, &a);
}

bool ox_conv_abreast_fits(const struct ox_compute *t, const struct ox_conv *c)
{
    const double gain = 0.8;
    const size_t reach = ox_conv_height(c);
    if (c->transposed || c->planar || c->groups != 1 || c->dilation[1] != 1 ||
        c->out_channels == 0 || c->out_pixel != c->out_channels || !ox_conv_lines_fit(c))
        return false;
    const struct ox_abreast a = columns_of(c);
    const size_t abreast = ox_abreast_best(t, &a);
    return abreast > 1 && ox_abreast_cost(t, &a, abreast) < gain * ox_abreast_cost(t, &a, 1) &&
           c->out[1] >= 2 * abreast &&
           (c->in[1] + 2 * c->pad[1]) * c->in_channels * reach <= OX_CONV_NARROW_FLOATS;
}

size_t ox_conv_abreast_packed(const struct ox_compute *t, const struct ox_conv *c)
{
    const size_t taps = c->kernel[0] * ox_conv_abreast_taps(c, ox_conv_abreast(t, c));
    return c->in_channels > SIZE_MAX / 4 / taps / t->nr ? SIZE_MAX : taps * c->in_channels * t->nr;
}

void ox_conv_abreast_pack(const struct ox_compute *t, const struct ox_conv *c, const void *weights,
                          enum ox_weight_type type, float *out)
{
    const size_t abreast = ox_conv_abreast(t, c), across = ox_conv_abreast_taps(c, abreast);
    const size_t n = c->out_channels, k = c->in_channels, taps = c->kernel[0] * c->kernel[1];
    memset(out, 0, c->kernel[0] * across * k * t->nr * sizeof *out);
    for (size_t s = 0; s < abreast; s++)
        for (size_t r = 0; r < c->kernel[0]; r++)
            for (size_t q = 0; q < c->kernel[1]; q++)
                for (size_t u = 0; u < k; u++)
                    for (size_t i = 0; i < n; i++)
                        out[((r * across + q + s * c->stride[1]) * k + u) * t->nr + s * n + i] =
                            ox_conv_weight(t, weights, type,
                                           (i * k + u) * taps + r * c->kernel[1] + q);
}
