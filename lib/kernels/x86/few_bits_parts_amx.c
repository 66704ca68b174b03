/* Columns of few bits as the rows of tiles, whose codes need not be turned, by rows as their columns: a tile's sums have a scale a line.
 * While tiles are multiplied, the vector units make the next codes, and scale and add the sums before. */
#include "kernels/few_bits_parts.h"

#if defined(__AMX_BF16__) && defined(__AMX_TILE__)
#include <string.h>

#include "kernels/inline.h"
#include "kernels/sizes.h"
#include "kernels/x86/amx_tiles.h"
#include "kernels/x86/turn_avx.h"
#include "kernels/x86/vec_avx512.h"

enum {
    DEEP = OX_TRIPLES_DEPTH,
    TALL = OX_TRIPLES_ROWS,
    TILE = OX_TRIPLES_TILE,
    COLS = OX_FEW_PARTS_COLS,
    LINE = 64, /* bytes of a row of a tile */
    STEPS = 4, /* at a time */
    SUMS = TALL * TALL,
    STRIPS = OX_FEW_PARTS_ROWS / TALL
};

/* Some steps of the columns. */
struct codes {
    uint16_t tiles[2][STEPS][TILE]; /* of sixteen columns each */
    float scales[COLS][STEPS];
} __attribute__((aligned(64)));

/* Sums of a strip of rows, and where they go. */
struct sums {
    float tiles[STEPS][2][SUMS];
    const struct codes *of;
    size_t steps;
    float *to; /* [COLS][TALL] */
} __attribute__((aligned(64)));

/* Of sixteen bytes, the lower four bits first; their upper neighbours in a word do not count. */
INLINE __m512i step_of_4(const uint8_t *at, unsigned zero)
{
    static const uint16_t numbers[31] = {
        0xc170, 0xc160, 0xc150, 0xc140, 0xc130, 0xc120, 0xc110, 0xc100, 0xc0e0, 0xc0c0, 0xc0a0,
        0xc080, 0xc040, 0xc000, 0xbf80, 0,      0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0,
        0x40e0, 0x4100, 0x4110, 0x4120, 0x4130, 0x4140, 0x4150, 0x4160, 0x4170}; /* -15 to 15 */
    const void *from = numbers + 15 - zero;
    const __m512i table = _mm512_broadcast_i64x4(_mm256_loadu_si256(from));
    const __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)at));
    return _mm512_permutexvar_epi16(_mm512_or_si512(x, _mm512_slli_epi32(x, 12)), table);
}

/* Numbers k and k + 16 beside each other. */
INLINE __m512i step_of_8(const uint8_t *at, unsigned zero)
{
    const __m512i top = _mm512_set1_epi32((int)0xffff0000), less = _mm512_set1_epi32((int)zero);
    enum { OR_IF = 0xf8 }; /* a | (b & c) */
    __m512i x[2];
    for (int i = 0; i < 2; i++) {
        const __m512i code =
            _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(at + (size_t)i * TALL)));
        x[i] = _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_sub_epi32(code, less)));
    }
    return _mm512_ternarylogic_epi32(_mm512_srli_epi32(x[0], 16), x[1], top, OR_IF);
}

/* Columns beyond the last are the last one. `whole`: all STEPS, each a block. */
INLINE void make(const struct ox_few_bits *w, const unsigned bits, const bool zeros,
                 const bool whole, size_t first, size_t cols, size_t step, size_t some,
                 struct codes *out)
{
    const size_t bytes = w->k * bits / 8, line = DEEP * bits / 8, per = whole ? 1 : w->block / DEEP;
    const size_t steps = whole ? STEPS : some;
    for (size_t j = 0; j < COLS; j++) {
        const size_t column = first + (j < cols ? j : cols - 1);
        const float *scales = w->scales + column * w->blocks;
        const uint8_t *at = w->codes + column * bytes + step * line;
        uint16_t *to = out->tiles[j / TALL][0] + j % TALL * DEEP;
        for (size_t i = 0; i < STEPS * line; i += LINE)
            __builtin_prefetch(at + COLS * bytes + i, 0, 2);
        if (whole)
            _mm_store_ps(out->scales[j], _mm_loadu_ps(scales + step));
#pragma GCC unroll 4
        for (size_t s = 0; s < steps; s++, at += line, to += TILE) {
            const size_t block = (step + s) / per;
            const unsigned zero =
                zeros ? ox_few_bits_code(w->zeros + column * w->zero_bytes, block, bits)
                      : 1U << (bits - 1);
            _mm512_store_si512(to, bits == 4 ? step_of_4(at, zero) : step_of_8(at, zero));
            if (!whole)
                out->scales[j][s] = scales[block];
        }
    }
}

INLINE void make_of(const struct ox_few_bits *w, const unsigned bits, size_t first, size_t cols,
                    size_t step, size_t steps, struct codes *out)
{
    const bool whole = steps == STEPS && w->block == DEEP;
    if (w->zeros && whole)
        make(w, bits, true, true, first, cols, step, steps, out);
    else if (w->zeros)
        make(w, bits, true, false, first, cols, step, steps, out);
    else if (whole)
        make(w, bits, false, true, first, cols, step, steps, out);
    else
        make(w, bits, false, false, first, cols, step, steps, out);
}

static void make_codes(const struct ox_few_parts *p, size_t first, size_t cols, size_t step,
                       size_t steps, struct codes *out)
{
    if (p->w->bits == 4)
        make_of(p->w, 4, first, cols, step, steps, out);
    else
        make_of(p->w, 8, first, cols, step, steps, out);
}

/* A step of both tiles of columns by three parts of a strip, from low to high, into tiles a and b. */
#define MULTIPLY(a, b, s)                                                                          \
    do {                                                                                           \
        const uint16_t *r = row + (s)*OX_FEW_PARTS_STEP;                                           \
        _tile_zero(a);                                                                             \
        _tile_zero(b);                                                                             \
        _tile_loadd(4, of->tiles[0][s], LINE);                                                     \
        _tile_loadd(5, of->tiles[1][s], LINE);                                                     \
        _tile_loadd(6, r + 2 * TILE, LINE);                                                        \
        _tile_dpbf16ps(a, 4, 6);                                                                   \
        _tile_dpbf16ps(b, 5, 6);                                                                   \
        _tile_loadd(7, r + TILE, LINE);                                                            \
        _tile_dpbf16ps(a, 4, 7);                                                                   \
        _tile_dpbf16ps(b, 5, 7);                                                                   \
        _tile_loadd(6, r, LINE);                                                                   \
        _tile_dpbf16ps(a, 4, 6);                                                                   \
        _tile_dpbf16ps(b, 5, 6);                                                                   \
        _tile_stored(a, out->tiles[s][0], LINE);                                                   \
        _tile_stored(b, out->tiles[s][1], LINE);                                                   \
    } while (0)

static void multiply(const struct codes *of, const uint16_t *row, size_t steps, struct sums *out)
{
    ox_amx_memory_is_written();
    for (size_t s = 0; s < steps; s += 2) {
        MULTIPLY(0, 1, s);
        if (s + 1 < steps)
            MULTIPLY(2, 3, s + 1);
    }
    ox_amx_memory_is_written();
}

INLINE void add(const struct sums *x, const size_t steps)
{
    for (size_t j = 0; j < COLS; j++) {
        const size_t half = j / TALL, at = j % TALL * TALL;
        const float *scales = x->of->scales[j];
        VF sum = v_mul(v_load(x->tiles[0][half] + at), v_set1(scales[0]));
        for (size_t s = 1; s < steps; s++)
            sum = v_fma(v_load(x->tiles[s][half] + at), v_set1(scales[s]), sum);
        v_store(x->to + j * TALL, v_add(v_load(x->to + j * TALL), sum));
    }
}

static void add_sums(const struct sums *x)
{
    if (x->steps == STEPS)
        add(x, STEPS);
    else
        add(x, x->steps);
}

static void leave(const struct ox_few_parts *p, size_t row, size_t first, size_t cols,
                  const float *sums)
{
    float turned[TALL * COLS];
    for (size_t h = 0; h < COLS; h += TALL)
        v_turn_square(sums + h * TALL, TALL, turned + h, COLS);
    for (size_t i = 0; i < ox_least(TALL, p->m - row); i++) {
        float *c = p->c + (row + i) * p->ldc + first;
        for (size_t j = 0; j < cols; j++)
            c[j] = turned[i * COLS + j] + (p->bias ? p->bias[first + j] : 0);
    }
}

void ox_few_parts_columns_amx(const struct ox_few_parts *p, size_t first, size_t cols)
{
    struct codes codes[2];
    struct sums sums[2];
    _Alignas(LINE) float all[STRIPS][COLS * TALL];
    const size_t steps = p->w->k / DEEP, strips = (p->m + TALL - 1) / TALL;
    const struct sums *before = NULL;
    size_t side = 0, at = 0;
    memset(all, 0, strips * sizeof *all);
    make_codes(p, first, cols, 0, ox_least(STEPS, steps), &codes[0]);
    for (size_t s = 0; s < steps; s += STEPS, side = !side) {
        const size_t some = ox_least(STEPS, steps - s), next = s + some;
        for (size_t i = 0; i < strips; i++, at = !at) {
            const uint16_t *row = ox_few_parts_rows(p, i * TALL) + s * OX_FEW_PARTS_STEP;
            multiply(&codes[side], row, some, &sums[at]);
            if (before)
                add_sums(before);
            if (i + 1 == strips && next < steps)
                make_codes(p, first, cols, next, ox_least(STEPS, steps - next), &codes[!side]);
            sums[at].of = &codes[side];
            sums[at].steps = some;
            sums[at].to = all[i];
            before = &sums[at];
        }
    }
    if (before)
        add_sums(before);
    for (size_t i = 0; i < strips; i++)
        leave(p, i * TALL, first, cols, all[i]);
}
#endif
