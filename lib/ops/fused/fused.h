/* What the operators of our own domain have in common: activations done while a result is at hand, and layouts.
 *
 * Attributes of them: `activation` names a standard operator of one input ("Relu"), `alpha` and `beta` are its parameters as in
 * enum ox_unary; `layout` has OX_IN_LAST where input 0 (and a residual) has its channels last, OX_OUT_LAST where the output. */
#ifndef OX_OPS_FUSED_H
#define OX_OPS_FUSED_H

#include "kernels/dense.h"
#include "kernels/rows.h"
#include "ops/op.h"

enum { OX_IN_LAST = 1, OX_OUT_LAST = 2 };

/* What stands behind an epilogue's row function. */
struct ox_fused_row {
    void (*unary)(size_t n, const float *x, float *y, float a, float b);
    float a, b;
};

/* Whether an operator of that name can be an activation. */
bool ox_fused_has(const char *op_type);
/* Sets the activation of `end` as the node's attributes have it; `row` must live as long as end. OX_INPUT: there is no such
 * activation. */
enum ox_status ox_fused_activation(const struct ox_run *r, struct ox_epilogue *end,
                                   struct ox_fused_row *row, struct ox_error *err);
/* ... from attributes of these names. */
enum ox_status ox_fused_activation_by(const struct ox_run *r, const char *by, const char *alpha,
                                      const char *beta, struct ox_epilogue *end,
                                      struct ox_fused_row *row, struct ox_error *err);

/* Whether input i, which the message calls `what`, is left out or n floats. OX_INPUT. */
enum ox_status ox_fused_check_list(const struct ox_run *r, size_t i, int64_t n, const char *what,
                                   struct ox_error *err);

/* Convolution weights [out, ...] (with groups: [in, out / groups, ...], those of a transposed one) times a factor for each
 * output channel: until the kernel returns. scale NULL: the weights themselves. NULL: out of memory. */
const float *ox_fused_scaled(struct ox_run *r, const struct ox_tensor *weights,
                             const struct ox_tensor *scale, size_t groups, struct ox_error *err);

/* Where the `own` channels of an output, whose channels are last, are a slice of a larger map's: the channels of that (`own` where they
 * are all), and where the slice begins. By the attributes join_channels and join_at. */
enum ox_status ox_fused_slice(const struct ox_run *r, int64_t own, int64_t *all, int64_t *at,
                              struct ox_error *err);
/* The output that the slice is of: in the memory of input `joined`, whose other channels it has, or new without one. */
enum ox_status ox_fused_whole(struct ox_run *r, size_t joined, enum ox_dtype dtype, unsigned rank,
                              const int64_t *dims, struct ox_tensor **y, struct ox_error *err);

/* MaxPool of our own domain: float32 or 8-bit integers of rank 4, channels last. */
enum ox_status ox_fused_max_pool(struct ox_run *r, struct ox_error *err);

/* Attributes of Attend that say how q, k and v lie (fused_attention.c). */
struct ox_attend_names {
    const char *rows_first, *heads, *first, *every;
};
extern const struct ox_attend_names ox_attend_names[3];

/* A tensor with x's shape as if its channels were second, without data: for reading sizes. */
enum ox_status ox_fused_first(struct ox_run *r, const struct ox_tensor *x, bool last,
                              struct ox_tensor **out, struct ox_error *err);

#endif
