/* Tiles of 8-bit products for AVX2, and what else no file of their own does. */
#include "kernels/x86/integer_mixed_avx2.h"

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

INLINE void tile_of(const struct ox_integer_tile *t, const unsigned rows)
{
    const int32_t *first = first_sums(t->b, t->depth);
    __m256i sum[ROWS][2];
    start_sums(rows, load(first), load(first + LANES), sum);
    sum_up(rows, t->a, t->depth, t->b, sum);
    put(t, rows, sum);
}

INLINE void words_of(const struct ox_integer_tile *t, const unsigned rows)
{
    const uint8_t *a[ROWS];
    const char *b = t->b;
    __m256i sum[ROWS][2];
    start_sums(rows, _mm256_setzero_si256(), _mm256_setzero_si256(), sum);
    use_rows(rows, t->a, a);
    for (size_t p = 0; p < t->depth; p += 4, b += QUAD)
        words_step(rows, a, p, b, sum);
    put(t, rows, sum);
}

#define BY_ROWS(n)                                                                                 \
    static void tile_##n(const struct ox_integer_tile *t)                                          \
    {                                                                                              \
        tile_of(t, n);                                                                             \
    }                                                                                              \
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

static void tile(const struct ox_integer_tile *t)
{
    static void (*const by_rows[ROWS])(const struct ox_integer_tile *t) = {tile_1, tile_2, tile_3,
                                                                           tile_4, tile_5, tile_6};
    by_rows[t->rows - 1](t);
}

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

/* Sixteen bytes to place p of a row's forms. */
static inline __attribute__((always_inline)) void lay_sixteen(const struct ox_integer_lay *l,
                                                              __m128i x, size_t p, const bool words,
                                                              const bool bytes, const bool turned)
{
    if (words)
        store(l->words + 2 * p, _mm256_cvtepu8_epi16(x));
    if (bytes)
        _mm_storeu_si128((__m128i *)(void *)(l->bytes + p), x);
    if (turned)
        _mm_storeu_si128((__m128i *)(void *)(l->turned + p),
                         _mm_xor_si128(x, _mm_set1_epi16((short)0xff00)));
}

static inline __attribute__((always_inline)) void
lay_forms(const struct ox_integer_lay *rows, const bool words, const bool bytes, const bool turned)
{
    struct ox_integer_lay l = *rows;
    const __m128i flip = _mm_set1_epi8((char)l.flip);
    const size_t n = l.n, whole = (l.slack ? n + 15 : n) / 16 * 16;
    for (size_t i = 0; i < l.rows; i++) {
        size_t p = 0;
        for (; p < whole; p += 16) {
            const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(l.x + p));
            lay_sixteen(&l, _mm_xor_si128(x, flip), p, words, bytes, turned);
        }
        if (p < n) {
            __m128i x = _mm_setzero_si128();
            memcpy(&x, l.x + p, n - p);
            lay_sixteen(&l, _mm_xor_si128(x, flip), p, words, bytes, turned);
        }
        l.x += l.x_row;
        l.words += words ? l.y_row : 0;
        l.bytes += bytes ? l.y_row : 0;
        l.turned += turned ? l.y_row : 0;
    }
}

static void lay(const struct ox_integer_lay *l)
{
    if (!l->turned && !l->bytes)
        lay_forms(l, true, false, false);
    else if (!l->turned && !l->words)
        lay_forms(l, false, true, false);
    else if (!l->turned)
        lay_forms(l, true, true, false);
    else if (!l->bytes && !l->words)
        lay_forms(l, false, false, true);
    else if (!l->bytes)
        lay_forms(l, true, false, true);
    else if (!l->words)
        lay_forms(l, false, true, true);
    else
        lay_forms(l, true, true, true);
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

void ox_integer_avx2(struct ox_integer *t)
{
    t->mr = ROWS;
    t->nr = COLS;
    t->layout = OX_INTEGER_MIXED;
    t->tile = tile;
    t->words = words;
    ox_integer_winograd_avx2(t);
    t->widen = widen;
    t->lay = lay;
    t->taps = taps;
    t->sum = sum_bytes;
}
