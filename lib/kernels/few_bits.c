#include "kernels/few_bits.h"

static float weight(const struct ox_few_bits *w, size_t column, size_t p)
{
    const uint8_t *codes = w->codes + column * (w->k * w->bits / 8);
    const size_t block = p / w->block;
    if (w->values)
        return w->values[codes[p / 2] >> (p % 2 ? 0 : 4) & 15] *
               w->scales[column * w->blocks + block];
    return ((float)ox_few_bits_code(codes, p, w->bits) - ox_few_bits_zero(w, column, block)) *
           w->scales[column * w->blocks + block];
}

static void dots(const struct ox_few_bits *w, size_t first, size_t n, unsigned rows, const float *a,
                 size_t lda, float *c, size_t ldc)
{
    for (size_t j = 0; j < n; j++) {
        float sum[OX_FEW_BITS_ROWS] = {0};
        for (size_t p = 0; p < w->k; p++) {
            const float value = weight(w, first + j, p);
            for (unsigned i = 0; i < rows; i++)
                sum[i] += a[i * lda + p] * value;
        }
        for (unsigned i = 0; i < rows; i++)
            c[i * ldc + j] = sum[i];
    }
}

enum { PART = 64, LANES = 8, QUARTERS = 4 /* codes of 2 bits in a byte */ };

/* n weights of 2 bits from element p on, within a block: what four codes are is looked up. */
static void widen_quarters(const struct ox_few_bits *w, size_t column, size_t p, size_t n,
                           float *out)
{
    const uint8_t *codes = w->codes + (column * w->k + p) / QUARTERS;
    const size_t block = p / w->block;
    const float zero = ox_few_bits_zero(w, column, block),
                scale = w->scales[column * w->blocks + block];
    float values[QUARTERS];
    for (unsigned code = 0; code < QUARTERS; code++)
        values[code] = ((float)code - zero) * scale;
    for (size_t i = 0; i < n; i += QUARTERS) {
        const unsigned byte = codes[i / QUARTERS];
        out[i] = values[byte & 3];
        out[i + 1] = values[byte >> 2 & 3];
        out[i + 2] = values[byte >> 4 & 3];
        out[i + 3] = values[byte >> 6];
    }
}

/* dots() of 2 bits: parts of a block become floats that stay near, and sums go to lanes, which compilers make vectors of. */
static void dots_quarters(const struct ox_few_bits *w, size_t first, size_t n, unsigned rows,
                          const float *a, size_t lda, float *c, size_t ldc)
{
    const size_t part = w->block < PART ? w->block : PART;
    for (size_t j = 0; j < n; j++) {
        float sum[OX_FEW_BITS_ROWS][LANES] = {{0}}, weights[PART];
        for (size_t p = 0; p < w->k; p += part) {
            widen_quarters(w, first + j, p, part, weights);
            for (unsigned i = 0; i < rows; i++)
                for (size_t q = 0; q < part; q += LANES)
                    for (unsigned l = 0; l < LANES; l++)
                        sum[i][l] += a[i * lda + p + q + l] * weights[q + l];
        }
        for (unsigned i = 0; i < rows; i++) {
            float all = 0;
            for (unsigned l = 0; l < LANES; l++)
                all += sum[i][l];
            c[i * ldc + j] = all;
        }
    }
}

static void list_quarters(const struct ox_few_bits *w, size_t column, float *out)
{
    for (size_t p = 0; p < w->k; p += w->block)
        widen_quarters(w, column, p, w->block, out + p);
}

static void widen(const struct ox_few_bits *w, size_t column, float *out)
{
    for (size_t p = 0; p < w->k; p++)
        out[p] = weight(w, column, p);
}

const struct ox_few_bits_kernels *ox_few_bits_kernels(enum ox_cpu level,
                                                      const struct ox_few_bits *w)
{
    static const struct ox_few_bits_kernels plain = {
        .chunk = 1, .rows = OX_FEW_BITS_ROWS, .dots = dots, .widen = widen, .list = widen};
    static const struct ox_few_bits_kernels quarters = {.chunk = 1,
                                                        .rows = OX_FEW_BITS_ROWS,
                                                        .dots = dots_quarters,
                                                        .widen = list_quarters,
                                                        .list = list_quarters};
    if (w->bits == 2 && w->block % LANES == 0 && (w->block <= PART || w->block % PART == 0))
        return &quarters;
#if defined(__x86_64__)
    const size_t codes = w->bits == 4 ? 2 : 1; /* of a byte */
    if (level >= OX_CPU_AVX512 && w->bits >= 4 && w->block % (16 * codes) == 0)
        return &ox_few_bits_avx512;
    if (level >= OX_CPU_AVX2 && w->bits >= 4 && w->block % (8 * codes) == 0)
        return level >= OX_CPU_AVX512 ? &ox_few_bits_avx2_wide : &ox_few_bits_avx2;
#endif
    (void)level;
    (void)w;
    return &plain;
}

void ox_few_bits_arrange(const struct ox_few_bits_kernels *t, const struct ox_few_bits *w,
                         const float *a, float *out)
{
    const size_t chunk = w->bits == 4 ? t->chunk : 1, half = chunk / 2, high = w->values ? 1 : 0;
    for (size_t p = 0; p < w->k; p += chunk) {
        out[p] = a[p];
        for (size_t i = 0; i < half; i++) {
            out[p + i] = a[p + 2 * i + high];
            out[p + half + i] = a[p + 2 * i + 1 - high];
        }
    }
}
