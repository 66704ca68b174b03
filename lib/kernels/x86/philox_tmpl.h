/* uniform() of Philox4x32-10 in VI, LANES blocks at a time, a word of each in the lower half of its lane; what stands above it is not read.
 * V(name) and VD(name) are the intrinsics of integers and doubles, store() takes the numbers of the blocks, first and second. */

/* Word over 2^27 or 2^53 and what `bits` are of, whose last bit counts as much. */
static inline VD_TYPE scaled(VI word, int shift, uint64_t bits)
{
    const VI upper = V(slli_epi64)(word, 32);
    return V_DOUBLES(V_OR(V(srli_epi64)(upper, (unsigned)(32 + shift)), V_ALL(bits)));
}

static inline VD_TYPE unit(VI high, VI low)
{
    const VD_TYPE h = scaled(high, 5, 0x4180000000000000u); /* 2^25 */
    const VD_TYPE l = scaled(low, 6, 0x3FE0000000000000u);  /* 1/2 */
    return V(add_pd)(V(sub_pd)(h, V(set1_pd)(0x1p25 + 0.5)), l);
}

static inline void draw(uint64_t key, VI counter, VD_TYPE *first, VD_TYPE *second)
{
    VI c0 = counter, c1 = V(srli_epi64)(counter, 32), c2 = V_ALL(0), c3 = c2;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const VI left = V(mul_epu32)(c0, V_ALL(0xD2511F53u));
        const VI right = V(mul_epu32)(c2, V_ALL(0xCD9E8D57u));
        c0 = V_XOR(V_XOR(V(srli_epi64)(right, 32), c1), V_ALL(k0));
        c1 = right;
        c2 = V_XOR(V_XOR(V(srli_epi64)(left, 32), c3), V_ALL(k1));
        c3 = left;
    }
    *first = unit(c0, c1);
    *second = unit(c2, c3);
}

static void uniform(uint64_t seed, uint64_t block, size_t n, double *out)
{
    VD_TYPE first[2], second[2];
    for (size_t done = 0; done < n; done += 2 * LANES) {
        double rest[4 * LANES];
        double *const to = n - done < 2 * LANES ? rest : out + 2 * done;
        /* two at once: a round waits for the one before it */
        for (int k = 0; k < 2; k++)
            draw(seed, V(add_epi64)(V_ALL(block + done + (size_t)k * LANES), V_COUNT), first + k,
                 second + k);
        for (int k = 0; k < 2; k++)
            store(to + 2 * k * LANES, first[k], second[k]);
        if (to == rest)
            memcpy(out + 2 * done, rest, 2 * (n - done) * sizeof *rest);
    }
}
