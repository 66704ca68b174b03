/* A convolution's sums in double, which all ways are compared with. */
#ifndef OX_TESTS_DIRECT_CONV_H
#define OX_TESTS_DIRECT_CONV_H

#include "kernels/convolve.h"
#include "tests/guarded.h"

struct sides {
    struct guarded in, out, weights, packed, work, bias, residual;
};

/* The sum in double of one element before its end; the sum of the terms' sizes is added to *size. */
double direct(const struct ox_conv *c, const struct sides *s, size_t image, size_t o, size_t y,
              size_t x, double *size);
/* Fails the test where an element of s->out is off by more than slack x 2^-24 of its terms' sizes. */
void compare_direct(const struct ox_conv *c, const struct sides *s, const struct ox_epilogue *end,
                    double slack, enum ox_conv_way way);

/* Any of what an epilogue may do; makes s->bias and s->residual. */
struct ox_epilogue random_end(struct dice *d, const struct ox_conv *c, struct sides *s);
void free_sides(struct sides *s);

#endif
