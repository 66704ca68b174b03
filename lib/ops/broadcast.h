/* Walking tensors of broadcast shapes in step. Adjacent dimensions that all operands pass in the same way are merged, so that
 * the innermost loop is contiguous: there each operand moves by one element or stays where it is. */
#ifndef OX_OPS_BROADCAST_H
#define OX_OPS_BROADCAST_H

#include "ops/op.h"

enum { OX_BROADCAST_MAX = 4, OX_BROADCAST_RANK = 64 };

struct ox_broadcast {
    unsigned rank;                   /* of the result */
    int64_t dims[OX_BROADCAST_RANK]; /* of the result */
    size_t n;                        /* elements of the result */
    unsigned n_in;
    /* The loop nest, outermost first; the inner loop has `inner` elements and runs `rows` times. All 0 when n is 0. */
    unsigned depth;
    size_t rows, inner;
    size_t counts[OX_BROADCAST_RANK];
    size_t strides[OX_BROADCAST_MAX][OX_BROADCAST_RANK]; /* in elements; 0: repeated */
    size_t step[OX_BROADCAST_MAX];                       /* in the inner loop: 1 or 0 */
};

/* A stretch of the result: n elements at out, the operands' first elements and their steps (1 or 0 elements). */
struct ox_row {
    size_t n;
    const void *in[OX_BROADCAST_MAX];
    size_t step[OX_BROADCAST_MAX];
    void *out;
};

/* A kernel a type; NULL where there is none. arg is what the caller handed on (attributes). */
struct ox_kernels {
    void (*of[OX_N_DTYPES])(const struct ox_row *row, const void *arg);
};

/* numpy's rule for the shapes of n_in operands. OX_INPUT through ox_run_fail(): two that disagree; OX_LIMIT: rank. */
enum ox_status ox_broadcast_init(struct ox_broadcast *b, const struct ox_run *r, unsigned n_in,
                                 const struct ox_tensor *const *in, struct ox_error *err);
/* The same for shapes without tensors (views in another shape). */
enum ox_status ox_broadcast_dims(struct ox_broadcast *b, const struct ox_run *r, unsigned n_in,
                                 const unsigned *rank, const int64_t *const *dims,
                                 struct ox_error *err);
/* Operand 1 has to fit into operand 0 without changing its shape (unidirectional broadcasting); said of b by name. */
enum ox_status ox_broadcast_into_first(const struct ox_broadcast *b, const struct ox_run *r,
                                       const struct ox_tensor *first, struct ox_error *err);

/* Calls kernel on stretches that cover the result, on the environment's threads when there is much to do. in_size and
 * out_size are bytes an element; out may be one of the operands when that one is not repeated. */
void ox_broadcast_run(const struct ox_broadcast *b, struct ox_env *env, const void *const *in,
                      const size_t *in_size, void *out, size_t out_size,
                      void (*kernel)(const struct ox_row *row, const void *arg), const void *arg);

/* Elements that one task takes: work is cut by this alone. */
enum { OX_GRAIN = 8192 };

/* Calls task(arg, from, to) for stretches of [0, n) of `grain` each (the last one shorter), perhaps in parallel. */
void ox_ranges_run(struct ox_env *env, size_t n, size_t grain,
                   void (*task)(void *arg, size_t from, size_t to), void *arg);

/* ---- What elementwise operators share ---- */

/* Output 0 from all inputs broadcast, by the kernel of input 0's type; the result has out_dtype (OX_UNDEFINED: that of input
 * 0). OX_UNSUPPORTED when there is no kernel of that type. */
enum ox_status ox_run_elementwise(struct ox_run *r, const struct ox_kernels *kernels, unsigned n_in,
                                  enum ox_dtype out_dtype, const void *arg, struct ox_error *err);
/* The same for two inputs where opset 1 to 6 have the attributes `broadcast` and `axis`: operand 1 is aligned with operand
 * 0 at axis (without: with its end) and may not change its shape. With broadcast 0, where the shapes should be the same,
 * operand 1 may still be one that fits at the end. */
enum ox_status ox_run_elementwise_axis(struct ox_run *r, const struct ox_kernels *kernels,
                                       enum ox_dtype out_dtype, const void *arg,
                                       struct ox_error *err);

#endif
