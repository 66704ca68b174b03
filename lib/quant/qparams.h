/* Scales and zero points, and tensors quantized by them. The arithmetic is bit for bit that of onnxruntime.quantization
 * 1.31. */
#ifndef OX_QUANT_QPARAMS_H
#define OX_QUANT_QPARAMS_H

#include "tensor/tensor.h"

/* Whether tensors can be quantized to the type: 4-, 8- and 16-bit integers. */
bool ox_qtype_known(enum ox_dtype type);

/* The values that a range of reals is spread over; `reduce` (one bit less) wins over `symmetric`. */
void ox_qtype_range(enum ox_dtype type, bool symmetric, bool reduce, int32_t *qmin, int32_t *qmax);
/* All values of the type: what quantizing clips to. */
void ox_qtype_limits(enum ox_dtype type, int32_t *least, int32_t *most);

struct ox_qparam {
    float scale; /* rounded to the type of the real tensor */
    int32_t zero;
};

/* The scale nearest to a value in the type of the real tensor. */
float ox_qparam_scale(double value, enum ox_dtype real);
/* Of values from rmin to rmax (0 is always included) of element type `real`, float32 or float16. No range gives scale 1, zero
 * point 0; with like_ort so does a range that is too small for a scale that is a normal number, which of float16 is that of most
 * weights below 0.008. Else the scale is a subnormal one, or the least. */
struct ox_qparam ox_qparam_of_range(float rmin, float rmax, enum ox_dtype type, enum ox_dtype real,
                                    bool symmetric, bool reduce, bool like_ort);

/* The parameters of a tensor: one pair, or a pair for each index of `axis`. */
struct ox_qparams {
    enum ox_dtype type; /* of the quantized elements */
    enum ox_dtype real; /* of the scales: float32 or float16 */
    int axis;           /* -1: one pair for all */
    size_t n;
    struct ox_qparam *pairs; /* n of them */
};

/* How a tensor is seen when one axis is set apart: outer x n x inner. axis -1: n is 1. */
struct ox_qview {
    size_t outer, n, inner;
};
struct ox_qview ox_qview_of(const struct ox_tensor *tensor, int axis);

/* Least and greatest element of each index of the axis into rmin and rmax, ox_qview_of(tensor, axis).n of each; 0 for no
 * elements. The tensor is float32. false: there is a NaN. */
bool ox_qparams_extremes(const struct ox_tensor *tensor, int axis, float *rmin, float *rmax);

/* Fills *out for a constant tensor (float32; `real` is what it was in the model) by its extremes. pairs are the arena's.
 * OX_INPUT: a NaN or an infinity. */
enum ox_status ox_qparams_of_tensor(struct ox_qparams *out, struct ox_arena *arena,
                                    const struct ox_tensor *tensor, int axis, enum ox_dtype type,
                                    enum ox_dtype real, bool symmetric, bool reduce, bool like_ort,
                                    struct ox_error *err);

/* n elements by one pair: round half to even, clipped to the type. `out` is int8, uint8, int16 or uint16 (4-bit types: a byte
 * an element). */
void ox_quantize_elements(const float *in, size_t n, struct ox_qparam pair, enum ox_dtype type,
                          void *out);
void ox_dequantize_elements(const void *in, enum ox_dtype type, size_t n, struct ox_qparam pair,
                            float *out);

/* The tensor (float32) by its parameters. */
enum ox_status ox_quantize_tensor(struct ox_tensor **out, struct ox_budget *budget,
                                  const struct ox_tensor *tensor, const struct ox_qparams *params,
                                  struct ox_error *err);
/* And back to float32. */
enum ox_status ox_dequantize_tensor(struct ox_tensor **out, struct ox_budget *budget,
                                    const struct ox_tensor *tensor, const struct ox_qparams *params,
                                    struct ox_error *err);

/* A bias as int32: scale[i] = input_scale * weights' scale[i] * beta in float32, values rounded in double precision and
 * clipped. pairs->n scales serve an axis 0 of as many elements, or all when n is 1. */
enum ox_status ox_quantize_bias(struct ox_tensor **out, struct ox_budget *budget,
                                const struct ox_tensor *bias, const struct ox_qparams *params,
                                bool *clipped, struct ox_error *err);

/* Makes the scales of int8 or int16 weights larger where the bias would leave int32: true when one changed. */
bool ox_qparams_repair(struct ox_qparams *weights, float input_scale, const struct ox_tensor *bias);

/* Scale and zero point as tensors: rank 0, or 1 when there is an axis. */
enum ox_status ox_qparams_tensors(const struct ox_qparams *params, struct ox_budget *budget,
                                  struct ox_tensor **scale, struct ox_tensor **zero,
                                  struct ox_error *err);

#endif
