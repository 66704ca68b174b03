#include "ops/evaluate.h"

#include "schema/param.h"

static bool type_allowed(const struct ox_schema *schema, size_t i, const struct ox_tensor *tensor)
{
    const struct ox_schema_param *param = ox_param_at(schema->inputs, schema->n_inputs, i);
    return param && ox_param_takes(param, 't', tensor->dtype);
}

/* Inputs of one type variable have one type. */
static bool types_agree(const struct ox_schema *schema, const struct ox_tensor *const *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct ox_schema_param *a = ox_param_at(schema->inputs, schema->n_inputs, i);
        for (size_t k = 0; k < i && in[i] && a->constraint >= 0; k++) {
            const struct ox_schema_param *b = ox_param_at(schema->inputs, schema->n_inputs, k);
            bool bound = a->constraint == b->constraint && (a != b || a->homogeneous);
            if (bound && in[k] && in[k]->dtype != in[i]->dtype)
                return false;
        }
    }
    return true;
}

bool ox_can_evaluate(const struct ox_node *node, const struct ox_op *op,
                     const struct ox_schema *schema, const struct ox_tensor *const *in)
{
    if (!op || !op->run || op->flags & (OX_OP_RANDOM | OX_OP_ANY_KIND) || !schema ||
        schema->deprecated || schema->non_deterministic || node->n_inputs < schema->min_inputs ||
        node->n_inputs > schema->max_inputs || node->n_inputs > OX_EVALUATE_MOST ||
        node->n_outputs < schema->min_outputs || node->n_outputs > schema->max_outputs ||
        node->n_outputs > OX_EVALUATE_MOST)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!in[i]) {
            if (ox_param_is_required(ox_param_at(schema->inputs, schema->n_inputs, i)))
                return false; /* kernels take it that what is required is there */
            continue;
        }
        if ((ox_dtype_is_half(in[i]->dtype) && !(op->flags & OX_OP_HALF)) ||
            !type_allowed(schema, i, in[i]))
            return false;
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        const struct ox_attr *attr = &node->attrs[i];
        const struct ox_schema_attr *want = ox_schema_attr(schema, attr->name);
        if (ox_attr_has_graphs(attr) || !want ||
            (!attr->ref && attr->type != (enum ox_attr_type)want->type))
            return false;
        if (!attr->ref && attr->type == OX_ATTR_TENSOR && (!attr->n || !attr->tensor))
            return false;
    }
    for (size_t k = 0; k < schema->n_attrs; k++)
        if (schema->attrs[k].required && !ox_node_attr(node, schema->attrs[k].name))
            return false;
    return types_agree(schema, in, node->n_inputs);
}

enum ox_status ox_evaluate(const struct ox_node *node, const struct ox_op *op,
                           const struct ox_schema *schema, int64_t opset,
                           const struct ox_call *call, const struct ox_tensor *const *in,
                           struct ox_arena *scratch, struct ox_env *env, struct ox_tensor **out,
                           struct ox_error *err)
{
    struct ox_datum *given[OX_EVALUATE_MOST] = {NULL}, *made[OX_EVALUATE_MOST] = {NULL};
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < node->n_inputs && status == OX_OK; i++)
        if (in[i])
            status = ox_datum_of_tensor(&given[i], in[i], err);
    struct ox_run run = {.env = env,
                         .node = node,
                         .schema = schema,
                         .opset = opset,
                         .in = given,
                         .n_in = node->n_inputs,
                         .out = made,
                         .n_out = node->n_outputs,
                         .scratch = scratch,
                         .call = call,
                         .op = op};
    struct ox_arena_mark mark = ox_arena_mark(scratch);
    if (status == OX_OK)
        status = op->run(&run, err);
    ox_run_release_work(&run);
    ox_arena_rewind(scratch, mark);
    for (size_t i = 0; i < node->n_outputs; i++) {
        bool tensor = made[i] && made[i]->kind == OX_DATUM_TENSOR;
        out[i] = status == OX_OK && tensor ? ox_tensor_ref(made[i]->tensor) : NULL;
    }
    for (size_t i = 0; i < OX_EVALUATE_MOST; i++) {
        ox_datum_release(given[i]);
        ox_datum_release(made[i]);
    }
    return status;
}
