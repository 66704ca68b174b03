#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/* Graphs, nodes, values and lists are made anew; names, constant data, types and messages are the original's. */
struct copier {
    const struct ox_model *from;
    struct ox_model *to;
    struct ox_error *err;
    bool failed;
};

static void *copy_array(struct copier *c, size_t n, size_t size)
{
    void *array = ox_arena_array(&c->to->arena, n ? n : 1, size);
    c->failed |= !array;
    return array;
}

static void *copy_bytes(struct copier *c, const void *from, size_t n, size_t size)
{
    void *to = copy_array(c, n, size);
    if (to && n)
        memcpy(to, from, n * size);
    return to;
}

/* What a value, a node or a graph of the original has become. */
static struct ox_graph *graph_of(const struct copier *c, const struct ox_graph *graph)
{
    return graph && !graph->dropped ? c->to->graphs[graph->id] : NULL;
}

static struct ox_value *value_of(const struct copier *c, const struct ox_value *value)
{
    struct ox_graph *graph = value ? graph_of(c, value->graph) : NULL;
    return graph ? graph->values[value->id] : NULL;
}

static struct ox_node *node_of(const struct copier *c, const struct ox_node *node)
{
    struct ox_graph *graph = node && node->index != UINT32_MAX ? graph_of(c, node->graph) : NULL;
    return graph ? graph->nodes[node->index] : NULL;
}

static struct ox_function *function_of(const struct copier *c, const struct ox_function *function)
{
    return function ? &c->to->functions[function - c->from->functions] : NULL;
}

static struct ox_value **value_list(struct copier *c, struct ox_value *const *from, size_t n)
{
    struct ox_value **to = copy_array(c, n, sizeof(struct ox_value *));
    for (size_t i = 0; to && i < n; i++)
        to[i] = value_of(c, from[i]);
    return to;
}

static struct ox_attr *attr_list(struct copier *c, const struct ox_attr *from, size_t n)
{
    struct ox_attr *to = copy_bytes(c, from, n, sizeof *to);
    for (size_t i = 0; to && i < n; i++) {
        bool graphs = ox_attr_has_graphs(&from[i]);
        if (!graphs || from[i].ref || !from[i].n)
            continue;
        struct ox_graph **list = copy_array(c, from[i].n, sizeof(struct ox_graph *));
        for (size_t g = 0; list && g < from[i].n; g++)
            list[g] = graph_of(c, from[i].graphs[g]);
        to[i].graphs = list;
    }
    return to;
}

/* First the values and bare nodes of all graphs, so that anything can point at them. */
static void start_graph(struct copier *c, const struct ox_graph *from, struct ox_graph *to)
{
    *to = *from;
    to->model = c->to;
    to->cap_values = from->n_values;
    to->cap_nodes = from->n_nodes;
    to->cap_inits = from->n_inits;
    ox_strmap_init(&to->names);
    to->values = copy_array(c, from->n_values, sizeof(struct ox_value *));
    to->nodes = copy_array(c, from->n_nodes, sizeof(struct ox_node *));
    struct ox_value *values = copy_array(c, from->n_values, sizeof *values);
    struct ox_node *nodes = copy_array(c, from->n_nodes, sizeof *nodes);
    if (c->failed)
        return;
    for (size_t i = 0; i < from->n_values; i++) {
        const char *name = from->values[i]->name;
        uint32_t id = (uint32_t)i;
        values[i] = *from->values[i];
        values[i].graph = to;
        to->values[i] = &values[i];
        if (*name && ox_graph_value(from, name) == from->values[i])
            c->failed |= !ox_strmap_add(&to->names, name, strlen(name), &id, NULL);
    }
    for (size_t i = 0; i < from->n_nodes; i++) {
        nodes[i] = *from->nodes[i];
        nodes[i].graph = to;
        nodes[i].place = (uint32_t)i + 1;
        to->nodes[i] = &nodes[i];
    }
}

static void finish_graph(struct copier *c, const struct ox_graph *from, struct ox_graph *to)
{
    to->parent = node_of(c, from->parent);
    to->scope = graph_of(c, from->scope);
    to->function = function_of(c, from->function);
    to->inputs = value_list(c, from->inputs, from->n_inputs);
    to->outputs = value_list(c, from->outputs, from->n_outputs);
    to->inits = copy_bytes(c, from->inits, from->n_inits, sizeof(struct ox_stored *));
    to->sparse_inits =
        copy_bytes(c, from->sparse_inits, from->n_sparse_inits, sizeof(struct ox_stored_sparse *));
    for (size_t i = 0; i < from->n_values; i++) {
        to->values[i]->producer = node_of(c, from->values[i]->producer);
        to->values[i]->outer = value_of(c, from->values[i]->outer);
    }
    for (size_t i = 0; i < from->n_nodes && !c->failed; i++) {
        const struct ox_node *node = from->nodes[i];
        to->nodes[i]->inputs = value_list(c, node->inputs, node->n_inputs);
        to->nodes[i]->outputs = value_list(c, node->outputs, node->n_outputs);
        to->nodes[i]->attrs = attr_list(c, node->attrs, node->n_attrs);
    }
}

static void copy_functions(struct copier *c)
{
    const struct ox_model *from = c->from;
    struct ox_model *to = c->to;
    for (size_t i = 0; i < from->n_functions && !c->failed; i++) {
        const struct ox_function *function = &from->functions[i];
        to->functions[i].body = graph_of(c, function->body);
        to->functions[i].opsets =
            copy_bytes(c, function->opsets, function->n_opsets, sizeof *function->opsets);
        to->functions[i].attr_defaults =
            attr_list(c, function->attr_defaults, function->n_attr_defaults);
        struct ox_strbuf key;
        ox_strbuf_init(&key);
        ox_strbuf_printf(&key, "%s\n%s\n%s", function->domain, function->name, function->overload);
        char *kept = ox_arena_text(&to->arena, &key);
        uint32_t index = (uint32_t)i;
        /* Of two the first is found. */
        c->failed |= !kept || !ox_strmap_add(&to->function_names, kept, key.len, &index, NULL);
        ox_strbuf_release(&key);
    }
}

static void copy_all(struct copier *c)
{
    const struct ox_model *from = c->from;
    struct ox_model *to = c->to;
    to->opsets = copy_bytes(c, from->opsets, from->n_opsets, sizeof *to->opsets);
    to->functions = copy_bytes(c, from->functions, from->n_functions, sizeof *to->functions);
    to->graphs = copy_array(c, from->n_graphs, sizeof(struct ox_graph *));
    struct ox_graph *graphs = copy_array(c, from->n_graphs, sizeof *graphs);
    if (c->failed)
        return;
    to->cap_graphs = from->n_graphs;
    for (size_t i = 0; i < from->n_graphs; i++) {
        to->graphs[to->n_graphs++] = &graphs[i];
        start_graph(c, from->graphs[i], &graphs[i]);
        if (c->failed)
            return;
    }
    for (size_t i = 0; i < from->n_graphs && !c->failed; i++)
        finish_graph(c, from->graphs[i], &graphs[i]);
    to->n_functions = from->n_functions;
    copy_functions(c);
    to->graph = graph_of(c, from->graph);
}

enum ox_status ox_model_copy(struct ox_model **out, const struct ox_model *model,
                             struct ox_error *err)
{
    struct ox_model *copy = calloc(1, sizeof *copy);
    if (!copy)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path);
    copy->origin = model->origin ? model->origin : model;
    copy->env = model->env;
    ox_arena_init(&copy->arena, ox_env_budget(model->env));
    ox_strmap_init(&copy->function_names);
    ox_strmap_init(&copy->all_names);
    copy->exprs = model->exprs;
    copy->map = model->map;
    copy->ir_version = model->ir_version;
    copy->producer_name = model->producer_name;
    copy->producer_version = model->producer_version;
    copy->model_domain = model->model_domain;
    copy->model_version = model->model_version;
    copy->n_opsets = model->n_opsets;
    copy->file_bytes = model->file_bytes;
    copy->payload_bytes = model->payload_bytes;
    copy->proto = model->proto;
    copy->path = strdup(model->path);
    copy->dir = model->dir ? strdup(model->dir) : NULL;
    struct copier c = {.from = model, .to = copy, .err = err};
    if (copy->path && (copy->dir || !model->dir))
        copy_all(&c);
    else
        c.failed = true;
    if (c.failed) {
        ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path);
        ox_model_release(copy);
        return OX_NO_MEMORY;
    }
    *out = copy;
    return OX_OK;
}
