/* Where in its source torch's exporter met nodes and values, a kilobyte each: the float model tells it by the same names. */
#include <string.h>

#include "proto/onnx.pb-c.h"

#include "quant/quant.h"

struct entries {
    Onnx__StringStringEntryProto **at;
    size_t n;
};

static bool is_trace(const Onnx__StringStringEntryProto *entry)
{
    static const char prefix[] = "pkg.torch.";
    return entry->key && strncmp(entry->key, prefix, sizeof prefix - 1) == 0;
}

/* Whether some are traces; *e is then the others. A namespace among traces is one: the modules that the node lies in. */
static enum ox_status leave_others(struct ox_arena *arena, struct entries *e, bool *changed,
                                   struct ox_error *err)
{
    struct entries kept = {NULL, 0};
    *changed = false;
    for (size_t i = 0; i < e->n; i++)
        *changed |= is_trace(e->at[i]);
    if (!*changed)
        return OX_OK;
    kept.at = ox_arena_array(arena, e->n, sizeof(Onnx__StringStringEntryProto *));
    if (!kept.at)
        return ox_no_memory(err);
    for (size_t i = 0; i < e->n; i++) {
        const char *key = e->at[i]->key;
        if (!is_trace(e->at[i]) && !(key && strcmp(key, "namespace") == 0))
            kept.at[kept.n++] = e->at[i];
    }
    *e = kept;
    return OX_OK;
}

static enum ox_status clean_node(struct ox_arena *arena, struct ox_node *node, struct ox_error *err)
{
    struct entries e = {node->proto->metadata_props, node->proto->n_metadata_props};
    bool changed;
    OX_TRY(leave_others(arena, &e, &changed, err));
    if (!changed)
        return OX_OK;
    Onnx__NodeProto *proto = ox_arena_copy(arena, node->proto, sizeof *proto);
    if (!proto)
        return ox_no_memory(err);
    proto->metadata_props = e.at;
    proto->n_metadata_props = e.n;
    node->proto = proto;
    return OX_OK;
}

/* What a graph says of its inputs, outputs or other values. */
static enum ox_status clean_infos(struct ox_arena *arena, Onnx__ValueInfoProto ***infos, size_t n,
                                  struct ox_error *err)
{
    Onnx__ValueInfoProto **all = ox_arena_array(arena, n + 1, sizeof *all);
    if (!all)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        Onnx__ValueInfoProto *info = (*infos)[i];
        struct entries e = {info->metadata_props, info->n_metadata_props};
        bool changed;
        OX_TRY(leave_others(arena, &e, &changed, err));
        all[i] = changed ? ox_arena_copy(arena, info, sizeof *info) : info;
        if (!all[i])
            return ox_no_memory(err);
        all[i]->metadata_props = e.at;
        all[i]->n_metadata_props = e.n;
    }
    *infos = all;
    return OX_OK;
}

static enum ox_status clean_graph(struct ox_arena *arena, struct ox_graph *graph,
                                  struct ox_error *err)
{
    Onnx__GraphProto *proto = ox_arena_copy(arena, graph->proto, sizeof *proto);
    if (!proto)
        return ox_no_memory(err);
    struct entries e = {proto->metadata_props, proto->n_metadata_props};
    bool changed;
    OX_TRY(leave_others(arena, &e, &changed, err));
    proto->metadata_props = e.at;
    proto->n_metadata_props = e.n;
    OX_TRY(clean_infos(arena, &proto->input, proto->n_input, err));
    OX_TRY(clean_infos(arena, &proto->output, proto->n_output, err));
    OX_TRY(clean_infos(arena, &proto->value_info, proto->n_value_info, err));
    graph->proto = proto;
    return OX_OK;
}

enum ox_status ox_quant_drop_traces(struct ox_model *model, struct ox_error *err)
{
    struct ox_arena *arena = &model->arena;
    for (size_t g = 0; g < model->n_graphs; g++) {
        struct ox_graph *graph = model->graphs[g];
        if (graph->proto)
            OX_TRY(clean_graph(arena, graph, err));
        for (size_t i = 0; i < graph->n_nodes; i++) {
            if (graph->nodes[i]->proto)
                OX_TRY(clean_node(arena, graph->nodes[i], err));
        }
    }
    return OX_OK;
}
