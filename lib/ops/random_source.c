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
    return ox_unit(high, next_word(mt));
}
