#include "ops/control_types.h"

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

bool ox_control_fixpoint(struct ox_infer *c, const struct ox_type **in, size_t in_first, size_t n,
                         size_t n_in, const struct ox_type **out, size_t out_first, size_t n_out)
{
    enum { PASSES = 3, DEEP = 3 };
    for (int pass = nesting(c) < DEEP ? 0 : PASSES - 1; pass < PASSES; pass++) {
        for (size_t i = 0; pass == PASSES - 1 && i < n; i++)
            in[in_first + i] = without_shape(c, in[in_first + i]);
        if (!ox_infer_subgraph(c, "body", in, n_in, out, n_out))
            return false;
        bool changed = false;
        for (size_t i = 0; i < n && out_first + i < n_out; i++) {
            const struct ox_type **type = &in[in_first + i];
            const struct ox_type *made = out[out_first + i];
            const struct ox_type *merged =
                *type ? ox_control_merge(c, *type, made) : without_shape(c, made);
            changed |= !same(merged, *type);
            *type = merged;
        }
        if (!changed)
            break;
    }
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
