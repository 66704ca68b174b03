#include "kernels/fixed24.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "common/compiler.h"
#include "common/forget.h"
#include "kernels/dense.h"
#include "kernels/sizes.h"

/* Weight p of column j. */
static float weight(const struct ox_fixed24 *w, size_t panel, size_t j, size_t p)
{
    enum { DEPTH = OX_FIXED24_DEPTH };
    const size_t width = panel / 4, lane = j % width, vector = j % panel / width;
    const int32_t *block = w->words + ox_fixed24_words(j / panel * panel, w->k) +
                           ox_fixed24_words(panel, p / DEPTH * DEPTH);
    const int32_t *words = block + panel / 2 + p % DEPTH * 3 * width + lane;
    const uint32_t scales = (uint32_t)block[vector / 2 * width + lane];
    const uint32_t bits = vector % 2 ? scales & 0xffff0000 : scales << 16;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    if (vector < 3)
        return (float)words[vector * width] * scale;
    const uint32_t high = (uint32_t)words[0], middle = (uint32_t)words[width],
                   low = (uint32_t)words[2 * width];
    return (float)(int32_t)(high << 24 | (middle & 255) << 16 | (low & 255) << 8) * scale;
}

static void multiply(const struct ox_fixed24 *w, size_t first, size_t n, unsigned rows,
                     const float *a, size_t lda, float *c, size_t ldc)
{
    for (size_t j = 0; j < n; j++) {
        for (unsigned i = 0; i < rows; i++) {
            float sum = 0;
            for (size_t p = 0; p < w->k; p++)
                sum += a[i * lda + p] * weight(w, OX_FIXED24_PANEL, first + j, p);
            c[i * ldc + j] = sum;
        }
    }
}

const struct ox_fixed24_kernels *ox_fixed24_kernels(enum ox_cpu level)
{
    static const struct ox_fixed24_kernels plain = {.panel = OX_FIXED24_PANEL,
                                                    .multiply = multiply};
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX512)
        return &ox_fixed24_avx512;
    if (level >= OX_CPU_AVX2)
        return &ox_fixed24_avx2;
#endif
    (void)level;
    return &plain;
}

/* Floats that a core with AVX-512 has in its L2, 1 MB or (with AMX) 2, come as fast as they are summed. With AVX2 so do those that come
 * from L3 where there are more than two rows. */
size_t ox_fixed24_least(enum ox_cpu level, size_t rows)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AMX)
        return 5 << 16;
    if (level >= OX_CPU_AVX512)
        return 3 << 16;
    if (level >= OX_CPU_AVX2)
        return rows <= 2 ? 1 << 15 : 1 << 19;
#endif
    (void)level;
    (void)rows;
    return SIZE_MAX;
}

static size_t whole_panels(size_t n)
{
    return (n + OX_FIXED24_PANEL - 1) / OX_FIXED24_PANEL * OX_FIXED24_PANEL;
}

size_t ox_fixed24_room(size_t n, size_t k)
{
    const size_t columns = n < SIZE_MAX / 2 ? whole_panels(n) : SIZE_MAX / 2;
    size_t words;
    /* Of three quarters of a word a weight and half a word for each block of them. */
    return OX_MUL_OVERFLOWS(columns, k < SIZE_MAX ? k + 1 : k, &words) || words > SIZE_MAX / 2
               ? SIZE_MAX
               : ox_fixed24_words(columns, k);
}

struct packing {
    size_t n, k, panel;
    const float *b;
    size_t row, col;
    int32_t *words;
    _Atomic bool uneven;
};

/* A block of a panel's weights, and what is found of its columns. */
struct block {
    size_t depth;
    float x[OX_FIXED24_DEPTH][OX_FIXED24_PANEL], scale[OX_FIXED24_PANEL];
    double squares[OX_FIXED24_PANEL]; /* of the columns so far, */
    double lost[OX_FIXED24_PANEL];    /* and of the numbers that their rounding goes by */
};

/* Steps from p on of a panel's columns from `first` on; those beyond the last are zeros. */
static void read_block(const struct packing *d, size_t first, size_t p, struct block *b)
{
    const size_t cols = ox_least(d->panel, d->n - first);
    const float *from = d->b + p * d->row + first * d->col;
    b->depth = ox_least(OX_FIXED24_DEPTH, d->k - p);
    for (size_t i = 0; i < b->depth; i++) {
        if (d->col == 1)
            memcpy(b->x[i], from + i * d->row, cols * sizeof *from);
        memset(b->x[i] + cols, 0, (OX_FIXED24_PANEL - cols) * sizeof *from);
    }
    for (size_t j = 0; d->col != 1 && j < cols; j++)
        for (size_t i = 0; i < b->depth; i++)
            b->x[i][j] = from[j * d->col + i];
}

/* The greatest number that still fits when it is rounded with any low byte. */
static const double most = 256.0 * ((1 << 23) - 128);

/* x rounded up to sixteen bits. */
static float rounded_up(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0xffff) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void find_scales(struct block *b)
{
    float greatest[OX_FIXED24_PANEL] = {0};
    for (size_t i = 0; i < b->depth; i++) {
        for (size_t j = 0; j < OX_FIXED24_PANEL; j++) {
            const float size = fabsf(b->x[i][j]);
            b->squares[j] += (double)size * (double)size;
            greatest[j] = size > greatest[j] ? size : greatest[j];
        }
    }
    for (size_t j = 0; j < OX_FIXED24_PANEL; j++) {
        const float scale = (float)((double)greatest[j] / most);
        b->scale[j] = greatest[j] > 0 ? rounded_up(scale > FLT_MIN ? scale : FLT_MIN) : 0;
        const double size = (double)b->scale[j] * most;
        b->lost[j] += OX_FIXED24_DEPTH * size * size;
    }
}

/* Whether rounding a column's weights loses little beside rounding its sums: each is taken for the greatest of its block, whose squares
 * are 4.4 times those of the weights where these are normally distributed. */
static bool is_even(const struct block *b)
{
    enum { MOST = 16 };
    for (size_t j = 0; j < OX_FIXED24_PANEL; j++)
        if (!(b->lost[j] <= MOST * b->squares[j] && b->squares[j] <= DBL_MAX))
            return false;
    return true;
}

/* The whole number nearest to x, |x| < 2^31. */
static int32_t nearest(double x)
{
    const double one_and_a_half = 0x1.8p52;
    int64_t bits;
    x += one_and_a_half;
    memcpy(&bits, &x, sizeof bits);
    return (int32_t)(uint32_t)(uint64_t)bits;
}

/* The number next to x with that low byte. */
static int32_t word(int32_t x, int32_t low)
{
    return (int32_t)(((uint32_t)x - (uint32_t)low + 128) & ~255U) | low;
}

/* Words of a step: to[3 * width]. */
static void pack_step(size_t width, const float *x, const double *inverse, int32_t *to)
{
    int32_t all[OX_FIXED24_PANEL];
    for (size_t j = 0; j < OX_FIXED24_PANEL; j++)
        all[j] = nearest((double)x[j] * inverse[j]);
    for (size_t j = 0; j < width; j++) {
        const int32_t fourth = word(all[3 * width + j], 0) >> 8;
        to[j] = word(all[j], fourth >> 16 & 255);
        to[width + j] = word(all[width + j], fourth >> 8 & 255);
        to[2 * width + j] = word(all[2 * width + j], fourth & 255);
    }
}

static int32_t two_scales(float even, float odd)
{
    uint32_t low, high;
    memcpy(&low, &even, sizeof low);
    memcpy(&high, &odd, sizeof high);
    return (int32_t)(low >> 16 | high);
}

/* Gives what follows it. */
static int32_t *pack_block(size_t panel, const struct block *b, int32_t *to)
{
    const size_t width = panel / 4;
    double inverse[OX_FIXED24_PANEL];
    for (size_t v = 0; v < 4; v += 2)
        for (size_t l = 0; l < width; l++)
            *to++ = two_scales(b->scale[v * width + l], b->scale[(v + 1) * width + l]);
    for (size_t j = 0; j < OX_FIXED24_PANEL; j++)
        inverse[j] = b->scale[j] > 0 ? 1 / (double)b->scale[j] : 0;
    for (size_t i = 0; i < b->depth; i++, to += 3 * width)
        pack_step(width, b->x[i], inverse, to);
    return to;
}

/* What is packed of large weights in a mapped file is given back at once, where it is in one piece. */
static void pack_panel(void *arg, size_t i, size_t slot)
{
    enum { LARGE = 1 << 17 };
    struct packing *d = arg;
    const size_t first = i * d->panel;
    struct block b = {0};
    int32_t *to = d->words + ox_fixed24_words(first, d->k);
    (void)slot;
    for (size_t p = 0; p < d->k; p += b.depth) {
        read_block(d, first, p, &b);
        find_scales(&b);
        to = pack_block(d->panel, &b, to);
    }
    if (!is_even(&b))
        atomic_store(&d->uneven, true);
    if (d->row == 1 && d->n > LARGE / d->k)
        ox_mapping_forget(d->b + first * d->col,
                          ox_least(d->panel, d->n - first) * d->k * sizeof *d->b);
}

bool ox_fixed24_pack(const struct ox_fixed24_kernels *t, struct ox_env *env, size_t n, size_t k,
                     const float *b, size_t b_row, size_t b_col, float *room,
                     struct ox_fixed24 *out)
{
    struct packing d = {.n = n,
                        .k = k,
                        .panel = t->panel,
                        .b = b,
                        .row = b_row,
                        .col = b_col,
                        .words = (int32_t *)(void *)room};
    ox_spread(env, n ? (n - 1) / t->panel + 1 : 0, 8.0 * (double)n * (double)k, pack_panel, &d);
    if (b_row != 1)
        ox_mapping_forget(b, n * k * sizeof *b);
    *out = (struct ox_fixed24){.n = n, .k = k, .words = d.words};
    return !atomic_load(&d.uneven);
}
