#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/x86/integer_end_avx512.h"

#define IV __m512i
#define IR 12
enum { IW = 16 };
#define iv_zero() _mm512_setzero_si512()
#define iv_set(x) _mm512_set1_epi32(x)
#define iv_load(p) _mm512_loadu_si512(p)
#define iv_store(p, v) _mm512_storeu_si512((p), (v))
#define iv_dot(sum, x, b) _mm512_dpbusd_epi32((sum), (x), (b))

static inline __mmask16 half_of(const struct ox_integer_tile *t, unsigned k)
{
    const unsigned n = t->cols < k * IW ? 0 : t->cols - k * IW;
    return n < IW ? (__mmask16)((1U << n) - 1) : (__mmask16)0xffff;
}

static inline __m512i start_of(const struct ox_integer_tile *t, unsigned k)
{
    return t->end && t->end->offset
               ? _mm512_maskz_loadu_epi32(half_of(t, k), t->end->offset + t->col + k * IW)
               : _mm512_setzero_si512();
}

/* Sums that may have more bits than a float, or become more than 16 bits. */
static __attribute__((noinline)) void leave_far(const struct ox_integer_tile *t, __m512i (*sums)[2])
{
    struct ox_integer_end end = *t->end;
    end.offset = NULL; /* it is in the sums */
    end.scale += t->col;
    const struct ox_integer_sums s = {.rows = t->rows,
                                      .n = t->cols,
                                      .sums = (const int32_t *)(const void *)sums,
                                      .ld = 2 * IW,
                                      .out = t->out,
                                      .out_row = t->out_row};
    ox_integer_leave(ox_integer(ox_cpu_probe()), &s, &end);
}

/* Whether all sums have the bits of a float, and times their scales, which are no more than a quarter, those of 22. */
static inline __attribute__((always_inline)) bool
are_near(const struct ox_integer_tile *t, const unsigned rows, const unsigned halves,
         const __m512i (*sum)[2], const __m512 *scale)
{
    const __m512i quarter = _mm512_castps_si512(_mm512_set1_ps(0.25F)); /* -x and NaN have more */
    __m512i beyond =
        _mm512_or_si512(_mm512_abs_epi32(start_of(t, 0)), _mm512_abs_epi32(start_of(t, 1)));
    if (_mm512_cmpgt_epu32_mask(_mm512_castps_si512(scale[0]), quarter) |
        _mm512_cmpgt_epu32_mask(_mm512_castps_si512(scale[1]), quarter))
        return false;
    if (t->segments * t->depth <= 256) /* 255 * 128 times it are no more than 2^23 */
        return !_mm512_cmpgt_epu32_mask(beyond, _mm512_set1_epi32((1 << 23) - 1));
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i++)
        for (unsigned k = 0; k < halves; k++)
            beyond = _mm512_or_si512(beyond, _mm512_abs_epi32(sum[i][k]));
    return !_mm512_cmpgt_epu32_mask(beyond, _mm512_set1_epi32((1 << 24) - 1));
}

/* Two rows at a time become bytes, or four of one half. */
static inline __attribute__((always_inline)) void end_rows(const struct ox_integer_tile *t,
                                                           const unsigned rows,
                                                           const unsigned halves, __m512i (*sum)[2])
{
    enum { PARTS = 4 };
    const struct ends e = ends_of(t->end);
    const __mmask16 low = half_of(t, 0), high = half_of(t, 1);
    const __mmask32 mask = (__mmask32)(low | (uint32_t)high << IW);
    const __m512 scale[2] = {_mm512_maskz_loadu_ps(low, t->end->scale + t->col),
                             _mm512_maskz_loadu_ps(high, t->end->scale + t->col + IW)};
    static const int32_t places[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const __m512i order = _mm512_loadu_si512(places);
    if (__builtin_expect(!are_near(t, rows, halves, (const __m512i(*)[2])sum, scale), 0)) {
        __m512i all[IR][2];
#pragma GCC unroll 16
        for (unsigned i = 0; i < rows; i++) {
            all[i][0] = sum[i][0];
            all[i][1] = sum[i][1];
        }
        leave_far(t, all);
        return;
    }
    const size_t row = t->out_row;
    const unsigned together = PARTS / halves;
    uint8_t *out = t->out;
#pragma GCC unroll 16
    for (unsigned i = 0; i < rows; i += together, out += together * row) {
        __m512i whole[PARTS];
#pragma GCC unroll 4
        for (unsigned k = 0; k < PARTS; k++) {
            const unsigned at = i + k / halves < rows ? i + k / halves : i;
            whole[k] = near_of(&e, sum[at][k % halves], scale[k % halves]);
        }
        const __m512i bytes = _mm512_permutexvar_epi32(order, bytes_of(&e, whole));
        const __m256i low_bytes = _mm512_castsi512_si256(bytes),
                      high_bytes = _mm512_extracti64x4_epi64(bytes, 1);
#pragma GCC unroll 4
        for (unsigned r = 0; r < together; r++) {
            if (i + r >= rows)
                break;
            const unsigned first = r * halves * IW, at = first % (2 * IW);
            _mm256_mask_storeu_epi8(out + r * row - at, mask << at,
                                    first < 2 * IW ? low_bytes : high_bytes);
        }
    }
}

#define iv_start(t, k) start_of((t), (k))
#define iv_end(t, rows, halves, sum) end_rows((t), (rows), (halves), (sum))

#include "kernels/integer_tmpl.h"

void ox_integer_vnni(struct ox_integer *t)
{
    t->mr = IR;
    t->nr = INR;
    t->layout = OX_INTEGER_QUADS;
    t->ends = true;
    t->tile = int_tile;
    t->words = NULL; /* that of words_vnni, for panels of this width */
}
