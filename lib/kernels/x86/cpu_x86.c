#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/cpu.h"

struct leaf {
    unsigned a, b, c, d;
};

static struct leaf ask(unsigned leaf, unsigned part)
{
    struct leaf out;
    __cpuid_count(leaf, part, out.a, out.b, out.c, out.d);
    return out;
}

/* The register states that the system saves (XCR0). */
static unsigned saved_states(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Linux gives tile data to those who ask (ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). */
static bool tiles_allowed(void)
{
#ifdef SYS_arch_prctl
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
#else
    return false;
#endif
}

static bool has(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}

enum { AVX512VBMI = 1 << 1 /* of leaf 7, c */, AVX_VNNI = 1 << 4 /* of its part 1, a */ };

static enum ox_cpu highest(struct leaf one, struct leaf seven, bool avxvnni)
{
    enum {
        FMA = 1 << 12,
        OSXSAVE = 1 << 27,
        AVX = 1 << 28,
        F16C = 1 << 29,
        AVX2 = 1 << 5,
        AVX512F = 1 << 16,
        AVX512DQ = 1 << 17,
        AVX512BW = 1 << 30,
        AVX512VNNI = 1 << 11,
        AMX_BF16 = 1 << 22,
        AMX_TILE = 1 << 24,
        AMX_INT8 = 1 << 25,
        YMM = 0x6,
        ZMM = 0xe6,
        TILES = 0x60000
    };
    const unsigned avx512vl = 1u << 31;
#ifdef OX_EMULATE_AVX512 /* scripts/test-avx512 */
    return OX_CPU_VNNI;
#endif
    if (!has(one.c, FMA | OSXSAVE | AVX | F16C) || !has(seven.b, AVX2) || !has(saved_states(), YMM))
        return OX_CPU_C;
    if (!has(seven.b, AVX512F | AVX512DQ | AVX512BW | avx512vl) || !has(saved_states(), ZMM))
        return avxvnni ? OX_CPU_AVXVNNI : OX_CPU_AVX2;
    if (!has(seven.c, AVX512VNNI))
        return OX_CPU_AVX512;
    if (!has(seven.c, AVX512VBMI) || !has(seven.d, AMX_BF16 | AMX_TILE | AMX_INT8) ||
        !has(saved_states(), TILES) || !tiles_allowed())
        return OX_CPU_VNNI;
    return OX_CPU_AMX;
}

struct ox_cpu_facts ox_cpu_ask(void)
{
    unsigned maker; /* the first word of its name */
    const unsigned last = __get_cpuid_max(0, &maker);
    const struct leaf none = {0, 0, 0, 0};
    const struct leaf seven = last >= 7 ? ask(7, 0) : none;
    const bool avxvnni = seven.a >= 1 && has(ask(7, 1).a, AVX_VNNI);
    const enum ox_cpu level = highest(last >= 1 ? ask(1, 0) : none, seven, avxvnni);
    const bool amd = maker == signature_AMD_ebx;
    return (struct ox_cpu_facts){.level = level,
                                 .avxvnni = avxvnni && level >= OX_CPU_AVXVNNI,
                                 .vbmi = has(seven.c, AVX512VBMI),
                                 .amd = amd,
                                 /* AMD's have AVX-VNNI since the same generation. */
                                 .wide = level >= OX_CPU_AVX512 && (!amd || avxvnni)};
}
