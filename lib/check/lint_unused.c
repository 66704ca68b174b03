/* Nodes and initializers from which nothing follows. */
#include <stdlib.h>

#include "check/linter.h"
#include "model/name.h"
#include "model/value.h"

/* Of one graph: by value id and by place of the node. */
struct reach {
    const struct ox_graph *graph;
    bool *used; /* by any node or as an output */
    bool *live; /* nodes that an output follows from */
    const struct ox_node **todo;
    size_t n_todo;
};

static void need(struct reach *r, const struct ox_value *value)
{
    if (!value || value->graph != r->graph)
        return;
    const struct ox_node *node = value->producer;
    if (!node || r->live[node->index])
        return;
    r->live[node->index] = true;
    r->todo[r->n_todo++] = node;
}

/* What the node takes, graphs within it too. */
static void each_input(struct reach *r, const struct ox_node *node,
                       void (*what)(struct reach *r, const struct ox_value *value))
{
    for (size_t i = 0; i < node->n_inputs; i++)
        what(r, node->inputs[i]);
    struct ox_captures at = {.node = node};
    for (const struct ox_value *outer; (outer = ox_captures_next(&at));)
        what(r, outer);
}

static void use(struct reach *r, const struct ox_value *value)
{
    if (value && value->graph == r->graph)
        r->used[value->id] = true;
}

/* Training graphs take from the main graph without a node between. */
static void use_by_training(struct reach *r)
{
    const struct ox_model *model = r->graph->model;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        if (graph->parent || graph->scope != r->graph)
            continue;
        for (size_t i = 0; i < graph->n_values; i++) {
            use(r, graph->values[i]->outer);
            need(r, graph->values[i]->outer);
        }
    }
}

static void report(struct ox_linter *lint, const struct reach *r)
{
    const struct ox_graph *graph = r->graph;
    struct ox_name shown;
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (!r->live[i])
            ox_findings_add(lint->findings, OX_F_LINT_DEAD_NODE,
                            &(struct ox_place){.node = graph->nodes[i]}, "remove it",
                            "no output follows from this %s",
                            ox_name(&shown, graph->nodes[i]->op_type));
    for (size_t i = 0; i < graph->n_inits; i++) {
        const struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
        if (value && !r->used[value->id])
            ox_findings_add(lint->findings, OX_F_LINT_UNUSED_INIT,
                            &(struct ox_place){.graph = graph, .tensor = value->name}, "remove it",
                            "no node uses initializer '%s'", ox_name(&shown, value->name));
    }
}

static enum ox_status lint_graph(struct ox_linter *lint, const struct ox_graph *graph)
{
    struct reach r = {.graph = graph,
                      .used = calloc(graph->n_values + 1, sizeof *r.used),
                      .live = calloc(graph->n_nodes + 1, sizeof *r.live),
                      .todo = calloc(graph->n_nodes + 1, sizeof(*r.todo))};
    enum ox_status status = OX_OK;
    if (r.used && r.live && r.todo) {
        for (size_t i = 0; i < graph->n_outputs; i++) {
            use(&r, graph->outputs[i]);
            need(&r, graph->outputs[i]);
        }
        if (graph == graph->model->graph)
            use_by_training(&r);
        while (r.n_todo)
            each_input(&r, r.todo[--r.n_todo], need);
        for (size_t i = 0; i < graph->n_nodes; i++)
            each_input(&r, graph->nodes[i], use);
        report(lint, &r);
    } else {
        status = ox_lint_no_memory(lint);
    }
    free(r.used);
    free(r.live);
    free((void *)r.todo);
    return status;
}

enum ox_status ox_lint_unused(struct ox_linter *lint)
{
    for (size_t g = 0; g < lint->model->n_graphs; g++) {
        const struct ox_graph *graph = lint->model->graphs[g];
        /* A training graph's outputs are bound to variables by name. */
        if (graph->parent || graph == lint->model->graph || graph->function)
            OX_TRY(lint_graph(lint, graph));
    }
    return ox_env_poll(lint->model->env, lint->err);
}
