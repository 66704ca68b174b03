/* Rows by a small square matrix. As many rows as fill whole vectors: each output takes the elements of its row from the one or two
 * vectors that hold them. */
#include <immintrin.h>

#include "kernels/compute.h"
#include "kernels/sizes.h"

enum { WIDTH = 16, VECS = 3, MOST = OX_SQUARE_MOST };

/* Of each vector of outputs, by element p of the row: where that stands in the two vectors from source() on, and what it is multiplied
 * by. */
struct square {
    __m512i place[VECS][MOST];
    __m512 by[VECS][MOST];
};

static inline __attribute__((always_inline)) size_t source(size_t k, size_t v, size_t p)
{
    return (v * WIDTH / k * k + p) / WIDTH;
}

static inline __attribute__((always_inline)) void fill(const size_t k, const size_t vecs,
                                                       const float *w, struct square *s)
{
    for (size_t v = 0; v < vecs; v++)
        for (size_t p = 0; p < k; p++) {
            int32_t place[WIDTH];
            float by[WIDTH];
            for (size_t i = 0; i < WIDTH; i++) {
                const size_t out = v * WIDTH + i;
                place[i] = (int32_t)(out / k * k + p - source(k, v, p) * WIDTH);
                by[i] = w[p * k + out % k];
            }
            s->place[v][p] = _mm512_loadu_si512(place);
            s->by[v][p] = _mm512_loadu_ps(by);
        }
}

/* n floats, of `vecs` vectors or, some, fewer. */
static inline __attribute__((always_inline)) void block(const size_t k, const size_t vecs,
                                                        const struct square *s, const bool some,
                                                        size_t n, const float *x, float *y)
{
    __m512 in[VECS];
    __mmask16 there[VECS];
#pragma GCC unroll 3
    for (size_t v = 0; v < vecs; v++) {
        const size_t left = n > v * WIDTH ? n - v * WIDTH : 0;
        there[v] = (__mmask16)((1U << ox_least(left, WIDTH)) - 1);
        in[v] =
            some ? _mm512_maskz_loadu_ps(there[v], x + v * WIDTH) : _mm512_loadu_ps(x + v * WIDTH);
    }
#pragma GCC unroll 3
    for (size_t v = 0; v < vecs; v++) {
        __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 4
        for (size_t p = 0; p < k; p++) {
            const size_t first = source(k, v, p), next = first + 1 < vecs ? first + 1 : first;
            const __m512 of = vecs == 1
                                  ? _mm512_permutexvar_ps(s->place[v][p], in[0])
                                  : _mm512_permutex2var_ps(in[first], s->place[v][p], in[next]);
            sum = _mm512_fmadd_ps(s->by[v][p], of, sum);
        }
        if (some)
            _mm512_mask_storeu_ps(y + v * WIDTH, there[v], sum);
        else
            _mm512_storeu_ps(y + v * WIDTH, sum);
    }
}

static inline __attribute__((always_inline)) void rows_by(const size_t k, const float *w, size_t n,
                                                          const float *x, float *y)
{
    const size_t vecs = WIDTH % k ? VECS : 1, all = vecs * WIDTH;
    struct square s;
    size_t at = 0;
    fill(k, vecs, w, &s);
    for (; at + all <= n; at += all)
        block(k, vecs, &s, false, all, x + at, y + at);
    if (at < n)
        block(k, vecs, &s, true, n - at, x + at, y + at);
}

void ox_square_avx512(size_t rows, size_t k, const float *w, const float *x, float *y)
{
    if (k == 2)
        rows_by(2, w, 2 * rows, x, y);
    else if (k == 3)
        rows_by(3, w, 3 * rows, x, y);
    else
        rows_by(4, w, 4 * rows, x, y);
}
