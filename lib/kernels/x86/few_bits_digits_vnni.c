/* Products of few_bits.h by rows of digits: codes leave their bytes, and meet the digits of four or eight terms a lane. */
#include <float.h>
#include <immintrin.h>
#include <string.h>

#include "kernels/few_bits_digits.h"
#include "kernels/inline.h"

enum { STEP = OX_DIGITS_STEP, LANES = OX_DIGITS_LANES, COLS = 4, ROWS = 4, SHORT = 2048 };

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

INLINE __m512i digit(const char *record, unsigned digits, unsigned part, unsigned which)
{
    return _mm512_load_si512(record + (part * digits + which) * STEP);
}

/* Sixteen numbers as digits. */
INLINE void split(__m512i value, int8_t *low, int8_t *middle, int8_t *high)
{
    const __m512i half = _mm512_set1_epi32(128);
    const __m512i above = _mm512_srai_epi32(_mm512_add_epi32(value, half), 8);
    const __m512i top = _mm512_srai_epi32(_mm512_add_epi32(above, half), 8);
    _mm_storeu_si128((__m128i *)(void *)low, _mm512_cvtepi32_epi8(value));
    _mm_storeu_si128((__m128i *)(void *)middle, _mm512_cvtepi32_epi8(above));
    _mm_storeu_si128((__m128i *)(void *)high, _mm512_cvtepi32_epi8(top));
}

/* Bytes in even places, and those in odd ones, of twice as many. */
INLINE void part_bytes(const int8_t *from, int8_t *even, int8_t *odd)
{
    for (unsigned i = 0; i < 2; i++) {
        const __m512i x = _mm512_loadu_si512(from + i * STEP);
        _mm256_store_si256((__m256i *)(void *)(even + i * STEP / 2), _mm512_cvtepi16_epi8(x));
        _mm256_store_si256((__m256i *)(void *)(odd + i * STEP / 2),
                           _mm512_cvtepi16_epi8(_mm512_srli_epi16(x, 8)));
    }
}

/* Less the sums of digits that meet in a lane. */
INLINE void sum_digits(const char *record, unsigned digits, unsigned bits, int32_t zero,
                       struct ox_digits_end *end)
{
    const __m512i ones = _mm512_set1_epi8(1), none = _mm512_setzero_si512(),
                  by = _mm512_set1_epi32(-zero);
    __m512i of[OX_DIGITS] = {none, none, none};
    for (unsigned part = 0; part < 8 / bits; part++)
        for (unsigned i = 0; i < digits; i++)
            of[i] = _mm512_dpbusd_epi32(of[i], ones, digit(record, digits, part, i));
    __m512i high = _mm512_add_epi32(_mm512_slli_epi32(of[2], 8), of[1]), low = of[0];
    if (bits == 4) {
        low = _mm512_add_epi32(_mm512_slli_epi32(high, 8), low);
        high = none;
    }
    _mm512_store_si512(end->low, _mm512_mullo_epi32(low, by));
    _mm512_store_si512(end->high, _mm512_mullo_epi32(high, by));
}

/* The bits of the largest magnitude of a block. */
INLINE int32_t most_of(const float *x, size_t n)
{
    const __m512i no_sign = _mm512_set1_epi32(INT32_MAX);
    __m512i most = _mm512_setzero_si512();
    for (size_t p = 0; p < n; p += LANES)
        most = _mm512_max_epi32(most, _mm512_and_si512(_mm512_loadu_si512(x + p), no_sign));
    return _mm512_reduce_max_epi32(most);
}

/* The scale of a block and what numbers are multiplied by. False: there is none. */
INLINE bool scale_block(const float *x, size_t n, float top, float *scale, float *inverse)
{
    const int32_t bits = most_of(x, n);
    float most;
    memcpy(&most, &bits, sizeof most);
    *scale = most / top;
    *inverse = bits ? top / most : 0;
    return bits < 0x7f800000 && (!bits || *scale >= FLT_MIN);
}

/* A row's numbers on their way into digits. */
struct row {
    const struct ox_few_bits *w;
    const struct ox_digit_rows *a;
    size_t number, wide; /* wide: numbers of a step */
    _Alignas(64) int8_t straight[OX_DIGITS][2 * STEP];
};

INLINE struct ox_digits_end *row_end(const struct row *r, size_t step)
{
    char *record = ox_digits_record(r->a, r->number, step);
    return (struct ox_digits_end *)(void *)(record + r->wide * r->a->digits);
}

static void end_step(const struct row *r, size_t step)
{
    const unsigned digits = r->a->digits, bits = r->w->bits;
    char *record = ox_digits_record(r->a, r->number, step);
    int8_t *out = (int8_t *)record;
    for (unsigned i = 0; i < digits; i++) {
        if (bits == 4)
            part_bytes(r->straight[i], out + i * STEP, out + (digits + i) * STEP);
        else
            memcpy(out + i * STEP, r->straight[i], STEP);
    }
    sum_digits(record, digits, bits, r->w->zeros ? 1 : 1 << (bits - 1), row_end(r, step));
}

static bool quantize(const struct ox_few_bits *w, const struct ox_digit_rows *a, const float *x,
                     size_t number)
{
    const size_t lane = 8 / w->bits * 4; /* numbers of it */
    const float top = (float)ox_digits_most(a->digits);
    struct row r = {.w = w, .a = a, .number = number, .wide = lane * LANES};
    float *sums = a->sums + number * a->whole;
    for (size_t b = 0; b < w->blocks; b++) {
        __m512i sum = _mm512_setzero_si512();
        float scale, inverse;
        if (!scale_block(x + b * w->block, w->block, top, &scale, &inverse))
            return false;
        for (size_t p = b * w->block; p < (b + 1) * w->block; p += LANES) {
            const __m512i value =
                _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + p), _mm512_set1_ps(inverse)));
            const size_t step = p / r.wide, at = p % r.wide;
            float *scales = row_end(&r, step)->scales;
            split(value, r.straight[0] + at, r.straight[1] + at, r.straight[2] + at);
            sum = _mm512_add_epi32(sum, value);
            for (size_t i = at / lane; i < (at + LANES) / lane; i++)
                scales[i] = scale;
            if (at + LANES == r.wide)
                end_step(&r, step);
        }
        if (a->whole)
            sums[b] = (float)_mm512_reduce_add_epi32(sum) * scale;
    }
    for (size_t b = w->blocks; b < a->whole; b++)
        sums[b] = 0;
    const size_t rest = w->k % r.wide;
    if (rest) {
        for (unsigned i = 0; i < OX_DIGITS; i++)
            memset(r.straight[i] + rest, 0, r.wide - rest);
        for (size_t i = rest / lane; i < LANES; i++)
            row_end(&r, a->steps - 1)->scales[i] = 0;
        end_step(&r, a->steps - 1);
    }
    return true;
}

/* ---- Columns ----------------------------------------------------------------------------------------------------- */

/* How blocks lie in steps: `per` of them in one, or one over 1 << shift of them. */
struct blocks {
    size_t per;
    unsigned shift;
    __m512i lane_block, lane_bits; /* of a step's, by lane: its number, and bits before its zero */
};

static struct blocks blocks_of(const struct ox_few_bits *w)
{
    const unsigned bytes = (unsigned)(w->block * w->bits / 8);
    const unsigned lanes = bytes < STEP ? bytes / 4 : LANES; /* a power of two */
    struct blocks b = {.per = LANES / lanes,
                       .shift = bytes > STEP ? (unsigned)__builtin_ctz(bytes / STEP) : 0};
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    b.lane_block = _mm512_srl_epi32(lane, _mm_cvtsi32_si128(__builtin_ctz(lanes)));
    b.lane_bits = _mm512_mullo_epi32(b.lane_block, _mm512_set1_epi32((int)w->bits));
    return b;
}

/* Those of blocks [first, first + per) of a column, by lane. */
INLINE __m512i zeros_of(const struct ox_few_bits *w, const struct blocks *b, const unsigned bits,
                        size_t column, size_t first)
{
    const uint8_t *zeros = w->zeros + column * w->zero_bytes + first * bits / 8;
    const size_t left = w->zero_bytes - first * bits / 8;
    const uint32_t mask = (1u << bits) - 1;
    uint32_t raw = 0;
    if (b->per == 1)
        return _mm512_set1_epi32((int)(zeros[0] >> first * bits % 8 & mask));
    if (left >= sizeof raw) {
        memcpy(&raw, zeros, sizeof raw);
    } else {
        for (size_t i = 0; i < left; i++)
            raw |= (uint32_t)zeros[i] << (8 * i);
    }
    return _mm512_and_si512(_mm512_srlv_epi32(_mm512_set1_epi32((int)raw), b->lane_bits),
                            _mm512_set1_epi32((int)mask));
}

/* What kernels are made for. */
struct form {
    unsigned bits, digits;
    bool zeros;
};

/* The sum of a step's products by lanes, without their scales of weights. */
INLINE __m512 step_sum(const struct form f, const char *record, const __m512i codes[2],
                       __m512i zero)
{
    const unsigned parts = 8 / f.bits;
    const struct ox_digits_end *end =
        (const struct ox_digits_end *)(const void *)(record + parts * f.digits * STEP);
    const bool two = f.bits == 8 && f.digits > 1;
    const __m512i none = _mm512_setzero_si512();
    __m512i low = f.zeros && f.digits == 1 ? none : _mm512_load_si512(end->low), high = none;
    __m512i middle = two ? _mm512_load_si512(end->high) : none;
    if (f.zeros && f.digits > 1)
        low = _mm512_mullo_epi32(low, zero);
    if (f.zeros && two)
        middle = _mm512_mullo_epi32(middle, zero);
#pragma GCC unroll 2
    for (unsigned part = 0; part < parts; part++) {
        low = _mm512_dpbusd_epi32(low, codes[part], digit(record, f.digits, part, 0));
        if (f.digits > 1) {
            middle = _mm512_dpbusd_epi32(middle, codes[part], digit(record, f.digits, part, 1));
            high = _mm512_dpbusd_epi32(high, codes[part], digit(record, f.digits, part, 2));
        }
    }
    if (f.digits > 1)
        middle = _mm512_add_epi32(middle, _mm512_slli_epi32(high, 8));
    if (f.digits > 1 && !two)
        low = _mm512_add_epi32(low, _mm512_slli_epi32(middle, 8));
    __m512 all = _mm512_cvtepi32_ps(low);
    if (two)
        all = _mm512_fmadd_ps(_mm512_cvtepi32_ps(middle), _mm512_set1_ps(256), all);
    return _mm512_mul_ps(all, _mm512_load_ps(end->scales));
}

/* Halves are added to halves: an order that does not depend on the compiler. */
INLINE float sum_of(__m512 x)
{
    const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}

/* Columns, a step further. */
struct columns {
    const uint8_t *codes[COLS];
    const float *scales[COLS];
    size_t later; /* bytes to codes that are read after these columns */
};

INLINE void add_step(const struct ox_few_bits *w, const struct blocks *b, const struct form f,
                     size_t column, const struct columns *at, const unsigned cols, size_t step,
                     __mmask64 bytes, __mmask8 some, const char *record, const unsigned rows,
                     __m512 sum[COLS][ROWS])
{
    const __m512i nibble = _mm512_set1_epi8(15);
    const size_t block = step * b->per >> b->shift, next = (8 / f.bits * f.digits + 3) * STEP;
#pragma GCC unroll 4
    for (unsigned j = 0; j < cols; j++) {
        const uint8_t *from = at->codes[j] + step * STEP;
        const __m512i loaded = _mm512_maskz_loadu_epi8(bytes, from);
        const __m512i codes[2] = {f.bits == 4 ? _mm512_and_si512(loaded, nibble) : loaded,
                                  _mm512_and_si512(_mm512_srli_epi16(loaded, 4), nibble)};
        const __m512 scale = _mm512_permutexvar_ps(
            b->lane_block, _mm512_castps128_ps512(_mm_maskz_loadu_ps(some, at->scales[j] + block)));
        const __m512i zero =
            f.zeros && f.digits > 1 ? zeros_of(w, b, f.bits, column + j, block) : nibble;
        __builtin_prefetch(from + at->later, 0, 3);
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++)
            sum[j][i] =
                _mm512_fmadd_ps(step_sum(f, record + i * next, codes, zero), scale, sum[j][i]);
    }
}

/* The zeros of sixteen blocks of a column times their scales; 0 beyond the last. */
INLINE __m512 scaled_zeros(const struct ox_few_bits *w, const unsigned bits, size_t column,
                           size_t first)
{
    const uint8_t *zeros = w->zeros + column * w->zero_bytes + first * bits / 8;
    const size_t left = w->blocks - first, bytes = w->zero_bytes - first * bits / 8;
    const __mmask16 some = (__mmask16)(left < LANES ? (1u << left) - 1 : 0xffff);
    __m128i codes =
        _mm_maskz_loadu_epi8((__mmask16)(bytes < LANES ? (1u << bytes) - 1 : 0xffff), zeros);
    if (bits == 4)
        codes =
            _mm_and_si128(_mm_unpacklo_epi8(codes, _mm_srli_epi16(codes, 4)), _mm_set1_epi8(15));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(codes)),
                         _mm512_maskz_loadu_ps(some, w->scales + column * w->blocks + first));
}

INLINE void dot_columns(const struct ox_few_bits *w, const struct blocks *b, const struct form f,
                        size_t column, const unsigned cols, const struct ox_digit_rows *a,
                        size_t row, const unsigned rows, float *c, size_t ldc)
{
    const size_t bytes = w->k * f.bits / 8, full = bytes / STEP, left = bytes % STEP;
    const size_t span = cols * bytes, next = a->m * a->record;
    const __mmask8 all = (__mmask8)((1u << b->per) - 1);
    const char *record = a->records + row * a->record;
    struct columns at = {.later = 2 * span};
    __m512 sum[COLS][ROWS];
#pragma GCC unroll 4
    for (unsigned j = 0; j < cols; j++) {
        at.codes[j] = w->codes + (column + j) * bytes;
        at.scales[j] = w->scales + (column + j) * w->blocks;
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++)
            sum[j][i] = _mm512_setzero_ps();
    }
    for (size_t step = 0; step < full; step++, record += next)
        add_step(w, b, f, column, &at, cols, step, ~(__mmask64)0, all, record, rows, sum);
    if (left) {
        const size_t blocks = w->blocks - (full * b->per >> b->shift);
        const __mmask8 some = (__mmask8)(blocks < b->per ? (1u << blocks) - 1 : all);
        add_step(w, b, f, column, &at, cols, full, ((__mmask64)1 << left) - 1, some, record, rows,
                 sum);
    }
    for (size_t block = 0; f.zeros && f.digits == 1 && block < a->whole; block += LANES)
#pragma GCC unroll 4
        for (unsigned j = 0; j < cols; j++) {
            const __m512 zeros = scaled_zeros(w, f.bits, column + j, block);
#pragma GCC unroll 4
            for (unsigned i = 0; i < rows; i++)
                sum[j][i] = _mm512_fnmadd_ps(
                    zeros, _mm512_load_ps(a->sums + (row + i) * a->whole + block), sum[j][i]);
        }
#pragma GCC unroll 4
    for (unsigned j = 0; j < cols; j++)
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++)
            c[(row + i) * ldc + j] = sum_of(sum[j][i]);
}

INLINE void dot_rows(const struct ox_few_bits *w, const struct blocks *b, const struct form f,
                     size_t first, size_t n, const struct ox_digit_rows *a, size_t row,
                     const unsigned rows, float *c, size_t ldc)
{
    const unsigned cols = rows <= 2 ? COLS : COLS / 2;
    size_t j = 0;
    for (; j + cols <= n; j += cols)
        dot_columns(w, b, f, first + j, cols, a, row, rows, c + j, ldc);
    for (; j < n; j++)
        dot_columns(w, b, f, first + j, 1, a, row, rows, c + j, ldc);
}

INLINE void dots_of(const struct ox_few_bits *w, const struct form f, size_t first, size_t n,
                    const struct ox_digit_rows *a, float *c, size_t ldc)
{
    const struct blocks b = blocks_of(w);
    const size_t fours = a->m / ROWS * ROWS;
    for (size_t row = 0; row < fours; row += ROWS)
        dot_rows(w, &b, f, first, n, a, row, ROWS, c, ldc);
    if (a->m - fours == 3)
        dot_rows(w, &b, f, first, n, a, fours, 3, c, ldc);
    else if (a->m - fours == 2)
        dot_rows(w, &b, f, first, n, a, fours, 2, c, ldc);
    else if (a->m - fours == 1)
        dot_rows(w, &b, f, first, n, a, fours, 1, c, ldc);
}

#define FORM(bits, digits, zeros)                                                                  \
    static void dots_##bits##_##digits##_##zeros(const struct ox_few_bits *w, size_t first,        \
                                                 size_t n, const struct ox_digit_rows *a,          \
                                                 float *c, size_t ldc)                             \
    {                                                                                              \
        dots_of(w, (struct form){bits, digits, zeros}, first, n, a, c, ldc);                       \
    }
FORM(4, 1, 0)
FORM(4, 1, 1)
FORM(4, 3, 0)
FORM(4, 3, 1)
FORM(8, 1, 0)
FORM(8, 1, 1)
FORM(8, 3, 0)
FORM(8, 3, 1)
#undef FORM

static void dots(const struct ox_few_bits *w, size_t first, size_t n, const struct ox_digit_rows *a,
                 float *c, size_t ldc)
{
    static void (*const forms[2][2][2])(const struct ox_few_bits *, size_t, size_t,
                                        const struct ox_digit_rows *, float *, size_t) = {
        {{dots_4_1_0, dots_4_1_1}, {dots_4_3_0, dots_4_3_1}},
        {{dots_8_1_0, dots_8_1_1}, {dots_8_3_0, dots_8_3_1}}};
    forms[w->bits == 8][a->digits > 1][w->zeros != NULL](w, first, n, a, c, ldc);
}

const struct ox_few_digits ox_few_digits_vnni = {.rows = 2, .quantize = quantize, .dots = dots};
