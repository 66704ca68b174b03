#include "kernels/affine.h"

#include "kernels/affine_tmpl.h"

void ox_affine(enum ox_cpu level, const struct ox_affine *a)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX512) {
        ox_affine_avx512(a);
        return;
    }
    if (level >= OX_CPU_AVX2) {
        ox_affine_avx2(a);
        return;
    }
#endif
    (void)level;
    affine(a);
}
