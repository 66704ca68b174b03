#include "ops/random_source.h"

#include "kernels/draws.h"

/* ---- Philox4x32-10 ------------------------------------------------------------------------------------------------ */

static double draw(void (*of)(uint64_t seed, uint64_t block, size_t n, double *out), uint64_t seed,
                   uint64_t i)
{
    double both[2];
    of(seed, i / 2, 1, both);
    return both[i % 2];
}

double ox_random_uniform(uint64_t seed, uint64_t i)
{
    return draw(ox_draws(OX_CPU_C)->uniform, seed, i);
}

double ox_random_normal(uint64_t seed, uint64_t i)
{
    return draw(ox_draws(OX_CPU_C)->normal, seed, i);
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

static inline uint32_t twisted(uint32_t word, uint32_t next, uint32_t far)
{
    const uint32_t y = (word & 0x80000000u) | (next & 0x7FFFFFFFu);
    return far ^ y >> 1 ^ ((0u - (y & 1)) & 0x9908B0DFu);
}

static void refill(struct ox_mt19937 *mt)
{
    enum { REST = MT_N - MT_M };
    uint32_t *s = mt->state;
    for (unsigned i = 0; i < REST; i++)
        s[i] = twisted(s[i], s[i + 1], s[i + MT_M]);
    for (unsigned i = REST; i < MT_N - 1; i++)
        s[i] = twisted(s[i], s[i + 1], s[i - REST]);
    s[MT_N - 1] = twisted(s[MT_N - 1], s[0], s[MT_M - 1]);
    mt->at = 0;
}

static inline uint32_t tempered(uint32_t y)
{
    y ^= y >> 11;
    y ^= y << 7 & 0x9D2C5680u;
    y ^= y << 15 & 0xEFC60000u;
    return y ^ y >> 18;
}

void ox_mt19937_uniforms(struct ox_mt19937 *mt, size_t n, double *out)
{
    for (size_t i = 0, some; i < n; i += some) {
        if (mt->at == MT_N)
            refill(mt);
        const uint32_t *word = mt->state + mt->at;
        some = (MT_N - mt->at) / 2 < n - i ? (MT_N - mt->at) / 2 : n - i;
        for (size_t k = 0; k < some; k++)
            out[i + k] = ox_unit(tempered(word[2 * k]), tempered(word[2 * k + 1]));
        mt->at += 2 * (unsigned)some;
    }
}
