/* Reverse-mode differentiation of a part of a graph, for the operator Gradient. */
#ifndef OX_OPS_GRADIENT_H
#define OX_OPS_GRADIENT_H

#include "ops/op.h"

/* The values of the nodes between the independent tensors and y, and the derivatives of y by them so far. The first failure
 * stays: after it every function does nothing and returns NULL, so that rules need no test. */
struct ox_tape {
    struct ox_run *r; /* of the Gradient node */
    const struct ox_graph *graph;
    struct ox_tensor **values; /* by value id; NULL: not computed */
    struct ox_tensor **grads;  /* likewise */
    bool *active;              /* depends on an x */
    struct ox_tensor **owned;  /* results of ox_tape_op(), until ox_tape_clear() */
    size_t n_owned, cap_owned;
    enum ox_status status;
    struct ox_error *err;
};

/* The first output of an operator of the newest opset; lives until ox_tape_clear(). A NULL operand gives NULL. */
const struct ox_tensor *ox_tape_op(struct ox_tape *tape, const char *op_type, size_t n,
                                   const struct ox_tensor *const *in, struct ox_attr *attrs,
                                   size_t n_attrs);
/* One number of that type, as a scalar; a list of integers. */
const struct ox_tensor *ox_tape_scalar(struct ox_tape *tape, enum ox_dtype dtype, double value);
const struct ox_tensor *ox_tape_ints(struct ox_tape *tape, size_t n, const int64_t *values);
/* Takes over a reference. */
const struct ox_tensor *ox_tape_own(struct ox_tape *tape, struct ox_tensor *tensor);
void ox_tape_clear(struct ox_tape *tape);

const struct ox_tensor *ox_tape_in(const struct ox_tape *tape, const struct ox_node *node,
                                   size_t i);
/* Adds to the derivative by input i of the node, summed over what was broadcast. Nothing where it is not wanted. */
void ox_tape_add(struct ox_tape *tape, const struct ox_node *node, size_t i,
                 const struct ox_tensor *grad);

/* What a node hands back to its inputs when y's derivative by its output is `grad`. OX_UNSUPPORTED: no rule for it. */
enum ox_status ox_gradient_of(struct ox_tape *tape, const struct ox_node *node,
                              const struct ox_tensor *grad);

#endif
