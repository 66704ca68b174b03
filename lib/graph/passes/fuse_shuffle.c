/* Concat of two maps, the exchange of their channels in turn, and the halves of it: what ShuffleNet writes between its blocks becomes
 * one Interleave of our own domain (ops/fused/fused_shuffle.c). Maps have their channels last here. */
#include <string.h>

#include "graph/match.h"

/* Whether a node takes channels [from, to) of a map, all else whole. */
static bool is_part(struct ox_rewrite *rw, const struct ox_node *node, int64_t from, int64_t to)
{
    const struct ox_value *const *in = (const struct ox_value *const *)node->inputs;
    size_t n[4] = {0};
    if (!ox_is_op(node, "Slice") || ox_node_opset(node) < 10 || !ox_input(node, 3))
        return false;
    const int64_t *start = ox_const_ints(rw, in[1], &n[0]), *end = ox_const_ints(rw, in[2], &n[1]);
    const int64_t *axis = ox_const_ints(rw, in[3], &n[2]), *step = NULL;
    if (ox_input(node, 4) && (!(step = ox_const_ints(rw, in[4], &n[3])) || n[3] != 1 || *step != 1))
        return false;
    return start && end && axis && n[0] == 1 && n[1] == 1 && n[2] == 1 &&
           (*axis == 3 || *axis == -1) && *start == from && *end >= to;
}

/* The users of a map of 2 * half channels that take one half each. */
static bool find_halves(struct ox_rewrite *rw, const struct ox_value *map, int64_t half,
                        struct ox_node *users[2])
{
    users[0] = users[1] = NULL;
    if (half % 2 || ox_rw_is_pinned(rw, map) || ox_rw_n_uses(rw, map) != 2)
        return false;
    for (const struct ox_use *use = ox_rw_uses(rw, map); use; use = use->next) {
        if (use->input != 0 || use->node->n_outputs != 1)
            return false;
        if (is_part(rw, use->node, half, 2 * half))
            users[1] = use->node;
        else if (is_part(rw, use->node, 0, half))
            users[0] = use->node;
    }
    /* The first must end where the second begins. */
    size_t n;
    const int64_t *end = users[0] ? ox_const_ints(rw, users[0]->inputs[2], &n) : NULL;
    return users[0] && users[1] && end && *end == half;
}

/* The exchange of two groups of the last axis, begun by a Reshape: gives its Transpose and the Reshape that ends it. */
static bool is_exchange(struct ox_rewrite *rw, struct ox_node *apart, int64_t channels,
                        struct ox_node **turn, struct ox_node **whole)
{
    static const int64_t exchange[5] = {0, 1, 2, 4, 3};
    size_t n;
    *turn = ox_used_by(rw, apart->outputs[0], "Transpose");
    *whole = *turn ? ox_used_by(rw, (*turn)->outputs[0], "Reshape") : NULL;
    const int64_t *perm = *turn ? ox_attr_ints(*turn, "perm", &n) : NULL;
    if (!*whole || !perm || n != 5 || memcmp(perm, exchange, sizeof exchange) != 0)
        return false;
    const int64_t *parts = ox_const_ints(rw, ox_input(apart, 1), &n);
    if (!parts || n != 5 || parts[0] || parts[1] || parts[2] || parts[3] != 2 ||
        parts[4] != channels / 2)
        return false;
    const int64_t *joined = ox_const_ints(rw, ox_input(*whole, 1), &n);
    return joined && n == 4 && !joined[0] && !joined[1] && !joined[2] && joined[3] == channels;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *concat)
{
    struct ox_node *apart = ox_used_by(rw, concat->outputs[0], "Reshape"), *turn, *whole, *user[2];
    int64_t axis = ox_attr_int(concat, "axis", 0);
    if (concat->n_outputs != 1 || concat->n_inputs != 2 || (axis != 3 && axis != -1) || !apart ||
        ox_rank_of(rw, concat->inputs[0]) != 4 ||
        !ox_same_shape(rw, concat->inputs[0], concat->inputs[1]) ||
        ox_dtype_of_value(rw, concat->inputs[0]) != OX_FLOAT32)
        return;
    int64_t half = ox_dim_of(rw, concat->inputs[0], 3);
    if (half < 1 || half > INT64_MAX / 2 || !is_exchange(rw, apart, 2 * half, &turn, &whole))
        return;
    struct ox_value *out[2] = {whole->outputs[0]};
    bool halves = find_halves(rw, out[0], half, user);
    struct ox_value *in[2] = {concat->inputs[0], concat->inputs[1]};
    struct ox_node *removed[] = {
        concat, apart, turn, whole, halves ? user[0] : NULL, halves ? user[1] : NULL};
    if (halves) {
        out[0] = user[0]->outputs[0];
        out[1] = user[1]->outputs[0];
    }
    struct ox_node *node = ox_rw_insert(rw, whole, "Interleave", OX_OWN_DOMAIN, out[0]->name, in, 2,
                                        out, halves ? 2 : 1);
    if (!node)
        return;
    for (size_t i = 0; i < OX_COUNT(removed); i++)
        if (removed[i])
            ox_rw_remove(rw, removed[i]);
    for (size_t i = 0; i < (halves ? 2u : 1u); i++)
        ox_rw_set_output(rw, node, i, out[i]);
}

enum ox_status ox_pass_fuse_shuffle(struct ox_rewrite *rw, struct ox_graph *graph,
                                    struct ox_error *err)
{
    return ox_rw_each(rw, graph, "Concat", look_at, err);
}
