/* Vectors of eight floats for the kernels that are written once for all widths (rows_vec_tmpl.h and others). Masks are vectors
 * of all-ones lanes. */
#ifndef OX_KERNELS_X86_VEC_AVX2_H
#define OX_KERNELS_X86_VEC_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define VISA(name) name##_avx2
#define VF __m256
#define VI __m256i
#define VM __m256
/* Floats of a vector; rows of the widest register tile that is two vectors wide, and one. */
enum { VW = 8, V_ROWS = 6, V_ROWS_ONE = 8 };

static const int32_t v_tails[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

#define v_load(p) _mm256_loadu_ps(p)
#define v_store(p, v) _mm256_storeu_ps((p), (v))
#define v_set1(x) _mm256_set1_ps(x)
#define v_zero() _mm256_setzero_ps()
#define v_add(a, b) _mm256_add_ps((a), (b))
#define v_sub(a, b) _mm256_sub_ps((a), (b))
#define v_mul(a, b) _mm256_mul_ps((a), (b))
#define v_div(a, b) _mm256_div_ps((a), (b))
#define v_sqrt(a) _mm256_sqrt_ps(a)
/* a b + c; c - a b */
#define v_fma(a, b, c) _mm256_fmadd_ps((a), (b), (c))
#define v_fnma(a, b, c) _mm256_fnmadd_ps((a), (b), (c))
/* *sum += a b, in its register: given the choice compilers overwrite a or b when many sums are at work, and spill. */
static inline void v_accumulate(__m256 *sum, __m256 a, __m256 b)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*sum) : "x"(a), "x"(b));
}
/* Of a NaN on either side the second. */
#define v_max(a, b) _mm256_max_ps((a), (b))
#define v_min(a, b) _mm256_min_ps((a), (b))
#define v_and(a, b) _mm256_and_ps((a), (b))
#define v_or(a, b) _mm256_or_ps((a), (b))
#define v_xor(a, b) _mm256_xor_ps((a), (b))
/* Not a, and b. */
#define v_andnot(a, b) _mm256_andnot_ps((a), (b))
#define v_floor(a) _mm256_floor_ps(a)
#define v_ceil(a) _mm256_ceil_ps(a)
#define v_nearest(a) _mm256_round_ps((a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define v_lt(a, b) _mm256_cmp_ps((a), (b), _CMP_LT_OQ)
#define v_le(a, b) _mm256_cmp_ps((a), (b), _CMP_LE_OQ)
#define v_gt(a, b) _mm256_cmp_ps((a), (b), _CMP_GT_OQ)
#define v_eq(a, b) _mm256_cmp_ps((a), (b), _CMP_EQ_OQ)
#define v_unordered(a, b) _mm256_cmp_ps((a), (b), _CMP_UNORD_Q)
/* Whether of any lane. */
#define v_any(m) (_mm256_movemask_ps(m) != 0)
/* Lanes of a where the mask is set, of b elsewhere. */
#define v_select(m, a, b) _mm256_blendv_ps((b), (a), (m))
/* a where the mask is set, 0 elsewhere. */
#define v_keep(m, a) _mm256_and_ps((m), (a))
/* 0 where the mask is set, a elsewhere. */
#define v_drop(m, a) _mm256_andnot_ps((m), (a))

/* Lane i of the result is lane from[i] of a. */
#define v_pick(a, from) _mm256_permutevar8x32_ps((a), (from))

#define vi_load(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define vi_set1(x) _mm256_set1_epi32(x)
#define vi_add(a, b) _mm256_add_epi32((a), (b))
#define vi_sub(a, b) _mm256_sub_epi32((a), (b))
#define vi_and(a, b) _mm256_and_si256((a), (b))
#define vi_left(a, n) _mm256_slli_epi32((a), (n))
#define vi_right(a, n) _mm256_srai_epi32((a), (n))
#define v_to_int(a) _mm256_cvtps_epi32(a) /* nearest */
#define v_from_int(a) _mm256_cvtepi32_ps(a)
#define v_bits(a) _mm256_castps_si256(a)
#define v_of_bits(a) _mm256_castsi256_ps(a)

static inline __m256i v_tail(size_t n)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)(v_tails + VW - n));
}

/* The first n <= 8 lanes; the others are 0 and are not read. */
static inline __m256 v_load_n(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, v_tail(n));
}

static inline void v_store_n(float *p, __m256 v, size_t n)
{
    _mm256_maskstore_ps(p, v_tail(n), v);
}

/* The first n lanes of a, of b the others. */
static inline __m256 v_first(size_t n, __m256 a, __m256 b)
{
    return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(v_tail(n)));
}

static inline float v_sum(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* v_sum() of eight, each in its order. */
static inline void v_sum_8(const __m256 *v, float *sums)
{
    __m256 s[4], t[2];
    for (int i = 0; i < 4; i++)
        s[i] = _mm256_add_ps(_mm256_permute2f128_ps(v[i], v[i + 4], 0x20),
                             _mm256_permute2f128_ps(v[i], v[i + 4], 0x31));
    for (int i = 0; i < 2; i++)
        t[i] = _mm256_add_ps(_mm256_unpacklo_ps(s[2 * i], s[2 * i + 1]),
                             _mm256_unpackhi_ps(s[2 * i], s[2 * i + 1]));
    _mm256_storeu_ps(sums, _mm256_add_ps(_mm256_shuffle_ps(t[0], t[1], 0x44),
                                         _mm256_shuffle_ps(t[0], t[1], 0xee)));
}

static inline float v_most(__m256 v)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

#endif
