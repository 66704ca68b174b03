/* The adapters, a family a file; the table of them is in convert_table.c. */
#ifndef OX_GRAPH_CONVERT_ADAPTERS_H
#define OX_GRAPH_CONVERT_ADAPTERS_H

#include "graph/convert/convert.h"
#include "schema/schema.h"

/* convert_inputs.c: attributes that became inputs */
bool ox_up_axes(struct ox_adapt *c);
bool ox_down_axes(struct ox_adapt *c);
bool ox_up_reduce(struct ox_adapt *c);
bool ox_down_reduce(struct ox_adapt *c);
bool ox_up_slice(struct ox_adapt *c);
bool ox_down_slice(struct ox_adapt *c);
bool ox_up_pad(struct ox_adapt *c);
bool ox_down_pad(struct ox_adapt *c);
bool ox_down_pad_axes(struct ox_adapt *c);
bool ox_up_pad_names(struct ox_adapt *c);
bool ox_down_pad_names(struct ox_adapt *c);
bool ox_up_clip(struct ox_adapt *c);
bool ox_down_clip(struct ox_adapt *c);
bool ox_up_split(struct ox_adapt *c);
bool ox_down_split(struct ox_adapt *c);
bool ox_up_split_count(struct ox_adapt *c);
bool ox_down_split_count(struct ox_adapt *c);
bool ox_up_split_attr(struct ox_adapt *c);
bool ox_up_dropout_ratio(struct ox_adapt *c);
bool ox_down_dropout_ratio(struct ox_adapt *c);
bool ox_up_topk(struct ox_adapt *c);
bool ox_down_topk(struct ox_adapt *c);
bool ox_up_upsample(struct ox_adapt *c);
bool ox_down_upsample(struct ox_adapt *c);
bool ox_up_upsample_scales(struct ox_adapt *c);
bool ox_down_upsample_scales(struct ox_adapt *c);
bool ox_up_tile(struct ox_adapt *c);
bool ox_down_tile(struct ox_adapt *c);
bool ox_up_reshape(struct ox_adapt *c);
bool ox_down_reshape(struct ox_adapt *c);
bool ox_up_dft(struct ox_adapt *c);
bool ox_down_dft(struct ox_adapt *c);

/* convert_meaning.c: what is the same node and means something else */
bool ox_down_axis(struct ox_adapt *c);
bool ox_down_new_axes(struct ox_adapt *c);
bool ox_down_list_axes(struct ox_adapt *c);
bool ox_up_softmax(struct ox_adapt *c);
bool ox_down_softmax(struct ox_adapt *c);
bool ox_up_is_test(struct ox_adapt *c);
bool ox_down_is_test(struct ox_adapt *c);
bool ox_up_spatial(struct ox_adapt *c);
bool ox_up_training(struct ox_adapt *c);
bool ox_down_training(struct ox_adapt *c);
bool ox_up_mask(struct ox_adapt *c);
bool ox_down_mask(struct ox_adapt *c);
bool ox_up_gemm(struct ox_adapt *c);
bool ox_down_gemm(struct ox_adapt *c);
bool ox_down_gemm_bias(struct ox_adapt *c);
bool ox_up_concat(struct ox_adapt *c);
bool ox_up_power(struct ox_adapt *c);
bool ox_down_power(struct ox_adapt *c);
bool ox_up_cast(struct ox_adapt *c);
bool ox_down_cast(struct ox_adapt *c);
bool ox_down_layout(struct ox_adapt *c);
bool ox_up_output_sequence(struct ox_adapt *c);
bool ox_down_output_sequence(struct ox_adapt *c);
bool ox_down_smallest(struct ox_adapt *c);
bool ox_up_grid_sample(struct ox_adapt *c);
bool ox_down_grid_sample(struct ox_adapt *c);
bool ox_up_roi_align(struct ox_adapt *c);
bool ox_down_roi_align(struct ox_adapt *c);
bool ox_down_reduction(struct ox_adapt *c);
bool ox_down_wrap(struct ox_adapt *c);
bool ox_down_allow_zero(struct ox_adapt *c);
bool ox_up_through_float(struct ox_adapt *c);
bool ox_down_long_max(struct ox_adapt *c);
bool ox_down_float_equal(struct ox_adapt *c);
bool ox_down_constant_value(struct ox_adapt *c);
bool ox_down_sparse_value(struct ox_adapt *c);
bool ox_down_has_element(struct ox_adapt *c);

/* convert_broadcast.c: operands of unequal shapes */
bool ox_up_broadcast(struct ox_adapt *c);
bool ox_down_broadcast(struct ox_adapt *c);
bool ox_up_slope(struct ox_adapt *c);
bool ox_down_slope(struct ox_adapt *c);
bool ox_down_variadic(struct ox_adapt *c);

/* convert_image.c: Resize, Upsample, GroupNormalization and the like */
bool ox_up_resize_10(struct ox_adapt *c);
bool ox_down_resize_11(struct ox_adapt *c);
bool ox_down_resize_13(struct ox_adapt *c);
bool ox_down_resize_18(struct ox_adapt *c);
bool ox_down_resize_19(struct ox_adapt *c);
bool ox_up_upsample_gone(struct ox_adapt *c);
bool ox_up_group_norm(struct ox_adapt *c);
bool ox_down_group_norm(struct ox_adapt *c);
bool ox_birth_resize(struct ox_adapt *c);
bool ox_birth_group_norm(struct ox_adapt *c);
bool ox_down_space_to_depth(struct ox_adapt *c);

/* convert_quantized.c: linear quantization and products of integers */
bool ox_down_dequantize_axis(struct ox_adapt *c);
bool ox_birth_dequantize(struct ox_adapt *c);
bool ox_down_quantize_axis(struct ox_adapt *c);
bool ox_birth_quantize(struct ox_adapt *c);
bool ox_birth_round(struct ox_adapt *c);
bool ox_down_dequantize_blocks(struct ox_adapt *c);
bool ox_down_quantize_blocks(struct ox_adapt *c);
bool ox_down_dequantize_type(struct ox_adapt *c);
bool ox_birth_matmul_integer(struct ox_adapt *c);
bool ox_birth_conv_integer(struct ox_adapt *c);
bool ox_birth_qlinear_matmul(struct ox_adapt *c);

/* convert_scan.c */
bool ox_up_scan(struct ox_adapt *c);
bool ox_down_scan(struct ox_adapt *c);

/* convert_node.c */
bool ox_down_constant_init(struct ox_adapt *c);

/* convert_births.c, convert_newer.c: operators that the older version does not have */
bool ox_birth_scatter(struct ox_adapt *c);
bool ox_gone_scatter(struct ox_adapt *c);
bool ox_birth_shape_part(struct ox_adapt *c);
bool ox_birth_cast_like(struct ox_adapt *c);
bool ox_birth_celu(struct ox_adapt *c);
bool ox_birth_gelu(struct ox_adapt *c);
bool ox_birth_trilu(struct ox_adapt *c);
bool ox_birth_layer_norm(struct ox_adapt *c);
bool ox_birth_rms_norm(struct ox_adapt *c);
bool ox_birth_trigonometry(struct ox_adapt *c);
bool ox_birth_sign(struct ox_adapt *c);
bool ox_birth_constant_of_shape(struct ox_adapt *c);
bool ox_birth_eye_like(struct ox_adapt *c);
bool ox_birth_expand(struct ox_adapt *c);
bool ox_birth_shrink(struct ox_adapt *c);
bool ox_birth_thresholded_relu(struct ox_adapt *c);
bool ox_birth_is_nan(struct ox_adapt *c);
bool ox_birth_is_inf(struct ox_adapt *c);
bool ox_down_one_hot(struct ox_adapt *c);
bool ox_birth_mod(struct ox_adapt *c);
bool ox_birth_where(struct ox_adapt *c);
bool ox_down_last_index(struct ox_adapt *c);
bool ox_birth_range(struct ox_adapt *c);
bool ox_birth_bernoulli(struct ox_adapt *c);
bool ox_birth_attention(struct ox_adapt *c);
bool ox_birth_rotary(struct ox_adapt *c);

/* convert_experimental.c: what was never standard, as onnxruntime has it until opset 9 */
bool ox_up_affine(struct ox_adapt *c);
bool ox_up_crop(struct ox_adapt *c);
bool ox_up_dynamic_slice(struct ox_adapt *c);
bool ox_up_image_scaler(struct ox_adapt *c);
bool ox_up_parametric_softplus(struct ox_adapt *c);
bool ox_up_scale(struct ox_adapt *c);
bool ox_up_scaled_tanh(struct ox_adapt *c);

/* convert_plain.c: operators that stay as they are, on the way down */
bool ox_down_plain(struct ox_adapt *c);
bool ox_has_plain(const struct ox_node *node); /* it may be in another form now */

/* convert_ml.c */
bool ox_up_label_encoder(struct ox_adapt *c);
bool ox_down_label_encoder(struct ox_adapt *c);
bool ox_down_label_tensors(struct ox_adapt *c);
bool ox_down_tree_tensors(struct ox_adapt *c);

#endif
