/* Optional inputs that say what holds without them: zero initial states of recurrent operators, zero biases. */
#include <string.h>

#include "graph/match.h"

static bool all_zero(const struct ox_tensor *tensor)
{
    if (tensor->dtype == OX_STRING)
        return false;
    const unsigned char *p = tensor->data;
    size_t n = tensor->n * ox_dtype_size(tensor->dtype);
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static bool is_zero(struct ox_rewrite *rw, const struct ox_value *value)
{
    enum { DEEPEST = 8 };
    static const char *const passing[] = {"Expand",  "Identity",  "Reshape", "Unsqueeze",
                                          "Squeeze", "Transpose", "Cast",    "Slice"};
    for (int depth = 0; value && depth < DEEPEST; depth++) {
        if (ox_rw_stored(rw, value)) {
            const struct ox_tensor *tensor = ox_rw_const(rw, value);
            return tensor && all_zero(tensor);
        }
        const struct ox_node *fill = ox_made_by(rw, value, "ConstantOfShape", false);
        if (fill) {
            const struct ox_attr *attr = ox_node_attr(fill, "value");
            struct ox_tensor *tensor = NULL;
            if (!attr)
                return true;
            bool zero = attr->type == OX_ATTR_TENSOR && attr->n == 1 && !attr->ref &&
                        ox_stored_load(rw->model, attr->tensor, &tensor, NULL) == OX_OK &&
                        all_zero(tensor);
            ox_tensor_release(tensor);
            return zero;
        }
        const struct ox_node *by = NULL;
        for (size_t i = 0; i < OX_COUNT(passing) && !by; i++)
            by = ox_made_by(rw, value, passing[i], false);
        value = by ? ox_input(by, 0) : NULL;
    }
    return false;
}

/* The first and last of the inputs that are zero when they are left out; false: the operator has none. */
static bool zeros_of(const struct ox_node *node, size_t *first, size_t *last)
{
    static const struct {
        const char *op_type;
        size_t first, last;
    } rows[] = {{"RNN", 5, 5},  {"GRU", 5, 5},           {"LSTM", 5, 7},
                {"Conv", 2, 2}, {"ConvTranspose", 2, 2}, {"ConvInteger", 2, 3}};
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        if (ox_is_op(node, rows[i].op_type)) {
            *first = rows[i].first;
            *last = rows[i].last;
            return true;
        }
    }
    return false;
}

static void drop_zeros(struct ox_rewrite *rw, struct ox_node *node)
{
    enum { MOST = 8 };
    struct ox_value *in[MOST];
    size_t first, last;
    bool any = false;
    if (node->n_inputs > MOST || !zeros_of(node, &first, &last))
        return;
    for (size_t i = 0; i < node->n_inputs; i++) {
        in[i] = node->inputs[i];
        if (i >= first && i <= last && in[i] && is_zero(rw, in[i])) {
            in[i] = NULL;
            any = true;
        }
    }
    size_t n = node->n_inputs;
    while (n && !in[n - 1])
        n--;
    if (any)
        ox_rw_become(rw, node, node->op_type, "", in, n);
}

enum ox_status ox_pass_drop_defaults(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, drop_zeros, err);
}
