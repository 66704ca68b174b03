/* Products of matrices for operators: every element type that the standard multiplies, any strides, batches, threads. */
#ifndef OX_OPS_PRODUCT_H
#define OX_OPS_PRODUCT_H

#include "ops/op.h"

/* For each batch q: c[i * ldc + j] = (add ? c : 0) + sum over p of a[i * a_row + p * a_col] * b[p * b_row + j * b_col], each
 * of them moved by its offset of the batch. Strides and offsets in elements. Integers wrap around. */
struct ox_product {
    enum ox_dtype dtype; /* float32, float64, (u)int32 or (u)int64; of all three */
    size_t m, n, k;
    const void *a, *b;
    size_t a_row, a_col, b_row, b_col;
    void *c;
    size_t ldc;
    bool add;
    bool fused; /* of float64: products need no rounding of their own (-O2) */
    size_t batches;
    const size_t *a_at, *b_at, *c_at; /* `batches` of them each; NULL: all 0 */
};

enum ox_status ox_product_run(struct ox_run *r, const struct ox_product *p, struct ox_error *err);

/* Collects what went wrong in tasks of ox_parallel(), which cannot fail: true once one ran out of memory. */
struct ox_task_state {
    struct ox_budget *budget;
    _Atomic bool no_memory;
};
/* Zeroed memory of the task's own; NULL (noted in the state) when there is none. Give it back with ox_task_free(). */
void *ox_task_alloc(struct ox_task_state *state, size_t count, size_t size);
void ox_task_free(struct ox_task_state *state, void *memory, size_t count, size_t size);

#endif
