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
            sum += (int32_t)(t->in[i][c] ^ t->flip) * t->weights[i * t->channels + c];
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
#endif
        t->level = (enum ox_cpu)level;
    }
}

const struct ox_integer *ox_integer(enum ox_cpu level)
{
    pthread_once(&filled, fill);
    return &tables[level];
}
