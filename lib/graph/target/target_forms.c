/* Nodes that a release has a kernel for and refuses all the same: forms of attributes that it does not take. Seen by loading the
 * models of the ONNX suite in the releases (scripts/check_targets.py). */
#include <string.h>

#include "common/compiler.h"
#include "graph/target/target_survey.h"

static int64_t attr_int(const struct ox_node *node, const char *name)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    return attr && attr->type == OX_ATTR_INT && attr->n == 1 ? attr->i : 0;
}

static bool is_batchwise(const struct ox_node *node)
{
    return attr_int(node, "layout") == 1;
}

static bool is_onesided_inverse(const struct ox_node *node)
{
    return attr_int(node, "onesided") && attr_int(node, "inverse");
}

static bool is_partial_rotation(const struct ox_node *node)
{
    return attr_int(node, "rotary_embedding_dim") > 0 && attr_int(node, "num_heads") <= 0;
}

static bool has_window(const struct ox_node *node)
{
    return ox_node_attr(node, "left_window_size") || ox_node_attr(node, "right_window_size");
}

static bool any_negative(const struct ox_attr *attr)
{
    bool negative = false;
    for (size_t i = 0; attr && attr->type == OX_ATTR_INTS && i < attr->n; i++)
        negative |= attr->ints[i] < 0;
    return negative;
}

static bool has_negative_axes(const struct ox_node *node)
{
    return any_negative(ox_node_attr(node, "axes"));
}

/* Axes from a Constant node of integers, as function bodies have them. */
static bool has_negative_axes_input(const struct ox_node *node)
{
    const struct ox_value *axes = node->n_inputs > 3 ? node->inputs[3] : NULL;
    return axes && axes->producer && any_negative(ox_node_attr(axes->producer, "value_ints"));
}

enum { TRAINING_MODE = 14 }; /* the opset from which on an attribute says it, not the outputs */

static bool is_training(const struct ox_node *node)
{
    return ox_graph_opset(node->graph, "") >= TRAINING_MODE ? attr_int(node, "training_mode") == 1
                                                            : node->n_outputs > 1;
}

static const struct form {
    const char *op_type;
    const char *from, *to; /* releases of onnxruntime, both included */
    bool (*matches)(const struct ox_node *node);
    const char *what;
} forms[] = {
    {"RNN", "1.4", "1.32", is_batchwise, "layout = 1 (batch first)"},
    {"GRU", "1.4", "1.32", is_batchwise, "layout = 1 (batch first)"},
    {"LSTM", "1.4", "1.32", is_batchwise, "layout = 1 (batch first)"},
    {"BatchNormalization", "1.8", "1.8", is_training, "training: it is built for inference"},
    {"DFT", "1.13", "1.24", is_onesided_inverse, "onesided together with inverse"},
    {"RotaryEmbedding", "1.23", "1.23", is_partial_rotation,
     "rotary_embedding_dim without num_heads"},
    {"Attention", "1.23", "1.31", has_window, "left_window_size and right_window_size"},
    {"CenterCropPad", "1.14", "1.14", has_negative_axes, "negative axes (it crashes)"},
    {"Pad", "1.14", "1.14", has_negative_axes_input, "negative constant axes (it crashes)"},
};

static const struct form *find_form(const struct ox_target *target, const char *domain,
                                    const char *op_type, const struct ox_node *node)
{
    if (*domain || strncmp(target->runtime, "onnxruntime", strlen("onnxruntime")) != 0)
        return NULL;
    for (size_t i = 0; i < OX_COUNT(forms); i++)
        if (strcmp(op_type, forms[i].op_type) == 0 &&
            ox_target_compare_versions(target->version, forms[i].from) >= 0 &&
            ox_target_compare_versions(target->version, forms[i].to) <= 0 &&
            (!node || forms[i].matches(node)))
            return &forms[i];
    return NULL;
}

bool ox_target_has_forms(const struct ox_target *target, const char *domain, const char *op_type)
{
    return find_form(target, domain, op_type, NULL) != NULL;
}

const char *ox_target_form(const struct ox_target *target, const struct ox_node *node)
{
    const struct form *form = find_form(target, node->domain, node->op_type, node);
    return form ? form->what : NULL;
}
