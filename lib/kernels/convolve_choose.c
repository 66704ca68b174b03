/* Which way is fastest for a shape. */
#include <math.h>

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"
#include "kernels/winograd_shape.h"

static bool pointwise(const struct ox_conv *c)
{
    bool gaps = c->in_batch && c->in_batch != c->in[0] * c->in[1] * c->in_pixel;
    gaps = gaps || (c->out_batch && c->out_batch != c->out[0] * c->out[1] * c->out_pixel);
    return c->groups == 1 && !gaps && c->kernel[0] == 1 && c->kernel[1] == 1 && c->stride[0] == 1 &&
           c->stride[1] == 1 && c->pad[0] == 0 && c->pad[1] == 0 && c->in[0] == c->out[0] &&
           c->in[1] == c->out[1];
}

enum { LEAST_OUTPUTS = 16 };

static bool winograd_serves(const struct ox_conv *c, size_t stride)
{
    return c->groups == 1 && c->stride[0] == stride && c->stride[1] == stride &&
           c->kernel[0] <= OX_CONV_WINOGRAD_TAPS_MOST &&
           c->kernel[0] * c->kernel[1] <= OX_CONV_WINOGRAD_TAPS_MOST && ox_winograd_reaches(c) &&
           c->in_channels >= 16 && c->out_channels >= 8;
}

/* 3x3 alone at stride 2, and not dilated then. */
static bool winograd(const struct ox_conv *c, size_t stride)
{
    const bool small = c->kernel[0] == OX_WINOGRAD_TAPS && c->kernel[1] == OX_WINOGRAD_TAPS;
    return winograd_serves(c, stride) && c->kernel[0] >= OX_WINOGRAD_TAPS &&
           c->kernel[1] >= OX_WINOGRAD_TAPS &&
           (stride == 1 || (small && c->dilation[0] == 1 && c->dilation[1] == 1));
}

/* What `spots` products an image at each of `points` cost, in multiplications for a pair of channels, if weights cost as much as
 * `weights` of them and the transforms of data as much as `more` channels. */
static double way_cost(const struct ox_conv *c, double points, double spots, double more,
                       double weights)
{
    const double channels =
        (double)(c->in_channels < c->out_channels ? c->in_channels : c->out_channels);
    return points * (double)c->batch * spots * (1 + more / channels) + weights;
}

/* Weights come from memory once: as many multiplications are done in the time that a float takes; and in that which it takes to make
 * one of Winograd's beforehand. */
enum { LOAD = 10, TRANSFORM = 120 };

/* Weights of a pair of channels that are transformed as they are used, `each` time that OX_CONV_LATE_TILES go by. */
static double late_cost(double each, double tiles)
{
    return 9 * LOAD + each * (1 + tiles / OX_CONV_LATE_TILES);
}

/* Winograd's weights take 16 or 36 floats where 9 were. From so many pairs of channels on, where they would not stay in L2 until the
 * next run, they are transformed as they are used, if the transformed input, which then is in memory whole, has no more than so many
 * floats. Of fewer pairs that pays where no panel is transformed twice, or where there is no next run. */
enum { LATE_PAIRS = 8192, LATE_PAIRS_AT_ONCE = 4096, LATE_FLOATS = 1 << 21 };

/* Those of lines and of larger kernels that are made beforehand: so many floats at most, or as many as input and output have. */
static bool is_light(const struct ox_conv *c, unsigned tile)
{
    enum { FLOATS = 1 << 19 };
    const double pairs = (double)c->in_channels * (double)c->out_channels;
    const double floats = pairs * (double)(ox_winograd_pieces(c, tile) * ox_winograd_all_cuts(c));
    const double maps = (double)(c->in[0] * c->in[1]) * (double)c->in_channels +
                        (double)(c->out[0] * c->out[1]) * (double)c->out_channels;
    return floats <= FLOATS || floats <= (double)c->batch * maps;
}

struct winograd_way {
    enum ox_conv_way way;
    double cost;
};

/* Products of a pair of channels at a tile's points: the last along an axis is left out of a piece of fewer taps. */
static double late_points(const struct ox_conv *c, unsigned tile)
{
    double points = 1;
    for (unsigned axis = 0; axis < 2; axis++) {
        const size_t all = ox_winograd_cuts(c, axis) * ox_winograd_reach(c, tile, axis);
        const bool part = c->kernel[axis] > 1 && c->kernel[axis] % OX_WINOGRAD_TAPS > 0;
        points *= (double)(all - part);
    }
    return points;
}

/* Of a line or of pieces of a kernel, weights made beforehand or late, of which two dimensions go by F(2,3): the error of the sums of so
 * many pieces is that of the direct one. Outputs that are so few might be summed without packing weights that are used once. */
static struct winograd_way pieces_by(const struct ox_compute *t, const struct ox_conv *c,
                                     unsigned tile, double more, unsigned may)
{
    enum { PORTION_LEAST = 24 };
    const bool line = ox_winograd_is_line(c), once = may & OX_CONV_PACKED_FOR_ONE_RUN;
    const double spots = (double)ox_winograd_tiles(c, ox_winograd_side(c, tile, 0), 0) *
                         (double)ox_winograd_tiles(c, ox_winograd_side(c, tile, 1), 1);
    const double cuts = (double)ox_winograd_all_cuts(c), tiles = (double)c->batch * spots;
    if (is_light(c, tile)) {
        const double points = (double)ox_winograd_points(c, tile) * cuts;
        const double weights = points * (LOAD + (once ? TRANSFORM : 0));
        return (struct winograd_way){line        ? OX_CONV_WINOGRAD_LINE
                                     : tile == 4 ? OX_CONV_WINOGRAD4
                                                 : OX_CONV_WINOGRAD2,
                                     way_cost(c, points, spots, more, weights)};
    }
    const double portion = (double)ox_conv_winograd_late_portion(t, c, tile);
    if (t->late_line == 0 || (tile == 4 && !line) || portion < PORTION_LEAST ||
        (once && ox_conv_reads_stored(t, OX_CONV_INDIRECT, c)))
        return (struct winograd_way){OX_CONV_INDIRECT, INFINITY};
    const double each = line ? t->late_line : t->late_weights[0];
    const double weights =
        (double)(c->kernel[0] * c->kernel[1] * LOAD) + cuts * each * ceil(tiles / portion);
    return (struct winograd_way){line ? OX_CONV_WINOGRAD_LINE_LATE : OX_CONV_WINOGRAD2_LATE,
                                 way_cost(c, late_points(c, tile), spots, more, weights)};
}

/* Of tiles of 2 or 4; partial ones at the edges are counted whole. */
static struct winograd_way winograd_by(const struct ox_compute *t, const struct ox_conv *c,
                                       unsigned tile, unsigned may)
{
    const bool four = tile == 4;
    const double more = four ? 14 : 16;
    if (ox_winograd_all_cuts(c) > 1)
        return pieces_by(t, c, tile, more, may);
    const double points = (double)((tile + 2) * (tile + 2));
    const double spots =
        (double)ox_winograd_tiles(c, tile, 0) * (double)ox_winograd_tiles(c, tile, 1);
    const double tiles = (double)c->batch * spots;
    const double late = late_cost(t->late_weights[four], tiles);
    const bool once = may & OX_CONV_PACKED_FOR_ONE_RUN;
    const double before = points * (LOAD + (once ? TRANSFORM : 0));
    const double least = once ? 0 : tiles <= OX_CONV_LATE_TILES ? LATE_PAIRS_AT_ONCE : LATE_PAIRS;
    if ((double)c->in_channels * (double)c->out_channels >= least &&
        points * tiles * (double)c->in_channels <= LATE_FLOATS)
        return (struct winograd_way){four ? OX_CONV_WINOGRAD4_LATE : OX_CONV_WINOGRAD2_LATE,
                                     way_cost(c, points, spots, more, late)};
    return (struct winograd_way){four ? OX_CONV_WINOGRAD4 : OX_CONV_WINOGRAD2,
                                 way_cost(c, points, spots, more, before)};
}

/* Stride 2: 36 different weights at 81 points. They take much memory, so that those of many channels are transformed as they are used;
 * few tiles do not pay for reading them, from further away than those of stride 1. OX_CONV_INDIRECT where none of it pays. */
static enum ox_conv_way winograd_strided(const struct ox_compute *t, const struct ox_conv *c,
                                         unsigned may)
{
    enum { PAIRS_MOST = 1 << 16, TILES_LEAST = 24, LOAD_FAR = 28 };
    const double spots = (double)(((c->out[0] + 3) / 4) * ((c->out[1] + 3) / 4));
    const double tiles = (double)c->batch * spots;
    const bool fits = 81 * tiles * (double)c->in_channels <= LATE_FLOATS;
    const bool many = c->in_channels * c->out_channels > PAIRS_MOST;
    const bool late = many || (fits && may & OX_CONV_PACKED_FOR_ONE_RUN);
    const double weights =
        late ? late_cost(t->late_weights[1], tiles)
             : 36 * (LOAD_FAR + (may & OX_CONV_PACKED_FOR_ONE_RUN ? TRANSFORM : 0));
    if (t->strided_transforms == 0 || !(may & OX_CONV_MAY_WINOGRAD4) || !winograd(c, 2) ||
        tiles < TILES_LEAST || (late && !fits) ||
        way_cost(c, 81, spots, t->strided_transforms, weights) >=
            way_cost(c, 9, (double)(c->out[0] * c->out[1]), 0, 9 * LOAD) * 0.9)
        return OX_CONV_INDIRECT;
    return late ? OX_CONV_WINOGRAD_STRIDED_LATE : OX_CONV_WINOGRAD_STRIDED;
}

/* Taps of a pair of channels, in multiplications of Winograd's products: those by triples of copied rows (triples.h) take less time. Weights
 * that serve one run would all be packed for that, where those of a late transform are read as they lie. */
static double direct_points(const struct ox_compute *t, const struct ox_conv *c, unsigned may)
{
    const double taps = (double)(c->kernel[0] * c->kernel[1]), by_triples = 0.72;
    const bool once = may & OX_CONV_PACKED_FOR_ONE_RUN;
    return !once && ox_conv_gathers_parts(t, c) ? by_triples * taps : taps;
}

/* Several taps of a line. */
static enum ox_conv_way winograd_line(const struct ox_compute *t, const struct ox_conv *c,
                                      unsigned may)
{
    enum { TILE = 4, MORE = 12 };
    const size_t taps = c->kernel[0] * c->kernel[1], outputs = c->out[0] * c->out[1];
    if (!(may & OX_CONV_MAY_WINOGRAD4) || !winograd_serves(c, 1) || !ox_winograd_is_line(c) ||
        taps < OX_WINOGRAD_TAPS || c->batch * outputs < LEAST_OUTPUTS)
        return OX_CONV_INDIRECT;
    const struct winograd_way by = pieces_by(t, c, TILE, MORE, may);
    const double direct = way_cost(c, (double)taps, (double)outputs, 0, (double)taps * LOAD);
    return by.cost < direct * 0.9 ? by.way : OX_CONV_INDIRECT;
}

/* Output channels for each input channel of a depthwise convolution, at most: it copies its input as often. */
enum { REPEATED_MOST = 4 };

/* Cycles for each output of a convolution to few channels, as ox_abreast_cost() counts. */
static double few_cost(const struct ox_compute *t, const struct ox_conv *c)
{
    const struct ox_abreast a = {c->out_channels, c->kernel[1], c->stride[1]};
    const size_t abreast = ox_conv_abreast_fits(t, c) ? ox_conv_abreast(t, c) : 1;
    return ox_abreast_cost(t, &a, abreast) * (double)(c->kernel[0] * c->in_channels);
}

static enum ox_conv_way choose_transposed(const struct ox_compute *t, const struct ox_conv *c,
                                          unsigned may)
{
    const bool reorders = may & OX_CONV_MAY_WINOGRAD2;
    const bool abreast = reorders && ox_conv_joined_abreast_fits(t, c);
    const bool joined = abreast || ox_conv_joined_fits(t, c);
    const double cycles = joined ? ox_conv_joined_cost(t, c, abreast)
                                 : (double)(c->kernel[0] * c->kernel[1] * c->in_channels);
    return reorders && ox_conv_columns_fits(t, c, cycles) ? OX_CONV_COLUMNS
           : abreast                                      ? OX_CONV_JOINED_ABREAST
           : joined                                       ? OX_CONV_JOINED
           : ox_conv_spread_fits(c)                       ? OX_CONV_SPREAD
                                                          : OX_CONV_INDIRECT;
}

enum ox_conv_way ox_conv_choose(const struct ox_compute *t, const struct ox_conv *c, unsigned may)
{
    if (c->transposed)
        return choose_transposed(t, c, may);
    if (c->planar)
        return OX_CONV_PADDED;
    if (pointwise(c))
        return OX_CONV_POINTWISE;
    if (c->groups > 1 && c->groups == c->in_channels && c->out_channels % c->groups == 0 &&
        c->out_channels <= REPEATED_MOST * c->in_channels && c->kernel[0] <= OX_CONV_DEPTHWISE_ROWS)
        return OX_CONV_DEPTHWISE;
    if (may & OX_CONV_MAY_WINOGRAD2 && ox_conv_turned_fits(t, c))
        return OX_CONV_TURNED;
    if (may & OX_CONV_MAY_WINOGRAD2 && ox_conv_columns_fits(t, c, few_cost(t, c)))
        return OX_CONV_COLUMNS;
    if (winograd(c, 1) && c->batch * c->out[0] * c->out[1] >= LEAST_OUTPUTS) {
        const size_t taps = c->kernel[0] * c->kernel[1], outputs = c->out[0] * c->out[1];
        double least =
            way_cost(c, direct_points(t, c, may), (double)outputs, 0, (double)taps * LOAD) * 0.9;
        enum ox_conv_way way = OX_CONV_INDIRECT;
        for (unsigned tile = 2; tile <= 4; tile += 2) {
            const struct winograd_way by = winograd_by(t, c, tile, may);
            if ((may & (tile == 2 ? OX_CONV_MAY_WINOGRAD2 : OX_CONV_MAY_WINOGRAD4)) &&
                by.cost < least) {
                least = by.cost;
                way = by.way;
            }
        }
        if (way != OX_CONV_INDIRECT)
            return way;
    }
    if (may & OX_CONV_MAY_WINOGRAD2 && ox_conv_abreast_fits(t, c))
        return OX_CONV_ABREAST;
    const enum ox_conv_way line = winograd_line(t, c, may);
    if (line != OX_CONV_INDIRECT)
        return line;
    const enum ox_conv_way strided = winograd_strided(t, c, may);
    if (strided != OX_CONV_INDIRECT)
        return strided;
    return (c->groups > 1 ? ox_conv_groups_fits(c) : ox_conv_narrow_fits(t, c)) ? OX_CONV_PADDED
                                                                                : OX_CONV_INDIRECT;
}
