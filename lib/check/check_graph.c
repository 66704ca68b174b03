/* A graph's names: each defined once, before it is read, hiding nothing of the graphs around it. */
#include <string.h>

#include "check/structure.h"
#include "model/value.h"
#include "proto/onnx.pb-c.h"

static bool *defined_flag(struct ox_checker *c, const struct ox_value *value)
{
    return &c->defined[value->graph->id][value->id];
}

/* Whether a graph around this one has passed the definition of that name. */
static bool hides_outer(struct ox_checker *c, const struct ox_graph *graph, const char *name)
{
    while (graph->parent) {
        graph = graph->parent->graph;
        const struct ox_value *value = ox_graph_value(graph, name);
        if (value && !value->outer && *defined_flag(c, value))
            return true;
    }
    return false;
}

static void check_inputs(struct ox_checker *c, const struct ox_graph *graph)
{
    bool is_main = graph == c->model->graph;
    for (size_t i = 0; i < graph->n_inputs; i++) {
        const struct ox_value *value = graph->inputs[i];
        const struct ox_place place = {.graph = graph, .tensor = value->name};
        bool *defined = defined_flag(c, value);
        if (*value->name && *defined)
            ox_findings_add(
                c->findings, graph->function ? OX_F_FUNCTION_INPUT_TWICE : OX_F_GRAPH_INPUT_TWICE,
                &place, NULL, "input %zu has the name '%s' of an earlier one", i, value->name);
        *defined = true;
    }
    for (size_t i = 0; graph->proto && i < graph->proto->n_input; i++)
        ox_check_value_info(c, graph, graph->proto->input[i], is_main);
}

/* An initializer that is the default of an input must be of the input's type. */
static void check_default(struct ox_checker *c, const struct ox_value *input,
                          const struct ox_stored *init)
{
    const struct ox_type *type = input->type;
    const struct ox_place place = {.graph = input->graph, .tensor = init->name};
    if (!type || type->kind != OX_TYPE_TENSOR)
        return;
    if (type->elem && type->elem != init->dtype) {
        ox_findings_add(c->findings, OX_F_INIT_INPUT_MISMATCH, &place, NULL,
                        "input is %s, its initializer %s", ox_dtype_name(type->elem),
                        ox_dtype_name(init->dtype));
        return;
    }
    if (type->has_rank && type->rank != init->rank) {
        ox_findings_add(c->findings, OX_F_INIT_INPUT_MISMATCH, &place, NULL,
                        "input has rank %u, its initializer %u", type->rank, init->rank);
        return;
    }
    for (unsigned k = 0; type->has_rank && k < type->rank; k++) {
        int64_t dim;
        if (ox_expr_is_int(type->dims[k], &dim) && dim >= 0 && dim != init->dims[k])
            ox_findings_add(c->findings, OX_F_INIT_INPUT_MISMATCH, &place, NULL,
                            "dimension %u of the input is %lld, of its initializer %lld", k,
                            (long long)dim, (long long)init->dims[k]);
    }
}

static void define_init(struct ox_checker *c, const struct ox_graph *graph, const char *name,
                        bool first)
{
    const struct ox_place place = {.graph = graph, .tensor = name};
    if (!name || !*name) {
        ox_findings_add(c->findings, OX_F_INIT_NAME_MISSING, &place, NULL,
                        "an initializer has no name");
        return;
    }
    const struct ox_value *value = ox_graph_value(graph, name);
    if (!first)
        ox_findings_add(c->findings, OX_F_INIT_TWICE, &place, NULL,
                        "initializer '%s' appears again", name);
    if (c->model->ir_version <= 3 && c->model->ir_version > 0 && value && !value->is_input)
        ox_findings_add(c->findings, OX_F_INIT_NOT_INPUT, &place,
                        "list it as an input too, or set ir_version to 4",
                        "initializer '%s' is no graph input, which IR version %lld asks for", name,
                        (long long)c->model->ir_version);
    if (value)
        *defined_flag(c, value) = true;
}

static void check_inits(struct ox_checker *c, const struct ox_graph *graph)
{
    for (size_t i = 0; i < graph->n_inits; i++) {
        const struct ox_stored *init = graph->inits[i];
        const struct ox_place place = {.graph = graph, .tensor = init->name};
        const struct ox_value *value = ox_graph_value(graph, init->name);
        define_init(c, graph, init->name, !value || value->init == init || !*init->name);
        ox_check_tensor(c, init, &place);
        if (value && value->is_input && value->init == init)
            check_default(c, value, init);
    }
    for (size_t i = 0; i < graph->n_sparse_inits; i++) {
        const struct ox_stored_sparse *init = graph->sparse_inits[i];
        const char *name = init->values ? init->values->name : "";
        const struct ox_place place = {.graph = graph, .tensor = name};
        const struct ox_value *value = ox_graph_value(graph, name);
        define_init(c, graph, name, !value || (value->sparse_init == init && !value->init));
        ox_check_sparse(c, init, &place);
    }
}

static void check_reads(struct ox_checker *c, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!node->inputs[i])
            continue;
        const struct ox_value *value = ox_value_origin(node->inputs[i]);
        const struct ox_place place = {.node = node, .tensor = value->name};
        if (*defined_flag(c, value))
            continue;
        if (value->producer)
            ox_findings_add(c->findings, OX_F_SSA_UNSORTED, &place, "sort the nodes topologically",
                            "input %zu '%s' is defined by a later node, a %s", i, value->name,
                            value->producer->op_type);
        else
            ox_findings_add(c->findings, OX_F_SSA_UNDEFINED, &place, NULL,
                            "input %zu '%s' is defined nowhere", i, value->name);
    }
}

static void define_outputs(struct ox_checker *c, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct ox_value *value = node->outputs[i];
        if (!value)
            continue;
        const struct ox_place place = {.node = node, .tensor = value->name};
        bool *defined = defined_flag(c, value);
        if (*defined)
            ox_findings_add(c->findings, OX_F_SSA_REDEFINED, &place, "rename one of them",
                            "output %zu '%s' has the name of an earlier value", i, value->name);
        else if (hides_outer(c, node->graph, value->name))
            ox_findings_add(c->findings, OX_F_SSA_REDEFINED, &place, "rename it",
                            "output %zu '%s' hides a value of an enclosing graph", i, value->name);
        *defined = true;
    }
}

static void check_outputs(struct ox_checker *c, const struct ox_graph *graph)
{
    bool is_main = graph == c->model->graph;
    for (size_t i = 0; i < graph->n_outputs; i++) {
        const struct ox_value *value = graph->outputs[i];
        const struct ox_place place = {.graph = graph, .tensor = value->name};
        if (*value->name && (value->outer || !*defined_flag(c, value)))
            ox_findings_add(c->findings,
                            graph->function ? OX_F_FUNCTION_OUTPUT_UNDEFINED
                                            : OX_F_GRAPH_OUTPUT_UNDEFINED,
                            &place, value->outer ? "pass it on by an Identity node" : NULL,
                            "output %zu '%s' is defined by no node of this graph", i, value->name);
        for (size_t k = 0; k < i && i < 1000; k++)
            if (graph->outputs[k] == value) {
                ox_findings_add(c->findings,
                                graph->function ? OX_F_FUNCTION_OUTPUT_TWICE
                                                : OX_F_GRAPH_OUTPUT_TWICE,
                                &place, NULL, "output %zu '%s' is listed again", i, value->name);
                break;
            }
    }
    for (size_t i = 0; graph->proto && i < graph->proto->n_output; i++)
        ox_check_value_info(c, graph, graph->proto->output[i], is_main);
}

static void check_value_infos(struct ox_checker *c, const struct ox_graph *graph)
{
    for (size_t i = 0; graph->proto && i < graph->proto->n_value_info; i++) {
        const struct Onnx__ValueInfoProto *info = graph->proto->value_info[i];
        const char *name = info->name ? info->name : "";
        const struct ox_value *value = ox_graph_value(graph, name);
        const struct ox_place place = {.graph = graph, .tensor = name};
        ox_check_value_info(c, graph, info, false);
        if (!value || (!value->producer && !value->is_input && !value->init && !value->sparse_init))
            ox_findings_add(c->findings, OX_F_GRAPH_VALUE_INFO_UNUSED, &place, NULL,
                            "value_info describes '%s', which is not in this graph", name);
        else if (value->info && value->info != info)
            ox_findings_add(c->findings, OX_F_GRAPH_VALUE_INFO_TWICE, &place, NULL,
                            "'%s' is described again", name);
    }
}

void ox_check_graph(struct ox_checker *c, const struct ox_graph *graph)
{
    const struct ox_place place = {.graph = graph};
    if (!graph->function || graph->parent)
        if (!graph->name || !*graph->name)
            ox_findings_add(c->findings, OX_F_GRAPH_NAME_MISSING, &place, NULL,
                            "the graph has no name");
    check_inputs(c, graph);
    check_inits(c, graph);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        check_reads(c, node);
        ox_check_node(c, node);
        define_outputs(c, node);
    }
    check_outputs(c, graph);
    check_value_infos(c, graph);
}
