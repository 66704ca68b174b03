/* Tiles of words for AVX2, and what of 8-bit products no file of their own does. */
#include <immintrin.h>
#include <string.h>

#include "kernels/inline.h"
#include "kernels/integer.h"

enum { ROWS = 6, LANES = 8, COLS = 2 * LANES, QUAD = 4 * COLS };

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void store(void *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}

/* A tile that is cut at the right. */
static void put_part(const struct ox_integer_tile *t, __m256i (*sum)[2])
{
    for (unsigned i = 0; i < t->rows; i++)
        memcpy(t->c + i * t->ldc, sum[i], t->cols * sizeof *t->c);
}

INLINE void put(const struct ox_integer_tile *t, const unsigned rows, __m256i (*sum)[2])
{
    if (t->cols < COLS) {
        __m256i all[ROWS][2]; /* the sums' own address stays here, or they would live in memory */
#pragma GCC unroll 6
        for (unsigned i = 0; i < rows; i++) {
            all[i][0] = sum[i][0];
            all[i][1] = sum[i][1];
        }
        put_part(t, all);
        return;
    }
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        store(t->c + i * t->ldc, sum[i][0]);
        store(t->c + i * t->ldc + LANES, sum[i][1]);
    }
}

/* Two words over and over. */
INLINE __m256i two_of(const uint8_t *p)
{
    int32_t two;
    memcpy(&two, p, sizeof two);
    return _mm256_set1_epi32(two);
}

INLINE void words_step(const unsigned rows, const uint8_t *const *a, size_t p, const char *b,
                       __m256i (*sum)[2])
{
    const __m256i u = load(b), v = load(b + sizeof(__m256i));
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        const __m256i x = two_of(a[i] + p);
        sum[i][0] = _mm256_add_epi32(sum[i][0], _mm256_madd_epi16(x, u));
        sum[i][1] = _mm256_add_epi32(sum[i][1], _mm256_madd_epi16(x, v));
    }
}

INLINE void words_of(const struct ox_integer_tile *t, const unsigned rows)
{
    const uint8_t *a[ROWS];
    const char *b = t->b;
    __m256i sum[ROWS][2];
#pragma GCC unroll 6
    for (unsigned i = 0; i < rows; i++) {
        sum[i][0] = sum[i][1] = _mm256_setzero_si256();
        a[i] = t->a[i];
    }
    for (size_t p = 0; p < t->depth; p += 4, b += QUAD)
        words_step(rows, a, p, b, sum);
    put(t, rows, sum);
}

#define BY_ROWS(n)                                                                                 \
    static void words_##n(const struct ox_integer_tile *t)                                         \
    {                                                                                              \
        words_of(t, n);                                                                            \
    }
BY_ROWS(1)
BY_ROWS(2)
BY_ROWS(3)
BY_ROWS(4)
BY_ROWS(5)
BY_ROWS(6)
#undef BY_ROWS

static void words(const struct ox_integer_tile *t)
{
    static void (*const by_rows[ROWS])(const struct ox_integer_tile *t) = {
        words_1, words_2, words_3, words_4, words_5, words_6};
    by_rows[t->rows - 1](t);
}

static inline __m256i sixteen_words(const uint8_t *p, __m128i flip)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flip));
}

static void widen(size_t n, const uint8_t *x, uint8_t flip, uint16_t *y)
{
    const __m128i turn = _mm_set1_epi8((char)flip);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        store(y + i, sixteen_words(x + i, turn));
    for (; i < n; i++)
        y[i] = x[i] ^ flip;
}

static void lay(const struct ox_integer_lay *l)
{
    const __m128i flip = _mm_set1_epi8((char)l->flip);
    const size_t n = l->n, whole = (l->slack ? n + 15 : n) / 16 * 16;
    const uint8_t *x = l->x;
    uint8_t *y = l->y;
    for (size_t i = 0; i < l->rows; i++, x += l->x_row, y += l->y_row) {
        size_t p = 0;
        for (; p < whole; p += 16) {
            const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(x + p));
            _mm_storeu_si128((__m128i *)(void *)(y + p), _mm_xor_si128(bytes, flip));
        }
        for (; p < n; p++)
            y[p] = x[p] ^ l->flip;
    }
}

static int32_t sum_bytes(size_t n, const uint8_t *x, uint8_t flip)
{
    const __m256i turn = _mm256_set1_epi8((char)flip), zero = _mm256_setzero_si256();
    __m256i sum = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_xor_si256(load(x + i), turn), zero));
    int64_t lanes[4];
    store(lanes, sum);
    int32_t all = (int32_t)(lanes[0] + lanes[1] + lanes[2] + lanes[3]);
    for (; i < n; i++)
        all += x[i] ^ flip;
    return all;
}

/* Two taps at a time: their bytes side by side, so that one instruction forms both products and their sum. */
static void sixteen_channels(const struct ox_integer_taps *t, size_t c)
{
    const __m128i flip = _mm_set1_epi8((char)t->flip);
    __m256i low = _mm256_setzero_si256(), high = low;
    for (size_t i = 0; i < t->n; i += 2) {
        const uint8_t *next = t->in[i + 1 < t->n ? i + 1 : i]; /* the weights of none are 0 */
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(t->in[i] + c));
        const __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(next + c));
        const __m128i u = _mm_xor_si128(x, flip), v = _mm_xor_si128(y, flip);
        const int16_t *weights = t->weights + (i * t->channels + 2 * c);
        const __m256i a = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(u, v));
        const __m256i b = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(u, v));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(a, load(weights)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(b, load(weights + 16)));
    }
    store(t->sums + c, low);
    store(t->sums + c + 8, high);
}

static void taps(const struct ox_integer_taps *t)
{
    size_t c = 0;
    for (; c + 16 <= t->channels; c += 16)
        sixteen_channels(t, c);
    for (; c < t->channels; c++) {
        int32_t sum = 0;
        for (size_t i = 0; i < t->n; i++)
            sum += (int32_t)(t->in[i][c] ^ t->flip) * t->weights[ox_integer_tap(t->channels, i, c)];
        t->sums[c] = sum;
    }
}

static inline __m128i turned(const uint8_t *x, __m128i turn)
{
    return _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)x), turn);
}

static void fours(size_t n, const uint8_t *const *rows, uint8_t flip, void *out)
{
    const __m128i turn = _mm_set1_epi8((char)flip);
    __m128i *to = out;
    size_t j = 0;
    for (; j + 16 <= n; j += 16, to += 4) {
        const __m128i a = turned(rows[0] + j, turn), b = turned(rows[1] + j, turn);
        const __m128i c = turned(rows[2] + j, turn), d = turned(rows[3] + j, turn);
        const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
        const __m128i ef = _mm_unpackhi_epi8(a, b), gh = _mm_unpackhi_epi8(c, d);
        _mm_storeu_si128(to, _mm_unpacklo_epi16(ab, cd));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(ab, cd));
        _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(ef, gh));
        _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(ef, gh));
    }
    for (; j < n; j++)
        for (size_t i = 0; i < 4; i++)
            ((uint8_t *)out)[4 * j + i] = rows[i][j] ^ flip;
}

void ox_integer_avx2(struct ox_integer *t)
{
    t->fours = fours;
    t->mr = ROWS;
    t->nr = COLS;
    t->layout = OX_INTEGER_MIXED;
    t->tile = NULL;
    t->words = words;
    ox_integer_winograd_avx2(t);
    t->widen = widen;
    t->lay = lay;
    t->taps = taps;
    t->sum = sum_bytes;
}
