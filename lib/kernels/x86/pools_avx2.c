#include <immintrin.h>
#include <math.h>

#include "kernels/compute.h"

enum { WIDTH = OX_POOL_LINE };

/* What n rows hold at eight places from `at` on, a stride apart. NaN counts as less than any number. */
static inline __attribute__((always_inline)) __m256 column(const float *const *rows, size_t n,
                                                           ptrdiff_t at, bool max)
{
    __m256 x = _mm256_loadu_ps(rows[0] + at);
    if (max)
        x = _mm256_max_ps(x, _mm256_set1_ps(-INFINITY));
#pragma GCC unroll 4
    for (size_t i = 1; i < n; i++) {
        const __m256 y = _mm256_loadu_ps(rows[i] + at);
        x = max ? _mm256_max_ps(y, x) : _mm256_add_ps(x, y);
    }
    return x;
}

static inline __m256 every_second(__m256 a, __m256 b)
{
    const __m256 x = _mm256_shuffle_ps(a, b, 0x88);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
}

static inline __m256 mask_at(const int32_t *mask)
{
    return _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(const void *)mask));
}

/* Eight windows whose first taps are at `at`. edge: the places that there are at each tap; NULL: all. */
static inline __attribute__((always_inline)) __m256
windows(const struct ox_pool_line *p, const float *const *rows, size_t n, ptrdiff_t at,
        const __m256 *edge, const bool max, const size_t kernel, const size_t stride)
{
    const __m256 pad = _mm256_set1_ps(max ? -INFINITY : 0);
    __m256 all = pad;
#pragma GCC unroll 4
    for (size_t q = 0; q < kernel; q++, at += (ptrdiff_t)p->dilation) {
        __m256 x = column(rows, n, at, max);
        if (stride == 2)
            x = every_second(x, column(rows, n, at + WIDTH, max));
        if (edge)
            x = max ? _mm256_blendv_ps(pad, x, edge[q]) : _mm256_and_ps(x, edge[q]);
        if (q == 0)
            all = x;
        else
            all = max ? _mm256_max_ps(x, all) : _mm256_add_ps(all, x);
    }
    return all;
}

/* Eight outputs of each line, from `first` on. */
static inline __attribute__((always_inline)) __m256
columns(const struct ox_pool_line *p, const float *const *rows, size_t n, size_t lines, size_t step,
        size_t first, const __m256 *edge, __m256 divisor, float *out, const bool max,
        const size_t kernel, const size_t stride)
{
    const __m256i some = _mm256_loadu_si256((const __m256i *)(const void *)p->some);
    const bool whole = p->out >= WIDTH;
    ptrdiff_t at = (ptrdiff_t)(first * stride) - (ptrdiff_t)p->before;
    __m256 least = _mm256_set1_ps(INFINITY);
    for (size_t i = 0; i < lines; i++, at += (ptrdiff_t)step, out += p->out) {
        __m256 x = windows(p, rows, n, at, edge, max, kernel, stride);
        if (max)
            least = _mm256_min_ps(least, x);
        else
            x = _mm256_div_ps(x, divisor);
        if (whole)
            _mm256_storeu_ps(out + first, x);
        else
            _mm256_maskstore_ps(out, some, x);
    }
    return least;
}

static inline __attribute__((always_inline)) bool
all_lines(const struct ox_pool_line *p, const float *const *rows, size_t n, size_t lines,
          size_t step, float taps, float *out, const bool max, const size_t kernel,
          const size_t stride)
{
    const __m256i some = _mm256_loadu_si256((const __m256i *)(const void *)p->some);
    const size_t last = p->out > WIDTH ? p->out - WIDTH : 0;
    __m256 least = _mm256_set1_ps(INFINITY);
    for (size_t i = 0;; i = i + WIDTH < last ? i + WIDTH : last) {
        __m256 edge[OX_POOL_LINE_TAPS], divisor = _mm256_set1_ps(taps), x;
        if (!max && p->out >= WIDTH)
            divisor = _mm256_mul_ps(divisor, _mm256_loadu_ps(p->taps + i));
        else if (!max)
            divisor = _mm256_mul_ps(divisor, _mm256_maskload_ps(p->taps, some));
        if (i == 0 || i == last) {
            for (size_t q = 0; q < kernel; q++)
                edge[q] = mask_at(p->edges[i == last][q]);
            x = columns(p, rows, n, lines, step, i, edge, divisor, out, max, kernel, stride);
        } else {
            x = columns(p, rows, n, lines, step, i, NULL, divisor, out, max, kernel, stride);
        }
        least = _mm256_min_ps(least, x);
        if (i == last)
            break;
    }
    const __m256 none = _mm256_cmp_ps(least, _mm256_set1_ps(-INFINITY), _CMP_EQ_OQ);
    return !max || !(_mm256_movemask_ps(none) & _mm256_movemask_ps(_mm256_castsi256_ps(some)));
}

/* By the number of rows, which is mostly one of these. */
static inline __attribute__((always_inline)) bool
by_rows(const struct ox_pool_line *p, const float *const *rows, size_t n, size_t lines, size_t step,
        float taps, float *out, const bool max, const size_t kernel, const size_t stride)
{
    if (n == 3)
        return all_lines(p, rows, 3, lines, step, taps, out, max, kernel, stride);
    if (n == 2)
        return all_lines(p, rows, 2, lines, step, taps, out, max, kernel, stride);
    return all_lines(p, rows, n, lines, step, taps, out, max, kernel, stride);
}

#define LINE(name, max, kernel, stride)                                                            \
    static bool name(const struct ox_pool_line *p, const float *const *rows, size_t n,             \
                     size_t lines, size_t step, float taps, float *out)                            \
    {                                                                                              \
        return by_rows(p, rows, n, lines, step, taps, out, max, kernel, stride);                   \
    }
LINE(max_of_two, true, 2, 1)
LINE(max_of_two_strided, true, 2, 2)
LINE(max_of_three, true, 3, 1)
LINE(max_of_three_strided, true, 3, 2)
LINE(sum_of_two, false, 2, 1)
LINE(sum_of_two_strided, false, 2, 2)
LINE(sum_of_three, false, 3, 1)
LINE(sum_of_three_strided, false, 3, 2)
#undef LINE

void ox_pool_lines_avx2(struct ox_compute *t)
{
    t->pool_lines[0][0][0] = sum_of_two;
    t->pool_lines[0][0][1] = sum_of_two_strided;
    t->pool_lines[0][1][0] = sum_of_three;
    t->pool_lines[0][1][1] = sum_of_three_strided;
    t->pool_lines[1][0][0] = max_of_two;
    t->pool_lines[1][0][1] = max_of_two_strided;
    t->pool_lines[1][1][0] = max_of_three;
    t->pool_lines[1][1][1] = max_of_three_strided;
}
