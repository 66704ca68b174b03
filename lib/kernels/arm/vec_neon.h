/* Vectors of four floats for the kernels that are written once for all widths, in the Advanced SIMD that every 64-bit ARM has. Masks
 * are vectors of all-ones lanes. */
#ifndef OX_KERNELS_ARM_VEC_NEON_H
#define OX_KERNELS_ARM_VEC_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VISA(name) name##_neon
#define VF float32x4_t
#define VI int32x4_t
#define VM uint32x4_t
/* Floats of a vector; rows of the widest register tile that is two vectors wide, and one. */
enum { VW = 4, V_ROWS = 12, V_ROWS_ONE = 16 };

static const uint32_t v_tails[8] = {~0u, ~0u, ~0u, ~0u};

#define v_load(p) vld1q_f32(p)
#define v_store(p, v) vst1q_f32((p), (v))
#define v_set1(x) vdupq_n_f32(x)
#define v_zero() vdupq_n_f32(0)
#define v_add(a, b) vaddq_f32((a), (b))
#define v_sub(a, b) vsubq_f32((a), (b))
#define v_mul(a, b) vmulq_f32((a), (b))
#define v_div(a, b) vdivq_f32((a), (b))
#define v_sqrt(a) vsqrtq_f32(a)
/* a b + c; c - a b */
#define v_fma(a, b, c) vfmaq_f32((c), (a), (b))
#define v_fnma(a, b, c) vfmsq_f32((c), (a), (b))
#define v_accumulate(sum, a, b) (*(sum) = vfmaq_f32(*(sum), (a), (b)))

/* As x86's: of a NaN on either side the second, which the instructions of that name here do not give. */
static inline float32x4_t v_max(float32x4_t a, float32x4_t b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

static inline float32x4_t v_min(float32x4_t a, float32x4_t b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

#define V_WORDS(a) vreinterpretq_u32_f32(a)
#define v_and(a, b) vreinterpretq_f32_u32(vandq_u32(V_WORDS(a), V_WORDS(b)))
#define v_or(a, b) vreinterpretq_f32_u32(vorrq_u32(V_WORDS(a), V_WORDS(b)))
#define v_xor(a, b) vreinterpretq_f32_u32(veorq_u32(V_WORDS(a), V_WORDS(b)))
/* Not a, and b. */
#define v_andnot(a, b) vreinterpretq_f32_u32(vbicq_u32(V_WORDS(b), V_WORDS(a)))
#define v_floor(a) vrndmq_f32(a)
#define v_ceil(a) vrndpq_f32(a)
#define v_nearest(a) vrndnq_f32(a)
#define v_lt(a, b) vcltq_f32((a), (b))
/* Whether of any lane. */
#define v_any(m) (vmaxvq_u32(m) != 0)
#define v_le(a, b) vcleq_f32((a), (b))
#define v_gt(a, b) vcgtq_f32((a), (b))
#define v_eq(a, b) vceqq_f32((a), (b))

static inline uint32x4_t v_unordered(float32x4_t a, float32x4_t b)
{
    return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b)));
}

/* Lanes of a where the mask is set, of b elsewhere. */
#define v_select(m, a, b) vbslq_f32((m), (a), (b))
/* a where the mask is set, 0 elsewhere. */
#define v_keep(m, a) vreinterpretq_f32_u32(vandq_u32((m), V_WORDS(a)))
#define v_drop(m, a) vreinterpretq_f32_u32(vbicq_u32(V_WORDS(a), (m)))

#define vi_set1(x) vdupq_n_s32(x)
#define vi_add(a, b) vaddq_s32((a), (b))
#define vi_sub(a, b) vsubq_s32((a), (b))
#define vi_and(a, b) vandq_s32((a), (b))
#define vi_left(a, n) vshlq_n_s32((a), (n))
#define vi_right(a, n) vshrq_n_s32((a), (n))
#define v_to_int(a) vcvtnq_s32_f32(a) /* nearest */
#define v_from_int(a) vcvtq_f32_s32(a)
#define v_bits(a) vreinterpretq_s32_f32(a)
#define v_of_bits(a) vreinterpretq_f32_s32(a)

static inline uint32x4_t v_tail(size_t n)
{
    return vld1q_u32(v_tails + VW - n);
}

/* The first n <= 4 lanes; the others are 0 and are not read. */
static inline float32x4_t v_load_n(const float *p, size_t n)
{
    float lane[VW] = {0};
    memcpy(lane, p, n * sizeof *p);
    return vld1q_f32(lane);
}

static inline void v_store_n(float *p, float32x4_t v, size_t n)
{
    float lane[VW];
    vst1q_f32(lane, v);
    memcpy(p, lane, n * sizeof *p);
}

/* The first n lanes of a, of b the others. */
static inline float32x4_t v_first(size_t n, float32x4_t a, float32x4_t b)
{
    return vbslq_f32(v_tail(n), a, b);
}

static inline float v_sum(float32x4_t v)
{
    const float32x2_t s = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}

static inline void v_sum_8(const float32x4_t *v, float *sums)
{
    for (int i = 0; i < 8; i++)
        sums[i] = v_sum(v[i]);
}

static inline float v_most(float32x4_t v)
{
    const float32x4_t s = v_max(v, vextq_f32(v, v, 2));
    return vgetq_lane_f32(v_max(s, vextq_f32(s, s, 1)), 0);
}

#endif
