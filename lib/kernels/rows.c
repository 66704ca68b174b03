#include "kernels/rows.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "common/compiler.h"

/* The elementary functions are the C library's, the sums are in double: this is what the others are measured by. */

static float clip(float x, float lo, float hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

static float larger(float a, float b)
{
    return a > b || isnan(a) ? a : b;
}

static float smaller(float a, float b)
{
    return a < b || isnan(a) ? a : b;
}

static float sigmoid(float x)
{
    return (float)(1 / (1 + exp(-(double)x)));
}

static float softplus(float x)
{
    return (float)(log1p(exp(-fabs((double)x))) + (x > 0 ? (double)x : 0));
}

static float celu(float x, float a)
{
    float low = a * expm1f(x / a);
    return (x < 0 ? 0 : x) + (low > 0 ? 0 : low);
}

static float gelu(float x)
{
    return (float)(0.5 * x * erfc(-(double)x * 0.70710678118654752440));
}

static float gelu_tanh(float x)
{
    double t = x;
    return (float)(t / (1 + exp(-1.59576912160573071176 * (t + 0.044715 * t * t * t))));
}

static float mish(float x)
{
    return (float)(x * tanh(log1p(exp(x < 40 ? (double)x : 40))));
}

#define FN unary_abs
#define OP(x) fabsf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_acos
#define OP(x) acosf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_affine
#define OP(x) ((float)((double)a * (x) + b))
#include "kernels/unary_row_tmpl.h"
#define FN unary_asin
#define OP(x) asinf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_atan
#define OP(x) atanf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_ceil
#define OP(x) ceilf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_celu
#define OP(x) celu((x), a)
#include "kernels/unary_row_tmpl.h"
#define FN unary_clip
#define OP(x) clip((x), a, b)
#include "kernels/unary_row_tmpl.h"
#define FN unary_cos
#define OP(x) cosf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_elu
#define OP(x) ((x) < 0 ? a * expm1f(x) : (x))
#include "kernels/unary_row_tmpl.h"
#define FN unary_erf
#define OP(x) erff(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_exp
#define OP(x) expf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_floor
#define OP(x) floorf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_gelu
#define OP(x) gelu(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_gelu_tanh
#define OP(x) gelu_tanh(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_hard_sigmoid
#define OP(x) clip(a *(x) + b, 0, 1)
#include "kernels/unary_row_tmpl.h"
#define FN unary_hard_swish
#define OP(x) ((x)*clip((x) / 6 + 0.5f, 0, 1))
#include "kernels/unary_row_tmpl.h"
#define FN unary_leaky
#define OP(x) ((x) < 0 ? a * (x) : (x))
#include "kernels/unary_row_tmpl.h"
#define FN unary_log
#define OP(x) logf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_mish
#define OP(x) mish(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_neg
#define OP(x) (-(x))
#include "kernels/unary_row_tmpl.h"
#define FN unary_reciprocal
#define OP(x) (1 / (x))
#include "kernels/unary_row_tmpl.h"
#define FN unary_round
#define OP(x) rintf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_rsqrt
#define OP(x) (1 / sqrtf(x))
#include "kernels/unary_row_tmpl.h"
#define FN unary_selu
#define OP(x) (b * ((x) <= 0 ? a * expm1f(x) : (x)))
#include "kernels/unary_row_tmpl.h"
#define FN unary_sigmoid
#define OP(x) sigmoid(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_sin
#define OP(x) sinf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_softplus
#define OP(x) softplus(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_softsign
#define OP(x) ((x) / (1 + fabsf(x)))
#include "kernels/unary_row_tmpl.h"
#define FN unary_sqrt
#define OP(x) sqrtf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_square
#define OP(x) ((x) * (x))
#include "kernels/unary_row_tmpl.h"
#define FN unary_swish
#define OP(x) ((x)*sigmoid(a * (x)))
#include "kernels/unary_row_tmpl.h"
#define FN unary_tanh
#define OP(x) tanhf(x)
#include "kernels/unary_row_tmpl.h"
#define FN unary_threshold
#define OP(x) ((x) > a ? (x) : 0)
#include "kernels/unary_row_tmpl.h"

#define FN(form) binary_add_##form
#define OP(u, v) ((u) + (v))
#include "kernels/binary_row_tmpl.h"
#define FN(form) binary_sub_##form
#define OP(u, v) ((u) - (v))
#include "kernels/binary_row_tmpl.h"
#define FN(form) binary_mul_##form
#define OP(u, v) ((u) * (v))
#include "kernels/binary_row_tmpl.h"
#define FN(form) binary_div_##form
#define OP(u, v) ((u) / (v))
#include "kernels/binary_row_tmpl.h"
#define FN(form) binary_max_##form
#define OP(u, v) larger((u), (v))
#include "kernels/binary_row_tmpl.h"
#define FN(form) binary_min_##form
#define OP(u, v) smaller((u), (v))
#include "kernels/binary_row_tmpl.h"
#define FN(form) binary_prelu_##form
#define OP(u, v) ((u) < 0 ? (u) * (v) : (u))
#include "kernels/binary_row_tmpl.h"

static float sum(size_t n, const float *x)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += x[i];
    return (float)s;
}

static float sum_of_squares(size_t n, const float *x, float centre)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += ((double)x[i] - centre) * ((double)x[i] - centre);
    return (float)s;
}

static float sum_of_abs(size_t n, const float *x)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += fabs((double)x[i]);
    return (float)s;
}

static float max(size_t n, const float *x)
{
    float y = x[0];
    for (size_t i = 1; i < n; i++)
        y = larger(y, x[i]);
    return y;
}

static float min(size_t n, const float *x)
{
    float y = x[0];
    for (size_t i = 1; i < n; i++)
        y = smaller(y, x[i]);
    return y;
}

static float dot(size_t n, const float *a, const float *b)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)a[i] * b[i];
    return (float)s;
}

static void accumulate(size_t n, float s, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] += s * x[i];
}

static void distances(size_t rows, size_t n, size_t k, const float *x, const float *columns,
                      size_t n_y, float *y)
{
    for (size_t i = 0; i < rows; i++, x += k, y += n_y)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < k; p++) {
                const double d = (double)columns[p * n_y + j] - (double)x[p];
                sum += d * d;
            }
            y[j] = (float)sum;
        }
}

static void softmax(size_t n, const float *x, const float *mask, float scale, float *y)
{
    float most = -INFINITY;
    double all = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = scale * x[i] + (mask ? mask[i] : 0);
        most = y[i] > most ? y[i] : most;
    }
    for (size_t i = 0; i < n; i++) {
        y[i] = expf(y[i] - most);
        all += y[i];
    }
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(y[i] / all);
}

static void log_softmax(size_t rows, size_t n, const float *x, float *y)
{
    for (size_t row = 0; row < rows; row++, x += n, y += n) {
        float most = -INFINITY;
        double all = 0;
        for (size_t i = 0; i < n; i++)
            most = x[i] > most || isnan(x[i]) ? x[i] : most;
        for (size_t i = 0; i < n; i++)
            all += exp((double)x[i] - most);
        all = log(all);
        for (size_t i = 0; i < n; i++)
            y[i] = (float)((double)x[i] - most - all);
    }
}

static void norm(size_t n, struct ox_norm_row *row)
{
    float *v = row->sum ? row->sum : row->y;
    double all = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = row->x[i] + (row->skip ? row->skip[i] : 0) + (row->bias ? row->bias[i] : 0);
        all += v[i];
    }
    double mean = row->centred ? all / (double)n : 0;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    const double variance = squares / (double)n;
    /* infinite where float32, in which it is to be computed, has no room for it */
    double inverse = 1 / sqrt(isinf((float)variance) ? INFINITY : variance + row->epsilon);
    row->mean = (float)mean;
    row->inverse = (float)inverse;
    for (size_t i = 0; i < n; i++) {
        double y = (v[i] - mean) * inverse * (row->scale ? row->scale[i] : 1);
        row->y[i] = (float)(y + (row->shift ? row->shift[i] : 0));
    }
}

static void attend_one(const struct ox_attend_head *h, size_t query, float *s)
{
    const float *q = h->q + query * h->q_step;
    float *y = h->y + query * h->y_step;
    ptrdiff_t seen = (ptrdiff_t)query + h->first + 1;
    size_t keys = h->keys;
    if (h->causal && seen < (ptrdiff_t)keys)
        keys = seen < 0 ? 0 : (size_t)seen;
    for (size_t j = 0; j < keys; j++) {
        s[j] = h->scale * dot(h->depth, q, h->k + j * h->k_step);
        s[j] = h->cap != 0 ? h->cap * tanhf(s[j] / h->cap) : s[j];
        s[j] += h->mask ? h->mask[query * h->mask_step + j * h->mask_key_step] : 0;
        if (h->window && (ptrdiff_t)(j + h->window) < seen)
            s[j] = -INFINITY;
    }
    bool none = keys == 0 || max(keys, s) == -INFINITY;
    if (h->has_sink)
        s[keys] = h->sink;
    softmax(keys + h->has_sink, s, NULL, 1, s);
    for (size_t d = 0; d < h->v_depth; d++) {
        double all = keys ? 0 : NAN;
        if (none && (h->none_is_0 || h->has_sink)) {
            y[d] = 0;
            continue;
        }
        for (size_t j = 0; j < keys; j++)
            all += (double)s[j] * h->v[j * h->v_step + d];
        y[d] = (float)all;
    }
}

static void attend(const struct ox_attend_head *h, size_t from, size_t n, float *work)
{
    for (size_t i = 0; i < n; i++)
        attend_one(h, from + i, work);
}

#define ROWS_TABLE plain
#define ROWS_LANES 8
#define ROWS_SINGLY 2
#include "kernels/rows_table_tmpl.h"

static struct ox_rows tables[OX_CPU_LEVELS];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    const enum ox_cpu most = ox_cpu_probe();
    for (unsigned i = 0; i < OX_CPU_LEVELS; i++) {
        const enum ox_cpu level = i < most ? (enum ox_cpu)i : most;
        tables[i] = plain;
        tables[i].level = (enum ox_cpu)i;
#ifdef __x86_64__
        if (level >= OX_CPU_AVX2)
            ox_rows_avx2(&tables[i]);
        if (level >= OX_CPU_AVX512)
            ox_rows_avx512(&tables[i]);
#elif defined(__aarch64__)
        if (level >= OX_CPU_NEON)
            ox_rows_neon(&tables[i]);
#endif
        (void)level;
    }
}

const struct ox_rows *ox_rows(enum ox_cpu level)
{
    pthread_once(&filled, fill);
    return &tables[level];
}

size_t ox_attend_work(const struct ox_rows *t, const struct ox_attend_head *h)
{
    size_t floats;
    if (OX_ADD_OVERFLOWS(h->depth, h->v_depth, &floats) ||
        OX_ADD_OVERFLOWS(floats, (size_t)2 * OX_ATTEND_KEYS, &floats) ||
        OX_MUL_OVERFLOWS(floats, t->attend_lanes, &floats) ||
        OX_ADD_OVERFLOWS(floats, h->keys, &floats))
        return SIZE_MAX;
    return floats;
}
