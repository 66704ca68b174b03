/* Who reads a value. */
#include <string.h>

#include "model/value.h"
#include "quant/quant.h"

bool *ox_quant_find_captured(struct ox_quant *q, const struct ox_graph *graph)
{
    bool *captured = ox_arena_array(&q->arena, graph->n_values + 1, sizeof *captured);
    if (captured)
        ox_captures_mark(graph, captured);
    return captured;
}

enum ox_status ox_quant_find_uses(struct ox_quant *q, struct ox_graph *graph,
                                  struct ox_quant_uses *out, struct ox_error *err)
{
    size_t n = graph->n_values, total = 0;
    uint32_t *first = ox_arena_array(&q->arena, n + 2, sizeof *first);
    bool *captured = ox_quant_find_captured(q, graph);
    if (!first || !captured)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        for (size_t j = 0; j < graph->nodes[i]->n_inputs; j++) {
            const struct ox_value *value = graph->nodes[i]->inputs[j];
            if (value) {
                first[value->id + 2]++;
                total++;
            }
        }
    }
    struct ox_quant_use *uses = ox_arena_array(&q->arena, total + 1, sizeof *uses);
    if (!uses)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++)
        first[i + 2] += first[i + 1];
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        for (size_t j = 0; j < node->n_inputs; j++) {
            if (node->inputs[j])
                uses[first[node->inputs[j]->id + 1]++] = (struct ox_quant_use){node, j};
        }
    }
    *out = (struct ox_quant_uses){first, uses, n, captured};
    return OX_OK;
}

size_t ox_quant_n_uses(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    return value->id < uses->n_values ? uses->first[value->id + 1] - uses->first[value->id] : 0;
}

void ox_quant_read_instead(struct ox_graph *graph, const struct ox_value *old, struct ox_value *by)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        for (size_t k = 0; k < graph->nodes[i]->n_inputs; k++) {
            if (graph->nodes[i]->inputs[k] == old)
                graph->nodes[i]->inputs[k] = by;
        }
    }
}

enum ox_status ox_quant_drop_unread(struct ox_quant *q, struct ox_graph *graph, const char *op_type,
                                    const char *domain, struct ox_error *err)
{
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    bool *remove = ox_arena_array(&q->arena, graph->n_nodes + 1, sizeof *remove);
    if (!remove)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        const struct ox_value *out = node->n_outputs == 1 ? node->outputs[0] : NULL;
        remove[i] = out && strcmp(node->op_type, op_type) == 0 &&
                    (!domain || strcmp(node->domain, domain) == 0) && !out->is_output &&
                    !ox_quant_n_uses(&uses, out) && !uses.captured[out->id];
    }
    ox_graph_remove_nodes(graph, remove);
    return OX_OK;
}
