/* What rules see of their node: inputs, attributes, outputs (ops/infer.h). */
#include <stdarg.h>
#include <string.h>

#include "ops/attr_find.h"
#include "ops/sequence_items.h"
#include "shape/infer_impl.h"

/* ---- Inputs ----------------------------------------------------------------------------------------------------- */

size_t ox_infer_n_in(const struct ox_infer *c)
{
    return c->node->n_inputs;
}

size_t ox_infer_n_out(const struct ox_infer *c)
{
    return c->node->n_outputs;
}

bool ox_infer_has(const struct ox_infer *c, size_t i)
{
    return i < c->node->n_inputs && c->node->inputs[i];
}

bool ox_infer_wants(const struct ox_infer *c, size_t i)
{
    return i < c->node->n_outputs && c->node->outputs[i];
}

const struct ox_type *ox_infer_type(const struct ox_infer *c, size_t i)
{
    if (!ox_infer_has(c, i))
        return NULL;
    if (!c->in_types[i]) {
        const struct ox_slot *slot = ox_slot_of(c->s, c->node->inputs[i]);
        c->in_types[i] = slot ? ox_shapes_resolve_type(c->s, slot->type) : NULL;
    }
    return c->in_types[i];
}

static bool is_tensor(const struct ox_type *type)
{
    return type && (type->kind == OX_TYPE_TENSOR || type->kind == OX_TYPE_SPARSE);
}

enum ox_dtype ox_infer_dtype(const struct ox_infer *c, size_t i)
{
    const struct ox_type *type = ox_infer_type(c, i);
    return is_tensor(type) ? type->elem : OX_UNDEFINED;
}

bool ox_infer_shape(const struct ox_infer *c, size_t i, unsigned *rank,
                    const struct ox_expr *const **dims)
{
    static const struct ox_expr *const none[1]; /* rules copy what a scalar has not */
    const struct ox_type *type = ox_infer_type(c, i);
    if (!is_tensor(type) || !type->has_rank)
        return false;
    *rank = type->rank;
    if (dims)
        *dims = type->dims ? (const struct ox_expr *const *)type->dims : none;
    return true;
}

const struct ox_expr *ox_infer_dim(const struct ox_infer *c, size_t i, unsigned axis)
{
    unsigned rank;
    const struct ox_expr *const *dims;
    return ox_infer_shape(c, i, &rank, &dims) && axis < rank ? dims[axis] : NULL;
}

int64_t ox_infer_opset(const struct ox_infer *c)
{
    return c->opset;
}

const struct ox_schema *ox_infer_schema(const struct ox_infer *c)
{
    return c->schema;
}

const struct ox_node *ox_infer_node(const struct ox_infer *c)
{
    return c->node;
}

bool ox_infer_values(const struct ox_infer *c, size_t i, size_t *n,
                     const struct ox_expr *const **values)
{
    const struct ox_expr *const *known;
    if (!ox_infer_has(c, i) || !ox_shapes_values(c->s, c->node->inputs[i], n, &known))
        return false;
    *values = known;
    if (!c->s->n_facts)
        return true;
    const struct ox_expr **resolved = ox_arena_array(&c->s->scratch, *n, sizeof(*resolved));
    for (size_t k = 0; resolved && k < *n; k++)
        resolved[k] = ox_shapes_resolve(c->s, known[k]);
    if (resolved)
        *values = resolved;
    return true;
}

bool ox_infer_ints(const struct ox_infer *c, size_t i, size_t *n, const int64_t **values)
{
    const struct ox_expr *const *exprs;
    if (!ox_infer_values(c, i, n, &exprs))
        return false;
    int64_t *ints = ox_arena_array(&c->s->scratch, *n, sizeof *ints);
    if (!ints)
        return false;
    for (size_t k = 0; k < *n; k++) {
        if (!ox_expr_is_int(exprs[k], &ints[k]))
            return false;
    }
    *values = ints;
    return true;
}

const struct ox_tensor *ox_infer_const(const struct ox_infer *c, size_t i)
{
    const struct ox_value *value = i < c->node->n_inputs ? c->node->inputs[i] : NULL;
    struct ox_slot *slot = value ? ox_slot_of(c->s, value) : NULL;
    return slot ? ox_shapes_constant(c->s, slot, value) : NULL;
}

/* ---- Attributes ------------------------------------------------------------------------------------------------- */

static struct ox_found_attr find_attr(const struct ox_infer *c, const char *name)
{
    return ox_attr_find(c->node, c->schema, c->s->call, name);
}

const struct ox_attr *ox_infer_attr(const struct ox_infer *c, const char *name)
{
    return find_attr(c, name).attr;
}

int64_t ox_infer_int_attr(const struct ox_infer *c, const char *name, int64_t fallback)
{
    return ox_found_int(find_attr(c, name), fallback);
}

float ox_infer_float_attr(const struct ox_infer *c, const char *name, float fallback)
{
    return ox_found_float(find_attr(c, name), fallback);
}

const char *ox_infer_string_attr(const struct ox_infer *c, const char *name)
{
    return ox_found_string(find_attr(c, name));
}

const int64_t *ox_infer_ints_attr(const struct ox_infer *c, const char *name, size_t *n)
{
    return ox_found_ints(find_attr(c, name), n);
}

/* ---- Outputs ---------------------------------------------------------------------------------------------------- */

void *ox_infer_scratch(struct ox_infer *c, size_t count, size_t size)
{
    void *memory = ox_arena_array(&c->s->scratch, count, size);
    if (!memory)
        c->s->failed = true;
    return memory;
}

const struct ox_expr **ox_infer_dims(struct ox_infer *c, unsigned rank)
{
    return ox_infer_scratch(c, rank ? rank : 1, sizeof(const struct ox_expr *));
}

void ox_infer_set_dtype(struct ox_infer *c, size_t i, enum ox_dtype dtype)
{
    if (i >= c->node->n_outputs || dtype == OX_UNDEFINED)
        return;
    const struct ox_type *old = c->outs[i].type;
    bool keep = is_tensor(old);
    if (keep && old->elem == dtype)
        return;
    c->outs[i].type = ox_shapes_tensor(c->s, keep ? old->kind : OX_TYPE_TENSOR, dtype,
                                       keep && old->has_rank, keep ? old->rank : 0,
                                       keep ? (const struct ox_expr *const *)old->dims : NULL);
}

void ox_infer_set_shape(struct ox_infer *c, size_t i, unsigned rank,
                        const struct ox_expr *const *dims)
{
    if (i >= c->node->n_outputs)
        return;
    uint64_t limit = c->s->model->env->limits.rank_infer;
    if (limit && rank > limit) {
        ox_infer_conflict(c, "a rank of %u is over the limit of %llu", rank,
                          (unsigned long long)limit);
        return;
    }
    const struct ox_type *old = c->outs[i].type;
    bool keep = is_tensor(old);
    const struct ox_type *type = ox_shapes_tensor(
        c->s, keep ? old->kind : OX_TYPE_TENSOR, keep ? old->elem : OX_UNDEFINED, true, rank, dims);
    for (unsigned k = 0; type && k < rank; k++) {
        int64_t value;
        if (!ox_expr_is_int(type->dims[k], &value) || value >= 0)
            continue;
        ox_infer_conflict(c, "dimension %u of output %zu would be %lld", k, i, (long long)value);
        type->dims[k] = NULL;
    }
    c->outs[i].type = type;
}

void ox_infer_set_type(struct ox_infer *c, size_t i, const struct ox_type *type)
{
    if (i < c->node->n_outputs && type)
        c->outs[i].type = type;
}

void ox_infer_same(struct ox_infer *c, size_t out, size_t from)
{
    ox_infer_set_type(c, out, ox_infer_type(c, from));
}

void ox_infer_same_shape(struct ox_infer *c, size_t out, size_t from)
{
    unsigned rank;
    const struct ox_expr *const *dims;
    if (ox_infer_shape(c, from, &rank, &dims))
        ox_infer_set_shape(c, out, rank, dims);
}

void ox_infer_same_dtype(struct ox_infer *c, size_t out, size_t from)
{
    ox_infer_set_dtype(c, out, ox_infer_dtype(c, from));
}

void ox_infer_set_values(struct ox_infer *c, size_t i, size_t n,
                         const struct ox_expr *const *values)
{
    if (i >= c->node->n_outputs || n > OX_SHAPE_VALUES)
        return;
    const struct ox_expr **copy = ox_arena_array(&c->s->arena, n ? n : 1, sizeof(*copy));
    if (!copy) {
        c->s->failed = true;
        return;
    }
    if (n)
        memcpy(copy, values, n * sizeof(*copy));
    c->outs[i].values = copy;
    c->outs[i].n_values = n;
}

const struct ox_infer_items *ox_infer_items(const struct ox_infer *c, size_t i)
{
    const struct ox_slot *slot = ox_infer_has(c, i) ? ox_slot_of(c->s, c->node->inputs[i]) : NULL;
    return slot ? slot->items : NULL;
}

void ox_infer_set_items(struct ox_infer *c, size_t i, size_t n, const struct ox_infer_value *items)
{
    if (i >= c->node->n_outputs || n > OX_ITEMS_MOST)
        return;
    struct ox_infer_items *made = ox_arena_alloc(&c->s->arena, sizeof *made);
    const struct ox_infer_value *copy =
        n ? ox_arena_copy(&c->s->arena, items, n * sizeof *items) : NULL;
    if (!made || (n && !copy)) {
        c->s->failed = true;
        return;
    }
    *made = (struct ox_infer_items){n, copy};
    c->outs[i].items = made;
}

const struct ox_type *ox_infer_make_tensor(struct ox_infer *c, enum ox_dtype elem, bool has_rank,
                                           unsigned rank, const struct ox_expr *const *dims)
{
    return ox_shapes_tensor(c->s, OX_TYPE_TENSOR, elem, has_rank, rank, dims);
}

static const struct ox_type *make_nested(struct ox_infer *c, enum ox_type_kind kind,
                                         enum ox_dtype key, const struct ox_type *inner)
{
    struct ox_type *type = ox_arena_alloc(&c->s->arena, sizeof *type);
    if (!type) {
        c->s->failed = true;
        return NULL;
    }
    *type = (struct ox_type){.kind = kind, .elem = key, .inner = inner};
    return type;
}

const struct ox_type *ox_infer_make_sequence(struct ox_infer *c, const struct ox_type *inner)
{
    return make_nested(c, OX_TYPE_SEQUENCE, OX_UNDEFINED, inner);
}

const struct ox_type *ox_infer_make_optional(struct ox_infer *c, const struct ox_type *inner)
{
    return make_nested(c, OX_TYPE_OPTIONAL, OX_UNDEFINED, inner);
}

const struct ox_type *ox_infer_make_map(struct ox_infer *c, enum ox_dtype key,
                                        const struct ox_type *value)
{
    return make_nested(c, OX_TYPE_MAP, key, value);
}

bool ox_infer_axis(struct ox_infer *c, int64_t axis, unsigned rank, unsigned *out)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        ox_infer_conflict(c, "axis %lld is outside [-%u, %d]", (long long)axis, rank,
                          (int)rank - 1);
        return false;
    }
    *out = (unsigned)(axis < 0 ? axis + rank : axis);
    return true;
}

/* A symbol stands for one size: so a call (which may come twice with other data) has its own. */
const struct ox_expr *ox_shapes_data_dim(struct ox_infer *c, const char *what, const char *reason,
                                         bool by_data)
{
    struct ox_shapes *s = c->s;
    s->trips_failed |= s->in_trips > 0; /* in another trip it is another size */
    char *key = ox_arena_printf(&s->scratch, "%p %p %s", (const void *)s->call,
                                (const void *)c->node, what);
    if (!key)
        return NULL;
    uint32_t at = ox_strmap_find(&s->data_dims, key, strlen(key));
    if (at != OX_STRMAP_NONE)
        return s->data_symbols[at];
    struct ox_strbuf label = {0};
    ox_node_label(&label, c->node);
    char *name = c->node->name[0] ? ox_arena_printf(&s->scratch, "%s.%s", c->node->name, what)
                                  : ox_arena_printf(&s->scratch, "%s_%u.%s", c->node->op_type,
                                                    c->node->index, what);
    struct ox_origin origin = {.node = c->node, .by_data = by_data};
    origin.text = ox_arena_printf(&s->arena, "%s (%s %s)", reason, c->node->op_type,
                                  ox_strbuf_text(&label, NULL));
    ox_strbuf_release(&label);
    const struct ox_expr *symbol = name && origin.text ? ox_shapes_symbol(s, name, &origin) : NULL;
    return symbol && ox_shapes_keep_symbol(s, key, symbol) ? symbol : NULL;
}

const struct ox_expr *ox_infer_data_dim(struct ox_infer *c, const char *what)
{
    return ox_shapes_data_dim(c, what, "only the data tell it", true);
}

/* ---- Findings --------------------------------------------------------------------------------------------------- */

void ox_infer_conflict(struct ox_infer *c, const char *format, ...)
{
    char message[OX_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!c->s->conflict && c->node->graph == c->s->model->graph) {
        c->s->conflict_message = ox_arena_strdup(&c->s->arena, message);
        c->s->conflict = c->s->conflict_message ? c->node : NULL;
    }
    ox_shapes_clash(c, OX_CLASH_INPUTS);
    const struct ox_place place = {.graph = c->node->graph, .node = c->node};
    if (c->s->doubts && c->s->defers_declared)
        ox_shapes_defer(c->s, OX_F_SHAPE_CONFLICT, &place, message);
    else
        ox_shapes_finding(c->s, OX_F_SHAPE_CONFLICT, &place, message);
}

void ox_infer_refused(struct ox_infer *c)
{
    ox_shapes_clash(c, OX_CLASH_INPUTS);
}

void ox_infer_doubt(struct ox_infer *c, bool doubt)
{
    c->s->doubts += doubt;
}

void ox_infer_trust(struct ox_infer *c, bool doubted)
{
    c->s->doubts -= doubted;
}

bool ox_infer_by_rules_alone(const struct ox_infer *c)
{
    return c->s->rules_alone;
}

void ox_infer_unknown(struct ox_infer *c, size_t i, const char *format, ...)
{
    char message[OX_ERROR_BYTES];
    if (i >= c->node->n_outputs)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    c->outs[i].reason = ox_arena_strdup(&c->s->arena, message);
}
