#include "kernels/affine.h"

#include "kernels/affine_tmpl.h"

void ox_affine_avx512(const struct ox_affine *a)
{
    affine(a);
}
