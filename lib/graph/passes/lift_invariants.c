/* What each turn of a Loop or Scan computes alike is computed once before it: nodes of the body that depend on nothing but values from
 * outside. Values that a Loop hands from turn to turn unchanged (exporters make weights such) are values from outside first. */
#include <stdlib.h>
#include <string.h>

#include "graph/match.h"

enum { TRIP_COUNT_AND_CONDITION = 2 };

static struct ox_graph *body_of(const struct ox_node *node)
{
    const struct ox_attr *attr = ox_node_attr(node, "body");
    return attr && !attr->ref && attr->type == OX_ATTR_GRAPH && attr->n ? attr->graphs[0] : NULL;
}

/* ---- Values that are handed on ------------------------------------------------------------------------------------ */

static bool is_handed_on(const struct ox_graph *body, size_t input)
{
    const struct ox_value *value = body->inputs[input];
    size_t n = 0;
    for (size_t i = 0; i < body->n_outputs; i++)
        n += body->outputs[i] == value;
    for (size_t i = 0; i < body->n_inputs; i++)
        if (i != input && body->inputs[i] == value)
            return false;
    return n == 1 && body->outputs[input - 1] == value && !value->init;
}

static void take_out(struct ox_value **values, size_t *n, size_t i)
{
    memmove(values + i, values + i + 1, (*n - i - 1) * sizeof(struct ox_value *));
    --*n;
}

/* The Loop's output is what went in. */
static void pass_by(struct ox_rewrite *rw, struct ox_node *loop, size_t i)
{
    if (i >= loop->n_outputs)
        return;
    struct ox_value *output = loop->outputs[i];
    struct ox_value *input = loop->inputs[i + TRIP_COUNT_AND_CONDITION];
    take_out(loop->outputs, &loop->n_outputs, i);
    for (size_t k = i; k < loop->n_outputs; k++)
        if (loop->outputs[k] && loop->outputs[k]->producer == loop)
            loop->outputs[k]->output_index = (unsigned)k;
    if (output && !ox_rw_replace(rw, output, input))
        ox_rw_insert(rw, loop, "Identity", "", output->name, &input, 1, &output, 1);
}

static void drop_input(struct ox_rewrite *rw, struct ox_node *node, size_t i)
{
    struct ox_value **inputs = ox_rw_scratch(rw, node->n_inputs, sizeof(struct ox_value *));
    size_t n = node->n_inputs;
    if (!inputs)
        return;
    memcpy(inputs, node->inputs, n * sizeof(struct ox_value *));
    take_out(inputs, &n, i);
    ox_rw_become(rw, node, node->op_type, node->domain, inputs, n);
}

static void free_state(struct ox_rewrite *rw, struct ox_node *loop)
{
    struct ox_graph *body = body_of(loop);
    for (size_t i = loop->n_inputs; i-- > TRIP_COUNT_AND_CONDITION && !rw->failed;) {
        struct ox_value *value = body->inputs[i], *outer = loop->inputs[i];
        if (!outer || !is_handed_on(body, i))
            continue;
        value->is_output = false;
        if (!ox_rw_capture(rw, value, outer)) {
            value->is_output = true;
            continue;
        }
        take_out(body->inputs, &body->n_inputs, i);
        take_out(body->outputs, &body->n_outputs, i - 1);
        pass_by(rw, loop, i - TRIP_COUNT_AND_CONDITION);
        drop_input(rw, loop, i);
    }
}

/* ---- Nodes that do not depend on the turn -------------------------------------------------------------------------- */

/* Operators that no value makes fail: a loop may make no turn at all. */
static bool never_fails(const struct ox_node *node)
{
    static const char *const ops[] = {
        "Abs",       "Add",  "Cast",    "Clip",      "Concat",
        "Conv",      "Cos",  "Equal",   "Erf",       "Exp",
        "Gemm",      "Gelu", "Greater", "HardSwish", "LayerNormalization",
        "LeakyRelu", "Less", "Log",     "MatMul",    "Max",
        "Min",       "Mul",  "Neg",     "Not",       "Reciprocal",
        "Relu",      "Sin",  "Sigmoid", "Softmax",   "Sqrt",
        "Squeeze",   "Sub",  "Tanh",    "Transpose", "Unsqueeze",
    };
    for (size_t i = 0; i < OX_COUNT(ops); i++)
        if (ox_is_op(node, ops[i]))
            return true;
    return false;
}

static bool can_lift(struct ox_rewrite *rw, const struct ox_node *node)
{
    bool any = false;
    if (!never_fails(node) || !ox_rw_op(rw, node) || node->n_outputs != 1 || !node->outputs[0] ||
        node->outputs[0]->is_output)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] && !node->inputs[i]->outer)
            return false;
        any |= node->inputs[i] != NULL;
    }
    return any;
}

/* Of the same type as that of the body. */
static struct ox_value *value_like(struct ox_rewrite *rw, const struct ox_value *inner)
{
    const struct ox_type *type = ox_rw_type(rw, inner);
    const bool known = type && type->kind == OX_TYPE_TENSOR && type->has_rank;
    return ox_rw_value(rw, inner->name,
                       known ? ox_rw_tensor_type(rw, type->elem, type->rank, type->dims) : NULL);
}

static bool lift(struct ox_rewrite *rw, struct ox_node *loop, const struct ox_node *node)
{
    struct ox_value *inputs[16] = {NULL}, *inner = node->outputs[0];
    if (node->n_inputs > OX_COUNT(inputs))
        return false;
    for (size_t i = 0; i < node->n_inputs; i++)
        inputs[i] = node->inputs[i] ? node->inputs[i]->outer : NULL;
    struct ox_value *value = value_like(rw, inner);
    struct ox_node *made = value ? ox_rw_insert(rw, loop, node->op_type, node->domain, node->name,
                                                inputs, node->n_inputs, &value, 1)
                                 : NULL;
    if (!made)
        return false;
    made->attrs = node->attrs;
    made->n_attrs = node->n_attrs;
    return ox_rw_capture(rw, inner, value);
}

static void lift_nodes(struct ox_rewrite *rw, struct ox_node *loop)
{
    struct ox_graph *body = body_of(loop);
    bool *gone = ox_rw_scratch(rw, body->n_nodes, sizeof *gone), any = false;
    for (size_t i = 0; gone && i < body->n_nodes && !rw->failed; i++) {
        gone[i] = can_lift(rw, body->nodes[i]) && lift(rw, loop, body->nodes[i]);
        any |= gone[i];
    }
    if (any)
        ox_graph_remove_nodes(body, gone);
}

static void look_at_loop(struct ox_rewrite *rw, struct ox_node *node)
{
    const struct ox_graph *body = body_of(node);
    if (!body || body->n_inputs != node->n_inputs || body->n_outputs <= node->n_outputs)
        return;
    free_state(rw, node);
    lift_nodes(rw, node);
}

static void look_at_scan(struct ox_rewrite *rw, struct ox_node *node)
{
    if (body_of(node))
        lift_nodes(rw, node);
}

enum ox_status ox_pass_lift_invariants(struct ox_rewrite *rw, struct ox_graph *graph,
                                       struct ox_error *err)
{
    OX_TRY(ox_rw_each(rw, graph, "Loop", look_at_loop, err));
    return ox_rw_each(rw, graph, "Scan", look_at_scan, err);
}
