/* How dynamic quantization rewrites nodes. Each may leave the node as it is and says in *reason why; OX_NO_MEMORY is the error of all. */
#ifndef OX_QUANT_DYNAMIC_H
#define OX_QUANT_DYNAMIC_H

#include "quant/walk.h"

/* Before anything is rewritten: what a product gives its weight to multiply. */
enum ox_status ox_dynamic_note_product(struct ox_walk *walk, const struct ox_node *node,
                                       struct ox_error *err);
/* By MatMulInteger and ConvInteger. */
enum ox_status ox_dynamic_matmul(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                 struct ox_error *err);
enum ox_status ox_dynamic_gemm(struct ox_walk *walk, struct ox_node *node, const char **reason,
                               struct ox_error *err);
enum ox_status ox_dynamic_conv(struct ox_walk *walk, struct ox_node *node, const char **reason,
                               struct ox_error *err);
/* Weights that are dequantized as the model runs; those of an LSTM by com.microsoft's DynamicQuantizeLSTM where that is allowed. */
enum ox_status ox_dynamic_recurrent(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                    struct ox_error *err);
enum ox_status ox_dynamic_lstm(struct ox_walk *walk, struct ox_node *node, const char **reason,
                               struct ox_error *err);

#endif
