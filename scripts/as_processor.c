/* Preloaded: CPUID tells of a lesser processor, named by AS_PROCESSOR (avx2, avxvnni or avx512). Linux lets a process ask that CPUID faults
 * (ARCH_SET_CPUID in arch_prctl(2)); the fault is answered with what the processor says, less the features above that level. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID = 0x1012, FEATURES = 7 };

/* What leaf 7 may not tell: its parts 0 and 1, registers a to d. */
static unsigned hidden[2][4];

static void hide(const char *level)
{
    enum {
        IFMA_B = 1 << 21, /* AVX-512 beyond what Skylake has */
        FURTHER_C = 1 << 1 | 1 << 6 | 1 << 11 | 1 << 12 | 1 << 14,
        FURTHER_D = 1 << 2 | 1 << 3 | 1 << 8 | 1 << 23,
        AMX_D = 1 << 22 | 1 << 24 | 1 << 25,
        AVX_VNNI_A = 1 << 4,
        FURTHER_A = 1 << 5 | 1 << 21
    };
    const unsigned avx512_b =
        1U << 16 | 1U << 17 | 1U << 26 | 1U << 27 | 1U << 28 | 1U << 30 | 1U << 31;
    const int keeps_avx512 = strcmp(level, "avx512") == 0;
    hidden[0][1] = IFMA_B | (keeps_avx512 ? 0 : avx512_b);
    hidden[0][2] = FURTHER_C;
    hidden[0][3] = FURTHER_D | AMX_D;
    hidden[1][0] = FURTHER_A | (strcmp(level, "avxvnni") == 0 ? 0 : AVX_VNNI_A);
    hidden[1][3] = ~0U;
}

/* Not syscall(): between two of these nothing may ask CPUID. */
static void let_cpuid(long may)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_arch_prctl), "D"((long)ARCH_SET_CPUID), "S"(may)
                     : "rcx", "r11", "memory");
}

static void answer(int signal_number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)r[REG_RIP];
    if (info->si_code != SI_KERNEL || at[0] != 0x0f || at[1] != 0xa2) {
        signal(signal_number, SIG_DFL); /* it faults again */
        return;
    }
    const unsigned leaf = (unsigned)r[REG_RAX], part = (unsigned)r[REG_RCX];
    unsigned told[4];
    let_cpuid(1);
    __cpuid_count(leaf, part, told[0], told[1], told[2], told[3]);
    let_cpuid(0);
    for (unsigned i = 0; leaf == FEATURES && part < 2 && i < 4; i++)
        told[i] &= ~hidden[part][i];
    r[REG_RAX] = told[0];
    r[REG_RBX] = told[1];
    r[REG_RCX] = told[2];
    r[REG_RDX] = told[3];
    r[REG_RIP] += 2;
}

__attribute__((constructor)) static void begin(void)
{
    const char *level = getenv("AS_PROCESSOR");
    struct sigaction action = {.sa_sigaction = answer,
                               .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    hide(level ? level : "avx2");
    sigaction(SIGSEGV, &action, NULL);
    let_cpuid(0);
}
