/* Whether a model computes with less than float32 has. */
#include <string.h>

#include "model/value.h"

static enum ox_dtype as_half(int64_t dtype)
{
    return ox_dtype_is_half(dtype) ? (enum ox_dtype)dtype : OX_UNDEFINED;
}

/* Weights that are only stored so are widened before they are used. */
static bool widens(const struct ox_node *node)
{
    return strcmp(node->op_type, "Cast") == 0 || strcmp(node->op_type, "CastLike") == 0;
}

static enum ox_dtype half_of_node(const struct ox_node *node)
{
    const struct ox_attr *to = strcmp(node->op_type, "Cast") == 0 ? ox_node_attr(node, "to") : NULL;
    enum ox_dtype found = to ? as_half(to->i) : OX_UNDEFINED;
    for (size_t i = 0; i < node->n_inputs && found == OX_UNDEFINED && !widens(node); i++) {
        const struct ox_stored *stored = node->inputs[i] ? ox_value_stored(node->inputs[i]) : NULL;
        if (stored)
            found = as_half(stored->dtype);
        else if (node->inputs[i] && node->inputs[i]->type)
            found = as_half(node->inputs[i]->type->elem);
    }
    return found;
}

enum ox_dtype ox_parity_half(const struct ox_model *model)
{
    enum ox_dtype found = OX_UNDEFINED;
    for (size_t g = 0; g < model->n_graphs && found == OX_UNDEFINED; g++)
        for (size_t i = 0; i < model->graphs[g]->n_nodes && found == OX_UNDEFINED; i++)
            found = half_of_node(model->graphs[g]->nodes[i]);
    return found;
}
