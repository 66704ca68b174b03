/* normal() over uniform(), in loops without branches, so that compilers make vectors of them, and DRAWS, which lists both; stamped once an
 * instruction set. Logarithm and sine by series to below a double's rounding: libraries differ in the last bit of theirs. */
#include <math.h>
#include <string.h>

/* x in (0, 1]: of m = x 2^-e by s = (m - 1) / (m + 1), log m = 2 (s + s^3/3 + ...). */
static inline double log_of(double x)
{
    const uint64_t root = 0x3FE6A09E667F3BCDu;   /* sqrt(1/2): m lies between it and sqrt(2) */
    const uint64_t around = 0x4338000000000000u; /* 3 * 2^51, whose last bit is 1 */
    const uint64_t one = UINT64_C(1) << 52;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t biased = (bits - root + 1023 * one) >> 52; /* of the exponent */
    const uint64_t m_bits = bits - biased * one + 1023 * one, e_bits = around + biased;
    double m, e;
    memcpy(&m, &m_bits, sizeof m);
    memcpy(&e, &e_bits, sizeof e);
    e -= 0x3p51 + 1023;
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 1.0 / 23;
#pragma GCC unroll 11
    for (int k = 21; k > 0; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2 * s * sum + e * 0.69314718055994530942;
}

/* sin(2 pi u), u in [0, 1): of a quarter turn's part. */
static inline double full_sine(double u)
{
    /* -1 / 23!, 1 / 21!, ... */
    static const double factors[] = {
        -3.8681701706306840377e-23, 1.9572941063391261231e-20,  -8.2206352466243297170e-18,
        2.8114572543455207632e-15,  -7.6471637318198164759e-13, 1.6059043836821614599e-10,
        -2.5052108385441718775e-8,  2.7557319223985890653e-6,   -1.9841269841269841270e-4,
        8.3333333333333333333e-3,   -1.6666666666666666667e-1,  1.0};
    const double turn = u * 4, half = turn < 2 ? 0 : 2, quarter = turn - half < 1 ? 0 : 1;
    const double part = turn - half - quarter;
    const double x = (quarter > 0 ? 1 - part : part) * 1.57079632679489661923, square = x * x;
    double sum = factors[0];
#pragma GCC unroll 11
    for (size_t k = 1; k < sizeof factors / sizeof *factors; k++)
        sum = sum * square + factors[k];
    return half > 0 ? -(x * sum) : x * sum;
}

static void normal(uint64_t seed, uint64_t block, size_t n, double *out)
{
    uniform(seed, block, n, out);
    for (size_t i = 0; i < n; i++) {
        const double radius = sqrt(-2 * log_of(1 - out[2 * i])), angle = out[2 * i + 1];
        out[2 * i] = radius * full_sine(angle < 0.75 ? angle + 0.25 : angle - 0.75);
        out[2 * i + 1] = radius * full_sine(angle);
    }
}

#define DRAWS                                                                                      \
    {                                                                                              \
        uniform, normal                                                                            \
    }
