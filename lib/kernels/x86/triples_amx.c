/* Products by parts on AMX: 32 rows by the 32 columns of a panel. While tiles are multiplied, the vector units make the parts of the
 * next panel. */
#include "kernels/triples.h"

#if defined(__AMX_BF16__) && defined(__AMX_TILE__)
#include "kernels/dense_impl.h"
#include "kernels/few_bits_parts.h"
#include "kernels/inline.h"
#include "kernels/x86/amx_tiles.h"
#include "kernels/x86/vec_avx512.h"

#include "kernels/ending_tmpl.h"

enum {
    WIDE = OX_TRIPLES_COLS,
    DEEP = OX_TRIPLES_DEPTH,
    LINE = 64, /* bytes of a row of a tile */
    TILE = OX_TRIPLES_TILE,
    STEP = OX_TRIPLES_PARTS * TILE, /* numbers of sixteen rows for DEEP of k */
    PAIRS = DEEP / 2,
    AHEAD = 4 /* steps of a panel */
};

/* Sums and rows are `tall`, columns stand for k. */
static void begin(unsigned tall)
{
    const uint8_t n = (uint8_t)tall;
    const struct ox_amx_tiles all = {.palette = 1,
                                     .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                     .rows = {n, n, n, n, n, n, PAIRS, PAIRS}};
    ox_amx_start(&all);
}

/* Takes the high part of 16 numbers from x, rounded to nearest: its bits, the lower half of them zeros. */
INLINE __m512i take(__m512 *x)
{
    const __m512i half = _mm512_set1_epi32(0x8000), top = _mm512_set1_epi32((int)0xffff0000);
    const __m512i high = _mm512_and_si512(_mm512_add_epi32(v_bits(*x), half), top);
    *x = v_sub(*x, v_of_bits(high));
    return high;
}

/* The parts of 16 pairs, numbers k and k + 16 of a step: the order of k is the same on both sides. What has no parts leaves something
 * that is no number; the greatest low parts, shifted to be rid of their signs, are kept for that. */
INLINE __m512i part_pairs(__m512 x, __m512 y, uint16_t *out, __m512i most)
{
    const __m512i top = _mm512_set1_epi32((int)0xffff0000);
    enum { OR_IF = 0xf8 }; /* a | (b & c) */
    for (unsigned part = 0; part < OX_TRIPLES_PARTS - 1; part++, out += TILE) {
        const __m512i a = take(&x), b = take(&y);
        _mm512_store_si512(out, _mm512_or_si512(_mm512_srli_epi32(a, 16), b));
    }
    const __m512i low =
        _mm512_ternarylogic_epi32(_mm512_srli_epi32(v_bits(x), 16), v_bits(y), top, OR_IF);
    _mm512_store_si512(out, low);
    return _mm512_max_epu16(most, _mm512_slli_epi16(low, 1));
}

INLINE bool is_extreme(__m512i most)
{
    return _mm512_cmpge_epu16_mask(most, _mm512_set1_epi16((short)0xff00)) != 0;
}

/* A tile after another, which are written from front to back. */
static unsigned rows(size_t n, size_t depth, const float *a, size_t step, uint16_t *out)
{
    __m512i most[OX_TRIPLES_ROWS];
    unsigned extreme = 0;
    size_t p = 0;
    for (size_t i = 0; i < n; i++)
        most[i] = _mm512_setzero_si512();
    for (; p + DEEP <= depth; p += DEEP, out += STEP) {
        for (size_t i = 0; i < n; i++) {
            const float *x = a + i * step + p;
            most[i] =
                part_pairs(v_load(x), v_load(x + VW), out + i * (LINE / sizeof *out), most[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const float *x = a + i * step + p;
        const size_t left = depth - p;
        if (left > 0)
            most[i] = part_pairs(v_load_n(x, left < VW ? left : VW),
                                 left > VW ? v_load_n(x + VW, left - VW) : v_zero(),
                                 out + i * (LINE / sizeof *out), most[i]);
        extreme |= (unsigned)is_extreme(most[i]) << i;
    }
    return extreme;
}

/* A panel on its way: `left` pairs of whole steps, number `pair` of its step next. Steps from `ahead` on come nearer meanwhile, so many of
 * the same panel, then those of the next one. */
struct meanwhile {
    size_t left, pair;
    const float *b;
    uint16_t *out;
    const float *ahead, *later;
    size_t ahead_left;
    __m512i most;
};

INLINE struct meanwhile meanwhile_of(size_t depth, const float *b, uint16_t *out,
                                     const float *later)
{
    const size_t steps = b ? depth / DEEP : 0, ahead = steps < AHEAD ? steps : AHEAD;
    return (struct meanwhile){
        steps * PAIRS,         0, b, out, b + ahead * DEEP * WIDE, later, steps - ahead,
        _mm512_setzero_si512()};
}

INLINE void make_pair(struct meanwhile *m)
{
    const float *x = m->b, *y = x + PAIRS * WIDE, *ahead = m->ahead + m->pair * 2 * WIDE;
    for (unsigned v = 0; v < 2; v++)
        m->most = part_pairs(v_load(x + v * VW), v_load(y + v * VW), m->out + v * STEP, m->most);
    for (unsigned i = 0; i < 2 * WIDE; i += VW)
        __builtin_prefetch(ahead + i, 0, 2);
    m->b += WIDE;
    m->out += LINE / sizeof *m->out;
    m->left--;
    if (++m->pair == PAIRS) {
        m->pair = 0;
        m->b += PAIRS * WIDE;
        m->out += 2 * STEP - TILE;
        m->ahead += DEEP * WIDE;
        if (m->ahead_left-- == 1)
            m->ahead = m->later;
    }
}

/* What is left of it, and its last step, filled up with zeros. */
static bool complete(struct meanwhile m, size_t depth)
{
    const size_t last = depth % DEEP;
    while (m.left > 0)
        make_pair(&m);
    for (size_t i = 0; last && i < PAIRS; i++) {
        for (unsigned v = 0; v < WIDE; v += VW) {
            const float *x = m.b + i * WIDE + v;
            m.most = part_pairs(i < last ? v_load(x) : v_zero(),
                                i + PAIRS < last ? v_load(x + PAIRS * WIDE) : v_zero(),
                                m.out + v / VW * STEP + i * (LINE / sizeof *m.out), m.most);
        }
    }
    return is_extreme(m.most);
}

static bool panel(size_t depth, const float *b, uint16_t *out)
{
    return complete(meanwhile_of(depth, b, out, b), depth);
}

/* Sums on their way to c: rows [row, end), of which those of number 0 of this strip are at `sums`. */
struct leaving {
    const struct ox_triples_block *b;
    size_t row, end;
    const float *sums;
};

INLINE void leave_vector(const struct ox_triples_block *b, size_t i, size_t j, const float *sums)
{
    const size_t left = b->cols - j;
    const bool some = left < VW;
    float *c = b->c + i * b->ldc + j;
    VF x = v_load(sums + j);
    if (b->add)
        x = v_add(x, load_part(c, some, left));
    if (b->end)
        x = ending(b->end, x, i, j, some, left);
    store_part(c, some, left, x);
}

INLINE void leave_row(struct leaving *l, const bool wide)
{
    leave_vector(l->b, l->row, 0, l->sums);
    if (wide)
        leave_vector(l->b, l->row, VW, l->sums);
    l->row++;
    l->sums += WIDE;
}

/* Sums 00, 01, 10, 11 are tiles 0 to 3; 4 and 5 are rows, 6 and 7 columns. */
#define LOAD_ROWS(part)                                                                            \
    do {                                                                                           \
        _tile_loadd(4, l0 + (part)*TILE, LINE);                                                    \
        if (two)                                                                                   \
            _tile_loadd(5, l1 + (part)*TILE, LINE);                                                \
    } while (0)
#define LOAD_COLS(part)                                                                            \
    do {                                                                                           \
        _tile_loadd(6, r + (part)*TILE, LINE);                                                     \
        if (wide)                                                                                  \
            _tile_loadd(7, r + STEP + (part)*TILE, LINE);                                          \
    } while (0)
#define MULTIPLY()                                                                                 \
    do {                                                                                           \
        _tile_dpbf16ps(0, 4, 6);                                                                   \
        if (wide)                                                                                  \
            _tile_dpbf16ps(1, 4, 7);                                                               \
        if (two)                                                                                   \
            _tile_dpbf16ps(2, 5, 6);                                                               \
        if (two && wide)                                                                           \
            _tile_dpbf16ps(3, 5, 7);                                                               \
        if (m->left > until)                                                                       \
            make_pair(m);                                                                          \
        if (before->row < before->end)                                                             \
            leave_row(before, wide);                                                               \
    } while (0)

/* From small to large: low by high, middle by middle, high by high. Meanwhile `each` pairs of the next panel are made a step, and the sums
 * before leave. */
INLINE void sum(size_t depth, const uint16_t *l0, const uint16_t *l1, const uint16_t *r,
                struct meanwhile *m, size_t each, struct leaving *before, float *to, unsigned tall,
                const bool two, const bool wide)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t p = 0; p < depth; p += DEEP, l0 += STEP, l1 += STEP, r += 2 * STEP) {
        const size_t until = m->left > each ? m->left - each : 0;
        LOAD_ROWS(2);
        LOAD_COLS(0);
        MULTIPLY();
        LOAD_ROWS(1);
        MULTIPLY();
        LOAD_COLS(1);
        MULTIPLY();
        LOAD_ROWS(0);
        MULTIPLY();
        LOAD_COLS(2);
        MULTIPLY();
        LOAD_COLS(0);
        MULTIPLY();
        while (m->left > until)
            make_pair(m);
    }
    while (before->row < before->end)
        leave_row(before, wide);
    _tile_stored(0, to, WIDE * sizeof *to);
    _tile_stored(1, to + VW, WIDE * sizeof *to);
    _tile_stored(2, to + tall * WIDE, WIDE * sizeof *to);
    _tile_stored(3, to + tall * WIDE + VW, WIDE * sizeof *to);
    ox_amx_memory_is_written();
}

INLINE void strips(struct ox_triples_block *b, const bool wide)
{
    _Alignas(64) float sums[2][2 * OX_TRIPLES_ROWS * WIDE];
    const size_t steps = (b->depth + DEEP - 1) / DEEP, strip = steps * STEP, high = 2 * b->tall;
    const size_t parts = steps * ((b->rows + high - 1) / high);
    struct meanwhile m = meanwhile_of(b->next_depth, b->next, b->next_out, b->later);
    const size_t each = (m.left + parts - 1) / parts;
    const uint16_t *left = b->left;
    struct leaving before = {.b = b};
    for (size_t i = 0, side = 0; i < b->rows; i += high, left += 2 * strip, side = !side) {
        if (b->rows - i > b->tall)
            sum(b->depth, left, left + strip, b->right, &m, each, &before, sums[side], b->tall,
                true, wide);
        else
            sum(b->depth, left, left, b->right, &m, each, &before, sums[side], b->tall, false,
                wide);
        before = (struct leaving){b, i, b->rows - i < high ? b->rows : i + high, sums[side]};
    }
    while (before.row < before.end)
        leave_row(&before, wide);
    b->next_extreme = b->next && complete(m, b->next_depth);
}

static void block(struct ox_triples_block *b)
{
    if (b->cols > VW)
        strips(b, true);
    else
        strips(b, false);
}

static const struct ox_triples table = {begin, ox_amx_end, rows,
                                        panel, block,      ox_few_parts_columns_amx};

const struct ox_triples *ox_triples_amx(void)
{
    return &table;
}
#else
const struct ox_triples *ox_triples_amx(void)
{
    return NULL;
}
#endif
