/* Weights in the type that they are stored in, as floats. */
#include "common/forget.h"
#include "kernels/convolve_impl.h"
#include "kernels/dense_impl.h"

void ox_widen(const struct ox_compute *t, enum ox_weight_type type, size_t n, const void *x,
              float *y)
{
    if (type == OX_WEIGHT_F16)
        t->widen_f16(n, x, y);
    else
        t->widen_bf16(n, x, y);
}

float ox_conv_weight(const struct ox_compute *t, const void *weights, enum ox_weight_type type,
                     size_t i)
{
    float out;
    if (type == OX_WEIGHT_F32)
        return ((const float *)weights)[i];
    ox_widen(t, type, 1, (const uint16_t *)weights + i, &out);
    return out;
}

void ox_conv_give_back(const struct ox_conv *c, const void *weights, enum ox_weight_type type,
                       size_t first, size_t n)
{
    enum { LARGE = 1 << 19 };
    const size_t each =
        c->kernel[0] * c->kernel[1] * (c->in_channels / c->groups) * ox_weight_bytes(type);
    if (each > LARGE / c->out_channels)
        ox_mapping_forget((const char *)weights + first * each, n * each);
}
