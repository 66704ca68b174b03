#include <stdlib.h>
#include <string.h>

#include "model/graph_impl.h"
#include "model/model.h"

/* ---- Values ------------------------------------------------------------------------------------------------------- */

/* Names in all graphs: a new one must neither clash in its graph nor capture or shadow across graphs. */
static bool collect_names(struct ox_model *model)
{
    if (model->names_collected)
        return true;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_values; i++) {
            const char *name = graph->values[i]->name;
            uint32_t one = 1;
            if (!ox_strmap_add(&model->all_names, name, strlen(name), &one, NULL))
                return false;
        }
    }
    model->names_collected = true;
    return true;
}

static char *unique_name(struct ox_model *model, const char *name)
{
    if (!collect_names(model))
        return NULL;
    char *tried = name && *name ? ox_arena_strdup(&model->arena, name) : NULL;
    while (!tried || ox_strmap_find(&model->all_names, tried, strlen(tried)) != OX_STRMAP_NONE) {
        unsigned number = ++model->fresh_names;
        tried = name && *name ? ox_arena_printf(&model->arena, "%s_%u", name, number)
                              : ox_arena_printf(&model->arena, "value_%u", number);
        if (!tried)
            return NULL;
    }
    uint32_t one = 1;
    return ox_strmap_add(&model->all_names, tried, strlen(tried), &one, NULL) ? tried : NULL;
}

struct ox_value *ox_graph_add_value(struct ox_graph *graph, const char *name)
{
    char *unique = unique_name(graph->model, name);
    bool is_new;
    return unique ? ox_graph_define(graph, unique, &is_new) : NULL;
}

bool ox_model_import(struct ox_model *model, const char *domain, int64_t version)
{
    for (size_t i = model->n_opsets; i-- > 0;) {
        if (strcmp(model->opsets[i].domain, domain) == 0) {
            model->opsets[i].version = version;
            return true;
        }
    }
    struct ox_opset *opsets =
        ox_arena_array(&model->arena, model->n_opsets + 1, sizeof *model->opsets);
    char *name = ox_arena_strdup(&model->arena, domain);
    if (!opsets || !name)
        return false;
    if (model->n_opsets)
        memcpy(opsets, model->opsets, model->n_opsets * sizeof *opsets);
    opsets[model->n_opsets] = (struct ox_opset){name, version};
    model->opsets = opsets;
    model->n_opsets++;
    return true;
}

static bool has_contrib_nodes(const struct ox_model *model)
{
    for (size_t i = 0; i < model->n_graphs; i++) {
        const struct ox_graph *graph = model->graphs[i];
        for (size_t k = 0; k < graph->n_nodes && !graph->function; k++)
            if (strcmp(graph->nodes[k]->domain, "com.microsoft") == 0)
                return true;
    }
    return false;
}

enum ox_status ox_model_assume_contrib(struct ox_model *model, bool *assumed, struct ox_error *err)
{
    bool imports = false;
    for (size_t i = 0; i < model->n_opsets; i++)
        imports = imports || strcmp(model->opsets[i].domain, "com.microsoft") == 0;
    const bool lacks = !imports && has_contrib_nodes(model);
    if (lacks && !ox_model_import(model, "com.microsoft", 1))
        return ox_no_memory(err);
    *assumed = lacks;
    return OX_OK;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

struct ox_node *ox_graph_add_node(struct ox_graph *graph, const char *op_type, const char *domain,
                                  const char *name, struct ox_value *const *inputs, size_t n_inputs,
                                  struct ox_value *const *outputs, size_t n_outputs)
{
    struct ox_arena *arena = &graph->model->arena;
    struct ox_node *node = ox_arena_alloc(arena, sizeof *node);
    if (!node || graph->n_nodes >= UINT32_MAX ||
        !ox_graph_reserve(graph, &graph->nodes, graph->n_nodes, &graph->cap_nodes))
        return NULL;
    node->name = ox_arena_strdup(arena, name ? name : "");
    node->op_type = ox_arena_strdup(arena, op_type);
    node->domain = ox_arena_strdup(arena, domain && strcmp(domain, "ai.onnx") != 0 ? domain : "");
    node->overload = "";
    node->inputs = ox_arena_copy(arena, inputs, n_inputs * sizeof(*inputs));
    node->outputs = ox_arena_copy(arena, outputs, n_outputs * sizeof(*outputs));
    if (!node->name || !node->op_type || !node->domain || !node->inputs || !node->outputs)
        return NULL;
    node->n_inputs = n_inputs;
    node->n_outputs = n_outputs;
    node->graph = graph;
    node->index = (uint32_t)graph->n_nodes;
    graph->nodes[graph->n_nodes++] = node;
    for (size_t i = 0; i < n_outputs; i++) {
        if (!outputs[i])
            continue;
        outputs[i]->producer = node;
        outputs[i]->output_index = (unsigned)i;
        outputs[i]->removed = false;
    }
    return node;
}

void ox_model_drop_graphs(struct ox_model *model)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->n_graphs; i++) {
        struct ox_graph *graph = model->graphs[i];
        if (graph->dropped) {
            ox_strmap_release(&graph->names);
            continue;
        }
        graph->id = (uint32_t)kept;
        model->graphs[kept++] = graph;
    }
    model->n_graphs = kept;
}

/* Graphs in the attributes of nodes that are gone, and what they enclose, leave the model's list. */
static void drop_enclosed(struct ox_model *model)
{
    for (size_t i = 0; i < model->n_graphs; i++) {
        struct ox_graph *graph = model->graphs[i];
        /* A scope stands before what it encloses, so its own mark is set by now. */
        graph->dropped =
            graph->parent && (graph->parent->index == UINT32_MAX || graph->parent->graph->dropped);
    }
    ox_model_drop_graphs(model);
}

void ox_graph_remove_nodes(struct ox_graph *graph, const bool *remove)
{
    size_t kept = 0;
    bool had_graphs = false;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        if (!remove[i]) {
            node->index = (uint32_t)kept;
            graph->nodes[kept++] = node;
            continue;
        }
        node->index = UINT32_MAX;
        for (size_t j = 0; j < node->n_outputs; j++) {
            struct ox_value *value = node->outputs[j];
            if (value && value->producer == node) {
                value->producer = NULL;
                value->removed = true;
            }
        }
        had_graphs |= ox_node_has_graphs(node);
    }
    graph->n_nodes = kept;
    if (had_graphs)
        drop_enclosed(graph->model);
}

/* ---- Initializers ------------------------------------------------------------------------------------------------- */

static bool own_tensor(struct ox_model *model, const struct ox_tensor *tensor)
{
    struct ox_owned *owned = ox_arena_alloc(&model->arena, sizeof *owned);
    if (!owned)
        return false;
    owned->tensor = ox_tensor_ref(tensor);
    owned->next = model->owned;
    model->owned = owned;
    return true;
}

struct ox_stored *ox_model_store(struct ox_model *model, const char *name,
                                 const struct ox_tensor *tensor)
{
    struct ox_stored *stored = ox_arena_alloc(&model->arena, sizeof *stored);
    char *copy = ox_arena_strdup(&model->arena, name ? name : "");
    if (!stored || !copy || !own_tensor(model, tensor))
        return NULL;
    *stored = (struct ox_stored){
        .name = copy,
        .dtype = tensor->dtype,
        .data_type = (int32_t)tensor->dtype,
        .rank = tensor->rank,
        .dims = tensor->dims,
        .place = OX_STORED_TENSOR,
        .tensor = model->owned->tensor,
    };
    return stored;
}

static struct ox_stored *add_stored(struct ox_graph *graph, struct ox_value *value,
                                    struct ox_stored *stored)
{
    for (size_t i = 0; value->init && i < graph->n_inits; i++) {
        if (graph->inits[i] == value->init) {
            graph->inits[i] = stored;
            value->init = stored;
            return stored;
        }
    }
    if (graph->cap_inits < graph->n_inits)
        graph->cap_inits = graph->n_inits;
    if (!ox_graph_reserve(graph, &graph->inits, graph->n_inits, &graph->cap_inits))
        return NULL;
    graph->inits[graph->n_inits++] = stored;
    value->init = stored;
    value->removed = false;
    return stored;
}

struct ox_stored *ox_graph_add_init(struct ox_graph *graph, struct ox_value *value,
                                    const struct ox_tensor *tensor)
{
    struct ox_stored *stored = ox_model_store(graph->model, value->name, tensor);
    return stored ? add_stored(graph, value, stored) : NULL;
}

struct ox_stored *ox_graph_add_wide_init(struct ox_graph *graph, struct ox_value *value,
                                         const struct ox_stored *narrow)
{
    struct ox_stored *stored = ox_arena_copy(&graph->model->arena, narrow, sizeof *stored);
    if (!stored || (narrow->tensor && !own_tensor(graph->model, narrow->tensor)))
        return NULL;
    stored->name = value->name;
    stored->dtype = OX_FLOAT32;
    stored->data_type = OX_FLOAT32;
    stored->place = OX_STORED_WIDE;
    stored->tensor = NULL;
    stored->narrow = narrow;
    return add_stored(graph, value, stored);
}

void ox_graph_drop_init(struct ox_graph *graph, struct ox_value *value)
{
    const struct ox_stored *stored = value->init;
    /* what is dropped was mostly added last: both lists are searched from there */
    size_t i = graph->n_inits;
    while (i > 0 && graph->inits[i - 1] != stored)
        i--;
    if (i > 0) {
        memmove(&graph->inits[i - 1], &graph->inits[i],
                (graph->n_inits - i) * sizeof(struct ox_stored *));
        graph->n_inits--;
    }
    value->init = NULL;
    value->removed = true;
    for (struct ox_owned *owned = graph->model->owned; owned; owned = owned->next) {
        if (stored->tensor && owned->tensor == stored->tensor) {
            ox_tensor_release(owned->tensor);
            owned->tensor = NULL;
            return;
        }
    }
}

void ox_graph_remove_inits(struct ox_graph *graph, const bool *remove)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_inits; i++) {
        if (!remove[i]) {
            graph->inits[kept++] = graph->inits[i];
            continue;
        }
        struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
        if (value && value->init == graph->inits[i]) {
            value->init = NULL;
            value->removed = true;
        }
    }
    graph->n_inits = kept;
}

void ox_model_free_inits(struct ox_model *model)
{
    struct ox_graph *graph = model->graph;
    size_t kept = 0;
    if (!graph || model->ir_version < 1 || model->ir_version > 3)
        return;
    for (size_t i = 0; i < graph->n_inputs; i++) {
        struct ox_value *value = graph->inputs[i];
        value->is_input = !value->init;
        if (value->is_input)
            graph->inputs[kept++] = value;
    }
    graph->n_inputs = kept;
    model->ir_version = 4;
}

/* NULL: no memory. */
static const struct ox_type *without_symbols(struct ox_model *model, const struct ox_type *type)
{
    struct ox_type *copy = ox_arena_copy(&model->arena, type, sizeof *type);
    int64_t number;
    if (!copy || (type->inner && !(copy->inner = without_symbols(model, type->inner))))
        return NULL;
    if (!type->has_rank)
        return copy;
    copy->dims = ox_arena_array(&model->arena, type->rank + 1, sizeof *copy->dims);
    for (unsigned i = 0; copy->dims && i < type->rank; i++)
        copy->dims[i] =
            type->dims[i] && ox_expr_is_int(type->dims[i], &number) ? type->dims[i] : NULL;
    return copy->dims ? copy : NULL;
}

bool ox_model_drop_symbols(struct ox_model *model)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_values; i++) {
            struct ox_value *value = graph->values[i];
            if (value->type && !(value->type = without_symbols(model, value->type)))
                return false;
        }
    }
    return true;
}

/* ---- Names of nodes ------------------------------------------------------------------------------------------------ */

/* The node keeps its name if it is the first of it, else gets one that none has. */
static bool own_name(struct ox_strmap *names, struct ox_node *node)
{
    struct ox_model *model = node->graph->model;
    const char *name = node->name;
    bool is_new;
    for (;;) {
        uint32_t index = node->index;
        if (!ox_strmap_add(names, name, strlen(name), &index, &is_new))
            return false;
        if (is_new || index == node->index)
            break;
        name = ox_arena_printf(&model->arena, "%s_%u", node->name, ++model->fresh_names);
        if (!name)
            return false;
    }
    node->name = name;
    return true;
}

bool ox_model_part_names(struct ox_model *model)
{
    bool good = true;
    for (size_t g = 0; g < model->n_graphs && good; g++) {
        struct ox_graph *graph = model->graphs[g];
        struct ox_strmap names;
        ox_strmap_init(&names);
        for (size_t i = 0; i < 2 * graph->n_nodes && good; i++) {
            struct ox_node *node = graph->nodes[i % graph->n_nodes];
            if (*node->name && !node->proto == (i >= graph->n_nodes))
                good = own_name(&names, node);
        }
        ox_strmap_release(&names);
    }
    return good;
}

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

struct ox_attr *ox_node_add_attr(struct ox_node *node, const char *name, enum ox_attr_type type)
{
    struct ox_arena *arena = &node->graph->model->arena;
    struct ox_attr *attr = NULL;
    for (size_t i = 0; i < node->n_attrs && !attr; i++) {
        if (strcmp(node->attrs[i].name, name) == 0)
            attr = &node->attrs[i];
    }
    const char *copy = attr ? attr->name : ox_arena_strdup(arena, name);
    if (!copy)
        return NULL;
    if (!attr) {
        struct ox_attr *attrs = ox_arena_array(arena, node->n_attrs + 1, sizeof *attrs);
        if (!attrs)
            return NULL;
        if (node->n_attrs)
            memcpy(attrs, node->attrs, node->n_attrs * sizeof *attrs);
        node->attrs = attrs;
        attr = &attrs[node->n_attrs++];
    }
    *attr = (struct ox_attr){.name = copy, .type = type};
    return attr;
}

void ox_node_drop_attr(struct ox_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attrs; i++)
        if (strcmp(node->attrs[i].name, name) == 0) {
            memmove(&node->attrs[i], &node->attrs[i + 1],
                    (node->n_attrs - i - 1) * sizeof *node->attrs);
            node->n_attrs--;
            return;
        }
}

bool ox_node_set_int(struct ox_node *node, const char *name, int64_t value)
{
    struct ox_attr *attr = ox_node_add_attr(node, name, OX_ATTR_INT);
    if (!attr)
        return false;
    attr->i = value;
    attr->n = 1;
    return true;
}

bool ox_node_set_float(struct ox_node *node, const char *name, float value)
{
    struct ox_attr *attr = ox_node_add_attr(node, name, OX_ATTR_FLOAT);
    if (!attr)
        return false;
    attr->f = value;
    attr->n = 1;
    return true;
}

bool ox_node_set_ints(struct ox_node *node, const char *name, const int64_t *values, size_t n)
{
    int64_t *copy = ox_arena_copy(&node->graph->model->arena, values, n * sizeof *values);
    struct ox_attr *attr = copy ? ox_node_add_attr(node, name, OX_ATTR_INTS) : NULL;
    if (!attr)
        return false;
    attr->ints = copy;
    attr->n = n;
    return true;
}

bool ox_node_set_string(struct ox_node *node, const char *name, const char *value)
{
    char *copy = ox_arena_strdup(&node->graph->model->arena, value);
    struct ox_attr *attr = copy ? ox_node_add_attr(node, name, OX_ATTR_STRING) : NULL;
    if (!attr)
        return false;
    attr->s = (struct ox_str){copy, strlen(copy)};
    attr->n = 1;
    return true;
}

bool ox_node_set_tensor(struct ox_node *node, const char *name, const struct ox_tensor *tensor)
{
    struct ox_stored *stored = ox_model_store(node->graph->model, NULL, tensor);
    struct ox_attr *attr = stored ? ox_node_add_attr(node, name, OX_ATTR_TENSOR) : NULL;
    if (!attr)
        return false;
    attr->tensor = stored;
    attr->n = 1;
    return true;
}
