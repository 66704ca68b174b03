/* Tiles of bytes by QUADS for AVX-VNNI. */
#include "kernels/integer_impl.h"

#if defined(__AVXVNNI__) || defined(OX_EMULATE_DOT)
#define DOT "vpdpbusd"
#include "kernels/x86/integer_end_avx2.h"
#include "kernels/x86/integer_tile_avxvnni.h"

/* A tile's columns, those past its last of no matter. */
struct columns {
    __m256i first[PARTS]; /* sums to begin with */
    __m256 scale[PARTS];
    struct ends ends;
};

INLINE void find_columns(const struct ox_integer_tile *t, struct columns *c)
{
    if (t->end)
        c->ends = ends_of(t->end);
    if (t->cols == COLS && t->end && t->end->offset) {
        for (unsigned k = 0; k < PARTS; k++) {
            c->first[k] = load(t->end->offset + t->col + k * LANES);
            c->scale[k] = _mm256_loadu_ps(t->end->scale + t->col + k * LANES);
        }
        return;
    }
    int32_t offset[COLS] = {0};
    float scale[COLS] = {0};
    if (t->end && t->end->offset)
        memcpy(offset, t->end->offset + t->col, t->cols * sizeof *offset);
    for (unsigned k = 0; k < PARTS; k++)
        c->first[k] = load(offset + k * LANES);
    if (!t->end)
        return;
    memcpy(scale, t->end->scale + t->col, t->cols * sizeof *scale);
    for (unsigned k = 0; k < PARTS; k++)
        c->scale[k] = _mm256_loadu_ps(scale + k * LANES);
}

/* Whether all sums have the bits of a float. */
INLINE bool are_near(const struct ox_integer_tile *t, const struct columns *c, const unsigned rows,
                     const unsigned parts, __m256i (*sum)[PARTS])
{
    __m256i beyond = _mm256_abs_epi32(c->first[0]);
    if (t->segments * t->depth <= 256) { /* 255 * 128 times it are no more than 2^23 */
        beyond = _mm256_or_si256(beyond, _mm256_abs_epi32(c->first[1]));
        return _mm256_testz_si256(beyond, _mm256_set1_epi32(-(1 << 23)));
    }
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        beyond = _mm256_or_si256(beyond, _mm256_abs_epi32(sum[i][0]));
        if (parts > 1)
            beyond = _mm256_or_si256(beyond, _mm256_abs_epi32(sum[i][1]));
    }
    return _mm256_testz_si256(beyond, _mm256_set1_epi32(-(1 << 24)));
}

/* Sums that have fractions, or more bits than a float. */
static __attribute__((noinline)) void put_others(const struct ox_integer_tile *t,
                                                 const struct columns *c, bool near,
                                                 __m256i (*sum)[PARTS])
{
    if (!near) {
        ox_integer_leave_tile(t, 0, t->rows, (const int32_t *)(const void *)sum, COLS);
        return;
    }
    float list[COLS] = {0};
    memcpy(list, t->end->fraction + t->col, t->cols * sizeof *list);
    const __m256 fraction[PARTS] = {_mm256_loadu_ps(list), _mm256_loadu_ps(list + LANES)};
    const bool whole = t->cols == COLS;
    uint8_t *out = t->out;
    unsigned i = 0;
    for (; i + 2 <= t->rows; i += 2, out += 2 * t->out_row)
        leave_rows(&c->ends, c->scale, fraction, 2, sum + i, whole, t->cols, out, t->out_row);
    if (i < t->rows)
        leave_rows(&c->ends, c->scale, fraction, 1, sum + i, whole, t->cols, out, t->out_row);
}

INLINE void tile_of(const struct ox_integer_tile *t, const unsigned rows, const unsigned parts)
{
    __m256i sum[ROWS][PARTS];
    struct columns c;
    find_columns(t, &c);
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        sum[i][0] = c.first[0];
        sum[i][1] = c.first[1];
    }
    sum_up(t, rows, parts, sum);
    /* What the end needs is read from memory again: kept in registers it would be stored and read around the loop above. */
    __asm__ volatile("" : : "r"(&c) : "memory");
    if (!t->end) {
        put_sums(t, rows, parts, sum);
        return;
    }
    const bool near = are_near(t, &c, rows, parts, sum);
    if (near && !t->end->fraction) {
        leave_rows(&c.ends, c.scale, NULL, rows, sum, t->cols == COLS, t->cols, t->out, t->out_row);
        return;
    }
    __m256i all[ROWS][PARTS]; /* the sums' own address stays here, or they would live in memory */
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        all[i][0] = sum[i][0];
        all[i][1] = sum[i][1];
    }
    put_others(t, &c, near, all);
}

BY_ROWS(tile, tile_of)

void ox_integer_avxvnni(struct ox_integer *t)
{
    t->mr = ROWS;
    t->nr = COLS;
    t->layout = OX_INTEGER_QUADS;
    t->ends = true;
    t->tile = tile;
}
#else
void ox_integer_avxvnni(struct ox_integer *t)
{
    (void)t;
}
#endif
