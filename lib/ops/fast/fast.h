/* Faster forms of standard operators in float32, for the `fast` field of their rows. What one of them does not do it declines
 * with OX_UNSUPPORTED, before it made an output; the row's `run` serves then, and words the errors. */
#ifndef OX_OPS_FAST_H
#define OX_OPS_FAST_H

#include "kernels/rows.h"
#include "ops/op.h"

/* Work memory of a thread is a multiple of so many bytes: cores fetch lines in pairs, and ahead. */
enum { OX_SLOT_APART = 256 };

/* Elementwise functions of one input, by the operator's name. */
enum ox_status ox_fast_unary(struct ox_run *r, struct ox_error *err);
/* MatMul, and Gemm (7). */
enum ox_status ox_fast_matmul(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_gemm(struct ox_run *r, struct ox_error *err);
/* BiasGelu and FastGelu. */
enum ox_status ox_fast_bias_gelu(struct ox_run *r, struct ox_error *err);
/* Clip with bounds as inputs. */
enum ox_status ox_fast_clip(struct ox_run *r, struct ox_error *err);
/* Add, Sub, Mul, Div, PRelu, Max, Min and Sum of two inputs, broadcast. */
enum ox_status ox_fast_binary(struct ox_run *r, struct ox_error *err);
/* LayerNormalization after a sum: SkipLayerNormalization and SkipSimplifiedLayerNormalization. */
enum ox_status ox_fast_skip_norm(struct ox_run *r, struct ox_error *err);
/* Whether their skip has the shape of x, or lacks its first axis, or has one there. */
bool ox_skip_fits(const struct ox_tensor *x, const struct ox_tensor *skip);
enum ox_status ox_fast_embed_norm(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_embed_codes(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_gather_blocks(struct ox_run *r, struct ox_error *err);
/* Pow of 2 and 3. */
enum ox_status ox_fast_pow(struct ox_run *r, struct ox_error *err);
/* Softmax and LogSoftmax, along one axis (13) or of all that follow (1). */
enum ox_status ox_fast_softmax(struct ox_run *r, struct ox_error *err);
/* The same of doubles: x, which is not empty, as [outer, count, inner] along the middle. */
enum ox_status ox_fast_softmax_doubles(struct ox_run *r, size_t outer, size_t count, size_t inner,
                                       bool log, struct ox_error *err);
/* LogSoftmax along one axis into y of x's shape; x is float32 and not empty. */
void ox_fast_log_softmax(struct ox_run *r, const struct ox_tensor *x, unsigned axis, float *y);
/* LayerNormalization, RMSNormalization, SimplifiedLayerNormalization. */
enum ox_status ox_fast_layer_norm(struct ox_run *r, struct ox_error *err);
/* InstanceNormalization and GroupNormalization. */
enum ox_status ox_fast_group_norm(struct ox_run *r, struct ox_error *err);
/* MaxPool, of doubles and 8-bit integers too, with indices but of integers, and AveragePool, of one to three axes. */
enum ox_status ox_fast_max_pool(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_max_pool_bytes(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_max_pool_taps(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_global_max(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_average_pool(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_global_average(struct ox_run *r, struct ox_error *err);
/* Conv of any number of axes. */
enum ox_status ox_fast_conv(struct ox_run *r, struct ox_error *err);
/* By finite weights that vary. */
enum ox_status ox_fast_conv_transpose(struct ox_run *r, struct ox_error *err);
/* GridSample of up to three axes. */
enum ox_status ox_fast_grid_sample(struct ox_run *r, struct ox_error *err);
/* DeformConv of two axes. */
enum ox_status ox_fast_deform_conv(struct ox_run *r, struct ox_error *err);
/* CausalConvWithState of the standard. */
enum ox_status ox_fast_causal_conv(struct ox_run *r, struct ox_error *err);
/* QuantizeLinear and DequantizeLinear of integers of up to 32 bits. */
enum ox_status ox_fast_quantize(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_dequantize(struct ox_run *r, struct ox_error *err);
/* Resize (10) and Upsample (9) of the last axes. */
enum ox_status ox_fast_resize(struct ox_run *r, struct ox_error *err);
/* LSTM, GRU and RNN, batch after time; the weights of the input are packed by prepare(). */
enum ox_status ox_fast_rnn(struct ox_run *r, struct ox_error *err);
enum ox_status ox_prepare_rnn(struct ox_run *r, struct ox_error *err);
/* STFT of real signals in frames of an even length without large prime factors. */
enum ox_status ox_fast_stft(struct ox_run *r, struct ox_error *err);
/* Attention (23). */
enum ox_status ox_fast_attention(struct ox_run *r, struct ox_error *err);
/* MultiHeadAttention, DecoderMaskedMultiHeadAttention and Attention of com.microsoft. */
enum ox_status ox_fast_multi_head(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_decoder_heads(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_group_query(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_projected_heads(struct ox_run *r, struct ox_error *err);
enum ox_status ox_prepare_projected_heads(struct ox_run *r, struct ox_error *err);

/* Norm of our own domain; see fused_norm.c. */
enum ox_status ox_run_own_norm(struct ox_run *r, struct ox_error *err);

struct ox_dense;
/* A product in work memory of its own. */
enum ox_status ox_fast_product(struct ox_run *r, const struct ox_dense *d, struct ox_error *err);

/* The kernels in use. */
const struct ox_rows *ox_fast_rows(void);
/* y = x / by[row] for rows of n floats; y may be x. */
void ox_fast_divide_rows(size_t rows, size_t n, const float *x, const float *by, float *y);
/* Whether none of n floats is infinite or no number. */
bool ox_fast_finite(size_t n, const float *x);
/* Input i when it is float32; else NULL. */
const struct ox_tensor *ox_fast_in(const struct ox_run *r, size_t i);
/* Calls task(arg, from, to) for stretches of [0, n), `grain` units each, on the environment's threads when all of it takes
 * longer than waking one: `ns` is what a unit costs. */
void ox_fast_spread(struct ox_env *env, size_t n, size_t grain, double ns,
                    void (*task)(void *arg, size_t from, size_t to), void *arg);

/* The elementwise function that a node of one input is, and its parameters. False: none of them, or its attributes are those of
 * a call. */
bool ox_fast_function(const struct ox_node *node, enum ox_unary *function, float *a, float *b);
/* Likewise of two inputs. */
bool ox_fast_pair(const char *op_type, enum ox_binary *function);

#endif
