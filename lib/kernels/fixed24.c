#include "kernels/fixed24.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

#include "common/compiler.h"
#include "common/forget.h"
#include "kernels/dense.h"
#include "kernels/sizes.h"

/* The number of column j at step p. */
static int32_t number(const struct ox_fixed24 *w, size_t panel, size_t j, size_t p)
{
    const size_t width = panel / 4, lane = j % width, vector = j % panel / width;
    const int32_t *words = w->words + (j / panel * w->k + p) * 3 * width + lane;
    if (vector < 3)
        return words[vector * width];
    const uint32_t high = (uint32_t)words[0], middle = (uint32_t)words[width],
                   low = (uint32_t)words[2 * width];
    return (int32_t)(high << 24 | (middle & 255) << 16 | (low & 255) << 8);
}

static void multiply(const struct ox_fixed24 *w, size_t first, size_t n, unsigned rows,
                     const float *a, size_t lda, float *c, size_t ldc)
{
    for (size_t j = 0; j < n; j++) {
        for (unsigned i = 0; i < rows; i++) {
            float sum = 0;
            for (size_t p = 0; p < w->k; p++)
                sum += a[i * lda + p] * (float)number(w, OX_FIXED24_PANEL, first + j, p);
            c[i * ldc + j] = sum * w->scales[first + j];
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

/* Floats that a core with AVX-512 has in its L2, 1 MB or (with AMX) 2, come as fast as they are summed. */
size_t ox_fixed24_least(enum ox_cpu level)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AMX)
        return 5 << 16;
    if (level >= OX_CPU_AVX512)
        return 3 << 16;
    if (level >= OX_CPU_AVX2)
        return 1 << 15;
#endif
    (void)level;
    return SIZE_MAX;
}

static size_t whole_panels(size_t n)
{
    return (n + OX_FIXED24_PANEL - 1) / OX_FIXED24_PANEL * OX_FIXED24_PANEL;
}

size_t ox_fixed24_room(size_t n, size_t k)
{
    const size_t columns = n < SIZE_MAX / 2 ? whole_panels(n) : SIZE_MAX / 2;
    size_t words, all;
    return OX_MUL_OVERFLOWS(columns / 4 * 3, k, &words) || OX_ADD_OVERFLOWS(words, columns, &all)
               ? SIZE_MAX
               : all;
}

struct packing {
    size_t n, k, panel;
    const float *b;
    int32_t *words;
    float *scales;
    _Atomic bool uneven;
};

/* The greatest number that still fits when it is rounded with any low byte. */
static const double most = 256.0 * ((1 << 23) - 128);

/* The unit of a column. What rounding its weights loses is below what rounding their sum does unless one weight is most of it. */
static bool find_scale(const float *b, size_t k, float *scale)
{
    double squares = 0, greatest = 0;
    for (size_t p = 0; p < k; p++) {
        const double size = fabs((double)b[p]);
        squares += size * size;
        greatest = size > greatest ? size : greatest;
    }
    *scale = (float)(greatest / most);
    return greatest == 0 ||
           (squares <= DBL_MAX && 4 * greatest * greatest <= squares && *scale >= FLT_MIN);
}

/* x / 256 and `low` below it, nearest to x. */
static int32_t word(double x, uint32_t low)
{
    return (int32_t)((uint32_t)lrint((x - (double)low) * 0x1p-8) << 8 | low);
}

/* The columns of one lane: b[v] of vector v, NULL beyond the last. */
static void pack_lane(const struct packing *d, const float *const b[4], const double inverse[4],
                      int32_t *to)
{
    const size_t width = d->panel / 4;
    for (size_t p = 0; p < d->k; p++, to += 3 * width) {
        double x[4];
        for (unsigned v = 0; v < 4; v++)
            x[v] = b[v] ? (double)b[v][p] * inverse[v] : 0;
        const uint32_t fourth = (uint32_t)lrint(x[3] * 0x1p-8);
        to[0] = word(x[0], fourth >> 16 & 255);
        to[width] = word(x[1], fourth >> 8 & 255);
        to[2 * width] = word(x[2], fourth & 255);
    }
}

/* What is packed of large weights in a mapped file is given back at once. */
static void pack_panel(void *arg, size_t i, size_t slot)
{
    enum { LARGE = 1 << 17 };
    struct packing *d = arg;
    const size_t width = d->panel / 4;
    (void)slot;
    for (size_t lane = 0; lane < width; lane++) {
        const float *b[4];
        double inverse[4];
        for (size_t v = 0; v < 4; v++) {
            const size_t j = i * d->panel + v * width + lane;
            b[v] = j < d->n ? d->b + j * d->k : NULL;
            d->scales[j] = 0;
            if (b[v] && !find_scale(b[v], d->k, &d->scales[j])) {
                atomic_store(&d->uneven, true);
                return;
            }
            inverse[v] = d->scales[j] > 0 ? 1 / (double)d->scales[j] : 0;
        }
        pack_lane(d, b, inverse, d->words + i * d->k * 3 * width + lane);
    }
    if (d->n > LARGE / d->k)
        ox_mapping_forget(d->b + i * d->panel * d->k,
                          ox_least(d->panel, d->n - i * d->panel) * d->k * sizeof *d->b);
}

bool ox_fixed24_pack(const struct ox_fixed24_kernels *t, struct ox_env *env, size_t n, size_t k,
                     const float *b, float *room, struct ox_fixed24 *out)
{
    struct packing d = {.n = n,
                        .k = k,
                        .panel = t->panel,
                        .b = b,
                        .words = (int32_t *)(void *)(room + whole_panels(n)),
                        .scales = room};
    ox_spread(env, n ? (n - 1) / t->panel + 1 : 0, 8.0 * (double)n * (double)k, pack_panel, &d);
    *out = (struct ox_fixed24){.n = n, .k = k, .words = d.words, .scales = d.scales};
    return !atomic_load(&d.uneven);
}
