#include <sys/auxv.h>

#include "kernels/cpu.h"

struct ox_cpu_facts ox_cpu_ask(void)
{
    enum { DOT_PRODUCT = 1 << 20 }; /* HWCAP_ASIMDDP; Advanced SIMD itself every 64-bit ARM has */
    const bool dot_product = getauxval(AT_HWCAP) & DOT_PRODUCT;
    return (struct ox_cpu_facts){.level = dot_product ? OX_CPU_DOTPROD : OX_CPU_NEON};
}
