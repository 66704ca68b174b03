#include "kernels/distances.h"

#define V double
#define LANES 1
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define ONE(x) (x)
#define SUB(a, b) ((a) - (b))
#define FUSED(a, b, c) ((a) * (b) + (c))
#include "kernels/distances_tmpl.h"

const struct ox_distances *ox_distances(enum ox_cpu level)
{
    static const struct ox_distances plain = {squares};
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX512)
        return &ox_distances_avx512;
    if (level >= OX_CPU_AVX2)
        return &ox_distances_avx2;
#endif
    (void)level;
    return &plain;
}
