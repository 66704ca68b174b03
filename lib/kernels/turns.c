#include "kernels/turns.h"

#include "kernels/cpu.h"
#include "kernels/turns_tmpl.h"

const struct ox_turns *ox_turns(void)
{
    static const struct ox_turns plain = {halves, neighbours};
#if defined(__x86_64__)
    if (ox_cpu() >= OX_CPU_AVX512)
        return &ox_turns_avx512;
    if (ox_cpu() >= OX_CPU_AVX2)
        return &ox_turns_avx2;
#endif
    return &plain;
}
