#include <stdlib.h>

#include "graph/convert/convert.h"

static void mark_used(const struct ox_model *model, bool **used)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            for (size_t k = 0; k < node->n_inputs; k++) {
                if (node->inputs[k])
                    used[g][node->inputs[k]->id] = true;
            }
        }
        for (size_t i = 0; i < graph->n_outputs; i++)
            used[g][graph->outputs[i]->id] = true;
        for (size_t i = 0; i < graph->n_values; i++) {
            const struct ox_value *outer = graph->values[i]->outer;
            if (outer)
                used[outer->graph->id][outer->id] = true;
        }
    }
}

static void drop_in_graph(const struct ox_strmap *freed, struct ox_graph *graph, const bool *used,
                          bool *nodes, bool *inits)
{
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        const struct ox_node *node = value->producer;
        if (used[i] || ox_strmap_find(freed, (const char *)&value, sizeof(value)) == OX_STRMAP_NONE)
            continue;
        if (node && node->graph == graph && node->n_outputs == 1 && node->n_inputs == 0)
            nodes[node->index] = true;
        for (size_t k = 0; k < graph->n_inits && value->init && !value->is_input; k++)
            inits[k] |= graph->inits[k] == value->init;
    }
    ox_graph_remove_nodes(graph, nodes);
    ox_graph_remove_inits(graph, inits);
}

bool ox_convert_drop_unused(struct ox_model *model, const struct ox_strmap *freed)
{
    bool **used = calloc(model->n_graphs + 1, sizeof(*used));
    bool is_room = used;
    for (size_t g = 0; g < model->n_graphs && is_room; g++) {
        used[g] = calloc(model->graphs[g]->n_values + 1, sizeof(**used));
        is_room = used[g];
    }
    if (is_room)
        mark_used(model, used);
    for (size_t g = 0; g < model->n_graphs && is_room; g++) {
        struct ox_graph *graph = model->graphs[g];
        bool *nodes = calloc(graph->n_nodes + 1, sizeof *nodes);
        bool *inits = calloc(graph->n_inits + 1, sizeof *inits);
        is_room = nodes && inits;
        if (is_room)
            drop_in_graph(freed, graph, used[g], nodes, inits);
        free(nodes);
        free(inits);
    }
    for (size_t g = 0; used && g < model->n_graphs; g++)
        free(used[g]);
    free(used);
    return is_room;
}
