/* What the operators of com.microsoft share. */
#ifndef OX_OPS_CONTRIB_H
#define OX_OPS_CONTRIB_H

#include "ops/op.h"

struct ox_infer;

/* The node run as the standard's operator of that name and version: its inputs, outputs and attributes are the same. */
enum ox_status ox_run_standard(struct ox_run *r, const char *name, int64_t opset,
                               struct ox_error *err);
/* The same on other inputs (NULL: omitted), with all outputs and attributes of this node. */
enum ox_status ox_run_standard_on(struct ox_run *r, const char *name, int64_t opset,
                                  const struct ox_tensor *const *in, size_t n_in,
                                  struct ox_error *err);
/* Its fast form, OX_UNSUPPORTED where that is not for this node. */
enum ox_status ox_fast_standard_on(struct ox_run *r, const char *name, int64_t opset,
                                   const struct ox_tensor *const *in, size_t n_in,
                                   struct ox_error *err);
/* The standard's operator on other inputs (NULL: omitted), with this node's attributes. *out is the first output, new; the
 * caller releases it. */
enum ox_status ox_call_standard(struct ox_run *r, const char *name, int64_t opset,
                                const struct ox_tensor *const *in, size_t n_in,
                                struct ox_tensor **out, struct ox_error *err);
/* The shape rule of the standard's operator. */
void ox_infer_standard(struct ox_infer *c, const char *name, int64_t opset);

/* Functions of one number that fused operators end in. */
enum ox_fused {
    OX_FUSED_NONE,
    OX_FUSED_RELU,
    OX_FUSED_TANH,
    OX_FUSED_SIGMOID,
    OX_FUSED_LEAKY_RELU,   /* alpha */
    OX_FUSED_CLIP,         /* least, greatest */
    OX_FUSED_HARD_SIGMOID, /* alpha, beta */
    OX_FUSED_SOFTPLUS,
    OX_FUSED_GELU,
    OX_FUSED_FAST_GELU,
    OX_FUSED_QUICK_GELU /* alpha */
};
/* In place. */
void ox_fused_apply(enum ox_fused kind, const double parameters[2], double *values, size_t n);
/* By the name that an attribute gives; NULL and "" are OX_FUSED_NONE. */
enum ox_status ox_fused_of(const struct ox_run *r, const char *name, enum ox_fused *out,
                           struct ox_error *err);
/* A tensor of float32 or float64 that is still the kernel's own, in place. */
void ox_fused_apply_tensor(enum ox_fused kind, const double parameters[2], struct ox_tensor *t);

/* A new tensor in another order of axes, for kernels whose standard form has channels first; the caller releases it. perm has
 * in->rank elements. */
enum ox_status ox_permuted(struct ox_run *r, const struct ox_tensor *in, const unsigned *perm,
                           struct ox_tensor **out, struct ox_error *err);
/* perm that moves the last axis to the second place, or back. */
void ox_channels_perm(unsigned rank, bool to_first, unsigned *perm);

/* Output 1 of EmbedLayerNormalization, where it is wanted: how many places of each row the mask, input 7, keeps. */
enum ox_status ox_embed_mask_index(struct ox_run *r, size_t batch, size_t length,
                                   struct ox_error *err);

#endif
