#include <sys/auxv.h>

#include "kernels/cpu.h"

enum ox_cpu ox_cpu_detect(void)
{
    enum { DOT_PRODUCT = 1 << 20 }; /* HWCAP_ASIMDDP; Advanced SIMD itself every 64-bit ARM has */
    return getauxval(AT_HWCAP) & DOT_PRODUCT ? OX_CPU_DOTPROD : OX_CPU_NEON;
}
