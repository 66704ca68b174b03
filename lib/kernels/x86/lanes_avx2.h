/* The vectors that compute_tmpl.h is written in: 8 floats. lanes_avx512.h has the same names for 16. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define VF __m256
#define VM __m256i
enum { VW = 8 };

static inline VF v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void v_store(float *p, VF x)
{
    _mm256_storeu_ps(p, x);
}

static inline VF v_set(float x)
{
    return _mm256_set1_ps(x);
}

static inline VF v_zero(void)
{
    return _mm256_setzero_ps();
}

static inline VF v_add(VF a, VF b)
{
    return _mm256_add_ps(a, b);
}

static inline VF v_sub(VF a, VF b)
{
    return _mm256_sub_ps(a, b);
}

static inline VF v_mul(VF a, VF b)
{
    return _mm256_mul_ps(a, b);
}

static inline VF v_div(VF a, VF b)
{
    return _mm256_div_ps(a, b);
}

/* a b + c */
static inline VF v_fma(VF a, VF b, VF c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* The second operand where one is NaN. */
static inline VF v_max(VF a, VF b)
{
    return _mm256_max_ps(a, b);
}

static inline VF v_min(VF a, VF b)
{
    return _mm256_min_ps(a, b);
}

/* x < 0 ? y : x */
static inline VF v_below_zero(VF x, VF y)
{
    return _mm256_blendv_ps(x, y, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ));
}

/* x is a NaN ? y : x */
static inline VF v_not_nan(VF x, VF y)
{
    return _mm256_blendv_ps(x, y, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/* The first n lanes, n <= 8. */
static inline VM v_mask(size_t n)
{
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(ones + 8 - n));
}

static inline VF v_load_some(const float *p, VM m)
{
    return _mm256_maskload_ps(p, m);
}

static inline void v_store_some(float *p, VM m, VF x)
{
    _mm256_maskstore_ps(p, m, x);
}

static inline float v_total(VF x)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
