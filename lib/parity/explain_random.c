/* Evidence of chance: operators that draw random numbers, alone, in the graphs of others or in the functions they call. */
#include <string.h>

#include "parity/causes.h"

enum { MOST_FUNCTIONS = 64 };

/* The standard calls every operator that holds a graph non-deterministic: not by that are these found. */
static bool is_random(const struct ox_node *node)
{
    static const char *const ops[] = {"Bernoulli",     "Multinomial",      "RandomNormal",
                                      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
    for (size_t i = 0; i < OX_COUNT(ops); i++)
        if (!*node->domain && strcmp(node->op_type, ops[i]) == 0)
            return true;
    return false;
}

static bool stands_in(const struct ox_graph *graph, const struct ox_node *node)
{
    for (; graph && graph->parent; graph = graph->parent->graph)
        if (graph->parent == node)
            return true;
    return false;
}

/* The functions that a node reaches. */
struct calls {
    const struct ox_function *list[MOST_FUNCTIONS];
    size_t n;
};

static void add_call(struct calls *calls, const struct ox_node *node)
{
    const struct ox_function *function = ox_model_function(node->graph->model, node->domain,
                                                           node->op_type, node->overload);
    for (size_t i = 0; i < calls->n; i++)
        if (calls->list[i] == function)
            return;
    if (function && calls->n < MOST_FUNCTIONS)
        calls->list[calls->n++] = function;
}

/* In a graph: the first node that draws; NULL. */
static const struct ox_node *find_in_graph(const struct ox_graph *graph, struct calls *calls)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (is_random(graph->nodes[i]))
            return graph->nodes[i];
        add_call(calls, graph->nodes[i]);
    }
    return NULL;
}

/* The node that draws: this one, or one inside; NULL. */
static const struct ox_node *find_drawing(const struct ox_node *node)
{
    const struct ox_model *model = node->graph->model;
    const struct ox_node *found = is_random(node) ? node : NULL;
    struct calls calls = {.n = 0};
    add_call(&calls, node);
    for (size_t i = 0; i < model->n_graphs && !found; i++)
        if (stands_in(model->graphs[i], node))
            found = find_in_graph(model->graphs[i], &calls);
    for (size_t k = 0; k < calls.n && !found; k++)
        for (size_t i = 0; i < model->n_graphs && !found; i++)
            if (model->graphs[i]->function == calls.list[k])
                found = find_in_graph(model->graphs[i], &calls);
    return found;
}

void ox_explain_random(struct ox_explaining *e, const struct ox_region *region, const char *side)
{
    char label[OX_LABEL_SIZE];
    for (size_t i = 0; i < region->n_nodes; i++) {
        const struct ox_node *node = region->nodes[i], *drawing = find_drawing(node);
        if (drawing == node)
            ox_cause_add(e->causes, 93, "random", "%s in %s draws random numbers", node->op_type,
                         side);
        else if (drawing)
            ox_cause_add(e->causes, 93, "random",
                         "%s in %s draws random numbers: %s (node '%s') inside does", node->op_type,
                         side, drawing->op_type, ox_explain_label(drawing, label));
    }
}
