/* Winograd's transforms of integer_winograd.c: sixteen words, eight sums at a time. */
#include <immintrin.h>
#include <string.h>

#include "kernels/integer.h"

enum { POINTS = 36 };

static inline __m256i add(__m256i a, __m256i b)
{
    return _mm256_add_epi16(a, b);
}

static inline __m256i sub(__m256i a, __m256i b)
{
    return _mm256_sub_epi16(a, b);
}

static inline __m256i twice(__m256i a)
{
    return _mm256_slli_epi16(a, 1);
}

static inline __m256i four_times(__m256i a)
{
    return _mm256_slli_epi16(a, 2);
}

/* B' of six. */
static inline void six_to_points(const __m256i d[6], __m256i out[6])
{
    const __m256i even = sub(d[4], four_times(d[2])), odd = sub(d[3], four_times(d[1]));
    const __m256i near = sub(d[4], d[2]), far = twice(sub(d[3], d[1]));
    out[0] = add(sub(four_times(sub(d[0], d[2])), d[2]), d[4]);
    out[1] = add(even, odd);
    out[2] = sub(even, odd);
    out[3] = add(near, far);
    out[4] = sub(near, far);
    out[5] = add(sub(four_times(sub(d[1], d[3])), d[3]), d[5]);
}

static inline void sixteen_channels(const uint8_t *const *in, size_t c, __m128i flip, int16_t *out,
                                    size_t plane)
{
    __m256i half[6][6]; /* by column of the pixels */
    for (unsigned x = 0; x < 6; x++) {
        __m256i d[6];
#pragma GCC unroll 6
        for (unsigned y = 0; y < 6; y++) {
            const __m128i codes =
                _mm_loadu_si128((const __m128i *)(const void *)(in[y * 6 + x] + c));
            d[y] = _mm256_cvtepu8_epi16(_mm_xor_si128(codes, flip));
        }
        six_to_points(d, half[x]);
    }
    for (unsigned y = 0; y < 6; y++) {
        __m256i d[6], p[6];
#pragma GCC unroll 6
        for (unsigned x = 0; x < 6; x++)
            d[x] = half[x][y];
        six_to_points(d, p);
#pragma GCC unroll 6
        for (unsigned x = 0; x < 6; x++)
            _mm256_storeu_si256((__m256i *)(void *)(out + (y * 6 + x) * plane + c), p[x]);
    }
}

static void points(const struct ox_integer_points *p)
{
    const __m128i flip = _mm_set1_epi8((char)p->flip);
    const size_t whole = p->channels / 16 * 16, left = p->channels - whole;
    for (size_t c = 0; c < whole; c += 16)
        sixteen_channels(p->in, c, flip, p->out, p->plane);
    if (!left)
        return;
    uint8_t part[POINTS][16] = {{0}};
    const uint8_t *in[POINTS];
    for (unsigned i = 0; i < POINTS; i++) {
        memcpy(part[i], p->in[i] + whole, left);
        in[i] = part[i];
    }
    sixteen_channels(in, 0, flip, p->out + whole, p->plane);
}

/* The rows of A' with the factors that integer_winograd.c tells of. */
static inline void six_to_outputs(const __m256i m[6], __m256i out[4])
{
    const __m256i less = _mm256_add_epi32(m[1], m[2]), more = _mm256_add_epi32(m[3], m[4]);
    const __m256i near = _mm256_sub_epi32(m[2], m[1]), far = _mm256_sub_epi32(m[3], m[4]);
    const __m256i first = _mm256_add_epi32(_mm256_slli_epi32(m[0], 1), more);
    const __m256i last = _mm256_add_epi32(_mm256_slli_epi32(_mm256_add_epi32(far, m[5]), 1), near);
    out[0] = _mm256_add_epi32(first, _mm256_slli_epi32(_mm256_sub_epi32(m[0], less), 2));
    out[1] = _mm256_add_epi32(_mm256_slli_epi32(near, 1), far);
    out[2] = _mm256_sub_epi32(more, less);
    out[3] = _mm256_add_epi32(last, _mm256_slli_epi32(m[5], 2));
}

static void outputs(const struct ox_integer_outputs *o)
{
    const __m256i ninth = _mm256_set1_epi32(OX_INTEGER_NINTH);
    static const int twos[4] = {3, 2, 1, 1};
    for (size_t j = 0; j < o->n; j += 8) {
        __m256i half[6][4];
        for (unsigned x = 0; x < 6; x++) {
            __m256i m[6];
#pragma GCC unroll 6
            for (unsigned y = 0; y < 6; y++)
                m[y] = _mm256_loadu_si256(
                    (const __m256i *)(const void *)(o->in + (y * 6 + x) * o->plane + j));
            six_to_outputs(m, half[x]);
        }
#pragma GCC unroll 4
        for (unsigned y = 0; y < 4; y++) {
            __m256i m[6], out[4];
#pragma GCC unroll 6
            for (unsigned x = 0; x < 6; x++)
                m[x] = half[x][y];
            six_to_outputs(m, out);
#pragma GCC unroll 4
            for (unsigned x = 0; x < 4; x++) {
                const __m256i whole = _mm256_mullo_epi32(out[x], ninth);
                _mm256_storeu_si256((__m256i *)(void *)(o->out + (y * 4 + x) * o->ld + j),
                                    _mm256_srai_epi32(whole, twos[y] + twos[x]));
            }
        }
    }
}

void ox_integer_winograd_avx2(struct ox_integer *t)
{
    t->points = points;
    t->outputs = outputs;
}
