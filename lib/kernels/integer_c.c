/* The plain C table of integer.h. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "kernels/integer.h"

enum { MR = 4, NR = 8 };

static void tile(const struct ox_integer_tile *t)
{
    int32_t sum[MR][NR] = {{0}};
    const int8_t *b = t->b;
    for (size_t s = 0; s < t->segments; s++) {
        const uint8_t *const *a = t->a + s * MR;
        for (size_t p = 0; p < t->depth; p++) {
            for (unsigned i = 0; i < t->rows; i++) {
                const int32_t x = a[i][p];
                for (unsigned j = 0; j < NR; j++)
                    sum[i][j] += x * b[(p / 4 * NR + j) * 4 + p % 4];
            }
        }
        b += (t->depth + 3) / 4 * 4 * NR;
    }
    for (unsigned i = 0; i < t->rows; i++) {
        for (unsigned j = 0; j < t->cols; j++)
            t->c[i * t->ldc + j] = sum[i][j];
    }
}

/* Where a row has its k-th byte, segments joined, and where the panel has the weights of it. */
static const uint8_t *byte_of(const struct ox_integer_tile *t, size_t k, unsigned row,
                              const int8_t **w)
{
    const size_t s = k / t->depth, p = k % t->depth, panel = (t->depth + 3) / 4 * 4 * NR;
    *w = (const int8_t *)t->b + s * panel + p / 4 * 4 * NR + p % 4;
    return t->a[s * MR + row] + p;
}

/* As vpmaddubsw adds: two products in 16 bits that saturate, pairs then in 32. Pairs are neighbours in the row of a matrix whose
 * columns are all taps and channels, as those who multiply by it lay a convolution out. */
static void saturating_tile(const struct ox_integer_tile *t)
{
    int32_t sum[MR][NR] = {{0}};
    const size_t n = t->segments * t->depth;
    for (size_t k = 0; k < n; k += 2) {
        for (unsigned i = 0; i < t->rows; i++) {
            const int8_t *u, *v;
            const bool both = k + 1 < n;
            const int32_t x = *byte_of(t, k, i, &u), y = *byte_of(t, both ? k + 1 : k, i, &v);
            for (unsigned j = 0; j < NR; j++) {
                int32_t pair = x * u[j * 4] + (both ? y * v[j * 4] : 0);
                pair = pair > INT16_MAX ? INT16_MAX : pair;
                sum[i][j] += pair < INT16_MIN ? INT16_MIN : pair;
            }
        }
    }
    for (unsigned i = 0; i < t->rows; i++) {
        for (unsigned j = 0; j < t->cols; j++)
            t->c[i * t->ldc + j] = sum[i][j];
    }
}

static int32_t sum_bytes(size_t n, const uint8_t *x, uint8_t flip)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] ^ flip;
    return sum;
}

static void taps(const struct ox_integer_taps *t)
{
    for (size_t c = 0; c < t->channels; c++) {
        int32_t sum = 0;
        for (size_t i = 0; i < t->n; i++)
            sum += (int32_t)(t->in[i][c] ^ t->flip) * t->weights[ox_integer_tap(t->channels, i, c)];
        t->sums[c] = sum;
    }
}

static float clamp(float x, float lo, float hi)
{
    x = lo > x ? lo : x;
    return hi < x ? hi : x;
}

static void finish(size_t n, const int32_t *sums, int32_t row_term,
                   const struct ox_integer_end *end, void *out)
{
    for (size_t j = 0; j < n; j++) {
        /* Wraps as the vectors do. */
        uint32_t t = (uint32_t)sums[j] + (end->offset ? (uint32_t)end->offset[j] : 0);
        if (end->weight_zero)
            t -= (uint32_t)row_term * (uint32_t)end->weight_zero[j];
        if (end->type == OX_INTEGER_I32) {
            ((int32_t *)out)[j] = (int32_t)t;
            continue;
        }
        if (end->type == OX_INTEGER_F32) {
            const float x = (float)(int32_t)t * end->scale[j];
            ((float *)out)[j] = clamp(end->bias ? x + end->bias[j] : x, end->lo_f, end->hi_f);
            continue;
        }
        double x = (double)(int32_t)t * (double)end->scale[j];
        x = x > end->lo - end->zero ? x : end->lo - end->zero;
        x = x < end->hi - end->zero ? x : end->hi - end->zero;
        const int32_t y = (int32_t)lrint(x) + end->zero;
        if (end->type == OX_INTEGER_U8)
            ((uint8_t *)out)[j] = (uint8_t)y;
        else
            ((int8_t *)out)[j] = (int8_t)y;
    }
}

static const struct ox_integer plain = {.level = OX_CPU_C,
                                        .mr = MR,
                                        .nr = NR,
                                        .layout = OX_INTEGER_QUADS,
                                        .tile = tile,
                                        .taps = taps,
                                        .sum = sum_bytes,
                                        .finish = finish};

static const struct ox_integer saturating = {.level = OX_CPU_C,
                                             .mr = MR,
                                             .nr = NR,
                                             .layout = OX_INTEGER_QUADS,
                                             .tile = saturating_tile,
                                             .taps = taps,
                                             .sum = sum_bytes,
                                             .finish = finish};

const struct ox_integer *ox_integer_saturating(void)
{
    return &saturating;
}

static struct ox_integer tables[OX_CPU_LEVELS];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (unsigned level = 0; level < OX_CPU_LEVELS; level++) {
        struct ox_integer *t = &tables[level];
        *t = plain;
#if defined(__x86_64__)
        if (level >= OX_CPU_AVX2)
            ox_integer_avx2(t);
        if (level >= OX_CPU_AVX512)
            ox_integer_avx512(t);
        if (level >= OX_CPU_VNNI)
            ox_integer_vnni(t);
#elif defined(__aarch64__)
        if (level >= OX_CPU_DOTPROD)
            ox_integer_dotprod(t);
#endif
        t->level = (enum ox_cpu)level;
    }
}

const struct ox_integer *ox_integer(enum ox_cpu level)
{
    pthread_once(&filled, fill);
    return &tables[level];
}
