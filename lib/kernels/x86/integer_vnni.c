#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/x86/integer_end_avx512.h"

#define IV __m512i
#define IR 12
#define IP 4
enum { IW = 16 };
#define iv_zero() _mm512_setzero_si512()
#define iv_set(x) _mm512_set1_epi32(x)
#define iv_load(p) _mm512_loadu_si512(p)
#define iv_store(p, v) _mm512_storeu_si512((p), (v))
#define iv_dot(sum, x, b) _mm512_dpbusd_epi32((sum), (x), (b))

/* A tile's columns. */
static inline __mmask64 columns_of(const struct ox_integer_tile *t)
{
    return ~(__mmask64)0 >> (IP * IW - t->cols);
}

static inline __mmask16 lanes_of(const struct ox_integer_tile *t, unsigned k)
{
    return (__mmask16)(columns_of(t) >> k * IW);
}

static inline __m512i start_of(const struct ox_integer_tile *t, unsigned k)
{
    return t->end && t->end->offset
               ? _mm512_maskz_loadu_epi32(lanes_of(t, k), t->end->offset + t->col + k * IW)
               : _mm512_setzero_si512();
}

/* Whether all sums have the bits of a float, and times their scales, which are no more than a quarter, those of 22. */
static inline __attribute__((always_inline)) bool
are_near(const struct ox_integer_tile *t, const unsigned rows, const unsigned parts,
         const __m512i (*sum)[IP], const __m512 *scale)
{
    const __m512i quarter = _mm512_castps_si512(_mm512_set1_ps(0.25F)); /* -x and NaN have more */
    __m512i beyond = _mm512_setzero_si512(), scales = beyond;
#pragma GCC unroll 4
    for (unsigned k = 0; k < parts; k++) {
        scales = _mm512_max_epu32(scales, _mm512_castps_si512(scale[k]));
        beyond = _mm512_or_si512(beyond, _mm512_abs_epi32(start_of(t, k)));
    }
    if (_mm512_cmpgt_epu32_mask(scales, quarter))
        return false;
    if (t->segments * t->depth <= 256) /* 255 * 128 times it are no more than 2^23 */
        return !_mm512_cmpgt_epu32_mask(beyond, _mm512_set1_epi32((1 << 23) - 1));
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++)
        for (unsigned k = 0; k < parts; k++)
            beyond = _mm512_or_si512(beyond, _mm512_abs_epi32(sum[i][k]));
    return !_mm512_cmpgt_epu32_mask(beyond, _mm512_set1_epi32((1 << 24) - 1));
}

/* Of the fours of bytes_of(). */
static const int32_t places[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

/* Rows of sums that have fractions, or more bits than a float; apart, for what is not used here costs the others registers. */
static __attribute__((noinline)) void put_others(const struct ox_integer_tile *t, unsigned first,
                                                 unsigned rows, unsigned parts, bool near,
                                                 __m512i (*sum)[IP])
{
    if (!near) {
        ox_integer_leave_tile(t, first, rows, (const int32_t *)(const void *)sum, IP * IW);
        return;
    }
    const struct ends e = ends_of(t->end);
    const __m512i order = _mm512_loadu_si512(places);
    __m512 scale[IP], fraction[IP];
    for (unsigned k = 0; k < parts; k++) {
        scale[k] = _mm512_maskz_loadu_ps(lanes_of(t, k), t->end->scale + t->col + k * IW);
        fraction[k] = _mm512_maskz_loadu_ps(lanes_of(t, k), t->end->fraction + t->col + k * IW);
    }
    for (unsigned i = 0; i < rows; i++) {
        __m512i whole[IP];
#pragma GCC unroll 4
        for (unsigned k = 0; k < IP; k++)
            whole[k] = k < parts ? near_of(&e, floats_of(sum[i][k], &fraction[k]), scale[k])
                                 : _mm512_setzero_si512();
        _mm512_mask_storeu_epi8(t->out + (first + i) * t->out_row, columns_of(t),
                                _mm512_permutexvar_epi32(order, bytes_of(&e, whole)));
    }
}

/* As many rows at a time become bytes as fill a vector. */
static inline __attribute__((always_inline)) void end_rows(const struct ox_integer_tile *t,
                                                           const unsigned first,
                                                           const unsigned rows,
                                                           const unsigned parts, __m512i (*sum)[IP])
{
    const struct ends e = ends_of(t->end);
    const __mmask64 mask = columns_of(t);
    __m512 scale[IP];
#pragma GCC unroll 4
    for (unsigned k = 0; k < parts; k++)
        scale[k] = _mm512_maskz_loadu_ps(lanes_of(t, k), t->end->scale + t->col + k * IW);
    const __m512i order = _mm512_loadu_si512(places);
    const bool near = are_near(t, rows, parts, (const __m512i(*)[IP])sum, scale);
    if (__builtin_expect(!near || t->end->fraction, 0)) {
        __m512i all[IR][IP];
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (unsigned k = 0; k < parts; k++)
                all[i][k] = sum[i][k];
        put_others(t, first, rows, parts, near, all);
        return;
    }
    const size_t row = t->out_row;
    const unsigned together = IP / parts;
    uint8_t *out = t->out + first * row;
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i += together, out += together * row) {
        __m512i whole[IP];
#pragma GCC unroll 4
        for (unsigned k = 0; k < IP; k++) {
            const unsigned at = i + k / parts < rows ? i + k / parts : i;
            whole[k] = k < together * parts
                           ? near_of(&e, floats_of(sum[at][k % parts], NULL), scale[k % parts])
                           : _mm512_setzero_si512();
        }
        const __m512i bytes = _mm512_permutexvar_epi32(order, bytes_of(&e, whole));
        if (together == 1) {
            _mm512_mask_storeu_epi8(out, mask, bytes);
            continue;
        }
        const __m256i low_bytes = _mm512_castsi512_si256(bytes),
                      high_bytes = _mm512_extracti64x4_epi64(bytes, 1);
#pragma GCC unroll 4
        for (unsigned r = 0; r < together; r++) {
            if (i + r >= rows)
                break;
            const unsigned lane = r * parts * IW, at = lane % (2 * IW);
            _mm256_mask_storeu_epi8(out + r * row - at, (__mmask32)mask << at,
                                    lane < 2 * IW ? low_bytes : high_bytes);
        }
    }
}

#define iv_start(t, k) start_of((t), (k))
#define iv_end(t, first, rows, parts, sum) end_rows((t), (first), (rows), (parts), (sum))

#include "kernels/integer_tmpl.h"

void ox_integer_vnni(struct ox_integer *t)
{
    t->mr = IR;
    t->nr = INR;
    t->panels = IPANELS;
    t->layout = OX_INTEGER_QUADS;
    t->ends = true;
    t->tile = int_tile;
    t->words = NULL; /* that of words_vnni, for panels of this width */
}
