/* Convolution over any number of axes, for Conv and its quantized relatives. */
#ifndef OX_OPS_CONV_H
#define OX_OPS_CONV_H

#include "ops/product.h"
#include "ops/window.h"

struct ox_plain_conv {
    struct ox_window w;
    size_t images, groups;
    size_t in_group, out_group; /* channels of a group */
    enum ox_dtype dtype;        /* float32 or float64, of all */
    const void *x;              /* [images, groups * in_group, in...] */
    const void *weights;        /* [groups * out_group, in_group, kernel...] */
    const void *bias;           /* [groups * out_group] or NULL */
    void *y;                    /* [images, groups * out_group, out...] */
    const void *packed;         /* the weights of all groups, in panels: for internal use */
    size_t packed_group;        /* elements of it a group */
    struct ox_task_state state;
};

/* Shapes and attributes of a convolution of x by weights; bias may be NULL. dims: of the result, rank of them. */
enum ox_status ox_plain_conv_plan(struct ox_run *r, const struct ox_tensor *x,
                                  const struct ox_tensor *weights, const struct ox_tensor *bias,
                                  struct ox_plain_conv *conv, int64_t *dims, struct ox_error *err);
/* With the data pointers and dtype set. */
enum ox_status ox_plain_conv_run(struct ox_run *r, struct ox_plain_conv *conv,
                                 struct ox_error *err);

struct ox_epilogue;
/* In float32, with the data pointers set, of outputs that are none empty; the activation is that of `end` (NULL: none). OX_UNSUPPORTED:
 * padded data would be too large. */
enum ox_status ox_conv_planes(struct ox_run *r, const struct ox_plain_conv *cv,
                              const struct ox_epilogue *end, struct ox_error *err);

#endif
