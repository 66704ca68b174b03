/* Convolution over pixels whose channels are adjacent (NHWC), in fp32. 1-D is height 1; 3-D comes as this (ops/fused/fused_volume.h). */
#ifndef OX_KERNELS_CONVOLVE_H
#define OX_KERNELS_CONVOLVE_H

#include "kernels/dense.h"

enum ox_conv_way {
    OX_CONV_POINTWISE, /* 1x1, stride 1, no padding: a product over all pixels */
    OX_CONV_INDIRECT,  /* any, also groups: pointers to pixels */
    OX_CONV_PADDED, /* not many channels (first layers, also from planar input; groups): padded lines, kernel rows as runs */
    OX_CONV_DEPTHWISE, /* groups == in_channels, of which out_channels is a multiple */
    OX_CONV_TURNED,    /* groups of 2, 4 or 8 channels, as many out as in */
    OX_CONV_ABREAST,   /* few output channels: neighbouring outputs are columns of one product */
    OX_CONV_JOINED, /* transposed, few channels, kernel a multiple of the stride, dilation 1: all phases at once */
    OX_CONV_JOINED_ABREAST, /* and neighbouring pixels too */
    OX_CONV_SPREAD,         /* transposed, depthwise or groups of few channels */
    OX_CONV_COLUMNS, /* transposed or of stride 1, few output channels: all taps of a pixel at once */
    OX_CONV_WINOGRAD_LINE, /* F(4,3): several taps one way and one the other, stride 1, one group */
    OX_CONV_WINOGRAD_LINE_LATE, /* the same with weights that are transformed as they are used */
    OX_CONV_WINOGRAD2,          /* F(2x2,3x3): 3x3 and larger ones in pieces, stride 1, one group */
    OX_CONV_WINOGRAD4,          /* F(4x4,3x3) */
    OX_CONV_WINOGRAD2_LATE,     /* the same with weights that are transformed as they are used: */
    OX_CONV_WINOGRAD4_LATE,     /* they take no more memory than those of OX_CONV_INDIRECT */
    OX_CONV_WINOGRAD_STRIDED,   /* tiles of 4x4: 3x3, stride 2, dilation 1, one group */
    OX_CONV_WINOGRAD_STRIDED_LATE
};

/* Height first in every pair. Every size is checked by the caller: the output fits what the formulas of Conv say. */
struct ox_conv {
    size_t batch, groups;
    size_t in_channels, out_channels; /* of all groups */
    size_t kernel[2], stride[2], dilation[2];
    size_t pad
        [2]; /* before the first row and column; what is missing after the last follows from `out` */
    size_t in[2], out[2];
    size_t in_pixel,
        out_pixel; /* floats from pixel to pixel: at least the channels; more reads or writes a slice */
    size_t in_batch,
        out_batch; /* floats from image to image; 0: in[0] * in[1] * in_pixel, and out so */
    const float *
        stored; /* what ox_conv_reads_stored() takes: the weights as ox_conv_pack() would; NULL: packed */
    const struct ox_made *made; /* pixels instead of the input, where ox_conv_makes_rows(); NULL */
    bool
        planar; /* the input is NCHW (OX_CONV_PADDED of one group only); in_pixel is then ignored */
    bool
        transposed; /* ConvTranspose: out = (in - 1) * stride + dilation * (kernel - 1) + 1 - pads; OX_CONV_INDIRECT, OX_CONV_JOINED..., OX_CONV_SPREAD, OX_CONV_COLUMNS */
};

/* Floats (bytes, where elements are such) from image to image. */
static inline size_t ox_conv_in_batch(const struct ox_conv *c)
{
    const size_t pixel = c->planar ? c->in_channels : c->in_pixel;
    return c->in_batch ? c->in_batch : c->in[0] * c->in[1] * pixel;
}

static inline size_t ox_conv_out_batch(const struct ox_conv *c)
{
    return c->out_batch ? c->out_batch : c->out[0] * c->out[1] * c->out_pixel;
}

/* Lines of the input that a line of the output reaches over. */
static inline size_t ox_conv_height(const struct ox_conv *c)
{
    return (c->kernel[0] - 1) * c->dilation[0] + 1;
}

/* What OX_CONV_PADDED takes: the most rows of a kernel, lines that these span, and taps that are no run. */
enum { OX_CONV_NARROW_ROWS = 48, OX_CONV_NARROW_LINES = 64, OX_CONV_NARROW_TAPS = 64 };

/* Whether a kernel has few enough rows for OX_CONV_PADDED and OX_CONV_ABREAST, and they span few enough lines: input may be planar. */
static inline bool ox_conv_lines_fit(const struct ox_conv *c)
{
    return c->kernel[0] <= OX_CONV_NARROW_ROWS && ox_conv_height(c) <= OX_CONV_NARROW_LINES;
}

enum { OX_CONV_MAY_WINOGRAD2 = 1, OX_CONV_MAY_WINOGRAD4 = 2, OX_CONV_PACKED_FOR_ONE_RUN = 4 };

/* The fastest way for this shape; Winograd only when `may` allows: F(2,3)'s mean error is that of the direct sum, F(4,3)'s
 * some 3 times as much, at stride 2 and of lines (allowed with F(4,3)) twice; for one run only where transforming the weights pays within
 * it. Input that is planar gets OX_CONV_PADDED. */
enum ox_conv_way ox_conv_choose(const struct ox_compute *t, const struct ox_conv *c, unsigned may);
/* Floats that packed weights take; SIZE_MAX when that overflows. */
size_t ox_conv_packed(const struct ox_compute *t, enum ox_conv_way way, const struct ox_conv *c);
/* From OIHW: [out_channels][in_channels / groups][kernel[0]][kernel[1]]; transposed: [in_channels][out_channels / groups]... . */
void ox_conv_pack(const struct ox_compute *t, struct ox_env *env, enum ox_conv_way way,
                  const struct ox_conv *c, const void *weights, enum ox_weight_type type,
                  float *out);
/* Whether weights that are used once need not be packed before: each is read once then, and by few outputs. They are told in c->stored,
 * of which ox_conv_work() must know. The same bits. */
bool ox_conv_reads_stored(const struct ox_compute *t, enum ox_conv_way way,
                          const struct ox_conv *c);
/* Whether c->made may be set: pixels are made as they are read, each once. */
bool ox_conv_makes_rows(const struct ox_compute *t, enum ox_conv_way way, const struct ox_conv *c);
/* Whether the output may be made where a residual lies that is added before the activation: each element of it is read once, before
 * its sum goes there. */
bool ox_conv_adds_in_place(const struct ox_compute *t, enum ox_conv_way way,
                           const struct ox_conv *c);
/* Floats of work that ox_conv_run() needs; SIZE_MAX when that overflows. */
size_t ox_conv_work(const struct ox_compute *t, const struct ox_env *env, enum ox_conv_way way,
                    const struct ox_conv *c);
/* end.col_bias is the bias a channel; end.residual_ld is from pixel to pixel of the residual, whose images follow one another
 * without gaps (out[0] * out[1] * residual_ld). end.row_bias is not used. The same bits for any number of threads. */
void ox_conv_run(const struct ox_compute *t, struct ox_env *env, enum ox_conv_way way,
                 const struct ox_conv *c, const float *packed, const float *in, float *out,
                 const struct ox_epilogue *end, float *work);

#endif
