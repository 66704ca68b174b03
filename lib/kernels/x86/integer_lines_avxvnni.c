#include "kernels/integer.h"

#ifdef __AVXVNNI__
#define add_products(sum, x, w) _mm256_dpwssd_avx_epi32((sum), (x), (w))
#include "kernels/x86/integer_lines_avx2_tmpl.h"

void ox_integer_lines_avxvnni(struct ox_integer *t)
{
    take_lines(t);
}
#else
void ox_integer_lines_avxvnni(struct ox_integer *t)
{
    (void)t;
}
#endif
