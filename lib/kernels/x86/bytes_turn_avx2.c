/* Transposing elements of one, two and eight bytes. */
#include <immintrin.h>
#include <string.h>

#include "kernels/bytes.h"

/* Where a square begins that has place i of n: the last one reaches back over what is done. */
static inline size_t square_at(size_t i, size_t n, size_t side)
{
    return i + side <= n ? i : n - side;
}

/* Four steps of interleaving: each puts what was 8, 4, 2 and 1 rows apart side by side. */
static void sixteen_square(const uint8_t *x, size_t ldx, uint8_t *y, size_t ldy)
{
    __m128i v[16], w[16];
    for (unsigned i = 0; i < 16; i++)
        v[i] = _mm_loadu_si128((const __m128i *)(const void *)(x + i * ldx));
    for (unsigned step = 0; step < 4; step++) {
        for (unsigned i = 0; i < 8; i++) {
            w[2 * i] = _mm_unpacklo_epi8(v[i], v[i + 8]);
            w[2 * i + 1] = _mm_unpackhi_epi8(v[i], v[i + 8]);
        }
        memcpy(v, w, sizeof v);
    }
    for (unsigned i = 0; i < 16; i++)
        _mm_storeu_si128((__m128i *)(void *)(y + i * ldy), v[i]);
}

/* The same of pairs: what was 4, 2 and 1 rows apart. */
static void eight_square(const uint16_t *x, size_t ldx, uint16_t *y, size_t ldy)
{
    __m128i v[8], w[8];
    for (unsigned i = 0; i < 8; i++)
        v[i] = _mm_loadu_si128((const __m128i *)(const void *)(x + i * ldx));
    for (unsigned step = 0; step < 3; step++) {
        for (unsigned i = 0; i < 4; i++) {
            w[2 * i] = _mm_unpacklo_epi16(v[i], v[i + 4]);
            w[2 * i + 1] = _mm_unpackhi_epi16(v[i], v[i + 4]);
        }
        memcpy(v, w, sizeof v);
    }
    for (unsigned i = 0; i < 8; i++)
        _mm_storeu_si128((__m128i *)(void *)(y + i * ldy), v[i]);
}

static inline __attribute__((always_inline)) void interleave(__m128i a, __m128i b,
                                                             const size_t size, __m128i *to)
{
    to[0] = size == 1 ? _mm_unpacklo_epi8(a, b) : _mm_unpacklo_epi16(a, b);
    to[1] = size == 1 ? _mm_unpackhi_epi8(a, b) : _mm_unpackhi_epi16(a, b);
}

/* Two or four planes of elements of one or two bytes to pixels without gaps: each is put between those half as many planes away. Returns
 * how many columns are done. */
static inline __attribute__((always_inline)) size_t even_planes(const size_t rows, size_t cols,
                                                                const uint8_t *x, size_t ldx,
                                                                uint8_t *y, const size_t size)
{
    size_t j = 0;
    for (; j + 16 / size <= cols; j += 16 / size, y += 16 * rows) {
        __m128i v[4], w[4];
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            const uint8_t *at = x + (i % rows * ldx + j) * size;
            v[i] = _mm_loadu_si128((const __m128i *)(const void *)at);
        }
        if (rows == 4) {
            interleave(v[0], v[2], size, w);
            interleave(v[1], v[3], size, w + 2);
            interleave(w[0], w[2], size, v);
            interleave(w[1], w[3], size, v + 2);
        } else {
            interleave(v[0], v[1], size, w);
            v[0] = w[0];
            v[1] = w[1];
        }
#pragma GCC unroll 4
        for (size_t i = 0; i < rows; i++)
            _mm_storeu_si128((__m128i *)(void *)(y + 16 * i), v[i]);
    }
    return j;
}

/* Up to FEW planes of elements of `size` bytes to pixels without gaps: a vector of pixels has of each plane what a shuffle puts there.
 * Returns how many columns are done. */
enum { FEW = 4 };

static inline __attribute__((always_inline)) size_t
few_planes(size_t rows, size_t cols, const uint8_t *x, size_t ldx, uint8_t *y, const size_t size)
{
    __m128i from[FEW][FEW];
    for (size_t i = 0; i < rows * rows; i++) {
        const size_t plane = i / rows, vector = i % rows;
        char at[16];
        for (size_t k = 0; k < 16; k++) {
            const size_t place = (16 * vector + k) / size;
            at[k] = (char)(place % rows == plane ? place / rows * size + k % size : 0x80);
        }
        from[plane][vector] = _mm_loadu_si128((const __m128i *)(const void *)at);
    }
    size_t j = 0;
    for (; j + 16 / size <= cols; j += 16 / size) {
        for (size_t v = 0; v < rows; v++, y += 16) {
            __m128i all = _mm_setzero_si128();
            for (size_t i = 0; i < rows; i++) {
                const uint8_t *at = x + (i * ldx + j) * size;
                const __m128i plane = _mm_loadu_si128((const __m128i *)(const void *)at);
                all = _mm_or_si128(all, _mm_shuffle_epi8(plane, from[i][v]));
            }
            _mm_storeu_si128((__m128i *)(void *)y, all);
        }
    }
    return j;
}

/* The way back: pixels of up to FEW elements without gaps to planes. Returns how many pixels are done. */
static inline __attribute__((always_inline)) size_t
few_pixels(size_t rows, size_t cols, const uint8_t *x, uint8_t *y, size_t ldy, const size_t size)
{
    __m128i from[FEW][FEW];
    for (size_t i = 0; i < cols * cols; i++) {
        const size_t plane = i / cols, vector = i % cols;
        char at[16];
        for (size_t k = 0; k < 16; k++) {
            const size_t place = (k / size * cols + plane) * size + k % size;
            at[k] = (char)(place / 16 == vector ? place % 16 : 0x80);
        }
        from[plane][vector] = _mm_loadu_si128((const __m128i *)(const void *)at);
    }
    size_t i = 0;
    for (; i + 16 / size <= rows; i += 16 / size, x += 16 * cols) {
        for (size_t j = 0; j < cols; j++) {
            __m128i all = _mm_setzero_si128();
            for (size_t v = 0; v < cols; v++) {
                const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(x + 16 * v));
                all = _mm_or_si128(all, _mm_shuffle_epi8(part, from[j][v]));
            }
            _mm_storeu_si128((__m128i *)(void *)(y + (j * ldy + i) * size), all);
        }
    }
    return i;
}

/* Squares down a column of squares fill lines of y before the next are touched: so many rows of `size` bytes, more where lines of y are so
 * far apart that they may share few sets of the cache. */
enum { LINE = 64 };

static inline size_t strip_of(size_t ldy, size_t size)
{
    enum { FAR = 2048, LINES = 8 };
    return ldy * size < FAR ? LINE / size : LINES * LINE / size;
}

/* A line of columns, of so many rows, at most HIGH: lines of either side that share a set of the cache are touched once each. */
enum { HIGH = 4 * LINE };

static inline __attribute__((always_inline)) void line_square(const size_t rows, const uint8_t *x,
                                                              size_t ldx, uint8_t *y, size_t ldy)
{
    uint8_t in[LINE * LINE], out[LINE * HIGH];
    for (size_t i0 = 0; i0 < rows; i0 += LINE) {
        for (size_t i = 0; i < LINE; i++)
            memcpy(in + i * LINE, x + (i0 + i) * ldx, LINE);
        for (size_t j = 0; j < LINE; j += 16)
            for (size_t i = 0; i < LINE; i += 16)
                sixteen_square(in + i * LINE + j, LINE, out + j * rows + i0 + i, rows);
    }
    for (size_t j = 0; j < LINE; j++)
        memcpy(y + j * ldy, out + j * rows, rows);
}

static void transpose(size_t rows, size_t cols, const uint8_t *x, size_t ldx, uint8_t *y,
                      size_t ldy)
{
    enum { SHARED = 1024 };
    if ((ldx % SHARED == 0 || ldy % SHARED == 0) && rows >= LINE && cols >= LINE) {
        const size_t high = rows >= HIGH && ldy % SHARED == 0 ? HIGH : LINE;
        for (size_t i = 0; i < rows; i += high)
            for (size_t j = 0; j < cols; j += LINE) {
                const size_t row = square_at(i, rows, high), col = square_at(j, cols, LINE);
                const uint8_t *from = x + row * ldx + col;
                uint8_t *to = y + col * ldy + row;
                if (high == HIGH)
                    line_square(HIGH, from, ldx, to, ldy);
                else
                    line_square(LINE, from, ldx, to, ldy);
            }
        return;
    }
    if (cols > 1 && cols <= FEW && ldx == cols && rows >= 64) {
        const size_t done = few_pixels(rows, cols, x, y, ldy, 1);
        rows -= done;
        x += done * ldx;
        y += done;
    }
    const bool few = rows > 1 && rows <= FEW && ldy == rows, squares = rows >= 16 && cols >= 16;
    const size_t strip = strip_of(ldy, 1);
    size_t by_cols = squares ? cols : 0;
    if (few && rows == 2)
        by_cols = even_planes(2, cols, x, ldx, y, 1);
    else if (few && rows == 4)
        by_cols = even_planes(4, cols, x, ldx, y, 1);
    else if (few)
        by_cols = few_planes(3, cols, x, ldx, y, 1);
    for (size_t i0 = 0; squares && i0 < rows; i0 += strip)
        for (size_t j = 0; j < cols; j += 16)
            for (size_t i = i0; i < rows && i < i0 + strip; i += 16) {
                const size_t row = square_at(i, rows, 16), col = square_at(j, cols, 16);
                sixteen_square(x + row * ldx + col, ldx, y + col * ldy + row, ldy);
            }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = by_cols; j < cols; j++)
            y[j * ldy + i] = x[i * ldx + j];
}

static void transpose_pairs(size_t rows, size_t cols, const uint16_t *x, size_t ldx, uint16_t *y,
                            size_t ldy)
{
    if (cols > 1 && cols <= FEW && ldx == cols && rows >= 64) {
        const size_t done = few_pixels(rows, cols, (const void *)x, (void *)y, ldy, 2);
        rows -= done;
        x += done * ldx;
        y += done;
    }
    const bool squares = rows >= 8 && cols >= 8;
    const size_t strip = strip_of(ldy, 2);
    size_t by_cols = squares ? cols : 0;
    if (rows == 2 && ldy == rows)
        by_cols = even_planes(2, cols, (const void *)x, ldx, (void *)y, 2);
    else if (rows == 4 && ldy == rows)
        by_cols = even_planes(4, cols, (const void *)x, ldx, (void *)y, 2);
    else if (rows == 3 && ldy == rows && cols >= 64)
        by_cols = few_planes(3, cols, (const void *)x, ldx, (void *)y, 2);
    for (size_t i0 = 0; squares && i0 < rows; i0 += strip)
        for (size_t j = 0; j < cols; j += 8)
            for (size_t i = i0; i < rows && i < i0 + strip; i += 8) {
                const size_t row = square_at(i, rows, 8), col = square_at(j, cols, 8);
                eight_square(x + row * ldx + col, ldx, y + col * ldy + row, ldy);
            }
    for (size_t j = by_cols; j < cols; j++)
        for (size_t i = 0; i < rows; i++)
            y[j * ldy + i] = x[i * ldx + j];
}

/* Four rows and columns of elements of eight bytes. */
static inline void four_square(const uint64_t *x, size_t ldx, uint64_t *y, size_t ldy)
{
    __m256i v[4], w[4];
    for (unsigned i = 0; i < 4; i++)
        v[i] = _mm256_loadu_si256((const __m256i *)(const void *)(x + i * ldx));
    for (unsigned i = 0; i < 4; i += 2) {
        w[i] = _mm256_unpacklo_epi64(v[i], v[i + 1]);
        w[i + 1] = _mm256_unpackhi_epi64(v[i], v[i + 1]);
    }
    for (unsigned i = 0; i < 2; i++) {
        v[i] = _mm256_permute2x128_si256(w[i], w[i + 2], 0x20);
        v[i + 2] = _mm256_permute2x128_si256(w[i], w[i + 2], 0x31);
    }
    for (unsigned i = 0; i < 4; i++)
        _mm256_storeu_si256((__m256i *)(void *)(y + i * ldy), v[i]);
}

static void transpose_quads(size_t rows, size_t cols, const uint64_t *x, size_t ldx, uint64_t *y,
                            size_t ldy)
{
    /* Two squares fill a line of y. */
    const size_t by_rows = rows / 8 * 8, by_cols = cols / 4 * 4, strip = strip_of(ldy, 8);
    for (size_t i0 = 0; i0 < by_rows; i0 += strip) {
        const size_t end = by_rows - i0 < strip ? by_rows : i0 + strip;
        for (size_t j = 0; j < by_cols; j += 4)
            for (size_t i = i0; i < end; i += 8) {
                four_square(x + i * ldx + j, ldx, y + j * ldy + i, ldy);
                four_square(x + (i + 4) * ldx + j, ldx, y + j * ldy + i + 4, ldy);
            }
        for (size_t j = by_cols; j < cols; j++)
            for (size_t i = i0; i < end; i++)
                y[j * ldy + i] = x[i * ldx + j];
    }
    for (size_t j = 0; j < cols; j++)
        for (size_t i = by_rows; i < rows; i++)
            y[j * ldy + i] = x[i * ldx + j];
}

void ox_bytes_turn_avx2(struct ox_bytes *t)
{
    t->transpose = transpose;
    t->transpose_pairs = transpose_pairs;
    t->transpose_quads = transpose_quads;
}
