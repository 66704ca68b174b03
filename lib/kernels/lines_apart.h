/* Lines of floats that are added to lines of an image, of which they reach every element, every second one and so on. */
#ifndef OX_KERNELS_LINES_APART_H
#define OX_KERNELS_LINES_APART_H

#include <stddef.h>

#include "kernels/cpu.h"

/* to[l * to_line + i * step] += from[l * from_line + i] for l < lines and i < n; the one is no part of the other. */
void ox_add_lines_apart(enum ox_cpu level, size_t lines, size_t n, const float *from,
                        size_t from_line, float *to, size_t to_line, size_t step);

/* For lines_apart.c: the same of steps 1 and 2. */
void ox_add_adjacent_avx2(size_t lines, size_t n, const float *from, size_t from_line, float *to,
                          size_t to_line);
void ox_add_every_second_avx2(size_t lines, size_t n, const float *from, size_t from_line,
                              float *to, size_t to_line);

#endif
