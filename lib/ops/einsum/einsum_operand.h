/* What Einsum multiplies: operands over labels, gathered into order or summed, and contracted two by two. */
#ifndef OX_OPS_EINSUM_OPERAND_H
#define OX_OPS_EINSUM_OPERAND_H

#include "ops/einsum/einsum_equation.h"
#include "ops/op.h"

/* An operand: sizes and strides of the labels that it has; those that it lacks have stride 0 and present false. */
struct ox_einsum_operand {
    const void *data;
    bool present[OX_EINSUM_LABELS];
    size_t stride[OX_EINSUM_LABELS];
};

struct ox_einsum {
    size_t size[OX_EINSUM_LABELS];
    unsigned last[OX_EINSUM_LABELS]; /* one more than the last term that has the label */
    bool wanted[OX_EINSUM_LABELS];   /* in the output */
    enum ox_dtype work;              /* float32, float64, uint32 or uint64: integers wrap */
    bool fast;                       /* products by the faster kernels */
};

/* The operand as a contiguous array over `labels`, summed over its others. *result is `out`, or without one its own data where
 * it lies so already, or memory of the run. OX_LIMIT: it is larger than any memory; OX_NO_MEMORY. */
enum ox_status ox_einsum_gather(struct ox_run *r, const struct ox_einsum *e,
                                const struct ox_einsum_operand *op, const unsigned char *labels,
                                unsigned n, void *out, const void **result, struct ox_error *err);

/* a becomes the product of a and b, over the labels that the output or a term from `next` on needs; in `into` where that is the
 * last one and its labels stand as `out` has them. OX_LIMIT: it is larger than any memory; OX_NO_MEMORY. */
enum ox_status ox_einsum_contract(struct ox_run *r, const struct ox_einsum *e,
                                  struct ox_einsum_operand *a, const struct ox_einsum_operand *b,
                                  unsigned next, const struct ox_einsum_term *out, void *into,
                                  struct ox_error *err);

#endif
