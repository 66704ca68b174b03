#include "kernels/few_bits_digits.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/sizes.h"

enum { STEP = OX_DIGITS_STEP, LANES = OX_DIGITS_LANES };

static size_t codes_of_byte(const struct ox_few_bits *w)
{
    return 8 / w->bits;
}

static size_t digits_bytes(const struct ox_few_bits *w, unsigned digits)
{
    return codes_of_byte(w) * digits * STEP;
}

struct ox_digit_rows ox_digit_rows(const struct ox_few_bits *w, size_t m, unsigned digits)
{
    const size_t bytes = w->k / codes_of_byte(w);
    return (struct ox_digit_rows){.digits = digits,
                                  .m = m,
                                  .steps = (bytes + STEP - 1) / STEP,
                                  .record = digits_bytes(w, digits) + sizeof(struct ox_digits_end),
                                  .whole =
                                      w->zeros && digits == 1 ? ox_round_up(w->blocks, LANES) : 0};
}

size_t ox_digit_rows_bytes(const struct ox_digit_rows *a)
{
    return a->m * (a->steps * a->record + a->whole * sizeof *a->sums);
}

void ox_digit_rows_place(struct ox_digit_rows *a, void *room)
{
    a->records = room;
    a->sums = (float *)(void *)(a->records + a->m * a->steps * a->record);
}

static struct ox_digits_end *end_of(const struct ox_few_bits *w, const struct ox_digit_rows *a,
                                    char *record)
{
    return (struct ox_digits_end *)(void *)(record + digits_bytes(w, a->digits));
}

static bool has_two_sums(const struct ox_few_bits *w, const struct ox_digit_rows *a)
{
    return w->bits == 8 && a->digits > 1;
}

/* Number p of a row becomes `value`, of its block's scale. */
static void put(const struct ox_few_bits *w, const struct ox_digit_rows *a, size_t row, size_t p,
                int32_t value, float scale)
{
    const size_t codes = codes_of_byte(w), byte = p / codes, lane = byte % STEP / 4;
    char *record = ox_digits_record(a, row, byte / STEP);
    int8_t *digits = (int8_t *)record + p % codes * a->digits * STEP + byte % STEP;
    struct ox_digits_end *end = end_of(w, a, record);
    const int32_t zero = w->zeros ? 1 : 1 << (w->bits - 1);
    int32_t left = value;
    for (unsigned i = 0; i < a->digits; i++) {
        const int8_t digit = (int8_t)(uint8_t)((uint32_t)left & 255);
        digits[i * STEP] = digit;
        left = (left - digit) / 256;
    }
    const int32_t low = has_two_sums(w, a) ? digits[0] : value;
    end->low[lane] -= zero * low;
    end->high[lane] -= zero * ((value - low) / 256);
    end->scales[lane] = scale;
}

static bool quantize(const struct ox_few_bits *w, const struct ox_digit_rows *a, const float *x,
                     size_t row)
{
    const float top = (float)ox_digits_most(a->digits);
    for (size_t step = 0; step < a->steps; step++)
        memset(ox_digits_record(a, row, step), 0, a->record);
    for (size_t b = 0; b < w->blocks; b++) {
        const float *in = x + b * w->block;
        float most = 0;
        for (size_t p = 0; p < w->block; p++) {
            if (!isfinite(in[p]))
                return false;
            most = fabsf(in[p]) > most ? fabsf(in[p]) : most;
        }
        const float scale = most / top;
        if (most > 0 && scale < FLT_MIN)
            return false;
        const float inverse = most > 0 ? top / most : 0;
        int32_t sum = 0;
        for (size_t p = 0; p < w->block; p++) {
            const int32_t value = (int32_t)rintf(in[p] * inverse);
            put(w, a, row, b * w->block + p, value, scale);
            sum += value;
        }
        if (a->whole)
            a->sums[row * a->whole + b] = (float)sum * scale;
    }
    for (size_t b = w->blocks; b < a->whole; b++)
        a->sums[row * a->whole + b] = 0;
    return true;
}

/* What the lanes of a step sum up to, scaled. */
static void add_step(const struct ox_few_bits *w, size_t column, const struct ox_digit_rows *a,
                     size_t row, size_t step, float sum[LANES])
{
    const size_t codes = codes_of_byte(w), bytes = w->k / codes;
    const uint8_t *weights = w->codes + column * bytes;
    char *record = ox_digits_record(a, row, step);
    const struct ox_digits_end *end = end_of(w, a, record);
    for (size_t lane = 0; lane < LANES && step * STEP + lane * 4 < bytes; lane++) {
        const size_t from = step * STEP + lane * 4, block = from * codes / w->block;
        const int32_t zero = a->whole   ? 0
                             : w->zeros ? (int32_t)ox_few_bits_zero(w, column, block)
                                        : 1;
        int32_t low = zero * end->low[lane], high = zero * end->high[lane];
        for (size_t p = from * codes; p < (from + 4) * codes; p++) {
            const int8_t *of =
                (const int8_t *)record + p % codes * a->digits * STEP + p / codes % STEP;
            const int32_t code = (int32_t)ox_few_bits_code(weights, p, w->bits);
            low += code * of[0];
            if (a->digits > 1)
                high += code * (of[STEP] + 256 * of[2 * STEP]);
        }
        const float both =
            has_two_sums(w, a) ? fmaf((float)high, 256, (float)low) : (float)(low + 256 * high);
        sum[lane] =
            fmaf(both * end->scales[lane], w->scales[column * w->blocks + block], sum[lane]);
    }
}

/* Takes away what the zeros of a column add up to. */
static void add_zeros(const struct ox_few_bits *w, size_t column, const float *sums, size_t whole,
                      float sum[LANES])
{
    for (size_t b = 0; b < whole; b++) {
        const bool is = b < w->blocks;
        const float zero =
            is ? ox_few_bits_zero(w, column, b) * w->scales[column * w->blocks + b] : 0;
        sum[b % LANES] = fmaf(-zero, sums[b], sum[b % LANES]);
    }
}

static void dots(const struct ox_few_bits *w, size_t first, size_t n, const struct ox_digit_rows *a,
                 float *c, size_t ldc)
{
    for (size_t i = 0; i < a->m; i++) {
        for (size_t j = 0; j < n; j++) {
            float sum[LANES] = {0};
            for (size_t step = 0; step < a->steps; step++)
                add_step(w, first + j, a, i, step, sum);
            add_zeros(w, first + j, a->sums + i * a->whole, a->whole, sum);
            for (size_t half = LANES / 2; half > 0; half /= 2)
                for (size_t lane = 0; lane < half; lane++)
                    sum[lane] += sum[lane + half];
            c[i * ldc + j] = sum[0];
        }
    }
}

const struct ox_few_digits ox_few_digits_c = {.quantize = quantize, .dots = dots};

const struct ox_few_digits *ox_few_digits(enum ox_cpu level, const struct ox_few_bits *w,
                                          unsigned digits)
{
    const size_t bytes = w->block * w->bits / 8;
    if ((w->bits != 4 && w->bits != 8) || w->real_zeros || bytes < 16 || (bytes & (bytes - 1)))
        return NULL;
#if defined(__x86_64__)
    if (level == OX_CPU_VNNI || level == OX_CPU_AMX)
        return &ox_few_digits_vnni;
    if (level < OX_CPU_AVX512 && level >= OX_CPU_AVX2 && w->bits == 4 && digits == OX_DIGITS)
        return &ox_few_digits_avx2;
#endif
    (void)level;
    (void)digits;
    return NULL;
}
