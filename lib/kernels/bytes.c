/* The plain C table of bytes.h. */
#include "kernels/bytes.h"

#include <math.h>
#include <pthread.h>

static void quantize(size_t n, const float *x, const struct ox_bytes_code *code, uint8_t *y)
{
    const float lo = (float)(code->lo - code->zero), hi = (float)(code->hi - code->zero);
    for (size_t i = 0; i < n; i++) {
        float q = x[i] / code->scale;
        q = q > lo ? q : lo;
        q = q < hi ? q : hi;
        y[i] = (uint8_t)((int32_t)lrintf(q) + code->zero);
    }
}

static void dequantize(size_t n, const uint8_t *x, uint8_t flip, int32_t zero, float scale,
                       float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((int32_t)(x[i] ^ flip) - zero) * scale;
}

static void range(size_t n, const float *x, float *lo, float *hi)
{
    float low = *lo, high = *hi;
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    *lo = low;
    *hi = high;
}

static void look_up(size_t n, const uint8_t *x, const uint8_t table[256], uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

static void add(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = ox_bytes_add_one(a[i], b[i], pair);
}

static void multiply(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                     uint8_t *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = ox_bytes_multiply_one(a[i], b[i], pair);
}

static void greatest(size_t n, size_t rows, const uint8_t *const *x, uint8_t flip, uint8_t *y)
{
    for (size_t k = 0; k < rows; k++)
        for (size_t i = 0; i < n; i++)
            y[i] = (x[k][i] ^ flip) > (y[i] ^ flip) ? x[k][i] : y[i];
}

static void accumulate(size_t n, size_t rows, size_t step, const uint8_t *x, uint8_t flip,
                       int32_t *y)
{
    for (size_t k = 0; k < rows; k++, x += step)
        for (size_t i = 0; i < n; i++)
            y[i] += x[i] ^ flip;
}

static int32_t sum(size_t n, const uint8_t *x, uint8_t flip)
{
    uint32_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += x[i] ^ flip;
    return (int32_t)all;
}

/* In squares that stay in the first cache. */
static void transpose(size_t rows, size_t cols, const uint8_t *x, size_t ldx, uint8_t *y,
                      size_t ldy)
{
    enum { SIDE = 32 };
    for (size_t i0 = 0; i0 < rows; i0 += SIDE) {
        const size_t i1 = rows - i0 < SIDE ? rows : i0 + SIDE;
        for (size_t j0 = 0; j0 < cols; j0 += SIDE) {
            const size_t j1 = cols - j0 < SIDE ? cols : j0 + SIDE;
            for (size_t j = j0; j < j1; j++)
                for (size_t i = i0; i < i1; i++)
                    y[j * ldy + i] = x[i * ldx + j];
        }
    }
}

/* Four at a time: a loop of one takes twice as long where it lies badly. */
static void look_up_floats(size_t n, const uint8_t *x, const float table[256], float *y)
{
    for (; n >= 4; n -= 4, x += 4, y += 4) {
        y[0] = table[x[0]];
        y[1] = table[x[1]];
        y[2] = table[x[2]];
        y[3] = table[x[3]];
    }
    for (size_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

static const struct ox_bytes plain = {.level = OX_CPU_C,
                                      .quantize = quantize,
                                      .dequantize = dequantize,
                                      .range = range,
                                      .look_up = look_up,
                                      .look_up_floats = look_up_floats,
                                      .add = add,
                                      .multiply = multiply,
                                      .greatest = greatest,
                                      .accumulate = accumulate,
                                      .sum = sum,
                                      .transpose = transpose};

static struct ox_bytes tables[OX_CPU_LEVELS];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    const enum ox_cpu most = ox_cpu_probe();
    for (unsigned i = 0; i < OX_CPU_LEVELS; i++) {
        const enum ox_cpu level = i < most ? (enum ox_cpu)i : most;
        tables[i] = plain;
#if defined(__x86_64__)
        if (level >= OX_CPU_AVX2)
            ox_bytes_avx2(&tables[i]);
        if (level >= OX_CPU_AVX512)
            ox_bytes_avx512(&tables[i]);
        if (level >= OX_CPU_VNNI)
            ox_bytes_vnni(&tables[i]);
        if (level >= OX_CPU_VNNI && ox_cpu_has_vbmi())
            ox_bytes_vbmi(&tables[i]);
#endif
        (void)level;
        tables[i].level = (enum ox_cpu)i;
    }
}

const struct ox_bytes *ox_bytes(enum ox_cpu level)
{
    pthread_once(&filled, fill);
    return &tables[level];
}
