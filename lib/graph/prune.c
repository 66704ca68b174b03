/* What nothing uses any more leaves the model. */
#include <stdlib.h>
#include <string.h>

#include "graph/extract.h"
#include "model/graph_impl.h"
#include "proto/onnx.pb-c.h"

/* ---- What is used -------------------------------------------------------------------------------------------------- */

struct pruner {
    struct ox_model *model;
    bool *used;   /* functions, by place */
    size_t *todo; /* those whose bodies were not looked at yet */
    size_t n_todo;
    bool *used_opset; /* by place in model->opsets */
};

static void use_domain(struct pruner *p, const char *domain)
{
    for (size_t i = 0; i < p->model->n_opsets; i++)
        p->used_opset[i] |= strcmp(p->model->opsets[i].domain, domain) == 0;
}

static void use_graph(struct pruner *p, const struct ox_graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        const struct ox_function *function =
            ox_model_function(p->model, node->domain, node->op_type, node->overload);
        /* Of functions too: who puts their nodes in place of the call reads them by the model's versions. */
        use_domain(p, node->domain);
        if (!function || p->used[function - p->model->functions])
            continue;
        p->used[function - p->model->functions] = true;
        p->todo[p->n_todo++] = (size_t)(function - p->model->functions);
    }
}

/* Graphs that stand in the main graph, or in functions that are called from there. */
static void find_used(struct pruner *p)
{
    for (size_t g = 0; g < p->model->n_graphs; g++) {
        const struct ox_graph *graph = p->model->graphs[g];
        if (ox_graph_root(graph) == p->model->graph)
            use_graph(p, graph);
    }
    while (p->n_todo) {
        const struct ox_function *function = &p->model->functions[p->todo[--p->n_todo]];
        for (size_t g = 0; g < p->model->n_graphs; g++)
            if (p->model->graphs[g]->function == function)
                use_graph(p, p->model->graphs[g]);
    }
}

/* ---- What goes ----------------------------------------------------------------------------------------------------- */

static void drop_others(struct ox_model *model)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        struct ox_graph *graph = model->graphs[g];
        graph->dropped = !graph->function && ox_graph_root(graph) != model->graph;
    }
    ox_model_drop_graphs(model);
}

/* Functions move together: what points to them follows. */
static void move_functions(struct ox_model *model, const bool *keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->n_functions; i++) {
        if (!keep[i])
            continue;
        for (size_t g = 0; g < model->n_graphs; g++)
            if (model->graphs[g]->function == &model->functions[i])
                model->graphs[g]->function = &model->functions[kept];
        model->functions[kept++] = model->functions[i];
    }
    if (kept == model->n_functions)
        return;
    model->n_functions = kept;
    ox_strmap_release(&model->function_names);
    ox_strmap_init(&model->function_names);
    for (size_t i = 0; i < kept; i++) {
        const struct ox_function *f = &model->functions[i];
        char *key = ox_arena_printf(&model->arena, "%s\n%s\n%s", f->domain, f->name, f->overload);
        uint32_t index = (uint32_t)i;
        if (key)
            ox_strmap_add(&model->function_names, key, strlen(key), &index, NULL);
    }
}

void ox_model_keep_functions(struct ox_model *model, const bool *keep)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        struct ox_graph *graph = model->graphs[g];
        graph->dropped = graph->function && !keep[graph->function - model->functions];
    }
    ox_model_drop_graphs(model);
    move_functions(model, keep);
}

static void drop_opsets(struct pruner *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->model->n_opsets; i++)
        if (p->used_opset[i])
            p->model->opsets[kept++] = p->model->opsets[i];
    /* A model without nodes must import something all the same. */
    if (kept || !p->model->n_opsets)
        p->model->n_opsets = kept;
    else
        p->model->n_opsets = 1;
}

/* In messages of its own: those of the file are shared by copies. */
static bool drop_entries(struct ox_model *model)
{
    if (!model->proto || !model->graph->proto)
        return true;
    const Onnx__GraphProto *given = model->graph->proto;
    const size_t n = given->n_quantization_annotation;
    Onnx__ModelProto *whole = ox_arena_array(&model->arena, 1, sizeof *whole);
    Onnx__GraphProto *graph = ox_arena_array(&model->arena, 1, sizeof *graph);
    Onnx__TensorAnnotation **kept = ox_arena_array(&model->arena, n + 1, sizeof(*kept));
    if (!whole || !graph || !kept)
        return false;
    *whole = *model->proto;
    *graph = *given;
    whole->graph = graph;
    whole->n_training_info = 0;
    graph->quantization_annotation = kept;
    graph->n_quantization_annotation = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = given->quantization_annotation[i]->tensor_name;
        const struct ox_value *value = name ? ox_graph_value(model->graph, name) : NULL;
        if (value && ox_value_defined(value))
            kept[graph->n_quantization_annotation++] = given->quantization_annotation[i];
    }
    model->proto = whole;
    model->graph->proto = graph;
    return true;
}

static enum ox_status no_room(const struct ox_model *model, struct ox_error *err)
{
    return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
}

enum ox_status ox_model_prune(struct ox_model *model, struct ox_error *err)
{
    struct pruner p = {.model = model};
    enum ox_status status = OX_OK;
    if (!model->graph)
        return OX_OK;
    p.used = calloc(model->n_functions + 1, sizeof *p.used);
    p.todo = calloc(model->n_functions + 1, sizeof *p.todo);
    p.used_opset = calloc(model->n_opsets + 1, sizeof *p.used_opset);
    if (p.used && p.todo && p.used_opset) {
        find_used(&p);
        drop_others(model);
        ox_model_keep_functions(model, p.used);
        drop_opsets(&p);
        status = drop_entries(model) ? OX_OK : no_room(model, err);
    } else {
        status = no_room(model, err);
    }
    free(p.used);
    free(p.todo);
    free(p.used_opset);
    return status;
}
