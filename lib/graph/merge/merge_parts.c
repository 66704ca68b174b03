/* The message of the whole: lists of both under their new names, one behind the other. */
#include <stdio.h>
#include <string.h>

#include "graph/merge/merger.h"
#include "model/lift.h"
#include "model/rename.h"

/* ---- Lists -------------------------------------------------------------------------------------------------------- */

/* A list of pointers to messages that grows no further than was made room for. */
struct list {
    void **items;
    size_t n;
};

static enum ox_status make_list(struct ox_merger *m, size_t room, struct list *list)
{
    *list = (struct list){ox_arena_array(&m->out->arena, room + 1, sizeof(void *)), 0};
    return list->items ? OX_OK : ox_merge_no_room(m);
}

static void append(struct list *list, const void *items, size_t n)
{
    if (n)
        memcpy(list->items + list->n, items, n * sizeof(void *));
    list->n += n;
}

#define PUT_LIST(to, field, list) ((to)->field = (void *)(list).items, (to)->n_##field = (list).n)
/* Both lists of a field, one behind the other. */
#define JOIN(m, to, a, b, field)                                                                   \
    do {                                                                                           \
        struct list joined_;                                                                       \
        OX_TRY(make_list(m, (a)->n_##field + (b)->n_##field, &joined_));                           \
        append(&joined_, (a)->field, (a)->n_##field);                                              \
        append(&joined_, (b)->field, (b)->n_##field);                                              \
        PUT_LIST(to, field, joined_);                                                              \
    } while (0)

/* ---- Texts -------------------------------------------------------------------------------------------------------- */

/* What both say, or one behind the other. */
static enum ox_status join_text(struct ox_merger *m, const char *a, const char *b,
                                const char *between, char **out)
{
    const bool has_a = a && *a, has_b = b && *b;
    if (has_a && has_b && strcmp(a, b) != 0) {
        *out = ox_arena_printf(&m->out->arena, "%s%s%s", a, between, b);
        return *out ? OX_OK : ox_merge_no_room(m);
    }
    *out = (char *)(uintptr_t)(has_a ? a : has_b ? b : NULL);
    return OX_OK;
}

static const Onnx__StringStringEntryProto *find_key(Onnx__StringStringEntryProto *const *entries,
                                                    size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(ox_text(entries[i]->key), key) == 0)
            return entries[i];
    return NULL;
}

/* Of a key that both have the first model's value stays. */
static enum ox_status join_metadata(struct ox_merger *m, const char *of,
                                    Onnx__StringStringEntryProto *const *a, size_t n_a,
                                    Onnx__StringStringEntryProto *const *b, size_t n_b,
                                    struct list *list)
{
    char shown[OX_SHOWN_BYTES];
    OX_TRY(make_list(m, n_a + n_b, list));
    append(list, a, n_a);
    for (size_t i = 0; i < n_b; i++) {
        const char *key = ox_text(b[i]->key);
        const Onnx__StringStringEntryProto *other = find_key(a, n_a, key);
        if (!other)
            append(list, &b[i], 1);
        else if (strcmp(ox_text(other->value), ox_text(b[i]->value)) != 0)
            ox_merge_note(m, "%s: metadata '%s' of the %s is left out: %s has another value",
                          m->parts[1].model->path, ox_shown(shown, key, strlen(key)), of,
                          m->parts[0].model->path);
    }
    return OX_OK;
}

/* ---- The graph ---------------------------------------------------------------------------------------------------- */

static bool is_listed(Onnx__ValueInfoProto *const *infos, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(ox_text(infos[i]->name), name) == 0)
            return true;
    return false;
}

/* Constants that old files list as inputs are none for versions that have defaults. */
static bool is_constant(const struct ox_merger *m, size_t p, const struct ox_value *value)
{
    const struct ox_model *model = m->parts[p].model, *other = m->parts[!p].model;
    return value->init && model->ir_version < 4 && other->ir_version >= 4;
}

static enum ox_status join_inputs(struct ox_merger *m, Onnx__GraphProto *to)
{
    struct list list;
    OX_TRY(make_list(m, m->parts[0].graph->n_input + m->parts[1].graph->n_input, &list));
    for (size_t p = 0; p < OX_MERGED; p++) {
        const struct ox_graph *graph = m->parts[p].model->graph;
        for (size_t i = 0; i < graph->n_inputs; i++)
            if (!(p && m->feeds[i].from) && !is_constant(m, p, graph->inputs[i]))
                append(&list, &m->parts[p].graph->input[i], 1);
    }
    PUT_LIST(to, input, list);
    return OX_OK;
}

/* An input that the second passes on as an output is called as what feeds it: a node makes the output of its own name. */
static enum ox_status pass_on(struct ox_merger *m, const char *from, Onnx__ValueInfoProto **output,
                              const char *name, struct list *nodes)
{
    static const Onnx__NodeProto fresh = ONNX__NODE_PROTO__INIT;
    struct ox_arena *arena = &m->out->arena;
    Onnx__NodeProto *node = ox_arena_copy(arena, &fresh, sizeof fresh);
    Onnx__ValueInfoProto *info = ox_arena_copy(arena, *output, sizeof *info);
    const char **ports = ox_arena_array(arena, 2, sizeof(*ports));
    const char *own = ox_arena_printf(arena, "%s%s", m->parts[1].prefix, name);
    if (!node || !info || !ports || !own)
        return ox_merge_no_room(m);
    ports[0] = from;
    ports[1] = own;
    info->name = (char *)(uintptr_t)own;
    node->op_type = (char *)(uintptr_t) "Identity";
    node->input = (char **)(uintptr_t)ports;
    node->output = (char **)(uintptr_t)(ports + 1);
    node->n_input = node->n_output = 1;
    nodes->items[nodes->n++] = node;
    *output = info;
    return OX_OK;
}

static enum ox_status join_outputs(struct ox_merger *m, Onnx__GraphProto *to, struct list *nodes)
{
    const struct ox_graph *b = m->parts[1].model->graph;
    const Onnx__GraphProto *first = m->parts[0].graph, *second = m->parts[1].graph;
    struct list list;
    OX_TRY(make_list(m, first->n_output + second->n_output, &list));
    for (size_t i = 0; i < first->n_output; i++)
        if (!m->used[i])
            append(&list, &first->output[i], 1);
    for (size_t i = 0; i < second->n_output; i++) {
        Onnx__ValueInfoProto *output = second->output[i];
        for (size_t k = 0; k < b->n_inputs; k++) {
            const struct ox_value *from = m->feeds[k].from;
            if (b->inputs[k] == b->outputs[i] && from && from->is_output)
                OX_TRY(pass_on(m, second->input[k]->name, &output, b->inputs[k]->name, nodes));
        }
        append(&list, &output, 1);
    }
    PUT_LIST(to, output, list);
    return OX_OK;
}

/* What is no output any more keeps its type. */
static enum ox_status join_infos(struct ox_merger *m, Onnx__GraphProto *to)
{
    const Onnx__GraphProto *first = m->parts[0].graph, *second = m->parts[1].graph;
    struct list list;
    OX_TRY(make_list(m, first->n_value_info + first->n_output + second->n_value_info, &list));
    append(&list, first->value_info, first->n_value_info);
    for (size_t i = 0; i < first->n_output; i++) {
        const char *name = ox_text(first->output[i]->name);
        if (m->used[i] && !is_listed(first->input, first->n_input, name) &&
            !is_listed((void *)list.items, list.n, name))
            append(&list, &first->output[i], 1);
    }
    append(&list, second->value_info, second->n_value_info);
    PUT_LIST(to, value_info, list);
    return OX_OK;
}

/* What feeds an input takes the place of its default. */
static bool is_replaced(const struct ox_merger *m, const char *name)
{
    const struct ox_graph *b = m->parts[1].model->graph;
    const struct ox_value *value = *name ? ox_graph_value(b, name) : NULL;
    for (size_t i = 0; value && value->is_input && i < b->n_inputs; i++)
        if (b->inputs[i] == value && m->feeds[i].from)
            return true;
    return false;
}

static enum ox_status join_initializers(struct ox_merger *m, Onnx__GraphProto *to)
{
    const Onnx__GraphProto *first = m->parts[0].graph, *second = m->parts[1].graph;
    const Onnx__GraphProto *named = m->parts[1].model->proto->graph;
    struct list dense, sparse;
    OX_TRY(make_list(m, first->n_initializer + second->n_initializer, &dense));
    append(&dense, first->initializer, first->n_initializer);
    for (size_t i = 0; i < second->n_initializer; i++)
        if (!is_replaced(m, ox_text(named->initializer[i]->name)))
            append(&dense, &second->initializer[i], 1);
    OX_TRY(make_list(m, first->n_sparse_initializer + second->n_sparse_initializer, &sparse));
    append(&sparse, first->sparse_initializer, first->n_sparse_initializer);
    for (size_t i = 0; i < second->n_sparse_initializer; i++) {
        const Onnx__TensorProto *values = named->sparse_initializer[i]->values;
        if (!values || !is_replaced(m, ox_text(values->name)))
            append(&sparse, &second->sparse_initializer[i], 1);
    }
    PUT_LIST(to, initializer, dense);
    PUT_LIST(to, sparse_initializer, sparse);
    return OX_OK;
}

static enum ox_status join_graphs(struct ox_merger *m, Onnx__GraphProto *to)
{
    const Onnx__GraphProto *first = m->parts[0].graph, *second = m->parts[1].graph;
    struct list nodes, metadata;
    OX_TRY(make_list(m, first->n_node + second->n_node + second->n_output, &nodes));
    append(&nodes, first->node, first->n_node);
    append(&nodes, second->node, second->n_node);
    OX_TRY(join_inputs(m, to));
    OX_TRY(join_outputs(m, to, &nodes));
    PUT_LIST(to, node, nodes);
    OX_TRY(join_infos(m, to));
    OX_TRY(join_initializers(m, to));
    JOIN(m, to, first, second, quantization_annotation);
    OX_TRY(join_metadata(m, "graph", first->metadata_props, first->n_metadata_props,
                         second->metadata_props, second->n_metadata_props, &metadata));
    PUT_LIST(to, metadata_props, metadata);
    OX_TRY(join_text(m, first->name, second->name, "_", &to->name));
    return join_text(m, first->doc_string, second->doc_string, "\n", &to->doc_string);
}

/* ---- The model ---------------------------------------------------------------------------------------------------- */

static const char *name_of(void *arg, enum ox_name_kind kind, const char *old)
{
    struct ox_merge_part *part = arg;
    if (kind == OX_NAME_DIM)
        return ox_dim_rename(&part->merger->out->arena, &part->dims, old);
    const char *name = ox_names_find(kind == OX_NAME_VALUE ? &part->values : &part->nodes, old);
    return name ? name : old;
}

static struct ox_renaming renaming_of(struct ox_merge_part *part)
{
    return (struct ox_renaming){.from = part->model,
                                .arena = &part->merger->out->arena,
                                .arg = part,
                                .name = name_of,
                                .function = ox_merge_function};
}

static enum ox_status rename_graph(struct ox_merge_part *part)
{
    const struct ox_renaming with = renaming_of(part);
    const ProtobufCMessage *graph;
    OX_TRY(ox_rename_message(&with, &part->model->proto->graph->base, &graph, part->merger->err));
    part->graph = (const Onnx__GraphProto *)graph;
    return OX_OK;
}

static enum ox_status join_functions(struct ox_merger *m, Onnx__ModelProto *to)
{
    const struct ox_model *a = m->parts[0].model, *b = m->parts[1].model;
    struct list list;
    OX_TRY(make_list(m, a->n_functions + b->n_functions, &list));
    for (size_t p = 0; p < OX_MERGED; p++) {
        const struct ox_model *model = m->parts[p].model;
        const struct ox_renaming with = renaming_of(&m->parts[p]);
        for (size_t i = 0; i < model->n_functions; i++) {
            const struct ox_function *f = &model->functions[i];
            const ProtobufCMessage *function;
            const char *name = ox_merge_function(&m->parts[p], f->domain, f->name, f->overload);
            if (!name)
                return ox_merge_no_room(m);
            if (p && name == f->name && ox_model_function(a, f->domain, f->name, f->overload))
                continue; /* the same that the first has */
            OX_TRY(ox_rename_message(&with, &f->proto->base, &function, m->err));
            append(&list, &function, 1);
        }
    }
    PUT_LIST(to, functions, list);
    return OX_OK;
}

static enum ox_status join_devices(struct ox_merger *m, Onnx__ModelProto *to)
{
    const Onnx__ModelProto *a = m->parts[0].model->proto, *b = m->parts[1].model->proto;
    struct list list;
    OX_TRY(make_list(m, a->n_configuration + b->n_configuration, &list));
    append(&list, a->configuration, a->n_configuration);
    for (size_t i = 0; i < b->n_configuration; i++) {
        bool there = false;
        for (size_t k = 0; k < a->n_configuration; k++)
            there |=
                strcmp(ox_text(a->configuration[k]->name), ox_text(b->configuration[i]->name)) == 0;
        if (!there)
            append(&list, &b->configuration[i], 1);
    }
    PUT_LIST(to, configuration, list);
    return OX_OK;
}

/* What they do not agree on the whole does not claim. */
static void put_origin(struct ox_merger *m, Onnx__ModelProto *to)
{
    const struct ox_model *a = m->parts[0].model, *b = m->parts[1].model;
    const bool same = strcmp(a->producer_name, b->producer_name) == 0 &&
                      strcmp(a->producer_version, b->producer_version) == 0;
    to->has_ir_version = true;
    to->ir_version = a->ir_version > b->ir_version ? a->ir_version : b->ir_version;
    if (!same || *a->producer_name)
        to->producer_name = (char *)(uintptr_t)(same ? a->producer_name : "onnxtool");
    if (same && *a->producer_version)
        to->producer_version = (char *)(uintptr_t)a->producer_version;
    if (*a->model_domain && strcmp(a->model_domain, b->model_domain) == 0)
        to->domain = (char *)(uintptr_t)a->model_domain;
    to->has_model_version = a->model_version && a->model_version == b->model_version;
    to->model_version = to->has_model_version ? a->model_version : 0;
}

enum ox_status ox_merge_assemble(struct ox_merger *m)
{
    static const Onnx__ModelProto fresh = ONNX__MODEL_PROTO__INIT;
    static const Onnx__GraphProto fresh_graph = ONNX__GRAPH_PROTO__INIT;
    const Onnx__ModelProto *a = m->parts[0].model->proto, *b = m->parts[1].model->proto;
    Onnx__ModelProto *whole = ox_arena_copy(&m->out->arena, &fresh, sizeof fresh);
    Onnx__GraphProto *graph = ox_arena_copy(&m->out->arena, &fresh_graph, sizeof fresh_graph);
    struct list metadata;
    if (!whole || !graph)
        return ox_merge_no_room(m);
    OX_TRY(ox_merge_opsets(m, whole));
    if (m->n_problems)
        return OX_OK; /* all of them are known */
    for (size_t p = 0; p < OX_MERGED; p++) {
        OX_TRY(rename_graph(&m->parts[p]));
        if (m->parts[p].model->proto->n_training_info)
            ox_merge_note(m, "%s: its training graphs are left out", m->parts[p].model->path);
    }
    OX_TRY(join_graphs(m, graph));
    OX_TRY(join_functions(m, whole));
    OX_TRY(join_devices(m, whole));
    OX_TRY(join_metadata(m, "model", a->metadata_props, a->n_metadata_props, b->metadata_props,
                         b->n_metadata_props, &metadata));
    PUT_LIST(whole, metadata_props, metadata);
    OX_TRY(join_text(m, a->doc_string, b->doc_string, "\n", &whole->doc_string));
    put_origin(m, whole);
    whole->graph = graph;
    m->out->proto = whole;
    return OX_OK;
}
