/* Shapes of convolutions for each way that one can go. */
#ifndef OX_TESTS_RANDOM_CONV_H
#define OX_TESTS_RANDOM_CONV_H

#include "kernels/convolve.h"
#include "tests/guarded.h"

enum { N_WAYS = OX_CONV_WINOGRAD_STRIDED_LATE + 1 };

/* Winograd's with a stride of 2. */
bool is_strided(enum ox_conv_way way);
/* Winograd's along one axis. */
bool is_line(enum ox_conv_way way);
bool is_joined(enum ox_conv_way way);

/* Of each way; the sanitizers look at what is read and written, for which fewer do. */
#ifdef OX_SANITIZE
enum { SHAPES = 30 };
#else
enum { SHAPES = 120 };
#endif

/* One that may go `way`; pixels may be wider than their channels. */
struct ox_conv random_conv(struct dice *d, enum ox_conv_way way);

#endif
