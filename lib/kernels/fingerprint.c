#include "kernels/fingerprint.h"

#include <string.h>

static uint64_t sum_prints(size_t n, const void *floats)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)floats + i * sizeof bits, sizeof bits);
        sum += ox_fingerprint_one(bits);
    }
    return sum;
}

uint64_t ox_fingerprint(enum ox_cpu level, size_t n, const void *floats)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return ox_fingerprint_avx2(n, floats);
#endif
    (void)level;
    return sum_prints(n, floats);
}
