/* Layout: between convolutions feature maps lie with their channels last, as the kernels like them. A value that is made so has a twin
 * of that layout; the value itself is made from the twin where somebody needs it as it was, and the twin from the value where a
 * convolution begins. What is in between (channels_last_rules.c) works on twins. */
#include "graph/passes/twins.h"

#include <string.h>

enum ox_status ox_pass_channels_last(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    size_t n_nodes = graph->n_nodes, n = graph->n_values;
    struct ox_twins l = {.rw = rw,
                         .n = n,
                         .twin = ox_rw_scratch(rw, n, sizeof(struct ox_value *)),
                         .native = ox_rw_scratch(rw, n, sizeof(bool)),
                         .made_first = ox_rw_scratch(rw, n, sizeof(bool))};
    if (rw->failed)
        return OX_OK;
    for (size_t i = 0; i < n_nodes && !rw->failed; i++) {
        struct ox_node *node = graph->nodes[i];
        struct ox_node *next = i + 1 < n_nodes ? graph->nodes[i + 1] : NULL;
        OX_TRY(ox_env_poll(rw->env, err));
        if (ox_rw_gone(rw, node))
            continue;
        struct ox_value *outputs[4] = {NULL};
        size_t n_outputs = node->n_outputs < 4 ? node->n_outputs : 4;
        if (n_outputs)
            memcpy(outputs, node->outputs, n_outputs * sizeof(struct ox_value *));
        if (!ox_twins_convert(&l, node))
            for (size_t k = 0; k < node->n_inputs; k++)
                ox_twins_need_first(&l, node->inputs[k], node);
        for (size_t k = 0; k < n_outputs; k++)
            if (outputs[k] && ox_rw_is_pinned(rw, outputs[k]))
                ox_twins_need_first(&l, outputs[k], next);
    }
    return OX_OK;
}
