/* Rows of bytes by panels of MIXED, stamped for each vector width: ROWS, up to 12, by the panel's columns, whose sums stay in registers
 * until they are bytes; what is left by FEW, then one by one. The includer defines IV, a vector, and FV, one of floats; LANES, PARTS
 * (vectors of a four's weights) and VECTOR (its bytes); W(op), an intrinsic of this width, and XOR; iv_load(p), iv_store(p, v);
 * pairs_at(x, p), the products of bytes x and the weights at p; turn_of(weights), what turns bytes to a - 128, or for negative
 * weights to 127 - a; and leave_rows(), which makes bytes of sums. */
#include <string.h>

#include "kernels/inline.h"

enum { COLS = OX_INTEGER_MIXED_COLS, QUAD = PARTS * VECTOR };

/* Four bytes over and over. */
INLINE IV four_of(const uint8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return W(set1_epi32)(four);
}

INLINE IV add_pairs(IV sum, IV pairs)
{
    return W(add_epi32)(sum, W(madd_epi16)(pairs, W(set1_epi16)(1)));
}

/* A tight four: some of its bytes are taken from 255, where it turns. */
INLINE void tight_step(const unsigned rows, const uint8_t *a, size_t a_row, const bool turns,
                       const uint32_t *at, const char *b, IV (*sum)[PARTS])
{
    const IV turn = W(set1_epi32)((int32_t)at[1]);
    IV w[PARTS];
#pragma GCC unroll 2
    for (unsigned k = 0; k < PARTS; k++)
        w[k] = iv_load(b + k * VECTOR);
    a += at[0];
#pragma GCC unroll 12
    for (unsigned i = 0; i < rows; i++, a += a_row) {
        const IV four = four_of(a), x = turns ? XOR(four, turn) : four;
#pragma GCC unroll 2
        for (unsigned k = 0; k < PARTS; k++)
            sum[i][k] = add_pairs(sum[i][k], W(maddubs_epi16)(x, w[k]));
    }
}

/* A couple of tight fours, the last `turned` of which are turned. */
INLINE void coupled_step(const unsigned rows, const uint8_t *a, size_t a_row, const unsigned turned,
                         const uint32_t *at, const char *b, IV (*sum)[PARTS])
{
    const IV turn = W(set1_epi32)((int32_t)at[1]);
    const IV turn_other = W(set1_epi32)((int32_t)at[3]);
    const uint8_t *one = a + at[0], *other = a + at[2];
#pragma GCC unroll 12
    for (unsigned i = 0; i < rows; i++, one += a_row, other += a_row) {
        const IV u = four_of(one), v = four_of(other);
        const IV x = turned > 1 ? XOR(u, turn) : u, y = turned ? XOR(v, turn_other) : v;
#pragma GCC unroll 2
        for (unsigned k = 0; k < PARTS; k++) {
            const IV pairs = pairs_at(x, b + k * VECTOR);
            sum[i][k] =
                add_pairs(sum[i][k], W(add_epi16)(pairs, pairs_at(y, b + QUAD + k * VECTOR)));
        }
    }
}

/* A four by its weights' sizes: of each product the byte has the sign. */
INLINE void sized_step(const unsigned rows, const uint8_t *a, size_t a_row, const char *b,
                       IV (*sum)[PARTS])
{
    IV turn[PARTS], size[PARTS];
#pragma GCC unroll 2
    for (unsigned k = 0; k < PARTS; k++) {
        const IV w = iv_load(b + k * VECTOR);
        turn[k] = turn_of(w);
        size[k] = W(abs_epi8)(w);
    }
#pragma GCC unroll 12
    for (unsigned i = 0; i < rows; i++) {
        const IV x = four_of(a + i * a_row);
#pragma GCC unroll 2
        for (unsigned k = 0; k < PARTS; k++)
            sum[i][k] = add_pairs(sum[i][k], W(maddubs_epi16)(size[k], XOR(x, turn[k])));
    }
}

/* A panel. */
struct panel {
    /* Of its fours: coupled, none turned, one and both; tight, straight and turned; others. */
    const uint32_t *at, *none, *one, *coupled, *straight, *tight, *end;
    const char *weights;
    IV first[PARTS]; /* sums to begin with */
    /* Where sums become bytes: */
    struct ends ends;
    FV scale[PARTS], fraction[PARTS];
    bool fractions;
};

static void find_fours(struct panel *p, const char *packed, size_t n)
{
    const uint32_t *counts = (const uint32_t *)(const void *)packed;
    const int32_t *first = ox_integer_first(packed, n);
    p->at = counts + OX_INTEGER_COUNTS;
    p->tight = p->at + (size_t)2 * counts[0];
    p->coupled = p->at + (size_t)2 * counts[1];
    p->straight = p->at + (size_t)2 * counts[3];
    p->none = p->at + (size_t)2 * counts[4];
    p->one = p->at + (size_t)2 * counts[5];
    p->end = p->tight + n - counts[0];
    p->weights = (const char *)(first + COLS);
    for (unsigned k = 0; k < PARTS; k++)
        p->first[k] = iv_load(first + k * LANES);
}

/* What makes bytes of n columns' sums. */
static void find_end(struct panel *p, const struct ox_integer_end *end, size_t at, size_t n)
{
    int32_t offset[COLS] = {0};
    float scale[COLS] = {0}, fraction[COLS] = {0};
    if (end->offset)
        memcpy(offset, end->offset + at, n * sizeof *offset);
    memcpy(scale, end->scale + at, n * sizeof *scale);
    p->fractions = end->fraction;
    if (end->fraction)
        memcpy(fraction, end->fraction + at, n * sizeof *fraction);
    for (unsigned k = 0; k < PARTS; k++) {
        p->first[k] = W(add_epi32)(p->first[k], iv_load(offset + k * LANES));
        p->scale[k] = W(loadu_ps)(scale + k * LANES);
        p->fraction[k] = W(loadu_ps)(fraction + k * LANES);
    }
}

/* A row alone takes weights faster than the processor would fetch them. */
INLINE void fetch_ahead(const unsigned rows, const char *b)
{
    enum { AHEAD = 2048 };
    if (rows == 1)
        _mm_prefetch(b + AHEAD, _MM_HINT_T0);
}

INLINE void add_couples(const unsigned rows, const uint8_t *a, size_t a_row, const unsigned turned,
                        const uint32_t *at, const uint32_t *end, const char *b, IV (*sum)[PARTS])
{
    for (; at < end; at += 4, b += 2 * QUAD) {
        fetch_ahead(rows, b);
        fetch_ahead(rows, b + QUAD);
        coupled_step(rows, a, a_row, turned, at, b, sum);
    }
}

INLINE void add_tight(const unsigned rows, const uint8_t *a, size_t a_row, const bool turns,
                      const uint32_t *at, const uint32_t *end, const char *b, IV (*sum)[PARTS])
{
    for (; at < end; at += 2, b += QUAD)
        tight_step(rows, a, a_row, turns, at, b, sum);
}

INLINE void sum_up(const struct panel *p, const unsigned rows, const uint8_t *a, size_t a_row,
                   IV (*sum)[PARTS])
{
    const uint32_t *at = p->at, *const tight = p->tight, *const end = p->end;
    const char *b = p->weights;
#pragma GCC unroll 12
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 2
        for (unsigned k = 0; k < PARTS; k++)
            sum[i][k] = p->first[k];
    }
#define WEIGHTS(to) b + (size_t)((to)-p->at) * (QUAD / 2)
    add_couples(rows, a, a_row, 0, at, p->none, b, sum);
    add_couples(rows, a, a_row, 1, p->none, p->one, WEIGHTS(p->none), sum);
    add_couples(rows, a, a_row, 2, p->one, p->coupled, WEIGHTS(p->one), sum);
    add_tight(rows, a, a_row, false, p->coupled, p->straight, WEIGHTS(p->coupled), sum);
    add_tight(rows, a, a_row, true, p->straight, tight, WEIGHTS(p->straight), sum);
    b = WEIGHTS(tight);
#undef WEIGHTS
    for (at = tight; at < end; at++, b += QUAD)
        sized_step(rows, a + at[0], a_row, b, sum);
}

/* Sums that have fractions; apart, for what is not used here costs the others registers. */
static __attribute__((noinline)) void put_fractions(const struct panel *p, unsigned rows,
                                                    IV (*sum)[PARTS], size_t n, uint8_t *out,
                                                    size_t out_row)
{
    const bool whole = n == COLS;
    if (rows == ROWS)
        leave_rows(&p->ends, p->scale, p->fraction, ROWS, sum, whole, n, out, out_row);
    else if (rows == FEW)
        leave_rows(&p->ends, p->scale, p->fraction, FEW, sum, whole, n, out, out_row);
    else
        leave_rows(&p->ends, p->scale, p->fraction, 1, sum, whole, n, out, out_row);
}

INLINE void tile_to_bytes(const struct panel *p, const unsigned rows, const uint8_t *a,
                          size_t a_row, const bool whole, size_t n, uint8_t *out, size_t out_row)
{
    IV sum[ROWS][PARTS];
    sum_up(p, rows, a, a_row, sum);
    /* What the end needs is read from memory again: kept in registers it would be stored and read around each loop above. */
    __asm__ volatile("" : : "r"(p) : "memory");
    if (!p->fractions) {
        leave_rows(&p->ends, p->scale, NULL, rows, sum, whole, n, out, out_row);
        return;
    }
    IV all[ROWS][PARTS]; /* the sums' own address stays here, or they would live in memory */
#pragma GCC unroll 12
    for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (unsigned k = 0; k < PARTS; k++)
            all[i][k] = sum[i][k];
    put_fractions(p, rows, all, n, out, out_row);
}

INLINE void to_bytes(const struct ox_integer_mixed *m, const struct panel *p, size_t at,
                     const bool whole, size_t n)
{
    const size_t a_row = m->a_row, out_row = m->out_row;
    const uint8_t *a = m->a;
    uint8_t *out = (uint8_t *)m->out + at;
    size_t left = m->rows;
    for (; left >= ROWS; left -= ROWS, a += ROWS * a_row, out += ROWS * out_row)
        tile_to_bytes(p, ROWS, a, a_row, whole, n, out, out_row);
    for (; FEW > 1 && left >= FEW; left -= FEW, a += FEW * a_row, out += FEW * out_row)
        tile_to_bytes(p, FEW, a, a_row, whole, n, out, out_row);
    for (; left > 0; left--, a += a_row, out += out_row)
        tile_to_bytes(p, 1, a, a_row, whole, n, out, out_row);
}

INLINE void tile_to_sums(const struct panel *p, const unsigned rows, const uint8_t *a, size_t a_row,
                         int32_t *sums, size_t ld)
{
    IV sum[ROWS][PARTS];
    sum_up(p, rows, a, a_row, sum);
#pragma GCC unroll 12
    for (unsigned i = 0; i < rows; i++, sums += ld) {
#pragma GCC unroll 2
        for (unsigned k = 0; k < PARTS; k++)
            iv_store(sums + k * LANES, sum[i][k]);
    }
}

static void to_sums(const struct ox_integer_mixed *m, const struct panel *p, size_t at)
{
    const size_t a_row = m->a_row, ld = m->ld;
    const uint8_t *a = m->a;
    int32_t *sums = m->sums + at;
    size_t left = m->rows;
    for (; left >= ROWS; left -= ROWS, a += ROWS * a_row, sums += ROWS * ld)
        tile_to_sums(p, ROWS, a, a_row, sums, ld);
    for (; FEW > 1 && left >= FEW; left -= FEW, a += FEW * a_row, sums += FEW * ld)
        tile_to_sums(p, FEW, a, a_row, sums, ld);
    for (; left > 0; left--, a += a_row, sums += ld)
        tile_to_sums(p, 1, a, a_row, sums, ld);
}

static void mixed(const struct ox_integer_mixed *m)
{
    const char *packed = m->b;
    struct panel p;
    if (m->end)
        p.ends = ends_of(m->end);
    for (size_t at = 0; at < m->n; at += COLS, packed += m->panel) {
        const size_t n = m->n - at < COLS ? m->n - at : COLS;
        find_fours(&p, packed, m->depth / 4);
        if (!m->end) {
            to_sums(m, &p, at);
            continue;
        }
        find_end(&p, m->end, at, n);
        if (n == COLS)
            to_bytes(m, &p, at, true, COLS);
        else
            to_bytes(m, &p, at, false, n);
    }
}
