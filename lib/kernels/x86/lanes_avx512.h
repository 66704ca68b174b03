/* The vectors that compute_tmpl.h is written in: 16 floats. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define VF __m512
#define VM __mmask16
enum { VW = 16 };

static inline VF v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

static inline void v_store(float *p, VF x)
{
    _mm512_storeu_ps(p, x);
}

static inline VF v_set(float x)
{
    return _mm512_set1_ps(x);
}

static inline VF v_zero(void)
{
    return _mm512_setzero_ps();
}

static inline VF v_add(VF a, VF b)
{
    return _mm512_add_ps(a, b);
}

static inline VF v_sub(VF a, VF b)
{
    return _mm512_sub_ps(a, b);
}

static inline VF v_mul(VF a, VF b)
{
    return _mm512_mul_ps(a, b);
}

static inline VF v_div(VF a, VF b)
{
    return _mm512_div_ps(a, b);
}

/* a b + c */
static inline VF v_fma(VF a, VF b, VF c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* The second operand where one is NaN. */
static inline VF v_max(VF a, VF b)
{
    return _mm512_max_ps(a, b);
}

static inline VF v_min(VF a, VF b)
{
    return _mm512_min_ps(a, b);
}

/* x < 0 ? y : x */
static inline VF v_below_zero(VF x, VF y)
{
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), y);
}

/* x is a NaN ? y : x */
static inline VF v_not_nan(VF x, VF y)
{
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), y);
}

/* The first n lanes, n <= 16. */
static inline VM v_mask(size_t n)
{
    return (VM)((1u << n) - 1);
}

static inline VF v_load_some(const float *p, VM m)
{
    return _mm512_maskz_loadu_ps(m, p);
}

static inline void v_store_some(float *p, VM m, VF x)
{
    _mm512_mask_storeu_ps(p, m, x);
}

static inline float v_total(VF x)
{
    const __m256 low = _mm512_castps512_ps256(x);
    const __m256 high = _mm512_extractf32x8_ps(x, 1);
    const __m256 y = _mm256_add_ps(low, high);
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
