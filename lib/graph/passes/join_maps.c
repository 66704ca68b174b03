/* Concat of the channels of maps that convolutions or Resize make, and nobody else needs: each writes its slice of the whole instead, the
 * first in new memory, the others in that of the one before (ops/fused/fused_conv.c). Other maps are copied into what those made
 * (ops/fused/fused_join.c), but 8-bit codes, which are joined where convolutions make all. Maps have their channels last here. */
#include "graph/match.h"
#include "ops/fused/fused.h"
#include "ops/int8/int8.h"

enum {
    IN_WEIGHTS = 1,
    INTEGER_WEIGHTS = 3,
    CONV_JOINED = 5,
    RESIZE_JOINED = 4,
    MOST_IN = OX_JOINED + 1,
    MOST = 16
};

/* The input that a slice is written into; 0: the node writes none. */
static size_t joined_input(const struct ox_node *node)
{
    if (ox_is_domain_op(node, OX_OWN_DOMAIN, "FusedConv"))
        return ox_attr_int(node, "layout", 0) & OX_OUT_LAST && !ox_node_attr(node, "steps")
                   ? CONV_JOINED
                   : 0;
    if (ox_is_domain_op(node, OX_OWN_DOMAIN, "IntegerConv"))
        return ox_attr_int(node, "layout", 0) & OX_OUT_LAST && !ox_input(node, OX_RESIDUAL)
                   ? OX_JOINED
                   : 0;
    return ox_is_domain_op(node, OX_OWN_DOMAIN, "Resize") ? RESIZE_JOINED : 0;
}

/* What makes a map for `concat` alone, and can write a slice; NULL. */
static struct ox_node *maker_of(struct ox_rewrite *rw, const struct ox_node *concat,
                                const struct ox_value *map)
{
    struct ox_node *node = map ? map->producer : NULL;
    if (!node || node->graph != concat->graph || node->n_outputs != 1 || !joined_input(node) ||
        ox_rw_only_user(rw, map) != concat || ox_attr_int(node, "join_channels", 0))
        return NULL;
    return node;
}

/* Of a map, and of what makes it for the Concat (NULL: something else); less than 1: not known. */
static int64_t channels_of(struct ox_rewrite *rw, const struct ox_value *map,
                           const struct ox_node *node, int rank)
{
    const bool codes = node && ox_is_domain_op(node, OX_OWN_DOMAIN, "IntegerConv");
    if (!node || !(codes || ox_is_domain_op(node, OX_OWN_DOMAIN, "FusedConv")))
        return ox_dim_of(rw, map, rank - 1);
    const struct ox_stored *w =
        ox_rw_stored(rw, ox_input(node, codes ? INTEGER_WEIGHTS : IN_WEIGHTS));
    if (!w || w->rank < 3)
        return 0;
    if (!ox_attr_int(node, "transposed", 0))
        return w->dims[0];
    int64_t groups = ox_attr_int(node, "group", 1), all;
    return groups > 0 && !OX_MUL_OVERFLOWS(w->dims[1], groups, &all) ? all : 0;
}

/* A map and the channel of the whole where it begins; what does not make it for the Concat alone is copied. */
struct slice {
    struct ox_node *node; /* NULL: copied */
    struct ox_value *map;
    int64_t at;
};

struct slices {
    size_t n_made, n_copied;
    struct slice made[MOST], copied[MOST];
    int64_t all, own; /* channels; those of what is made */
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

static bool find_slices(struct ox_rewrite *rw, const struct ox_node *concat, int rank,
                        struct slices *out)
{
    const enum ox_dtype dtype = ox_dtype_of_value(rw, concat->outputs[0]);
    const bool codes = dtype == OX_UINT8 || dtype == OX_INT8;
    if (dtype != OX_FLOAT32 && !codes)
        return false;
    *out = (struct slices){0};
    for (size_t i = 0; i < concat->n_inputs; i++) {
        struct ox_value *map = concat->inputs[i];
        const struct slice one = {maker_of(rw, concat, map), map, out->all};
        if (!map || ox_dtype_of_value(rw, map) != dtype || ox_rank_of(rw, map) != rank)
            return false;
        if (codes && one.node && !ox_is_domain_op(one.node, OX_OWN_DOMAIN, "IntegerConv"))
            return false;
        const int64_t channels = channels_of(rw, map, one.node, rank);
        if (channels < 1 || OX_ADD_OVERFLOWS(out->all, channels, &out->all))
            return false;
        if (one.node)
            out->made[out->n_made++] = one;
        else
            out->copied[out->n_copied++] = one;
        out->own += one.node ? channels : 0;
    }
    sort(out->made, out->n_made);
    return out->n_made > 0 && (!codes || out->n_copied == 0);
}

/* Elementwise operators read what is joined from where it lies (fuse_steps.c): others do not. */
static bool is_read_by_maps(struct ox_rewrite *rw, const struct ox_value *whole)
{
    static const char *const readers[] = {"FusedConv", "ConvChain", "MaxPool", "AveragePool"};
    const struct ox_use *uses = ox_rw_uses(rw, whole);
    for (const struct ox_use *use = uses; use; use = use->next) {
        bool good = false;
        for (size_t k = 0; k < OX_COUNT(readers); k++)
            good |= ox_is_domain_op(use->node, OX_OWN_DOMAIN, readers[k]);
        if (!good)
            return false;
    }
    return uses != NULL;
}

/* Copying a few channels less is not worth lines that are written in pieces. */
static bool is_worth(struct ox_rewrite *rw, const struct slices *s, const struct ox_value *whole)
{
    enum { SHARE = 4 };
    return s->n_copied == 0 || (s->own >= s->all / SHARE && is_read_by_maps(rw, whole));
}

/* The Concat copies what is left into `before`, which the others made. */
static void copy_rest(struct ox_rewrite *rw, struct ox_node *concat, const struct slices *s,
                      struct ox_value *before)
{
    struct ox_value *in[1 + MOST] = {before};
    int64_t at[MOST];
    for (size_t i = 0; i < s->n_copied; i++) {
        in[1 + i] = s->copied[i].map;
        at[i] = s->copied[i].at;
    }
    ox_rw_become(rw, concat, "JoinMaps", OX_OWN_DOMAIN, in, 1 + s->n_copied);
    ox_rw_clear_attrs(rw, concat);
    rw->failed |= !ox_node_set_ints(concat, "at", at, s->n_copied);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *concat)
{
    struct slices s;
    struct ox_value *whole = concat->outputs[0], *before = NULL;
    const int64_t axis = ox_attr_int(concat, "axis", 0);
    const size_t n = concat->n_inputs;
    const int rank = (int)ox_rank_of(rw, whole);
    if (concat->n_outputs != 1 || n < 2 || n > MOST || rank < 3 ||
        (axis != rank - 1 && axis != -1) || !find_slices(rw, concat, rank, &s) ||
        !is_worth(rw, &s, whole))
        return;
    if (s.n_copied == 0)
        ox_rw_remove(rw, concat);
    for (size_t i = 0; i < s.n_made; i++) {
        struct ox_node *node = s.made[i].node;
        struct ox_value *in[MOST_IN] = {NULL}, *made = whole;
        const size_t joined = joined_input(node);
        for (size_t k = 0; k < joined; k++)
            in[k] = ox_input(node, k);
        in[joined] = before;
        if (i + 1 < s.n_made || s.n_copied)
            made = ox_rw_value(rw, node->outputs[0]->name, ox_rw_type(rw, whole));
        rw->failed |= !made || !ox_node_set_int(node, "join_channels", s.all) ||
                      !ox_node_set_int(node, "join_at", s.made[i].at);
        if (rw->failed)
            return;
        ox_rw_become(rw, node, node->op_type, OX_OWN_DOMAIN, in,
                     before ? joined + 1 : node->n_inputs);
        ox_rw_set_output(rw, node, 0, made);
        before = made;
    }
    if (s.n_copied)
        copy_rest(rw, concat, &s, before);
}

enum ox_status ox_pass_join_maps(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, "Concat", look_at, err);
}
