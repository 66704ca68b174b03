/* Rows of bytes by panels of MIXED, for AVX2: four rows by sixteen columns, whose sums stay in registers until they are bytes. */
#include <string.h>

#include "kernels/inline.h"
#include "kernels/x86/integer_end_avx2.h"

enum {
    ROWS = OX_INTEGER_MIXED_ROWS,
    LANES = 8,
    PARTS = 2,
    COLS = OX_INTEGER_MIXED_COLS,
    VECTOR = 32,
    QUAD = PARTS * VECTOR
};

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Four bytes over and over. */
INLINE __m256i four_of(const uint8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}

INLINE __m256i add_pairs(__m256i sum, __m256i pairs)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/* Weights stay in memory: a compiler that loads them first has no register left for a sum. */
INLINE __m256i pairs_at(__m256i x, const char *weights)
{
    __m256i pairs;
    __asm__("vpmaddubsw %2, %1, %0"
            : "=x"(pairs)
            : "x"(x), "m"(*(const __m256i *)(const void *)weights));
    return pairs;
}

/* A tight four: some of its bytes are taken from 255. */
INLINE void tight_step(const unsigned rows, const uint8_t *a, size_t a_row, uint32_t turned,
                       const char *b, __m256i (*sum)[PARTS])
{
    const __m256i u = load(b), v = load(b + VECTOR), turn = _mm256_set1_epi32((int32_t)turned);
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
        const __m256i x = _mm256_xor_si256(four_of(a + i * a_row), turn);
        sum[i][0] = add_pairs(sum[i][0], _mm256_maddubs_epi16(x, u));
        sum[i][1] = add_pairs(sum[i][1], _mm256_maddubs_epi16(x, v));
    }
}

/* A couple of tight fours. */
INLINE void coupled_step(const unsigned rows, const uint8_t *a, size_t a_row, const uint32_t *at,
                         const char *b, __m256i (*sum)[PARTS])
{
    const __m256i turn = _mm256_set1_epi32((int32_t)at[1]);
    const __m256i turn_other = _mm256_set1_epi32((int32_t)at[3]);
    const uint8_t *one = a + at[0], *other = a + at[2];
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++, one += a_row, other += a_row) {
        const __m256i x = _mm256_xor_si256(four_of(one), turn);
        const __m256i y = _mm256_xor_si256(four_of(other), turn_other);
#pragma GCC unroll 2
        for (unsigned k = 0; k < PARTS; k++) {
            const __m256i pairs = pairs_at(x, b + k * VECTOR);
            sum[i][k] =
                add_pairs(sum[i][k], _mm256_add_epi16(pairs, pairs_at(y, b + QUAD + k * VECTOR)));
        }
    }
}

/* What turns bytes to a - 128, or for negative weights to 127 - a. */
INLINE __m256i turn_of(__m256i weights)
{
    const __m256i negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), weights);
    return _mm256_xor_si256(negative, _mm256_set1_epi8(INT8_MIN));
}

/* A four by its weights' sizes: of each product the byte has the sign. */
INLINE void sized_step(const unsigned rows, const uint8_t *a, size_t a_row, const char *b,
                       __m256i (*sum)[PARTS])
{
    const __m256i w[PARTS] = {load(b), load(b + VECTOR)};
    const __m256i turn[PARTS] = {turn_of(w[0]), turn_of(w[1])};
    const __m256i size[PARTS] = {_mm256_abs_epi8(w[0]), _mm256_abs_epi8(w[1])};
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
        const __m256i x = four_of(a + i * a_row);
#pragma GCC unroll 2
        for (unsigned k = 0; k < PARTS; k++)
            sum[i][k] =
                add_pairs(sum[i][k], _mm256_maddubs_epi16(size[k], _mm256_xor_si256(x, turn[k])));
    }
}

/* A panel. */
struct panel {
    const uint32_t *at, *coupled, *tight,
        *end; /* of its fours: coupled and other tight ones, others */
    const char *weights;
    __m256i first[PARTS]; /* sums to begin with */
    /* Where sums become bytes: */
    struct ends ends;
    __m256 scale[PARTS];
};

static void find_fours(struct panel *p, const char *packed, size_t n)
{
    const uint32_t *counts = (const uint32_t *)(const void *)packed;
    const int32_t *first = ox_integer_first(packed, n);
    p->at = counts + OX_INTEGER_COUNTS;
    p->tight = p->at + (size_t)2 * counts[0];
    p->coupled = p->at + (size_t)2 * counts[1];
    p->end = p->tight + n - counts[0];
    p->weights = (const char *)(first + COLS);
    for (unsigned k = 0; k < PARTS; k++)
        p->first[k] = load(first + k * LANES);
}

/* What makes bytes of n columns' sums. */
static void find_end(struct panel *p, const struct ox_integer_end *end, size_t at, size_t n)
{
    int32_t offset[COLS] = {0};
    float scale[COLS] = {0};
    if (end->offset)
        memcpy(offset, end->offset + at, n * sizeof *offset);
    memcpy(scale, end->scale + at, n * sizeof *scale);
    for (unsigned k = 0; k < PARTS; k++) {
        p->first[k] = _mm256_add_epi32(p->first[k], load(offset + k * LANES));
        p->scale[k] = _mm256_loadu_ps(scale + k * LANES);
    }
}

/* A row alone takes weights faster than the processor would fetch them. */
INLINE void fetch_ahead(const unsigned rows, const char *b)
{
    enum { AHEAD = 2048 };
    if (rows == 1)
        _mm_prefetch(b + AHEAD, _MM_HINT_T0);
}

INLINE void sum_up(const struct panel *p, const unsigned rows, const uint8_t *a, size_t a_row,
                   __m256i (*sum)[PARTS])
{
    const uint32_t *at = p->at, *const coupled = p->coupled, *const tight = p->tight;
    const uint32_t *const end = p->end;
    const char *b = p->weights;
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
        sum[i][0] = p->first[0];
        sum[i][1] = p->first[1];
    }
    for (; at < coupled; at += 4, b += 2 * QUAD) {
        fetch_ahead(rows, b);
        fetch_ahead(rows, b + QUAD);
        coupled_step(rows, a, a_row, at, b, sum);
    }
    for (; at < tight; at += 2, b += QUAD)
        tight_step(rows, a + at[0], a_row, at[1], b, sum);
    for (; at < end; at++, b += QUAD)
        sized_step(rows, a + at[0], a_row, b, sum);
}

/* Two rows. */
INLINE __m256i leave_two(const struct panel *p, __m256i (*sum)[PARTS], const unsigned next)
{
    const __m256i whole[2 * PARTS] = {whole_of(&p->ends, sum[0][0], p->scale[0]),
                                      whole_of(&p->ends, sum[0][1], p->scale[1]),
                                      whole_of(&p->ends, sum[next][0], p->scale[0]),
                                      whole_of(&p->ends, sum[next][1], p->scale[1])};
    return _mm256_permutevar8x32_epi32(bytes_of(&p->ends, whole),
                                       _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

INLINE void store_sixteen(uint8_t *out, __m128i x, const bool whole, size_t n)
{
    if (whole)
        _mm_storeu_si128((__m128i *)(void *)out, x);
    else
        memcpy(out, &x, n);
}

INLINE void tile_to_bytes(const struct panel *p, const unsigned rows, const uint8_t *a,
                          size_t a_row, const bool whole, size_t n, uint8_t *out, size_t out_row)
{
    __m256i sum[ROWS][PARTS];
    sum_up(p, rows, a, a_row, sum);
    /* What the end needs is read from memory again: kept in registers it would be stored and read around each loop above. */
    __asm__ volatile("" : : "r"(p) : "memory");
#pragma GCC unroll 2
    for (unsigned i = 0; i < rows; i += 2, out += 2 * out_row) {
        const bool both = i + 1 < rows;
        const __m256i two = leave_two(p, sum + i, both);
        store_sixteen(out, _mm256_castsi256_si128(two), whole, n);
        if (both)
            store_sixteen(out + out_row, _mm256_extracti128_si256(two, 1), whole, n);
    }
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
    for (; left > 0; left--, a += a_row, out += out_row)
        tile_to_bytes(p, 1, a, a_row, whole, n, out, out_row);
}

INLINE void tile_to_sums(const struct panel *p, const unsigned rows, const uint8_t *a, size_t a_row,
                         int32_t *sums, size_t ld)
{
    __m256i sum[ROWS][PARTS];
    sum_up(p, rows, a, a_row, sum);
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++, sums += ld) {
        _mm256_storeu_si256((__m256i *)(void *)sums, sum[i][0]);
        _mm256_storeu_si256((__m256i *)(void *)(sums + LANES), sum[i][1]);
    }
}

static void to_sums(const struct ox_integer_mixed *m, const struct panel *p, size_t at)
{
    size_t i = 0;
    for (; i + ROWS <= m->rows; i += ROWS)
        tile_to_sums(p, ROWS, m->a + i * m->a_row, m->a_row, m->sums + i * m->ld + at, m->ld);
    for (; i < m->rows; i++)
        tile_to_sums(p, 1, m->a + i * m->a_row, m->a_row, m->sums + i * m->ld + at, m->ld);
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

void ox_integer_mixed_avx2(struct ox_integer *t)
{
    t->mixed = mixed;
}
