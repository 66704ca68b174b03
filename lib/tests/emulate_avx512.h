/* The AVX-512 intrinsics that kernels/x86 uses, done with two AVX2 halves or lane by lane, after Intel's description of each: so
 * the same sources can be tested where the processor lacks them. To be included before any other header. */
#ifndef OX_TESTS_EMULATE_AVX512_H
#define OX_TESTS_EMULATE_AVX512_H

#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC target("avx2,fma,f16c")
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define EMULATED static inline __attribute__((always_inline, unused))

union emulated {
    __m512 f;
    __m512i i;
    __m256 half[2];
    __m256i half_i[2];
    float lane[16];
    int32_t word[16];
    uint8_t byte[64];
};

/* Each half by an AVX2 intrinsic. */
#define EMULATE_1(name, type, field, half_field, call)                                             \
    EMULATED type emulated_##name(type a)                                                          \
    {                                                                                              \
        union emulated x = {.field = a};                                                           \
        x.half_field[0] = call(x.half_field[0]);                                                   \
        x.half_field[1] = call(x.half_field[1]);                                                   \
        return x.field;                                                                            \
    }
#define EMULATE_2(name, type, field, half_field, call)                                             \
    EMULATED type emulated_##name(type a, type b)                                                  \
    {                                                                                              \
        union emulated x = {.field = a}, y = {.field = b};                                         \
        x.half_field[0] = call(x.half_field[0], y.half_field[0]);                                  \
        x.half_field[1] = call(x.half_field[1], y.half_field[1]);                                  \
        return x.field;                                                                            \
    }
#define EMULATE_3(name, call)                                                                      \
    EMULATED __m512 emulated_##name(__m512 a, __m512 b, __m512 c)                                  \
    {                                                                                              \
        union emulated x = {.f = a}, y = {.f = b}, z = {.f = c};                                   \
        x.half[0] = call(x.half[0], y.half[0], z.half[0]);                                         \
        x.half[1] = call(x.half[1], y.half[1], z.half[1]);                                         \
        return x.f;                                                                                \
    }

EMULATE_2(add_ps, __m512, f, half, _mm256_add_ps)
EMULATE_2(sub_ps, __m512, f, half, _mm256_sub_ps)
EMULATE_2(mul_ps, __m512, f, half, _mm256_mul_ps)
EMULATE_2(div_ps, __m512, f, half, _mm256_div_ps)
EMULATE_2(max_ps, __m512, f, half, _mm256_max_ps)
EMULATE_2(min_ps, __m512, f, half, _mm256_min_ps)
EMULATE_2(and_ps, __m512, f, half, _mm256_and_ps)
EMULATE_2(or_ps, __m512, f, half, _mm256_or_ps)
EMULATE_2(xor_ps, __m512, f, half, _mm256_xor_ps)
EMULATE_2(andnot_ps, __m512, f, half, _mm256_andnot_ps)
EMULATE_1(sqrt_ps, __m512, f, half, _mm256_sqrt_ps)
EMULATE_3(fmadd_ps, _mm256_fmadd_ps)
EMULATE_3(fnmadd_ps, _mm256_fnmadd_ps)
EMULATE_2(add_epi32, __m512i, i, half_i, _mm256_add_epi32)
EMULATE_2(sub_epi32, __m512i, i, half_i, _mm256_sub_epi32)
EMULATE_2(and_si512, __m512i, i, half_i, _mm256_and_si256)
EMULATE_2(or_si512, __m512i, i, half_i, _mm256_or_si256)
EMULATE_1(abs_epi32, __m512i, i, half_i, _mm256_abs_epi32)
EMULATE_2(max_epu32, __m512i, i, half_i, _mm256_max_epu32)
EMULATE_2(packs_epi32, __m512i, i, half_i, _mm256_packs_epi32)
EMULATE_2(packs_epi16, __m512i, i, half_i, _mm256_packs_epi16)
EMULATE_2(packus_epi16, __m512i, i, half_i, _mm256_packus_epi16)
EMULATE_2(max_epi8, __m512i, i, half_i, _mm256_max_epi8)
EMULATE_2(min_epi8, __m512i, i, half_i, _mm256_min_epi8)
EMULATE_2(max_epu8, __m512i, i, half_i, _mm256_max_epu8)
EMULATE_2(min_epu8, __m512i, i, half_i, _mm256_min_epu8)

EMULATED __m512 emulated_of_lanes(const float *p)
{
    union emulated x;
    memcpy(x.lane, p, sizeof x.lane);
    return x.f;
}

EMULATED __m512 emulated_set1_ps(float a)
{
    union emulated x;
    x.half[0] = x.half[1] = _mm256_set1_ps(a);
    return x.f;
}

EMULATED __m512i emulated_set1_epi32(int32_t a)
{
    union emulated x;
    x.half_i[0] = x.half_i[1] = _mm256_set1_epi32(a);
    return x.i;
}

EMULATED __m512i emulated_set1_epi8(char a)
{
    union emulated x;
    x.half_i[0] = x.half_i[1] = _mm256_set1_epi8(a);
    return x.i;
}

EMULATED void emulated_storeu_ps(float *p, __m512 a)
{
    memcpy(p, &a, sizeof a);
}

EMULATED __m512 emulated_maskz_loadu_ps(__mmask16 m, const float *p)
{
    union emulated x;
    for (unsigned i = 0; i < 16; i++)
        x.lane[i] = m >> i & 1 ? p[i] : 0;
    return x.f;
}

EMULATED __m512i emulated_maskz_loadu_epi32(__mmask16 m, const void *p)
{
    union emulated x;
    for (unsigned i = 0; i < 16; i++)
        x.word[i] = m >> i & 1 ? ((const int32_t *)p)[i] : 0;
    return x.i;
}

EMULATED void emulated_mask_storeu_epi8(void *p, __mmask32 m, __m256i a)
{
    const union emulated x = {.half_i = {a}};
    for (unsigned i = 0; i < 32; i++) {
        if (m >> i & 1)
            ((uint8_t *)p)[i] = x.byte[i];
    }
}

EMULATED __m512 emulated_permutex2var_ps(__m512 low, __m512i piece, __m512 high)
{
    const union emulated x = {.f = low}, y = {.f = high}, at = {.i = piece};
    union emulated z;
    for (unsigned i = 0; i < 16; i++)
        z.word[i] = (at.word[i] & 16 ? y : x).word[at.word[i] & 15];
    return z.f;
}

/* To the fourteen bits that are promised, no better. */
EMULATED __m512 emulated_rcp14_ps(__m512 a)
{
    union emulated x = {.f = a};
    for (unsigned i = 0; i < 16; i++) {
        x.lane[i] = 1 / x.lane[i];
        x.word[i] &= ~0x1ff;
    }
    return x.f;
}

EMULATED __m512i emulated_permutexvar_epi32(__m512i from, __m512i a)
{
    const union emulated x = {.i = a}, at = {.i = from};
    union emulated y;
    for (unsigned i = 0; i < 16; i++)
        y.word[i] = x.word[at.word[i] & 15];
    return y.i;
}

EMULATED __m512 emulated_permutexvar_ps(__m512i from, __m512 a)
{
    const union emulated x = {.f = a}, y = {.i = emulated_permutexvar_epi32(from, x.i)};
    return y.f;
}

EMULATED void emulated_mask_storeu_64_epi8(void *p, __mmask64 m, __m512i a)
{
    const union emulated x = {.i = a};
    for (unsigned i = 0; i < 64; i++) {
        if (m >> i & 1)
            ((uint8_t *)p)[i] = x.byte[i];
    }
}

EMULATED __mmask16 emulated_cmpgt_epu32_mask(__m512i a, __m512i b)
{
    const union emulated x = {.i = a}, y = {.i = b};
    unsigned mask = 0;
    for (unsigned i = 0; i < 16; i++)
        mask |= (unsigned)((uint32_t)x.word[i] > (uint32_t)y.word[i]) << i;
    return (__mmask16)mask;
}

EMULATED __m256i emulated_extracti64x4_epi64(__m512i a, unsigned half)
{
    const union emulated x = {.i = a};
    return x.half_i[half];
}

EMULATED void emulated_mask_storeu_ps(float *p, __mmask16 m, __m512 a)
{
    const union emulated x = {.f = a};
    for (unsigned i = 0; i < 16; i++) {
        if (m >> i & 1)
            p[i] = x.lane[i];
    }
}

/* b where the mask is set, a elsewhere. */
EMULATED __m512 emulated_mask_blend_ps(__mmask16 m, __m512 a, __m512 b)
{
    union emulated x = {.f = a};
    const union emulated y = {.f = b};
    for (unsigned i = 0; i < 16; i++)
        x.word[i] = m >> i & 1 ? y.word[i] : x.word[i];
    return x.f;
}

EMULATED __m512 emulated_maskz_mov_ps(__mmask16 m, __m512 a)
{
    return emulated_mask_blend_ps(m, emulated_set1_ps(0), a);
}

#define EMULATED_CMP(a, b, how)                                                                    \
    __extension__({                                                                                \
        const union emulated cmp_x = {.f = (a)}, cmp_y = {.f = (b)};                               \
        (__mmask16)(_mm256_movemask_ps(_mm256_cmp_ps(cmp_x.half[0], cmp_y.half[0], how)) |         \
                    _mm256_movemask_ps(_mm256_cmp_ps(cmp_x.half[1], cmp_y.half[1], how)) << 8);    \
    })

#define EMULATED_ROUND(a, how)                                                                     \
    __extension__({                                                                                \
        union emulated round_x = {.f = (a)};                                                       \
        round_x.half[0] = _mm256_round_ps(round_x.half[0], how);                                   \
        round_x.half[1] = _mm256_round_ps(round_x.half[1], how);                                   \
        round_x.f;                                                                                 \
    })

/* The lesser magnitude, with the sign of a: _mm512_range_ps with 2, of numbers. */
EMULATED __m512 emulated_range_ps(__m512 a, __m512 b)
{
    union emulated x = {.f = a};
    const union emulated y = {.f = b};
    for (unsigned i = 0; i < 16; i++)
        x.lane[i] = copysignf(fminf(fabsf(x.lane[i]), fabsf(y.lane[i])), x.lane[i]);
    return x.f;
}

EMULATED __m512 emulated_scalef_ps(__m512 a, __m512 n)
{
    union emulated x = {.f = a};
    const union emulated y = {.f = n};
    for (unsigned i = 0; i < 16; i++)
        x.lane[i] = isnan(y.lane[i]) ? y.lane[i] : ldexpf(x.lane[i], (int)floorf(y.lane[i]));
    return x.f;
}

EMULATED __m512i emulated_slli_epi32(__m512i a, unsigned n)
{
    union emulated x = {.i = a};
    for (unsigned i = 0; i < 16; i++)
        x.word[i] = n > 31 ? 0 : (int32_t)((uint32_t)x.word[i] << n);
    return x.i;
}

EMULATED __m512i emulated_srai_epi32(__m512i a, unsigned n)
{
    union emulated x = {.i = a};
    for (unsigned i = 0; i < 16; i++)
        x.word[i] = x.word[i] >> (n > 31 ? 31 : n);
    return x.i;
}

EMULATED __m512i emulated_cvtps_epi32(__m512 a)
{
    union emulated x = {.f = a};
    x.half_i[0] = _mm256_cvtps_epi32(x.half[0]);
    x.half_i[1] = _mm256_cvtps_epi32(x.half[1]);
    return x.i;
}

EMULATED __m512 emulated_cvtepi32_ps(__m512i a)
{
    union emulated x = {.i = a};
    x.half[0] = _mm256_cvtepi32_ps(x.half_i[0]);
    x.half[1] = _mm256_cvtepi32_ps(x.half_i[1]);
    return x.f;
}

EMULATED __m512i emulated_castps_si512(__m512 a)
{
    const union emulated x = {.f = a};
    return x.i;
}

EMULATED __m512 emulated_castsi512_ps(__m512i a)
{
    const union emulated x = {.i = a};
    return x.f;
}

EMULATED float emulated_reduce_add_ps(__m512 a)
{
    union emulated x = {.f = a};
    for (unsigned half = 8; half; half /= 2) {
        for (unsigned i = 0; i < half; i++)
            x.lane[i] += x.lane[i + half];
    }
    return x.lane[0];
}

EMULATED float emulated_reduce_max_ps(__m512 a)
{
    const union emulated x = {.f = a};
    float most = x.lane[0];
    for (unsigned i = 1; i < 16; i++)
        most = x.lane[i] > most ? x.lane[i] : most;
    return most;
}

EMULATE_2(madd_epi16, __m512i, i, half_i, _mm256_madd_epi16)
EMULATE_2(maddubs_epi16, __m512i, i, half_i, _mm256_maddubs_epi16)
EMULATE_2(add_epi16, __m512i, i, half_i, _mm256_add_epi16)
EMULATE_2(xor_si512, __m512i, i, half_i, _mm256_xor_si256)
EMULATE_1(abs_epi8, __m512i, i, half_i, _mm256_abs_epi8)

EMULATED __mmask64 emulated_movepi8_mask(__m512i a)
{
    const union emulated x = {.i = a};
    return (uint32_t)_mm256_movemask_epi8(x.half_i[0]) |
           (__mmask64)(uint32_t)_mm256_movemask_epi8(x.half_i[1]) << 32;
}

EMULATED __m512i emulated_mask_blend_epi8(__mmask64 m, __m512i a, __m512i b)
{
    union emulated x = {.i = a};
    const union emulated y = {.i = b};
    for (unsigned i = 0; i < 64; i++)
        x.byte[i] = m >> i & 1 ? y.byte[i] : x.byte[i];
    return x.i;
}

EMULATED __m512i emulated_set1_epi16(int16_t a)
{
    union emulated x;
    x.half_i[0] = x.half_i[1] = _mm256_set1_epi16(a);
    return x.i;
}

EMULATED __m128i emulated_extracti32x4_epi32(__m512i a, unsigned part)
{
    __m128i x;
    memcpy(&x, (const char *)&a + part * sizeof x, sizeof x);
    return x;
}

EMULATED __m512i emulated_loadu_si512(const void *p)
{
    union emulated x;
    memcpy(x.word, p, sizeof x.word);
    return x.i;
}

EMULATED void emulated_storeu_si512(void *p, __m512i a)
{
    memcpy(p, &a, sizeof a);
}

EMULATED __m512i emulated_srli_epi16(__m512i a, unsigned n)
{
    union emulated x = {.i = a};
    x.half_i[0] = _mm256_srli_epi16(x.half_i[0], (int)n);
    x.half_i[1] = _mm256_srli_epi16(x.half_i[1], (int)n);
    return x.i;
}

/* Unsigned bytes of b by signed bytes of c, four products and the word of a: not saturating. A call: its 64 products in each place that
 * has it took the sanitizers' build 80 seconds. */
static __attribute__((noinline, unused)) __m512i emulated_dpbusd_epi32(__m512i a, __m512i b,
                                                                       __m512i c)
{
    union emulated x = {.i = a};
    const union emulated y = {.i = b}, z = {.i = c};
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned u = 0; u < 4; u++)
            x.word[i] += (int32_t)y.byte[4 * i + u] * (int8_t)z.byte[4 * i + u];
    }
    return x.i;
}

#define _mm512_madd_epi16 emulated_madd_epi16
#define _mm512_maddubs_epi16 emulated_maddubs_epi16
#define _mm512_add_epi16 emulated_add_epi16
#define _mm512_xor_si512 emulated_xor_si512
#define _mm512_abs_epi8 emulated_abs_epi8
#define _mm512_movepi8_mask emulated_movepi8_mask
#define _mm512_mask_blend_epi8 emulated_mask_blend_epi8
#define _mm512_set1_epi16 emulated_set1_epi16
#undef _mm512_extracti32x4_epi32
#define _mm512_extracti32x4_epi32 emulated_extracti32x4_epi32
#define _mm_mask_storeu_epi8(p, m, a)                                                              \
    emulated_mask_storeu_epi8((p), (__mmask32)(m), _mm256_castsi128_si256(a))
#define _mm512_loadu_si512 emulated_loadu_si512
#define _mm512_storeu_si512 emulated_storeu_si512
#define _mm512_setzero_si512() emulated_set1_epi32(0)
#undef _mm512_srli_epi16
#define _mm512_srli_epi16 emulated_srli_epi16
#define _mm512_dpbusd_epi32 emulated_dpbusd_epi32
#define _mm512_add_ps emulated_add_ps
#define _mm512_sub_ps emulated_sub_ps
#define _mm512_mul_ps emulated_mul_ps
#define _mm512_div_ps emulated_div_ps
#define _mm512_max_ps emulated_max_ps
#define _mm512_min_ps emulated_min_ps
#define _mm512_and_ps emulated_and_ps
#define _mm512_or_ps emulated_or_ps
#define _mm512_xor_ps emulated_xor_ps
#define _mm512_andnot_ps emulated_andnot_ps
#define _mm512_sqrt_ps emulated_sqrt_ps
#define _mm512_fmadd_ps emulated_fmadd_ps
#define _mm512_fnmadd_ps emulated_fnmadd_ps
#define _mm512_add_epi32 emulated_add_epi32
#define _mm512_sub_epi32 emulated_sub_epi32
#define _mm512_and_si512 emulated_and_si512
#define _mm512_or_si512 emulated_or_si512
#define _mm512_abs_epi32 emulated_abs_epi32
#define _mm512_max_epu32 emulated_max_epu32
#define _mm512_packs_epi32 emulated_packs_epi32
#define _mm512_packs_epi16 emulated_packs_epi16
#define _mm512_packus_epi16 emulated_packus_epi16
#define _mm512_max_epi8 emulated_max_epi8
#define _mm512_min_epi8 emulated_min_epi8
#define _mm512_max_epu8 emulated_max_epu8
#define _mm512_min_epu8 emulated_min_epu8
#define _mm512_set1_epi8 emulated_set1_epi8
#define _mm512_maskz_loadu_epi32 emulated_maskz_loadu_epi32
#define _mm256_mask_storeu_epi8 emulated_mask_storeu_epi8
#define _mm512_mask_storeu_epi8 emulated_mask_storeu_64_epi8
#define _mm512_permutexvar_epi32 emulated_permutexvar_epi32
#define _mm512_permutexvar_ps emulated_permutexvar_ps
#define _mm512_permutex2var_ps emulated_permutex2var_ps
#define _mm512_rcp14_ps emulated_rcp14_ps
#undef _mm512_cmpgt_epu32_mask
#define _mm512_cmpgt_epu32_mask emulated_cmpgt_epu32_mask
#undef _mm512_extracti64x4_epi64
#define _mm512_extracti64x4_epi64 emulated_extracti64x4_epi64
#define _mm512_castsi512_si256(a) emulated_extracti64x4_epi64(a, 0)
#define _mm512_loadu_ps emulated_of_lanes
#define _mm512_storeu_ps emulated_storeu_ps
#define _mm512_set1_ps emulated_set1_ps
#define _mm512_setzero_ps() emulated_set1_ps(0)
#define _mm512_set1_epi32 emulated_set1_epi32
#define _mm512_maskz_loadu_ps emulated_maskz_loadu_ps
#define _mm512_mask_storeu_ps emulated_mask_storeu_ps
#define _mm512_mask_blend_ps emulated_mask_blend_ps
#define _mm512_maskz_mov_ps emulated_maskz_mov_ps
#undef _mm512_cmp_ps_mask
#define _mm512_cmp_ps_mask EMULATED_CMP
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps EMULATED_ROUND
#undef _mm512_range_ps
#define _mm512_range_ps(a, b, how) emulated_range_ps((a), (b))
#undef _mm512_scalef_ps
#define _mm512_scalef_ps emulated_scalef_ps
#undef _mm512_slli_epi32
#define _mm512_slli_epi32 emulated_slli_epi32
#undef _mm512_srai_epi32
#define _mm512_srai_epi32 emulated_srai_epi32
#define _mm512_cvtps_epi32 emulated_cvtps_epi32
#define _mm512_cvtepi32_ps emulated_cvtepi32_ps
#define _mm512_castps_si512 emulated_castps_si512
#define _mm512_castsi512_ps emulated_castsi512_ps
#define _mm512_reduce_add_ps emulated_reduce_add_ps
#define _mm512_reduce_max_ps emulated_reduce_max_ps

#endif
