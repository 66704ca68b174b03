/* What sums up a tile of six rows by two vectors of columns, for AVX-VNNI. Not integer_tmpl.h: with half as many registers a loop that
 * stands there again for what is left of a depth moves its sums about. The includer defines DOT, the instruction. */
#include <immintrin.h>
#include <string.h>

#include "kernels/inline.h"
#include "kernels/integer.h"

enum { ROWS = 6, LANES = 8, PARTS = 2, COLS = PARTS * LANES, QUAD = 4 * COLS, AHEAD = 1024 };

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

#ifdef OX_EMULATE_DOT /* lib/tests */
#define dot(sum, x, weights) OX_EMULATE_DOT(sum, x, weights)
#else
/* Compilers move the intrinsic's sums about. */
INLINE __m256i dot(__m256i sum, __m256i x, __m256i weights)
{
    __asm__("%{vex%} " DOT " %2, %1, %0" : "+x"(sum) : "x"(x), "x"(weights));
    return sum;
}
#endif

/* Four bytes over and over. */
INLINE __m256i four_of(const uint8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}

INLINE void step(const unsigned rows, const unsigned parts, const uint8_t *const *a, size_t p,
                 const char *b, __m256i (*sum)[PARTS])
{
    const __m256i u = load(b), v = parts > 1 ? load(b + sizeof u) : u;
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        const __m256i x = four_of(a[i] + p);
        sum[i][0] = dot(sum[i][0], x, u);
        if (parts > 1)
            sum[i][1] = dot(sum[i][1], x, v);
    }
}

/* What is left of the depth, of each row a four; bytes past the end are not read. */
static void copy_rest(const struct ox_integer_tile *t, const uint8_t *const *segment,
                      uint8_t (*rest)[4])
{
    const size_t whole = t->depth / 4 * 4;
    for (unsigned i = 0; i < t->rows; i++) {
        memset(rest[i], 0, sizeof *rest);
        memcpy(rest[i], segment[i] + whole, t->depth - whole);
    }
}

/* sum[][] hold what they begin with. */
INLINE void sum_up(const struct ox_integer_tile *t, const unsigned rows, const unsigned parts,
                   __m256i (*sum)[PARTS])
{
    const size_t whole = t->depth / 4 * 4;
    uint8_t rest[ROWS][4];
    const char *b = t->b;
    bool begins = whole > 0;
    for (size_t s = 0; s < t->segments;) {
        const uint8_t *const *segment = t->a + s * ROWS;
        const uint8_t *a[ROWS];
        const size_t n = begins ? whole : 4;
        if (!begins)
            copy_rest(t, segment, rest);
#pragma GCC unroll 6
        for (unsigned i = 0; i < rows; i++)
            a[i] = begins ? segment[i] : rest[i];
        for (size_t p = 0; p < n; p += 4, b += QUAD) {
            _mm_prefetch(b + AHEAD, _MM_HINT_T0);
            step(rows, parts, a, p, b, sum);
        }
        begins = begins ? whole == t->depth : whole > 0;
        s += begins || whole == 0;
    }
}

/* The sums as they are. */
INLINE void put_sums(const struct ox_integer_tile *t, const unsigned rows, const unsigned parts,
                     __m256i (*sum)[PARTS])
{
    int32_t *c = t->c;
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++, c += t->ldc) {
        int32_t part[COLS];
        int32_t *to = t->cols < parts * LANES ? part : c;
        _mm256_storeu_si256((__m256i *)(void *)to, sum[i][0]);
        if (parts > 1)
            _mm256_storeu_si256((__m256i *)(void *)(to + LANES), sum[i][1]);
        if (to == part)
            memcpy(c, part, t->cols * sizeof *c);
    }
}

/* name(), by of(t, rows, parts). */
#define OF_ROWS(name, of, n)                                                                       \
    static void name##_##n(const struct ox_integer_tile *t)                                        \
    {                                                                                              \
        if (t->cols > LANES)                                                                       \
            of(t, n, PARTS);                                                                       \
        else                                                                                       \
            of(t, n, 1);                                                                           \
    }
#define BY_ROWS(name, of)                                                                          \
    OF_ROWS(name, of, 1)                                                                           \
    OF_ROWS(name, of, 2)                                                                           \
    OF_ROWS(name, of, 3)                                                                           \
    OF_ROWS(name, of, 4)                                                                           \
    OF_ROWS(name, of, 5)                                                                           \
    OF_ROWS(name, of, 6)                                                                           \
    static void name(const struct ox_integer_tile *t)                                              \
    {                                                                                              \
        static void (*const by_rows[ROWS])(const struct ox_integer_tile *t) = {                    \
            name##_1, name##_2, name##_3, name##_4, name##_5, name##_6};                           \
        by_rows[t->rows - 1](t);                                                                   \
    }
