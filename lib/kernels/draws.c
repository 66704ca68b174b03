#include "kernels/draws.h"

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

static void uniform(uint64_t seed, uint64_t block, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t words[4];
        philox(seed, block + i, words);
        out[2 * i] = ox_unit(words[0], words[1]);
        out[2 * i + 1] = ox_unit(words[2], words[3]);
    }
}

#include "kernels/draws_tmpl.h"

static const struct ox_draws draws = DRAWS;

const struct ox_draws *ox_draws(enum ox_cpu level)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX512)
        return &ox_draws_avx512;
    if (level >= OX_CPU_AVX2)
        return &ox_draws_avx2;
#endif
    (void)level;
    return &draws;
}
