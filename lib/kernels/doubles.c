#include "kernels/doubles.h"

#include "kernels/invert_tmpl.h"

const struct ox_doubles *ox_doubles(enum ox_cpu level)
{
    static const struct ox_doubles none = {.invert = invert};
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return &ox_doubles_avx2;
#endif
    (void)level;
    return &none;
}
