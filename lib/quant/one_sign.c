#include "quant/one_sign.h"

#include <math.h>
#include <string.h>

static const char *const positive[] = {"Relu",     "Sigmoid", "Softmax", "HardSigmoid",
                                       "Softplus", "Abs",     "Exp",     "Sqrt"};
static const char *const movers[] = {"Reshape",   "Flatten", "Transpose", "Squeeze",
                                     "Unsqueeze", "MaxPool", "Dropout",   "Identity",
                                     "Slice",     "Split",   "Resize",    "GlobalMaxPool"};
static const char *const averages[] = {"AveragePool", "GlobalAveragePool", "ReduceMean"};
/* Least a little below 0, and unbounded above. */
static const char *const gated[] = {"HardSwish", "Swish", "Gelu", "Mish"};
static const char *const gates[] = {"Sigmoid", "HardSigmoid"};

static bool is_among(const struct ox_node *node, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(node->op_type, names[i]) == 0)
            return true;
    }
    return false;
}

#define IS_AMONG(node, names) is_among(node, names, OX_COUNT(names))

static enum ox_status clips_from_zero(struct ox_quant *q, const struct ox_node *clip, bool *answer,
                                      struct ox_error *err)
{
    if (ox_graph_opset(q->model->graph, "") < 11) {
        *answer = ox_quant_float_attr(clip, "min", -INFINITY) >= 0;
        return OX_OK;
    }
    const struct ox_value *least = clip->n_inputs > 1 ? clip->inputs[1] : NULL;
    const struct ox_stored *stored = least ? ox_value_stored(least) : NULL;
    struct ox_tensor *values;
    enum ox_dtype real;
    *answer = false;
    if (!stored || !ox_quant_is_float(stored->dtype))
        return OX_OK;
    OX_TRY(ox_quant_values(q, least, &values, &real, err));
    *answer = values->n == 1 && *(const float *)values->data >= 0;
    ox_tensor_release(values);
    return OX_OK;
}

/* Of a Mul: the input that the other one is a gate for; NULL: neither is. */
static const struct ox_value *let_through(const struct ox_node *mul, bool *by_itself)
{
    for (size_t i = 0; i < 2 && mul->n_inputs == 2; i++) {
        const struct ox_value *x = mul->inputs[i], *gate = mul->inputs[1 - i];
        const struct ox_node *node = gate ? gate->producer : NULL;
        if (!x || !node || *node->domain || !IS_AMONG(node, gates))
            continue;
        *by_itself = node->inputs[0] == x;
        return x;
    }
    return NULL;
}

enum ox_status ox_quant_one_sign(struct ox_quant *q, const struct ox_value *value, bool *one_sign,
                                 struct ox_error *err)
{
    const float slight = 0.25F; /* a sixteenth of the squares */
    bool averaged = false, by_itself;
    *one_sign = false;
    while (value && value->producer && !*value->producer->domain && value->producer->n_inputs) {
        const struct ox_node *node = value->producer;
        if (strcmp(node->op_type, "Clip") == 0)
            return clips_from_zero(q, node, one_sign, err);
        *one_sign = IS_AMONG(node, positive) || (averaged && IS_AMONG(node, gated)) ||
                    (strcmp(node->op_type, "LeakyRelu") == 0 &&
                     fabsf(ox_quant_float_attr(node, "alpha", 0.01F)) <= slight);
        if (*one_sign)
            return OX_OK;
        averaged = averaged || IS_AMONG(node, averages);
        if (IS_AMONG(node, movers) || IS_AMONG(node, averages)) {
            value = node->inputs[0];
        } else if (strcmp(node->op_type, "Mul") == 0) {
            value = let_through(node, &by_itself);
            if (value && by_itself) {
                *one_sign = averaged;
                return OX_OK;
            }
        } else {
            return OX_OK;
        }
    }
    return OX_OK;
}
