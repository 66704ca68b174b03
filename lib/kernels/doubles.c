#include "kernels/doubles.h"

ox_doubles *ox_doubles_unary(enum ox_cpu level, enum ox_unary function)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return ox_doubles_avx2(function);
#endif
    (void)level;
    (void)function;
    return NULL;
}
