#include "kernels/whole_products.h"

#define UINT uint32_t
#define NAME(x) x##_u32
#include "kernels/whole_product_tmpl.h"
#undef UINT
#undef NAME

#define UINT uint64_t
#define NAME(x) x##_u64
#include "kernels/whole_product_tmpl.h"

const struct ox_whole_products *ox_whole_products(enum ox_cpu level)
{
    static const struct ox_whole_products plain = {product_u32, product_u64};
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return &ox_whole_products_avx2;
#endif
    (void)level;
    return &plain;
}
