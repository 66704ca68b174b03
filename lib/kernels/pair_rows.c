#include "kernels/pair_rows.h"

#include "kernels/pair_rows_tmpl.h"

const struct ox_pairs *ox_pairs(enum ox_cpu level)
{
    static const struct ox_pairs plain = {OX_PAIR_COMPARISONS,
                                          .value[OX_PAIR_DIV][OX_INT32] = divide_i32};
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return &ox_pairs_avx2;
#endif
    (void)level;
    return &plain;
}
