/* An If whose condition is known gives way to the branch that it takes. */
#include "graph/match.h"

static bool stands_within(const struct ox_graph *graph, const struct ox_graph *outer)
{
    while (graph && graph != outer)
        graph = graph->scope;
    return graph != NULL;
}

/* Whether all of the branch can be copied: what is not good in every graph stays where it is. */
static bool can_move(const struct ox_rewrite *rw, const struct ox_graph *branch)
{
    enum { CONSTANTS_OF_ALL_TYPES = 9 };
    struct ox_model *model = rw->model;
    if (branch->n_inputs)
        return false;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        if (!stands_within(graph, branch))
            continue;
        if (graph->n_sparse_inits || ox_rw_clashes(rw, graph) ||
            (graph != branch && graph->n_inits &&
             ox_graph_opset(branch, "") < CONSTANTS_OF_ALL_TYPES))
            return false;
        for (size_t i = 0; i < graph->n_inits; i++) {
            const struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
            if (!value || value->is_input ||
                ox_stored_verify(model, graph->inits[i], NULL) != OX_OK)
                return false;
        }
    }
    return true;
}

/* NULL: not known. */
static const struct ox_graph *branch_taken(struct ox_rewrite *rw, const struct ox_node *node)
{
    const struct ox_value *condition = ox_input(node, 0);
    const struct ox_tensor *known = condition ? ox_rw_known(rw, condition) : NULL;
    if (!known || known->n != 1 || known->dtype != OX_BOOL)
        return NULL;
    const struct ox_attr *attr =
        ox_node_attr(node, ox_tensor_get_int(known, 0) ? "then_branch" : "else_branch");
    if (!attr || attr->ref || attr->type != OX_ATTR_GRAPH || !attr->n ||
        attr->graphs[0]->n_outputs < node->n_outputs)
        return NULL;
    return attr->graphs[0];
}

/* An output of a subgraph may be declared without a type. onnxruntime has none then where a node of an operator that it expands
 * makes it (SequenceMap's body), while an If tells that of its branches: so it gets one before the If leaves. */
static void declare_outputs(struct ox_rewrite *rw, struct ox_node *node)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        struct ox_value *value = node->outputs[i];
        enum ox_dtype dtype =
            value && value->is_output && !value->type ? ox_dtype_of_value(rw, value) : OX_UNDEFINED;
        if (dtype == OX_UNDEFINED)
            continue;
        struct ox_type *type = ox_arena_alloc(&rw->model->arena, sizeof *type);
        if (type)
            *type = (struct ox_type){.kind = OX_TYPE_TENSOR, .elem = dtype};
        rw->failed = rw->failed || !type;
        value->type = type;
    }
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    const struct ox_graph *branch = branch_taken(rw, node);
    if (!branch || !can_move(rw, branch))
        return;
    declare_outputs(rw, node);
    ox_rw_take_subgraph(rw, node, branch);
}

enum ox_status ox_pass_take_branches(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    return ox_rw_each(rw, graph, "If", look_at, err);
}
