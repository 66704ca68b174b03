/* Float32 inputs of the main graph that are cast to a 16-bit float, and outputs that are cast from one, have that type themselves. */
#include "graph/match.h"

static bool is_captured(const struct ox_rewrite *rw, const struct ox_value *value)
{
    for (size_t g = 0; g < rw->model->n_graphs; g++) {
        const struct ox_graph *inner = rw->model->graphs[g];
        for (size_t i = 0; inner != rw->graph && i < inner->n_values; i++)
            if (inner->values[i]->outer == value)
                return true;
    }
    return false;
}

static bool may_narrow(const struct ox_rewrite *rw, const struct ox_value *value)
{
    return value->type && value->type->kind == OX_TYPE_TENSOR && value->type->elem == OX_FLOAT32 &&
           !value->init && !is_captured(rw, value);
}

static bool narrow(struct ox_rewrite *rw, struct ox_value *value, enum ox_dtype dtype)
{
    struct ox_type *type = ox_arena_alloc(&rw->model->arena, sizeof *type);
    rw->failed |= !type;
    if (!type)
        return false;
    *type = *value->type;
    type->elem = dtype;
    type->proto = NULL;
    value->type = type;
    rw->n_changes++;
    return true;
}

static bool is_cast_to(const struct ox_node *node, enum ox_dtype dtype)
{
    return ox_is_op(node, "Cast") && ox_attr_int(node, "to", 0) == (int64_t)dtype;
}

/* Users of the value but casts to `dtype` get it in float32 by a cast, which stands before the first node, or before `cast`. */
static void widen_for_others(struct ox_rewrite *rw, struct ox_value *value, struct ox_value *from,
                             enum ox_dtype dtype, struct ox_node *before)
{
    struct ox_value *wide = NULL;
    for (const struct ox_use *use = ox_rw_uses(rw, value); use && !rw->failed;) {
        const struct ox_use current = *use;
        use = use->next;
        if (is_cast_to(current.node, dtype) || current.node->outputs[0] == wide)
            continue;
        if (!wide) {
            wide = ox_rw_value(rw, value->name, NULL);
            struct ox_node *cast =
                wide ? ox_rw_insert(rw, before, "Cast", "", "", &from, 1, &wide, 1) : NULL;
            if (!cast)
                return;
            rw->failed |= !ox_node_set_int(cast, "to", OX_FLOAT32);
        }
        ox_rw_set_input(rw, current.node, current.input, wide);
    }
}

static void narrow_input(struct ox_rewrite *rw, struct ox_value *x)
{
    enum ox_dtype dtype = OX_UNDEFINED;
    for (const struct ox_use *use = ox_rw_uses(rw, x); use && !dtype; use = use->next) {
        int64_t to = ox_is_op(use->node, "Cast") ? ox_attr_int(use->node, "to", 0) : 0;
        dtype = ox_dtype_is_half(to) ? (enum ox_dtype)to : OX_UNDEFINED;
    }
    if (dtype && !x->is_output && may_narrow(rw, x) && narrow(rw, x, dtype))
        widen_for_others(rw, x, x, dtype, rw->graph->nodes[0]);
}

static void narrow_output(struct ox_rewrite *rw, struct ox_value *y)
{
    struct ox_node *cast = y->producer;
    struct ox_value *half = cast && is_cast_to(cast, OX_FLOAT32) ? ox_input(cast, 0) : NULL;
    enum ox_dtype dtype = half ? ox_dtype_of_value(rw, half) : OX_UNDEFINED;
    if (!ox_dtype_is_half(dtype) || y->is_input || ox_rw_gone(rw, cast) || !may_narrow(rw, y) ||
        !narrow(rw, y, dtype))
        return;
    widen_for_others(rw, y, half, dtype, cast);
    rw->failed |= !ox_node_set_int(cast, "to", dtype);
}

/* Casts of an input, or to an output, of the type that it has now. */
static void drop_casts(struct ox_rewrite *rw, struct ox_graph *graph)
{
    for (size_t i = 0, n = graph->n_nodes; i < n; i++) {
        struct ox_node *node = graph->nodes[i];
        const struct ox_value *x = ox_rw_gone(rw, node) ? NULL : ox_input(node, 0);
        const struct ox_value *y = x && node->n_outputs ? node->outputs[0] : NULL;
        const struct ox_value *end = !y ? NULL : x->is_input ? x : y->is_output ? y : NULL;
        enum ox_dtype dtype = end && end->type ? end->type->elem : OX_UNDEFINED;
        if (ox_dtype_is_half(dtype) && is_cast_to(node, dtype) &&
            (end == x || ox_dtype_of_value(rw, x) == dtype))
            ox_rw_bypass(rw, node, node->inputs[0]);
    }
}

enum ox_status ox_pass_narrow_ends(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    OX_TRY(ox_env_poll(rw->env, err));
    if (graph != rw->model->graph)
        return OX_OK;
    for (size_t i = 0; i < graph->n_outputs && !rw->failed; i++)
        narrow_output(rw, graph->outputs[i]);
    for (size_t i = 0; i < graph->n_inputs && !rw->failed; i++)
        narrow_input(rw, graph->inputs[i]);
    drop_casts(rw, graph);
    return OX_OK;
}
