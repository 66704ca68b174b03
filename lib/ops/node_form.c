/* Whether nodes have the inputs, outputs and attributes that their operators ask for. */
#include "ops/op.h"
#include "schema/param.h"

static enum ox_status check_attrs(const struct ox_run *run, const struct ox_schema *schema,
                                  struct ox_error *err)
{
    const struct ox_node *node = run->node;
    for (size_t a = 0; a < node->n_attrs; a++) {
        const struct ox_attr *attr = &node->attrs[a];
        const struct ox_schema_attr *want = ox_schema_attr(schema, attr->name);
        if (!want)
            return ox_run_fail(run, err, OX_INPUT, "it has no attribute '%.64s'", attr->name);
        if (!attr->ref && attr->type != (enum ox_attr_type)want->type)
            return ox_run_fail(run, err, OX_INPUT, "attribute '%s' is of type %s, not %s",
                               want->name, ox_attr_type_name(attr->type),
                               ox_attr_type_name((enum ox_attr_type)want->type));
        /* Whichever it is, the pointer stands in one place. */
        bool single = attr->type == OX_ATTR_GRAPH || attr->type == OX_ATTR_TENSOR ||
                      attr->type == OX_ATTR_SPARSE_TENSOR || attr->type == OX_ATTR_TYPE_PROTO;
        if (!attr->ref && single && (!attr->n || !attr->tensor))
            return ox_run_fail(run, err, OX_INPUT, "attribute '%s' holds nothing", want->name);
    }
    for (size_t k = 0; k < schema->n_attrs; k++)
        if (schema->attrs[k].required && !ox_node_attr(node, schema->attrs[k].name))
            return ox_run_fail(run, err, OX_INPUT, "attribute '%s' is required",
                               schema->attrs[k].name);
    return OX_OK;
}

enum ox_status ox_node_check(struct ox_env *env, const struct ox_node *node,
                             const struct ox_schema *schema, int64_t opset, struct ox_error *err)
{
    struct ox_run run = {.env = env, .node = node, .schema = schema, .opset = opset};
    if (node->n_inputs < schema->min_inputs || node->n_inputs > schema->max_inputs)
        return ox_run_fail(&run, err, OX_INPUT, "%zu inputs, where %u to %u are allowed",
                           node->n_inputs, schema->min_inputs, schema->max_inputs);
    if (node->n_outputs < schema->min_outputs || node->n_outputs > schema->max_outputs)
        return ox_run_fail(&run, err, OX_INPUT, "%zu outputs, where %u to %u are allowed",
                           node->n_outputs, schema->min_outputs, schema->max_outputs);
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_schema_param *param = ox_param_at(schema->inputs, schema->n_inputs, i);
        if (ox_param_is_required(param) && !node->inputs[i])
            return ox_run_fail(&run, err, OX_INPUT, "input %zu ('%s') is required", i, param->name);
    }
    return check_attrs(&run, schema, err);
}

enum ox_status ox_nodes_check(const struct ox_model *model, struct ox_error *err)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            const int64_t opset = ox_graph_opset(graph, node->domain);
            const struct ox_schema *schema = ox_schema_find(node->domain, node->op_type, opset);
            if (schema)
                OX_TRY(ox_node_check(model->env, node, schema, opset, err));
        }
    }
    return OX_OK;
}
