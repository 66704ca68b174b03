#include "model/value.h"

#include <string.h>

const struct ox_value *ox_value_origin(const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    return value;
}

const struct ox_stored *ox_value_stored(const struct ox_value *value)
{
    const struct ox_value *origin = value ? ox_value_origin(value) : NULL;
    if (!origin || origin->init)
        return origin ? origin->init : NULL;
    const struct ox_node *maker = origin->producer;
    if (!maker || strcmp(maker->op_type, "Constant") != 0 || *maker->domain)
        return NULL;
    const struct ox_attr *attr = ox_node_attr(maker, "value");
    return attr && attr->type == OX_ATTR_TENSOR && attr->n && !attr->ref ? attr->tensor : NULL;
}

const struct ox_value *ox_captures_next(struct ox_captures *at)
{
    for (; at->attr < at->node->n_attrs; at->attr++, at->graph = 0) {
        const struct ox_attr *attr = &at->node->attrs[at->attr];
        for (; ox_attr_has_graphs(attr) && at->graph < attr->n; at->graph++, at->value = 0)
            while (at->value < attr->graphs[at->graph]->n_values) {
                const struct ox_value *outer = attr->graphs[at->graph]->values[at->value++]->outer;
                if (outer)
                    return outer;
            }
    }
    return NULL;
}

bool ox_value_is_captured(const struct ox_value *value)
{
    const struct ox_model *model = value->graph->model;
    for (size_t g = 0; g < model->n_graphs; g++)
        for (size_t i = 0; i < model->graphs[g]->n_values; i++)
            if (model->graphs[g]->values[i]->outer == value)
                return true;
    return false;
}

void ox_captures_mark(const struct ox_graph *graph, bool *captured)
{
    const struct ox_model *model = graph->model;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_captures at = {.node = graph->nodes[i]};
        for (const struct ox_value *outer; (outer = ox_captures_next(&at));)
            captured[outer->id] = true;
    }
    for (size_t g = 0; graph == model->graph && g < model->n_graphs; g++) {
        const struct ox_graph *algorithm = model->graphs[g];
        for (size_t v = 0;
             !algorithm->parent && algorithm->scope == graph && v < algorithm->n_values; v++)
            if (algorithm->values[v]->outer)
                captured[algorithm->values[v]->outer->id] = true;
    }
}
