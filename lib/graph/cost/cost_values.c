/* Sizes of types, and the constants that values and nodes stand for, as costs count them. */
#include <string.h>

#include "graph/cost/cost.h"

bool ox_cost_bytes(const struct ox_type *type, uint64_t *bytes)
{
    uint64_t n;
    return type && type->elem != OX_UNDEFINED && ox_cost_elements(type, &n) &&
           !OX_MUL_OVERFLOWS(n, (uint64_t)ox_dtype_size(type->elem), bytes);
}

bool ox_cost_is_parameter(enum ox_dtype dtype)
{
    return dtype != OX_INT64 && dtype != OX_BOOL && dtype != OX_STRING && dtype != OX_UNDEFINED;
}

const struct ox_stored *ox_cost_init(const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    return value->init ? value->init : value->sparse_init ? value->sparse_init->values : NULL;
}

const struct ox_stored *ox_cost_constant(const struct ox_node *node)
{
    if (strcmp(node->op_type, "Constant") != 0 || *node->domain)
        return NULL;
    const struct ox_attr *attr = ox_node_attr(node, "value");
    if (attr && attr->type == OX_ATTR_TENSOR && attr->n && !attr->ref)
        return attr->tensor;
    attr = ox_node_attr(node, "sparse_value");
    return attr && attr->type == OX_ATTR_SPARSE_TENSOR && attr->n && !attr->ref
               ? attr->sparse->values
               : NULL;
}
