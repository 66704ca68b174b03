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

/* A sum of more bits than a float stays as it is. */
static double with_fraction(int32_t sum, float fraction)
{
    const float near = (float)sum, with = near + fraction;
    return (double)sum + ((double)with - (double)near);
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
        double x =
            with_fraction((int32_t)t, end->fraction ? end->fraction[j] : 0) * (double)end->scale[j];
        x = x > end->lo - end->zero ? x : end->lo - end->zero;
        x = x < end->hi - end->zero ? x : end->hi - end->zero;
        const int32_t y = (int32_t)lrint(x) + end->zero;
        if (end->type == OX_INTEGER_U8)
            ((uint8_t *)out)[j] = (uint8_t)y;
        else
            ((int8_t *)out)[j] = (int8_t)y;
    }
}

static void words(const struct ox_integer_tile *t)
{
    int32_t sum[OX_TILE_ROWS_MAX][NR] = {{0}};
    const int16_t *b = t->b;
    for (size_t p = 0; p < t->depth / 2; p++) {
        for (unsigned i = 0; i < t->rows; i++) {
            const int32_t x = ((const int16_t *)(const void *)t->a[i])[p];
            for (unsigned j = 0; j < NR; j++)
                sum[i][j] += x * b[(p / 2 * NR + j) * 2 + p % 2];
        }
    }
    for (unsigned i = 0; i < t->rows; i++) {
        for (unsigned j = 0; j < t->cols; j++)
            t->c[i * t->ldc + j] = sum[i][j];
    }
}

static const int16_t to_points[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                        {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                        {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};

static void points(const struct ox_integer_points *p)
{
    for (size_t c = 0; c < p->channels; c++) {
        int32_t half[6][6] = {{0}};
        for (unsigned i = 0; i < 36; i++) {
            for (unsigned k = 0; k < 6; k++)
                half[i / 6][i % 6] += to_points[i / 6][k] * (p->in[k * 6 + i % 6][c] ^ p->flip);
        }
        for (unsigned i = 0; i < 36; i++) {
            int32_t sum = 0;
            for (unsigned k = 0; k < 6; k++)
                sum += half[i / 6][k] * to_points[i % 6][k];
            p->out[i * p->plane + c] = (int16_t)sum;
        }
    }
}

/* A', each row times 24, divided by 2 as often as it can be. */
static const int32_t from_points[4][6] = {
    {6, -4, -4, 1, 1, 0}, {0, -2, 2, 1, -1, 0}, {0, -1, -1, 1, 1, 0}, {0, -1, 1, 2, -2, 6}};
static const unsigned twos[4] = {3, 2, 1, 1};

static void outputs(const struct ox_integer_outputs *o)
{
    for (size_t j = 0; j < o->n; j++) {
        uint32_t half[4][6] = {{0}}; /* all wraps */
        for (unsigned i = 0; i < 24; i++) {
            for (unsigned k = 0; k < 6; k++)
                half[i / 6][i % 6] += (uint32_t)from_points[i / 6][k] *
                                      (uint32_t)o->in[(k * 6 + i % 6) * o->plane + j];
        }
        for (unsigned i = 0; i < 16; i++) {
            uint32_t sum = 0;
            for (unsigned k = 0; k < 6; k++)
                sum += half[i / 4][k] * (uint32_t)from_points[i % 4][k];
            o->out[i * o->ld + j] =
                (int32_t)(sum * OX_INTEGER_NINTH) >> (twos[i / 4] + twos[i % 4]);
        }
    }
}

static void fours(size_t n, const uint8_t *const *rows, uint8_t flip, void *out)
{
    uint8_t *y = out;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < 4; i++)
            y[4 * j + i] = rows[i][j] ^ flip;
}

static const struct ox_integer plain = {.level = OX_CPU_C,
                                        .mr = MR,
                                        .nr = NR,
                                        .panels = 1,
                                        .layout = OX_INTEGER_QUADS,
                                        .tile = tile,
                                        .taps = taps,
                                        .words = words,
                                        .points_near = 1 << 20,
                                        .points = points,
                                        .outputs = outputs,
                                        .fours = fours,
                                        .sum = sum_bytes,
                                        .finish = finish};

static const struct ox_integer saturating = {.level = OX_CPU_C,
                                             .mr = MR,
                                             .nr = NR,
                                             .panels = 1,
                                             .layout = OX_INTEGER_QUADS,
                                             .tile = saturating_tile,
                                             .taps = taps,
                                             .fours = fours,
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
    const enum ox_cpu most = ox_cpu_probe();
    for (unsigned i = 0; i < OX_CPU_LEVELS; i++) {
        const enum ox_cpu level = i < most ? (enum ox_cpu)i : most;
        struct ox_integer *t = &tables[i];
        *t = plain;
#if defined(__x86_64__)
        if (level >= OX_CPU_AVX2) {
            ox_integer_avx2(t);
            ox_integer_mixed_avx2(t);
            ox_integer_upright_avx2(t);
            ox_integer_lying_avx2(t);
            ox_integer_end_avx2(t);
            ox_integer_lines_avx2(t);
        }
        if (level == OX_CPU_AVXVNNI && ox_cpu_has(level)) {
            ox_integer_avxvnni(t);
            ox_integer_words_avxvnni(t);
            ox_integer_lines_avxvnni(t);
        }
        if (level >= OX_CPU_AVX512) {
            ox_integer_avx512(t);
            ox_integer_mixed_avx512(t);
            t->upright_lay = NULL;
            t->upright = NULL; /* measured at .96 to 1.0 of MIXED's time */
            t->lying_most = 4; /* more rows by packed columns take less time */
            ox_integer_end_avx512(t);
            ox_integer_winograd_avx512(t);
        }
        if (level >= OX_CPU_VNNI) {
            ox_integer_vnni(t);
            ox_integer_words_vnni(t);
            ox_integer_lines_vnni(t);
            ox_integer_shallow_vnni(t);
        }
        if (level >= OX_CPU_VNNI && ox_cpu_has_vbmi())
            ox_integer_abreast_vnni(t);
        if (level >= OX_CPU_AMX)
            ox_integer_amx(t);
#elif defined(__aarch64__)
        if (level >= OX_CPU_DOTPROD)
            ox_integer_dotprod(t);
#endif
        (void)level;
        t->level = (enum ox_cpu)i;
    }
}

const struct ox_integer *ox_integer(enum ox_cpu level)
{
    pthread_once(&filled, fill);
    return &tables[level];
}
