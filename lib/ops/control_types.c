#include "ops/control_types.h"

#include <stdio.h>

static bool same(const struct ox_type *a, const struct ox_type *b)
{
    if (a == b || !a || !b)
        return a == b;
    if (a->kind != b->kind || a->elem != b->elem)
        return false;
    if (a->kind != OX_TYPE_TENSOR && a->kind != OX_TYPE_SPARSE)
        return same(a->inner, b->inner);
    if (a->has_rank != b->has_rank || (a->has_rank && a->rank != b->rank))
        return false;
    for (unsigned d = 0; a->has_rank && d < a->rank; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}

static const struct ox_type *merge_tensors(struct ox_infer *c, const struct ox_type *a,
                                           const struct ox_type *b)
{
    enum ox_dtype elem = a->elem == b->elem ? a->elem : OX_UNDEFINED;
    if (!a->has_rank || !b->has_rank || a->rank != b->rank)
        return ox_infer_make_tensor(c, elem, false, 0, NULL);
    const struct ox_expr **dims = ox_infer_dims(c, a->rank);
    if (!dims)
        return NULL;
    for (unsigned d = 0; d < a->rank; d++)
        dims[d] = a->dims[d] == b->dims[d] ? a->dims[d] : NULL;
    return ox_infer_make_tensor(c, elem, true, a->rank, dims);
}

const struct ox_type *ox_control_merge(struct ox_infer *c, const struct ox_type *a,
                                       const struct ox_type *b)
{
    if (!a || !b || a->kind != b->kind)
        return NULL;
    if (same(a, b))
        return a;
    if (a->kind == OX_TYPE_TENSOR)
        return merge_tensors(c, a, b);
    const struct ox_type *inner = ox_control_merge(c, a->inner, b->inner);
    if (a->kind == OX_TYPE_SEQUENCE)
        return ox_infer_make_sequence(c, inner);
    if (a->kind == OX_TYPE_OPTIONAL)
        return ox_infer_make_optional(c, inner);
    return NULL;
}

/* Loops and scans around this one: each may ask for several passes, so that deep nests are taken more roughly. */
static unsigned nesting(struct ox_infer *c)
{
    unsigned depth = 0;
    for (const struct ox_graph *graph = ox_infer_node(c)->graph; graph && graph->parent; depth++)
        graph = graph->parent->graph;
    return depth;
}

static const struct ox_type *without_shape(struct ox_infer *c, const struct ox_type *type)
{
    return type && type->kind == OX_TYPE_TENSOR
               ? ox_infer_make_tensor(c, type->elem, false, 0, NULL)
               : type;
}

/* Symbols for sizes that change from trip to trip. */
enum { MOST_SIZES = 64 };

struct trip_sizes {
    const struct ox_expr *symbols[MOST_SIZES],
        *first[MOST_SIZES]; /* in a trip; before the first one */
    size_t state[MOST_SIZES];
    unsigned axis[MOST_SIZES];
    size_t n;
};

/* The size of that axis in a trip, whichever; NULL when there are too many. */
static const struct ox_expr *trip_size(struct ox_infer *c, struct trip_sizes *sizes, size_t state,
                                       unsigned axis, const struct ox_expr *first)
{
    char what[64];
    if (sizes->n == MOST_SIZES)
        return NULL;
    snprintf(what, sizeof what, "state%zu.dim%u", state, axis);
    const struct ox_expr *symbol = ox_infer_data_dim(c, what);
    if (!symbol)
        return NULL;
    sizes->symbols[sizes->n] = symbol;
    sizes->first[sizes->n] = first;
    sizes->state[sizes->n] = state;
    sizes->axis[sizes->n++] = axis;
    return symbol;
}

static bool varies(const struct trip_sizes *sizes, const struct ox_expr *e)
{
    for (size_t i = 0; e && i < sizes->n; i++)
        if (ox_expr_mentions(e, sizes->symbols[i]))
            return true;
    return false;
}

/* A state's type for all trips when it goes in as `in` and comes out as `made`. */
static const struct ox_type *all_trips(struct ox_infer *c, const struct ox_control_states *s,
                                       struct trip_sizes *sizes, size_t state,
                                       const struct ox_type *in, const struct ox_type *made)
{
    if (!in)
        return NULL;
    if (!made || made->kind != in->kind || in->kind != OX_TYPE_TENSOR || made->elem != in->elem ||
        !in->has_rank || !made->has_rank || in->rank != made->rank)
        return ox_control_merge(c, in, made);
    const struct ox_expr **dims = ox_infer_dims(c, in->rank);
    if (!dims)
        return NULL;
    for (unsigned d = 0; d < in->rank; d++) {
        dims[d] = in->dims[d];
        if (dims[d] == made->dims[d] || !dims[d] || varies(sizes, dims[d]))
            continue;
        if (!s->fixed_shapes)
            dims[d] = trip_size(c, sizes, state, d, dims[d]);
        else if (ox_infer_is_num(made->dims[d], NULL))
            dims[d] = made->dims[d];
    }
    return ox_infer_make_tensor(c, in->elem, true, in->rank, dims);
}

/* The type without the sizes that vary; what grows by the same in each trip is known after the last one. */
static const struct ox_type *after_trips(struct ox_infer *c, const struct ox_control_states *s,
                                         const struct trip_sizes *sizes, size_t state,
                                         const struct ox_type *type, const struct ox_type *made)
{
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank)
        return type;
    const struct ox_expr **dims = ox_infer_dims(c, type->rank);
    for (unsigned d = 0; dims && d < type->rank; d++)
        dims[d] = varies(sizes, type->dims[d]) ? NULL : type->dims[d];
    for (size_t i = 0; dims && made && made->rank == type->rank && i < sizes->n; i++) {
        if (sizes->state[i] != state)
            continue;
        unsigned d = sizes->axis[i];
        const struct ox_expr *growth = ox_infer_sub(c, made->dims[d], sizes->symbols[i]);
        if (growth && !varies(sizes, growth))
            dims[d] = ox_infer_add(c, sizes->first[i], ox_infer_mul(c, growth, s->trips));
    }
    return dims ? ox_infer_make_tensor(c, type->elem, true, type->rank, dims) : NULL;
}

bool ox_control_fixpoint(struct ox_infer *c, const struct ox_control_states *s)
{
    enum { PASSES = 6, DEEP = 3 };
    struct trip_sizes sizes = {.n = 0};
    for (int pass = nesting(c) < DEEP ? 0 : PASSES - 1; pass < PASSES; pass++) {
        for (size_t i = 0; pass == PASSES - 1 && i < s->n; i++)
            s->in[s->in_first + i] = without_shape(c, s->in[s->in_first + i]);
        if (!ox_infer_subgraph(c, "body", s->in, s->n_in, s->out, s->n_out))
            return false;
        bool changed = false;
        for (size_t i = 0; i < s->n && s->out_first + i < s->n_out; i++) {
            const struct ox_type **type = &s->in[s->in_first + i];
            const struct ox_type *made = s->out[s->out_first + i];
            const struct ox_type *merged =
                *type ? all_trips(c, s, &sizes, i, *type, made) : without_shape(c, made);
            changed |= !same(merged, *type);
            *type = merged;
        }
        if (!changed)
            break;
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct ox_type *made = s->out_first + i < s->n_out ? s->out[s->out_first + i] : NULL;
        s->in[s->in_first + i] = after_trips(c, s, &sizes, i, s->in[s->in_first + i], made);
    }
    for (size_t i = 0; i < s->n_out; i++)
        s->out[i] = after_trips(c, s, &sizes, SIZE_MAX, s->out[i], NULL);
    return true;
}

void ox_control_set_stacked(struct ox_infer *c, size_t i, const struct ox_type *item,
                            const struct ox_expr *length, int64_t axis)
{
    if (!item || item->kind != OX_TYPE_TENSOR) {
        ox_infer_unknown(c, i, "the body does not tell its type");
        return;
    }
    if (item->elem != OX_UNDEFINED)
        ox_infer_set_dtype(c, i, item->elem);
    if (!item->has_rank) {
        ox_infer_unknown(c, i, "the body does not tell its rank");
        return;
    }
    unsigned at, rank = item->rank + 1;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims || !ox_infer_axis(c, axis, rank, &at))
        return;
    for (unsigned d = 0; d < rank; d++)
        dims[d] = d == at ? length : item->dims[d < at ? d : d - 1];
    ox_infer_set_shape(c, i, rank, dims);
}
