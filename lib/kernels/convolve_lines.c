/* What convolutions by lines share: how sums of channels by themselves begin and end, and lines between their zeros. */
#include <math.h>
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/inline.h"
#include "kernels/sizes.h"

/* The bias is where sums begin. */
static bool is_bare(const struct ox_epilogue *end)
{
    return (!end->residual || end->residual_last) && end->scale == 0;
}

bool ox_conv_depthwise_begin(struct ox_depthwise *d, const struct ox_epilogue *end, size_t first)
{
    const bool bare = is_bare(end), clip = bare && end->act == OX_ACT_CLIP;
    d->bias = bare && end->col_bias ? end->col_bias + first : NULL;
    d->lo = clip ? end->lo : -INFINITY;
    d->hi = clip ? end->hi : INFINITY;
    return !end->residual && (clip || (bare && end->act == OX_ACT_NONE));
}

void ox_conv_depthwise_end(const struct ox_compute *t, const struct ox_depthwise *d,
                           const struct ox_epilogue *end, size_t row, size_t first, size_t n,
                           float *out)
{
    struct ox_epilogue own = ox_end_at(end, row, first);
    own.row_bias = NULL;
    if (is_bare(end) && end->act != OX_ACT_LEAKY) {
        ox_end_rows(t, n, d->channels, out, d->out_pixel, &own);
        return;
    }
    own.col_bias = is_bare(end) ? NULL : own.col_bias;
    ox_end_all(t, n, d->channels, out, d->out_pixel, &own);
}

INLINE void copy_each(size_t n, const size_t channels, const float *restrict from,
                      size_t from_pixel, float *restrict to, size_t to_pixel)
{
    for (size_t x = 0; x < n; x++)
        memcpy(to + x * to_pixel, from + x * from_pixel, channels * sizeof *to);
}

void ox_conv_copy_pixels(size_t n, size_t channels, const float *from, size_t from_pixel, float *to,
                         size_t to_pixel)
{
    size_t i = 0;
    for (; i + 16 <= channels; i += 16)
        copy_each(n, 16, from + i, from_pixel, to + i, to_pixel);
    for (; i + 8 <= channels; i += 8)
        copy_each(n, 8, from + i, from_pixel, to + i, to_pixel);
    for (; i + 4 <= channels; i += 4)
        copy_each(n, 4, from + i, from_pixel, to + i, to_pixel);
    for (; i + 2 <= channels; i += 2)
        copy_each(n, 2, from + i, from_pixel, to + i, to_pixel);
    for (; i < channels; i++)
        copy_each(n, 1, from + i, from_pixel, to + i, to_pixel);
}

void ox_conv_frame_pixels(size_t framed, size_t before, size_t n, size_t channels,
                          const float *from, size_t from_pixel, float *to)
{
    before = ox_least(before, framed);
    n = ox_least(n, framed - before);
    memset(to, 0, before * channels * sizeof *to);
    memset(to + (before + n) * channels, 0, (framed - before - n) * channels * sizeof *to);
    to += before * channels;
    if (from_pixel == channels)
        memcpy(to, from, n * channels * sizeof *to);
    else
        ox_conv_copy_pixels(n, channels, from, from_pixel, to, channels);
}
