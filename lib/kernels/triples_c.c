/* Products by triples in plain C, with the tiles and the sums that AMX has, but for what is below FLT_MIN. */
#include <math.h>
#include <string.h>

#include "kernels/dense_impl.h"
#include "kernels/few_bits_parts.h"
#include "kernels/triples.h"

enum {
    TALL = OX_TRIPLES_ROWS,
    WIDE = OX_TRIPLES_COLS,
    DEEP = OX_TRIPLES_DEPTH,
    TILE = OX_TRIPLES_TILE,
    STEP = OX_TRIPLES_PARTS * TILE,
    PAIRS = DEEP / 2
};

static void begin(unsigned tall)
{
    (void)tall;
}

static void end(void)
{
}

static float float_of(uint16_t high)
{
    const uint32_t bits = (uint32_t)high << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The parts of x, a tile apart; whether it has none. */
static bool part(float x, uint16_t *out)
{
    for (unsigned i = 0; i < OX_TRIPLES_PARTS; i++, out += TILE) {
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        *out = (uint16_t)((i < OX_TRIPLES_PARTS - 1 ? bits + 0x8000 : bits) >> 16);
        x -= float_of(*out);
    }
    return !isfinite(float_of(out[-TILE]));
}

/* Where number p of a step is in a line of a tile. */
static size_t place_of(size_t p)
{
    return p % PAIRS * 2 + p / PAIRS;
}

static unsigned rows(size_t n, size_t depth, const float *a, size_t step, uint16_t *out)
{
    const size_t full = ox_round_up(depth, DEEP);
    unsigned extreme = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < full; p++)
            if (part(p < depth ? a[i * step + p] : 0,
                     out + p / DEEP * STEP + i * DEEP + place_of(p % DEEP)))
                extreme |= 1U << i;
    return extreme;
}

static bool panel(size_t depth, const float *b, uint16_t *out)
{
    const size_t full = ox_round_up(depth, DEEP);
    bool extreme = false;
    for (size_t p = 0; p < full; p++) {
        for (size_t j = 0; j < WIDE; j++) {
            const size_t q = p % DEEP, at = q % PAIRS * DEEP + j % TALL * 2 + q / PAIRS;
            extreme |=
                part(p < depth ? b[p * WIDE + j] : 0, out + (p / DEEP * 2 + j / TALL) * STEP + at);
        }
    }
    return extreme;
}

/* The sum of a row and a column: those of pairs apart, for each product of tiles. */
static float sum(size_t depth, const uint16_t *row, const uint16_t *column)
{
    static const unsigned char parts[][2] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}};
    float all = 0;
    for (size_t s = 0; s < depth; s += DEEP, row += STEP, column += 2 * STEP) {
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            const uint16_t *a = row + parts[i][0] * TILE, *b = column + parts[i][1] * TILE;
            float of[2] = {0, 0};
            for (size_t p = 0; p < DEEP; p++)
                of[p % 2] += float_of(a[p]) * float_of(b[p / 2 * DEEP + p % 2]);
            all += of[0] + of[1];
        }
    }
    return all;
}

static void block(struct ox_triples_block *b)
{
    const size_t strip = ox_round_up(b->depth, DEEP) / DEEP * STEP;
    for (size_t i = 0; i < b->rows; i++) {
        const uint16_t *row = b->left + i / b->tall * strip + i % b->tall * DEEP;
        for (size_t j = 0; j < b->cols; j++) {
            const uint16_t *column = b->right + j / TALL * STEP + j % TALL * 2;
            float *c = b->c + i * b->ldc + j, x = sum(b->depth, row, column);
            *c = b->add ? *c + x : x;
            if (b->end) {
                struct ox_epilogue last = ox_end_at(b->end, i, j);
                last.residual = last.residual_last ? NULL : last.residual;
                ox_compute(OX_CPU_C)->finish(1, &last, c);
            }
        }
    }
    b->next_extreme = b->next && panel(b->next_depth, b->next, b->next_out);
}

const struct ox_triples ox_triples_c = {begin, end, rows, panel, block, ox_few_parts_columns_c};
