/* A model exported for one batch holds that size in its declared types and in the constants that its Reshape and Expand nodes
 * aim at. Here both are put right: declared dimensions are dropped, targets rewritten, and what inference then finds is held
 * against what it found before, at the old size. */
#include "graph/free_dim.h"

#include <stdlib.h>
#include <string.h>

#include "ops/infer.h"
#include "shape/shapes.h"

/* ---- Declared types ---------------------------------------------------------------------------------------------- */

static struct ox_type *new_type(struct ox_model *model, const struct ox_type *like)
{
    struct ox_type *type = ox_arena_copy(&model->arena, like, sizeof *like);
    const struct ox_expr **dims =
        ox_arena_array(&model->arena, like->rank ? like->rank : 1, sizeof(*dims));
    if (!type || !dims)
        return NULL;
    type->dims = dims;
    type->proto = NULL;
    return type;
}

/* What nodes make keeps element type and rank; the dimensions are inferred anew. */
static enum ox_status forget_dims(struct ox_model *model, struct ox_error *err)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_values; i++) {
            struct ox_value *value = graph->values[i];
            if (!value->producer || !value->type || value->type->kind != OX_TYPE_TENSOR ||
                !value->type->has_rank)
                continue;
            value->type = new_type(model, value->type);
            if (!value->type)
                return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(model));
        }
    }
    return OX_OK;
}

static enum ox_status name_dim(struct ox_freeing *free_, const struct ox_value *value,
                               unsigned axis, const char *name, int64_t was, struct ox_error *err)
{
    for (size_t i = 0; i < free_->n_names; i++) {
        if (strcmp(free_->names[i], name) != 0)
            continue;
        return free_->sizes[i] == was
                   ? OX_OK
                   : ox_fail(err, OX_USAGE,
                             "%s: input '%s' has %lld in dimension %u, and %s is %lld elsewhere",
                             ox_free_label(free_->model), value->name, (long long)was, axis, name,
                             (long long)free_->sizes[i]);
    }
    if (free_->n_names == OX_FREE_NAMES)
        return ox_fail(err, OX_USAGE, "%s: more than %d names", ox_free_label(free_->model),
                       OX_FREE_NAMES);
    free_->names[free_->n_names] = ox_arena_strdup(&free_->model->arena, name);
    free_->sizes[free_->n_names++] = was;
    return free_->names[free_->n_names - 1]
               ? OX_OK
               : ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(free_->model));
}

/* "Nx3x224x224" given to an input; a name alone is the first dimension. */
static enum ox_status free_input(struct ox_freeing *free_, const char *name, const char *text,
                                 struct ox_error *err)
{
    struct ox_model *model = free_->model;
    struct ox_value *value = name ? ox_graph_value(model->graph, name) : NULL;
    if (!name && model->graph->n_inputs == 1)
        value = model->graph->inputs[0];
    if (!value || !value->is_input)
        return ox_fail(err, OX_USAGE, "%s: there is no input '%s'", ox_free_label(model),
                       name ? name : "");
    const struct ox_type *old = value->type;
    char *copy = ox_arena_strdup(&model->arena, text);
    if (!old || old->kind != OX_TYPE_TENSOR || !old->has_rank || !old->rank)
        return ox_fail(err, OX_USAGE, "%s: input '%s' has no dimensions", ox_free_label(model),
                       value->name);
    struct ox_type *type = new_type(model, old);
    if (!type || !copy)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(model));
    for (unsigned i = 0; i < old->rank; i++)
        type->dims[i] = old->dims[i];
    bool alone = !strpbrk(text, "x,");
    unsigned axis = 0;
    for (char *at = copy; *at; axis++) {
        size_t n = strcspn(at, "x,");
        bool more = at[n] != '\0';
        int64_t was, now;
        at[n] = '\0';
        const struct ox_expr *dim = n ? ox_expr_parse(model->exprs, at) : NULL;
        if (ox_exprs_failed(model->exprs))
            return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(model));
        if (!dim || axis >= old->rank)
            return ox_fail(err, OX_USAGE, "%s: '%s' does not fit the %u dimensions of input '%s'",
                           ox_free_label(model), text, old->rank, value->name);
        bool fixed = ox_expr_is_int(old->dims[axis], &was);
        if (ox_expr_is_int(dim, &now) ? !fixed || now != was : !ox_expr_is_symbol(dim, NULL))
            return ox_fail(err, OX_USAGE,
                           "%s: dimension %u of input '%s': '%s' is neither a name nor what it is",
                           ox_free_label(model), axis, value->name, at);
        if (fixed && !ox_expr_is_int(dim, NULL))
            OX_TRY(name_dim(free_, value, axis, at, was, err));
        type->dims[axis] = dim;
        at += n + more;
    }
    if (!alone && axis != old->rank)
        return ox_fail(err, OX_USAGE, "%s: '%s' does not fit the %u dimensions of input '%s'",
                       ox_free_label(model), text, old->rank, value->name);
    value->type = type;
    return OX_OK;
}

/* ---- What is constant --------------------------------------------------------------------------------------------- */

static bool all_fixed(const struct ox_node *node, const bool *fixed)
{
    if (ox_node_has_graphs(node))
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *value = node->inputs[i];
        if (value && (value->graph != node->graph || !fixed[value->id]))
            return false;
    }
    return true;
}

static enum ox_status find_fixed(struct ox_freeing *free_, struct ox_error *err)
{
    struct ox_model *model = free_->model;
    free_->fixed = ox_arena_array(&model->arena, model->n_graphs, sizeof *free_->fixed);
    free_->replaced = ox_arena_array(&model->arena, model->n_graphs, sizeof *free_->replaced);
    free_->n_fixed = ox_arena_array(&model->arena, model->n_graphs, sizeof *free_->n_fixed);
    for (size_t g = 0; free_->fixed && free_->replaced && free_->n_fixed && g < model->n_graphs;
         g++) {
        const struct ox_graph *graph = model->graphs[g];
        bool *fixed = ox_arena_array(&model->arena, graph->n_values + 1, sizeof *fixed);
        free_->replaced[g] =
            ox_arena_array(&model->arena, graph->n_values + 1, sizeof *free_->replaced[g]);
        if (!fixed || !free_->replaced[g])
            return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(model));
        for (size_t i = 0; i < graph->n_values; i++)
            fixed[i] = !graph->values[i]->producer && ox_free_constant(graph->values[i]);
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            for (size_t k = 0; k < node->n_outputs && all_fixed(node, fixed); k++) {
                if (node->outputs[k])
                    fixed[node->outputs[k]->id] = true;
            }
        }
        free_->fixed[g] = fixed;
        free_->n_fixed[g] = graph->n_values;
    }
    return free_->fixed && free_->replaced && free_->n_fixed
               ? OX_OK
               : ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(model));
}

/* ---- What is left over ------------------------------------------------------------------------------------------- */

/* Takes the mark from every value that is still used. */
static void unmark_used(struct ox_freeing *free_, struct ox_value *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct ox_value *value = values[i];
        while (value && value->outer)
            value = value->outer;
        if (value && value->id < free_->n_fixed[value->graph->id])
            free_->replaced[value->graph->id][value->id] = false;
    }
}

static enum ox_status drop_replaced(struct ox_freeing *free_, struct ox_error *err)
{
    struct ox_model *model = free_->model;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        unmark_used(free_, graph->outputs, graph->n_outputs);
        for (size_t i = 0; i < graph->n_nodes; i++)
            unmark_used(free_, graph->nodes[i]->inputs, graph->nodes[i]->n_inputs);
    }
    for (size_t g = 0; g < model->n_graphs; g++) {
        struct ox_graph *graph = model->graphs[g];
        const bool *replaced = free_->replaced[g];
        bool *nodes = ox_arena_array(&model->arena, graph->n_nodes + 1, sizeof *nodes);
        bool *inits = ox_arena_array(&model->arena, graph->n_inits + 1, sizeof *inits);
        if (!nodes || !inits)
            return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(model));
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            nodes[i] = node->n_outputs == 1 && node->outputs[0] &&
                       node->outputs[0]->id < free_->n_fixed[g] && replaced[node->outputs[0]->id];
        }
        for (size_t i = 0; i < graph->n_inits; i++) {
            const struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
            inits[i] = value && value->init == graph->inits[i] && !value->is_input &&
                       value->id < free_->n_fixed[g] && replaced[value->id];
        }
        ox_graph_remove_nodes(graph, nodes);
        ox_graph_remove_inits(graph, inits);
    }
    return OX_OK;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static bool size_before(void *arg, const char *symbol, int64_t *value)
{
    const struct ox_freeing *free_ = arg;
    for (size_t i = 0; i < free_->n_names; i++) {
        if (strcmp(free_->names[i], symbol) == 0) {
            *value = free_->sizes[i];
            return true;
        }
    }
    return false;
}

/* Every dimension at the old sizes must be what it was. */
static enum ox_status compare(struct ox_freeing *free_, const struct ox_value *value,
                              struct ox_error *err)
{
    int64_t before[OX_FREE_RANK], now;
    const struct ox_type *type = ox_shapes_type(free_->after, value);
    if (!ox_type_numbers(ox_free_type_before(free_, value), before) || !type || !type->has_rank)
        return OX_OK;
    for (unsigned i = 0; i < type->rank; i++) {
        if (!type->dims[i] || !ox_expr_eval(type->dims[i], size_before, free_, &now) ||
            now == before[i])
            continue;
        return ox_fail(err, OX_NEGATIVE,
                       "%s: cannot be freed: dimension %u of '%s' (%s %s) is no longer %lld",
                       ox_free_label(free_->model), i, value->name,
                       value->producer ? value->producer->op_type : "input",
                       value->producer ? value->producer->name : "", (long long)before[i]);
    }
    return OX_OK;
}

static enum ox_status infer_after(struct ox_freeing *free_, bool keep_names, struct ox_error *err)
{
    struct ox_shapes_options options = {.keep_names = keep_names};
    ox_shapes_release(free_->after);
    free_->after = NULL;
    return ox_shapes_infer(&free_->after, free_->model, &options, NULL, err);
}

/* With numbers a contradiction shows that a name may hide: 12 and 12*N. */
static enum ox_status try_other_size(struct ox_freeing *free_, size_t n_old, struct ox_error *err)
{
    int64_t sizes[OX_FREE_NAMES];
    struct ox_shapes *shapes = NULL;
    for (size_t i = 0; i < free_->n_names; i++)
        sizes[i] = free_->sizes[i] + 2;
    struct ox_shapes_options options = {
        .symbols = free_->names, .sizes = sizes, .n_symbols = free_->n_names};
    OX_TRY(ox_shapes_infer(&shapes, free_->model, &options, NULL, err));
    const struct ox_findings *findings = ox_shapes_findings(shapes);
    enum ox_status status = OX_OK;
    if (ox_findings_count(findings) > n_old) {
        const struct ox_finding *finding = ox_findings_at(findings, 0);
        status = ox_fail(err, OX_NEGATIVE, "%s: cannot be freed: with %s = %lld: %s '%s': %s",
                         ox_free_label(free_->model), free_->names[0], (long long)sizes[0],
                         finding->op_type ? finding->op_type : "",
                         finding->node ? finding->node : "", finding->message);
    }
    ox_shapes_release(shapes);
    return status;
}

static enum ox_status judge(struct ox_freeing *free_, struct ox_error *err)
{
    const struct ox_findings *findings = ox_shapes_findings(free_->after);
    size_t old = ox_findings_count(ox_shapes_findings(free_->before));
    if (ox_findings_count(findings) > old) {
        const struct ox_finding *finding = ox_findings_at(findings, 0);
        return ox_fail(err, OX_NEGATIVE, "%s: cannot be freed: %s '%s': %s",
                       ox_free_label(free_->model), finding->op_type ? finding->op_type : "",
                       finding->node ? finding->node : "", finding->message);
    }
    OX_TRY(try_other_size(free_, old, err));
    /* Inference learns a == 7 where a constant says so: then the dimension is as fixed as it was. */
    for (size_t i = 0; i < free_->model->graph->n_inputs; i++) {
        const struct ox_value *value = free_->model->graph->inputs[i];
        const struct ox_type *type = ox_shapes_type(free_->after, value);
        for (unsigned k = 0; type && type->has_rank && value->type && k < type->rank; k++) {
            if (ox_expr_is_int(type->dims[k], NULL) && !ox_expr_is_int(value->type->dims[k], NULL))
                return ox_fail(
                    err, OX_NEGATIVE,
                    "%s: cannot be freed: a constant needs dimension %u of input '%s' to "
                    "be what it was",
                    ox_free_label(free_->model), k, value->name);
        }
    }
    for (size_t g = 0; g < free_->model->n_graphs; g++) {
        const struct ox_graph *graph = free_->model->graphs[g];
        for (size_t i = 0; !graph->function && i < graph->n_values; i++)
            OX_TRY(compare(free_, graph->values[i], err));
    }
    return OX_OK;
}

static enum ox_status rewrite(struct ox_freeing *free_, struct ox_error *err)
{
    /* A target put right lets the dimension through to the next one. */
    for (size_t changed = SIZE_MAX; changed != free_->n_changed;) {
        changed = free_->n_changed;
        OX_TRY(infer_after(free_, true, err));
        for (size_t g = 0; g < free_->model->n_graphs; g++) {
            struct ox_graph *graph = free_->model->graphs[g];
            size_t n = graph->n_nodes; /* nodes that are added come after */
            for (size_t i = 0; !graph->function && i < n; i++)
                OX_TRY(ox_free_node(free_, graph->nodes[i], err));
            enum ox_status sorted = graph->n_nodes > n ? ox_graph_sort(graph, err) : OX_OK;
            if (sorted != OX_OK)
                return ox_fail_context(err, sorted, "%s", ox_free_label(free_->model));
        }
    }
    OX_TRY(drop_replaced(free_, err));
    return infer_after(free_, false, err);
}

enum ox_status ox_shapes_free_dims(struct ox_model *model, const char *const *inputs,
                                   const char *const *dims, size_t n, struct ox_error *err)
{
    struct ox_freeing free_ = {.model = model};
    if (!model->graph)
        return ox_fail(err, OX_INPUT, "%s: there is no graph", ox_free_label(model));
    enum ox_status status = ox_shapes_infer(&free_.before, model, NULL, NULL, err);
    if (status == OX_OK)
        status = find_fixed(&free_, err);
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = free_input(&free_, inputs[i], dims[i], err);
    if (status == OX_OK)
        status = forget_dims(model, err);
    if (status == OX_OK)
        status = rewrite(&free_, err);
    if (status == OX_OK)
        status = judge(&free_, err);
    if (status == OX_OK)
        status = ox_shapes_store(free_.after, model, true, err);
    ox_shapes_release(free_.before);
    ox_shapes_release(free_.after);
    return status;
}
