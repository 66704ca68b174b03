/* Vectors of sixteen floats for the kernels that are written once for all widths (rows_tmpl.h and others). Masks are mask
 * registers. */
#ifndef OX_KERNELS_X86_VEC_AVX512_H
#define OX_KERNELS_X86_VEC_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define VISA(name) name##_avx512
#define VF __m512
#define VI __m512i
#define VM __mmask16
/* Floats of a vector; rows of the widest register tile that is two vectors wide, and one. */
enum { VW = 16, V_ROWS = 12, V_ROWS_ONE = 16 };
/* Vectors of queries that attention works on side by side: fewer loads for as many products than of two. */
#define V_QUERIES 4

#define v_load(p) _mm512_loadu_ps(p)
#define v_store(p, v) _mm512_storeu_ps((p), (v))
#define v_set1(x) _mm512_set1_ps(x)
#define v_zero() _mm512_setzero_ps()
#define v_add(a, b) _mm512_add_ps((a), (b))
#define v_sub(a, b) _mm512_sub_ps((a), (b))
#define v_mul(a, b) _mm512_mul_ps((a), (b))
#define v_div(a, b) _mm512_div_ps((a), (b))
#define v_sqrt(a) _mm512_sqrt_ps(a)
/* a b + c; c - a b */
#define v_fma(a, b, c) _mm512_fmadd_ps((a), (b), (c))
#define v_fnma(a, b, c) _mm512_fnmadd_ps((a), (b), (c))
/* *sum += a b, in its register, as in vec_avx2.h. */
#ifdef __AVX512F__
static inline void v_accumulate(__m512 *sum, __m512 a, __m512 b)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
}
/* The same of the first half of the lanes, the others are cleared: half the work where a vector is two passes. */
static inline void v_accumulate_half(__m512 *sum, __m512 a, __m512 b)
{
    __asm__("vfmadd231ps %t2, %t1, %t0" : "+v"(*sum) : "v"(a), "v"(b));
}
static inline void v_accumulate_half_at(__m512 *sum, const float *a, __m512 b)
{
    __asm__("vfmadd231ps %2%{1to8%}, %t1, %t0" : "+v"(*sum) : "v"(b), "m"(*a));
}
#define v_accumulate_half v_accumulate_half
/* Eight floats, twice; half of a before half of b, of vectors whose halves are equal; the second half, twice. */
#define v_twice(p) _mm512_broadcast_f32x8(_mm256_loadu_ps(p))
#define v_halves(a, b) _mm512_mask_blend_ps(0xff00, (a), (b))
#define v_second_half(a) _mm512_shuffle_f32x4((a), (a), 0xee)
/* Read once: compilers make a memory operand of each use, where a core loads one vector a cycle. */
#define v_in_register(x) __asm__("" : "+v"(*(x)))
#else /* the emulation in tests/ */
#define v_accumulate(sum, a, b) (*(sum) = _mm512_fmadd_ps((a), (b), *(sum)))
#endif
/* Of a NaN on either side the second. */
#define v_max(a, b) _mm512_max_ps((a), (b))
#define v_min(a, b) _mm512_min_ps((a), (b))
/* As in vec_math.h, by one instruction: the lesser magnitude with the sign of a. */
#define v_within(a, b) _mm512_range_ps((a), (b), 2)
#define v_and(a, b) _mm512_and_ps((a), (b))
#define v_or(a, b) _mm512_or_ps((a), (b))
#define v_xor(a, b) _mm512_xor_ps((a), (b))
/* Not a, and b. */
#define v_andnot(a, b) _mm512_andnot_ps((a), (b))
#define v_floor(a) _mm512_roundscale_ps((a), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define v_ceil(a) _mm512_roundscale_ps((a), _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
/* a 2^n of whole n, rounded once; not every instruction set has it. */
#define V_SCALED(a, n) _mm512_scalef_ps((a), (n))
#define v_nearest(a) _mm512_roundscale_ps((a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define v_lt(a, b) _mm512_cmp_ps_mask((a), (b), _CMP_LT_OQ)
#define v_le(a, b) _mm512_cmp_ps_mask((a), (b), _CMP_LE_OQ)
#define v_gt(a, b) _mm512_cmp_ps_mask((a), (b), _CMP_GT_OQ)
#define v_eq(a, b) _mm512_cmp_ps_mask((a), (b), _CMP_EQ_OQ)
#define v_unordered(a, b) _mm512_cmp_ps_mask((a), (b), _CMP_UNORD_Q)
/* Whether of any lane. */
#define v_any(m) ((m) != 0)
/* Lanes of a where the mask is set, of b elsewhere. */
#define v_select(m, a, b) _mm512_mask_blend_ps((m), (b), (a))
/* a where the mask is set, 0 elsewhere. */
#define v_keep(m, a) _mm512_maskz_mov_ps((m), (a))
#define v_drop(m, a) _mm512_maskz_mov_ps((__mmask16) ~(m), (a))

/* Lane i of the result is lane from[i] of a. */
#define v_pick(a, from) _mm512_permutexvar_ps((from), (a))

#define vi_load(p) _mm512_loadu_si512(p)
#define vi_set1(x) _mm512_set1_epi32(x)
#define vi_add(a, b) _mm512_add_epi32((a), (b))
#define vi_sub(a, b) _mm512_sub_epi32((a), (b))
#define vi_and(a, b) _mm512_and_si512((a), (b))
#define vi_left(a, n) _mm512_slli_epi32((a), (n))
#define vi_right(a, n) _mm512_srai_epi32((a), (n))
#define v_to_int(a) _mm512_cvtps_epi32(a) /* nearest */
#define v_from_int(a) _mm512_cvtepi32_ps(a)
#define v_bits(a) _mm512_castps_si512(a)
#define v_of_bits(a) _mm512_castsi512_ps(a)

static inline __mmask16 v_tail(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}

/* The first n <= 16 lanes; the others are 0 and are not read. */
static inline __m512 v_load_n(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(v_tail(n), p);
}

static inline void v_store_n(float *p, __m512 v, size_t n)
{
    _mm512_mask_storeu_ps(p, v_tail(n), v);
}

/* The first n lanes of a, of b the others. */
static inline __m512 v_first(size_t n, __m512 a, __m512 b)
{
    return _mm512_mask_blend_ps(v_tail(n), b, a);
}

static inline float v_sum(__m512 v)
{
    return _mm512_reduce_add_ps(v);
}

static inline void v_sum_8(const __m512 *v, float *sums)
{
    for (int i = 0; i < 8; i++)
        sums[i] = v_sum(v[i]);
}

static inline float v_most(__m512 v)
{
    return _mm512_reduce_max_ps(v);
}

#endif
