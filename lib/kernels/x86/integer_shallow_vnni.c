/* Products of few bytes, whose sums become bytes before they leave the registers: writing them to memory and reading them again would
 * take longer than forming them. */
#include <string.h>

#include "kernels/x86/integer_end_avx512.h"

enum { LANES = 16, PARTS = 4, COLS = LANES * PARTS, LINE = 4 * 32, PANEL = 32, SUMS = 4 * PARTS };

/* What all rows of up to 64 columns share; of up to 32 or 16 columns two or four rows leave together. */
struct columns {
    __mmask64 mask;
    __m512i offset[PARTS];
    __m512 scale[PARTS], fraction[PARTS];
    bool fractions,
        near; /* sums have the bits of a float, and times scales of at most a quarter those of 22 */
    const char *weights[PARTS];
};

static struct columns columns_at(const struct ox_integer_shallow *s, size_t at)
{
    const struct ox_integer_end *end = s->end;
    const size_t n = s->n - at < COLS ? s->n - at : COLS;
    struct columns c = {.mask = n < COLS ? ((__mmask64)1 << n) - 1 : ~(__mmask64)0};
    __m512i far = _mm512_setzero_si512(), scales = far;
    for (unsigned k = 0; k < PARTS; k++) {
        const size_t j = at + k * LANES;
        const __mmask16 mask = (__mmask16)(c.mask >> k * LANES);
        c.offset[k] = end->offset && mask ? _mm512_maskz_loadu_epi32(mask, end->offset + j)
                                          : _mm512_setzero_si512();
        c.scale[k] = mask ? _mm512_maskz_loadu_ps(mask, end->scale + j) : _mm512_setzero_ps();
        c.fraction[k] = end->fraction && mask ? _mm512_maskz_loadu_ps(mask, end->fraction + j)
                                              : _mm512_setzero_ps();
        scales =
            _mm512_max_epu32(scales, _mm512_castps_si512(c.scale[k])); /* -x and NaN have more */
        far = _mm512_or_si512(far, _mm512_abs_epi32(c.offset[k]));
        c.weights[k] = (const char *)s->b + j / PANEL * s->panel + j % PANEL * sizeof(int32_t);
    }
    c.fractions = end->fraction;
    c.near = !_mm512_cmpge_epu32_mask(far, _mm512_set1_epi32(1 << 23)) &&
             !_mm512_cmpgt_epu32_mask(scales, _mm512_castps_si512(_mm512_set1_ps(0.25F)));
    return c;
}

/* As many rows as fill a vector, or `rows` that there are of them, of bytes in order. */
static inline __attribute__((always_inline)) void put(const struct ox_integer_shallow *s,
                                                      const struct ends *e, const struct columns *c,
                                                      const unsigned parts, const __m512i *whole,
                                                      size_t rows, uint8_t *out)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes = _mm512_permutexvar_epi32(order, bytes_of(e, whole));
#pragma GCC unroll 4
    for (unsigned r = 0; r < PARTS; r++) {
        const unsigned width = r * parts * LANES;
        if (width < COLS && r < rows)
            _mm512_mask_storeu_epi8(out + r * s->out_row - width, c->mask << width, bytes);
    }
}

/* Of sums that have fractions, or more bits than a float; apart, for what is not used here costs the others registers. */
static __attribute__((noinline)) void leave_others(const struct ox_integer_shallow *s,
                                                   const struct columns *c, unsigned parts,
                                                   size_t most, const __m512i *sums, size_t rows,
                                                   uint8_t *out)
{
    const struct ends e = ends_of(s->end);
    const unsigned together = PARTS / parts;
    for (size_t i = 0; i < most && i < rows; i += together, sums += PARTS) {
        __m512i whole[PARTS];
        for (unsigned k = 0; k < PARTS; k++) {
            const __m512 scale = c->scale[k % parts], fraction = c->fraction[k % parts];
            whole[k] = c->near ? near_of(&e, floats_of(sums[k], &fraction), scale)
                               : whole_in_double(&e, sums[k], fraction, scale);
        }
        put(s, &e, c, parts, whole, rows - i, out + i * s->out_row);
    }
}

static inline __attribute__((always_inline)) void
leave(const struct ox_integer_shallow *s, const struct ends *e, const struct columns *c,
      const unsigned parts, const __m512i *sums, size_t rows, uint8_t *out)
{
    __m512i whole[PARTS];
#pragma GCC unroll 4
    for (unsigned k = 0; k < PARTS; k++)
        whole[k] = near_of(e, floats_of(sums[k], NULL), c->scale[k % parts]);
    put(s, e, c, parts, whole, rows, out);
}

static inline __m512i four_of(const uint8_t *a)
{
    int32_t four;
    memcpy(&four, a, sizeof four);
    return _mm512_set1_epi32(four);
}

static inline __attribute__((always_inline)) void block_of(const struct ox_integer_shallow *s,
                                                           const struct ends *e, size_t at,
                                                           const size_t fours, const unsigned parts)
{
    const struct columns c = columns_at(s, at);
    enum { ROWS_MOST = SUMS / 2 };
    const unsigned n_sums = parts == PARTS ? SUMS : SUMS / 2, rows = n_sums / parts,
                   together = PARTS / parts;
    uint8_t *out = (uint8_t *)s->out + at;
    for (size_t i = 0; i < s->rows; i += rows, out += rows * s->out_row) {
        const size_t left = s->rows - i;
        const uint8_t *a[ROWS_MOST];
        __m512i x[SUMS];
#pragma GCC unroll 16
        for (unsigned r = 0; r < rows; r++)
            a[r] = s->a + (r < left ? i + r : i) * s->a_row;
#pragma GCC unroll 16
        for (unsigned k = 0; k < n_sums; k++)
            x[k] = c.offset[k % parts];
#pragma GCC unroll 8
        for (size_t q = 0; q < fours; q++) {
#pragma GCC unroll 16
            for (unsigned k = 0; k < n_sums; k++)
                x[k] = _mm512_dpbusd_epi32(x[k], four_of(a[k / parts] + 4 * q),
                                           _mm512_loadu_si512(c.weights[k % parts] + q * LINE));
        }
        if (__builtin_expect(!c.near || c.fractions, 0)) {
            __m512i all[SUMS];
#pragma GCC unroll 16
            for (unsigned k = 0; k < n_sums; k++)
                all[k] = x[k];
            leave_others(s, &c, parts, rows, all, left, out);
            continue;
        }
        leave(s, e, &c, parts, x, left, out);
        if (left > together)
            leave(s, e, &c, parts, x + PARTS, left - together, out + together * s->out_row);
        if (parts == PARTS && left > 2)
            leave(s, e, &c, parts, x + 2 * PARTS, left - 2, out + 2 * s->out_row);
        if (parts == PARTS && left > 3)
            leave(s, e, &c, parts, x + 3 * PARTS, left - 3, out + 3 * s->out_row);
    }
}

static inline __attribute__((always_inline)) void of_depth(const struct ox_integer_shallow *s,
                                                           const struct ends *e, const size_t fours)
{
    size_t j = 0;
    for (; j + COLS / 2 < s->n; j += COLS)
        block_of(s, e, j, fours, PARTS);
    if (j + LANES < s->n)
        block_of(s, e, j, fours, PARTS / 2);
    else if (j < s->n)
        block_of(s, e, j, fours, 1);
}

static void shallow(const struct ox_integer_shallow *s)
{
    const struct ends e = ends_of(s->end);
    if (s->depth == 16)
        of_depth(s, &e, 4);
    else if (s->depth == 28)
        of_depth(s, &e, 7);
    else if (s->depth == 32)
        of_depth(s, &e, 8);
    else
        of_depth(s, &e, s->depth / 4);
}

void ox_integer_shallow_vnni(struct ox_integer *t)
{
    t->shallow = shallow;
}
