#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "model/external.h"
#include "model/graph_impl.h"
#include "proto/onnx.pb-c.h"

void ox_model_release(struct ox_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->n_graphs; i++)
        ox_strmap_release(&model->graphs[i]->names);
    for (struct ox_owned *owned = model->owned; owned; owned = owned->next)
        ox_tensor_release(owned->tensor);
    ox_strmap_release(&model->function_names);
    ox_strmap_release(&model->all_names);
    ox_externals_release(model->externals);
    if (!model->origin) {
        ox_exprs_release(model->exprs);
        ox_mapping_release(&model->map);
        free(model->packed);
    }
    ox_arena_release(&model->arena);
    free(model->path);
    free(model->dir);
    free(model);
}

/* ---- Looking up --------------------------------------------------------------------------------------------------- */

int64_t ox_graph_opset(const struct ox_graph *graph, const char *domain)
{
    const struct ox_function *function = graph->function;
    const struct ox_opset *opsets = function ? function->opsets : graph->model->opsets;
    size_t n = function ? function->n_opsets : graph->model->n_opsets;
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    /* Of two imports of a domain the last one counts, as for onnx. */
    for (size_t i = n; i-- > 0;) {
        if (strcmp(opsets[i].domain, domain) == 0)
            return opsets[i].version;
    }
    return 0;
}

const struct ox_attr *ox_node_attr(const struct ox_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i].name, name) == 0)
            return &node->attrs[i];
    }
    return NULL;
}

bool ox_attr_has_graphs(const struct ox_attr *attr)
{
    return attr->type == OX_ATTR_GRAPH || attr->type == OX_ATTR_GRAPHS;
}

bool ox_node_has_graphs(const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_attrs; i++) {
        if (ox_attr_has_graphs(&node->attrs[i]))
            return true;
    }
    return false;
}

struct ox_value *ox_graph_value(const struct ox_graph *graph, const char *name)
{
    uint32_t index = ox_strmap_find(&graph->names, name, strlen(name));
    return index == OX_STRMAP_NONE ? NULL : graph->values[index];
}

const struct ox_function *ox_model_function(const struct ox_model *model, const char *domain,
                                            const char *name, const char *overload)
{
    if (!model->n_functions)
        return NULL;
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    size_t lengths[3] = {strlen(domain), strlen(name), strlen(overload)};
    size_t n = lengths[0] + lengths[1] + lengths[2] + 2;
    char small[256];
    char *key = n < sizeof small ? small : malloc(n + 1);
    if (!key)
        return NULL;
    snprintf(key, n + 1, "%s\n%s\n%s", domain, name, overload);
    uint32_t index = ox_strmap_find(&model->function_names, key, n);
    if (key != small)
        free(key);
    return index == OX_STRMAP_NONE ? NULL : &model->functions[index];
}

/* ---- Values ------------------------------------------------------------------------------------------------------- */

bool ox_graph_reserve(struct ox_graph *graph, void *array, size_t n, size_t *capacity)
{
    if (n < *capacity)
        return true;
    size_t more = *capacity < 8 ? 16 : *capacity * 2;
    void *old, *grown = ox_arena_array(&graph->model->arena, more, sizeof(void *));
    if (!grown)
        return false;
    memcpy(&old, array, sizeof old);
    if (n)
        memcpy(grown, old, n * sizeof(void *));
    memcpy(array, &grown, sizeof grown);
    *capacity = more;
    return true;
}

static struct ox_value *append_value(struct ox_graph *graph, const char *name)
{
    struct ox_value *value = ox_arena_alloc(&graph->model->arena, sizeof *value);
    if (!value)
        return NULL;
    value->name = name;
    value->graph = graph;
    value->id = (uint32_t)graph->n_values;
    graph->values[graph->n_values++] = value;
    return value;
}

struct ox_value *ox_graph_define(struct ox_graph *graph, const char *name, bool *is_new)
{
    *is_new = true;
    if (graph->n_values >= OX_STRMAP_NONE - 1 ||
        !ox_graph_reserve(graph, &graph->values, graph->n_values, &graph->cap_values))
        return NULL;
    uint32_t id = (uint32_t)graph->n_values;
    if (*name && !ox_strmap_add(&graph->names, name, strlen(name), &id, is_new))
        return NULL;
    return *is_new ? append_value(graph, name) : graph->values[id];
}

struct ox_value *ox_graph_resolve(struct ox_graph *graph, const char *name)
{
    bool is_new;
    struct ox_value *result = ox_graph_define(graph, name, &is_new);
    if (!result || !is_new)
        return result;
    struct ox_value *found = NULL;
    struct ox_graph *scope = graph->scope;
    for (; scope; scope = scope->scope) {
        found = ox_graph_value(scope, name);
        if (found && ox_value_defined(found))
            break;
    }
    if (!scope)
        return result;
    struct ox_value *inner = result;
    for (struct ox_graph *between = graph->scope; between != scope; between = between->scope) {
        struct ox_value *value = ox_graph_define(between, name, &is_new);
        if (!value)
            return NULL;
        inner->outer = value;
        inner = value;
    }
    inner->outer = found;
    return result;
}

/* ---- Naming things ------------------------------------------------------------------------------------------------ */

void ox_node_label(struct ox_strbuf *out, const struct ox_node *node)
{
    if (*node->name)
        ox_strbuf_puts(out, node->name);
    else
        ox_strbuf_printf(out, "#%u", (unsigned)node->index);
}

const struct ox_graph *ox_graph_root(const struct ox_graph *graph)
{
    while (graph->parent)
        graph = graph->parent->graph;
    return graph;
}

void ox_graph_path(struct ox_strbuf *out, const struct ox_graph *graph)
{
    size_t depth = 0;
    const struct ox_graph *root = ox_graph_root(graph);
    for (const struct ox_graph *at = graph; at != root; at = at->parent->graph)
        depth++;
    if (root->function) {
        ox_strbuf_printf(out, "function %s:%s", root->function->domain, root->function->name);
        if (*root->function->overload)
            ox_strbuf_printf(out, ":%s", root->function->overload);
    } else if (root->parent_attr) {
        ox_strbuf_puts(out, root->parent_attr);
    }
    bool first = !root->function && !root->parent_attr;
    for (; depth > 0; depth--) {
        const struct ox_graph *at = graph;
        for (size_t up = 1; up < depth; up++)
            at = at->parent->graph;
        if (!first)
            ox_strbuf_putc(out, '.');
        first = false;
        ox_node_label(out, at->parent);
        ox_strbuf_putc(out, '.');
        ox_strbuf_puts(out, at->parent_attr);
    }
}
