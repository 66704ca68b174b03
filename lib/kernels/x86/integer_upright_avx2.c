/* Rows of bytes by panels of UPRIGHT, for AVX2: eight rows in a vector, up to seven vectors of them by one column's weights at a time. Pairs'
 * products of a group are added up in 16 bits before they are widened, so that two operations of a four's three are shared. */
#include "kernels/sizes.h"
#include "kernels/x86/integer_end_avx2.h"

enum {
    LANES = OX_INTEGER_UPRIGHT_LANES,
    VECTOR = 32,
    VECTORS = OX_INTEGER_UPRIGHT_ROWS / LANES,
    COLS = OX_INTEGER_MIXED_COLS,
    FEW = 4, /* vectors of many rows, which go by weights that are near */
    SIZE = OX_INTEGER_UPRIGHT_SIZE,
    FOUR = OX_INTEGER_UPRIGHT_FOUR
};

#define IV __m256i

INLINE IV iv_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void iv_store(void *p, IV x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}

/* ---- Laying -------------------------------------------------------------------------------------------------------- */

/* Four fours of rows i and i + 4. */
INLINE IV two_rows(const uint8_t *const *rows, unsigned i, size_t p)
{
    const __m128i one = _mm_loadu_si128((const __m128i *)(const void *)(rows[i] + p));
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(one),
        _mm_loadu_si128((const __m128i *)(const void *)(rows[i + 4] + p)), 1);
}

/* Four by four of each half: vector q holds the q-th of each x. */
INLINE void turn(const IV *x, IV *y)
{
    const IV a = _mm256_unpacklo_epi32(x[0], x[1]), b = _mm256_unpacklo_epi32(x[2], x[3]);
    const IV c = _mm256_unpackhi_epi32(x[0], x[1]), d = _mm256_unpackhi_epi32(x[2], x[3]);
    y[0] = _mm256_unpacklo_epi64(a, b);
    y[1] = _mm256_unpackhi_epi64(a, b);
    y[2] = _mm256_unpacklo_epi64(c, d);
    y[3] = _mm256_unpackhi_epi64(c, d);
}

static void lay_eight(const uint8_t *const *rows, size_t depth, char *out)
{
    size_t p = 0;
    for (; p + 16 <= depth; p += 16, out += 4 * FOUR) {
        const IV x[4] = {two_rows(rows, 0, p), two_rows(rows, 1, p), two_rows(rows, 2, p),
                         two_rows(rows, 3, p)};
        IV y[4];
        turn(x, y);
#pragma GCC unroll 4
        for (unsigned q = 0; q < 4; q++)
            iv_store(out + q * FOUR, y[q]);
    }
    for (; p < depth; p += 4, out += FOUR) {
        for (unsigned i = 0; i < LANES; i++)
            memcpy(out + 4 * i, rows[i] + p, 4);
    }
}

static void upright_lay(const struct ox_integer_mixed *m, void *out)
{
    for (size_t i = 0; i < m->rows; i += LANES) {
        const uint8_t *rows[LANES];
        for (size_t l = 0; l < LANES; l++)
            rows[l] = m->a + (i + l < m->rows ? i + l : m->rows - 1) * m->a_row;
        lay_eight(rows, m->depth, (char *)out + i * sizeof(int32_t));
    }
}

/* ---- Products ------------------------------------------------------------------------------------------------------ */

static const int16_t ones_in_memory[VECTOR / 2] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* Seven vectors take all registers: ones are read then. */
INLINE IV add_pairs(const unsigned vectors, IV sum, IV words, IV ones)
{
    IV pairs;
    if (vectors < VECTORS)
        return _mm256_add_epi32(sum, _mm256_madd_epi16(words, ones));
    __asm__("vpmaddwd %2, %1, %0"
            : "=x"(pairs)
            : "x"(words), "m"(*(const IV *)(const void *)ones_in_memory));
    return _mm256_add_epi32(sum, pairs);
}

/* What is read next of a block. */
struct entries {
    const uint32_t *weights;
    const uint16_t *at;
};

/* n groups of so many fours. */
INLINE void add_groups(const unsigned vectors, const unsigned size, unsigned n, const char *a,
                       IV ones, struct entries *e, IV *sum)
{
    const uint32_t *weights = e->weights;
    const uint16_t *at = e->at;
    for (; n > 0; n--, weights += size, at += size) {
        IV words[VECTORS];
#pragma GCC unroll 4
        for (unsigned g = 0; g < size; g++) {
            const IV w = _mm256_set1_epi32((int32_t)weights[g]);
            const char *p = a + at[g];
#pragma GCC unroll 7
            for (unsigned v = 0; v < vectors; v++) {
                const IV x = _mm256_maddubs_epi16(iv_load(p + v * VECTOR), w);
                words[v] = g ? _mm256_add_epi16(words[v], x) : x;
                /* Else products are formed first and added later, for which there are no registers. */
                __asm__ volatile("" : "+x"(words[v]));
            }
        }
#pragma GCC unroll 7
        for (unsigned v = 0; v < vectors; v++)
            sum[v] = add_pairs(vectors, sum[v], words[v], ones);
    }
    e->weights = weights;
    e->at = at;
}

/* As many bytes as a column's n entries have, of what comes some columns later: streams are too short for the processor to see them. */
INLINE void fetch_ahead(const struct entries *e, unsigned n)
{
    enum { WEIGHTS = 2048, AT = 1024, LINE = 64 };
    for (unsigned i = 0; i < n * sizeof *e->weights; i += LINE)
        _mm_prefetch((const char *)e->weights + WEIGHTS + i, _MM_HINT_T0);
    for (unsigned i = 0; i < n * sizeof *e->at; i += LINE)
        _mm_prefetch((const char *)e->at + AT + i, _MM_HINT_T0);
}

/* A panel's sums, column by column. */
struct sums {
    int32_t at[COLS][OX_INTEGER_UPRIGHT_ROWS];
};

INLINE void add_block(const unsigned vectors, const struct ox_integer_upright_head *head,
                      const char *a, struct sums *sums)
{
    IV ones = _mm256_set1_epi16(1);
    struct entries e = {(const uint32_t *)(const void *)(head + 1), NULL};
    if (vectors < VECTORS)
        __asm__("" : "+x"(ones)); /* stays in a register */
    e.at = (const uint16_t *)(const void *)(e.weights + head->n);
    for (unsigned j = 0; j < COLS; j++) {
        const uint8_t *groups = head->groups[j];
        IV sum[VECTORS];
        if (vectors > FEW)
            fetch_ahead(&e, 4U * groups[0] + 3U * groups[1] + 2U * groups[2]);
#pragma GCC unroll 7
        for (unsigned v = 0; v < vectors; v++)
            sum[v] = iv_load(sums->at[j] + v * LANES);
        add_groups(vectors, 4, groups[0], a, ones, &e, sum);
        add_groups(vectors, 3, groups[1], a, ones, &e, sum);
        add_groups(vectors, 2, groups[2], a, ones, &e, sum);
#pragma GCC unroll 7
        for (unsigned v = 0; v < vectors; v++)
            iv_store(sums->at[j] + v * LANES, sum[v]);
    }
}

#define BY_VECTORS(n)                                                                              \
    static void add_block_##n(const struct ox_integer_upright_head *head, const char *a,           \
                              struct sums *sums)                                                   \
    {                                                                                              \
        add_block(n, head, a, sums);                                                               \
    }
BY_VECTORS(1)
BY_VECTORS(2)
BY_VECTORS(3)
BY_VECTORS(4)
BY_VECTORS(5)
BY_VECTORS(6)
BY_VECTORS(7)
#undef BY_VECTORS

static void (*const add_by_vectors[VECTORS])(const struct ox_integer_upright_head *head,
                                             const char *a, struct sums *sums) = {
    add_block_1, add_block_2, add_block_3, add_block_4, add_block_5, add_block_6, add_block_7};

static const struct ox_integer_upright_head *next_block(const struct ox_integer_upright_head *head)
{
    const uint32_t words = head->n + (head->n + 1) / 2;
    return (const struct ox_integer_upright_head *)(const void *)((const uint32_t *)(head + 1) +
                                                                  words);
}

static void add_blocks(const struct ox_integer_mixed *m, const char *panel, struct sums *sums)
{
    const size_t fours = m->depth / 4, step = ox_integer_upright_block(fours);
    const struct ox_integer_upright_head *head = (const void *)(panel + sizeof(uint32_t));
    const char *a = (const char *)m->a;
    for (size_t q = 0; q < fours; q += step, a += step * FOUR, head = next_block(head))
        add_by_vectors[(m->rows - 1) / LANES](head, a, sums);
}

/* ---- Ends ---------------------------------------------------------------------------------------------------------- */

static void start(struct sums *sums, const int32_t *offset, size_t n)
{
    for (size_t j = 0; j < COLS; j++) {
        const IV first = _mm256_set1_epi32(offset && j < n ? offset[j] : 0);
        for (unsigned v = 0; v < VECTORS; v++)
            iv_store(sums->at[j] + v * LANES, first);
    }
}

/* What makes bytes of a panel's sums; columns that there are not have scales of 0. */
struct panel_end {
    struct ends ends;
    float scale[COLS], fraction[COLS];
    bool fractions;
};

static struct panel_end find_end(const struct ox_integer_end *end, size_t at, size_t n)
{
    struct panel_end e = {.ends = ends_of(end), .fractions = end->fraction};
    memcpy(e.scale, end->scale + at, n * sizeof *e.scale);
    if (end->fraction)
        memcpy(e.fraction, end->fraction + at, n * sizeof *e.fraction);
    return e;
}

/* Eight rows' bytes of four columns: a row's in each dword. */
INLINE IV four_columns(const struct panel_end *e, const struct sums *sums, size_t j, size_t row,
                       const bool fractions)
{
    const IV order = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8,
                                      12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    IV whole[4];
#pragma GCC unroll 4
    for (unsigned c = 0; c < 4; c++) {
        const __m256 fraction = _mm256_set1_ps(e->fraction[j + c]);
        whole[c] = whole_of(&e->ends,
                            floats_of(iv_load(sums->at[j + c] + row), fractions ? &fraction : NULL),
                            _mm256_set1_ps(e->scale[j + c]));
    }
    return _mm256_shuffle_epi8(bytes_of(&e->ends, whole), order);
}

INLINE void leave_bytes(const struct panel_end *e, const struct sums *sums, size_t rows,
                        const bool fractions, const bool whole, size_t n, uint8_t *out,
                        size_t out_row)
{
    for (size_t i = 0; i < rows; i += LANES, out += LANES * out_row) {
        IV x[4], y[4];
        __m128i row[LANES];
#pragma GCC unroll 4
        for (unsigned q = 0; q < 4; q++)
            x[q] = four_columns(e, sums, 4 * q, i, fractions);
        turn(x, y);
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++) {
            row[r] = _mm256_castsi256_si128(y[r]);
            row[r + 4] = _mm256_extracti128_si256(y[r], 1);
        }
        for (size_t r = 0; r < ox_least(LANES, rows - i); r++)
            store_row(out + r * out_row, row[r], whole, n);
    }
}

static void put_bytes(const struct ox_integer_mixed *m, size_t at, size_t n,
                      const struct sums *sums)
{
    const struct panel_end e = find_end(m->end, at, n);
    uint8_t *out = (uint8_t *)m->out + at;
    if (n < COLS)
        leave_bytes(&e, sums, m->rows, e.fractions, false, n, out, m->out_row);
    else if (e.fractions)
        leave_bytes(&e, sums, m->rows, true, true, COLS, out, m->out_row);
    else
        leave_bytes(&e, sums, m->rows, false, true, COLS, out, m->out_row);
}

/* Rows of sums, of eight columns at a time. */
static void put_sums(const struct ox_integer_mixed *m, size_t at, const struct sums *sums)
{
    for (size_t j = 0; j < COLS; j += LANES) {
        for (size_t i = 0; i < m->rows; i += LANES) {
            const int32_t *from = sums->at[j] + i;
            int32_t *to = m->sums + i * m->ld + at + j;
            enum { NEXT = OX_INTEGER_UPRIGHT_ROWS };
            IV low[4], high[4], x[4];
            for (unsigned c = 0; c < 4; c++)
                x[c] = iv_load(from + c * NEXT);
            turn(x, low);
            for (unsigned c = 0; c < 4; c++)
                x[c] = iv_load(from + (c + 4) * NEXT);
            turn(x, high);
            for (size_t r = 0; r < ox_least(LANES, m->rows - i); r++)
                iv_store(to + r * m->ld,
                         r < 4 ? _mm256_permute2x128_si256(low[r], high[r], 0x20)
                               : _mm256_permute2x128_si256(low[r - 4], high[r - 4], 0x31));
        }
    }
}

static void upright(const struct ox_integer_mixed *m)
{
    const char *panel = m->b;
    for (size_t at = 0; at < m->n; at += COLS, panel += m->panel) {
        const size_t n = ox_least(COLS, m->n - at);
        struct sums sums;
        start(&sums, m->end && m->end->offset ? m->end->offset + at : NULL, n);
        add_blocks(m, panel, &sums);
        if (m->end)
            put_bytes(m, at, n, &sums);
        else
            put_sums(m, at, &sums);
    }
}

void ox_integer_upright_avx2(struct ox_integer *t)
{
    t->upright_lay = upright_lay;
    t->upright = upright;
}
