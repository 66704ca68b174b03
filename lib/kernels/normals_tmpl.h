/* normals(): a loop without branches, so that compilers make vectors of it; stamped once an instruction set. */
#include <math.h>
#include <string.h>

#include "kernels/normals.h"

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A draw's upper 53 bits over 2^53: its halves stand in the last bits of 2^84 and 2^52. */
static inline double uniform(uint64_t drawn)
{
    const uint64_t bits = drawn >> 11;
    const double high = double_of(0x4530000000000000u | bits >> 32) - 0x1p84;
    const double low = double_of(0x4330000000000000u | (bits & UINT32_MAX)) - 0x1p52;
    return (high + low) * 0x1p-53;
}

/* log x, 0 < x <= 1, to 1e-15: of m = x 2^-e by s = (m - 1) / (m + 1), log m = 2 (s + s^3/3 + ...). libm's differ between
 * processors. */
static inline double log_of(double x)
{
    const uint64_t root = 0x3FE6A09E667F3BCDu;  /* sqrt(1/2): m lies between it and sqrt(2) */
    const uint64_t large = 0x4330000000000000u; /* 2^52, whose last bit is 1 */
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t biased = (bits - root + (UINT64_C(1023) << 52)) >> 52;
    const double e = double_of(large | biased) - (0x1p52 + 1023);
    const double m = double_of(bits - (biased << 52) + (UINT64_C(1023) << 52));
    const double s = (m - 1) / (m + 1), q = s * s;
    double sum = 1.0 / 19;
#pragma GCC unroll 8
    for (int k = 17; k > 1; k -= 2)
        sum = sum * q + 1.0 / k;
    return 2 * (sum * q * s + s) + e * 0.6931471805599453;
}

/* cos(2 pi v), 0 <= v < 1: sin(2 pi (|v - 1/2| - 1/4)) by its Taylor series. */
static inline double cos_of_turn(double v)
{
    const double t = 6.283185307179586 * (fabs(v - 0.5) - 0.25), q = t * t;
    double sum = 1;
#pragma GCC unroll 10
    for (int k = 20; k > 0; k -= 2)
        sum = 1 - q * (1.0 / (k * (k + 1))) * sum;
    return t * sum;
}

static void normals(uint64_t state, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = state + 2 * i * OX_SPLIT_STEP;
        const double x = 1 - uniform(ox_split_mix(at + OX_SPLIT_STEP));
        const double turn = uniform(ox_split_mix(at + 2 * OX_SPLIT_STEP));
        out[i] = sqrt(-2 * log_of(x)) * cos_of_turn(turn);
    }
}
