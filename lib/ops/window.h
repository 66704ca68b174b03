/* Windows that slide over spatial axes: what convolutions and pools have in common. */
#ifndef OX_OPS_WINDOW_H
#define OX_OPS_WINDOW_H

#include "ops/op.h"

struct ox_infer;
struct ox_expr;

enum { OX_WINDOW_AXES = 62 };

struct ox_window {
    unsigned n; /* spatial axes */
    int64_t in[OX_WINDOW_AXES], out[OX_WINDOW_AXES];
    int64_t kernel[OX_WINDOW_AXES], stride[OX_WINDOW_AXES], dilation[OX_WINDOW_AXES];
    int64_t before[OX_WINDOW_AXES], after[OX_WINDOW_AXES]; /* padding */
    size_t n_in, n_out, taps;                              /* products of in, out, kernel */
};

/* Reads kernel_shape, strides, dilations, pads and auto_pad and finds the output's size. x has rank 2 + n. `kernel`: the
 * weights' spatial dims, which kernel_shape must equal; NULL: kernel_shape is needed. OX_INPUT for all that does not fit. */
enum ox_status ox_window_init(struct ox_run *r, const struct ox_tensor *x, const int64_t *kernel,
                              bool ceil_mode, struct ox_window *w, struct ox_error *err);
/* The part of it that is the same for operators that find sizes otherwise: all but before, after, out. in comes from x. */
enum ox_status ox_window_read(struct ox_run *r, const struct ox_tensor *x, const int64_t *kernel,
                              struct ox_window *w, struct ox_error *err);
/* All of it for a transposed convolution, output_padding and output_shape too. */
enum ox_status ox_window_transposed(struct ox_run *r, const struct ox_tensor *x,
                                    const int64_t *kernel, struct ox_window *w,
                                    struct ox_error *err);
/* A list attribute of n (or 2n) integers, each at least `least`; `out` is left as it is when there is none. */
enum ox_status ox_window_list(struct ox_run *r, const char *name, size_t n, int64_t least,
                              int64_t *out, bool *given, struct ox_error *err);

/* auto_pad as one of: */
enum ox_auto_pad { OX_PAD_NOTSET, OX_PAD_VALID, OX_PAD_SAME_UPPER, OX_PAD_SAME_LOWER, OX_PAD_BAD };
enum ox_auto_pad ox_auto_pad(const char *text);

/* table[t * pitch + j]: the place that tap t reaches from grid point first + j (row-major over `grid`), as an offset in a
 * row-major plane of `plane` sizes: on each axis point * stride - before + tap * dilation; -1 outside of the plane. */
void ox_window_table(const struct ox_window *w, const int64_t *grid, const int64_t *plane,
                     size_t first, size_t count, size_t pitch, ptrdiff_t *table);

/* The taps [*lo, *hi) on axis d that reach inside the input from output position o. */
static inline void ox_window_range(const struct ox_window *w, unsigned d, int64_t o, int64_t *lo,
                                   int64_t *hi)
{
    int64_t start = o * w->stride[d] - w->before[d], step = w->dilation[d];
    *lo = start >= 0 ? 0 : (-start + step - 1) / step;
    *hi = start >= w->in[d] ? 0 : (w->in[d] - start + step - 1) / step;
    if (*hi > w->kernel[d])
        *hi = w->kernel[d];
    if (*lo > *hi)
        *lo = *hi;
}

/* The outputs [*from, *to) of axis d that a tap reaches inside the input from. */
static inline void ox_window_outputs(const struct ox_window *w, unsigned d, int64_t tap,
                                     int64_t *from, int64_t *to)
{
    const int64_t first = tap * w->dilation[d] - w->before[d], stride = w->stride[d];
    const int64_t left = w->in[d] - first;
    *from = first >= 0 ? 0 : (-first + stride - 1) / stride;
    *to = left <= 0 ? 0 : (left + stride - 1) / stride;
    *to = *to < w->out[d] ? *to : w->out[d];
}

/* Shape rule: out[0..n) from in[0..n) and kernel[0..n) (NULL elements unknown) by the node's attributes; kernel NULL: by
 * kernel_shape. False after a conflict or when out of memory. */
bool ox_infer_window(struct ox_infer *c, unsigned n, const struct ox_expr *const *in,
                     const struct ox_expr *const *kernel, bool ceil_mode,
                     const struct ox_expr **out);
/* Its parts. A list attribute of n values, each at least `least`; *out is NULL when there is none. False after a conflict. */
bool ox_infer_window_list(struct ox_infer *c, const char *name, size_t n, int64_t least,
                          const int64_t **out);
/* A kernel (NULL: unknown) of no elements on spatial axis d is a conflict. */
void ox_infer_some_taps(struct ox_infer *c, const struct ox_expr *kernel, unsigned d);
/* Shape of output 0 of a convolution; ix and iw: inputs that are data and weights. */
void ox_infer_conv(struct ox_infer *c, size_t ix, size_t iw);
/* ... of a transposed one whose data and weights are inputs 0 and 1. */
void ox_infer_conv_transpose(struct ox_infer *c);
/* Input 2, if it is there, is one number for each of the output's channels (NULL: not known). */
void ox_infer_conv_bias(struct ox_infer *c, const struct ox_expr *channels);
/* Whole rule of a pool: N and C of input 0, then windows. Output 0, and 1 when wanted, get the shape. */
void ox_infer_pool(struct ox_infer *c);

#endif
