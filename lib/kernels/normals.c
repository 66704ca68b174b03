#include "kernels/normals.h"

#include "kernels/normals_tmpl.h"

static void draw(enum ox_cpu level, uint64_t state, size_t n, double *out)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX512)
        ox_normals_avx512(state, n, out);
    else if (level >= OX_CPU_AVX2)
        ox_normals_avx2(state, n, out);
    else
#endif
        normals(state, n, out);
    (void)level;
}

void ox_normals(enum ox_cpu level, uint64_t *state, size_t n, double *out)
{
    draw(level, *state, n, out);
    *state += 2 * n * OX_SPLIT_STEP;
}
