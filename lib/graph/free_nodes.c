/* What nodes hold of an input's old size: targets of Reshape and Expand, rows beside what is freed. */
#include <string.h>

#include "graph/free_dim.h"
#include "model/value.h"

const char *ox_free_label(const struct ox_model *model)
{
    return model->path ? model->path : "model";
}

/* The dimensions of a tensor type that are numbers all; false: not so. */
bool ox_type_numbers(const struct ox_type *type, int64_t dims[OX_FREE_RANK])
{
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank || type->rank > OX_FREE_RANK)
        return false;
    for (unsigned i = 0; i < type->rank; i++) {
        if (!ox_expr_is_int(type->dims[i], &dims[i]))
            return false;
    }
    return true;
}

const struct ox_stored *ox_free_constant(const struct ox_value *value)
{
    const struct ox_value *origin = value ? ox_value_origin(value) : NULL;
    const bool replaceable = origin && origin->is_input && origin->graph->model->ir_version >= 4;
    return replaceable ? NULL : ox_value_stored(origin);
}

/* NULL for what was added since. */
const struct ox_type *ox_free_type_before(const struct ox_freeing *free_,
                                          const struct ox_value *value)
{
    value = ox_value_origin(value);
    return value->id < free_->n_fixed[value->graph->id] ? ox_shapes_type(free_->before, value)
                                                        : NULL;
}

/* Whether no input of the graph leads to it: it comes from constants alone. */
static bool is_fixed(const struct ox_freeing *free_, const struct ox_value *value)
{
    value = ox_value_origin(value);
    const bool *fixed = free_->fixed[value->graph->id];
    return fixed && value->id < free_->n_fixed[value->graph->id] ? fixed[value->id]
                                                                 : ox_free_constant(value) != NULL;
}

static void note_replaced(struct ox_freeing *free_, const struct ox_value *value)
{
    value = ox_value_origin(value);
    if (value->id < free_->n_fixed[value->graph->id])
        free_->replaced[value->graph->id][value->id] = true;
}

/* Puts a new constant in place of the node's input. */
static enum ox_status set_constant(struct ox_freeing *free_, struct ox_node *node, size_t input,
                                   unsigned n, const int64_t *values, struct ox_error *err)
{
    struct ox_tensor *tensor = NULL;
    int64_t dims[1] = {n};
    OX_TRY(ox_tensor_from_data(&tensor, free_->model->env, OX_INT64, 1, dims, values, err));
    struct ox_value *value = ox_graph_add_value(node->graph, node->inputs[input]->name);
    bool good = value && ox_graph_add_init(node->graph, value, tensor);
    ox_tensor_release(tensor);
    if (!good)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(free_->model));
    note_replaced(free_, node->inputs[input]);
    node->inputs[input] = value;
    free_->n_changed++;
    return OX_OK;
}

/* The int64 values of a constant; *n is 0 where it has others, or more than a shape has. */
static enum ox_status read_values(struct ox_freeing *free_, const struct ox_value *value,
                                  int64_t values[OX_FREE_RANK], unsigned *n, struct ox_error *err)
{
    const struct ox_stored *stored = ox_free_constant(value);
    struct ox_tensor *tensor = NULL;
    *n = 0;
    if (!stored)
        return OX_OK;
    OX_TRY(ox_stored_load(free_->model, stored, &tensor, err));
    if (tensor->dtype == OX_INT64 && tensor->n <= OX_FREE_RANK) {
        *n = (unsigned)tensor->n;
        memcpy(values, tensor->data, tensor->n * sizeof *values);
    }
    ox_tensor_release(tensor);
    return OX_OK;
}

/* The numbers that a target is written down as; what is made of other constants is known by what the node made
 * of them alone: no 0 and no -1 then. */
static enum ox_status read_target(struct ox_freeing *free_, const struct ox_value *value,
                                  const struct ox_type *made, const int64_t *made_dims,
                                  int64_t target[OX_FREE_RANK], unsigned *n, struct ox_error *err)
{
    if (ox_free_constant(value))
        return read_values(free_, value, target, n, err);
    *n = made->rank;
    memcpy(target, made_dims, made->rank * sizeof *target);
    return OX_OK;
}

static void expand_target(const struct ox_type *in, const int64_t *in_before, unsigned n,
                          const int64_t *old, int64_t *target)
{
    for (unsigned i = 0; i < n; i++) {
        int64_t axis = (int64_t)i - n + in->rank;
        bool open = axis >= 0 && !ox_expr_is_int(in->dims[axis], NULL);
        target[i] = open && old[i] == in_before[axis] ? 1 : old[i];
    }
}

static bool reshape_target(const struct ox_node *node, const struct ox_type *in,
                           const int64_t *in_before, unsigned n, const int64_t *out_before,
                           const int64_t *old, int64_t *target)
{
    const struct ox_attr *allow = ox_node_attr(node, "allowzero");
    bool has_rest = false;
    if (!ox_reshape_target_free(in->rank, in_before, (const struct ox_expr *const *)in->dims, n,
                                out_before, !allow || !allow->i, target))
        return false;
    for (unsigned i = 0; i < n; i++)
        has_rest |= target[i] == -1;
    /* What the file left to follow still does, unless another axis must now: then it is the number that it was. */
    for (unsigned i = 0; i < n; i++) {
        if (old[i] == 0 || (old[i] == -1 && !has_rest))
            target[i] = old[i];
    }
    return true;
}

/* A Reshape whose target is put together as it runs, Concat([1], Shape(x)[1:]), and begins with the old size: the first dimension is
 * copied then, or follows from the rest where 0 means 0. */
static enum ox_status free_first(struct ox_freeing *free_, struct ox_node *node,
                                 struct ox_error *err)
{
    int64_t first[OX_FREE_RANK], other[OX_FREE_RANK], was;
    unsigned n, n_other;
    struct ox_node *concat = node->inputs[1]->producer;
    const struct ox_attr *allow = ox_node_attr(node, "allowzero");
    const struct ox_type *in = ox_shapes_type(free_->after, node->inputs[0]);
    const struct ox_type *before = ox_free_type_before(free_, node->inputs[0]);
    bool copies = !allow || !allow->i;
    if (!concat || strcmp(concat->op_type, "Concat") != 0 || *concat->domain ||
        concat->n_inputs < 2 || !concat->inputs[0] || !in || !in->has_rank || !in->rank ||
        ox_expr_is_int(in->dims[0], NULL) || !before || before->rank != in->rank ||
        !ox_expr_is_int(before->dims[0], &was))
        return OX_OK;
    OX_TRY(read_values(free_, concat->inputs[0], first, &n, err));
    if (!n || first[0] != was || was < 1)
        return OX_OK;
    for (size_t i = 0; i < concat->n_inputs && !copies; i++) {
        OX_TRY(read_values(free_, concat->inputs[i], other, &n_other, err));
        for (unsigned k = 0; k < n_other; k++)
            if (other[k] < 0)
                return OX_OK;
    }
    first[0] = copies ? 0 : -1;
    struct ox_value *made = ox_graph_add_value(node->graph, node->inputs[1]->name);
    struct ox_node *copy = made ? ox_graph_add_node(node->graph, "Concat", "", "", concat->inputs,
                                                    concat->n_inputs, &made, 1)
                                : NULL;
    if (!copy || !ox_node_set_int(copy, "axis", 0))
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(free_->model));
    OX_TRY(set_constant(free_, copy, 0, n, first, err));
    note_replaced(free_, node->inputs[1]);
    node->inputs[1] = made;
    return OX_OK;
}

static enum ox_status free_target(struct ox_freeing *free_, struct ox_node *node, bool is_expand,
                                  struct ox_error *err)
{
    int64_t in_before[OX_FREE_RANK], out_before[OX_FREE_RANK];
    int64_t old[OX_FREE_RANK], target[OX_FREE_RANK] = {0};
    const struct ox_type *in = ox_shapes_type(free_->after, node->inputs[0]);
    const struct ox_type *was = ox_free_type_before(free_, node->outputs[0]);
    unsigned n;
    if (!in || !in->has_rank ||
        !ox_type_numbers(ox_free_type_before(free_, node->inputs[0]), in_before) ||
        !ox_type_numbers(was, out_before))
        return OX_OK;
    OX_TRY(read_target(free_, node->inputs[1], was, out_before, old, &n, err));
    bool good = n > 0;
    if (good && is_expand)
        expand_target(in, in_before, n, old, target);
    else if (good)
        good = n == was->rank && reshape_target(node, in, in_before, n, out_before, old, target);
    bool differs = good && memcmp(old, target, n * sizeof *old) != 0;
    return differs ? set_constant(free_, node, 1, n, target, err) : OX_OK;
}

/* The axis at which a constant holds the old size of what now has a name in `like`; false: none. */
static bool stale_axis(const struct ox_freeing *free_, const struct ox_value *constant,
                       const struct ox_value *like, unsigned *axis)
{
    int64_t own[OX_FREE_RANK], before[OX_FREE_RANK];
    const struct ox_type *now = ox_shapes_type(free_->after, like);
    const struct ox_type *type = ox_free_type_before(free_, constant);
    if (!ox_type_numbers(type, own) || !ox_type_numbers(ox_free_type_before(free_, like), before) ||
        !now || !now->has_rank || now->rank != type->rank)
        return false;
    for (unsigned i = 0; i < now->rank; i++) {
        if (ox_expr_is_int(now->dims[i], NULL) || !now->dims[i] || own[i] != before[i])
            continue;
        *axis = i;
        return true;
    }
    return false;
}

static struct ox_value *add_constant(struct ox_freeing *free_, struct ox_graph *graph, unsigned n,
                                     const int64_t *values)
{
    struct ox_tensor *tensor = NULL;
    int64_t dims[1] = {n};
    struct ox_error err;
    if (ox_tensor_from_data(&tensor, free_->model->env, OX_INT64, 1, dims, values, &err) != OX_OK)
        return NULL;
    struct ox_value *value = ox_graph_add_value(graph, "freed_const");
    bool good = value && ox_graph_add_init(graph, value, tensor);
    ox_tensor_release(tensor);
    return good ? value : NULL;
}

/* One row of a constant that was written down once a batch member, repeated as `like` is long: an Expand to
 * [.., Gather(Shape(like), axis), ..]. */
static enum ox_status expand_constant(struct ox_freeing *free_, struct ox_node *node, size_t input,
                                      const struct ox_value *like, unsigned axis,
                                      struct ox_error *err)
{
    struct ox_graph *graph = node->graph;
    const struct ox_type *type = ox_free_type_before(free_, node->inputs[input]);
    int64_t dims[OX_FREE_RANK], at[1] = {axis};
    if (!ox_type_numbers(type, dims) || dims[axis] != 1)
        return OX_OK; /* of several rows nobody knows which one to repeat */
    struct ox_value *parts[4] = {0}, *names[3], *source = (struct ox_value *)(uintptr_t)like;
    static const char *const ends[] = {"_shape", "_size", "_expanded"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        struct ox_strbuf name = {0};
        ox_strbuf_printf(&name, "%s%s", i < 2 ? like->name : node->inputs[input]->name, ends[i]);
        names[i] = name.failed ? NULL : ox_graph_add_value(graph, name.data);
        ox_strbuf_release(&name);
        if (!names[i])
            return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(free_->model));
    }
    size_t n = 0;
    bool good = true;
    if (axis > 0)
        good = (parts[n++] = add_constant(free_, graph, axis, dims)) != NULL;
    parts[n++] = names[1];
    if (axis + 1 < type->rank)
        good &= (parts[n++] = add_constant(free_, graph, type->rank - axis - 1, dims + axis + 1)) !=
                NULL;
    struct ox_value *index = add_constant(free_, graph, 1, at);
    struct ox_value *target = n > 1 ? ox_graph_add_value(graph, "freed_shape") : names[1];
    if (!good || !index || !target)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(free_->model));
    good = ox_graph_add_node(graph, "Shape", "", "", &source, 1, &names[0], 1) &&
           ox_graph_add_node(graph, "Gather", "", "", (struct ox_value *[]){names[0], index}, 2,
                             &names[1], 1);
    if (good && n > 1) {
        struct ox_node *concat = ox_graph_add_node(graph, "Concat", "", "", parts, n, &target, 1);
        good = concat && ox_node_set_int(concat, "axis", 0);
    }
    good = good &&
           ox_graph_add_node(graph, "Expand", "", "",
                             (struct ox_value *[]){node->inputs[input], target}, 2, &names[2], 1);
    if (!good)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", ox_free_label(free_->model));
    node->inputs[input] = names[2];
    free_->n_changed++;
    return OX_OK;
}

/* Constants beside what is freed: rows put before a sequence by Concat, initial states. */
static enum ox_status free_operands(struct ox_freeing *free_, struct ox_node *node,
                                    struct ox_error *err)
{
    bool recurrent = strcmp(node->op_type, "LSTM") == 0 || strcmp(node->op_type, "GRU") == 0 ||
                     strcmp(node->op_type, "RNN") == 0;
    unsigned axis;
    if (recurrent) {
        const struct ox_type *x = ox_shapes_type(free_->after, node->inputs[0]);
        bool open = x && x->has_rank && x->rank == 3 && x->dims[1] &&
                    !ox_expr_is_int(x->dims[1], NULL) && !ox_node_attr(node, "layout");
        for (size_t i = 5; open && i < node->n_inputs && i < 7; i++) {
            if (node->inputs[i] && is_fixed(free_, node->inputs[i]))
                OX_TRY(expand_constant(free_, node, i, node->inputs[0], 1, err));
        }
        return OX_OK;
    }
    for (size_t k = 0; k < node->n_inputs; k++) {
        if (!node->inputs[k] || is_fixed(free_, node->inputs[k]))
            continue;
        for (size_t i = 0; i < node->n_inputs; i++) {
            if (i != k && node->inputs[i] && is_fixed(free_, node->inputs[i]) &&
                stale_axis(free_, node->inputs[i], node->inputs[k], &axis))
                OX_TRY(expand_constant(free_, node, i, node->inputs[k], axis, err));
        }
        break;
    }
    return OX_OK;
}

/* A Gather that takes each element of an axis in its order, as exporters write a view down: of a longer axis it takes a part. */
static enum ox_status refuse_view(struct ox_freeing *free_, const struct ox_node *node,
                                  struct ox_error *err)
{
    int64_t before[OX_FREE_RANK];
    const struct ox_attr *attr = ox_node_attr(node, "axis");
    const struct ox_stored *stored =
        node->n_inputs > 1 && node->inputs[1] ? ox_free_constant(node->inputs[1]) : NULL;
    const struct ox_type *type = ox_free_type_before(free_, node->inputs[0]);
    const struct ox_type *now = ox_shapes_type(free_->after, node->inputs[0]);
    int64_t axis = attr && attr->type == OX_ATTR_INT ? attr->i : 0;
    if (!stored || !ox_type_numbers(type, before) || !now || !now->has_rank ||
        now->rank != type->rank)
        return OX_OK;
    axis += axis < 0 ? type->rank : 0;
    if (axis < 0 || axis >= (int64_t)type->rank || before[axis] < 2 || !now->dims[axis] ||
        ox_expr_is_int(now->dims[axis], NULL))
        return OX_OK;
    struct ox_tensor *tensor = NULL;
    OX_TRY(ox_stored_load(free_->model, stored, &tensor, err));
    bool whole = ox_dtype_is_integer(tensor->dtype) && tensor->n == (size_t)before[axis];
    for (size_t i = 0; whole && i < tensor->n; i++)
        whole = ox_tensor_get_int(tensor, i) == (int64_t)i;
    ox_tensor_release(tensor);
    if (!whole)
        return OX_OK;
    struct ox_strbuf size = {0}, label = {0};
    ox_expr_print(&size, now->dims[axis]);
    ox_node_label(&label, node);
    enum ox_status status =
        ox_fail(err, OX_NEGATIVE,
                "%s: cannot be freed: Gather '%s' takes %lld elements, all that axis %lld of '%s' "
                "had, where there are %s then",
                ox_free_label(free_->model), ox_strbuf_text(&label, NULL), (long long)before[axis],
                (long long)axis, node->inputs[0]->name, size.data ? size.data : "others");
    ox_strbuf_release(&label);
    ox_strbuf_release(&size);
    return status;
}

enum ox_status ox_free_node(struct ox_freeing *free_, struct ox_node *node, struct ox_error *err)
{
    static const char *const others[] = {"Concat", "LSTM", "GRU", "RNN"};
    bool is_expand = strcmp(node->op_type, "Expand") == 0;
    if (*node->domain || !node->n_inputs || !node->n_outputs || !node->inputs[0])
        return OX_OK;
    for (size_t i = 0; i < OX_COUNT(others); i++) {
        if (strcmp(node->op_type, others[i]) == 0)
            return free_operands(free_, node, err);
    }
    if (strcmp(node->op_type, "Gather") == 0)
        return refuse_view(free_, node, err);
    if ((!is_expand && strcmp(node->op_type, "Reshape") != 0) || node->n_inputs < 2 ||
        !node->outputs[0] || !node->inputs[1])
        return OX_OK;
    if (is_fixed(free_, node->inputs[1]))
        return free_target(free_, node, is_expand, err);
    return is_expand ? OX_OK : free_first(free_, node, err);
}
