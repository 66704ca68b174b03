/* The adapters, a family a file; the table of them is in convert_table.c. */
#ifndef OX_GRAPH_CONVERT_ADAPTERS_H
#define OX_GRAPH_CONVERT_ADAPTERS_H

#include "graph/convert.h"
#include "schema/schema.h"

/* convert_inputs.c: attributes that became inputs */
ox_adapter ox_up_axes, ox_down_axes, ox_up_reduce, ox_down_reduce;
ox_adapter ox_up_slice, ox_down_slice, ox_up_pad, ox_down_pad, ox_down_pad_axes, ox_up_pad_names;
ox_adapter ox_up_clip, ox_down_clip, ox_up_split, ox_down_split, ox_up_split_count;
ox_adapter ox_down_split_count, ox_up_split_attr, ox_up_dropout_ratio, ox_down_dropout_ratio;
ox_adapter ox_up_topk, ox_down_topk, ox_up_upsample, ox_down_upsample, ox_up_upsample_scales;
ox_adapter ox_up_tile, ox_up_reshape, ox_down_reshape, ox_up_dft, ox_down_dft;

/* convert_meaning.c: what is the same node and means something else */
ox_adapter ox_down_axis, ox_down_new_axes, ox_down_list_axes, ox_up_softmax, ox_down_softmax;
ox_adapter ox_up_broadcast, ox_down_broadcast, ox_down_variadic, ox_up_is_test, ox_down_is_test;
ox_adapter ox_up_spatial, ox_up_training, ox_down_training, ox_up_mask, ox_down_mask;
ox_adapter ox_up_gemm, ox_down_gemm, ox_down_gemm_bias, ox_up_concat, ox_up_power, ox_up_cast,
    ox_down_cast;
ox_adapter ox_down_layout, ox_up_output_sequence, ox_down_output_sequence, ox_down_smallest;
ox_adapter ox_up_grid_sample, ox_down_grid_sample, ox_up_roi_align, ox_down_roi_align;
ox_adapter ox_down_reduction, ox_down_wrap, ox_down_allow_zero, ox_up_through_float;
ox_adapter ox_up_slope, ox_down_slope, ox_scan_batch, ox_down_long_max, ox_down_float_equal,
    ox_down_constant_value, ox_down_sparse_value, ox_down_has_element;

/* convert_image.c: Resize, Upsample, GroupNormalization and the like */
ox_adapter ox_up_resize_10, ox_down_resize_11, ox_down_resize_13, ox_down_resize_18;
ox_adapter ox_down_resize_19, ox_up_upsample_gone, ox_up_group_norm, ox_down_group_norm;
ox_adapter ox_down_dequantize_axis, ox_down_dequantize_blocks, ox_down_dequantize_type;
ox_adapter ox_down_quantize_axis, ox_down_quantize_blocks, ox_down_space_to_depth;

/* convert_node.c */
ox_adapter ox_down_constant_init;

/* convert_births.c, convert_newer.c: operators that the older version does not have */
ox_adapter ox_birth_scatter, ox_gone_scatter, ox_birth_shape_part, ox_birth_cast_like;
ox_adapter ox_birth_celu, ox_birth_gelu, ox_birth_trilu, ox_birth_layer_norm, ox_birth_rms_norm;
ox_adapter ox_birth_group_norm, ox_birth_round, ox_birth_trigonometry, ox_birth_sign;
ox_adapter ox_birth_constant_of_shape, ox_birth_eye_like, ox_birth_expand, ox_birth_shrink;
ox_adapter ox_birth_thresholded_relu, ox_birth_is_nan, ox_birth_is_inf, ox_birth_matmul_integer;
ox_adapter ox_birth_conv_integer, ox_birth_dequantize, ox_birth_quantize, ox_birth_qlinear_matmul;
ox_adapter ox_down_one_hot, ox_birth_mod, ox_birth_where, ox_down_last_index;
ox_adapter ox_birth_resize, ox_birth_range, ox_birth_bernoulli, ox_birth_attention, ox_birth_rotary;

/* convert_ml.c */
ox_adapter ox_up_label_encoder, ox_down_label_encoder, ox_down_label_tensors, ox_down_tree_tensors;

#endif
