#include "kernels/code_rows.h"

#include "kernels/code_rows_tmpl.h"

const struct ox_codes *ox_codes(enum ox_cpu level, enum ox_dtype dtype)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return ox_codes_avx2(dtype);
#endif
    (void)level;
    return codes_find(dtype);
}
