/* Rows of 32-bit sums on their way out: columns sixty-four at a time where they become bytes, else sixteen. */
#include "kernels/x86/integer_end_avx512.h"

enum { LANES = 16, PARTS = 4, COLS = LANES * PARTS };

/* What is the same for all rows of up to 64 columns. */
struct columns {
    size_t at;
    const int32_t *weight_zero;
    __mmask16 mask[PARTS];
    __m512i offset[PARTS];
    __m512 scale[PARTS], fraction[PARTS];
};

static inline __mmask16 lanes_of(size_t n)
{
    return n < LANES ? (__mmask16)((1U << n) - 1) : (__mmask16)0xffff;
}

static inline __attribute__((always_inline)) struct columns
columns_at(const struct ox_integer_end *end, size_t at, size_t n, const unsigned parts,
           const bool fractions)
{
    struct columns c = {.at = at, .weight_zero = end->weight_zero};
#pragma GCC unroll 4
    for (unsigned k = 0; k < parts; k++) {
        const size_t j = at + k * LANES;
        c.mask[k] = k + 1 < parts ? (__mmask16)0xffff : lanes_of(n - k * LANES);
        c.offset[k] = end->offset ? _mm512_maskz_loadu_epi32(c.mask[k], end->offset + j)
                                  : _mm512_setzero_si512();
        c.scale[k] =
            end->scale ? _mm512_maskz_loadu_ps(c.mask[k], end->scale + j) : _mm512_setzero_ps();
        c.fraction[k] =
            fractions ? _mm512_maskz_loadu_ps(c.mask[k], end->fraction + j) : _mm512_setzero_ps();
    }
    return c;
}

/* Part k of a row; lanes behind the last column are 0. */
static inline __attribute__((always_inline)) __m512i sums_of(const struct ox_integer_sums *s,
                                                             size_t row, const struct columns *c,
                                                             const unsigned k, const bool zeros)
{
    const size_t j = c->at + k * LANES;
    const __m512i x = _mm512_add_epi32(
        c->offset[k], _mm512_maskz_loadu_epi32(c->mask[k], s->sums + row * s->ld + j));
    if (!zeros)
        return x;
    const __m512i zero = _mm512_maskz_loadu_epi32(c->mask[k], c->weight_zero + j);
    return _mm512_sub_epi32(x, _mm512_mullo_epi32(_mm512_set1_epi32(s->terms[row]), zero));
}

/* Up to 64 columns, in as many parts. A sum whose size has a bit from the 24th on has more bits than a float. */
static inline __attribute__((always_inline)) void
to_bytes(const struct ox_integer_sums *s, const struct ox_integer_end *end, const struct ends *e,
         size_t at, size_t n, const unsigned parts, const bool zeros, const bool fractions)
{
    const struct columns c = columns_at(end, at, n, parts, fractions);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __mmask64 mask = n < COLS ? ((__mmask64)1 << n) - 1 : ~(__mmask64)0;
    uint8_t *out = (uint8_t *)s->out + at;
    for (size_t i = 0; i < s->rows; i++, out += s->out_row) {
        __m512i x[PARTS], whole[PARTS], beyond = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (unsigned k = 0; k < PARTS; k++) {
            whole[k] = _mm512_setzero_si512();
            if (k >= parts)
                continue;
            x[k] = sums_of(s, i, &c, k, zeros);
            beyond = _mm512_or_si512(beyond, _mm512_abs_epi32(x[k]));
            whole[k] = whole_of(e, floats_of(x[k], fractions ? &c.fraction[k] : NULL), c.scale[k]);
        }
        if (__builtin_expect(_mm512_cmpge_epu32_mask(beyond, _mm512_set1_epi32(1 << 24)), 0)) {
#pragma GCC unroll 4
            for (unsigned k = 0; k < parts; k++)
                whole[k] = whole_in_double(e, x[k], c.fraction[k], c.scale[k]);
        }
        _mm512_mask_storeu_epi8(out, mask, _mm512_permutexvar_epi32(order, bytes_of(e, whole)));
    }
}

static inline __attribute__((always_inline)) void all_bytes(const struct ox_integer_sums *s,
                                                            const struct ox_integer_end *end,
                                                            const bool zeros, const bool fractions)
{
    const struct ends e = ends_of(end);
    size_t j = 0;
    for (; j + COLS <= s->n; j += COLS)
        to_bytes(s, end, &e, j, COLS, PARTS, zeros, fractions);
    const size_t left = s->n - j;
    if (left > 2 * LANES)
        to_bytes(s, end, &e, j, left, left > 3 * LANES ? 4 : 3, zeros, fractions);
    else if (left > LANES)
        to_bytes(s, end, &e, j, left, 2, zeros, fractions);
    else if (left)
        to_bytes(s, end, &e, j, left, 1, zeros, fractions);
}

/* Sixteen columns. */
static inline __attribute__((always_inline)) void to_words(const struct ox_integer_sums *s,
                                                           const struct ox_integer_end *end,
                                                           size_t at, const bool zeros)
{
    const struct columns c = columns_at(end, at, s->n - at, 1, false);
    const __m512 lo = _mm512_set1_ps(end->lo_f), hi = _mm512_set1_ps(end->hi_f);
    const __m512 bias = end->bias ? _mm512_maskz_loadu_ps(c.mask[0], end->bias + at)
                                  : _mm512_set1_ps(-0.0F); /* adding it changes nothing */
    int32_t *out = (int32_t *)s->out + at;
    for (size_t i = 0; i < s->rows; i++, out += s->out_row) {
        const __m512i x = sums_of(s, i, &c, 0, zeros);
        if (end->type == OX_INTEGER_I32) {
            _mm512_mask_storeu_epi32(out, c.mask[0], x);
            continue;
        }
        const __m512 y = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(x), c.scale[0]), bias);
        _mm512_mask_storeu_ps(out, c.mask[0], _mm512_min_ps(hi, _mm512_max_ps(lo, y)));
    }
}

static void leave(const struct ox_integer_sums *s, const struct ox_integer_end *end)
{
    const bool bytes = end->type == OX_INTEGER_U8 || end->type == OX_INTEGER_S8;
    if (bytes && end->fraction)
        all_bytes(s, end, end->weight_zero, true);
    else if (bytes && end->weight_zero)
        all_bytes(s, end, true, false);
    else if (bytes)
        all_bytes(s, end, false, false);
    for (size_t j = 0; !bytes && j < s->n; j += LANES) {
        if (end->weight_zero)
            to_words(s, end, j, true);
        else
            to_words(s, end, j, false);
    }
}

static void finish(size_t n, const int32_t *sums, int32_t row_term,
                   const struct ox_integer_end *end, void *out)
{
    const struct ox_integer_sums s = {
        .rows = 1, .n = n, .sums = sums, .terms = &row_term, .out = out};
    leave(&s, end);
}

void ox_integer_end_avx512(struct ox_integer *t)
{
    t->finish = finish;
    t->leave = leave;
}
