#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/* Which nodes each node needs: those of node i are need[start[i]] to need[start[i + 1]]. */
struct needs {
    size_t *start;
    uint32_t *need;
};

static bool is_local(const struct ox_graph *graph, const struct ox_value *value)
{
    return value && value->producer && value->producer->graph == graph &&
           value->producer->index < graph->n_nodes &&
           graph->nodes[value->producer->index] == value->producer;
}

/* Calls for each local node that this one needs, by its inputs or by what its graphs capture; captures go level by level,
 * so that the graphs of its own attributes tell all. to NULL: only counts. */
static size_t list_needs(const struct ox_graph *graph, const struct ox_node *node, uint32_t *to)
{
    size_t n = 0;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!is_local(graph, node->inputs[i]))
            continue;
        if (to)
            to[n] = node->inputs[i]->producer->index;
        n++;
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        const struct ox_attr *attr = &node->attrs[i];
        if (!ox_attr_has_graphs(attr))
            continue;
        for (size_t j = 0; j < attr->n; j++) {
            const struct ox_graph *inner = attr->graphs[j];
            for (size_t v = 0; v < inner->n_values; v++) {
                if (!is_local(graph, inner->values[v]->outer))
                    continue;
                if (to)
                    to[n] = inner->values[v]->outer->producer->index;
                n++;
            }
        }
    }
    return n;
}

static bool find_needs(const struct ox_graph *graph, struct needs *needs)
{
    needs->start = calloc(graph->n_nodes + 1, sizeof *needs->start);
    if (!needs->start)
        return false;
    for (size_t i = 0; i < graph->n_nodes; i++)
        needs->start[i + 1] = needs->start[i] + list_needs(graph, graph->nodes[i], NULL);
    size_t n = needs->start[graph->n_nodes];
    needs->need = calloc(n ? n : 1, sizeof *needs->need);
    if (!needs->need)
        return false;
    for (size_t i = 0; i < graph->n_nodes; i++)
        list_needs(graph, graph->nodes[i], needs->need + needs->start[i]);
    return true;
}

enum { UNSEEN, OPEN, PLACED };

/* Places a node behind all that it needs, with a stack of its own; false: a cycle. */
static bool place(const struct ox_graph *graph, const struct needs *needs, uint32_t first,
                  unsigned char *state, size_t *next, uint32_t *stack, struct ox_node **order,
                  size_t *n_order)
{
    size_t depth = 1;
    stack[0] = first;
    state[first] = OPEN;
    while (depth > 0) {
        uint32_t node = stack[depth - 1];
        if (next[node] == needs->start[node + 1]) {
            state[node] = PLACED;
            order[(*n_order)++] = graph->nodes[node];
            depth--;
            continue;
        }
        uint32_t needed = needs->need[next[node]++];
        if (state[needed] == OPEN)
            return false;
        if (state[needed] == UNSEEN) {
            state[needed] = OPEN;
            stack[depth++] = needed;
        }
    }
    return true;
}

/* Depth first in the present order: what is in order stays so, what is needed earlier moves before its first user. */
enum ox_status ox_graph_sort(struct ox_graph *graph, struct ox_error *err)
{
    size_t n = graph->n_nodes;
    struct needs needs = {0};
    unsigned char *state = calloc(n ? n : 1, 1);
    uint32_t *stack = calloc(n ? n : 1, sizeof *stack);
    struct ox_node **order = calloc(n ? n : 1, sizeof(*order));
    size_t *next = malloc((n + 1) * sizeof *next);
    enum ox_status status = OX_OK;
    if (!state || !stack || !order || !next || !find_needs(graph, &needs)) {
        status = ox_no_memory(err);
        goto cleanup;
    }
    memcpy(next, needs.start, (n + 1) * sizeof *next);
    size_t n_order = 0;
    for (size_t i = 0; i < n; i++) {
        if (state[i] == UNSEEN &&
            !place(graph, &needs, (uint32_t)i, state, next, stack, order, &n_order)) {
            status = ox_fail(err, OX_INPUT, "its nodes form a cycle");
            goto cleanup;
        }
    }
    for (size_t i = 0; i < n; i++) {
        graph->nodes[i] = order[i];
        graph->nodes[i]->index = (uint32_t)i;
    }
cleanup:
    free(needs.start);
    free(needs.need);
    free(state);
    free(stack);
    free(order);
    free(next);
    return status;
}

static bool is_sorted(const struct ox_graph *graph, bool *failed)
{
    struct needs needs = {0};
    bool sorted = true;
    *failed = !find_needs(graph, &needs);
    for (size_t i = 0; i < graph->n_nodes && !*failed; i++)
        for (size_t k = needs.start[i]; k < needs.start[i + 1]; k++)
            sorted = sorted && needs.need[k] < i;
    free(needs.start);
    free(needs.need);
    return sorted;
}

enum ox_status ox_model_sort(struct ox_model *model, bool *changed, struct ox_error *err)
{
    bool any = false, failed = false;
    for (size_t i = 0; i < model->n_graphs; i++) {
        struct ox_graph *graph = model->graphs[i];
        if (is_sorted(graph, &failed))
            continue;
        enum ox_status status = failed ? OX_NO_MEMORY : ox_graph_sort(graph, NULL);
        if (status == OX_NO_MEMORY)
            return ox_no_memory(err);
        any |= status == OX_OK;
    }
    if (changed)
        *changed = any;
    return OX_OK;
}
