/* Rows of 32-bit sums on their way out: columns thirty-two at a time where they become bytes, else eight. */
#include "kernels/x86/integer_end_avx2.h"

#include <string.h>

enum { LANES = 8, PARTS = 4, COLS = LANES * PARTS };

/* What is the same for all rows of up to 32 columns. */
struct columns {
    size_t at;
    const int32_t *weight_zero;
    __m256i mask; /* of the last part */
    __m256i offset[PARTS];
    __m256 scale[PARTS], fraction[PARTS];
};

/* Eight columns, of which a part may be cut: what is behind them is 0 and not read. */
static inline __attribute__((always_inline)) __m256i eight(const int32_t *x, __m256i mask,
                                                           const bool cut)
{
    return cut ? _mm256_maskload_epi32(x, mask)
               : _mm256_loadu_si256((const __m256i *)(const void *)x);
}

static inline __attribute__((always_inline)) __m256 eight_floats(const float *x, __m256i mask,
                                                                 const bool cut)
{
    return cut ? _mm256_maskload_ps(x, mask) : _mm256_loadu_ps(x);
}

static inline __attribute__((always_inline)) struct columns
columns_at(const struct ox_integer_end *end, size_t at, size_t n, const unsigned parts,
           const bool cut, const bool fractions)
{
    struct columns c = {.at = at, .weight_zero = end->weight_zero};
    c.mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n - (int)(parts - 1) * LANES),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#pragma GCC unroll 4
    for (unsigned k = 0; k < parts; k++) {
        const size_t j = at + k * LANES;
        const bool last = cut && k + 1 == parts;
        c.offset[k] = end->offset ? eight(end->offset + j, c.mask, last) : _mm256_setzero_si256();
        c.scale[k] = end->scale ? eight_floats(end->scale + j, c.mask, last) : _mm256_setzero_ps();
        c.fraction[k] =
            fractions ? eight_floats(end->fraction + j, c.mask, last) : _mm256_setzero_ps();
    }
    return c;
}

static inline __attribute__((always_inline)) __m256i sums_of(const struct ox_integer_sums *s,
                                                             size_t row, const struct columns *c,
                                                             const unsigned k, const bool cut,
                                                             const bool zeros)
{
    const size_t j = c->at + k * LANES;
    const __m256i x =
        _mm256_add_epi32(c->offset[k], eight(s->sums + row * s->ld + j, c->mask, cut));
    if (!zeros)
        return x;
    const __m256i zero = eight(c->weight_zero + j, c->mask, cut);
    return _mm256_sub_epi32(x, _mm256_mullo_epi32(_mm256_set1_epi32(s->terms[row]), zero));
}

/* Up to 32 columns, in as many parts, of which the last may be cut. A sum whose size has a bit from the 24th on has more bits than a
 * float. */
static inline __attribute__((always_inline)) void
to_bytes(const struct ox_integer_sums *s, const struct ox_integer_end *end, const struct ends *e,
         size_t at, size_t n, const unsigned parts, const bool cut, const bool zeros,
         const bool fractions)
{
    const struct columns c = columns_at(end, at, n, parts, cut, fractions);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i most = _mm256_set1_epi32((1 << 24) - 1);
    uint8_t *out = (uint8_t *)s->out + at;
    for (size_t i = 0; i < s->rows; i++, out += s->out_row) {
        __m256i x[PARTS], whole[PARTS], beyond = _mm256_setzero_si256();
#pragma GCC unroll 4
        for (unsigned k = 0; k < PARTS; k++) {
            whole[k] = _mm256_setzero_si256();
            if (k >= parts)
                continue;
            x[k] = sums_of(s, i, &c, k, cut && k + 1 == parts, zeros);
            beyond = _mm256_or_si256(beyond, _mm256_abs_epi32(x[k]));
            whole[k] = whole_of(e, floats_of(x[k], fractions ? &c.fraction[k] : NULL), c.scale[k]);
        }
        /* INT32_MIN is its own size */
        const __m256i wide = _mm256_or_si256(_mm256_cmpgt_epi32(beyond, most), beyond);
        if (__builtin_expect(_mm256_movemask_ps(_mm256_castsi256_ps(wide)), 0)) {
#pragma GCC unroll 4
            for (unsigned k = 0; k < parts; k++)
                whole[k] = whole_in_double(e, x[k], c.fraction[k], c.scale[k]);
        }
        const __m256i bytes = _mm256_permutevar8x32_epi32(bytes_of(e, whole), order);
        if (!cut && parts == PARTS)
            _mm256_storeu_si256((__m256i *)(void *)out, bytes);
        else if (!cut && parts == PARTS / 2)
            _mm_storeu_si128((__m128i *)(void *)out, _mm256_castsi256_si128(bytes));
        else
            memcpy(out, &bytes, n);
    }
}

static inline __attribute__((always_inline)) void all_bytes(const struct ox_integer_sums *s,
                                                            const struct ox_integer_end *end,
                                                            const bool zeros, const bool fractions)
{
    const struct ends e = ends_of(end);
    size_t j = 0;
    for (; j + COLS <= s->n; j += COLS)
        to_bytes(s, end, &e, j, COLS, PARTS, false, zeros, fractions);
    if (s->n - j >= COLS / 2) {
        to_bytes(s, end, &e, j, COLS / 2, PARTS / 2, false, zeros, fractions);
        j += COLS / 2;
    }
    const size_t left = s->n - j;
    if (left > LANES)
        to_bytes(s, end, &e, j, left, 2, true, zeros, fractions);
    else if (left)
        to_bytes(s, end, &e, j, left, 1, true, zeros, fractions);
}

/* Eight columns. */
static inline __attribute__((always_inline)) void to_words(const struct ox_integer_sums *s,
                                                           const struct ox_integer_end *end,
                                                           size_t at, const bool cut,
                                                           const bool zeros)
{
    const struct columns c = columns_at(end, at, s->n - at, 1, cut, false);
    const __m256 lo = _mm256_set1_ps(end->lo_f), hi = _mm256_set1_ps(end->hi_f);
    const __m256 bias = end->bias ? eight_floats(end->bias + at, c.mask, cut)
                                  : _mm256_set1_ps(-0.0F); /* adding it changes nothing */
    int32_t *out = (int32_t *)s->out + at;
    for (size_t i = 0; i < s->rows; i++, out += s->out_row) {
        __m256i x = sums_of(s, i, &c, 0, cut, zeros);
        if (end->type == OX_INTEGER_F32) {
            const __m256 y = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(x), c.scale[0]), bias);
            x = _mm256_castps_si256(_mm256_min_ps(hi, _mm256_max_ps(lo, y)));
        }
        if (cut)
            _mm256_maskstore_epi32(out, c.mask, x);
        else
            _mm256_storeu_si256((__m256i *)(void *)out, x);
    }
}

static inline __attribute__((always_inline)) void
all_words(const struct ox_integer_sums *s, const struct ox_integer_end *end, const bool zeros)
{
    size_t j = 0;
    for (; j + LANES <= s->n; j += LANES)
        to_words(s, end, j, false, zeros);
    if (j < s->n)
        to_words(s, end, j, true, zeros);
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
    else if (end->weight_zero)
        all_words(s, end, true);
    else
        all_words(s, end, false);
}

static void finish(size_t n, const int32_t *sums, int32_t row_term,
                   const struct ox_integer_end *end, void *out)
{
    const struct ox_integer_sums s = {
        .rows = 1, .n = n, .sums = sums, .terms = &row_term, .out = out};
    leave(&s, end);
}

void ox_integer_end_avx2(struct ox_integer *t)
{
    t->finish = finish;
    t->leave = leave;
}
