/* Depthwise convolution of bytes by VNNI. Four rows of a column of pixels are interleaved, so that each four bytes are what a
 * channel's four weights of a kernel's column meet; a column is interleaved once for all outputs of a line that read it. Interleaving
 * leaves channels in an order that packing the sums to bytes undoes.
 *
 * Channels go 64 at a time, then 32 or 16 at a time, of which two or four outputs fill a vector: columns lie by their number modulo
 * the stride, so that what neighbouring outputs read is adjacent.
 *
 * 3x3 and 5x5 kernels keep columns in registers instead: outputs wait half summed for the columns to come, and it is lines below one
 * another that fill a vector. */
#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/x86/integer_end_avx512.h"

enum { FULL = 64, PARTS = 4, SPAN = 80, LANES = 16 };
enum { QUADS = OX_INTEGER_LINES_ROWS / 4, COLUMNS = OX_INTEGER_LINES_COLUMNS };

/* Channels of the block that begins where so many are left. */
static size_t width_of(size_t left)
{
    return left > 32 ? 64 : left > 16 ? 32 : 16;
}

static size_t quads_of(const struct ox_conv *c)
{
    return (c->kernel[0] + 3) / 4;
}

/* Bytes of a block's weights, and of its zero points behind them. */
static size_t block_bytes(const struct ox_conv *c, size_t width)
{
    return quads_of(c) * (c->kernel[1] + 1) * PARTS * width;
}

static size_t lines_packed(const struct ox_conv *c)
{
    size_t bytes = 0;
    for (size_t at = 0; at < c->groups; at += FULL)
        bytes += block_bytes(c, width_of(c->groups - at));
    return bytes;
}

/* Weights of a quad and a column: four vectors, of which vector k has channels 4k to 4k + 3 of each sixteen. Behind those of all
 * columns what each column adds of zero points, whose place is a column more. */
static void lines_pack(const struct ox_conv *c, const uint8_t *weights, uint8_t flip,
                       const int32_t *zero, void *packed)
{
    int8_t *out = packed;
    const size_t rows = c->kernel[0], cols = c->kernel[1];
    memset(out, 0, lines_packed(c));
    for (size_t at = 0; at < c->groups; at += FULL) {
        const size_t left = c->groups - at, width = width_of(left);
        const size_t n = left < width ? left : width;
        for (size_t j = 0; j < n; j++) {
            const size_t part = j % 16 / 4, lane = j / 16 * 4 + j % 4;
            for (size_t r = 0; zero && r < rows; r++)
                out[((quads_of(c) * cols + r / 4) * PARTS + part) * width + lane * 4 + r % 4] =
                    (int8_t)-zero[at + j];
            for (size_t i = 0; i < rows * cols; i++) {
                const size_t quad = i / cols / 4 * cols + i % cols;
                out[(quad * PARTS + part) * width + lane * 4 + i / cols % 4] =
                    (int8_t)(weights[(at + j) * rows * cols + i] ^ flip);
            }
        }
        out += block_bytes(c, width);
    }
}

/* Results that are no bytes: what channels have, sixteen after sixteen, up to 64. */
struct words {
    __m512 scale[PARTS], bias[PARTS], lo, hi;
    __mmask16 mask[PARTS];
    bool whole; /* sums as they are */
};

/* A block of channels of a run. */
struct block {
    const struct ox_integer_lines *l;
    const struct ends *ends;
    size_t at, n, width, per;   /* channels, and outputs in a vector */
    size_t quads, taps, stride; /* taps: of four rows */
    size_t plane;               /* columns of one remainder */
    bool wide;                  /* sums may have more bits than a float */
    struct ox_integer_end end;
    size_t pixel[QUADS * COLUMNS]; /* where a tap's begin, in bytes */
    __m512i weights[QUADS * (COLUMNS + 1) * PARTS], offset[PARTS];
    __m512 scale[PARTS], fraction[PARTS];
    struct words words;
    size_t part; /* bytes of a quad's part: what is stored behind the last column lies in it too */
    __m512i
        pixels[QUADS * PARTS * (SPAN + 1)]; /* by quad, part, remainder, column: width bytes each */
};

/* Width bytes over and over. */
static __m512i repeated(const void *from, size_t width)
{
    if (width == 16)
        return _mm512_broadcast_i32x4(_mm_loadu_si128(from));
    return width == 32 ? _mm512_broadcast_i64x4(_mm256_loadu_si256(from))
                       : _mm512_loadu_si512(from);
}

/* What each channel has, in the sums' order; NULL: 0. */
static void in_order(const struct block *b, const void *from, __m512i *out)
{
    __m128i own[FULL / 4];
    memset(own, 0, sizeof own);
    if (from)
        memcpy(own, (const int32_t *)from + b->at, b->n * sizeof(int32_t));
    const size_t sixteens = b->width / 16;
    for (size_t k = 0; k < PARTS; k++) {
        __m512i x = _mm512_castsi128_si512(own[k]);
        x = _mm512_inserti32x4(x, own[1 % sixteens * 4 + k], 1);
        x = _mm512_inserti32x4(x, own[2 % sixteens * 4 + k], 2);
        out[k] = _mm512_inserti32x4(x, own[3 % sixteens * 4 + k], 3);
    }
}

static void start_words(struct block *b, const struct ox_integer_end *end)
{
    struct words *w = &b->words;
    w->whole = end->type == OX_INTEGER_I32;
    w->lo = _mm512_set1_ps(end->lo_f);
    w->hi = _mm512_set1_ps(end->hi_f);
    for (size_t k = 0; k < PARTS; k++) {
        const size_t left = b->n > k * LANES ? b->n - k * LANES : 0, j = b->at + k * LANES;
        w->mask[k] = left < LANES ? (__mmask16)((1U << left) - 1) : (__mmask16)0xffff;
        w->scale[k] =
            end->scale ? _mm512_maskz_loadu_ps(w->mask[k], end->scale + j) : _mm512_setzero_ps();
        w->bias[k] = end->bias ? _mm512_maskz_loadu_ps(w->mask[k], end->bias + j)
                               : _mm512_set1_ps(-0.0F); /* adding it changes nothing */
    }
}

static void start_block(struct block *b, const struct ox_integer_lines *l, size_t at,
                        const int8_t *weights)
{
    const size_t left = l->c->groups - at;
    __m512i scale[PARTS], fraction[PARTS], far = _mm512_setzero_si512();
    b->l = l;
    b->at = at;
    b->width = width_of(left);
    b->n = left < b->width ? left : b->width;
    b->per = FULL / b->width;
    b->quads = quads_of(l->c);
    b->stride = l->c->stride[1];
    b->taps = b->quads * l->c->kernel[1];
    for (size_t i = 0; i < (b->taps + b->quads) * PARTS; i++)
        b->weights[i] = repeated(weights + i * b->width, b->width);
    in_order(b, l->end->offset, b->offset);
    in_order(b, l->end->scale, scale);
    in_order(b, l->end->fraction, fraction);
    for (size_t k = 0; k < PARTS; k++) {
        b->scale[k] = _mm512_castsi512_ps(scale[k]);
        b->fraction[k] = _mm512_castsi512_ps(fraction[k]);
        far = _mm512_or_si512(far,
                              _mm512_xor_si512(b->offset[k], _mm512_srai_epi32(b->offset[k], 31)));
    }
    b->wide = _mm512_cmpge_epu32_mask(far, _mm512_set1_epi32(1 << 23)) != 0;
    if (ox_integer_out_size(l->end->type) > 1)
        start_words(b, l->end);
}

/* ---- Pixels -------------------------------------------------------------------------------------------------------- */

#define INTERLEAVE interleave_64
#define IL(op) _mm512_##op
#define ILV __m512i
#define ILM __mmask64
#include "kernels/x86/interleave_tmpl.h"

/* Also of sixteen, whose upper half is stored over by the next column. */
#define INTERLEAVE interleave_32
#define IL(op) _mm256_##op
#define ILV __m256i
#define ILM __mmask32
#include "kernels/x86/interleave_tmpl.h"

/* Columns of one remainder, a quad of rows: first, first + stride and so on of the image, from which `rows` begin; `steps` of rows
 * outside it are 0. */
static void fill_plane(const struct block *b, const uint8_t *const *rows, const size_t *steps,
                       size_t first, char *to)
{
    const struct ox_integer_lines *l = b->l;
    const struct ox_conv *c = l->c;
    const __mmask64 mask = b->n < FULL ? ((__mmask64)1 << b->n) - 1 : ~(__mmask64)0;
    for (size_t i = 0; i < b->plane; i++, first += b->stride, to += b->width) {
        const uint8_t *at[4] = {l->zeros, l->zeros, l->zeros, l->zeros};
        for (size_t r = 0; first < c->in[1] && r < 4; r++)
            at[r] = rows[r] + first * steps[r];
        if (b->n == FULL)
            interleave_64(at, ~(__mmask64)0, l->flip, to, b->part);
        else if (b->width == FULL)
            interleave_64(at, mask, l->flip, to, b->part);
        else
            interleave_32(at, (__mmask32)mask, l->flip, to, b->part);
    }
}

/* All that outputs x to x + n - 1 of line y read. */
static void fill_pixels(struct block *b, size_t y, size_t x)
{
    const struct ox_integer_lines *l = b->l;
    const struct ox_conv *c = l->c;
    for (size_t q = 0; q < b->quads; q++) {
        const uint8_t *rows[4];
        size_t steps[4];
        for (size_t r = 0; r < 4; r++) {
            const size_t tap = 4 * q + r, row = y * c->stride[0] + tap * c->dilation[0] - c->pad[0];
            const bool inside = tap < c->kernel[0] && row < c->in[0]; /* above it wraps */
            rows[r] = inside ? l->in + row * c->in[1] * c->in_pixel + b->at : l->zeros;
            steps[r] = inside ? c->in_pixel : 0;
        }
        for (size_t p = 0; p < b->stride; p++)
            fill_plane(b, rows, steps, x * b->stride + p - c->pad[1],
                       (char *)b->pixels + q * PARTS * b->part + p * b->plane * b->width);
    }
}

/* ---- Outputs ------------------------------------------------------------------------------------------------------- */

/* The sums of sixteen k, which a quarter of each part has. */
static inline __attribute__((always_inline)) void in_sixteens(const __m512i *sums,
                                                              __m512i sixteen[PARTS])
{
    const __m512i a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x44);
    const __m512i b = _mm512_shuffle_i32x4(sums[2], sums[3], 0x44);
    const __m512i c = _mm512_shuffle_i32x4(sums[0], sums[1], 0xee);
    const __m512i d = _mm512_shuffle_i32x4(sums[2], sums[3], 0xee);
    sixteen[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    sixteen[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
    sixteen[2] = _mm512_shuffle_i32x4(c, d, 0x88);
    sixteen[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

static inline __attribute__((always_inline)) void
leave_sixteen(const struct words *w, const size_t k, __m512i sums, void *out)
{
    const __m512 y =
        _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sums), w->scale[k]), w->bias[k]);
    const __m512 within = _mm512_min_ps(w->hi, _mm512_max_ps(w->lo, y));
    _mm512_mask_storeu_epi32((int32_t *)out + k * LANES, w->mask[k],
                             w->whole ? sums : _mm512_castps_si512(within));
}

/* Of `per` outputs in a vector the first n, whose first channels go to out[]. */
static inline __attribute__((always_inline)) void leave_words(const struct words *w,
                                                              const __m512i *sums, const size_t per,
                                                              size_t n, uint8_t *const *out)
{
    __m512i sixteen[PARTS];
    in_sixteens(sums, sixteen);
#pragma GCC unroll 4
    for (size_t i = 0; i < PARTS; i++)
        if (i / (PARTS / per) < n)
            leave_sixteen(w, i % (PARTS / per), sixteen[i], out[i / (PARTS / per)]);
}

static __attribute__((noinline)) __m512i codes_in_double(const struct ends *e, const __m512i *sums,
                                                         const __m512 *fraction,
                                                         const __m512 *scale)
{
    __m512i whole[PARTS];
    for (unsigned k = 0; k < PARTS; k++)
        whole[k] = whole_in_double(e, sums[k], fraction[k], scale[k]);
    return bytes_of(e, whole);
}

/* fraction NULL: none. */
static inline __attribute__((always_inline)) __m512i
codes_of(const struct ends *e, const __m512i *sums, const __m512 *fraction, const __m512 *scale)
{
    __m512i whole[PARTS];
#pragma GCC unroll 4
    for (unsigned k = 0; k < PARTS; k++)
        whole[k] = whole_of(e, floats_of(sums[k], fraction ? fraction + k : NULL), scale[k]);
    return bytes_of(e, whole);
}

static inline void leave_bytes(const struct block *b, const __m512i *sums, size_t n, uint8_t *out)
{
    const size_t step = b->l->c->out_pixel;
    const __m512i bytes = b->wide           ? codes_in_double(b->ends, sums, b->fraction, b->scale)
                          : b->end.fraction ? codes_of(b->ends, sums, b->fraction, b->scale)
                                            : codes_of(b->ends, sums, NULL, b->scale);
    if (b->n == FULL) {
        _mm512_storeu_si512(out, bytes);
        return;
    }
    const __mmask64 mask = ((__mmask64)1 << b->n) - 1;
    for (size_t i = 0; i < n; i++)
        _mm512_mask_storeu_epi8(out + i * step - i * b->width, mask << (i * b->width), bytes);
}

/* Neighbouring outputs that are no bytes. */
static void leave_some(const struct block *b, const __m512i *sums, size_t n, uint8_t *out)
{
    const size_t step = b->l->c->out_pixel * sizeof(int32_t);
    uint8_t *const at[PARTS] = {out, out + step, out + 2 * step, out + 3 * step};
    if (b->per == 1)
        leave_words(&b->words, sums, 1, n, at);
    else if (b->per == 2)
        leave_words(&b->words, sums, 2, n, at);
    else
        leave_words(&b->words, sums, 4, n, at);
}

enum { ABREAST = 4 };

/* Vectors of outputs one after another, so that weights are read once for all: their sums. */
static inline __attribute__((always_inline)) void
add_vectors(const struct block *b, const char *pixels, const unsigned vectors, const bool zeros,
            __m512i (*out)[PARTS])
{
    const size_t taps = b->taps, part = b->part, columns = b->l->c->kernel[1];
    const __m512i *w = b->weights;
    __m512i sums[ABREAST][PARTS];
#pragma GCC unroll 4
    for (unsigned v = 0; v < vectors; v++)
#pragma GCC unroll 4
        for (unsigned k = 0; k < PARTS; k++)
            sums[v][k] = b->offset[k];
    for (size_t tap = 0; tap < taps; tap++, w += PARTS) {
        const char *at = pixels + b->pixel[tap];
        const __m512i *z = b->weights + (taps + tap / columns) * PARTS;
#pragma GCC unroll 4
        for (unsigned k = 0; k < PARTS; k++) {
#pragma GCC unroll 4
            for (unsigned v = 0; v < vectors; v++) {
                const __m512i x = _mm512_loadu_si512(at + k * part + v * FULL);
                sums[v][k] = _mm512_dpbusd_epi32(sums[v][k], x, w[k]);
                if (zeros)
                    sums[v][k] = _mm512_dpbusd_epi32(sums[v][k], x, z[k]);
            }
        }
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < vectors; v++)
#pragma GCC unroll 4
        for (unsigned k = 0; k < PARTS; k++)
            out[v][k] = sums[v][k];
}

/* Apart, so that their sums stay in registers. */
static __attribute__((noinline)) void add_four(const struct block *b, const char *pixels,
                                               __m512i (*out)[PARTS])
{
    add_vectors(b, pixels, ABREAST, false, out);
}

static __attribute__((noinline)) void add_four_with_zeros(const struct block *b, const char *pixels,
                                                          __m512i (*out)[PARTS])
{
    add_vectors(b, pixels, ABREAST, true, out);
}

/* n outputs of a line, from the first for which there are pixels. */
static inline __attribute__((always_inline)) void
outputs(const struct block *b, size_t n, char *out, const bool bytes, const bool zeros)
{
    const size_t per = b->per;
    const size_t step = b->l->c->out_pixel * (bytes ? 1 : sizeof(int32_t)) * per;
    const char *pixels = (const char *)b->pixels;
    for (size_t i = 0, vectors; i < n; i += vectors * per, pixels += vectors * FULL) {
        __m512i sums[ABREAST][PARTS];
        vectors = n - i > (ABREAST - 1) * per ? ABREAST : 1;
        if (vectors == ABREAST)
            (zeros ? add_four_with_zeros : add_four)(b, pixels, sums);
        else
            add_vectors(b, pixels, 1, zeros, sums);
        for (size_t v = 0, left = n - i; v < vectors; v++, left -= per, out += step) {
            if (bytes)
                leave_bytes(b, sums[v], left < per ? left : per, (uint8_t *)out);
            else
                leave_some(b, sums[v], left < per ? left : per, (uint8_t *)out);
        }
    }
}

/* ---- 3x3 ----------------------------------------------------------------------------------------------------------- */

enum { SIDE = 3, FIVE = 5, LINES = FULL / 16 };

/* As many lines below one another as fill a vector: the rows each reads, from column 0, and where its next output goes. What is
 * outside the image is read from `zeros` over and over. */
struct slide {
    const uint8_t *rows[FIVE][LINES];
    size_t steps[FIVE][LINES];
    uint8_t *out[LINES];
    size_t lines; /* that are outputs */
    __mmask64 mask;
    size_t width, x; /* of the image, and the column that comes; before it wraps */
    size_t step;     /* from an output to the next */
    __m512i zeros, turn;
};

static void start_slide(const struct block *b, size_t y, size_t y1, struct slide *s)
{
    const struct ox_integer_lines *l = b->l;
    const struct ox_conv *c = l->c;
    const size_t size = ox_integer_out_size(l->end->type);
    s->lines = y1 - y < b->per ? y1 - y : b->per;
    s->mask = b->n < FULL ? ((__mmask64)1 << b->n) - 1 : ~(__mmask64)0;
    s->width = c->in[1];
    s->x = 0 - c->pad[1];
    s->step = c->out_pixel * size;
    s->turn = _mm512_set1_epi8((char)l->flip);
    s->zeros = _mm512_loadu_si512(l->zeros) ^ s->turn;
    for (size_t i = 0; i < b->per; i++) {
        const size_t line = y + (i < s->lines ? i : 0);
        s->out[i] = (uint8_t *)l->out + (line * c->out[1] * c->out_pixel + b->at) * size;
        for (size_t r = 0; r < c->kernel[0]; r++) {
            const size_t row = line * c->stride[0] + r * c->dilation[0] - c->pad[0];
            const bool inside = row < c->in[0]; /* above it wraps */
            s->rows[r][i] = inside ? l->in + row * c->in[1] * c->in_pixel + b->at : l->zeros;
            s->steps[r][i] = inside ? c->in_pixel : 0;
        }
    }
}

/* The parts of a column or of sums, by name, for arrays would lie in memory. */
struct four {
    __m512i a, b, c, d;
};

/* What a block's outputs share, out of reach of what is stored. */
struct shared {
    struct four weights[SIDE], zeros, offset, scale;
    struct ends ends;
    const __m512 *fraction;    /* NULL: none */
    const struct words *words; /* of results that are no bytes */
};

static inline struct four four_at(const void *from)
{
    const __m512i *v = from;
    return (struct four){v[0], v[1], v[2], v[3]};
}

/* Width bytes of each of as many lines. */
static inline __attribute__((always_inline)) __m512i next_pixels(struct slide *s, const size_t r,
                                                                 const size_t per)
{
    const size_t width = FULL / per;
    __m512i x = _mm512_maskz_loadu_epi8(s->mask, s->rows[r][0]);
    s->rows[r][0] += s->steps[r][0];
#pragma GCC unroll 4
    for (size_t i = 1; i < per; i++) {
        x = _mm512_mask_loadu_epi8(x, s->mask << i * width, s->rows[r][i] - i * width);
        s->rows[r][i] += s->steps[r][i];
    }
    return x ^ s->turn;
}

/* Part k has channels 4k to 4k + 3 of each sixteen. */
static inline __attribute__((always_inline)) struct four interleaved(__m512i x, __m512i y,
                                                                     __m512i z, __m512i last)
{
    const __m512i low = _mm512_unpacklo_epi8(x, y), high = _mm512_unpackhi_epi8(x, y);
    const __m512i last_low = _mm512_unpacklo_epi8(z, last),
                  last_high = _mm512_unpackhi_epi8(z, last);
    return (struct four){_mm512_unpacklo_epi16(low, last_low), _mm512_unpackhi_epi16(low, last_low),
                         _mm512_unpacklo_epi16(high, last_high),
                         _mm512_unpackhi_epi16(high, last_high)};
}

/* The next column. */
static inline __attribute__((always_inline)) struct four next_column(struct slide *s,
                                                                     const size_t per)
{
    __m512i x = s->zeros, y = x, z = x;
    if (s->x++ < s->width) {
        x = next_pixels(s, 0, per);
        y = next_pixels(s, 1, per);
        z = next_pixels(s, 2, per);
    }
    return interleaved(x, y, z, _mm512_setzero_si512());
}

static inline __attribute__((always_inline)) struct four
plus_column(struct four sums, struct four column, struct four weights)
{
    return (struct four){_mm512_dpbusd_epi32(sums.a, column.a, weights.a),
                         _mm512_dpbusd_epi32(sums.b, column.b, weights.b),
                         _mm512_dpbusd_epi32(sums.c, column.c, weights.c),
                         _mm512_dpbusd_epi32(sums.d, column.d, weights.d)};
}

static inline __attribute__((always_inline)) void leave_slide(const struct shared *h,
                                                              struct slide *s, const size_t per,
                                                              const bool bytes_out,
                                                              struct four sums)
{
    const size_t width = FULL / per;
    const __m512i all[PARTS] = {sums.a, sums.b, sums.c, sums.d};
    if (!bytes_out) {
        leave_words(h->words, all, per, s->lines, s->out);
        for (size_t i = 0; i < per; i++)
            s->out[i] += s->step;
        return;
    }
    const __m512 scale[PARTS] = {_mm512_castsi512_ps(h->scale.a), _mm512_castsi512_ps(h->scale.b),
                                 _mm512_castsi512_ps(h->scale.c), _mm512_castsi512_ps(h->scale.d)};
    const __m512i bytes = __builtin_expect(h->fraction != NULL, 0)
                              ? codes_of(&h->ends, all, h->fraction, scale)
                              : codes_of(&h->ends, all, NULL, scale);
#pragma GCC unroll 4
    for (size_t i = 0; i < per; i++) {
        if (i < s->lines)
            _mm512_mask_storeu_epi8(s->out[i] - i * width, s->mask << i * width, bytes);
        s->out[i] += s->step;
    }
}

/* A column's part of sums that begin at h->offset (at 0) or go on, with what zero points add. */
static inline __attribute__((always_inline)) struct four plus(const struct shared *h,
                                                              struct four sums, struct four column,
                                                              const size_t at, const bool zeros)
{
    sums = plus_column(sums, column, h->weights[at]);
    return zeros ? plus_column(sums, column, h->zeros) : sums;
}

static inline __attribute__((always_inline)) void slide(const struct block *b, struct slide state,
                                                        const size_t per, const size_t stride,
                                                        const bool zeros, const bool bytes)
{
    struct slide *s = &state;
    const struct shared h = {
        {four_at(b->weights), four_at(b->weights + PARTS), four_at(b->weights + 2 * PARTS)},
        four_at(b->weights + SIDE * PARTS),
        four_at(b->offset),
        four_at(b->scale),
        *b->ends,
        b->end.fraction ? b->fraction : NULL,
        &b->words};
    struct four column = next_column(s, per), now = plus(&h, h.offset, column, 0, zeros),
                next = now;
    if (stride == 1) {
        column = next_column(s, per);
        now = plus(&h, now, column, 1, zeros);
        next = plus(&h, h.offset, column, 0, zeros);
    }
    for (size_t n = b->l->c->out[1]; n > 0; n--) {
        column = next_column(s, per);
        if (stride == 2) {
            now = plus(&h, now, column, 1, zeros);
            column = next_column(s, per);
        }
        leave_slide(&h, s, per, bytes, plus(&h, now, column, 2, zeros));
        if (stride == 1)
            now = plus(&h, next, column, 1, zeros);
        next = plus(&h, h.offset, column, 0, zeros);
        if (stride == 2)
            now = next;
    }
}

static inline __attribute__((always_inline)) void slide_by(const struct block *b, struct slide s,
                                                           const size_t per, const bool zeros,
                                                           const bool bytes)
{
    if (b->stride == 1)
        slide(b, s, per, 1, zeros, bytes);
    else
        slide(b, s, per, 2, zeros, bytes);
}

static inline __attribute__((always_inline)) void
slide_lines(const struct block *b, size_t y0, size_t y1, const bool zeros, const bool bytes)
{
    struct slide s;
    for (size_t y = y0; y < y1; y += b->per) {
        start_slide(b, y, y1, &s);
        if (b->per == 1)
            slide_by(b, s, 1, zeros, bytes);
        else if (b->per == 2)
            slide_by(b, s, 2, zeros, bytes);
        else
            slide_by(b, s, 4, zeros, bytes);
    }
}

/* ---- 5x5 ----------------------------------------------------------------------------------------------------------- */

/* A column's first four rows, and its last. */
struct tall {
    struct four upper, lower;
};

static inline __attribute__((always_inline)) struct tall next_tall(struct slide *s,
                                                                   const size_t per)
{
    const __m512i none = _mm512_setzero_si512();
    __m512i x[FIVE];
#pragma GCC unroll 5
    for (size_t r = 0; r < FIVE; r++)
        x[r] = s->zeros;
    if (s->x++ < s->width) {
#pragma GCC unroll 5
        for (size_t r = 0; r < FIVE; r++)
            x[r] = next_pixels(s, r, per);
    }
    return (struct tall){interleaved(x[0], x[1], x[2], x[3]), interleaved(x[4], none, none, none)};
}

/* By weights, or zero points, of which those of the last row lie `lower` vectors behind. */
static inline __attribute__((always_inline)) struct four
plus_tall(struct four sums, struct tall column, const __m512i *w, const size_t lower)
{
    return plus_column(plus_column(sums, column.upper, four_at(w)), column.lower,
                       four_at(w + lower));
}

static inline __attribute__((always_inline)) struct four sum_of_four(struct four x, struct four y)
{
    return (struct four){_mm512_add_epi32(x.a, y.a), _mm512_add_epi32(x.b, y.b),
                         _mm512_add_epi32(x.c, y.c), _mm512_add_epi32(x.d, y.d)};
}

/* The next column is part of n outputs, the oldest first: by weights of columns first, first - apart ... */
static inline __attribute__((always_inline)) void add_tall(const struct block *b, struct slide *s,
                                                           const size_t per, const size_t n,
                                                           const size_t first, const size_t apart,
                                                           struct four *sums)
{
    enum { LOWER = FIVE * PARTS };
    const struct tall column = next_tall(s, per);
#pragma GCC unroll 5
    for (size_t i = 0; i < n; i++)
        sums[i] = plus_tall(sums[i], column, b->weights + (first - i * apart) * PARTS, LOWER);
    if (!b->l->weight_zeros)
        return;
    const struct four none = {_mm512_setzero_si512(), _mm512_setzero_si512(),
                              _mm512_setzero_si512(), _mm512_setzero_si512()};
    const struct four more = plus_tall(none, column, b->weights + 2 * LOWER, PARTS);
#pragma GCC unroll 5
    for (size_t i = 0; i < n; i++)
        sums[i] = sum_of_four(sums[i], more);
}

static inline __attribute__((always_inline)) void
slide_five(const struct block *b, struct slide state, const size_t per, const size_t stride)
{
    const size_t waiting = (FIVE - 1) / stride; /* outputs before the one that is done */
    const bool bytes = ox_integer_out_size(b->l->end->type) == 1;
    const struct shared h = {.offset = four_at(b->offset),
                             .scale = four_at(b->scale),
                             .ends = *b->ends,
                             .fraction = b->end.fraction ? b->fraction : NULL,
                             .words = &b->words};
    struct slide *s = &state;
    struct four sums[FIVE];
#pragma GCC unroll 5
    for (size_t i = 0; i <= waiting; i++)
        sums[i] = h.offset;
    for (size_t n = 0; n < b->l->c->out[1] + waiting; n++) {
        add_tall(b, s, per, waiting + 1, FIVE - 1, stride, sums);
        if (n >= waiting)
            leave_slide(&h, s, per, bytes, sums[0]);
#pragma GCC unroll 5
        for (size_t i = 0; i < waiting; i++)
            sums[i] = sums[i + 1];
        sums[waiting] = h.offset;
        if (stride == 2)
            add_tall(b, s, per, 2, FIVE - 2, 2, sums);
    }
}

static inline __attribute__((always_inline)) void five_by(const struct block *b, struct slide s,
                                                          const size_t per)
{
    if (b->stride == 1)
        slide_five(b, s, per, 1);
    else
        slide_five(b, s, per, 2);
}

static void five_lines(const struct block *b, size_t y0, size_t y1)
{
    struct slide s;
    for (size_t y = y0; y < y1; y += b->per) {
        start_slide(b, y, y1, &s);
        if (b->per == 1)
            five_by(b, s, 1);
        else if (b->per == 2)
            five_by(b, s, 2);
        else
            five_by(b, s, 4);
    }
}

/* -------------------------------------------------------------------------------------------------------------------- */

/* Whether the kernel is a square whose columns stay in registers. */
static bool slides(const struct ox_integer_lines *l, size_t side)
{
    const struct ox_conv *c = l->c;
    return c->kernel[0] == side && c->kernel[1] == side && c->stride[1] <= 2 && c->dilation[1] == 1;
}

/* Where pixels of n outputs lie. */
static void place_pixels(struct block *b, size_t n, size_t beyond)
{
    const struct ox_conv *c = b->l->c;
    b->plane = (n + b->per - 1) / b->per * b->per + beyond;
    b->part = b->stride * b->plane * b->width + FULL;
    for (size_t tap = 0; tap < b->taps; tap++) {
        const size_t away = tap % c->kernel[1] * c->dilation[1];
        b->pixel[tap] = tap / c->kernel[1] * PARTS * b->part +
                        (away % b->stride * b->plane + away / b->stride) * b->width;
    }
}

static void lines(const struct ox_integer_lines *l, size_t y0, size_t y1)
{
    const struct ox_conv *c = l->c;
    const struct ends ends = ends_of(l->end);
    const size_t size = ox_integer_out_size(l->end->type);
    const size_t beyond = (c->kernel[1] - 1) * c->dilation[1] / c->stride[1] + 1;
    const int8_t *weights = l->packed;
    struct block b;
    b.ends = &ends;
    for (size_t at = 0; at < c->groups; at += FULL) {
        start_block(&b, l, at, weights);
        weights += block_bytes(c, b.width);
        b.end = ox_integer_end_at(l->end, at);
        if (slides(l, FIVE) && (size > 1 || !b.wide)) {
            five_lines(&b, y0, y1);
            continue;
        }
        if (slides(l, SIDE) && (size > 1 || !b.wide)) {
            if (l->weight_zeros && size == 1)
                slide_lines(&b, y0, y1, true, true);
            else if (l->weight_zeros)
                slide_lines(&b, y0, y1, true, false);
            else if (size == 1)
                slide_lines(&b, y0, y1, false, true);
            else
                slide_lines(&b, y0, y1, false, false);
            continue;
        }
        const size_t most = (SPAN / c->stride[1] - beyond) / b.per * b.per;
        for (size_t y = y0; y < y1; y++) {
            for (size_t x = 0; x < c->out[1]; x += most) {
                const size_t n = c->out[1] - x < most ? c->out[1] - x : most;
                char *out = (char *)l->out + ((y * c->out[1] + x) * c->out_pixel + at) * size;
                place_pixels(&b, n, beyond);
                fill_pixels(&b, y, x);
                if (size == 1 && !l->weight_zeros)
                    outputs(&b, n, out, true, false);
                else if (size == 1)
                    outputs(&b, n, out, true, true);
                else if (!l->weight_zeros)
                    outputs(&b, n, out, false, false);
                else
                    outputs(&b, n, out, false, true);
            }
        }
    }
}

void ox_integer_lines_vnni(struct ox_integer *t)
{
    t->lines_packed = lines_packed;
    t->lines_pack = lines_pack;
    t->lines = lines;
}
