#include "quant/estimate.h"

#include <math.h>
#include <string.h>

#include "tensor/tensor.h"

static uint64_t constant_bytes(const struct ox_model *model)
{
    uint64_t sum = 0;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_inits; i++) {
            const struct ox_stored *stored = graph->inits[i];
            if (stored->place == OX_STORED_WIDE)
                stored = stored->narrow;
            size_t n;
            uint64_t bytes;
            if (ox_dims_count(stored->rank, stored->dims, &n) &&
                ox_dtype_packed_bytes(stored->dtype, n, &bytes))
                sum += bytes;
        }
    }
    return sum;
}

static enum ox_status list_nodes(struct ox_estimate *estimate, struct ox_quant *q,
                                 struct ox_costs *costs, struct ox_error *err)
{
    size_t n = ox_costs_count(costs);
    estimate->nodes = ox_arena_array(&q->arena, n + 1, sizeof *estimate->nodes);
    for (size_t i = 0; estimate->nodes && i < n; i++) {
        struct ox_node_entry entry;
        if (!ox_costs_node(costs, i, 0, &entry))
            return ox_no_memory(err);
        if (!entry.cost.macs)
            continue;
        struct ox_estimate_node *node = &estimate->nodes[estimate->n_nodes++];
        node->graph = ox_arena_strdup(&q->arena, entry.graph);
        node->name = ox_arena_strdup(&q->arena, entry.label);
        node->macs = entry.cost.macs;
        if (!node->graph || !node->name)
            return ox_no_memory(err);
    }
    return estimate->nodes ? OX_OK : ox_no_memory(err);
}

enum ox_status ox_estimate_begin(struct ox_estimate *estimate, struct ox_quant *q,
                                 struct ox_error *err)
{
    struct ox_costs *costs;
    *estimate = (struct ox_estimate){.constant_bytes = constant_bytes(q->model)};
    OX_TRY(ox_costs_new(&costs, q->model, q->shapes, err));
    enum ox_status status = list_nodes(estimate, q, costs, err);
    ox_costs_release(costs);
    return status;
}

static bool is_quantized(const struct ox_quant_report *report, const struct ox_estimate_node *node)
{
    for (size_t i = 0; i < report->n_nodes; i++) {
        const struct ox_quant_node *row = &report->nodes[i];
        if (strcmp(row->name, node->name) == 0 && strcmp(row->graph, node->graph) == 0)
            return row->quantized;
    }
    return false;
}

void ox_estimate_end(const struct ox_estimate *estimate, struct ox_quant *q, bool integers)
{
    struct ox_quant_summary *summary = &q->report->summary;
    double all = 0, on_integers = 0;
    summary->model_before = estimate->constant_bytes;
    summary->model_after = constant_bytes(q->model);
    for (size_t i = 0; i < estimate->n_nodes && integers; i++) {
        all += (double)estimate->nodes[i].macs;
        if (is_quantized(q->report, &estimate->nodes[i]))
            on_integers += (double)estimate->nodes[i].macs;
    }
    if (all > 0) {
        const double faster = 3.5; /* products in 8 bits against float32, with VNNI */
        summary->integer_share = on_integers / all;
        summary->speedup = 1 / (1 - summary->integer_share + summary->integer_share / faster);
    }
}
