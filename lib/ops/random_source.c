#include "ops/random_source.h"

#include <math.h>

#include "common/compiler.h"

/* ---- Philox4x32-10 ------------------------------------------------------------------------------------------------ */

static void philox(uint64_t key, uint64_t counter, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = 0, c3 = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t left = (uint64_t)c0 * 0xD2511F53u, right = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(right >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)right;
        c2 = (uint32_t)(left >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)left;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static double unit(uint32_t high, uint32_t low)
{
    return (double)(high >> 5) * 0x1p-27 + (double)(low >> 6) * 0x1p-53;
}

double ox_random_uniform(uint64_t seed, uint64_t i)
{
    uint32_t words[4];
    philox(seed, i / 2, words);
    return i % 2 ? unit(words[2], words[3]) : unit(words[0], words[1]);
}

/* Logarithm of (0, 1] and sine of a quarter turn's parts by series to below a double's rounding: libraries differ in the last
 * bit of theirs, these do not. */
static double log_of(double x)
{
    static const double odd[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752440) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (size_t k = 0; k < OX_COUNT(odd); k++)
        sum = sum * square + odd[k];
    return 2 * s * sum + exponent * 0.69314718055994530942;
}

/* sin(turn * pi / 2), turn in [0, 1]. */
static double quarter_sine(double turn)
{
    /* 1 / 23!, -1 / 21!, ... */
    static const double factors[] = {
        -3.8681701706306840377e-23, 1.9572941063391261231e-20,  -8.2206352466243297170e-18,
        2.8114572543455207632e-15,  -7.6471637318198164759e-13, 1.6059043836821614599e-10,
        -2.5052108385441718775e-8,  2.7557319223985890653e-6,   -1.9841269841269841270e-4,
        8.3333333333333333333e-3,   -1.6666666666666666667e-1,  1.0};
    double x = turn * 1.57079632679489661923, square = x * x, sum = 0;
    for (size_t k = 0; k < OX_COUNT(factors); k++)
        sum = sum * square + factors[k];
    return x * sum;
}

/* sin(2 pi u), u in [0, 1). */
static double full_sine(double u)
{
    double turn = u * 4;
    int quarter = (int)turn;
    double part = turn - quarter, sine = quarter_sine(quarter % 2 ? 1 - part : part);
    return quarter < 2 ? sine : -sine;
}

void ox_random_normals(uint64_t seed, uint64_t block, double out[2])
{
    uint32_t words[4];
    philox(seed, block, words);
    double radius = sqrt(-2 * log_of(1 - unit(words[0], words[1])));
    double angle = unit(words[2], words[3]);
    out[0] = radius * full_sine(angle < 0.75 ? angle + 0.25 : angle - 0.75); /* the cosine */
    out[1] = radius * full_sine(angle);
}

double ox_random_normal(uint64_t seed, uint64_t i)
{
    double both[2];
    ox_random_normals(seed, i / 2, both);
    return both[i % 2];
}

/* ---- MT19937 (Matsumoto and Nishimura, 1998) ---------------------------------------------------------------------- */

enum { MT_N = 624, MT_M = 397 };

static void seed_word(struct ox_mt19937 *mt, uint32_t seed)
{
    mt->state[0] = seed;
    for (uint32_t i = 1; i < MT_N; i++)
        mt->state[i] = 1812433253u * (mt->state[i - 1] ^ mt->state[i - 1] >> 30) + i;
    mt->at = MT_N;
}

static void seed_array(struct ox_mt19937 *mt, const uint32_t *key, unsigned n)
{
    unsigned i = 1, j = 0;
    seed_word(mt, 19650218u);
    uint32_t *s = mt->state;
    for (unsigned k = MT_N; k; k--) {
        s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1664525u) + key[j] + j;
        j = (j + 1) % n;
        if (++i == MT_N) {
            s[0] = s[MT_N - 1];
            i = 1;
        }
    }
    for (unsigned k = MT_N - 1; k; k--) {
        s[i] = (s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * 1566083941u) - i;
        if (++i == MT_N) {
            s[0] = s[MT_N - 1];
            i = 1;
        }
    }
    s[0] = 0x80000000u;
}

void ox_mt19937_init(struct ox_mt19937 *mt, uint64_t seed)
{
    const uint32_t halves[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    if (halves[1])
        seed_array(mt, halves, 2);
    else
        seed_word(mt, halves[0]);
}

static uint32_t next_word(struct ox_mt19937 *mt)
{
    uint32_t *s = mt->state;
    if (mt->at == MT_N) {
        for (unsigned i = 0; i < MT_N; i++) {
            uint32_t y = (s[i] & 0x80000000u) | (s[(i + 1) % MT_N] & 0x7FFFFFFFu);
            s[i] = s[(i + MT_M) % MT_N] ^ y >> 1 ^ (y & 1 ? 0x9908B0DFu : 0);
        }
        mt->at = 0;
    }
    uint32_t y = s[mt->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9D2C5680u;
    y ^= y << 15 & 0xEFC60000u;
    return y ^ y >> 18;
}

double ox_mt19937_uniform(struct ox_mt19937 *mt)
{
    uint32_t high = next_word(mt);
    return unit(high, next_word(mt));
}
