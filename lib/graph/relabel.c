/* A model under other names, and with other statements about itself. */
#include <stdlib.h>
#include <string.h>

#include "model/lift.h"
#include "model/names.h"
#include "model/rename.h"
#include "model/stored.h"
#include "proto/onnx.pb-c.h"

struct relabel {
    struct ox_model *from, *to;
    const struct ox_relabel_options *options;
    struct ox_relabeled *told;
    struct ox_names values, nodes, dims;
    struct ox_error *err;
};

static enum ox_status no_room(const struct relabel *r)
{
    return ox_fail(r->err, OX_NO_MEMORY, "%s: out of memory", r->from->path);
}

static const char *find_pair(const struct ox_name_pair *pairs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(pairs[i].from, name) == 0)
            return pairs[i].to;
    return NULL;
}

/* A graph whose names are its own: main and within, or of training. */
static bool has_names(const struct ox_graph *graph)
{
    return !graph->function;
}

/* ---- Values and nodes --------------------------------------------------------------------------------------------- */

static enum ox_status name_one(struct relabel *r, struct ox_names *names, const char *old,
                               const struct ox_name_pair *pairs, size_t n_pairs, size_t *n)
{
    const char *prefix = r->options->prefix;
    if (!*old || ox_names_find(names, old))
        return OX_OK;
    const char *to = find_pair(pairs, n_pairs, old), *kept = old;
    if (to)
        kept = ox_arena_strdup(&r->to->arena, to);
    else if (prefix && *prefix)
        kept = ox_arena_printf(&r->to->arena, "%s%s", prefix, old);
    *n += kept && strcmp(kept, old) != 0;
    return kept && ox_names_add(names, old, kept) ? OX_OK : no_room(r);
}

static enum ox_status name_all(struct relabel *r)
{
    const struct ox_relabel_options *with = r->options;
    for (size_t g = 0; g < r->from->n_graphs; g++) {
        const struct ox_graph *graph = r->from->graphs[g];
        if (!has_names(graph))
            continue;
        for (size_t i = 0; i < graph->n_values; i++)
            OX_TRY(name_one(r, &r->values, graph->values[i]->name, with->values, with->n_values,
                            &r->told->n_values));
        for (size_t i = 0; i < graph->n_nodes; i++)
            OX_TRY(name_one(r, &r->nodes, graph->nodes[i]->name, with->nodes, with->n_nodes,
                            &r->told->n_nodes));
    }
    return OX_OK;
}

/* What is asked for is there, and nothing else is called so then. */
static enum ox_status check_names(struct relabel *r, const struct ox_names *names,
                                  const struct ox_name_pair *pairs, size_t n, const char *what)
{
    char shown[OX_SHOWN_BYTES];
    struct ox_names seen = {.n = 0};
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        if (!ox_names_find(names, pairs[i].from))
            status = ox_fail(r->err, OX_USAGE, "%s: there is no %s '%s'", r->from->path, what,
                             ox_shown(shown, pairs[i].from, strlen(pairs[i].from)));
        else if (!*pairs[i].to)
            status = ox_fail(r->err, OX_USAGE, "%s: %s '%s' cannot be called ''", r->from->path,
                             what, ox_shown(shown, pairs[i].from, strlen(pairs[i].from)));
    }
    for (size_t i = 0; i < names->n && status == OX_OK && n; i++) {
        if (ox_names_find(&seen, names->to[i]))
            status = ox_fail(r->err, OX_USAGE, "%s: two %ss would be called '%s'", r->from->path,
                             what, ox_shown(shown, names->to[i], strlen(names->to[i])));
        else if (!ox_names_add(&seen, names->to[i], names->to[i]))
            status = no_room(r);
    }
    ox_names_release(&seen);
    return status;
}

/* ---- Dimensions --------------------------------------------------------------------------------------------------- */

static enum ox_status name_dims(struct relabel *r)
{
    const struct ox_relabel_options *with = r->options;
    char shown[OX_SHOWN_BYTES];
    for (size_t i = 0; i < with->n_dims; i++) {
        const char *from = ox_arena_strdup(&r->to->arena, with->dims[i].from);
        const char *to = ox_arena_strdup(&r->to->arena, with->dims[i].to), *at = to, *name;
        if (!from || !to || !ox_names_add(&r->dims, from, to))
            return no_room(r);
        const size_t n = ox_dim_next_name(&at, &name);
        if (!n || name != to || to[n])
            return ox_fail(r->err, OX_USAGE, "%s: '%s' is no name of a dimension", r->from->path,
                           ox_shown(shown, to, strlen(to)));
    }
    return OX_OK;
}

static const char *name_of(void *arg, enum ox_name_kind kind, const char *old)
{
    struct relabel *r = arg;
    if (kind == OX_NAME_DIM) {
        const char *text = ox_dim_rename(&r->to->arena, &r->dims, old);
        r->told->n_dims += text != old;
        return text;
    }
    const char *name = ox_names_find(kind == OX_NAME_VALUE ? &r->values : &r->nodes, old);
    return name ? name : old;
}

/* ---- What the model says of itself -------------------------------------------------------------------------------- */

static Onnx__StringStringEntryProto *new_entry(struct relabel *r, const char *key,
                                               const char *value)
{
    static const Onnx__StringStringEntryProto fresh = ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    Onnx__StringStringEntryProto *entry = ox_arena_copy(&r->to->arena, &fresh, sizeof fresh);
    if (!entry)
        return NULL;
    entry->key = ox_arena_strdup(&r->to->arena, key);
    entry->value = ox_arena_strdup(&r->to->arena, value);
    return entry->key && entry->value ? entry : NULL;
}

/* Values of keys that are there change in their place, others follow; without a value the key goes. */
static enum ox_status put_metadata(struct relabel *r, Onnx__ModelProto *model)
{
    const struct ox_relabel_options *with = r->options;
    Onnx__StringStringEntryProto **list = ox_arena_array(
        &r->to->arena, model->n_metadata_props + with->n_metadata + 1, sizeof(*list));
    size_t n = 0;
    if (!list)
        return no_room(r);
    for (size_t i = 0; i < model->n_metadata_props; i++) {
        const char *key = ox_text(model->metadata_props[i]->key);
        const char *value = find_pair(with->metadata, with->n_metadata, key);
        list[n] = model->metadata_props[i];
        if (value && *value)
            list[n] = new_entry(r, key, value);
        if (!list[n])
            return no_room(r);
        n += !value || *value;
    }
    for (size_t i = 0; i < with->n_metadata; i++) {
        bool there = !*with->metadata[i].to;
        for (size_t k = 0; k < model->n_metadata_props; k++)
            there |= strcmp(ox_text(model->metadata_props[k]->key), with->metadata[i].from) == 0;
        if (there)
            continue;
        list[n] = new_entry(r, with->metadata[i].from, with->metadata[i].to);
        if (!list[n++])
            return no_room(r);
    }
    model->metadata_props = list;
    model->n_metadata_props = n;
    return OX_OK;
}

/* Constants that are listed as inputs are no inputs any more. */
static enum ox_status drop_constant_inputs(struct relabel *r, Onnx__ModelProto *model)
{
    const struct ox_graph *graph = r->from->graph;
    Onnx__GraphProto *copy = ox_arena_copy(&r->to->arena, model->graph, sizeof *copy);
    Onnx__ValueInfoProto **list = ox_arena_array(&r->to->arena, graph->n_inputs + 1, sizeof(*list));
    size_t n = 0;
    if (!copy || !list)
        return no_room(r);
    for (size_t i = 0; i < graph->n_inputs; i++)
        if (!graph->inputs[i]->init && !graph->inputs[i]->sparse_init)
            list[n++] = model->graph->input[i];
    r->told->n_inputs = graph->n_inputs - n;
    copy->input = list;
    copy->n_input = n;
    model->graph = copy;
    if (model->ir_version < 4) { /* until then they had to be listed */
        model->ir_version = 4;
        model->has_ir_version = true;
    }
    return OX_OK;
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

static enum ox_status make(struct relabel *r)
{
    const struct ox_relabel_options *with = r->options;
    const struct ox_renaming renaming = {
        .from = r->from, .arena = &r->to->arena, .keep_external = true, .arg = r, .name = name_of};
    const ProtobufCMessage *message;
    OX_TRY(name_all(r));
    OX_TRY(check_names(r, &r->values, with->values, with->n_values, "value"));
    OX_TRY(check_names(r, &r->nodes, with->nodes, with->n_nodes, "node"));
    OX_TRY(name_dims(r));
    OX_TRY(ox_rename_message(&renaming, &r->from->proto->base, &message, r->err));
    if (with->n_dims && !r->told->n_dims)
        return ox_fail(r->err, OX_USAGE, "%s: no dimension has such a name", r->from->path);
    Onnx__ModelProto *model = ox_arena_copy(&r->to->arena, message, sizeof *model);
    if (!model)
        return no_room(r);
    OX_TRY(put_metadata(r, model));
    if (with->free_constants)
        OX_TRY(drop_constant_inputs(r, model));
    if (with->ir_version) {
        model->ir_version = with->ir_version;
        model->has_ir_version = true;
    }
    r->to->proto = model;
    return ox_lift_model(r->to, r->err);
}

enum ox_status ox_relabel(struct ox_model **out, struct ox_model *model,
                          const struct ox_relabel_options *options, struct ox_relabeled *told,
                          struct ox_error *err)
{
    struct relabel r = {.from = model, .options = options, .told = told, .err = err};
    *told = (struct ox_relabeled){.n_values = 0};
    if (!model->graph || !model->proto)
        return ox_fail(err, OX_INPUT, "%s: there is no graph", model->path);
    OX_TRY(ox_model_new(&r.to, model->env, model->path, err));
    enum ox_status status = OX_OK;
    if (model->dir) {
        r.to->dir = strdup(model->dir);
        status = r.to->dir ? OX_OK : no_room(&r);
    }
    if (status == OX_OK)
        status = make(&r);
    ox_names_release(&r.values);
    ox_names_release(&r.nodes);
    ox_names_release(&r.dims);
    if (status == OX_OK)
        *out = r.to;
    else
        ox_model_release(r.to);
    return status;
}
