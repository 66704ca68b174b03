#include "model/lower.h"

#include <stdlib.h>
#include <string.h>

#include "model/graph_impl.h"
#include "model/lift.h"

/* ---- Values ------------------------------------------------------------------------------------------------------- */

/* An entry as it was, or with the type that the value was given since. */
static void emit_info(struct ox_emit *e, const struct ox_lower *lower, uint32_t field,
                      const struct ox_value *value, const Onnx__ValueInfoProto *entry)
{
    bool retyped = value->type && !value->type->proto;
    if (entry && !retyped) {
        ox_emit_message(e, field, &entry->base);
        return;
    }
    struct ox_emit_mark mark = ox_emit_begin(e, field);
    ox_lower_text(e, 1, value->name, entry ? entry->name : NULL);
    if (value->type)
        ox_lower_type(e, lower, 2, value->type, entry ? entry->type : NULL);
    if (entry) {
        ox_emit_text(e, 3, entry->doc_string);
        ox_emit_field(e, &entry->base, 4);
        ox_emit_unknown(e, &entry->base);
    }
    ox_emit_end(e, mark);
}

/* Inputs or outputs. They stand mostly where they stood in the file, so each entry is looked for from the last one on. */
static void emit_ports(struct ox_emit *e, const struct ox_lower *lower, uint32_t field,
                       struct ox_value *const *values, size_t n,
                       Onnx__ValueInfoProto *const *entries, size_t n_entries)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const Onnx__ValueInfoProto *entry = NULL;
        for (size_t tried = 0; tried < n_entries && !entry; tried++) {
            size_t j = at + tried < n_entries ? at + tried : at + tried - n_entries;
            if (strcmp(ox_text(entries[j]->name), values[i]->name) == 0) {
                entry = entries[j];
                at = j + 1 < n_entries ? j + 1 : 0;
            }
        }
        emit_info(e, lower, field, values[i], entry);
    }
}

/* The types of what is neither input nor output: the file's entries in their order, then new ones. */
static void emit_value_info(struct ox_emit *e, const struct ox_lower *lower, uint32_t field,
                            const struct ox_graph *graph, Onnx__ValueInfoProto *const *entries,
                            size_t n_entries)
{
    bool *listed = calloc(graph->n_values ? graph->n_values : 1, sizeof *listed);
    if (!listed) {
        struct ox_error err;
        ox_fail(&err, OX_NO_MEMORY, "%s: out of memory", graph->model->path);
        ox_emit_fail(e, OX_NO_MEMORY, &err);
        return;
    }
    for (size_t i = 0; i < n_entries; i++) {
        const struct ox_value *value = ox_graph_value(graph, ox_text(entries[i]->name));
        if (value && value->removed &&
            (value->is_input || value->outer || !ox_value_defined(value)))
            continue;
        if (value && !value->is_input && !value->is_output && !listed[value->id]) {
            listed[value->id] = true;
            emit_info(e, lower, field, value, entries[i]);
        } else {
            ox_emit_message(e, field, &entries[i]->base);
        }
    }
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        if (value->type && !value->type->proto && value->producer && !value->is_output &&
            !listed[i])
            emit_info(e, lower, field, value, NULL);
    }
    free(listed);
}

/* ---- Nodes and graphs ----------------------------------------------------------------------------------------------- */

static void emit_names(struct ox_emit *e, uint32_t field, struct ox_value *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ox_emit_text(e, field, values[i] ? values[i]->name : "");
}

/* The file's spelling where it means the same ("ai.onnx", an empty string or nothing). */
static void emit_domain(struct ox_emit *e, uint32_t field, const char *domain, bool from_file,
                        const char *in_file)
{
    if (from_file && strcmp(ox_domain(in_file), domain) == 0)
        ox_emit_text(e, field, in_file);
    else if (*domain)
        ox_emit_text(e, field, domain);
}

static void emit_node(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                      const struct ox_node *node)
{
    static const Onnx__NodeProto fresh = ONNX__NODE_PROTO__INIT;
    const Onnx__NodeProto *proto = node->proto ? node->proto : &fresh;
    struct ox_emit_mark mark = ox_emit_begin(e, field);
    emit_names(e, 1, node->inputs, node->n_inputs);
    emit_names(e, 2, node->outputs, node->n_outputs);
    ox_lower_text(e, 3, node->name, proto->name);
    ox_lower_text(e, 4, node->op_type, proto->op_type);
    for (size_t i = 0; i < node->n_attrs; i++)
        ox_lower_attr(e, lower, 5, &node->attrs[i]);
    ox_emit_text(e, 6, proto->doc_string);
    emit_domain(e, 7, node->domain, node->proto != NULL, proto->domain);
    ox_lower_text(e, 8, node->overload, proto->overload);
    ox_emit_field(e, &proto->base, 9);
    ox_emit_field(e, &proto->base, 10);
    ox_emit_unknown(e, &proto->base);
    ox_emit_end(e, mark);
}

void ox_lower_graph(struct ox_emit *e, struct ox_lower *lower, const struct ox_graph *graph)
{
    static const Onnx__GraphProto fresh = ONNX__GRAPH_PROTO__INIT;
    const Onnx__GraphProto *proto = graph->proto ? graph->proto : &fresh;
    for (size_t i = 0; i < graph->n_nodes && !ox_emit_failed(e); i++)
        emit_node(e, lower, 1, graph->nodes[i]);
    ox_lower_text(e, 2, graph->name, proto->name);
    for (size_t i = 0; i < graph->n_inits && !ox_emit_failed(e); i++)
        ox_lower_stored(e, lower, 5, graph->inits[i], true);
    ox_emit_text(e, 10, proto->doc_string);
    emit_ports(e, lower, 11, graph->inputs, graph->n_inputs, proto->input, proto->n_input);
    emit_ports(e, lower, 12, graph->outputs, graph->n_outputs, proto->output, proto->n_output);
    emit_value_info(e, lower, 13, graph, proto->value_info, proto->n_value_info);
    ox_emit_field(e, &proto->base, 14);
    for (size_t i = 0; i < graph->n_sparse_inits; i++)
        ox_lower_sparse(e, lower, 15, graph->sparse_inits[i]);
    ox_emit_field(e, &proto->base, 16);
    ox_emit_unknown(e, &proto->base);
}

/* ---- Functions ---------------------------------------------------------------------------------------------------- */

static void emit_opsets(struct ox_emit *e, uint32_t field, const struct ox_opset *opsets, size_t n,
                        Onnx__OperatorSetIdProto *const *protos, size_t n_protos)
{
    for (size_t i = 0; i < n; i++) {
        const Onnx__OperatorSetIdProto *proto = NULL;
        if (i < n_protos && strcmp(ox_domain(protos[i]->domain), opsets[i].domain) == 0)
            proto = protos[i];
        struct ox_emit_mark mark = ox_emit_begin(e, field);
        ox_emit_text(e, 1, proto ? proto->domain : opsets[i].domain);
        if (!proto || proto->has_version || opsets[i].version)
            ox_emit_int(e, 2, (uint64_t)opsets[i].version);
        if (proto)
            ox_emit_unknown(e, &proto->base);
        ox_emit_end(e, mark);
    }
}

static void emit_function(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                          const struct ox_function *function)
{
    static const Onnx__FunctionProto fresh = ONNX__FUNCTION_PROTO__INIT;
    const Onnx__FunctionProto *proto = function->proto ? function->proto : &fresh;
    const struct ox_graph *body = function->body;
    struct ox_emit_mark mark = ox_emit_begin(e, field);
    ox_lower_text(e, 1, function->name, proto->name);
    emit_names(e, 4, body->inputs, body->n_inputs);
    emit_names(e, 5, body->outputs, body->n_outputs);
    for (size_t i = 0; i < function->n_attr_names; i++)
        ox_emit_text(e, 6, function->attr_names[i]);
    for (size_t i = 0; i < body->n_nodes && !ox_emit_failed(e); i++)
        emit_node(e, lower, 7, body->nodes[i]);
    ox_emit_text(e, 8, proto->doc_string);
    emit_opsets(e, 9, function->opsets, function->n_opsets, proto->opset_import,
                proto->n_opset_import);
    emit_domain(e, 10, function->domain, function->proto != NULL, proto->domain);
    for (size_t i = 0; i < function->n_attr_defaults; i++)
        ox_lower_attr(e, lower, 11, &function->attr_defaults[i]);
    emit_value_info(e, lower, 12, body, proto->value_info, proto->n_value_info);
    ox_lower_text(e, 13, function->overload, proto->overload);
    ox_emit_field(e, &proto->base, 14);
    ox_emit_unknown(e, &proto->base);
    ox_emit_end(e, mark);
}

/* ---- The model ---------------------------------------------------------------------------------------------------- */

/* The training graph that was lifted from that message; they follow each other as in the file. */
static void emit_training_graph(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                                const Onnx__GraphProto *proto, size_t *at)
{
    const struct ox_model *model = lower->model;
    while (*at < model->n_graphs && model->graphs[*at]->proto != proto)
        ++*at;
    if (!proto || *at == model->n_graphs)
        return;
    struct ox_emit_mark mark = ox_emit_begin(e, field);
    ox_lower_graph(e, lower, model->graphs[*at]);
    ox_emit_end(e, mark);
}

static void emit_training(struct ox_emit *e, struct ox_lower *lower, const Onnx__ModelProto *proto)
{
    size_t at = 0;
    for (size_t i = 0; i < proto->n_training_info; i++) {
        const Onnx__TrainingInfoProto *info = proto->training_info[i];
        struct ox_emit_mark mark = ox_emit_begin(e, 20);
        if (info->initialization)
            emit_training_graph(e, lower, 1, info->initialization, &at);
        if (info->algorithm)
            emit_training_graph(e, lower, 2, info->algorithm, &at);
        ox_emit_field(e, &info->base, 3);
        ox_emit_field(e, &info->base, 4);
        ox_emit_unknown(e, &info->base);
        ox_emit_end(e, mark);
    }
}

void ox_lower_model(struct ox_emit *e, void *arg)
{
    static const Onnx__ModelProto fresh = ONNX__MODEL_PROTO__INIT;
    struct ox_lower *lower = arg;
    const struct ox_model *model = lower->model;
    const Onnx__ModelProto *proto = model->proto ? model->proto : &fresh;
    if (proto->has_ir_version || model->ir_version)
        ox_emit_int(e, 1, (uint64_t)model->ir_version);
    ox_lower_text(e, 2, model->producer_name, proto->producer_name);
    ox_lower_text(e, 3, model->producer_version, proto->producer_version);
    ox_lower_text(e, 4, model->model_domain, proto->domain);
    if (proto->has_model_version || model->model_version)
        ox_emit_int(e, 5, (uint64_t)model->model_version);
    ox_emit_text(e, 6, proto->doc_string);
    if (model->graph) {
        struct ox_emit_mark mark = ox_emit_begin(e, 7);
        ox_lower_graph(e, lower, model->graph);
        ox_emit_end(e, mark);
    }
    emit_opsets(e, 8, model->opsets, model->n_opsets, proto->opset_import, proto->n_opset_import);
    ox_emit_field(e, &proto->base, 14);
    emit_training(e, lower, proto);
    for (size_t i = 0; i < model->n_functions; i++)
        emit_function(e, lower, 25, &model->functions[i]);
    ox_emit_field(e, &proto->base, 26);
    ox_emit_unknown(e, &proto->base);
}
