/* What a user says of the inputs: their dimensions, and numbers for names in them. */
#include <string.h>

#include "shape/infer_impl.h"
#include "shape/shapes.h"

/* "1x?xH" put in place of what the file declares. */
static enum ox_status override_dims(struct ox_shapes *s, const struct ox_value *value,
                                    const char *text, struct ox_error *err)
{
    const struct ox_expr *dims[OX_SHAPE_OVERRIDE_RANK];
    unsigned rank = 0;
    char *copy = ox_arena_strdup(&s->arena, text);
    if (!copy)
        return ox_no_memory(err);
    for (char *at = copy; *at;) {
        size_t n = strcspn(at, "x,");
        bool more = at[n] != '\0';
        at[n] = '\0';
        if (rank == OX_SHAPE_OVERRIDE_RANK || n == 0)
            return ox_fail(err, OX_USAGE, "input '%s': '%s' is no shape", value->name, text);
        int64_t number;
        dims[rank] = strcmp(at, "?") == 0 ? NULL : ox_expr_parse(s->pool, at);
        if (strcmp(at, "?") != 0 &&
            (!dims[rank] || (ox_expr_is_int(dims[rank], &number) && number < 0)))
            return ox_fail(err, OX_USAGE, "input '%s': '%s' is no dimension", value->name, at);
        rank++;
        at += n + more;
    }
    struct ox_slot *slot = ox_slot_of(s, value);
    const struct ox_type *old = slot->type;
    if (old && old->kind != OX_TYPE_TENSOR)
        return ox_fail(err, OX_USAGE, "input '%s' is no tensor", value->name);
    if (old && old->has_rank && old->rank != rank)
        return ox_fail(err, OX_USAGE, "input '%s' has %u dimensions, '%s' has %u", value->name,
                       old->rank, text, rank);
    const struct ox_type *type =
        ox_shapes_tensor(s, OX_TYPE_TENSOR, old ? old->elem : OX_UNDEFINED, true, rank, dims);
    slot->type = type ? ox_shapes_name_open(s, value, type) : NULL;
    ox_shapes_not_empty(s, slot->type);
    return type ? OX_OK : ox_no_memory(err);
}

static bool is_symbol(void *symbol, const char *name)
{
    return strcmp(symbol, name) == 0;
}

static bool has_dimension(struct ox_shapes *s, const char *name)
{
    const struct ox_graph *graph = s->model->graph;
    bool found = false;
    for (size_t i = 0; i < graph->n_inputs; i++) {
        const struct ox_type *type = ox_slot_of(s, graph->inputs[i])->type;
        for (unsigned d = 0; type && type->has_rank && d < type->rank; d++)
            found |= ox_expr_any_symbol(type->dims[d], is_symbol, (void *)(uintptr_t)name);
    }
    return found;
}

/* Gives the elements of the inputs names where one of them is `name`. */
static bool has_element(struct ox_shapes *s, const char *name)
{
    const struct ox_graph *graph = s->model->graph;
    for (size_t i = 0; i < graph->n_inputs; i++) {
        const struct ox_value *value = graph->inputs[i];
        const struct ox_expr *const *elements;
        size_t n = strlen(value->name), count;
        if (strncmp(name, value->name, n) != 0 || (name[n] != '[' && name[n] != '.') ||
            !ox_shapes_values(s, value, &count, &elements))
            continue;
        for (size_t k = 0; k < count; k++) {
            if (ox_expr_any_symbol(elements[k], is_symbol, (void *)(uintptr_t)name))
                return true;
        }
    }
    return false;
}

/* A number for a name of the inputs' dimensions. As a fact it holds for what the file declares further on too. */
static enum ox_status set_symbol(struct ox_shapes *s, const char *name, int64_t size,
                                 struct ox_error *err)
{
    const struct ox_expr *symbol = ox_expr_symbol(s->pool, name);
    int64_t is;
    if (size >= 0 && ox_shapes_learn(s, symbol, ox_expr_int(s->pool, size)))
        return OX_OK;
    if (ox_expr_is_int(ox_shapes_resolve(s, symbol), &is))
        return ox_fail(err, OX_USAGE, "'%s' cannot be %lld and %lld", name, (long long)is,
                       (long long)size);
    return ox_fail(err, OX_USAGE, "'%s' cannot be %lld%s", name, (long long)size,
                   size ? ""
                        : ": open dimensions are at least 1 unless they may be empty (--empty)");
}

enum ox_status ox_shapes_override(struct ox_shapes *s, const struct ox_shapes_options *options,
                                  struct ox_error *err)
{
    for (size_t i = 0; options && i < options->n_overrides; i++) {
        const char *name = options->input_names[i];
        const struct ox_value *value = name ? ox_graph_value(s->model->graph, name) : NULL;
        int64_t size;
        if (!name && s->model->graph->n_inputs == 1)
            value = s->model->graph->inputs[0];
        if (value && value->is_input)
            OX_TRY(override_dims(s, value, options->input_dims[i], err));
        else if (name && has_dimension(s, name) &&
                 ox_expr_is_int(ox_expr_parse(s->pool, options->input_dims[i]), &size))
            OX_TRY(set_symbol(s, name, size, err));
        else if (!name)
            return ox_fail(err, OX_USAGE, "'%s' names none of %zu inputs: say NAME=DIMS",
                           options->input_dims[i], s->model->graph->n_inputs);
        else
            return ox_fail(err, OX_USAGE, "there is no input '%s'", name);
    }
    return OX_OK;
}

static void resolve_elements(struct ox_shapes *s, struct ox_slot *slot)
{
    const struct ox_expr **list =
        slot->values ? ox_arena_array(&s->arena, slot->n_values + 1, sizeof(*list)) : NULL;
    for (size_t i = 0; list && i < slot->n_values; i++)
        list[i] = ox_shapes_resolve(s, slot->values[i]);
    slot->values = list;
}

enum ox_status ox_shapes_set_symbols(struct ox_shapes *s, const struct ox_shapes_options *options,
                                     struct ox_error *err)
{
    const struct ox_graph *graph = s->model->graph;
    for (size_t k = 0; options && k < options->n_symbols; k++) {
        if (!has_dimension(s, options->symbols[k]) && !has_element(s, options->symbols[k]))
            return ox_fail(err, OX_USAGE, "no input has a dimension or an element named '%s'",
                           options->symbols[k]);
        OX_TRY(set_symbol(s, options->symbols[k], options->sizes[k], err));
    }
    for (size_t i = 0; s->n_facts && i < graph->n_inputs; i++) {
        struct ox_slot *slot = ox_slot_of(s, graph->inputs[i]);
        slot->type = ox_shapes_resolve_type(s, slot->type);
        resolve_elements(s, slot);
    }
    return OX_OK;
}
