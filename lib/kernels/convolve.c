#include "kernels/convolve.h"

#include <math.h>

#include "common/compiler.h"
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
    if (ox_winograd_all_cuts(c) > 1)
        return pieces_by(t, c, tile, four ? 14 : 16, may);
    const double points = (double)((tile + 2) * (tile + 2));
    const double spots =
        (double)ox_winograd_tiles(c, tile, 0) * (double)ox_winograd_tiles(c, tile, 1);
    const double tiles = (double)c->batch * spots, more = four ? 14 : 16;
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
    if (may & OX_CONV_MAY_WINOGRAD2 && t->turns_groups && ox_conv_turned_fits(c))
        return OX_CONV_TURNED;
    if (may & OX_CONV_MAY_WINOGRAD2 && ox_conv_columns_fits(t, c, few_cost(t, c)))
        return OX_CONV_COLUMNS;
    if (winograd(c, 1) && c->batch * c->out[0] * c->out[1] >= LEAST_OUTPUTS) {
        const size_t taps = c->kernel[0] * c->kernel[1], outputs = c->out[0] * c->out[1];
        double least = way_cost(c, (double)taps, (double)outputs, 0, (double)taps * LOAD) * 0.9;
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
    if (c->groups > 1 ? ox_conv_groups_fits(c) : ox_conv_narrow_fits(t, c))
        return OX_CONV_PADDED;
    return winograd_strided(t, c, may);
}

size_t ox_conv_packed(const struct ox_compute *t, enum ox_conv_way way, const struct ox_conv *c)
{
    size_t taps, all;
    if (OX_MUL_OVERFLOWS(c->kernel[0], c->kernel[1], &taps))
        return SIZE_MAX;
    switch (way) {
    case OX_CONV_POINTWISE:
        return ox_dense_packed(t, c->in_channels, c->out_channels);
    case OX_CONV_DEPTHWISE:
    case OX_CONV_TURNED:
    case OX_CONV_SPREAD:
        if (OX_MUL_OVERFLOWS(taps, c->in_channels / c->groups, &taps))
            return SIZE_MAX;
        return OX_MUL_OVERFLOWS(taps, c->out_channels, &all) ? SIZE_MAX : all;
    case OX_CONV_ABREAST:
        return ox_conv_abreast_packed(t, c);
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
        return ox_conv_joined_packed(t, c, way == OX_CONV_JOINED_ABREAST);
    case OX_CONV_COLUMNS:
        return ox_conv_columns_packed(t, c);
    case OX_CONV_WINOGRAD_LINE:
        return ox_conv_winograd_packed(t, c, 4);
    case OX_CONV_WINOGRAD2:
        return ox_conv_winograd_packed(t, c, 2);
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
        return ox_conv_winograd_packed(t, c, 4);
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD2_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
    case OX_CONV_INDIRECT:
    case OX_CONV_PADDED:
        break;
    }
    return ox_conv_indirect_packed(t, c);
}

void ox_conv_pack(const struct ox_compute *t, struct ox_env *env, enum ox_conv_way way,
                  const struct ox_conv *c, const void *weights, enum ox_weight_type type,
                  float *out)
{
    switch (way) {
    case OX_CONV_POINTWISE:
        ox_dense_pack(t, env, c->in_channels, c->out_channels, weights, type, 1, c->in_channels,
                      out);
        break;
    case OX_CONV_DEPTHWISE:
        ox_conv_depthwise_pack(t, c, weights, type, out);
        break;
    case OX_CONV_TURNED:
        ox_conv_turned_pack(t, c, weights, type, out);
        break;
    case OX_CONV_ABREAST:
        ox_conv_abreast_pack(t, c, weights, type, out);
        break;
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
        ox_conv_joined_pack(t, c, way == OX_CONV_JOINED_ABREAST, weights, type, out);
        break;
    case OX_CONV_SPREAD:
        ox_conv_spread_pack(t, c, weights, type, out);
        break;
    case OX_CONV_COLUMNS:
        ox_conv_columns_pack(t, c, weights, type, out);
        break;
    case OX_CONV_WINOGRAD_LINE:
        ox_conv_winograd_pack(t, env, c, 4, weights, type, out);
        break;
    case OX_CONV_WINOGRAD2:
        ox_conv_winograd_pack(t, env, c, 2, weights, type, out);
        break;
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
        ox_conv_winograd_pack(t, env, c, 4, weights, type, out);
        break;
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD2_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
        ox_conv_winograd_late_pack(t, env, c, weights, type, out);
        break;
    case OX_CONV_INDIRECT:
    case OX_CONV_PADDED:
        ox_conv_indirect_pack(t, env, c, weights, type, out);
        break;
    }
}

static struct ox_dense as_product(const struct ox_conv *c)
{
    return (struct ox_dense){.m = c->batch * c->out[0] * c->out[1],
                             .n = c->out_channels,
                             .k = c->in_channels,
                             .b = c->stored,
                             .b_row = 1,
                             .b_col = c->in_channels,
                             .a_row = c->in_pixel,
                             .a_col = 1,
                             .made = c->made,
                             .c_row = c->out_pixel};
}

bool ox_conv_reads_stored(const struct ox_compute *t, enum ox_conv_way way, const struct ox_conv *c)
{
    enum { ROWS_MOST = 256 }; /* more go by in parts, each of which packs for itself */
    const size_t m = c->batch * c->out[0] * c->out[1], k = c->in_channels;
    switch (way) {
    case OX_CONV_POINTWISE:
        /* Few would be summed in another order. */
        return m <= ROWS_MOST && !ox_dense_wants_unpacked(t, m, c->out_channels, k, 1, k);
    case OX_CONV_WINOGRAD2_LATE:
        return ox_conv_winograd_late_reads_stored(t, c, 2);
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
        return ox_conv_winograd_late_reads_stored(t, c, 4);
    case OX_CONV_DEPTHWISE:
    case OX_CONV_TURNED:
    case OX_CONV_ABREAST:
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
    case OX_CONV_SPREAD:
    case OX_CONV_COLUMNS:
    case OX_CONV_WINOGRAD_LINE:
    case OX_CONV_WINOGRAD2:
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
    case OX_CONV_PADDED:
        break;
    case OX_CONV_INDIRECT:
        return !c->transposed && c->groups == 1 && c->batch * c->out[0] * c->out[1] <= ROWS_MOST;
    }
    return false;
}

bool ox_conv_makes_rows(const struct ox_compute *t, enum ox_conv_way way, const struct ox_conv *c)
{
    return way == OX_CONV_POINTWISE && !c->stored &&
           ox_dense_makes_rows(t, c->batch * c->out[0] * c->out[1], c->in_channels);
}

bool ox_conv_adds_in_place(const struct ox_compute *t, enum ox_conv_way way,
                           const struct ox_conv *c)
{
    return way == OX_CONV_POINTWISE && c->in_channels <= t->depth_most;
}

/* Of weights that are read where they lie so many output channels are packed at a time: they stay in L2. */
static struct ox_conv some_channels(const struct ox_compute *t, const struct ox_conv *c)
{
    const size_t each = c->kernel[0] * c->kernel[1] * c->in_channels;
    const size_t panels = t->block_floats / (each * t->nr + 1);
    struct ox_conv part = *c;
    part.stored = NULL;
    part.out_channels = ox_least((panels ? panels : 1) * t->nr, c->out_channels);
    return part;
}

static void run_by_channels(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                            const float *in, float *out, const struct ox_epilogue *end, float *work)
{
    const size_t each = c->kernel[0] * c->kernel[1] * c->in_channels;
    struct ox_conv part = some_channels(t, c);
    float *packed = work + ox_round_up(ox_conv_indirect_work(c), 16);
    for (size_t at = 0; at < c->out_channels; at += part.out_channels) {
        part.out_channels = ox_least(part.out_channels, c->out_channels - at);
        const struct ox_epilogue own = ox_end_at(end, 0, at);
        ox_conv_indirect_pack(t, env, &part, c->stored + at * each, OX_WEIGHT_F32, packed);
        ox_conv_indirect(t, env, &part, packed, in, out + at, &own, work);
    }
}

size_t ox_conv_work(const struct ox_compute *t, const struct ox_env *env, enum ox_conv_way way,
                    const struct ox_conv *c)
{
    const struct ox_dense d = as_product(c);
    switch (way) {
    case OX_CONV_POINTWISE:
        return c->stored || c->made ? ox_dense_work(t, env, &d) : 0;
    case OX_CONV_DEPTHWISE:
        return ox_conv_depthwise_work(c, env);
    case OX_CONV_TURNED:
        return ox_conv_turned_work(c, env);
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
        return ox_conv_joined_work(t, env, c, way == OX_CONV_JOINED_ABREAST);
    case OX_CONV_SPREAD:
        return ox_conv_spread_work(c, env);
    case OX_CONV_COLUMNS:
        return ox_conv_columns_work(c);
    case OX_CONV_WINOGRAD_LINE:
        return ox_conv_winograd_work(t, env, c, 4);
    case OX_CONV_WINOGRAD2:
        return ox_conv_winograd_work(t, env, c, 2);
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
        return ox_conv_winograd_work(t, env, c, 4);
    case OX_CONV_WINOGRAD2_LATE:
        return ox_conv_winograd_late_work(t, env, c, 2);
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
        return ox_conv_winograd_late_work(t, env, c, 4);
    case OX_CONV_ABREAST:
        return ox_conv_narrow_work(t, c, ox_conv_abreast(t, c), env);
    case OX_CONV_PADDED:
        return c->groups > 1 ? ox_conv_groups_work(t, c, env) : ox_conv_narrow_work(t, c, 1, env);
    case OX_CONV_INDIRECT:
        break;
    }
    if (!c->stored)
        return ox_conv_indirect_work(c);
    const struct ox_conv part = some_channels(t, c);
    return ox_round_up(ox_conv_indirect_work(c), 16) + ox_conv_indirect_packed(t, &part);
}

void ox_conv_run(const struct ox_compute *t, struct ox_env *env, enum ox_conv_way way,
                 const struct ox_conv *c, const float *packed, const float *in, float *out,
                 const struct ox_epilogue *end, float *work)
{
    struct ox_dense d;
    switch (way) {
    case OX_CONV_POINTWISE:
        d = as_product(c);
        d.a = in;
        d.packed = c->stored ? NULL : packed;
        d.c = out;
        d.end = *end;
        ox_dense_run(t, env, &d, work);
        break;
    case OX_CONV_DEPTHWISE:
        ox_conv_depthwise(t, env, c, packed, in, out, end, work);
        break;
    case OX_CONV_TURNED:
        ox_conv_turned(t, env, c, packed, in, out, end, work);
        break;
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
        ox_conv_joined(t, env, c, way == OX_CONV_JOINED_ABREAST, packed, in, out, end, work);
        break;
    case OX_CONV_SPREAD:
        ox_conv_spread(t, env, c, packed, in, out, end, work);
        break;
    case OX_CONV_COLUMNS:
        ox_conv_columns(t, env, c, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD_LINE:
        ox_conv_winograd(t, env, c, 4, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD2:
        ox_conv_winograd(t, env, c, 2, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
        ox_conv_winograd(t, env, c, 4, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD2_LATE:
        ox_conv_winograd_late(t, env, c, 2, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
        ox_conv_winograd_late(t, env, c, 4, packed, in, out, end, work);
        break;
    case OX_CONV_ABREAST:
        ox_conv_narrow(t, env, c, ox_conv_abreast(t, c), packed, in, out, end, work);
        break;
    case OX_CONV_PADDED:
        if (c->groups > 1)
            ox_conv_groups(t, env, c, packed, in, out, end, work);
        else
            ox_conv_narrow(t, env, c, 1, packed, in, out, end, work);
        break;
    case OX_CONV_INDIRECT:
        if (c->stored)
            run_by_channels(t, env, c, in, out, end, work);
        else
            ox_conv_indirect(t, env, c, packed, in, out, end, work);
        break;
    }
}
