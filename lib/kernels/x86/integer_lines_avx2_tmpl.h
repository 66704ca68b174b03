/* Depthwise convolution of bytes by AVX2, stamped for it and for AVX-VNNI: the includer defines add_products(sum, x, w), the sums of
 * products of two words added to a lane each. Two rows of a column of pixels are interleaved as words, so that one instruction forms both
 * products of eight channels and their sum; a column is interleaved once for all outputs that read it, also those of the next lines: pairs
 * of rows begin at even ones (padding counted), and for lines whose first row is odd the weights are moved by one row. Channels go
 * sixteen at a time, outputs four at a time, which share the weights in registers. */
#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/sizes.h"
#include "kernels/x86/integer_end_avx2.h"

enum { CHANNELS = 16, PARTS = 2, OUTPUTS = 4, SPAN = 128, VECTOR = 32, PIXEL = PARTS * VECTOR };
enum { PAIRS = OX_INTEGER_LINES_ROWS / 2 + 1, COLUMNS = OX_INTEGER_LINES_COLUMNS };

/* Pairs of rows that a line reads whose first row is the first or second of its pair. */
static size_t pairs_of(const struct ox_conv *c, size_t second)
{
    return (c->kernel[0] + second + 1) / 2;
}

/* Whether lines read pairs of neighbouring rows, and whether some begin in the second of one. */
static bool is_shared(const struct ox_conv *c)
{
    return c->dilation[0] == 1;
}

static size_t has_second(const struct ox_conv *c)
{
    return is_shared(c) && c->stride[0] % 2 == 1;
}

/* Of a block's weights for lines that begin in one of the two ways. */
static size_t taps_of(const struct ox_conv *c)
{
    return pairs_of(c, has_second(c)) * c->kernel[1];
}

static size_t block_taps(const struct ox_conv *c)
{
    return (has_second(c) + 1) * taps_of(c);
}

static size_t lines_packed(const struct ox_conv *c)
{
    return (c->groups + CHANNELS - 1) / CHANNELS * block_taps(c) * PIXEL;
}

/* Of a block of channels and a tap of two rows: each channel's two weights side by side; what is missing is 0. */
static void lines_pack(const struct ox_conv *c, const uint8_t *weights, uint8_t flip,
                       const int32_t *zero, void *packed)
{
    const size_t rows = c->kernel[0], cols = c->kernel[1], n = rows * cols;
    int16_t *out = packed;
    memset(out, 0, lines_packed(c));
    for (size_t j = 0; j < c->groups; j++) {
        int16_t *block = out + j / CHANNELS * block_taps(c) * (PIXEL / 2);
        for (size_t second = 0; second <= has_second(c); second++) {
            for (size_t i = 0; i < n; i++) {
                const size_t row = i / cols + second;
                const size_t tap = second * taps_of(c) + row / 2 * cols + i % cols;
                block[tap * (PIXEL / 2) + j % CHANNELS * 2 + row % 2] =
                    (int16_t)(ox_integer_signed(weights[j * n + i] ^ flip) - (zero ? zero[j] : 0));
            }
        }
    }
}

/* A block of channels of a run. */
struct block {
    const struct ox_integer_lines *l;
    const struct ends *ends;
    size_t at, n, columns; /* n: channels; columns: of pixels that are filled */
    bool wide;             /* sums may have more bits than a float */
    struct ox_integer_end end;
    const __m256i *weights; /* of both ways to begin */
    __m256i offset[PARTS];
    __m256 scale[PARTS], fraction[PARTS];
    /* Of a line: */
    size_t taps, pixel[PAIRS * COLUMNS]; /* where a tap's pixels begin */
    const __m256i *line_weights;
    size_t next;                          /* the first pair of rows that is not filled yet */
    __m256i pixels[PAIRS * SPAN * PARTS]; /* pair i in place i % PAIRS */
};

static void start_block(struct block *b, const struct ox_integer_lines *l, size_t at)
{
    const size_t left = l->c->groups - at;
    int32_t offset[CHANNELS] = {0};
    float scale[CHANNELS] = {0}, fraction[CHANNELS] = {0};
    b->at = at;
    b->n = left < CHANNELS ? left : CHANNELS;
    b->end = ox_integer_end_at(l->end, at);
    b->weights = (const __m256i *)l->packed + at / CHANNELS * block_taps(l->c) * PARTS;
    if (b->end.offset)
        memcpy(offset, b->end.offset, b->n * sizeof *offset);
    if (b->end.scale)
        memcpy(scale, b->end.scale, b->n * sizeof *scale);
    if (b->end.fraction)
        memcpy(fraction, b->end.fraction, b->n * sizeof *fraction);
    memcpy(b->offset, offset, sizeof offset);
    memcpy(b->scale, scale, sizeof scale);
    memcpy(b->fraction, fraction, sizeof fraction);
    b->wide = false;
    for (size_t j = 0; j < CHANNELS; j++)
        b->wide |= offset[j] >= 1 << 23 || offset[j] <= -(1 << 23);
}

/* ---- Pixels -------------------------------------------------------------------------------------------------------- */

static inline __m128i sixteen(const uint8_t *x)
{
    return _mm_loadu_si128((const __m128i *)(const void *)x);
}

/* Two rows of a column. */
static inline void interleave(__m128i a, __m128i b, __m128i flip, __m256i *to)
{
    const __m128i u = _mm_xor_si128(a, flip), v = _mm_xor_si128(b, flip);
    to[0] = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(u, v));
    to[1] = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(u, v));
}

/* Columns of the image from `first` on of two rows whose channels begin at a and b; what lies outside wraps and is `zeros`. */
static void fill_pair(const struct block *b, const uint8_t *const rows[2], const size_t steps[2],
                      size_t first, __m256i *to)
{
    const struct ox_integer_lines *l = b->l;
    const __m128i flip = _mm_set1_epi8((char)l->flip), zeros = sixteen(l->zeros);
    const size_t width = l->c->in[1];
    for (size_t i = 0; i < b->columns; i++, to += PARTS) {
        const size_t x = first + i;
        if (x >= width) {
            interleave(zeros, zeros, flip, to);
        } else if (b->n == CHANNELS) {
            interleave(sixteen(rows[0] + x * steps[0]), sixteen(rows[1] + x * steps[1]), flip, to);
        } else {
            uint8_t part[2][CHANNELS] = {{0}};
            memcpy(part[0], rows[0] + x * steps[0], b->n);
            memcpy(part[1], rows[1] + x * steps[1], b->n);
            interleave(sixteen(part[0]), sixteen(part[1]), flip, to);
        }
    }
}

/* A pair of rows, padding counted, from the column `first` on, to its place. */
static void fill_rows(struct block *b, size_t place, const size_t row[2], size_t first)
{
    const struct ox_integer_lines *l = b->l;
    const struct ox_conv *c = l->c;
    const uint8_t *rows[2];
    size_t steps[2];
    for (size_t r = 0; r < 2; r++) {
        const size_t y = row[r] - c->pad[0]; /* above the image it wraps */
        const bool inside = y < c->in[0];
        rows[r] = inside ? l->in + y * c->in[1] * c->in_pixel + b->at : l->zeros;
        steps[r] = inside ? c->in_pixel : 0;
    }
    fill_pair(b, rows, steps, first, b->pixels + place * SPAN * PARTS);
}

/* All that outputs of line y read from the column `first` on, as far as the line before did not. */
static void start_line(struct block *b, size_t y, size_t first)
{
    const struct ox_conv *c = b->l->c;
    const size_t row = y * c->stride[0], apart = c->dilation[0];
    const size_t second = is_shared(c) ? row % 2 : 0, n = pairs_of(c, second);
    const size_t base = is_shared(c) ? row / 2 : 0;
    for (size_t p = 0; p < n; p++) {
        const size_t pair = base + p, place = pair % PAIRS;
        const size_t pair_rows[2] = {is_shared(c) ? 2 * pair : row + 2 * p * apart,
                                     is_shared(c) ? 2 * pair + 1 : row + (2 * p + 1) * apart};
        for (size_t q = 0; q < c->kernel[1]; q++)
            b->pixel[p * c->kernel[1] + q] = (place * SPAN + q * c->dilation[1]) * PARTS;
        if (pair < b->next && is_shared(c))
            continue;
        fill_rows(b, place, pair_rows, first);
        b->next = pair + 1;
    }
    b->taps = n * c->kernel[1];
    b->line_weights = b->weights + second * taps_of(c) * PARTS;
}

/* ---- Outputs ------------------------------------------------------------------------------------------------------- */

/* Of results that are no bytes. */
static void leave_words(const struct block *b, __m256i (*sums)[PARTS], size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        int32_t own[CHANNELS];
        memcpy(own, sums[i], sizeof own);
        b->l->finish(b->n, own, 0, &b->end, out + i * b->l->c->out_pixel * sizeof(int32_t));
    }
}

static inline __attribute__((always_inline)) void leave_bytes(const struct block *b,
                                                              __m256i (*sums)[PARTS], size_t n,
                                                              uint8_t *out, const bool fractions)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const size_t step = b->l->c->out_pixel;
    __m128i bytes[OUTPUTS];
#pragma GCC unroll 2
    for (unsigned i = 0; i < OUTPUTS; i += 2) {
        __m256i whole[2 * PARTS];
#pragma GCC unroll 4
        for (unsigned k = 0; k < 2 * PARTS; k++) {
            const __m256i x = sums[i + k / PARTS][k % PARTS];
            const __m256 scale = b->scale[k % PARTS], *fraction = &b->fraction[k % PARTS];
            whole[k] = __builtin_expect(b->wide, 0)
                           ? whole_in_double(b->ends, x, *fraction, scale)
                           : whole_of(b->ends, floats_of(x, fractions ? fraction : NULL), scale);
        }
        const __m256i two = _mm256_permutevar8x32_epi32(bytes_of(b->ends, whole), order);
        bytes[i] = _mm256_castsi256_si128(two);
        bytes[i + 1] = _mm256_extracti128_si256(two, 1);
    }
    if (n == OUTPUTS && b->n == CHANNELS) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < OUTPUTS; i++)
            _mm_storeu_si128((__m128i *)(void *)(out + i * step), bytes[i]);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * step, &bytes[i], b->n);
}

/* n outputs of a line, from the first for which there are pixels. */
static inline __attribute__((always_inline)) void outputs(const struct block *b, size_t n,
                                                          char *out, const bool bytes)
{
    const size_t taps = b->taps, apart = b->l->c->stride[1] * PARTS;
    const size_t step = b->l->c->out_pixel * (bytes ? 1 : sizeof(int32_t)) * OUTPUTS;
    const __m256i *pixels = b->pixels;
    for (size_t i = 0; i < n; i += OUTPUTS, pixels += OUTPUTS * apart, out += step) {
        const __m256i *w = b->line_weights;
        __m256i sums[OUTPUTS][PARTS];
#pragma GCC unroll 4
        for (unsigned k = 0; k < OUTPUTS; k++) {
            sums[k][0] = bytes ? b->offset[0] : _mm256_setzero_si256();
            sums[k][1] = bytes ? b->offset[1] : _mm256_setzero_si256();
        }
        for (size_t tap = 0; tap < taps; tap++, w += PARTS) {
            const __m256i *at = pixels + b->pixel[tap], u = w[0], v = w[1];
#pragma GCC unroll 4
            for (unsigned k = 0; k < OUTPUTS; k++) {
                sums[k][0] = add_products(sums[k][0], at[k * apart], u);
                sums[k][1] = add_products(sums[k][1], at[k * apart + 1], v);
            }
        }
        const size_t left = n - i < OUTPUTS ? n - i : OUTPUTS;
        if (bytes && __builtin_expect(b->end.fraction != NULL, 0))
            leave_bytes(b, sums, left, (uint8_t *)out, true);
        else if (bytes)
            leave_bytes(b, sums, left, (uint8_t *)out, false);
        else
            leave_words(b, sums, left, out);
    }
}

static void lines(const struct ox_integer_lines *l, size_t y0, size_t y1)
{
    const struct ox_conv *c = l->c;
    const struct ends ends = ends_of(l->end);
    const size_t size = ox_integer_out_size(l->end->type), stride = c->stride[1];
    const size_t reach = (c->kernel[1] - 1) * c->dilation[1] + 1;
    const size_t most = ((SPAN - reach) / stride + 1) / OUTPUTS * OUTPUTS;
    struct block b;
    b.l = l;
    b.ends = &ends;
    for (size_t at = 0; at < c->groups; at += CHANNELS) {
        start_block(&b, l, at);
        for (size_t x = 0; x < c->out[1]; x += most) {
            const size_t n = c->out[1] - x < most ? c->out[1] - x : most;
            b.columns = (ox_round_up(n, OUTPUTS) - 1) * stride + reach;
            b.next = 0;
            for (size_t y = y0; y < y1; y++) {
                char *out = (char *)l->out + ((y * c->out[1] + x) * c->out_pixel + at) * size;
                start_line(&b, y, x * stride - c->pad[1]);
                if (size == 1)
                    outputs(&b, n, out, true);
                else
                    outputs(&b, n, out, false);
            }
        }
    }
}

static void take_lines(struct ox_integer *t)
{
    t->lines_packed = lines_packed;
    t->lines_pack = lines_pack;
    t->lines = lines;
}
