#include "kernels/pair_rows.h"

#include "kernels/pair_rows_tmpl.h"

const struct ox_pairs *ox_pairs(enum ox_cpu level)
{
    static const struct ox_pairs plain = OX_PAIRS;
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return &ox_pairs_avx2;
#endif
    (void)level;
    return &plain;
}
