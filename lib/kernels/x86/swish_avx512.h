/* x sigmoid(x) of several vectors at once, for the steps of one wait for each other. Without a division, which takes longer than all of
 * them: a reciprocal of fourteen bits is corrected once. Of 2^n the 32nds come from a table, so that what is left needs three terms.
 * 4 ulp, and for x < 0 |x| / 32 more. */
#ifndef OX_KERNELS_X86_SWISH_AVX512_H
#define OX_KERNELS_X86_SWISH_AVX512_H

#include "kernels/vec_math.h"

enum { SWISH_ABREAST = 4 };

/* The bits of 2^(j / 32) less j << 18: the sum with (32 n + j) << 18 is those of 2^(n + j / 32). */
static const int32_t swish_powers[32] = {
    0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f, 0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3, 0x3f78f4f0,
    0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043, 0x3f75fed7, 0x3f75a15b, 0x3f75583f, 0x3f7523f6,
    0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d, 0x3f75672a, 0x3f75b9be, 0x3f76248c, 0x3f76a81e,
    0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907, 0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3};

static inline __m512 swish_power(__m512 t)
{
    const __m512 low = v_load((const float *)(const void *)swish_powers);
    const __m512 high = v_load((const float *)(const void *)(swish_powers + 16));
    const __m512 picked = _mm512_permutex2var_ps(low, v_bits(t), high);
    return v_of_bits(vi_add(v_bits(picked), vi_left(v_bits(t), 18)));
}

#define SWISH_EACH _Pragma("GCC unroll 4") for (unsigned i = 0; i < n; i++)

/* As in vm_gated_near(); from x < -87 on the factor is 0, also of -infinity. */
static inline __attribute__((always_inline)) void swish_some(__m512 *x, const unsigned n)
{
    const __m512 shift = v_set1(12582912), one = v_set1(1);
    __m512 s[SWISH_ABREAST], t[SWISH_ABREAST], d[SWISH_ABREAST], r[SWISH_ABREAST];
    SWISH_EACH s[i] = v_within(x[i], v_set1(87));
    SWISH_EACH t[i] = v_fnma(s[i], v_set1(46.1662413f), shift);
    SWISH_EACH s[i] = v_fma(v_sub(t[i], shift), v_set1(0.0216608494f), s[i]);
    SWISH_EACH d[i] = v_fma(v_set1(-1.0f / 6), s[i], v_set1(0.5f));
    SWISH_EACH d[i] = v_fma(d[i], s[i], v_set1(-1));
    SWISH_EACH d[i] = v_fma(d[i], s[i], one);
    SWISH_EACH d[i] = v_fma(d[i], swish_power(t[i]), one);
    SWISH_EACH r[i] = _mm512_rcp14_ps(d[i]);
    SWISH_EACH d[i] = v_fnma(d[i], r[i], one);
    SWISH_EACH r[i] = v_keep(v_le(v_set1(-87), x[i]), v_fma(d[i], r[i], r[i]));
    SWISH_EACH x[i] = v_mul(x[i], r[i]);
}

static void swish_512(size_t size, const float *x, float *y)
{
    enum { n = SWISH_ABREAST, STEP = n * VW };
    __m512 v[n];
    size_t at = 0;
    for (; at + STEP <= size; at += STEP) {
        SWISH_EACH v[i] = v_load(x + at + i * VW);
        swish_some(v, n);
        SWISH_EACH v_store(y + at + i * VW, v[i]);
    }
    for (; at < size; at += VW) {
        const size_t m = size - at < VW ? size - at : VW;
        v[0] = v_load_n(x + at, m);
        swish_some(v, 1);
        v_store_n(y + at, v[0], m);
    }
}

#undef SWISH_EACH
#define ROWS_SWISH swish_512

#endif
