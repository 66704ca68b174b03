#include "kernels/folds.h"

const struct ox_folds *ox_folds(enum ox_cpu level)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return &ox_folds_avx2;
#endif
    (void)level;
    return NULL;
}
