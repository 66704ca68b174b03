#include "ops/log_sum_exp.h"

#include <math.h>
#include <string.h>

#include "common/stamp.h"
#include "kernels/doubles.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/whole.h"

float ox_log_sum_exp_row(const float *x, size_t n)
{
    enum { STRETCH = 256 };
    const struct ox_rows *t = ox_fast_rows();
    const float greatest = t->max(n, x);
    float v[STRETCH];
    double total = 0;
    if (!isfinite(greatest))
        return greatest;
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < STRETCH ? n - at : STRETCH;
        t->binary[OX_BINARY_SUB][OX_ROW_RIGHT_ONE](some, x + at, &greatest, v);
        t->unary[OX_UNARY_EXP](some, v, v, 0, 0);
        total += (double)t->sum(some, v);
    }
    return (float)((double)greatest + log(total));
}

static void float_rows(const void *from, size_t rows, size_t n, void *to)
{
    const float *x = from;
    float *y = to;
    const struct ox_rows *t = ox_fast_rows();
    const struct ox_fold *greatest = ox_folds(ox_cpu())->of[OX_FOLD_GREATEST][OX_FLOAT32];
    float most[OX_LOG_SUM_EXP_LANES], v[OX_LOG_SUM_EXP_LANES], total[OX_LOG_SUM_EXP_LANES];
    greatest->start(most, rows);
    greatest->rows(most, x, rows, n);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = row * n; i < (row + 1) * n; i++)
            v[i] = x[i] - most[row];
    t->unary[OX_UNARY_EXP](rows * n, v, v, 0, 0);
    for (size_t row = 0; row < rows; row++) {
        double sum = 0;
        for (size_t i = row * n; i < (row + 1) * n; i++)
            sum += (double)v[i];
        total[row] = (float)sum;
    }
    t->unary[OX_UNARY_LOG](rows, total, total, 0, 0);
    for (size_t row = 0; row < rows; row++)
        y[row] = isfinite(most[row]) ? (float)((double)total[row] + (double)most[row]) : most[row];
}

void ox_log_sum_exp_abreast(void *acc, const void *in, size_t lanes, size_t rows, size_t stride,
                            const void *shifts)
{
    const float *x = in;
    const double *shift = shifts;
    double *total = acc;
    float v[OX_LOG_SUM_EXP_LANES];
    const size_t most = OX_LOG_SUM_EXP_LANES / lanes; /* rows of few lanes go together */
    for (size_t row = 0, some; row < rows; row += some) {
        some = rows - row < most ? rows - row : most;
        float *to = v;
        for (size_t k = 0; k < some; k++, x += stride, to += lanes)
            for (size_t i = 0; i < lanes; i++) {
                const float s = (float)shift[i];
                to[i] = x[i] == s ? 0 : x[i] - s; /* both may be infinite */
            }
        ox_fast_rows()->unary[OX_UNARY_EXP](some * lanes, v, v, 0, 0);
        for (size_t k = 0; k < some * lanes; k += lanes)
            for (size_t i = 0; i < lanes; i++)
                total[i] += (double)v[k + i];
    }
}

void ox_log_sum_exp_run(void *acc, const void *in, size_t n, const void *shifts)
{
    const struct ox_rows *t = ox_fast_rows();
    const float *x = in, s = (float)*(const double *)shifts;
    double *total = acc;
    float v[OX_LOG_SUM_EXP_LANES];
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < OX_LOG_SUM_EXP_LANES ? n - at : OX_LOG_SUM_EXP_LANES;
        for (size_t i = 0; i < some; i++)
            v[i] = x[at + i] == s ? 0 : x[at + i] - s; /* both may be infinite */
        t->unary[OX_UNARY_EXP](some, v, v, 0, 0);
        *total += (double)t->sum(some, v);
    }
}

void ox_log_sum_exp_finish(const void *acc, void *out, size_t lanes, size_t n, const void *shifts)
{
    const double *total = acc, *shift = shifts;
    float v[OX_LOG_SUM_EXP_LANES], *y = out;
    (void)n;
    for (size_t i = 0; i < lanes; i++)
        v[i] = (float)total[i];
    ox_fast_rows()->unary[OX_UNARY_LOG](lanes, v, v, 0, 0);
    for (size_t i = 0; i < lanes; i++)
        y[i] = (float)(isinf(shift[i]) ? shift[i] : (double)v[i] + shift[i]);
}

/* e^-below for whole numbers; those from 46 on, below a bit of the last place of a sum with e^0 in it, are left out. */
static double power_below(uint64_t below)
{
    static const double powers[] = {0x1.0000000000000p+0,
                                    0x1.78b56362cef38p-2,
                                    0x1.152aaa3bf81ccp-3,
                                    0x1.97db0ccceb0afp-5,
                                    0x1.2c155b8213cf4p-6,
                                    0x1.b993fe00d5376p-8,
                                    0x1.44e51f113d4d6p-9,
                                    0x1.de16b9c24a98fp-11,
                                    0x1.5fc21041027adp-12,
                                    0x1.02cf22526545ap-13,
                                    0x1.7cd79b5647c9bp-15,
                                    0x1.18354238f6764p-16,
                                    0x1.9c54c3b43bc8bp-18,
                                    0x1.2f6053b981d98p-19,
                                    0x1.be6c6fdb01612p-21,
                                    0x1.4875ca227ec38p-22,
                                    0x1.e355bbaee85cbp-24,
                                    0x1.639e3175a689dp-25,
                                    0x1.05a628c699fa1p-26,
                                    0x1.81056ff2c5772p-28,
                                    0x1.1b48655f37267p-29,
                                    0x1.a0db0d0ddb3ecp-31,
                                    0x1.32b48bf117da2p-32,
                                    0x1.c3527e433fab1p-34,
                                    0x1.4c1078fe9228ap-35,
                                    0x1.e8a37a45fc32ep-37,
                                    0x1.67852a7007e42p-38,
                                    0x1.0885298767e9ap-39,
                                    0x1.853f01d6d53bap-41,
                                    0x1.1e642baeb84a0p-42,
                                    0x1.a56e0c2ac7f75p-44,
                                    0x1.36121e24d3bbap-45,
                                    0x1.c8464f7616468p-47,
                                    0x1.4fb547c775da8p-48,
                                    0x1.ee001eed62aa0p-50,
                                    0x1.6b7719a59f0e0p-51,
                                    0x1.0b6c3afdde064p-52,
                                    0x1.898471fca6055p-54,
                                    0x1.2188ad6ae3303p-55,
                                    0x1.aa0de4bf35b38p-57,
                                    0x1.39792499b1a24p-58,
                                    0x1.cd480a1b74820p-60,
                                    0x1.536452ee2f75cp-61,
                                    0x1.f36bd37f42f3ep-63,
                                    0x1.6f741de1748ecp-64,
                                    0x1.0e5b73d1ff53dp-65,
                                    0};
    return powers[below < OX_COUNT(powers) ? below : OX_COUNT(powers) - 1];
}

/* The logarithms of the sums of e^v over rows of n; v is work. */
static void logs_of_sums(double *v, size_t rows, size_t n, double *total)
{
    const struct ox_doubles *t = ox_doubles(ox_cpu());
    t->unary[OX_UNARY_EXP](rows * n, v, v, 0, 0);
    for (size_t row = 0; row < rows; row++) {
        total[row] = 0;
        for (size_t i = row * n; i < (row + 1) * n; i++)
            total[row] += v[i];
    }
    t->unary[OX_UNARY_LOG](rows, total, total, 0, 0);
}

static void double_rows(const void *from, size_t rows, size_t n, void *to)
{
    const struct ox_fold *greatest = ox_folds(ox_cpu())->of[OX_FOLD_GREATEST][OX_FLOAT64];
    const double *x = from;
    double most[OX_LOG_SUM_EXP_LANES], v[OX_LOG_SUM_EXP_LANES], total[OX_LOG_SUM_EXP_LANES];
    double *y = to;
    greatest->start(most, rows);
    greatest->rows(most, x, rows, n);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = row * n; i < (row + 1) * n; i++)
            v[i] = x[i] - most[row];
    logs_of_sums(v, rows, n, total);
    for (size_t row = 0; row < rows; row++)
        y[row] = isfinite(most[row]) ? total[row] + most[row] : most[row];
}

#define STAMP "ops/reduce_powers_tmpl.h"
#include "common/stamp_integers.h"

void ox_log_sum_exp_of_integers(enum ox_dtype type, const struct ox_fold **shift,
                                const struct ox_fold **fold,
                                void (**end)(const void *acc, void *out, size_t lanes, size_t n,
                                             const void *shifts))
{
    static const struct ox_fold *const folds[OX_N_DTYPES] = {OX_KERNELS_WIDE_INTEGER(&powers)};
    static void (*const ends[OX_N_DTYPES])(const void *, void *, size_t, size_t,
                                           const void *) = {OX_KERNELS_WIDE_INTEGER(powers_end)};
    if (!folds[type])
        return;
    *shift = ox_folds(ox_cpu())->of[OX_FOLD_GREATEST][type];
    *fold = folds[type];
    *end = ends[type];
}

void (*ox_log_sum_exp_short(enum ox_dtype type))(const void *, size_t, size_t, void *)
{
    static void (*const rows[OX_N_DTYPES])(const void *, size_t, size_t, void *) = {
        [OX_FLOAT32] = float_rows, [OX_FLOAT64] = double_rows, OX_KERNELS_WIDE_INTEGER(short_rows)};
    const struct ox_doubles *t = ox_doubles(ox_cpu());
    const bool served = type == OX_FLOAT32 || (t->unary[OX_UNARY_EXP] && t->unary[OX_UNARY_LOG]);
    return served ? rows[type] : NULL;
}
