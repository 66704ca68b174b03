/* The shapes of a product of stacks of matrices (numpy's matmul), for MatMul and its quantized relatives. */
#ifndef OX_OPS_MATMUL_H
#define OX_OPS_MATMUL_H

#include "ops/op.h"

struct ox_infer;
struct ox_expr;

struct ox_matmul {
    size_t m, n, k, batches;
    unsigned rank; /* of the result */
    int64_t *dims; /* of the result */
    unsigned n_batch;
    size_t *a_at, *b_at, *c_at; /* element offsets a batch */
    bool fused;                 /* of ox_product */
};

/* Shape of output 0, the product of factors of those shapes, none of which is a scalar. */
void ox_infer_product(struct ox_infer *c, unsigned ra, const struct ox_expr *const *a, unsigned rb,
                      const struct ox_expr *const *b);
/* ... from those of inputs ia and ib. */
void ox_infer_matmul(struct ox_infer *c, size_t ia, size_t ib);
/* OX_INPUT when the shapes do not fit. Memory is the run's scratch. */
enum ox_status ox_matmul_plan(struct ox_run *r, const struct ox_tensor *a,
                              const struct ox_tensor *b, struct ox_matmul *mm,
                              struct ox_error *err);
/* Contiguous data of that type (see ox_product). May join batches in *mm. */
enum ox_status ox_matmul_run(struct ox_run *r, struct ox_matmul *mm, enum ox_dtype dtype,
                             const void *a, const void *b, void *c, struct ox_error *err);

#endif
