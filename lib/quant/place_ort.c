/* Where onnxruntime.quantization 1.31 puts Q and DQ: nodes in the file's order, an operator a rule. */
#include <string.h>

#include "quant/place.h"

static void mark_all(struct ox_place *place, struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        ox_place_activation(place, node->inputs[i]);
    for (size_t i = 0; i < node->n_outputs; i++)
        ox_place_activation(place, node->outputs[i]);
}

static void mark_weight(struct ox_place *place, struct ox_value *value, int axis)
{
    ox_place_weight(place, value,
                    ox_place_constant(place, value) ? ox_place_axis(place, value, axis) : -1);
}

static enum ox_status rule_any(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    (void)err;
    mark_all(place, node);
    return OX_OK;
}

static enum ox_status rule_conv(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    ox_place_activation(place, node->inputs[0]);
    ox_place_activation(place, node->outputs[0]);
    mark_weight(place, node->inputs[1], strcmp(node->op_type, "Conv") == 0 ? 0 : 1);
    return ox_place_bias(place, node, 2, 1, err);
}

static enum ox_status rule_gemm(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    ox_place_activation(place, node->inputs[0]);
    ox_place_activation(place, node->outputs[0]);
    mark_weight(place, node->inputs[1], ox_quant_int_attr(node, "transB", 0) > 0 ? 0 : 1);
    if (node->n_inputs < 3 || !ox_place_constant(place, node->inputs[2]))
        return OX_OK;
    float beta = ox_quant_float_attr(node, "beta", 1);
    OX_TRY(ox_place_bias(place, node, 2, beta, err));
    if (ox_node_attr(node, "beta") && !ox_node_set_float(node, "beta", 1))
        return ox_no_memory(err);
    return OX_OK;
}

static enum ox_status rule_matmul(struct ox_place *place, struct ox_node *node,
                                  struct ox_error *err)
{
    (void)err;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (ox_place_constant(place, node->inputs[i]))
            mark_weight(place, node->inputs[i], 1);
        else
            ox_place_activation(place, node->inputs[i]);
    }
    ox_place_activation(place, node->outputs[0]);
    return OX_OK;
}

static enum ox_status rule_norm(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    ox_place_activation(place, node->inputs[0]);
    if (ox_place_constant(place, node->inputs[1]))
        mark_weight(place, node->inputs[1], 1);
    else
        ox_place_activation(place, node->inputs[1]);
    OX_TRY(ox_place_bias(place, node, 2, 1, err));
    for (size_t i = 0; i < node->n_outputs; i++)
        ox_place_activation(place, node->outputs[i]);
    return OX_OK;
}

static enum ox_status rule_same(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    (void)err;
    if (ox_place_has(place, node->inputs[0]))
        ox_place_same(place, node->outputs[0], node->inputs[0]);
    return OX_OK;
}

static enum ox_status rule_maxpool(struct ox_place *place, struct ox_node *node,
                                   struct ox_error *err)
{
    return ox_graph_opset(place->graph, "") >= 12 ? rule_same(place, node, err) : OX_OK;
}

static enum ox_status rule_resize(struct ox_place *place, struct ox_node *node,
                                  struct ox_error *err)
{
    return ox_graph_opset(place->graph, "") >= 11 ? rule_same(place, node, err) : OX_OK;
}

static enum ox_status rule_clip(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    (void)err;
    if (!ox_place_has(place, node->inputs[0]))
        return OX_OK;
    if (place->q->options->symmetric_activation || !ox_place_absorb(place, node))
        ox_place_activation(place, node->inputs[0]);
    ox_place_activation(place, node->outputs[0]);
    return OX_OK;
}

static enum ox_status rule_split(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    (void)err;
    if (!ox_place_has(place, node->inputs[0]))
        ox_place_activation(place, node->inputs[0]);
    for (size_t i = 0; i < node->n_outputs; i++)
        ox_place_same(place, node->outputs[i], node->inputs[0]);
    return OX_OK;
}

static enum ox_status rule_gather(struct ox_place *place, struct ox_node *node,
                                  struct ox_error *err)
{
    if (ox_place_constant(place, node->inputs[0]) && ox_place_can(place, node->inputs[0])) {
        ox_place_activation(place, node->inputs[0]);
        ox_place_same(place, node->outputs[0], node->inputs[0]);
        return OX_OK;
    }
    return rule_same(place, node, err);
}

static enum ox_status rule_where(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    (void)err;
    if (ox_place_has(place, node->inputs[1]) && ox_place_has(place, node->inputs[2]))
        ox_place_activation(place, node->outputs[0]);
    return OX_OK;
}

static enum ox_status rule_pad(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    bool same;
    for (size_t i = 0; i < node->n_inputs; i++)
        ox_place_activation(place, node->inputs[i]);
    OX_TRY(ox_place_pads_same(place, node, &same, err));
    if (same)
        ox_place_same(place, node->outputs[0], node->inputs[0]);
    else
        ox_place_activation(place, node->outputs[0]);
    return OX_OK;
}

/* Sorted by name. The operators that either of onnxruntime's registries lists. */
static const struct rule {
    const char *op_type;
    enum ox_status (*apply)(struct ox_place *place, struct ox_node *node, struct ox_error *err);
} rules[] = {
    {"Add", rule_any},
    {"ArgMax", rule_any},
    {"AveragePool", rule_same},
    {"BatchNormalization", rule_norm},
    {"Clip", rule_clip},
    {"Concat", rule_any},
    {"Conv", rule_conv},
    {"ConvTranspose", rule_conv},
    {"CumSum", rule_any},
    {"EmbedLayerNormalization", rule_any},
    {"Flatten", rule_same},
    {"Gather", rule_gather},
    {"GatherElements", rule_gather},
    {"Gemm", rule_gemm},
    {"GlobalAveragePool", rule_any},
    {"InstanceNormalization", rule_norm},
    {"LayerNormalization", rule_norm},
    {"LeakyRelu", rule_any},
    {"MatMul", rule_matmul},
    {"MaxPool", rule_maxpool},
    {"Mul", rule_any},
    {"Pad", rule_pad},
    {"Relu", rule_clip},
    {"Reshape", rule_same},
    {"Resize", rule_resize},
    {"Sigmoid", rule_any},
    {"Slice", rule_same},
    {"Softmax", rule_any},
    {"Split", rule_split},
    {"Squeeze", rule_same},
    {"TopK", rule_same},
    {"Transpose", rule_same},
    {"Unsqueeze", rule_same},
    {"Where", rule_where},
};

enum ox_status ox_place_like_ort(struct ox_place *place, struct ox_error *err)
{
    for (size_t i = 0; i < place->n_nodes; i++) {
        struct ox_node *node = place->graph->nodes[i];
        const struct rule *rule = NULL;
        for (size_t k = 0; k < OX_COUNT(rules) && !rule; k++) {
            if (strcmp(rules[k].op_type, node->op_type) == 0)
                rule = &rules[k];
        }
        if (!rule)
            continue;
        const char *reason = ox_quant_unwanted(place->q, node);
        ox_quant_report_add_node(place->q->report, node, NULL, reason);
        if (!reason)
            OX_TRY(rule->apply(place, node, err));
    }
    return OX_OK;
}
