/* Loops without branches, of which the compiler makes vectors; every fma() is one instruction. Coefficients: fits of our own through
 * Chebyshev's nodes, made with 300 bits; none is further off than a tenth of the last place. */
#include "kernels/doubles.h"

#include <math.h>
#include <string.h>

#include "kernels/inline.h"

/* A double whose last bit is 1: what is added to it is rounded to an integer, which its last bits then hold. */
#define WHOLE 0x1.8p52
static const double log2_e = 0x1.71547652b82fep+0;
static const double ln_2 = 0x1.62e42fee00000p-1, ln_2_rest = 0x1.a39ef35793c76p-33;

INLINE int64_t bits_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE double of_bits(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The integer that `shifted`, a sum with WHOLE, holds. */
INLINE int64_t whole_of(double shifted)
{
    return (int64_t)((uint64_t)bits_of(shifted) - (uint64_t)bits_of(WHOLE));
}

/* 2^n for n of [-1022, 1023]. */
INLINE double power_of_2(int64_t n)
{
    return of_bits((int64_t)((uint64_t)(n + 1023) << 52));
}

INLINE double within(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* e^r - 1 for |r| <= ln 2 / 2. */
INLINE double expm1_near_0(double r)
{
    double q = 0x1.1f93c3f571f8bp-29;
    q = fma(q, r, 0x1.af4e92f218a2dp-26);
    q = fma(q, r, 0x1.27e4c9a8b2254p-22);
    q = fma(q, r, 0x1.71de01dfe8c72p-19);
    q = fma(q, r, 0x1.a01a01ad7b50bp-16);
    q = fma(q, r, 0x1.a01a01ac01d3bp-13);
    q = fma(q, r, 0x1.6c16c16c152dfp-10);
    q = fma(q, r, 0x1.11111111100acp-7);
    q = fma(q, r, 0x1.5555555555557p-5);
    q = fma(q, r, 0x1.5555555555557p-3);
    q = fma(q, r, 0.5);
    return fma(r * r, q, r);
}

/* 2^n in two steps, so that only the last of them leaves what a double holds. */
INLINE double exp_of(double x)
{
    const double c = within(x, -746, 710);
    const double shifted = fma(c, log2_e, WHOLE), n = shifted - WHOLE;
    const double r = fma(-n, ln_2_rest, fma(-n, ln_2, c));
    const int64_t whole = whole_of(shifted), half = whole_of(fma(n, 0.5, WHOLE));
    return (1 + expm1_near_0(r)) * power_of_2(half) * power_of_2(whole - half);
}

/* e^x - 1 for |x| <= 700. */
INLINE double expm1_of(double x)
{
    const double shifted = fma(x, log2_e, WHOLE), n = shifted - WHOLE;
    const double r = fma(-n, ln_2_rest, fma(-n, ln_2, x)), power = power_of_2(whole_of(shifted));
    return fma(expm1_near_0(r), power, power - 1);
}

/* e / (e + 2) with e = e^2|x| - 1; 1 to the last bit from 20 on. */
INLINE double tanh_of(double x)
{
    const double e = expm1_of(2 * fabs(within(x, -20, 20)));
    return copysign(e / (e + 2), x);
}

INLINE double sigmoid_of(double x)
{
    const double e = exp_of(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

/* 1/2 (1 + tanh(u)) is the sigmoid of 2 u, u = sqrt(2 / pi) (x + 0.044715 x^3). */
INLINE double gelu_tanh_of(double x)
{
    const double one = 0x1.9884533d43651p+0, cubed = 0x1.2444f2a4d8b4bp-4;
    return x * sigmoid_of(x * fma(x * x, cubed, one));
}

/* -1 to the last bit below -40. */
INLINE double elu_of(double x, double a)
{
    return x < 0 ? a * expm1_of(within(x, -40, 0)) : x;
}

/* tanh log(1 + e) = n / (n + 2) with n = e (e + 2); 1 to the last bit from 20 on. */
INLINE double mish_of(double x)
{
    const double e = exp_of(x > 20 ? 20 : x), n = e * (e + 2);
    return x * (n / (n + 2));
}

/* log(2^k (1 + f)) with 1 + f in [sqrt(1/2), sqrt(2)], and of s = f / (2 + f) log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R(s^2))). */
INLINE double log_near_1(double f, double k)
{
    const double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    double q = 0x1.2b584aae7ca60p-3;
    q = fma(q, z, 0x1.39fe6065427bep-3);
    q = fma(q, z, 0x1.7462b4ab2efa4p-3);
    q = fma(q, z, 0x1.c71c62e5800a0p-3);
    q = fma(q, z, 0x1.2492492df148dp-2);
    q = fma(q, z, 0x1.99999999952e2p-2);
    q = fma(q, z, 0x1.5555555555558p-1);
    return fma(k, ln_2, f - (half - fma(s, fma(q, z, half), k * ln_2_rest)));
}

INLINE double log_of(double x)
{
    const double least = 0x1p-1022, root_half = 0x1.6a09e667f3bcdp-1;
    const double up = x < least ? x * 0x1p54 : x;
    const uint64_t bits = (uint64_t)bits_of(up), one = (uint64_t)bits_of(1);
    const uint64_t moved = bits - (uint64_t)bits_of(root_half) + one;
    const uint64_t exponent = moved >> 52;
    const double above = of_bits((int64_t)(exponent | (uint64_t)bits_of(0x1p52)));
    const double k = above - (0x1p52 + 1023) - (x < least ? 54 : 0);
    const double f = of_bits((int64_t)(bits - (exponent << 52) + one)) - 1;
    double y = log_near_1(f, k);
    y = x == INFINITY ? x : y;
    y = x == 0 ? -INFINITY : y;
    return x >= 0 ? y : x < 0 ? NAN : x;
}

/* The sine (turn 0) or cosine (turn 1) for |x| <= 2^20: n quarter turns and |r| <= pi / 4. */
INLINE double wave_of(double x, int64_t turn)
{
    const double shifted = fma(x, 0x1.45f306dc9c883p-1, WHOLE), n = shifted - WHOLE;
    double r = fma(-n, 0x1.921fb54442d18p+0, x);
    r = fma(-n, 0x1.1a62633145c06p-54, r);
    r = fma(-n, 0x1.c1cd129024e08p-107, r);
    const double z = r * r;
    double s = -0x1.ab17d404de552p-41, c = 0x1.ab785b009f5f4p-45;
    s = fma(s, z, 0x1.61217f0b800d4p-33);
    c = fma(c, z, -0x1.9394ba0cd6c33p-37);
    s = fma(s, z, -0x1.ae645412c560cp-26);
    c = fma(c, z, 0x1.1eed8deb97a95p-29);
    s = fma(s, z, 0x1.71de3a546095bp-19);
    c = fma(c, z, -0x1.27e4fb7712d65p-22);
    s = fma(s, z, -0x1.a01a01a019938p-13);
    c = fma(c, z, 0x1.a01a01a019d0ap-16);
    s = fma(s, z, 0x1.1111111111110p-7);
    c = fma(c, z, -0x1.6c16c16c16c16p-10);
    s = fma(s, z, -0x1.5555555555555p-3);
    c = fma(c, z, 0x1.5555555555555p-5);
    const double sine = z == 0 ? r : fma(r * z, s, r); /* -0 stays */
    const double cosine = fma(z * z, c, fma(-0.5, z, 1));
    const int64_t quarter = whole_of(shifted) + turn;
    const double wave = (quarter & 1) ? cosine : sine;
    return of_bits(bits_of(wave) ^ (int64_t)((uint64_t)(quarter & 2) << 62));
}

#define FN clips
#define OP(x) within((x), a, b)
#include "kernels/double_row_tmpl.h"
#define FN exps
#define OP exp_of
#include "kernels/double_row_tmpl.h"
#define FN logs
#define OP log_of
#include "kernels/double_row_tmpl.h"
#define FN tanhs
#define OP tanh_of
#include "kernels/double_row_tmpl.h"
#define FN sigmoids
#define OP sigmoid_of
#include "kernels/double_row_tmpl.h"
#define FN swishes
#define OP(x) (x) * sigmoid_of(a *(x))
#include "kernels/double_row_tmpl.h"
#define FN gelus_tanh
#define OP gelu_tanh_of
#include "kernels/double_row_tmpl.h"
#define FN mishes
#define OP mish_of
#include "kernels/double_row_tmpl.h"
#define FN elus
#define OP(x) elu_of((x), a)
#include "kernels/double_row_tmpl.h"
#define FN selus
#define OP(x) b *elu_of((x), a)
#include "kernels/double_row_tmpl.h"
#define FN floors
#define OP floor
#include "kernels/double_row_tmpl.h"
#define FN ceils
#define OP ceil
#include "kernels/double_row_tmpl.h"
#define FN rounds
#define OP rint
#include "kernels/double_row_tmpl.h"

/* Of |x| <= 2^20 by vectors, a block at a time; of the others, where there are any, by the C library. */
INLINE void waves(size_t n, const double *x, double *y, int64_t turn, double (*far)(double))
{
    enum { BLOCK = 256 };
    double block[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t part = n - at < BLOCK ? n - at : BLOCK;
        int64_t n_far = 0;
        for (size_t i = 0; i < part; i++) {
            block[i] = wave_of(x[at + i], turn);
            n_far += !(fabs(x[at + i]) <= 0x1p20);
        }
        for (size_t i = 0; n_far && i < part; i++)
            if (!(fabs(x[at + i]) <= 0x1p20))
                block[i] = far(x[at + i]);
        memcpy(y + at, block, part * sizeof *block);
    }
}

/* log(1 + e) + max(x, 0) with e = e^-|x|. Two loops a block: one is a chain too long to run beside the next element's. */
static void softpluses(size_t n, const double *x, double *y, double a, double b)
{
    enum { BLOCK = 256 };
    double power[BLOCK];
    (void)a;
    (void)b;
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t part = n - at < BLOCK ? n - at : BLOCK;
        for (size_t i = 0; i < part; i++)
            power[i] = exp_of(-fabs(x[at + i]));
        for (size_t i = 0; i < part; i++) {
            const double e = power[i], up = x[at + i] < 0 ? 0 : x[at + i];
            const bool high = e > 0x1.a827999fcef32p-2; /* sqrt(2) - 1 */
            y[at + i] = log_near_1(high ? 0.5 * (e - 1) : e, high ? 1 : 0) + up;
        }
    }
}

static void sines(size_t n, const double *x, double *y, double a, double b)
{
    (void)a;
    (void)b;
    waves(n, x, y, 0, sin);
}

static void cosines(size_t n, const double *x, double *y, double a, double b)
{
    (void)a;
    (void)b;
    waves(n, x, y, 1, cos);
}

/* NaN stays. */
static void signs(size_t n, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++) {
        const double one = (x[i] > 0 ? 1.0 : 0.0) - (x[i] < 0 ? 1.0 : 0.0);
        y[i] = x[i] != x[i] ? x[i] : one;
    }
}

#include "kernels/invert_tmpl.h"

const struct ox_doubles ox_doubles_avx2 = {.unary = {[OX_UNARY_CEIL] = ceils,
                                                     [OX_UNARY_CLIP] = clips,
                                                     [OX_UNARY_COS] = cosines,
                                                     [OX_UNARY_ELU] = elus,
                                                     [OX_UNARY_EXP] = exps,
                                                     [OX_UNARY_FLOOR] = floors,
                                                     [OX_UNARY_GELU_TANH] = gelus_tanh,
                                                     [OX_UNARY_LOG] = logs,
                                                     [OX_UNARY_MISH] = mishes,
                                                     [OX_UNARY_ROUND] = rounds,
                                                     [OX_UNARY_SELU] = selus,
                                                     [OX_UNARY_SIGMOID] = sigmoids,
                                                     [OX_UNARY_SIN] = sines,
                                                     [OX_UNARY_SOFTPLUS] = softpluses,
                                                     [OX_UNARY_SWISH] = swishes,
                                                     [OX_UNARY_TANH] = tanhs},
                                           .sign = signs,
                                           .invert = invert};
