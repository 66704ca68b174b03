/* Concat of the channels of maps that convolutions make, and nobody else needs: each writes its slice of the whole instead, the first
 * in new memory, the others in that of the one before (ops/fused_conv.c). Maps have their channels last here. */
#include "graph/match.h"
#include "ops/fused.h"

enum { IN_WEIGHTS = 1, IN_JOINED = 5, N_IN, MOST = 16 };

/* The convolution that makes a map for `concat` alone; NULL. */
static struct ox_node *maker_of(struct ox_rewrite *rw, const struct ox_node *concat,
                                const struct ox_value *map)
{
    struct ox_node *node = map ? map->producer : NULL;
    if (!node || node->graph != concat->graph || node->n_outputs != 1 ||
        !ox_is_domain_op(node, OX_OWN_DOMAIN, "FusedConv") || ox_rw_only_user(rw, map) != concat ||
        !(ox_attr_int(node, "layout", 0) & OX_OUT_LAST) || ox_attr_int(node, "join_channels", 0))
        return NULL;
    return node;
}

/* Of what a convolution makes; 0: not known. */
static int64_t channels_of(struct ox_rewrite *rw, const struct ox_node *node)
{
    const struct ox_stored *w = ox_rw_stored(rw, node->inputs[IN_WEIGHTS]);
    if (!w || w->rank < 3)
        return 0;
    if (!ox_attr_int(node, "transposed", 0))
        return w->dims[0];
    int64_t groups = ox_attr_int(node, "group", 1), all;
    return groups > 0 && !OX_MUL_OVERFLOWS(w->dims[1], groups, &all) ? all : 0;
}

struct slice {
    struct ox_node *node;
    int64_t at;
};

/* In the order in which they run. */
static void sort(struct slice *slices, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct slice one = slices[i];
        size_t j = i;
        for (; j > 0 && slices[j - 1].node->index > one.node->index; j--)
            slices[j] = slices[j - 1];
        slices[j] = one;
    }
}

static void look_at(struct ox_rewrite *rw, struct ox_node *concat)
{
    struct slice slices[MOST];
    struct ox_value *whole = concat->outputs[0], *before = NULL;
    const int64_t axis = ox_attr_int(concat, "axis", 0);
    const size_t n = concat->n_inputs;
    const int rank = (int)ox_rank_of(rw, whole);
    int64_t all = 0;
    if (concat->n_outputs != 1 || n < 2 || n > MOST || rank < 3 || (axis != rank - 1 && axis != -1))
        return;
    for (size_t i = 0; i < n; i++) {
        slices[i] = (struct slice){maker_of(rw, concat, concat->inputs[i]), all};
        const int64_t channels = slices[i].node ? channels_of(rw, slices[i].node) : 0;
        if (channels < 1 || OX_ADD_OVERFLOWS(all, channels, &all))
            return;
    }
    sort(slices, n);
    ox_rw_remove(rw, concat);
    for (size_t i = 0; i < n; i++) {
        struct ox_node *node = slices[i].node;
        struct ox_value *in[N_IN] = {NULL}, *made = whole;
        for (size_t k = 0; k < IN_JOINED; k++)
            in[k] = ox_input(node, k);
        in[IN_JOINED] = before;
        if (i + 1 < n)
            made = ox_rw_value(rw, node->outputs[0]->name, ox_rw_type(rw, whole));
        rw->failed |= !made || !ox_node_set_int(node, "join_channels", all) ||
                      !ox_node_set_int(node, "join_at", slices[i].at);
        if (rw->failed)
            return;
        ox_rw_become(rw, node, "FusedConv", OX_OWN_DOMAIN, in, before ? N_IN : node->n_inputs);
        ox_rw_set_output(rw, node, 0, made);
        before = made;
    }
}

enum ox_status ox_pass_join_maps(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, "Concat", look_at, err);
}
