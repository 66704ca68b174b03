/* Where Winograd's tiles of outputs lie. Pixels as far apart as the taps of a dilated kernel are an image of their own; tiles of
 * images that lie side by side follow one another. */
#ifndef OX_KERNELS_WINOGRAD_TILES_H
#define OX_KERNELS_WINOGRAD_TILES_H

#include "kernels/convolve.h"
#include "kernels/sizes.h"

/* Each of those images has a pixel at least. */
static inline bool ox_winograd_reaches(const struct ox_conv *c)
{
    return c->dilation[0] <= c->out[0] && c->dilation[1] <= c->out[1];
}

/* Tiles of `side` outputs along an axis, with those that hold none. */
static inline size_t ox_winograd_tiles(const struct ox_conv *c, size_t side, unsigned axis)
{
    const size_t apart = c->dilation[axis], each = (c->out[axis] + apart - 1) / apart;
    return (each + side - 1) / side * apart;
}

/* The first output of tile i of an axis. */
static inline size_t ox_winograd_at(const struct ox_conv *c, size_t side, size_t i, unsigned axis)
{
    const size_t apart = c->dilation[axis];
    return i / apart * apart * side + i % apart;
}

/* How many a tile that begins at output `at` has; where some of those images are smaller than others, 0. */
static inline size_t ox_winograd_length(const struct ox_conv *c, size_t side, size_t at,
                                        unsigned axis)
{
    const size_t apart = c->dilation[axis], end = c->out[axis];
    return at < end ? ox_least(side, (end - at + apart - 1) / apart) : 0;
}

#endif
