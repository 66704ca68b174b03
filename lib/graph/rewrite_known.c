/* What passes may ask of a graph's values and nodes: types, constants, operators, found when somebody asks and then kept. */
#include <stdlib.h>
#include <string.h>

#include "graph/rewrite.h"

void ox_rw_forget_shapes(struct ox_rewrite *rw)
{
    ox_shapes_release(rw->shapes);
    rw->shapes = NULL;
}

static enum ox_status infer_shapes(struct ox_rewrite *rw, struct ox_error *err)
{
    const struct ox_model *model = rw->model;
    const struct ox_shapes_options options = {.ignore_value_info = true,
                                              .may_be_empty = rw->may_be_empty};
    rw->n_known = ox_arena_array(&rw->arena, model->n_graphs, sizeof *rw->n_known);
    if (!rw->n_known)
        return ox_no_memory(err);
    OX_TRY(ox_shapes_infer(&rw->shapes, rw->model, &options, NULL, err));
    for (size_t g = 0; g < model->n_graphs; g++)
        rw->n_known[g] = (uint32_t)model->graphs[g]->n_values;
    return OX_OK;
}

enum ox_status ox_rw_correct_types(struct ox_rewrite *rw, struct ox_error *err)
{
    OX_TRY(infer_shapes(rw, err));
    return ox_shapes_correct(rw->shapes, rw->model, err);
}

enum ox_status ox_rw_find_clashes(struct ox_rewrite *rw, struct ox_error *err)
{
    const struct ox_model *model = rw->model;
    if (!rw->shapes)
        OX_TRY(infer_shapes(rw, err));
    const unsigned asked = OX_CLASH_INPUTS | (rw->to_run ? OX_CLASH_OPERATOR : 0);
    for (size_t g = 0; g < model->n_graphs; g++) {
        if (!(ox_shapes_clashes(rw->shapes, model->graphs[g]) & asked))
            continue;
        if (!rw->clashing)
            rw->clashing = ox_arena_array(&rw->arena, model->n_graphs, sizeof(*rw->clashing));
        if (!rw->clashing)
            return ox_no_memory(err);
        rw->clashing[rw->n_clashing++] = model->graphs[g];
    }
    return OX_OK;
}

bool ox_rw_clashes(const struct ox_rewrite *rw, const struct ox_graph *graph)
{
    for (size_t i = 0; i < rw->n_clashing; i++)
        if (rw->clashing[i] == graph)
            return true;
    return false;
}

/* Shapes are inferred when somebody asks. Values that are made later have the types that passes give them. */
static bool need_shapes(struct ox_rewrite *rw)
{
    struct ox_error err;
    if (!rw->shapes && !rw->failed)
        rw->failed = infer_shapes(rw, &err) != OX_OK;
    return rw->shapes != NULL;
}

static bool was_inferred(const struct ox_rewrite *rw, const struct ox_value *value)
{
    return value->id < rw->n_known[value->graph->id];
}

const struct ox_type *ox_rw_type(struct ox_rewrite *rw, const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    if (!need_shapes(rw) || !was_inferred(rw, value))
        return value->type;
    return ox_shapes_type(rw->shapes, value);
}

const struct ox_stored *ox_rw_stored(const struct ox_rewrite *rw, const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    bool replaceable = value->is_input && (rw->model->ir_version >= 4 || !rw->model->ir_version);
    return value->producer || (replaceable && !rw->to_run) ? NULL : value->init;
}

const struct ox_tensor *ox_rw_const(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_stored *stored = ox_rw_stored(rw, value);
    if (!stored)
        return NULL;
    const struct ox_stored **key = ox_arena_alloc(&rw->arena, sizeof *key);
    uint32_t index = (uint32_t)rw->n_constants;
    bool is_new;
    if (!key) {
        rw->failed = true;
        return NULL;
    }
    *key = stored;
    if (!ox_strmap_add(&rw->loaded, (const char *)key, sizeof *key, &index, &is_new)) {
        rw->failed = true;
        return NULL;
    }
    if (!is_new)
        return rw->constants[index];
    if (rw->n_constants == rw->cap_constants) {
        size_t cap = rw->cap_constants ? rw->cap_constants * 2 : 64;
        struct ox_tensor **more = realloc(rw->constants, cap * sizeof(struct ox_tensor *));
        if (!more) {
            ox_strmap_remove(&rw->loaded, (const char *)key, sizeof *key);
            rw->failed = true;
            return NULL;
        }
        rw->constants = more;
        rw->cap_constants = cap;
    }
    struct ox_tensor *tensor = NULL;
    if (ox_stored_load(rw->model, stored, &tensor, NULL) != OX_OK)
        tensor = NULL; /* whoever runs it will say why */
    rw->constants[rw->n_constants++] = tensor;
    return tensor;
}

void ox_rw_drop_const(struct ox_rewrite *rw, struct ox_value *value)
{
    const struct ox_stored *stored = value->init;
    const uint32_t index = ox_strmap_find(&rw->loaded, (const char *)&stored, sizeof stored);
    if (index != OX_STRMAP_NONE) {
        ox_tensor_release(rw->constants[index]);
        rw->constants[index] = NULL;
    }
    ox_graph_drop_init(rw->graph, value);
}

const struct ox_tensor *ox_rw_known(struct ox_rewrite *rw, const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    const struct ox_tensor *constant = ox_rw_const(rw, value);
    if (constant || !need_shapes(rw) || !was_inferred(rw, value))
        return constant;
    return ox_shapes_known(rw->shapes, value);
}

const struct ox_op *ox_rw_op(struct ox_rewrite *rw, const struct ox_node *node)
{
    struct ox_strbuf key;
    ox_strbuf_init(&key);
    int64_t opset = ox_graph_opset(node->graph, node->domain);
    ox_strbuf_add(&key, node->op_type, strlen(node->op_type) + 1);
    ox_strbuf_add(&key, node->domain, strlen(node->domain) + 1);
    ox_strbuf_add(&key, &opset, sizeof opset);
    const struct ox_op *op = NULL;
    uint32_t index = key.failed ? OX_STRMAP_NONE : ox_strmap_find(&rw->op_of, key.data, key.len);
    if (index != OX_STRMAP_NONE) {
        op = rw->ops[index];
    } else {
        op = ox_op_find(node->domain, node->op_type, opset);
        char *kept = ox_arena_text(&rw->arena, &key);
        bool room = rw->n_ops < rw->cap_ops;
        if (kept && !room) {
            size_t cap = rw->cap_ops * 2 + 32;
            const struct ox_op **more = ox_arena_array(&rw->arena, cap, sizeof(*more));
            if (more && rw->n_ops)
                memcpy(more, rw->ops, rw->n_ops * sizeof(*more));
            rw->ops = more ? more : rw->ops;
            rw->cap_ops = more ? cap : rw->cap_ops;
            room = more != NULL;
        }
        index = (uint32_t)rw->n_ops;
        if (kept && room && ox_strmap_add(&rw->op_of, kept, key.len, &index, NULL))
            rw->ops[rw->n_ops++] = op;
    }
    ox_strbuf_release(&key);
    return op;
}
