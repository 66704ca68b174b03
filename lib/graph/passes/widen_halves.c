/* 16-bit floats on their way from node to node are float32: a processor computes in float32 anyway, and each rounding between would cost
 * time and accuracy. Inputs, outputs and what is watched keep their type, and so does what operators without kernels in float32 take or
 * make; casts stand between. As onnxruntime does it on the processor, a cast to 16 bits in front of what computes does not round. */
#include <string.h>

#include "graph/match.h"
#include "schema/param.h"
#include "schema/schema.h"

enum { CAST_TAKES_NUMBER = 6 }; /* before, `to` is a name */

struct widener {
    struct ox_rewrite *rw;
    struct ox_graph *graph;
    struct ox_value **wide;   /* by value id: the value in float32, NULL: not made */
    size_t n_values, n_nodes; /* that were there at first */
};

static bool is_half(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_type *type = value ? ox_rw_type(rw, value) : NULL;
    return type && type->kind == OX_TYPE_TENSOR && ox_dtype_is_half(type->elem);
}

/* Or nobody knows its type: only what makes it decides. */
static bool may_be_half(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_type *type = value ? ox_rw_type(rw, value) : NULL;
    return value && (!type || type->kind == OX_TYPE_UNKNOWN || type->elem == OX_UNDEFINED ||
                     is_half(rw, value));
}

/* ---- Whether there is anything to do, told without inference ---------------------------------------------------------- */

static bool makes_half(const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_attrs; i++) {
        const struct ox_attr *attr = &node->attrs[i];
        if (attr->type == OX_ATTR_INT && ox_dtype_is_half(attr->i))
            return true;
        if (attr->type == OX_ATTR_TENSOR && attr->tensor && ox_dtype_is_half(attr->tensor->dtype))
            return true;
    }
    return false;
}

static bool mentions_half(const struct ox_graph *graph)
{
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        while (value->outer)
            value = value->outer;
        if ((value->type && ox_dtype_is_half(value->type->elem)) ||
            (value->init && ox_dtype_is_half(value->init->dtype)))
            return true;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (makes_half(graph->nodes[i]))
            return true;
    }
    return false;
}

/* ---- What is there in float32 ---------------------------------------------------------------------------------------- */

/* Where its halves are stored, of an initializer or a Constant; NULL: it is neither. */
static const struct ox_stored *stored_halves(const struct ox_rewrite *rw,
                                             const struct ox_value *value)
{
    const struct ox_stored *stored = ox_rw_stored(rw, value);
    const struct ox_node *maker = ox_made_by(rw, value, "Constant", false);
    const struct ox_attr *attr = maker ? ox_node_attr(maker, "value") : NULL;
    if (!stored && attr && attr->type == OX_ATTR_TENSOR && !attr->ref)
        stored = attr->tensor;
    return stored && ox_dtype_is_half(stored->dtype) ? stored : NULL;
}

/* The float32 that a cast makes a half of; NULL: it is made otherwise, or of nothing, which is told when it runs. */
static struct ox_value *before_cast(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_node *maker = ox_made_by(rw, value, "Cast", false);
    struct ox_value *from = maker && maker->n_inputs ? maker->inputs[0] : NULL;
    const struct ox_type *type = from ? ox_rw_type(rw, from) : NULL;
    return type && type->kind == OX_TYPE_TENSOR && type->elem == OX_FLOAT32 ? from : NULL;
}

/* ---- Which nodes compute in float32 ------------------------------------------------------------------------------------ */

/* Whether an output's type variable in the schema is that of one of the half inputs, or, where the output is known to be of halves, of an
 * input that the node omits, as a cache is: the type of what is made then follows another input. */
static bool is_bound(struct ox_rewrite *rw, const struct ox_node *node,
                     const struct ox_schema *schema, int constraint, const struct ox_value *output)
{
    const bool half = is_half(rw, output);
    for (size_t i = 0; i < schema->n_inputs || i < node->n_inputs; i++) {
        const struct ox_schema_param *param = ox_param_at(schema->inputs, schema->n_inputs, i);
        const struct ox_value *value = ox_input(node, i);
        if (param && param->constraint == constraint && (value ? is_half(rw, value) : half))
            return true;
    }
    return false;
}

static bool takes_float32(const struct ox_schema_param *param)
{
    return param && param->constraint >= 0 && ox_param_takes(param, 't', OX_FLOAT32);
}

/* Whether all halves that the node is given are in float32 already, or constants beside such: a table that is looked up in stays as
 * small as it is. */
static bool is_given_wide(const struct widener *w, const struct ox_node *node)
{
    bool any = false, all = true;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *value = node->inputs[i];
        if (!is_half(w->rw, value))
            continue;
        const bool wide = w->wide[value->id] || before_cast(w->rw, value);
        any |= wide && !stored_halves(w->rw, value);
        all &= wide || stored_halves(w->rw, value);
    }
    return any && all;
}

/* Operators that take float32 as well, and make halves of halves alone. Those that have kernels for halves but no fast form in float32
 * gain by it only where they are given float32; a cast of what was cast or given rounds, as the model says. */
static bool can_widen(const struct widener *w, struct ox_node *node)
{
    enum { NOT = OX_OP_ANY_KIND | OX_OP_ROUNDED };
    struct ox_rewrite *rw = w->rw;
    const struct ox_op *op = ox_rw_op(rw, node);
    const struct ox_schema *schema =
        ox_schema_find(node->domain, node->op_type, ox_node_opset(node));
    bool any = false;
    if (!op || op->flags & NOT || !schema || ox_node_has_graphs(node) ||
        (op->flags & OX_OP_HALF && !op->fast && !is_given_wide(w, node)) ||
        (ox_is_op(node, "Cast") && !w->wide[node->inputs[0]->id]))
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!is_half(rw, node->inputs[i]))
            continue;
        any = true;
        if (!takes_float32(ox_param_at(schema->inputs, schema->n_inputs, i)))
            return false;
    }
    for (size_t i = 0; any && i < node->n_outputs; i++) {
        const struct ox_schema_param *param = ox_param_at(schema->outputs, schema->n_outputs, i);
        if (may_be_half(rw, node->outputs[i]) &&
            (!takes_float32(param) ||
             !is_bound(rw, node, schema, param->constraint, node->outputs[i])))
            return false;
    }
    return any;
}

/* ---- Values in float32 --------------------------------------------------------------------------------------------------- */

static const struct ox_type *wide_type(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_type *type = ox_rw_type(rw, value);
    return type->has_rank ? ox_rw_tensor_type(rw, OX_FLOAT32, type->rank, type->dims) : NULL;
}

static struct ox_value *new_wide(struct widener *w, const struct ox_value *value)
{
    return ox_rw_value(w->rw, value->name, wide_type(w->rw, value));
}

/* In float32, for `node`: a weight, what a cast was given, or by a cast. NULL: out of memory. */
static struct ox_value *want_wide(struct widener *w, struct ox_node *node, struct ox_value *value)
{
    struct ox_value *known = w->wide[value->id];
    if (!known)
        known = before_cast(w->rw, value);
    if (known)
        return w->wide[value->id] = known;
    const struct ox_stored *stored = stored_halves(w->rw, value);
    struct ox_value *made = new_wide(w, value);
    if (made && stored) {
        if (!ox_graph_add_wide_init(w->graph, made, stored))
            made = NULL;
    } else if (made) {
        struct ox_node *cast = ox_rw_insert(w->rw, node, "Cast", "", "", &value, 1, &made, 1);
        if (!cast || !ox_node_set_int(cast, "to", OX_FLOAT32))
            made = NULL;
    }
    w->rw->failed |= !made;
    return w->wide[value->id] = made;
}

/* What nobody needs as a half any more leaves its name to its float32. */
static void pass_name_on(struct widener *w, struct ox_value *value)
{
    struct ox_value *wide = w->wide[value->id];
    const struct ox_stored *narrow =
        wide->init && wide->init->place == OX_STORED_WIDE ? wide->init->narrow : NULL;
    if (wide->id < w->n_values || value->outer || value->is_input || ox_rw_is_pinned(w->rw, wide) ||
        (value->init && value->init != narrow))
        return;
    if (value->init)
        ox_rw_drop_const(w->rw, value);
    w->rw->failed |= !ox_value_swap_names(value, wide) ||
                     (narrow && !ox_graph_add_wide_init(w->graph, wide, narrow));
}

/* Makes the half that a node made before, for who else needs it. */
static void round_again(struct widener *w, struct ox_value *value, const struct ox_node *after)
{
    struct ox_value *wide = w->wide[value->id];
    const size_t next = (size_t)after->index + 1;
    enum ox_dtype to = ox_rw_type(w->rw, value)->elem;
    struct ox_node *before = next < w->n_nodes ? w->graph->nodes[next] : NULL;
    struct ox_node *cast = ox_rw_insert(w->rw, before, "Cast", "", "", &wide, 1, &value, 1);
    w->rw->failed |= !cast || !ox_node_set_int(cast, "to", to);
}

/* A bound that Clip has not been given is the end of its type: in float32 that of the halves must be named. */
static void name_bounds(struct ox_rewrite *rw, struct ox_node *node)
{
    enum { BOUNDED_BY_INPUTS = 11 };
    const float most = ox_rw_type(rw, node->inputs[0])->elem == OX_FLOAT16 ? 65504.0F : 0x1.FEp127F;
    struct ox_value *inputs[] = {node->inputs[0], ox_input(node, 1), ox_input(node, 2)};
    if (!ox_is_op(node, "Clip") || ox_node_opset(node) < BOUNDED_BY_INPUTS ||
        (inputs[1] && inputs[2]))
        return;
    for (int i = 1; i <= 2; i++) {
        const float bound = i == 1 ? -most : most;
        if (!inputs[i] && !(inputs[i] = ox_rw_floats(rw, node->name, 0, NULL, &bound)))
            return;
    }
    ox_rw_become(rw, node, "Clip", "", inputs, OX_COUNT(inputs));
}

static void widen(struct widener *w, struct ox_node *node)
{
    name_bounds(w->rw, node);
    for (size_t i = 0; i < node->n_inputs && !w->rw->failed; i++) {
        struct ox_value *wide;
        if (is_half(w->rw, node->inputs[i]) && (wide = want_wide(w, node, node->inputs[i])))
            ox_rw_set_input(w->rw, node, i, wide);
    }
    for (size_t i = 0; i < node->n_outputs && !w->rw->failed; i++) {
        struct ox_value *value = node->outputs[i];
        if (!is_half(w->rw, value))
            continue;
        struct ox_value *wide = w->wide[value->id] = new_wide(w, value);
        if (!wide)
            return;
        ox_rw_set_output(w->rw, node, i, wide);
    }
}

enum ox_status ox_pass_widen_halves(struct ox_rewrite *rw, struct ox_graph *graph,
                                    struct ox_error *err)
{
    struct widener w = {
        .rw = rw, .graph = graph, .n_values = graph->n_values, .n_nodes = graph->n_nodes};
    if (ox_graph_opset(graph, "") < CAST_TAKES_NUMBER || !mentions_half(graph))
        return OX_OK;
    /* Each node's outputs as they were: halves that somebody needs are made again in the end. */
    w.wide = ox_rw_scratch(rw, w.n_values, sizeof *w.wide);
    struct ox_node **maker = ox_rw_scratch(rw, w.n_values, sizeof *maker);
    for (size_t i = 0; i < w.n_nodes && w.wide && maker && !rw->failed; i++) {
        struct ox_node *node = graph->nodes[i];
        OX_TRY(ox_env_poll(rw->env, err));
        if (!can_widen(&w, node))
            continue;
        for (size_t k = 0; k < node->n_outputs; k++) {
            if (node->outputs[k])
                maker[node->outputs[k]->id] = node;
        }
        widen(&w, node);
    }
    for (size_t v = 0; v < w.n_values && maker && !rw->failed; v++) {
        struct ox_value *value = graph->values[v];
        if (!w.wide[v])
            continue;
        if (!ox_rw_n_uses(rw, value) && !ox_rw_is_pinned(rw, value) && !value->producer)
            pass_name_on(&w, value);
        else if (maker[v] && !value->producer)
            round_again(&w, value, maker[v]);
    }
    return OX_OK;
}
