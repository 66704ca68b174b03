/* Weights of 8-bit products as the kernels read them: the layouts, and packing. Winograd's (integer_winograd.c) and those of lines
 * (x86/integer_lines_*.c) are packed there. */
#ifndef OX_KERNELS_INTEGER_PACK_H
#define OX_KERNELS_INTEGER_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ox_env;

/* How packed weights lie, panels of nr columns: for each four of k nr times
 * four bytes (QUADS), or for each two of k nr times two words (PAIRS). The left
 * side of PAIRS is widened to words first, a tile's rows at a time.
 *
 * MIXED sorts the fours of k. First come those that are tight: the sum of each pair of neighbours' products by any bytes fits 16 bits
 * in all columns, for |w0 + w1| is at most 128, or |w0 - w1| is and w1 stands negated, to be multiplied by 255 less the byte, as
 * a w1 = 255 w1 + (255 - a) (-w1). Of these come first couples, of which the sums of both fit 16 bits together, first those of
 * which nothing is turned, then one four, then both; then those that nothing turns. The others' sizes
 * |w| are multiplied by a - 128, where w is negative by 127 - a; such pairs fit always. All lie as in QUADS. Before all that stand the columns' sums to begin with, which make up for what was
 * turned, and before these uint32_t in ox_integer_head(n) bytes for n fours: how many are tight, how many of these in couples, the
 * most that a sum can be in size, how many tight fours come before the first that is turned outside a
 * couple, before the first couple that is, and before the first of which both are, where in a row each tight four begins and what turns
 * its bytes, and where each of the others does. */
enum ox_integer_layout { OX_INTEGER_QUADS, OX_INTEGER_PAIRS, OX_INTEGER_MIXED };
enum { OX_INTEGER_COUNTS = 6, OX_INTEGER_MIXED_COLS = 16 };

static inline size_t ox_integer_head(size_t n)
{
    return ((2 * n + OX_INTEGER_COUNTS) * sizeof(uint32_t) + 63) / 64 * 64;
}

static inline const int32_t *ox_integer_first(const void *panel, size_t n)
{
    return (const int32_t *)(const void *)((const char *)panel + ox_integer_head(n));
}

/* UPRIGHT, of what is multiplied with rows in a vector's lanes: panels of as many columns as MIXED's, fours of k in blocks of
 * ox_integer_upright_block(n), of n, as OX_INTEGER_UPRIGHT_BLOCK allows. Of each column and block, groups of fours, of which the sums of
 * all first pairs' products by any bytes fit 16 bits, and those of all second pairs; weights of a four that alone do not are two
 * entries, and zeros none. Before all that stands, as a uint32_t, the most that a sum can be in size. Then come the blocks: a head, the
 * entries' weights, column by column, the largest groups first, and in uint16_t where their bytes of the left side begin, which lies
 * as upright_lay() has it; up to whole uint32_t. */
enum {
    OX_INTEGER_UPRIGHT_LANES = 8,                           /* rows in a vector */
    OX_INTEGER_UPRIGHT_ROWS = 7 * OX_INTEGER_UPRIGHT_LANES, /* at most at a time */
    OX_INTEGER_UPRIGHT_FOUR = 4 * OX_INTEGER_UPRIGHT_ROWS,  /* bytes of a four of k of these */
    OX_INTEGER_UPRIGHT_BLOCK = 144,
    OX_INTEGER_UPRIGHT_SIZE = 4, /* of a group */
    OX_INTEGER_UPRIGHT_SIZES = 3
};

struct ox_integer_upright_head {
    uint32_t n; /* entries */
    uint8_t groups[OX_INTEGER_MIXED_COLS]
                  [OX_INTEGER_UPRIGHT_SIZES]; /* of 4, 3 and 2, of which one may be of zeros */
};

static inline size_t ox_integer_upright_block(size_t n)
{
    const size_t blocks = (n + OX_INTEGER_UPRIGHT_BLOCK - 1) / OX_INTEGER_UPRIGHT_BLOCK;
    return blocks ? (n + blocks - 1) / blocks : 0;
}

/* Depthwise: taps lie two by two, side by side; where their number is odd the weights behind the last are 0. */
static inline size_t ox_integer_tap(size_t channels, size_t tap, size_t c)
{
    return (tap / 2 * channels + c) * 2 + tap % 2;
}

struct ox_integer_core;

struct ox_integer_packing {
    const struct ox_integer_core *k;
    const uint8_t *weights;
    const int32_t *zero;      /* of depthwise weights; NULL: 0 */
    uint8_t flip;             /* 0x80: the weights are u8 */
    bool once;                /* for one run: what takes longer than that run gains is left out */
    size_t tap, channel, col; /* elements between taps, input channels and output channels */
    char *out;                /* ox_integer_packed_bytes() */
};
/* Elements of k from segment to segment (MIXED joins them, and so do cores that say so, else each is filled up to a four), fours of k in a panel, and its bytes. */
size_t ox_integer_segment(const struct ox_integer_core *k);
size_t ox_integer_fours(const struct ox_integer_core *k);
size_t ox_integer_panel_bytes(const struct ox_integer_core *k);
/* All panels, or the depthwise weights. Bytes; SIZE_MAX when they overflow. */
size_t ox_integer_packed_bytes(const struct ox_integer_core *k);
void ox_integer_pack(struct ox_env *env, const struct ox_integer_packing *p);

#endif
