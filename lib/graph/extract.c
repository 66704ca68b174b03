/* A part of the main graph made the whole of it. */
#include "graph/extract.h"
#include "model/value.h"

#include <stdlib.h>
#include <string.h>

#include "model/graph_impl.h"
#include "shape/shapes.h"

struct extraction {
    struct ox_model *model;
    struct ox_graph *graph;
    const struct ox_shapes *shapes;
    struct ox_value **inputs, **outputs;
    size_t n_inputs, n_outputs;
    bool *stop;            /* by value id: given, nothing before it is needed */
    bool *needed;          /* by value id */
    bool *keep;            /* by place of a node */
    struct ox_node **todo; /* nodes whose inputs were not looked at yet */
    size_t n_todo;
    struct ox_error *err;
};

/* FILE: before 'NAME' after */
static enum ox_status fail(const struct extraction *x, const char *before, const char *name,
                           const char *after)
{
    char shown[OX_SHOWN_BYTES];
    return ox_fail(x->err, OX_USAGE, "%s: %s'%s'%s", x->model->path ? x->model->path : "model",
                   before, ox_shown(shown, name, strlen(name)), after);
}

static enum ox_status no_memory(const struct extraction *x)
{
    return ox_fail(x->err, OX_NO_MEMORY, "%s: out of memory",
                   x->model->path ? x->model->path : "model");
}

/* ---- What is needed ------------------------------------------------------------------------------------------------ */

static enum ox_status find_values(struct extraction *x, const char *const *names, size_t n,
                                  struct ox_value **values)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = ox_graph_value(x->graph, names[i]);
        if (!values[i] || !ox_value_defined(values[i]))
            return fail(x, "there is no value ", names[i], " in the main graph");
        for (size_t k = 0; k < i; k++)
            if (values[k] == values[i])
                return fail(x, "", names[i], " is named twice");
    }
    return OX_OK;
}

static enum ox_status need(struct extraction *x, const struct ox_value *value)
{
    if (!value || value->graph != x->graph || x->needed[value->id])
        return OX_OK;
    x->needed[value->id] = true;
    if (x->stop[value->id] || value->init || value->sparse_init)
        return OX_OK;
    if (!value->producer)
        return value->is_input ? fail(x, "the input ", value->name,
                                      " is needed too, but is not among those given")
                               : fail(x, "", value->name, " is needed, but nothing makes it");
    if (!x->keep[value->producer->index]) {
        x->keep[value->producer->index] = true;
        x->todo[x->n_todo++] = value->producer;
    }
    return OX_OK;
}

/* Inputs, and what graphs within the node take from this one. */
static enum ox_status need_inputs(struct extraction *x, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        OX_TRY(need(x, node->inputs[i]));
    struct ox_captures at = {.node = node};
    for (const struct ox_value *outer; (outer = ox_captures_next(&at));)
        OX_TRY(need(x, outer));
    return OX_OK;
}

static enum ox_status find_needed(struct extraction *x)
{
    for (size_t i = 0; i < x->n_inputs; i++)
        x->stop[x->inputs[i]->id] = true;
    for (size_t i = 0; i < x->n_outputs; i++)
        OX_TRY(need(x, x->outputs[i]));
    while (x->n_todo)
        OX_TRY(need_inputs(x, x->todo[--x->n_todo]));
    return OX_OK;
}

/* ---- The cut ------------------------------------------------------------------------------------------------------- */

static enum ox_status declare(struct extraction *x, struct ox_value *value)
{
    return ox_shapes_declare(x->shapes, x->model, value, x->err);
}

/* A node that stays although one of its outputs is an input now makes something else under that place. */
static enum ox_status detach(struct extraction *x, struct ox_value *value)
{
    struct ox_node *node = value->producer;
    if (node && x->keep[node->index]) {
        struct ox_value *other = ox_graph_add_value(x->graph, NULL);
        if (!other)
            return no_memory(x);
        other->producer = node;
        other->output_index = value->output_index;
        node->outputs[value->output_index] = other;
    }
    value->producer = NULL;
    return OX_OK;
}

static enum ox_status make_inputs(struct extraction *x)
{
    struct ox_graph *graph = x->graph;
    size_t n = 0;
    struct ox_value **list =
        ox_arena_array(&x->model->arena, x->n_inputs + graph->n_inputs + 1, sizeof(*list));
    if (!list)
        return no_memory(x);
    for (size_t i = 0; i < x->n_inputs; i++) {
        struct ox_value *value = x->inputs[i];
        if (!value->is_input) {
            OX_TRY(declare(x, value));
            OX_TRY(detach(x, value));
        }
        list[n++] = value;
    }
    for (size_t i = 0; i < graph->n_inputs; i++) {
        struct ox_value *value = graph->inputs[i];
        if (!x->stop[value->id] && x->needed[value->id] && (value->init || value->sparse_init))
            list[n++] = value; /* a default */
        value->is_input = false;
    }
    for (size_t i = 0; i < n; i++) {
        list[i]->is_input = true;
        list[i]->removed = true; /* what value_info says of it, its entry among the inputs does */
    }
    graph->inputs = list;
    graph->n_inputs = n;
    return OX_OK;
}

static enum ox_status make_outputs(struct extraction *x)
{
    struct ox_graph *graph = x->graph;
    struct ox_value **list = ox_arena_array(&x->model->arena, x->n_outputs + 1, sizeof(*list));
    if (!list)
        return no_memory(x);
    for (size_t i = 0; i < graph->n_outputs; i++)
        graph->outputs[i]->is_output = false;
    for (size_t i = 0; i < x->n_outputs; i++) {
        list[i] = x->outputs[i];
        OX_TRY(declare(x, list[i]));
        list[i]->is_output = true;
    }
    graph->outputs = list;
    graph->n_outputs = x->n_outputs;
    return OX_OK;
}

/* A value that is given is no constant any more, unless its initializer is a default. */
static bool keeps_init(const struct extraction *x, const struct ox_value *value, bool was_input)
{
    return value && x->needed[value->id] && (!x->stop[value->id] || was_input);
}

static enum ox_status drop_inits(struct extraction *x, const bool *was_input)
{
    struct ox_graph *graph = x->graph;
    bool *remove = calloc(graph->n_inits + 1, sizeof *remove);
    size_t kept = 0;
    if (!remove)
        return no_memory(x);
    for (size_t i = 0; i < graph->n_inits; i++) {
        const struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
        remove[i] = !keeps_init(x, value, value && was_input[value->id]);
    }
    ox_graph_remove_inits(graph, remove);
    free(remove);
    for (size_t i = 0; i < graph->n_sparse_inits; i++) {
        struct ox_stored_sparse *sparse = graph->sparse_inits[i];
        struct ox_value *value =
            sparse->values ? ox_graph_value(graph, sparse->values->name) : NULL;
        if (keeps_init(x, value, value && was_input[value->id]))
            graph->sparse_inits[kept++] = sparse;
        else if (value && value->sparse_init == sparse)
            value->sparse_init = NULL;
    }
    graph->n_sparse_inits = kept;
    return OX_OK;
}

static enum ox_status cut(struct extraction *x)
{
    struct ox_graph *graph = x->graph;
    size_t n_values = graph->n_values;
    bool *was_input = calloc(n_values + 1, sizeof *was_input);
    bool *remove = calloc(graph->n_nodes + 1, sizeof *remove);
    enum ox_status status = was_input && remove ? OX_OK : no_memory(x);
    if (status == OX_OK) {
        for (size_t i = 0; i < n_values; i++)
            was_input[i] = graph->values[i]->is_input;
        for (size_t i = 0; i < graph->n_nodes; i++)
            remove[i] = !x->keep[i];
        status = make_outputs(x);
    }
    if (status == OX_OK)
        status = make_inputs(x);
    if (status == OX_OK)
        status = drop_inits(x, was_input);
    if (status == OX_OK) {
        ox_graph_remove_nodes(graph, remove);
        status = ox_model_prune(x->model, x->err);
    }
    free(was_input);
    free(remove);
    return status;
}

/* ---- All of it ----------------------------------------------------------------------------------------------------- */

/* Those of the graph's own inputs that are needed: asked for once it is known. */
static void own_inputs(struct extraction *x)
{
    for (size_t i = 0; i < x->graph->n_inputs; i++) {
        struct ox_value *value = x->graph->inputs[i];
        if (!value->init && !value->sparse_init && *value->name)
            x->inputs[x->n_inputs++] = value;
    }
}

static void leave_unneeded(struct extraction *x)
{
    size_t kept = 0;
    for (size_t i = 0; i < x->n_inputs; i++)
        if (x->needed[x->inputs[i]->id])
            x->inputs[kept++] = x->inputs[i];
    x->n_inputs = kept;
}

static enum ox_status extract(struct extraction *x, const char *const *inputs, size_t n_inputs,
                              const char *const *outputs, size_t n_outputs)
{
    OX_TRY(find_values(x, inputs, n_inputs, x->inputs));
    OX_TRY(find_values(x, outputs, n_outputs, x->outputs));
    x->n_inputs = n_inputs;
    x->n_outputs = n_outputs;
    if (n_inputs == 0)
        own_inputs(x);
    OX_TRY(find_needed(x));
    if (n_inputs == 0)
        leave_unneeded(x);
    for (size_t i = 0; i < x->n_inputs; i++)
        if (!x->needed[x->inputs[i]->id])
            return fail(x, "no output needs ", x->inputs[i]->name, "");
    return cut(x);
}

enum ox_status ox_extract(struct ox_model *model, const struct ox_shapes *shapes,
                          const char *const *inputs, size_t n_inputs, const char *const *outputs,
                          size_t n_outputs, struct ox_error *err)
{
    struct extraction x = {.model = model, .graph = model->graph, .shapes = shapes, .err = err};
    if (!model->graph)
        return ox_fail(err, OX_INPUT, "%s: there is no graph", model->path ? model->path : "model");
    x.inputs = calloc(n_inputs + model->graph->n_inputs + 1, sizeof(*x.inputs));
    x.outputs = calloc(n_outputs + 1, sizeof(*x.outputs));
    x.stop = calloc(model->graph->n_values + 1, sizeof *x.stop);
    x.needed = calloc(model->graph->n_values + 1, sizeof *x.needed);
    x.keep = calloc(model->graph->n_nodes + 1, sizeof *x.keep);
    x.todo = calloc(model->graph->n_nodes + 1, sizeof(*x.todo));
    enum ox_status status = OX_NO_MEMORY;
    if (x.inputs && x.outputs && x.stop && x.needed && x.keep && x.todo)
        status = extract(&x, inputs, n_inputs, outputs, n_outputs);
    else
        no_memory(&x);
    free((void *)x.inputs);
    free((void *)x.outputs);
    free(x.stop);
    free(x.needed);
    free(x.keep);
    free((void *)x.todo);
    return status;
}
