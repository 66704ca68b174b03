#include "model/lift.h"

#include <string.h>

#include "model/graph_impl.h"

static enum ox_status no_room(const struct ox_model *model, struct ox_error *err)
{
    return ox_no_room(model->arena.budget, 1 << 20, model->path, err);
}

enum ox_status ox_lift_new_graph(struct ox_graph **out, struct ox_model *model,
                                 const Onnx__GraphProto *proto, struct ox_error *err)
{
    struct ox_graph *graph = NULL;
    OX_TRY(ox_model_array(&graph, model, 1, sizeof *graph, err));
    if (model->n_graphs == model->cap_graphs) {
        size_t capacity = model->cap_graphs ? model->cap_graphs * 2 : 8;
        struct ox_graph **graphs;
        OX_TRY(ox_model_array(&graphs, model, capacity, sizeof *graphs, err));
        if (model->n_graphs)
            memcpy(graphs, model->graphs, model->n_graphs * sizeof *graphs);
        model->graphs = graphs;
        model->cap_graphs = capacity;
    }
    graph->model = model;
    graph->id = (uint32_t)model->n_graphs;
    graph->proto = proto;
    graph->name = proto ? ox_text(proto->name) : "";
    ox_strmap_init(&graph->names);
    model->graphs[model->n_graphs++] = graph;
    *out = graph;
    return OX_OK;
}

static enum ox_status define(struct ox_value **out, struct ox_graph *graph, const char *name,
                             struct ox_error *err)
{
    bool is_new;
    *out = ox_graph_define(graph, name, &is_new);
    return *out ? OX_OK : no_room(graph->model, err);
}

/* What a graph's output means: also a captured or an undefined name. */
static enum ox_status resolve_output(struct ox_value **out, struct ox_graph *graph,
                                     const char *name, struct ox_error *err)
{
    if (!*name)
        return define(out, graph, name, err);
    *out = ox_graph_resolve(graph, name);
    return *out ? OX_OK : no_room(graph->model, err);
}

/* The names that the definitions of the graph will need room for, at most. */
static enum ox_status reserve_values(struct ox_graph *graph, size_t n_others,
                                     Onnx__NodeProto *const *nodes, size_t n_nodes,
                                     struct ox_error *err)
{
    size_t n = n_others + 1;
    for (size_t i = 0; i < n_nodes; i++)
        n += nodes[i]->n_output;
    graph->cap_values = n;
    if (!ox_strmap_reserve(&graph->names, n))
        return no_room(graph->model, err);
    return ox_model_array(&graph->values, graph->model, n, sizeof *graph->values, err);
}

/* ---- Inputs, outputs, initializers -------------------------------------------------------------------------------- */

static enum ox_status declare(struct ox_value *value, const Onnx__ValueInfoProto *info,
                              struct ox_error *err)
{
    if (value->type || !info->type)
        return OX_OK;
    value->info = info;
    return ox_lift_type(&value->type, value->graph->model, info->type, err);
}

static enum ox_status lift_inputs(struct ox_graph *graph, struct ox_error *err)
{
    const Onnx__GraphProto *proto = graph->proto;
    OX_TRY(
        ox_model_array(&graph->inputs, graph->model, proto->n_input, sizeof *graph->inputs, err));
    for (size_t i = 0; i < proto->n_input; i++) {
        struct ox_value *value;
        OX_TRY(define(&value, graph, ox_text(proto->input[i]->name), err));
        value->is_input = true;
        graph->inputs[graph->n_inputs++] = value;
        OX_TRY(declare(value, proto->input[i], err));
    }
    return OX_OK;
}

static enum ox_status lift_inits(struct ox_graph *graph, struct ox_error *err)
{
    const Onnx__GraphProto *proto = graph->proto;
    struct ox_model *model = graph->model;
    struct ox_stored *stored = NULL;
    OX_TRY(ox_model_array(&graph->inits, model, proto->n_initializer, sizeof *graph->inits, err));
    OX_TRY(ox_model_array(&stored, model, proto->n_initializer, sizeof *stored, err));
    for (size_t i = 0; i < proto->n_initializer; i++) {
        ox_lift_stored(&stored[i], proto->initializer[i]);
        graph->inits[graph->n_inits++] = &stored[i];
        if (!*stored[i].name)
            continue;
        struct ox_value *value;
        OX_TRY(define(&value, graph, stored[i].name, err));
        if (!value->init)
            value->init = &stored[i];
    }
    return OX_OK;
}

static enum ox_status lift_sparse_inits(struct ox_graph *graph, struct ox_error *err)
{
    const Onnx__GraphProto *proto = graph->proto;
    struct ox_model *model = graph->model;
    size_t n = proto->n_sparse_initializer;
    struct ox_stored_sparse *sparse = NULL;
    OX_TRY(ox_model_array(&graph->sparse_inits, model, n, sizeof *graph->sparse_inits, err));
    OX_TRY(ox_model_array(&sparse, model, n, sizeof *sparse, err));
    for (size_t i = 0; i < n; i++) {
        OX_TRY(ox_lift_sparse(&sparse[i], model, proto->sparse_initializer[i], err));
        graph->sparse_inits[graph->n_sparse_inits++] = &sparse[i];
        if (!sparse[i].values || !*sparse[i].values->name)
            continue;
        struct ox_value *value;
        OX_TRY(define(&value, graph, sparse[i].values->name, err));
        if (!value->sparse_init)
            value->sparse_init = &sparse[i];
    }
    return OX_OK;
}

/* Behind the nodes, so that an output may also be a captured or an undefined name. */
static enum ox_status lift_outputs(struct ox_graph *graph, struct ox_error *err)
{
    const Onnx__GraphProto *proto = graph->proto;
    OX_TRY(ox_model_array(&graph->outputs, graph->model, proto->n_output, sizeof *graph->outputs,
                          err));
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = ox_text(proto->output[i]->name);
        struct ox_value *value;
        OX_TRY(resolve_output(&value, graph, name, err));
        value->is_output = true;
        graph->outputs[graph->n_outputs++] = value;
        OX_TRY(declare(value, proto->output[i], err));
    }
    return OX_OK;
}

static enum ox_status lift_infos(struct ox_graph *graph, Onnx__ValueInfoProto *const *infos,
                                 size_t n, struct ox_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct ox_value *value;
        if (!*ox_text(infos[i]->name))
            continue;
        OX_TRY(define(&value, graph, ox_text(infos[i]->name), err));
        OX_TRY(declare(value, infos[i], err));
    }
    return OX_OK;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

/* All but inputs, which may mean what stands further down. */
static enum ox_status lift_node(struct ox_node *node, const Onnx__NodeProto *proto,
                                struct ox_error *err)
{
    struct ox_graph *graph = node->graph;
    struct ox_model *model = graph->model;
    node->name = ox_text(proto->name);
    node->op_type = ox_text(proto->op_type);
    node->domain = ox_domain(proto->domain);
    node->overload = ox_text(proto->overload);
    node->proto = proto;
    OX_TRY(ox_model_array(&node->outputs, model, proto->n_output, sizeof *node->outputs, err));
    node->n_outputs = proto->n_output;
    for (size_t i = 0; i < proto->n_output; i++) {
        if (!*proto->output[i])
            continue;
        struct ox_value *value;
        OX_TRY(define(&value, graph, proto->output[i], err));
        if (!value->producer) {
            value->producer = node;
            value->output_index = (unsigned)i;
        }
        node->outputs[i] = value;
    }
    OX_TRY(ox_lift_attrs(&node->attrs, model, proto->attribute, proto->n_attribute, node,
                         graph->function, err));
    node->n_attrs = proto->n_attribute;
    return OX_OK;
}

static enum ox_status lift_node_inputs(struct ox_node *node, struct ox_error *err)
{
    const Onnx__NodeProto *proto = node->proto;
    OX_TRY(ox_model_array(&node->inputs, node->graph->model, proto->n_input, sizeof *node->inputs,
                          err));
    node->n_inputs = proto->n_input;
    for (size_t i = 0; i < proto->n_input; i++) {
        if (!*proto->input[i])
            continue;
        node->inputs[i] = ox_graph_resolve(node->graph, proto->input[i]);
        if (!node->inputs[i])
            return no_room(node->graph->model, err);
    }
    return OX_OK;
}

static enum ox_status lift_nodes(struct ox_graph *graph, Onnx__NodeProto *const *protos, size_t n,
                                 struct ox_error *err)
{
    struct ox_model *model = graph->model;
    struct ox_node *nodes = NULL;
    OX_TRY(ox_model_array(&nodes, model, n, sizeof *nodes, err));
    OX_TRY(ox_model_array(&graph->nodes, model, n, sizeof *graph->nodes, err));
    graph->cap_nodes = n;
    for (size_t i = 0; i < n; i++) {
        nodes[i].graph = graph;
        nodes[i].index = (uint32_t)i;
        graph->nodes[graph->n_nodes++] = &nodes[i];
        OX_TRY(lift_node(&nodes[i], protos[i], err));
        if (i % 1024 == 0)
            OX_TRY(ox_env_poll(model->env, err));
    }
    for (size_t i = 0; i < n; i++)
        OX_TRY(lift_node_inputs(&nodes[i], err));
    return OX_OK;
}

static enum ox_status lift_graph(struct ox_graph *graph, struct ox_error *err)
{
    const Onnx__GraphProto *proto = graph->proto;
    OX_TRY(reserve_values(graph,
                          proto->n_input + proto->n_initializer + proto->n_sparse_initializer,
                          proto->node, proto->n_node, err));
    OX_TRY(lift_inputs(graph, err));
    OX_TRY(lift_inits(graph, err));
    OX_TRY(lift_sparse_inits(graph, err));
    OX_TRY(lift_nodes(graph, proto->node, proto->n_node, err));
    OX_TRY(lift_outputs(graph, err));
    return lift_infos(graph, proto->value_info, proto->n_value_info, err);
}

/* ---- Functions ---------------------------------------------------------------------------------------------------- */

static enum ox_status lift_function_body(struct ox_graph *graph, const Onnx__FunctionProto *proto,
                                         struct ox_error *err)
{
    struct ox_model *model = graph->model;
    OX_TRY(reserve_values(graph, proto->n_input, proto->node, proto->n_node, err));
    OX_TRY(ox_model_array(&graph->inputs, model, proto->n_input, sizeof *graph->inputs, err));
    for (size_t i = 0; i < proto->n_input; i++) {
        struct ox_value *value;
        OX_TRY(define(&value, graph, proto->input[i], err));
        value->is_input = true;
        graph->inputs[graph->n_inputs++] = value;
    }
    OX_TRY(lift_nodes(graph, proto->node, proto->n_node, err));
    OX_TRY(ox_model_array(&graph->outputs, model, proto->n_output, sizeof *graph->outputs, err));
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = proto->output[i];
        struct ox_value *value;
        OX_TRY(resolve_output(&value, graph, name, err));
        value->is_output = true;
        graph->outputs[graph->n_outputs++] = value;
    }
    return lift_infos(graph, proto->value_info, proto->n_value_info, err);
}

static enum ox_status lift_opsets(struct ox_opset **out, struct ox_model *model,
                                  Onnx__OperatorSetIdProto *const *protos, size_t n,
                                  struct ox_error *err)
{
    struct ox_opset *opsets = NULL;
    OX_TRY(ox_model_array(&opsets, model, n, sizeof *opsets, err));
    for (size_t i = 0; i < n; i++)
        opsets[i] = (struct ox_opset){ox_domain(protos[i]->domain), protos[i]->version};
    *out = opsets;
    return OX_OK;
}

static enum ox_status lift_function(struct ox_function *function, struct ox_model *model,
                                    const Onnx__FunctionProto *proto, struct ox_error *err)
{
    *function = (struct ox_function){
        .domain = ox_domain(proto->domain),
        .name = ox_text(proto->name),
        .overload = ox_text(proto->overload),
        .attr_names = (const char *const *)proto->attribute,
        .n_attr_names = proto->n_attribute,
        .n_attr_defaults = proto->n_attribute_proto,
        .n_opsets = proto->n_opset_import,
        .proto = proto,
    };
    OX_TRY(lift_opsets(&function->opsets, model, proto->opset_import, proto->n_opset_import, err));
    OX_TRY(ox_lift_attrs(&function->attr_defaults, model, proto->attribute_proto,
                         proto->n_attribute_proto, NULL, function, err));
    OX_TRY(ox_lift_new_graph(&function->body, model, NULL, err));
    function->body->name = function->name;
    function->body->function = function;
    return OX_OK;
}

static enum ox_status lift_functions(struct ox_model *model, struct ox_error *err)
{
    const Onnx__ModelProto *proto = model->proto;
    uint64_t limit = model->env->limits.functions;
    if (limit && proto->n_functions > limit)
        return ox_fail(err, OX_LIMIT, "%s: %zu functions are more than %llu (limit functions)",
                       model->path, proto->n_functions, (unsigned long long)limit);
    OX_TRY(ox_model_array(&model->functions, model, proto->n_functions, sizeof *model->functions,
                          err));
    for (size_t i = 0; i < proto->n_functions; i++) {
        struct ox_function *function = &model->functions[i];
        OX_TRY(lift_function(function, model, proto->functions[i], err));
        model->n_functions++;
        char *key = ox_arena_printf(&model->arena, "%s\n%s\n%s", function->domain, function->name,
                                    function->overload);
        uint32_t index = (uint32_t)i;
        if (!key || !ox_strmap_add(&model->function_names, key, strlen(key), &index, NULL))
            return no_room(model, err);
    }
    return OX_OK;
}

/* ---- The model ---------------------------------------------------------------------------------------------------- */

static enum ox_status lift_training(struct ox_model *model, const Onnx__GraphProto *proto, size_t i,
                                    const char *part, struct ox_graph *scope, struct ox_error *err)
{
    if (!proto)
        return OX_OK;
    struct ox_graph *graph = NULL;
    OX_TRY(ox_lift_new_graph(&graph, model, proto, err));
    graph->scope = scope;
    graph->parent_attr = ox_arena_printf(&model->arena, "training_info[%zu].%s", i, part);
    return graph->parent_attr ? OX_OK : no_room(model, err);
}

enum ox_status ox_lift_model(struct ox_model *model, struct ox_error *err)
{
    const Onnx__ModelProto *proto = model->proto;
    model->ir_version = proto->ir_version;
    model->producer_name = ox_text(proto->producer_name);
    model->producer_version = ox_text(proto->producer_version);
    model->model_domain = ox_text(proto->domain);
    model->model_version = proto->model_version;
    OX_TRY(lift_opsets(&model->opsets, model, proto->opset_import, proto->n_opset_import, err));
    model->n_opsets = proto->n_opset_import;
    if (proto->graph)
        OX_TRY(ox_lift_new_graph(&model->graph, model, proto->graph, err));
    OX_TRY(lift_functions(model, err));
    for (size_t i = 0; i < proto->n_training_info; i++) {
        const Onnx__TrainingInfoProto *info = proto->training_info[i];
        OX_TRY(lift_training(model, info->initialization, i, "initialization", NULL, err));
        OX_TRY(lift_training(model, info->algorithm, i, "algorithm", model->graph, err));
    }
    /* Graphs in attributes queue up behind; each stands after the graph that it may capture from. */
    for (size_t i = 0; i < model->n_graphs; i++) {
        struct ox_graph *graph = model->graphs[i];
        if (graph->proto)
            OX_TRY(lift_graph(graph, err));
        else
            OX_TRY(lift_function_body(graph, graph->function->proto, err));
    }
    return OX_OK;
}
