/* Pools of whole planes. What the rows of a window hold at each column comes first, for rows of outputs that lie in one piece like the
 * input's; along a row then the taps of sixteen columns, of which those in the padding are masked out; outputs are the columns that are
 * kept. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kernels/compute.h"
#include "kernels/sizes.h"

enum { WIDTH = OX_POOL_PLANE, FEW = 4 };

static inline __attribute__((always_inline)) __m512 joined(__m512 x, __m512 y, const bool max)
{
    return max ? _mm512_max_ps(y, x) : _mm512_add_ps(x, y); /* a NaN in y gives way to x */
}

static inline __attribute__((always_inline)) __m512 nothing(const bool max)
{
    return _mm512_set1_ps(max ? -INFINITY : 0);
}

/* n places of k >= 1 rows that lie `pitch` floats apart. */
static inline __attribute__((always_inline)) void
upright(size_t n, size_t k, size_t pitch, const float *in, float *out, const bool max)
{
    size_t i = 0;
    for (; i + FEW * WIDTH <= n; i += FEW * WIDTH) {
        __m512 x[FEW];
#pragma GCC unroll 4
        for (unsigned v = 0; v < FEW; v++) {
            x[v] = _mm512_loadu_ps(in + i + v * WIDTH);
            x[v] = max ? joined(nothing(max), x[v], max) : x[v];
        }
        for (size_t r = 1; r < k; r++)
#pragma GCC unroll 4
            for (unsigned v = 0; v < FEW; v++)
                x[v] = joined(x[v], _mm512_loadu_ps(in + r * pitch + i + v * WIDTH), max);
#pragma GCC unroll 4
        for (unsigned v = 0; v < FEW; v++)
            _mm512_storeu_ps(out + i + v * WIDTH, x[v]);
    }
    for (; i < n; i += WIDTH) {
        const __mmask16 some = (__mmask16)((1u << ox_least(n - i, WIDTH)) - 1);
        __m512 x = _mm512_maskz_loadu_ps(some, in + i);
        x = max ? joined(nothing(max), x, max) : x;
        for (size_t r = 1; r < k; r++)
            x = joined(x, _mm512_maskz_loadu_ps(some, in + r * pitch + i), max);
        _mm512_mask_storeu_ps(out + i, some, x);
    }
}

/* Rows [y, end) of outputs, as columns of a row of the plane. */
static inline __attribute__((always_inline)) void upright_rows(const struct ox_pool_plane *p,
                                                               const float *in, size_t y,
                                                               size_t end, float *out,
                                                               const bool max)
{
    const size_t width = p->in[1], step = p->dilation;
    const size_t span = (p->kernel[0] - 1) * step + 1;
    while (y < end) {
        const size_t at = y * p->stride;
        size_t first = 0, last = p->kernel[0], rows = 1;
        if (at >= p->before && at + span <= p->before + p->in[0] && p->stride == 1) {
            rows = ox_least(end - y, p->before + p->in[0] - span - at + 1);
        } else {
            while (at + first * step < p->before)
                first++;
            while (at + (last - 1) * step >= p->before + p->in[0])
                last--;
        }
        upright(rows * width, last - first, step * width,
                in + (at + first * step - p->before) * width, out, max);
        out += rows * width;
        y += rows;
    }
}

/* n columns of rows of outputs become outputs, each divided by its count of taps, unless that is NULL. What it gives holds minus infinity
 * where some largest is that. */
static inline __attribute__((always_inline)) __m512 along(const struct ox_pool_plane *p, size_t n,
                                                          const float *in, const float *counts,
                                                          float *out, const bool max,
                                                          const size_t kernel)
{
    __m512 least = _mm512_set1_ps(INFINITY);
    const uint16_t *taps = p->taps, *kept = p->kept;
    for (size_t i = 0; i < n; i += WIDTH, taps += kernel, kept++) {
        const __mmask16 some = i + WIDTH <= n ? *kept : *kept & ((1u << (n - i)) - 1);
        const unsigned outputs = (unsigned)__builtin_popcount(some);
        __m512 x = nothing(max);
#pragma GCC unroll 8
        for (size_t q = 0; q < kernel; q++) {
            const __m512 y = _mm512_loadu_ps(in + i + q * p->step);
            x = max ? _mm512_mask_max_ps(x, taps[q], y, x) : _mm512_mask_add_ps(x, taps[q], x, y);
        }
        if (max)
            least = _mm512_mask_min_ps(least, some, least, x);
        if (outputs < WIDTH)
            x = _mm512_maskz_compress_ps(some, x);
        const __mmask16 made = (__mmask16)((1u << outputs) - 1);
        if (counts) {
            x = _mm512_div_ps(x, _mm512_maskz_loadu_ps(made, counts));
            counts += outputs;
        }
        if (outputs == WIDTH)
            _mm512_storeu_ps(out, x);
        else
            _mm512_mask_storeu_ps(out, made, x);
        out += outputs;
    }
    return least;
}

static void divide(size_t n, const float *by, float *x)
{
    for (size_t i = 0; i < n; i += WIDTH) {
        const __mmask16 some = (__mmask16)((1u << ox_least(n - i, WIDTH)) - 1);
        const __m512 y = _mm512_maskz_loadu_ps(some, x + i);
        _mm512_mask_storeu_ps(x + i, some, _mm512_div_ps(y, _mm512_maskz_loadu_ps(some, by + i)));
    }
}

static inline __attribute__((always_inline)) bool plane(const struct ox_pool_plane *p,
                                                        const float *in, float *out, float *work,
                                                        const bool max, const size_t kernel)
{
    __m512 least = _mm512_set1_ps(INFINITY);
    float *rows = work + p->ahead;
    const bool gaps = 3 * p->out[1] <= 2 * p->in[1]; /* then outputs are divided side by side */
    for (size_t y = 0; y < p->out[0]; y += p->band) {
        const size_t end = ox_least(y + p->band, p->out[0]), done = y * p->out[1];
        upright_rows(p, in, y, end, rows, max);
        const float *counts = max ? NULL : p->counts + done;
        least = _mm512_min_ps(least, along(p, (end - y) * p->in[1], work, gaps ? NULL : counts,
                                           out + done, max, kernel));
        if (!max && gaps)
            divide((end - y) * p->out[1], counts, out + done);
    }
    return !max || !_mm512_cmp_ps_mask(least, _mm512_set1_ps(-INFINITY), _CMP_EQ_OQ);
}

static inline __attribute__((always_inline)) bool
any_plane(const struct ox_pool_plane *p, const float *in, float *out, float *work, const bool max)
{
    switch (p->kernel[1]) {
    case 2:
        return plane(p, in, out, work, max, 2);
    case 3:
        return plane(p, in, out, work, max, 3);
    case 5:
        return plane(p, in, out, work, max, 5);
    default:
        return plane(p, in, out, work, max, p->kernel[1]);
    }
}

static bool sum_plane(const struct ox_pool_plane *p, const float *in, float *out, float *work)
{
    return any_plane(p, in, out, work, false);
}

static bool max_plane(const struct ox_pool_plane *p, const float *in, float *out, float *work)
{
    return any_plane(p, in, out, work, true);
}

void ox_pool_planes_avx512(struct ox_compute *t)
{
    t->pool_plane[0] = sum_plane;
    t->pool_plane[1] = max_plane;
}
