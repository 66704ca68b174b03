/* A product of two operands of Einsum as batches of one matrix product, read and written where they lie. */
#ifndef OX_OPS_EINSUM_AXES_H
#define OX_OPS_EINSUM_AXES_H

#include <stdbool.h>
#include <stddef.h>

struct ox_dense;

/* A label: strides in elements of the left side, the right side and the result; 0 where it is missing. */
struct ox_einsum_axis {
    size_t size, a, b, c;
};

enum { OX_EINSUM_AXES = 16 };

/* Sets sizes, strides and, from its a, b and c, which side is which. False, *d as it was, where labels do not lie so that it would
 * be a good one: sides are better brought into order then. Orders axes anew. */
bool ox_einsum_product(struct ox_einsum_axis *axes, unsigned n, struct ox_dense *d);

#endif
