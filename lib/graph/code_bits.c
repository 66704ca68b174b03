/* What a model quantizes as it runs. */
#include <string.h>

#include "model/model.h"

/* Of the zero point, or of what the output is asked to be; 8 is what neither says. */
static unsigned bits_of(const struct ox_node *node)
{
    const struct ox_value *zero = node->n_inputs > 2 ? node->inputs[2] : NULL;
    const struct ox_attr *attr = ox_node_attr(node, "output_dtype");
    enum ox_dtype type = OX_UINT8;
    while (zero && zero->outer)
        zero = zero->outer;
    if (zero && zero->init)
        type = zero->init->dtype;
    else if (attr && attr->type == OX_ATTR_INT && attr->i > 0)
        type = (enum ox_dtype)attr->i;
    return type == OX_INT16 || type == OX_UINT16 ? 16 : 8;
}

unsigned ox_model_code_bits(const struct ox_model *model)
{
    unsigned bits = 0;
    for (size_t g = 0; g < model->n_graphs; g++) {
        for (size_t i = 0; i < model->graphs[g]->n_nodes; i++) {
            const struct ox_node *node = model->graphs[g]->nodes[i];
            if (strcmp(node->op_type, "QuantizeLinear") == 0) {
                const unsigned own = bits_of(node);
                bits = !bits || own < bits ? own : bits;
            } else if (strncmp(node->op_type, "QLinear", 7) == 0 ||
                       strncmp(node->op_type, "DynamicQuantize", 15) == 0) {
                bits = 8;
            }
        }
    }
    return bits;
}
