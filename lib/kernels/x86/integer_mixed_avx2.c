/* Rows of bytes by panels of MIXED, for AVX2: four rows by sixteen columns, whose sums stay in registers until they are bytes. */
#include <string.h>

#include "kernels/x86/integer_end_avx2.h"

enum {
    ROWS = OX_INTEGER_MIXED_ROWS,
    LANES = 8,
    PARTS = 2,
    COLS = LANES * PARTS,
    VECTOR = 32,
    QUAD = PARTS * VECTOR
};
#define INLINE static inline __attribute__((always_inline))

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

/* A four by its weights' sizes: of each product the byte has the sign. */
INLINE void sized_step(const unsigned rows, const uint8_t *a, size_t a_row, const char *b,
                       __m256i (*sum)[PARTS])
{
    const __m256i u = load(b), v = load(b + VECTOR);
    const __m256i turn_u = load(b + QUAD), turn_v = load(b + QUAD + VECTOR);
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
        const __m256i x = four_of(a + i * a_row);
        sum[i][0] = add_pairs(sum[i][0], _mm256_maddubs_epi16(u, _mm256_xor_si256(x, turn_u)));
        sum[i][1] = add_pairs(sum[i][1], _mm256_maddubs_epi16(v, _mm256_xor_si256(x, turn_v)));
    }
}

INLINE void sum_up(const struct ox_integer_mixed *m, const unsigned rows, const uint8_t *a,
                   const char *panel, const __m256i *first, __m256i (*sum)[PARTS])
{
    const size_t n = m->depth / 4, a_row = m->a_row;
    const uint32_t *at = (const uint32_t *)(const void *)panel;
    const uint32_t *const tight = at + OX_INTEGER_COUNTS + 2 * at[0], *const end =
                                                                          tight + n - at[0];
    const char *b = panel + ox_integer_head(n) + COLS * sizeof(int32_t);
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
        sum[i][0] = first[0];
        sum[i][1] = first[1];
    }
    for (at += OX_INTEGER_COUNTS; at < tight; at += 2, b += QUAD)
        tight_step(rows, a + at[0], a_row, at[1], b, sum);
    for (; at < end; at++, b += 2 * QUAD)
        sized_step(rows, a + at[0], a_row, b, sum);
}

/* What is the same for all rows of a panel. */
struct columns {
    const struct ends *ends;
    size_t n;
    __m256i first[PARTS]; /* sums to begin with */
    __m256 scale[PARTS];
};

INLINE void leave(const struct columns *c, const unsigned rows, __m256i (*sum)[PARTS], uint8_t *out,
                  size_t out_row)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
#pragma GCC unroll 2
    for (unsigned i = 0; i < rows; i += 2) {
        const unsigned last = i + 1 < rows ? i + 1 : i;
        const __m256i whole[2 * PARTS] = {whole_of(c->ends, sum[i][0], c->scale[0]),
                                          whole_of(c->ends, sum[i][1], c->scale[1]),
                                          whole_of(c->ends, sum[last][0], c->scale[0]),
                                          whole_of(c->ends, sum[last][1], c->scale[1])};
        const __m256i two = _mm256_permutevar8x32_epi32(bytes_of(c->ends, whole), order);
        const __m128i one = _mm256_castsi256_si128(two), next = _mm256_extracti128_si256(two, 1);
        if (c->n == COLS) {
            _mm_storeu_si128((__m128i *)(void *)(out + i * out_row), one);
            _mm_storeu_si128((__m128i *)(void *)(out + last * out_row), next);
        } else {
            memcpy(out + i * out_row, &one, c->n);
            memcpy(out + last * out_row, &next, c->n);
        }
    }
}

INLINE void tile(const struct ox_integer_mixed *m, const unsigned rows, size_t i, const char *panel,
                 const struct columns *c, size_t at)
{
    __m256i sum[ROWS][PARTS];
    sum_up(m, rows, m->a + i * m->a_row, panel, c->first, sum);
    if (m->end) {
        leave(c, rows, sum, (uint8_t *)m->out + i * m->out_row + at, m->out_row);
        return;
    }
    int32_t *to = m->sums + i * m->ld + at;
#pragma GCC unroll 4
    for (unsigned r = 0; r < rows; r++, to += m->ld) {
        _mm256_storeu_si256((__m256i *)(void *)to, sum[r][0]);
        _mm256_storeu_si256((__m256i *)(void *)(to + LANES), sum[r][1]);
    }
}

static struct columns columns_at(const struct ox_integer_mixed *m, const struct ends *ends,
                                 const char *panel, size_t at)
{
    const size_t n = m->n - at < COLS ? m->n - at : COLS;
    struct columns c = {.ends = ends, .n = n};
    int32_t offset[COLS] = {0};
    float scale[COLS] = {0};
    if (m->end && m->end->offset)
        memcpy(offset, m->end->offset + at, n * sizeof *offset);
    if (m->end)
        memcpy(scale, m->end->scale + at, n * sizeof *scale);
    const int32_t *first = ox_integer_first(panel, m->depth / 4);
    for (unsigned k = 0; k < PARTS; k++) {
        c.first[k] = _mm256_add_epi32(load(first + k * LANES), load(offset + k * LANES));
        c.scale[k] = _mm256_loadu_ps(scale + k * LANES);
    }
    return c;
}

static void mixed(const struct ox_integer_mixed *m)
{
    const struct ends ends = m->end ? ends_of(m->end) : (struct ends){0};
    const char *panel = m->b;
    for (size_t at = 0; at < m->n; at += COLS, panel += m->panel) {
        const struct columns c = columns_at(m, &ends, panel, at);
        size_t i = 0;
        for (; i + ROWS <= m->rows; i += ROWS)
            tile(m, ROWS, i, panel, &c, at);
        for (; i < m->rows; i++)
            tile(m, 1, i, panel, &c, at);
    }
}

void ox_integer_mixed_avx2(struct ox_integer *t)
{
    t->mixed = mixed;
}
