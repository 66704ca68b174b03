/* Recurrent weights of 8 bits, and products of floats with them that are quantized first: what DynamicQuantizeLSTM runs on. */
#ifndef OX_OPS_RNN_BYTES_H
#define OX_OPS_RNN_BYTES_H

#include "kernels/integer.h"
#include "ops/op.h"

/* A matrix [k, n], one direction's W or R. */
struct ox_rnn_bytes {
    const struct ox_integer *table;
    size_t n, k;
    const void *packed;
    const int32_t *sums; /* a column each, of its weights as packed */
    const int32_t *zero; /* as packed; NULL: all are 0 */
    const float *scale;  /* a column each */
};

/* Whether inputs i (weights [directions, k, n]), i_scale and the zero point after it are such as the kernels take. */
bool ox_rnn_bytes_can(const struct ox_run *r, size_t i, size_t i_scale);
/* Bytes of a block that holds one direction; SIZE_MAX when they overflow. */
size_t ox_rnn_bytes_size(const struct ox_tensor *w);
/* Packs direction `which` into the block (64-byte aligned), which *out then points into. */
void ox_rnn_bytes_pack(const struct ox_run *r, size_t i, size_t i_scale, size_t which, void *block,
                       struct ox_rnn_bytes *out);

/* Bytes that a product of `rows` rows wants, 64-byte aligned. */
size_t ox_rnn_bytes_work(const struct ox_rnn_bytes *w, const struct ox_env *env, size_t rows);
/* y[rows, n] = x[rows, k], quantized as DynamicQuantizeLinear does it, times the weights, plus bias (n; NULL: 0). env: NULL for one
 * thread. */
void ox_rnn_bytes_multiply(const struct ox_rnn_bytes *w, struct ox_env *env, size_t rows,
                           const float *x, const float *bias, float *y, void *work);

#endif
