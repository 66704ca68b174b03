/* The result of an inference as text, and into the model. */
#include <stdlib.h>
#include <string.h>

#include "shape/infer_impl.h"

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* A name that only value_info has is listed too, as declared: quantizers leave such entries behind. */
static bool is_listed(const struct ox_value *value)
{
    return !value->outer && *value->name &&
           (value->is_input || value->init || value->sparse_init || value->producer || value->info);
}

static size_t count_graph(const struct ox_graph *graph)
{
    size_t n = 0;
    for (size_t i = 0; i < graph->n_values; i++)
        n += is_listed(graph->values[i]);
    return n;
}

static void add_graph(struct ox_shapes *s, const struct ox_graph *graph)
{
    for (size_t i = 0; i < graph->n_inputs; i++) {
        if (is_listed(graph->inputs[i]))
            s->list[s->n_list++] = graph->inputs[i];
    }
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        if (is_listed(value) && !value->is_input && !value->producer)
            s->list[s->n_list++] = value;
    }
    for (size_t k = 0; k < graph->n_nodes; k++) {
        const struct ox_node *node = graph->nodes[k];
        for (size_t i = 0; i < node->n_outputs; i++) {
            const struct ox_value *value = node->outputs[i];
            if (value && is_listed(value) && !value->is_input && value->producer == node &&
                value->output_index == i)
                s->list[s->n_list++] = value;
        }
    }
}

static bool take_name(void *name, const char *symbol)
{
    *(const char **)name = symbol;
    return true;
}

/* In another call of the function it is another size; what the last call knew of it. */
static const struct ox_expr *differing_dim(struct ox_shapes *s, const struct ox_value *value,
                                           unsigned axis)
{
    const struct ox_slot *slot = ox_slot_of(s, value);
    const struct ox_type *last = slot ? slot->type : NULL;
    const struct ox_origin *of_last = NULL;
    const char *symbol = NULL;
    if (last && last->has_rank && axis < last->rank &&
        ox_expr_any_symbol(last->dims[axis], take_name, (void *)&symbol))
        of_last = ox_shapes_origin(s, symbol);
    struct ox_origin origin = {.node = value->producer};
    if (of_last) {
        origin.text = of_last->text;
        origin.by_data = of_last->by_data && of_last->node == value->producer;
    } else {
        origin.text =
            ox_arena_printf(&s->arena, "calls of %s differ in it", value->graph->function->name);
    }
    char *name = ox_arena_printf(&s->scratch, "%s.dim%u", value->name, axis);
    return name && origin.text ? ox_shapes_symbol(s, name, &origin) : NULL;
}

/* Sizes in functions that are not the same in every call get a name, as all other sizes have that only a run tells. */
static void name_differing(struct ox_shapes *s, const struct ox_graph *graph)
{
    const struct ox_type **joined = graph->function ? s->joined[graph->id] : NULL;
    for (size_t i = 0; joined && i < graph->n_values; i++) {
        const struct ox_type *type = joined[i];
        const struct ox_type *named = NULL;
        for (unsigned d = 0; type && type->has_rank && d < type->rank; d++) {
            if (type->dims[d] || !is_listed(graph->values[i]))
                continue;
            if (!named)
                named = ox_shapes_tensor(s, type->kind, type->elem, true, type->rank,
                                         (const struct ox_expr *const *)type->dims);
            if (!named)
                return;
            named->dims[d] = differing_dim(s, graph->values[i], d);
        }
        joined[i] = named ? named : type;
    }
}

bool ox_shapes_list(struct ox_shapes *s)
{
    size_t n = 0;
    for (size_t g = 0; g < s->n_graphs; g++)
        name_differing(s, s->model->graphs[g]);
    for (size_t g = 0; g < s->n_graphs; g++)
        n += count_graph(s->model->graphs[g]);
    s->list = ox_arena_array(&s->arena, n ? n : 1, sizeof(*s->list));
    if (!s->list)
        return false;
    for (size_t g = 0; g < s->n_graphs; g++)
        add_graph(s, s->model->graphs[g]);
    for (size_t i = 0; i < s->n_list; i++)
        s->n_unknown += !ox_shapes_is_known(ox_shapes_type(s, s->list[i]));
    return true;
}

size_t ox_shapes_count(const struct ox_shapes *shapes)
{
    return shapes->n_list;
}

size_t ox_shapes_unknown(const struct ox_shapes *shapes)
{
    return shapes->n_unknown;
}

const struct ox_findings *ox_shapes_findings(const struct ox_shapes *shapes)
{
    return shapes->own_findings;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* Text from a buffer that is used again, kept until the next entry. */
static const char *keep(struct ox_shapes *s, struct ox_strbuf *text)
{
    char *copy = ox_arena_text(&s->scratch, text);
    ox_strbuf_clear(text);
    return copy;
}

static bool set_dims(struct ox_shapes *s, struct ox_shape_entry *entry, const struct ox_type *type,
                     struct ox_strbuf *text)
{
    int64_t *dims = ox_arena_array(&s->scratch, type->rank + 1, sizeof *dims);
    const char **symbols = ox_arena_array(&s->scratch, type->rank + 1, sizeof(*symbols));
    if (!dims || !symbols)
        return false;
    for (unsigned i = 0; i < type->rank; i++) {
        const char *name;
        dims[i] = -1;
        if (!type->dims[i] || ox_expr_is_int(type->dims[i], &dims[i]))
            continue;
        if (ox_expr_is_symbol(type->dims[i], &name)) {
            symbols[i] = name;
            continue;
        }
        ox_expr_print(text, type->dims[i]);
        symbols[i] = keep(s, text);
        if (!symbols[i])
            return false;
    }
    entry->has_shape = true;
    entry->rank = type->rank;
    entry->dims = dims;
    entry->symbols = symbols;
    return true;
}

static bool has_element(const struct ox_type *type)
{
    for (; type; type = type->inner) {
        if (type->kind == OX_TYPE_TENSOR || type->kind == OX_TYPE_SPARSE)
            return type->elem != OX_UNDEFINED;
    }
    return false;
}

bool ox_shapes_at(struct ox_shapes *s, size_t i, struct ox_shape_entry *entry)
{
    const struct ox_value *value = s->list[i];
    const struct ox_type *type = ox_shapes_type(s, value);
    *entry = (struct ox_shape_entry){.name = value->name,
                                     .is_input = value->is_input,
                                     .is_constant = value->init || value->sparse_init,
                                     .op_type = value->producer ? value->producer->op_type : NULL,
                                     .known = ox_shapes_is_known(type)};
    ox_arena_rewind(&s->scratch, s->scratch_start);
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_graph_path(&text, value->graph);
    entry->graph = keep(s, &text);
    bool good = entry->graph != NULL;
    if (value->producer) {
        ox_node_label(&text, value->producer);
        entry->producer = keep(s, &text);
        good &= entry->producer != NULL;
    }
    if (type && (has_element(type) || type->kind == OX_TYPE_OPAQUE)) {
        ox_type_print(&text, type, false);
        entry->type = keep(s, &text);
        good &= entry->type != NULL;
    }
    if (good && type && (type->kind == OX_TYPE_TENSOR || type->kind == OX_TYPE_SPARSE) &&
        type->has_rank)
        good = set_dims(s, entry, type, &text);
    if (!entry->known)
        entry->reason = ox_shapes_reason(s, value);
    ox_strbuf_release(&text);
    return good;
}

/* ---- Into the model ----------------------------------------------------------------------------------------------- */

/* Into the model's own memory; NULL: out of memory. */
static const struct ox_type *copy_type(struct ox_model *model, const struct ox_type *type)
{
    struct ox_type *copy = ox_arena_copy(&model->arena, type, sizeof *type);
    if (!copy)
        return NULL;
    if (type->dims)
        copy->dims = ox_arena_copy(&model->arena, type->dims, type->rank * sizeof(type->dims[0]));
    if (type->inner)
        copy->inner = copy_type(model, type->inner);
    copy->proto = NULL;
    return (type->dims && !copy->dims) || (type->inner && !copy->inner) ? NULL : copy;
}

static enum ox_status set_type(struct ox_model *model, struct ox_value *value,
                               const struct ox_type *type, struct ox_error *err)
{
    value->type = copy_type(model, type);
    value->info = NULL;
    return value->type ? OX_OK
                       : ox_fail(err, OX_NO_MEMORY, "%s: out of memory",
                                 model->path ? model->path : "model");
}

static enum ox_status declare(const struct ox_shapes *shapes, struct ox_model *model,
                              struct ox_value *value, bool overwrite, struct ox_error *err)
{
    struct ox_shapes *s = (struct ox_shapes *)(uintptr_t)shapes;
    const struct ox_type *type = ox_shapes_type(shapes, value);
    bool differ = false;
    if (!type || !has_element(type))
        return OX_OK;
    const struct ox_type *merged = ox_shapes_merge(s, type, value->type, &differ);
    if ((differ && !overwrite) || ox_infer_type_equal(merged, value->type))
        return OX_OK;
    return set_type(model, value, merged, err);
}

enum ox_status ox_shapes_declare(const struct ox_shapes *shapes, struct ox_model *model,
                                 struct ox_value *value, struct ox_error *err)
{
    return declare(shapes, model, value, false, err);
}

enum ox_status ox_shapes_store(const struct ox_shapes *shapes, struct ox_model *model,
                               bool overwrite, struct ox_error *err)
{
    for (size_t i = 0; i < shapes->n_list; i++) {
        struct ox_value *value = (struct ox_value *)(uintptr_t)
                                     shapes->list[i]; /* of the model, which is ours to change */
        if (value->producer)
            OX_TRY(declare(shapes, model, value, overwrite, err));
    }
    return OX_OK;
}

enum ox_status ox_shapes_correct(const struct ox_shapes *shapes, struct ox_model *model,
                                 struct ox_error *err)
{
    struct ox_shapes *s = (struct ox_shapes *)(uintptr_t)shapes;
    for (size_t i = 0; i < shapes->n_list; i++) {
        struct ox_value *value = (struct ox_value *)(uintptr_t)shapes->list[i];
        const struct ox_type *type = ox_shapes_type(shapes, value);
        bool differ = false;
        if (!value->producer || !value->type || !type || !has_element(type) ||
            (value->is_output && value->graph == model->graph))
            continue;
        const struct ox_type *merged = ox_shapes_merge(s, type, value->type, &differ);
        if (differ)
            OX_TRY(set_type(model, value, merged, err));
    }
    return OX_OK;
}

enum ox_status ox_shapes_freeze(const struct ox_shapes *shapes, struct ox_model *model,
                                struct ox_error *err)
{
    const char *path = model->path ? model->path : "model";
    const struct ox_graph *graph = model->graph;
    for (size_t i = 0; graph && i < graph->n_inputs; i++) {
        struct ox_value *value = graph->inputs[i];
        const struct ox_type *type = ox_shapes_type(shapes, value);
        if (!type || type->kind != OX_TYPE_TENSOR)
            continue;
        if (!type->has_rank)
            return ox_fail(err, OX_USAGE, "%s: input '%s' has no rank: say --input %s=DIMS", path,
                           value->name, value->name);
        for (unsigned k = 0; k < type->rank; k++) {
            if (!ox_expr_is_int(type->dims[k], NULL))
                return ox_fail(err, OX_USAGE, "%s: dimension %u of input '%s' is open", path, k,
                               value->name);
        }
        if (!ox_infer_type_equal(type, value->type))
            OX_TRY(set_type(model, value, type, err));
    }
    return ox_shapes_store(shapes, model, true, err);
}
