/* The twins of values: the same maps with their channels last. */
#include "graph/passes/twins.h"

/* axis: which of from's an axis d of `to` is. */
static struct ox_node *turn(struct ox_twins *l, struct ox_value *from, struct ox_value *to,
                            unsigned rank, unsigned (*axis)(unsigned rank, unsigned d),
                            struct ox_node *before)
{
    int64_t perm[OX_TWINS_RANK_MAX];
    for (unsigned d = 0; d < rank; d++)
        perm[d] = axis(rank, d);
    struct ox_node *node = ox_rw_insert(l->rw, before, "Transpose", "", to->name, &from, 1, &to, 1);
    if (node && !ox_node_set_ints(node, "perm", perm, rank))
        l->rw->failed = true;
    return node;
}

static struct ox_value *new_twin(struct ox_twins *l, const struct ox_value *value, unsigned rank)
{
    const struct ox_type *type = ox_rw_type(l->rw, value);
    const struct ox_expr *dims[OX_TWINS_RANK_MAX] = {NULL};
    for (unsigned d = 0; type && type->has_rank && type->rank == rank && d < rank; d++)
        dims[d] = type->dims[ox_twins_first(rank, d)];
    const enum ox_dtype dtype = type ? type->elem : OX_FLOAT32;
    return ox_rw_value(l->rw, value->name, ox_rw_tensor_type(l->rw, dtype, rank, dims));
}

bool ox_twins_is_last(const struct ox_twins *l, const struct ox_value *value)
{
    return value && value->id < l->n && l->native[value->id];
}

struct ox_value *ox_twins_last(struct ox_twins *l, struct ox_value *value, struct ox_node *before)
{
    if (value->id >= l->n)
        return NULL;
    struct ox_value **twin = &l->twin[value->id];
    if (!*twin) {
        const unsigned rank = (unsigned)ox_rank_of(l->rw, value);
        struct ox_value *made = new_twin(l, value, rank);
        if (made && turn(l, value, made, rank, ox_twins_first, before))
            *twin = made;
    }
    return *twin;
}

void ox_twins_need_first(struct ox_twins *l, struct ox_value *value, struct ox_node *before)
{
    if (!value || value->id >= l->n || !l->native[value->id] || l->made_first[value->id])
        return;
    l->made_first[value->id] = true;
    struct ox_value *twin = l->twin[value->id];
    turn(l, twin, value, (unsigned)ox_rank_of(l->rw, twin), ox_twins_place, before);
}

void ox_twins_makes(struct ox_twins *l, struct ox_node *node, size_t output, unsigned rank)
{
    struct ox_value *value = node->outputs[output];
    if (!value || value->id >= l->n)
        return;
    struct ox_value *twin = new_twin(l, value, rank);
    if (!twin)
        return;
    ox_rw_set_output(l->rw, node, output, twin);
    l->twin[value->id] = twin;
    l->native[value->id] = true;
}
