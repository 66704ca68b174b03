#include <string.h>

#include "model/graph_impl.h"

/* The next value of a subgraph that stands for this one, from the place *graph, *value on; NULL: there is none. */
static struct ox_value *next_capture(const struct ox_value *of, size_t *graph, size_t *value)
{
    const struct ox_model *model = of->graph->model;
    for (; *graph < model->n_graphs; (*graph)++, *value = 0) {
        const struct ox_graph *inner = model->graphs[*graph];
        for (; inner->scope == of->graph && *value < inner->n_values; (*value)++)
            if (inner->values[*value]->outer == of)
                return inner->values[(*value)++];
    }
    return NULL;
}

/* Whether the value could have that name in its graph, and what stands for it in subgraphs in theirs. */
static bool is_free(const struct ox_value *value, const char *name)
{
    const struct ox_value *there = ox_graph_value(value->graph, name);
    if (there && there != value)
        return false;
    size_t graph = 0, at = 0;
    for (const struct ox_value *inner; (inner = next_capture(value, &graph, &at));)
        if (!is_free(inner, name))
            return false;
    return true;
}

static bool rename_value(struct ox_value *value, const char *name)
{
    bool is_new;
    uint32_t id = value->id;
    if (!ox_strmap_add(&value->graph->names, name, strlen(name), &id, &is_new))
        return false;
    value->name = name;
    size_t graph = 0, at = 0;
    for (struct ox_value *inner; (inner = next_capture(value, &graph, &at));)
        if (!rename_value(inner, name))
            return false;
    return true;
}

bool ox_value_capture(struct ox_value *value, struct ox_value *outer)
{
    if (value->init || value->sparse_init || value->is_output || !is_free(value, outer->name) ||
        !rename_value(value, outer->name))
        return false;
    value->producer = NULL;
    value->is_input = false;
    value->outer = outer;
    value->type = NULL;
    value->info = NULL;
    value->removed = true;
    return true;
}

static bool put_name(struct ox_value *value, const char *name)
{
    uint32_t id = value->id;
    value->name = name;
    return ox_strmap_add(&value->graph->names, name, strlen(name), &id, NULL);
}

bool ox_value_swap_names(struct ox_value *a, struct ox_value *b)
{
    struct ox_graph *graph = a->graph;
    const char *of_a = a->name, *of_b = b->name;
    ox_strmap_remove(&graph->names, of_a, strlen(of_a));
    ox_strmap_remove(&graph->names, of_b, strlen(of_b));
    return put_name(a, of_b) && put_name(b, of_a);
}
