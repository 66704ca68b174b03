#include "kernels/whole_products.h"

#include <immintrin.h>
#include <string.h>

#include "kernels/inline.h"
#include "kernels/sizes.h"

/* What a product keeps of its factors and of the sum: of 64 bits there are products of halves alone, and the two that make the upper half
 * are put together at the end. */
struct factor_u32 {
    __m256i all;
};
struct sum_u32 {
    __m256i all;
};
struct factor_u64 {
    __m256i low, high;
};
struct sum_u64 {
    __m256i low, high;
};

INLINE struct factor_u32 factor_of_u32(__m256i x)
{
    return (struct factor_u32){x};
}

INLINE struct factor_u64 factor_of_u64(__m256i x)
{
    return (struct factor_u64){x, _mm256_srli_epi64(x, 32)};
}

INLINE void accumulate_u32(struct sum_u32 *s, struct factor_u32 a, struct factor_u32 b)
{
    s->all = _mm256_add_epi32(s->all, _mm256_mullo_epi32(a.all, b.all));
}

INLINE void accumulate_u64(struct sum_u64 *s, struct factor_u64 a, struct factor_u64 b)
{
    s->low = _mm256_add_epi64(s->low, _mm256_mul_epu32(a.low, b.low));
    s->high = _mm256_add_epi64(s->high, _mm256_mul_epu32(a.low, b.high));
    s->high = _mm256_add_epi64(s->high, _mm256_mul_epu32(a.high, b.low));
}

INLINE __m256i total_u32(struct sum_u32 s)
{
    return s.all;
}

INLINE __m256i total_u64(struct sum_u64 s)
{
    return _mm256_add_epi64(s.low, _mm256_slli_epi64(s.high, 32));
}

#define UINT uint32_t
#define NAME(x) x##_u32
#define LANES 8
#define ROWS 4
#define ONE(x) _mm256_set1_epi32((int)(x))
#define ADD(x, y) _mm256_add_epi32((x), (y))
#define LOAD(p, mask) _mm256_maskload_epi32((const int *)(const void *)(p), (mask))
#define STORE(p, mask, x) _mm256_maskstore_epi32((int *)(void *)(p), (mask), (x))
#include "kernels/x86/whole_product_avx2_tmpl.h"

#define UINT uint64_t
#define NAME(x) x##_u64
#define LANES 4
#define ROWS 2
#define ONE(x) _mm256_set1_epi64x((long long)(x))
#define ADD(x, y) _mm256_add_epi64((x), (y))
#define LOAD(p, mask) _mm256_maskload_epi64((const long long *)(const void *)(p), (mask))
#define STORE(p, mask, x) _mm256_maskstore_epi64((long long *)(void *)(p), (mask), (x))
#include "kernels/x86/whole_product_avx2_tmpl.h"

const struct ox_whole_products ox_whole_products_avx2 = {product_u32, product_u64};
