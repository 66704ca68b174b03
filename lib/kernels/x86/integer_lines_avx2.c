#define add_products(sum, x, w) _mm256_add_epi32((sum), _mm256_madd_epi16((x), (w)))
#include "kernels/x86/integer_lines_avx2_tmpl.h"

void ox_integer_lines_avx2(struct ox_integer *t)
{
    take_lines(t);
}
