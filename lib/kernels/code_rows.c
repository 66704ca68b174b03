#include "kernels/code_rows.h"

#include "kernels/code_rows_tmpl.h"

struct ox_codes ox_codes(enum ox_cpu level, enum ox_dtype dtype)
{
    const struct ox_codes *found = codes_find(dtype);
    if (!found)
        return (struct ox_codes){.dtype = dtype};
    struct ox_codes c = *found;
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        c = *ox_codes_avx2(dtype);
    if (level >= OX_CPU_AVX512)
        ox_codes_avx512(&c);
#else
    (void)level;
#endif
    return c;
}
