/* Sizes of Winograd's filtering of floats: of 3x3 at stride 1 and 2, and of three taps of a line. Larger kernels are cut into such
 * pieces, of which the last are filled up with zeros: one piece's products are added to another's, as those of more channels are. */
#ifndef OX_KERNELS_WINOGRAD_SHAPE_H
#define OX_KERNELS_WINOGRAD_SHAPE_H

#include "kernels/compute.h"
#include "kernels/winograd_tiles.h"

static inline bool ox_winograd_strided(const struct ox_conv *c)
{
    return c->stride[0] == 2;
}

static inline bool ox_winograd_is_line(const struct ox_conv *c)
{
    return c->kernel[0] == 1 || c->kernel[1] == 1;
}

enum { OX_WINOGRAD_TAPS = 3 };

/* Pieces of the kernel along an axis. */
static inline size_t ox_winograd_cuts(const struct ox_conv *c, unsigned axis)
{
    return (c->kernel[axis] + OX_WINOGRAD_TAPS - 1) / OX_WINOGRAD_TAPS;
}

/* All pieces of the kernel. */
static inline size_t ox_winograd_all_cuts(const struct ox_conv *c)
{
    return ox_winograd_cuts(c, 0) * ox_winograd_cuts(c, 1);
}

/* Its taps of piece `cut` along an axis: of the last one fewer, and the rest are zeros. */
static inline size_t ox_winograd_taps(const struct ox_conv *c, size_t cut, unsigned axis)
{
    const size_t wide = ox_winograd_cuts(c, 1), at = axis ? cut % wide : cut / wide;
    return ox_least(OX_WINOGRAD_TAPS, c->kernel[axis] - at * OX_WINOGRAD_TAPS);
}

/* Those of all pieces before it: pieces of a row of them follow one another. */
static inline size_t ox_winograd_taps_before(const struct ox_conv *c, size_t cut)
{
    const size_t wide = ox_winograd_cuts(c, 1), row = cut / wide * OX_WINOGRAD_TAPS;
    return row * c->kernel[1] + cut % wide * OX_WINOGRAD_TAPS * ox_winograd_taps(c, cut, 0);
}

/* What is summed at a point. */
static inline size_t ox_winograd_depth(const struct ox_conv *c)
{
    return c->in_channels * ox_winograd_all_cuts(c);
}

/* Outputs of a tile along an axis. */
static inline size_t ox_winograd_side(const struct ox_conv *c, unsigned tile, unsigned axis)
{
    return c->kernel[axis] == 1 ? 1 : tile;
}

/* Pixels that a tile of outputs reads along an axis, and points. */
static inline unsigned ox_winograd_reach(const struct ox_conv *c, unsigned tile, unsigned axis)
{
    return c->kernel[axis] == 1     ? 1
           : ox_winograd_strided(c) ? 2 * tile + 1
                                    : tile + OX_WINOGRAD_TAPS - 1;
}

static inline size_t ox_winograd_points(const struct ox_conv *c, unsigned tile)
{
    return (size_t)ox_winograd_reach(c, tile, 0) * ox_winograd_reach(c, tile, 1);
}

/* Points along an axis of which the weights differ: at stride 2 the last are of one tap. */
static inline unsigned ox_winograd_weight_reach(const struct ox_conv *c, unsigned tile,
                                                unsigned axis)
{
    return ox_winograd_strided(c) ? tile + 2 : ox_winograd_reach(c, tile, axis);
}

/* Different weights of a pair of channels. */
static inline size_t ox_winograd_pieces(const struct ox_conv *c, unsigned tile)
{
    return (size_t)ox_winograd_weight_reach(c, tile, 0) * ox_winograd_weight_reach(c, tile, 1);
}

/* Which of the packed weights belong to point p. */
static inline size_t ox_winograd_weights_of(const struct ox_conv *c, unsigned tile, size_t p)
{
    const size_t n = ox_winograd_reach(c, tile, 1), most = ox_winograd_weight_reach(c, tile, 1);
    const size_t rows = ox_winograd_weight_reach(c, tile, 0);
    return ox_least(p / n, rows - 1) * most + ox_least(p % n, most - 1);
}

/* Of the microkernels in their table. */
static inline unsigned ox_winograd_form(const struct ox_conv *c, unsigned tile)
{
    return ox_winograd_strided(c)   ? OX_WINOGRAD_STRIDED
           : ox_winograd_is_line(c) ? OX_WINOGRAD_LINE
           : tile == 4              ? OX_WINOGRAD_4
                                    : OX_WINOGRAD_2;
}

#endif
