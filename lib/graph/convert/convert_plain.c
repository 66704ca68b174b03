/* On the way down nodes whose operator stays as it is take the form that old releases read right. Meaning does not change:
 *
 * - Constant's value_ints and the like become tensors: onnxruntime 1.8 makes a scalar of a list of one.
 * - Reshape's allowzero goes where the target has no 0, or a -1, beside which there must be none: onnxruntime 1.8 fails at -1. */
#include <string.h>

#include "graph/convert/convert_adapters.h"

static bool is_list(const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].ref)
            return false;
    return strcmp(node->op_type, "Constant") == 0 && !ox_node_attr(node, "value") &&
           !ox_node_attr(node, "sparse_value");
}

static bool may_allow_zero(const struct ox_node *node)
{
    return strcmp(node->op_type, "Reshape") == 0 && ox_node_attr(node, "allowzero");
}

bool ox_has_plain(const struct ox_node *node)
{
    return !*node->domain && (is_list(node) || may_allow_zero(node));
}

static bool needs_no_zeros(struct ox_adapt *c)
{
    const struct ox_tensor *target = ox_adapt_known(c, ox_adapt_input(c, 1));
    if (!target || target->dtype != OX_INT64)
        return false;
    bool zero = false, open = false;
    for (size_t i = 0; i < target->n; i++) {
        zero |= ((const int64_t *)target->data)[i] == 0;
        open |= ((const int64_t *)target->data)[i] == -1;
    }
    return open || !zero;
}

bool ox_down_plain(struct ox_adapt *c)
{
    if (is_list(c->node))
        return ox_down_constant_value(c);
    if (may_allow_zero(c->node) && needs_no_zeros(c))
        ox_adapt_drop(c, "allowzero");
    return true;
}
