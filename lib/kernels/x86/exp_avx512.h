/* e^x of several vectors at once, for the steps of one wait for each other. Of 2^n the 16ths come from a table that fits into a register,
 * so that what is left needs three terms. */
#ifndef OX_KERNELS_X86_EXP_AVX512_H
#define OX_KERNELS_X86_EXP_AVX512_H

#include "kernels/vec_math.h"

enum { EXPS_ABREAST = 4 };

/* The bits of 2^(j / 16) less j << 19: the sum with (16 n + j) << 19 is those of 2^(n + j / 16). */
static const int32_t exp_powers[16] = {
    0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532, 0x3f75fed7, 0x3f75583f,
    0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c, 0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d};

#define EXP_EACH _Pragma("GCC unroll 4") for (unsigned i = 0; i < n; i++)

/* As vm_exp_low() of n <= EXPS_ABREAST vectors. Of r^4 / 24, which is left out, 0.83 r^2 is in the term before at its largest r. */
static inline __attribute__((always_inline)) void exps_512(__m512 *x, const unsigned n)
{
    const __m512 shift = v_set1(12582912), least = v_set1(-87);
    const __m512 table = v_load((const float *)(const void *)exp_powers);
    __m512 c[EXPS_ABREAST], t[EXPS_ABREAST], r[EXPS_ABREAST], q[EXPS_ABREAST];
    EXP_EACH c[i] = v_max(least, x[i]);
    EXP_EACH t[i] = v_fma(c[i], v_set1(23.0831207f), shift);
    EXP_EACH r[i] = v_fnma(v_sub(t[i], shift), v_set1(0.0433216989f), c[i]);
    EXP_EACH q[i] = v_fma(r[i], v_set1(1.0f / 6), v_set1(0.5000162f));
    EXP_EACH q[i] = v_fma(v_mul(r[i], r[i]), q[i], r[i]);
    EXP_EACH r[i] = _mm512_permutexvar_ps(v_bits(t[i]), table);
    EXP_EACH r[i] = v_of_bits(vi_add(v_bits(r[i]), vi_left(v_bits(t[i]), 19)));
    EXP_EACH x[i] = v_drop(v_lt(x[i], least), v_fma(q[i], r[i], r[i]));
}

#undef EXP_EACH
#define ROWS_EXPS exps_512

#endif
