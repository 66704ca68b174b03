/* Constants: what rules may look into, and folding of what is computed from small ones alone. */
#include <string.h>

#include "ops/evaluate.h"
#include "shape/infer_impl.h"

void ox_shapes_keep(struct ox_shapes *s, struct ox_slot *slot, struct ox_tensor *tensor)
{
    struct ox_kept_tensor *kept = ox_arena_alloc(&s->arena, sizeof *kept);
    if (!kept) {
        s->failed = true;
        ox_tensor_release(tensor);
        return;
    }
    *kept = (struct ox_kept_tensor){tensor, s->kept};
    s->kept = kept;
    slot->constant = tensor;
}

/* Whether a tensor in a file is small enough to look into. */
static bool is_small(const struct ox_stored *stored)
{
    size_t n;
    return ox_dims_count(stored->rank, stored->dims, &n) && n <= OX_SHAPE_CONST_BYTES &&
           n * (stored->dtype == OX_STRING ? 16 : ox_dtype_size(stored->dtype)) <=
               OX_SHAPE_CONST_BYTES;
}

static void load(struct ox_shapes *s, struct ox_slot *slot, const struct ox_stored *stored)
{
    struct ox_tensor *tensor;
    enum ox_status status =
        is_small(stored) ? ox_stored_load(s->model, stored, &tensor, NULL) : OX_LIMIT;
    if (status == OX_OK)
        ox_shapes_keep(s, slot, tensor);
    s->failed |= status == OX_NO_MEMORY;
}

/* A tensor of integers or bools from values that are all numbers. */
static void make_from_values(struct ox_shapes *s, struct ox_slot *slot)
{
    const struct ox_type *type = slot->type;
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank || type->rank > 8 ||
        type->elem == OX_UNDEFINED || type->elem == OX_STRING || type->elem == OX_COMPLEX64 ||
        type->elem == OX_COMPLEX128)
        return;
    int64_t dims[8], value;
    size_t n;
    for (unsigned i = 0; i < type->rank; i++) {
        if (!ox_expr_is_int(type->dims[i], &dims[i]))
            return;
    }
    for (size_t i = 0; i < slot->n_values; i++) {
        if (!ox_expr_is_int(slot->values[i], &value))
            return;
    }
    struct ox_tensor *wide, *tensor;
    if (!ox_dims_count(type->rank, dims, &n) || n != slot->n_values)
        return;
    if (ox_tensor_new(&wide, ox_env_budget(s->model->env), OX_INT64, type->rank, dims, NULL) !=
        OX_OK) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        ox_expr_is_int(slot->values[i], &((int64_t *)wide->data)[i]);
    if (ox_tensor_convert(&tensor, ox_env_budget(s->model->env), wide, type->elem, true, NULL) ==
        OX_OK)
        ox_shapes_keep(s, slot, tensor);
    ox_tensor_release(wide);
}

const struct ox_tensor *ox_shapes_constant(struct ox_shapes *s, struct ox_slot *slot,
                                           const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    if (slot->constant || slot->const_tried || slot->is_given)
        return slot->constant;
    slot->const_tried = true;
    if (value->init)
        load(s, slot, value->init);
    else if (slot->values)
        make_from_values(s, slot);
    return slot->constant;
}

const struct ox_tensor *ox_shapes_known(struct ox_shapes *shapes, const struct ox_value *value)
{
    struct ox_slot *slot = ox_slot_of(shapes, value);
    return slot ? ox_shapes_constant(shapes, slot, value) : NULL;
}

static const struct ox_expr *element_symbol(struct ox_shapes *s, const struct ox_value *value,
                                            unsigned rank, size_t i)
{
    const char *of = value->producer ? "" : "input ";
    struct ox_origin origin = {.node = value->producer};
    char *name = rank ? ox_arena_printf(&s->arena, "%s[%zu]", value->name, i)
                      : ox_arena_printf(&s->arena, "%s.value", value->name);
    origin.text = rank ? ox_arena_printf(&s->arena, "element %zu of %s'%s'", i, of, value->name)
                       : ox_arena_printf(&s->arena, "what %s'%s' holds", of, value->name);
    return name && origin.text ? ox_shapes_signed_symbol(s, name, &origin) : NULL;
}

/* Of a few integers each that only the run tells gets a name, so that sizes made of it can be told; the standard's
 * inference has nothing like it. */
static bool name_elements(struct ox_shapes *s, struct ox_slot *slot, const struct ox_value *value)
{
    const struct ox_type *type = ox_shapes_resolve_type(s, slot->type);
    int64_t n = 1;
    if (slot->is_named)
        return slot->values != NULL;
    slot->is_named = true;
    if (s->rules_alone || !ox_shapes_is_main(s, value->graph) || !type ||
        type->kind != OX_TYPE_TENSOR || !type->has_rank || type->rank > 1 ||
        !ox_dtype_is_integer(type->elem) || ox_dtype_bits(type->elem) < 32 ||
        (type->rank && !ox_expr_is_int(type->dims[0], &n)) || n < 0 || n > OX_SHAPE_ELEMENTS ||
        (slot->values && slot->n_values != (size_t)n))
        return slot->values != NULL;
    const struct ox_expr **list = ox_arena_array(&s->arena, (size_t)n + 1, sizeof(*list));
    if (!list) {
        s->failed = true;
        return false;
    }
    for (size_t i = 0; i < (size_t)n; i++)
        list[i] = slot->values && slot->values[i] ? slot->values[i]
                                                  : element_symbol(s, value, type->rank, i);
    slot->values = list;
    slot->n_values = (size_t)n;
    return true;
}

static bool has_unknown(const struct ox_slot *slot)
{
    for (size_t i = 0; i < slot->n_values; i++) {
        if (!slot->values[i])
            return true;
    }
    return false;
}

/* The numbers of an initializer, or of what was computed of constants alone. */
static bool list_constant(struct ox_shapes *s, struct ox_slot *slot, const struct ox_tensor *tensor)
{
    if (tensor->n > OX_SHAPE_VALUES ||
        !(ox_dtype_is_integer(tensor->dtype) || tensor->dtype == OX_BOOL))
        return false;
    const struct ox_expr **list =
        ox_arena_array(&s->arena, tensor->n ? tensor->n : 1, sizeof(*list));
    if (!list) {
        s->failed = true;
        return false;
    }
    for (size_t i = 0; i < tensor->n; i++)
        list[i] = ox_expr_int(s->pool, ox_tensor_get_int(tensor, i));
    slot->values = list;
    slot->n_values = tensor->n;
    return true;
}

bool ox_shapes_values(struct ox_shapes *s, const struct ox_value *value, size_t *n,
                      const struct ox_expr *const **values)
{
    while (value->outer)
        value = value->outer;
    struct ox_slot *slot = ox_slot_of(s, value);
    if (!slot)
        return false;
    if (!slot->values) {
        const struct ox_tensor *tensor = ox_shapes_constant(s, slot, value);
        if (tensor ? !list_constant(s, slot, tensor) : !name_elements(s, slot, value))
            return false;
    } else if (!slot->is_named && has_unknown(slot)) {
        name_elements(s, slot, value);
    }
    slot->is_named = true;
    *n = slot->n_values;
    *values = slot->values;
    return true;
}

/* ---- Folding ---------------------------------------------------------------------------------------------------- */

/* Operators whose results may be smaller than their inputs by their data alone. */
static bool shrinks(const struct ox_node *node)
{
    static const char *const names[] = {"Compress", "NonMaxSuppression", "NonZero", "TopK",
                                        "Unique"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        if (strcmp(names[i], node->op_type) == 0)
            return true;
    }
    return false;
}

/* Whether what the node makes is known to be small. */
static bool makes_little(const struct ox_infer *c)
{
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        const struct ox_type *type = c->outs[i].type;
        if (!c->node->outputs[i])
            continue;
        int64_t n = 1, dim;
        if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank)
            return false;
        for (unsigned k = 0; k < type->rank; k++) {
            if (!ox_expr_is_int(type->dims[k], &dim)) {
                if (shrinks(c->node))
                    continue;
                return false;
            }
            if (dim > OX_SHAPE_VALUES || (n *= dim) > OX_SHAPE_VALUES)
                return false;
        }
    }
    return true;
}

static bool needs_folding(const struct ox_infer *c)
{
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        const struct ox_infer_out *out = &c->outs[i];
        bool known = out->values != NULL;
        for (size_t k = 0; known && k < out->n_values; k++)
            known = ox_expr_is_int(out->values[k], NULL);
        if (c->node->outputs[i] && !known)
            return true;
    }
    return false;
}

/* The node's inputs where all are small constants. */
static bool take_inputs(struct ox_infer *c, const struct ox_tensor **in)
{
    if (c->node->n_inputs == 0 || c->node->n_inputs > OX_EVALUATE_MOST)
        return false;
    for (size_t i = 0; i < c->node->n_inputs; i++) {
        in[i] = c->node->inputs[i] ? ox_infer_const(c, i) : NULL;
        if (c->node->inputs[i] && (!in[i] || in[i]->n > OX_SHAPE_VALUES))
            return false;
    }
    return true;
}

static void take_output(struct ox_infer *c, size_t i, const struct ox_tensor *tensor)
{
    struct ox_slot *slot = ox_slot_of(c->s, c->node->outputs[i]);
    if (!slot)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, tensor->rank);
    for (unsigned k = 0; dims && k < tensor->rank; k++)
        dims[k] = ox_infer_num(c, tensor->dims[k]);
    c->outs[i].type =
        dims ? ox_shapes_tensor(c->s, OX_TYPE_TENSOR, tensor->dtype, true, tensor->rank, dims)
             : NULL;
    c->outs[i].values = NULL;
    ox_shapes_keep(c->s, slot, ox_tensor_ref(tensor));
}

/* A node over small constants is run by its kernel: its outputs are constants too. */
void ox_shapes_fold(struct ox_infer *c)
{
    const struct ox_tensor *in[OX_EVALUATE_MOST] = {NULL};
    struct ox_tensor *out[OX_EVALUATE_MOST] = {NULL};
    struct ox_error err;
    if (c->s->rules_alone || !take_inputs(c, in) ||
        !ox_can_evaluate(c->node, c->op, c->schema, in) || !needs_folding(c) || !makes_little(c))
        return;
    enum ox_status status = ox_evaluate(c->node, c->op, c->schema, c->opset, c->s->call, in,
                                        &c->s->scratch, c->s->model->env, out, &err);
    if (status == OX_INPUT)
        ox_infer_conflict(c, "%s", err.message);
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        if (c->node->outputs[i] && out[i])
            take_output(c, i, out[i]);
        ox_tensor_release(out[i]);
    }
}
