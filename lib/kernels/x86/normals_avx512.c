#include "kernels/normals.h"

#include "kernels/normals_tmpl.h"

void ox_normals_avx512(uint64_t state, size_t n, double *out)
{
    normals(state, n, out);
}
