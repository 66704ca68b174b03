#include <cpuid.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/cpu.h"

struct leaf {
    unsigned a, b, c, d;
};

static struct leaf ask(unsigned leaf, unsigned sub)
{
    struct leaf out = {0, 0, 0, 0};
    if (__get_cpuid_max(leaf & 0x80000000u, NULL) >= leaf)
        __cpuid_count(leaf, sub, out.a, out.b, out.c, out.d);
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

bool ox_cpu_has_vbmi(void)
{
    enum { AVX512VBMI = 1 << 1 };
    return has(ask(7, 0).c, AVX512VBMI);
}

bool ox_cpu_is_amd(void)
{
    enum { NO = 1, YES };
    static atomic_int known; /* asking takes long in a virtual machine, and every table asks */
    if (!atomic_load(&known)) {
        const struct leaf zero = ask(0, 0);
        const bool amd = zero.b == signature_AMD_ebx && zero.c == signature_AMD_ecx &&
                         zero.d == signature_AMD_edx;
        atomic_store(&known, amd ? YES : NO);
    }
    return atomic_load(&known) == YES;
}

enum ox_cpu ox_cpu_detect(void)
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
    struct leaf one = ask(1, 0);
    struct leaf seven = ask(7, 0);
    if (!has(one.c, FMA | OSXSAVE | AVX | F16C) || !has(seven.b, AVX2) || !has(saved_states(), YMM))
        return OX_CPU_C;
    if (!has(seven.b, AVX512F | AVX512DQ | AVX512BW | avx512vl) || !has(saved_states(), ZMM))
        return OX_CPU_AVX2;
    if (!has(seven.c, AVX512VNNI))
        return OX_CPU_AVX512;
    if (!ox_cpu_has_vbmi() || !has(seven.d, AMX_BF16 | AMX_TILE | AMX_INT8) ||
        !has(saved_states(), TILES) || !tiles_allowed())
        return OX_CPU_VNNI;
    return OX_CPU_AMX;
}
