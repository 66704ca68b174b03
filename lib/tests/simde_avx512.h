/* AVX-512 by SIMDe, for processors without it: scripts/test-avx512 compiles the kernels with this in front of them. What Debian 12's SIMDe
 * (0.7.4) lacks follows lane by lane, as Intel's intrinsics guide says it. */
#ifndef OX_TESTS_SIMDE_AVX512_H
#define OX_TESTS_SIMDE_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <simde/x86/avx512.h>

/* Forms that are compiled into each other would take minutes. */
#define INLINE static __attribute__((noinline, unused))
#define EMULATED static inline __attribute__((unused))

/* Lanes of a vector as the elements of an array, and back. */
#define LANES(T, n, x, v)                                                                          \
    T x[n];                                                                                        \
    memcpy(x, &(v), sizeof x)
#define VECTOR(V, x)                                                                               \
    V made;                                                                                        \
    memcpy(&made, x, sizeof made);                                                                 \
    return made

/* R name(V): lane by lane. */
#define CONVERTED(name, R, RT, V, VT, n, how)                                                      \
    EMULATED R emulated##name(V v)                                                                 \
    {                                                                                              \
        LANES(VT, n, x, v);                                                                        \
        RT y[n];                                                                                   \
        for (int i = 0; i < n; i++)                                                                \
            y[i] = how(x[i]);                                                                      \
        VECTOR(R, y);                                                                              \
    }
/* What the mask leaves out is neither read nor written. */
#define MASKED_LOAD(name, V, K, T, n)                                                              \
    EMULATED V emulated##name(K mask, const void *from)                                            \
    {                                                                                              \
        T y[n] = {0};                                                                              \
        for (int i = 0; i < n; i++)                                                                \
            if ((uint64_t)mask >> i & 1)                                                           \
                memcpy(&y[i], (const T *)from + i, sizeof(T));                                     \
        VECTOR(V, y);                                                                              \
    }
#define MASKED_LOAD_OVER(name, V, K, T, n)                                                         \
    EMULATED V emulated##name(V otherwise, K mask, const void *from)                               \
    {                                                                                              \
        LANES(T, n, y, otherwise);                                                                 \
        for (int i = 0; i < n; i++)                                                                \
            if ((uint64_t)mask >> i & 1)                                                           \
                memcpy(&y[i], (const T *)from + i, sizeof(T));                                     \
        VECTOR(V, y);                                                                              \
    }
#define MASKED_STORE(name, V, K, VT, T, n)                                                         \
    EMULATED void emulated##name(void *to, K mask, V v)                                            \
    {                                                                                              \
        LANES(VT, n, x, v);                                                                        \
        for (int i = 0; i < n; i++) {                                                              \
            const T stored = (T)x[i];                                                              \
            if ((uint64_t)mask >> i & 1)                                                           \
                memcpy((T *)to + i, &stored, sizeof(T));                                           \
        }                                                                                          \
    }

MASKED_LOAD(_mm_maskz_loadu_epi8, __m128i, __mmask16, int8_t, 16)
MASKED_LOAD(_mm_maskz_loadu_ps, __m128, __mmask8, float, 4)
MASKED_LOAD(_mm256_maskz_loadu_epi8, __m256i, __mmask32, int8_t, 32)
MASKED_LOAD(_mm512_maskz_loadu_epi8, simde__m512i, __mmask64, int8_t, 64)
MASKED_LOAD(_mm512_maskz_loadu_epi32, simde__m512i, __mmask16, int32_t, 16)
MASKED_LOAD(_mm512_maskz_loadu_ps, simde__m512, __mmask16, float, 16)
MASKED_LOAD_OVER(_mm512_mask_loadu_epi8, simde__m512i, __mmask64, int8_t, 64)
MASKED_LOAD_OVER(_mm512_mask_loadu_ps, simde__m512, __mmask16, float, 16)
MASKED_STORE(_mm_mask_storeu_epi8, __m128i, __mmask16, int8_t, int8_t, 16)
MASKED_STORE(_mm256_mask_storeu_epi8, __m256i, __mmask32, int8_t, int8_t, 32)
MASKED_STORE(_mm512_mask_storeu_epi8, simde__m512i, __mmask64, int8_t, int8_t, 64)
MASKED_STORE(_mm512_mask_storeu_epi32, simde__m512i, __mmask16, int32_t, int32_t, 16)
MASKED_STORE(_mm512_mask_storeu_ps, simde__m512, __mmask16, float, float, 16)
MASKED_STORE(_mm512_mask_cvtepi32_storeu_epi8, simde__m512i, __mmask16, int32_t, int8_t, 16)
MASKED_STORE(_mm512_mask_cvtepi32_storeu_epi16, simde__m512i, __mmask16, int32_t, int16_t, 16)

CONVERTED(_mm512_cvtepi8_epi32, simde__m512i, int32_t, __m128i, int8_t, 16, )
CONVERTED(_mm512_cvtepu8_epi32, simde__m512i, int32_t, __m128i, uint8_t, 16, )
CONVERTED(_mm512_cvtepu8_epi16, simde__m512i, int16_t, __m256i, uint8_t, 32, )
CONVERTED(_mm512_cvtepi32_ps, simde__m512, float, simde__m512i, int32_t, 16, (float))
CONVERTED(_mm512_cvtepi32_pd, simde__m512d, double, __m256i, int32_t, 8, )
CONVERTED(_mm512_cvtepi32_epi8, __m128i, int8_t, simde__m512i, int32_t, 16, (int8_t))
CONVERTED(_mm512_cvtepi32_epi16, __m256i, int16_t, simde__m512i, int32_t, 16, (int16_t))
CONVERTED(_mm512_cvtpd_ps, __m256, float, simde__m512d, double, 8, (float))
CONVERTED(_mm512_cvtps_pd, simde__m512d, double, __m256, float, 8, (double))

/* Beyond the range of int32, and of NaN, the least. */
static inline int32_t emulated_nearest(double x)
{
    const double nearest = nearbyint(x);
    return nearest >= -0x1p31 && nearest < 0x1p31 ? (int32_t)nearest : INT32_MIN;
}
CONVERTED(_mm512_cvtps_epi32, simde__m512i, int32_t, simde__m512, float, 16, emulated_nearest)
CONVERTED(_mm512_cvtpd_epi32, __m256i, int32_t, simde__m512d, double, 8, emulated_nearest)

/* To a multiple of 2^-(how / 16), by the mode in the low bits. */
static inline float emulated_round(float x, int how)
{
    const float scaled = ldexpf(x, how >> 4), away = (how & 3) == 1   ? floorf(scaled)
                                                     : (how & 3) == 2 ? ceilf(scaled)
                                                     : (how & 3) == 3 ? truncf(scaled)
                                                                      : nearbyintf(scaled);
    return ldexpf(away, -(how >> 4));
}
EMULATED simde__m512 emulated_mm512_roundscale_ps(simde__m512 v, int how)
{
    LANES(float, 16, x, v);
    for (int i = 0; i < 16; i++)
        x[i] = emulated_round(x[i], how);
    VECTOR(simde__m512, x);
}
EMULATED simde__m512d emulated_mm512_fmaddsub_pd(simde__m512d a, simde__m512d b, simde__m512d c)
{
    LANES(double, 8, x, a);
    LANES(double, 8, by, b);
    LANES(double, 8, add, c);
    for (int i = 0; i < 8; i++)
        x[i] = fma(x[i], by[i], i % 2 ? add[i] : -add[i]);
    VECTOR(simde__m512d, x);
}
EMULATED simde__m512d emulated_mm512_permute_pd(simde__m512d v, int how)
{
    LANES(double, 8, x, v);
    double y[8];
    for (int i = 0; i < 8; i++)
        y[i] = x[(i & ~1) + (how >> i & 1)];
    VECTOR(simde__m512d, y);
}
/* SIMDe's takes a power that is subnormal for 0. */
EMULATED simde__m512 emulated_mm512_scalef_ps(simde__m512 v, simde__m512 n)
{
    LANES(float, 16, x, v);
    LANES(float, 16, by, n);
    for (int i = 0; i < 16; i++)
        x[i] = isnan(by[i]) ? by[i] : ldexpf(x[i], (int)floorf(by[i]));
    VECTOR(simde__m512, x);
}
EMULATED simde__m512 emulated_mm512_reduce_ps(simde__m512 v, int how)
{
    LANES(float, 16, x, v);
    for (int i = 0; i < 16; i++)
        x[i] = isinf(x[i]) ? 0 : x[i] - emulated_round(x[i], how);
    VECTOR(simde__m512, x);
}
/* To the fourteen bits that are promised, no better. */
EMULATED simde__m512 emulated_mm512_rcp14_ps(simde__m512 v)
{
    LANES(float, 16, x, v);
    for (int i = 0; i < 16; i++) {
        int32_t bits;
        x[i] = 1 / x[i];
        memcpy(&bits, &x[i], sizeof bits);
        bits &= ~0x1ff;
        memcpy(&x[i], &bits, sizeof bits);
    }
    VECTOR(simde__m512, x);
}
EMULATED float emulated_mm512_reduce_add_ps(simde__m512 v)
{
    LANES(float, 16, x, v);
    for (int n = 8; n; n /= 2)
        for (int i = 0; i < n; i++)
            x[i] += x[i + n];
    return x[0];
}
EMULATED float emulated_mm512_reduce_max_ps(simde__m512 v)
{
    LANES(float, 16, x, v);
    for (int n = 8; n; n /= 2)
        for (int i = 0; i < n; i++)
            x[i] = x[i] > x[i + n] ? x[i] : x[i + n];
    return x[0];
}
EMULATED int emulated_mm512_reduce_add_epi32(simde__m512i v)
{
    LANES(uint32_t, 16, x, v);
    for (int i = 1; i < 16; i++)
        x[0] += x[i];
    return (int)x[0];
}
EMULATED int emulated_mm512_reduce_max_epi32(simde__m512i v)
{
    LANES(int32_t, 16, x, v);
    for (int i = 1; i < 16; i++)
        x[0] = x[i] > x[0] ? x[i] : x[0];
    return x[0];
}
EMULATED float emulated_mm512_cvtss_f32(simde__m512 v)
{
    LANES(float, 16, x, v);
    return x[0];
}
EMULATED __m256 emulated_mm512_extractf32x8_ps(simde__m512 v, int half)
{
    LANES(float, 16, x, v);
    VECTOR(__m256, x + half * 8);
}
EMULATED simde__m512i emulated_mm512_srai_epi32(simde__m512i v, unsigned by)
{
    LANES(int32_t, 16, x, v);
    for (int i = 0; i < 16; i++)
        x[i] >>= by > 31 ? 31 : by;
    VECTOR(simde__m512i, x);
}
EMULATED simde__m512i emulated_mm512_srav_epi32(simde__m512i v, simde__m512i by)
{
    LANES(int32_t, 16, x, v);
    LANES(uint32_t, 16, n, by);
    for (int i = 0; i < 16; i++)
        x[i] >>= n[i] > 31 ? 31 : n[i];
    VECTOR(simde__m512i, x);
}
EMULATED simde__m512 emulated_mm512_permute_ps(simde__m512 v, int from)
{
    LANES(float, 16, x, v);
    float y[16];
    for (int i = 0; i < 16; i++)
        y[i] = x[i / 4 * 4 + (from >> i % 4 * 2 & 3)];
    VECTOR(simde__m512, y);
}
/* SIMDe's own stands for the masked form. */
#undef _mm512_madd_epi16
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16((a), (b))

EMULATED simde__m512d emulated_mm512_i32gather_pd(__m256i at, const void *from, int scale)
{
    LANES(int32_t, 8, i, at);
    double y[8];
    for (int k = 0; k < 8; k++)
        memcpy(&y[k], (const char *)from + (ptrdiff_t)i[k] * scale, sizeof *y);
    VECTOR(simde__m512d, y);
}
EMULATED __mmask16 emulated_mm512_cmpgt_epu32_mask(simde__m512i a, simde__m512i b)
{
    LANES(uint32_t, 16, x, a);
    LANES(uint32_t, 16, y, b);
    unsigned mask = 0;
    for (int i = 0; i < 16; i++)
        mask |= (unsigned)(x[i] > y[i]) << i;
    return (__mmask16)mask;
}

#undef _mm256_mask_storeu_epi8
#define _mm256_mask_storeu_epi8 emulated_mm256_mask_storeu_epi8
#undef _mm256_maskz_loadu_epi8
#define _mm256_maskz_loadu_epi8 emulated_mm256_maskz_loadu_epi8
#undef _mm512_cmpgt_epu32_mask
#define _mm512_cmpgt_epu32_mask emulated_mm512_cmpgt_epu32_mask
#undef _mm512_cvtepi32_epi8
#define _mm512_cvtepi32_epi8 emulated_mm512_cvtepi32_epi8
#undef _mm512_cvtepi32_epi16
#define _mm512_cvtepi32_epi16 emulated_mm512_cvtepi32_epi16
#undef _mm512_i32gather_pd
#define _mm512_i32gather_pd emulated_mm512_i32gather_pd
#undef _mm512_cvtss_f32
#define _mm512_cvtss_f32 emulated_mm512_cvtss_f32
#undef _mm512_reduce_max_epi32
#define _mm512_reduce_max_epi32 emulated_mm512_reduce_max_epi32
#undef _mm512_reduce_add_epi32
#define _mm512_reduce_add_epi32 emulated_mm512_reduce_add_epi32
#undef _mm512_cvtepi32_pd
#define _mm512_cvtepi32_pd emulated_mm512_cvtepi32_pd
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps emulated_mm512_cvtepi32_ps
#undef _mm512_cvtepi8_epi32
#define _mm512_cvtepi8_epi32 emulated_mm512_cvtepi8_epi32
#undef _mm512_cvtepu8_epi16
#define _mm512_cvtepu8_epi16 emulated_mm512_cvtepu8_epi16
#undef _mm512_cvtepu8_epi32
#define _mm512_cvtepu8_epi32 emulated_mm512_cvtepu8_epi32
#undef _mm512_cvtpd_epi32
#define _mm512_cvtpd_epi32 emulated_mm512_cvtpd_epi32
#undef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32 emulated_mm512_cvtps_epi32
#undef _mm512_cvtps_pd
#define _mm512_cvtps_pd emulated_mm512_cvtps_pd
#undef _mm512_extractf32x8_ps
#define _mm512_extractf32x8_ps emulated_mm512_extractf32x8_ps
#undef _mm512_mask_cvtepi32_storeu_epi16
#define _mm512_mask_cvtepi32_storeu_epi16 emulated_mm512_mask_cvtepi32_storeu_epi16
#undef _mm512_mask_cvtepi32_storeu_epi8
#define _mm512_mask_cvtepi32_storeu_epi8 emulated_mm512_mask_cvtepi32_storeu_epi8
#undef _mm512_mask_loadu_epi8
#define _mm512_mask_loadu_epi8 emulated_mm512_mask_loadu_epi8
#undef _mm512_mask_loadu_ps
#define _mm512_mask_loadu_ps emulated_mm512_mask_loadu_ps
#undef _mm512_mask_storeu_epi32
#define _mm512_mask_storeu_epi32 emulated_mm512_mask_storeu_epi32
#undef _mm512_mask_storeu_epi8
#define _mm512_mask_storeu_epi8 emulated_mm512_mask_storeu_epi8
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps emulated_mm512_mask_storeu_ps
#undef _mm512_maskz_loadu_epi32
#define _mm512_maskz_loadu_epi32 emulated_mm512_maskz_loadu_epi32
#undef _mm512_maskz_loadu_epi8
#define _mm512_maskz_loadu_epi8 emulated_mm512_maskz_loadu_epi8
#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps emulated_mm512_maskz_loadu_ps
#undef _mm512_permute_ps
#define _mm512_permute_ps emulated_mm512_permute_ps
#undef _mm512_reduce_add_ps
#define _mm512_reduce_add_ps emulated_mm512_reduce_add_ps
#undef _mm512_reduce_max_ps
#define _mm512_reduce_max_ps emulated_mm512_reduce_max_ps
#undef _mm512_rcp14_ps
#define _mm512_rcp14_ps emulated_mm512_rcp14_ps
#undef _mm512_reduce_ps
#define _mm512_reduce_ps emulated_mm512_reduce_ps
#undef _mm512_cvtpd_ps
#define _mm512_cvtpd_ps emulated_mm512_cvtpd_ps
#undef _mm512_fmaddsub_pd
#define _mm512_fmaddsub_pd emulated_mm512_fmaddsub_pd
#undef _mm512_permute_pd
#define _mm512_permute_pd emulated_mm512_permute_pd
#undef _mm512_scalef_ps
#define _mm512_scalef_ps emulated_mm512_scalef_ps
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps emulated_mm512_roundscale_ps
#undef _mm512_srai_epi32
#define _mm512_srai_epi32 emulated_mm512_srai_epi32
#undef _mm512_srav_epi32
#define _mm512_srav_epi32 emulated_mm512_srav_epi32
#undef _mm_mask_storeu_epi8
#define _mm_mask_storeu_epi8 emulated_mm_mask_storeu_epi8
#undef _mm_maskz_loadu_ps
#define _mm_maskz_loadu_ps emulated_mm_maskz_loadu_ps
#undef _mm_maskz_loadu_epi8
#define _mm_maskz_loadu_epi8 emulated_mm_maskz_loadu_epi8

#endif
