/* What onnxruntime has merged in a model that it saved, taken apart into operators of the standard: the passes behind this one then
 * merge them as they do in other models, which goes further. Operators of com.microsoft, as its documentation of contrib operators has
 * them (ContribOperators.md, 1.31). */
#include "graph/passes/part_merged.h"

#include <string.h>

enum { OPSET = 11 /* of ai.onnx: what the parts are means the same from there on */ };

static const struct {
    const char *op_type;
    void (*apart)(const struct ox_parts *p);
    bool standard; /* in a model that is written, too: its parts are operators of the standard */
} rules[] = {
    {"BiasGelu", ox_part_gelu, false},
    {"ConvTransposeWithDynamicPads", ox_part_conv_transpose, true},
    {"DynamicQuantizeMatMul", ox_part_dynamic_product, false},
    {"EmbedLayerNormalization", ox_part_embedding, false},
    {"FastGelu", ox_part_fast_gelu, false},
    {"FusedConv", ox_part_conv, true},
    {"FusedGemm", ox_part_gemm, true},
    {"FusedMatMul", ox_part_matmul, true},
    {"FusedMatMulActivation", ox_part_matmul, true},
    {"Gelu", ox_part_gelu, false},
    {"MatMulIntegerToFloat", ox_part_integer_product, false},
    {"QAttention", ox_part_integer_attention, false},
    {"QEmbedLayerNormalization", ox_part_embedding_codes, false},
    {"QLinearAdd", ox_part_integer_sum, false},
    {"QLinearAveragePool", ox_part_integer_average, false},
    {"QLinearConcat", ox_part_integer_concat, false},
    {"QLinearLeakyRelu", ox_part_integer_leaky_relu, false},
    {"QLinearMul", ox_part_integer_factors, false},
    {"QLinearSigmoid", ox_part_integer_sigmoid, false},
    {"QuickGelu", ox_part_quick_gelu, false},
    {"SkipLayerNormalization", ox_part_skip_norm, false},
    {"SkipSimplifiedLayerNormalization", ox_part_skip_rms, false},
    {"TransposeMatMul", ox_part_matmul, true},
};

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (strcmp(node->domain, "com.microsoft") != 0 || !ox_input(node, 0) || !node->outputs[0])
        return;
    const enum ox_dtype dtype = ox_dtype_of_value(rw, node->outputs[0]);
    if (dtype != OX_FLOAT32 && dtype != OX_UINT8 && dtype != OX_INT8)
        return;
    const struct ox_parts parts = {rw, node, ox_rw_type(rw, node->outputs[0])};
    for (size_t i = 0; i < OX_COUNT(rules); i++)
        if (strcmp(rules[i].op_type, node->op_type) == 0) {
            if (rw->to_run || rules[i].standard)
                rules[i].apart(&parts);
            return;
        }
}

enum ox_status ox_pass_part_merged(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_graph_opset(graph, "") < OPSET ? OX_OK : ox_rw_each(rw, graph, NULL, look_at, err);
}

/* Convolutions and products alone, as operators of the standard: quantizing looks for these. */
enum ox_status ox_pass_part_products(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    return rw->to_run ? OX_OK : ox_pass_part_merged(rw, graph, err);
}
