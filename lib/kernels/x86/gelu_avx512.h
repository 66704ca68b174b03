/* Gelu and its form by tanh from tables of polynomials: 32 coefficients fit into two registers, where one instruction picks sixteen of
 * them, in a third of the time that the functions of vec_math.h take. 8 ulp, and 2^-27 of |x| more. */
#ifndef OX_KERNELS_X86_GELU_AVX512_H
#define OX_KERNELS_X86_GELU_AVX512_H

#include "kernels/vec_math.h"
#include "kernels/x86/gelu_pieces.inc"

static inline VF gelu_picked(const float *of, VF piece)
{
    return _mm512_permutex2var_ps(v_load(of), v_bits(piece), v_load(of + GELU_PIECES / 2));
}

/* The sum with 1.5 2^23 leaves the piece's number at the right end. */
static inline VF gelu_by_pieces(VF x, const float of[GELU_DEGREE + 1][GELU_PIECES])
{
    const float width = GELU_REACH / GELU_PIECES;
    const VF shift = v_set1(12582912);
    const VF a = v_min(v_set1(GELU_REACH - width), vm_abs(x));
    const VF piece = v_fma(a, v_set1(1 / width), shift);
    const VF r = v_fnma(v_sub(piece, shift), v_set1(width), a);
    VF q = gelu_picked(of[GELU_DEGREE], piece);
#pragma GCC unroll 8
    for (unsigned i = GELU_DEGREE; i-- > 0;)
        q = v_fma(q, r, gelu_picked(of[i], piece));
    const VF beyond = v_max(a, v_xor(x, v_set1(-0.0f))); /* for -infinity times 0 */
    return v_fnma(beyond, q, v_max(v_zero(), x));
}

static inline VF gelu_erf_512(VF x)
{
    return gelu_by_pieces(x, gelu_erf);
}

static inline VF gelu_tanh_512(VF x)
{
    return gelu_by_pieces(x, gelu_tanh);
}

#define ROWS_GELU gelu_erf_512
#define ROWS_GELU_TANH gelu_tanh_512

#endif
