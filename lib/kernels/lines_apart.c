#include "kernels/lines_apart.h"

void ox_add_lines_apart(enum ox_cpu level, size_t lines, size_t n, const float *from,
                        size_t from_line, float *to, size_t to_line, size_t step)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2 && step <= 2) {
        (step == 1 ? ox_add_adjacent_avx2 : ox_add_every_second_avx2)(lines, n, from, from_line, to,
                                                                      to_line);
        return;
    }
#endif
    (void)level;
    for (size_t l = 0; l < lines; l++, from += from_line, to += to_line)
        for (size_t i = 0; i < n; i++)
            to[i * step] += from[i];
}
