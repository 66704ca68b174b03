/* Layout: between convolutions feature maps lie with their channels last, as the kernels like them. A value that is made so has a twin
 * of that layout; the value itself is made from the twin where somebody needs it as it was, and the twin from the value where a
 * convolution begins. What is in between (channels_last_rules.c) works on twins. */
#include "graph/passes/channels_last.h"

#include <string.h>

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

static void need_first(struct ox_twins *l, struct ox_value *value, struct ox_node *before)
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

enum ox_status ox_pass_channels_last(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    size_t n_nodes = graph->n_nodes, n = graph->n_values;
    struct ox_twins l = {.rw = rw,
                         .n = n,
                         .twin = ox_rw_scratch(rw, n, sizeof(struct ox_value *)),
                         .native = ox_rw_scratch(rw, n, sizeof(bool)),
                         .made_first = ox_rw_scratch(rw, n, sizeof(bool))};
    if (rw->failed)
        return OX_OK;
    for (size_t i = 0; i < n_nodes && !rw->failed; i++) {
        struct ox_node *node = graph->nodes[i];
        struct ox_node *next = i + 1 < n_nodes ? graph->nodes[i + 1] : NULL;
        OX_TRY(ox_env_poll(rw->env, err));
        if (ox_rw_gone(rw, node))
            continue;
        struct ox_value *outputs[4] = {NULL};
        size_t n_outputs = node->n_outputs < 4 ? node->n_outputs : 4;
        if (n_outputs)
            memcpy(outputs, node->outputs, n_outputs * sizeof(struct ox_value *));
        if (!ox_twins_convert(&l, node))
            for (size_t k = 0; k < node->n_inputs; k++)
                need_first(&l, node->inputs[k], node);
        for (size_t k = 0; k < n_outputs; k++)
            if (outputs[k] && ox_rw_is_pinned(rw, outputs[k]))
                need_first(&l, outputs[k], next);
    }
    return OX_OK;
}
