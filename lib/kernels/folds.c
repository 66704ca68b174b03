#include "kernels/folds_tmpl.h"

static const struct ox_folds folds = OX_FOLD_TABLE;

const struct ox_folds *ox_folds(enum ox_cpu level)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return &ox_folds_avx2;
#endif
    (void)level;
    return &folds;
}
