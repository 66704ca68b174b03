/* Dead code: nodes whose outputs nobody needs, and initializers that nobody reads. */
#include "graph/match.h"

static bool is_needed(const struct ox_rewrite *rw, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct ox_value *value = node->outputs[i];
        if (value && (ox_rw_n_uses(rw, value) > 0 || ox_rw_is_pinned(rw, value)))
            return true;
    }
    return false;
}

static void drop_inits(struct ox_rewrite *rw, struct ox_graph *graph)
{
    bool *remove = ox_rw_scratch(rw, graph->n_inits, sizeof *remove);
    bool any = false;
    for (size_t i = 0; remove && i < graph->n_inits; i++) {
        const struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
        remove[i] = value && value->init == graph->inits[i] && !value->is_input &&
                    ox_rw_n_uses(rw, value) == 0 && !ox_rw_is_pinned(rw, value);
        any |= remove[i];
    }
    if (any && !rw->to_run) {
        ox_graph_remove_inits(graph, remove);
        rw->n_changes++;
    }
}

enum ox_status ox_pass_dead(struct ox_rewrite *rw, struct ox_graph *graph, struct ox_error *err)
{
    OX_TRY(ox_env_poll(rw->env, err));
    for (size_t i = graph->n_nodes; i-- > 0;)
        if (!is_needed(rw, graph->nodes[i]))
            ox_rw_remove(rw, graph->nodes[i]);
    drop_inits(rw, graph);
    return OX_OK;
}
