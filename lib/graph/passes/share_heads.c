/* Queries, keys and values that are parts of one product's rows are read there by Attend (ops/fused/fused_attention.c), without Split and
 * Transpose. A row is blocks of a head's size; a factor's heads are every n-th of them:
 *
 *     Reshape(Split(x)) to [batch, rows, heads, size]: parts one after another
 *     Split(Reshape(x)) from [batch, rows, heads, parts * size]: a head's parts side by side
 *     Split, Gather or Squeeze of Transpose(Reshape(x)) from [batch, rows, parts, heads, size]
 */
#include "graph/match.h"
#include "ops/fused/fused.h"

/* Head h of a factor is block first + h * every of the rows of x. */
struct origin {
    struct ox_value *x;
    int64_t size, heads, first, every;
    int64_t blocks; /* of a row */
};

/* What a Split along that axis (0, or -1 for the last) takes the value from, and where along it; NULL. */
static struct ox_value *split_from(struct ox_rewrite *rw, const struct ox_value *value, int axis,
                                   int64_t *at)
{
    const struct ox_node *split = value->producer;
    if (!split || split->graph != rw->graph || ox_rw_gone(rw, split) || !ox_is_op(split, "Split"))
        return NULL;
    const int rank = ox_rank_of(rw, split->inputs[0]);
    const int64_t given = ox_attr_int(split, "axis", 0);
    if (rank < 1 || (given < 0 ? given + rank : given) != (axis < 0 ? axis + rank : axis))
        return NULL;
    *at = 0;
    for (size_t i = 0; i < value->output_index; i++) {
        const struct ox_value *before = split->outputs[i];
        const int64_t size = before ? ox_dim_of(rw, before, axis) : -1;
        if (size < 0)
            return NULL;
        *at += size;
    }
    return split->inputs[0];
}

static bool same_dims(struct ox_rewrite *rw, const struct ox_value *a, const struct ox_value *b,
                      int n)
{
    for (int i = 0; i < n; i++) {
        const struct ox_expr *dim = ox_dim_expr(rw, a, i);
        if (!dim || dim != ox_dim_expr(rw, b, i))
            return false;
    }
    return true;
}

/* value: [batch, rows, heads, size] */
static bool parts_in_turn(struct ox_rewrite *rw, const struct ox_value *value, struct origin *o)
{
    const struct ox_node *reshape = ox_made_by(rw, value, "Reshape", false);
    const struct ox_value *part = reshape ? reshape->inputs[0] : NULL;
    int64_t at;
    struct ox_value *x = part ? split_from(rw, part, -1, &at) : NULL;
    const int64_t width = x ? ox_dim_of(rw, x, -1) : -1;
    if (width < 0 || ox_rank_of(rw, part) != 3 || !same_dims(rw, value, part, 2) ||
        at % o->size != 0 || width % o->size != 0)
        return false;
    *o = (struct origin){x, o->size, o->heads, at / o->size, 1, width / o->size};
    return true;
}

/* value: [batch, rows, heads, size] */
static bool parts_side_by_side(struct ox_rewrite *rw, const struct ox_value *value,
                               struct origin *o)
{
    int64_t at;
    struct ox_value *x = split_from(rw, value, -1, &at);
    const int64_t width = x ? ox_dim_of(rw, x, -1) : -1;
    if (width < 0 || at % o->size != 0 || width % o->size != 0)
        return false;
    const int64_t parts = width / o->size;
    *o = (struct origin){x, o->size, o->heads, at / o->size, parts, parts * o->heads};
    return true;
}

/* The first axis is taken off at a place that is told; what it is taken off. */
static struct ox_value *stacked(struct ox_rewrite *rw, const struct ox_value *value, int64_t *at)
{
    const struct ox_node *gather = ox_made_by(rw, value, "Gather", false);
    const struct ox_node *squeeze = ox_made_by(rw, value, "Squeeze", false);
    double index;
    if (gather && ox_attr_int(gather, "axis", 0) == 0 && ox_rank_of(rw, gather->inputs[1]) == 0 &&
        ox_const_scalar(rw, gather->inputs[1], &index)) {
        const int64_t n = ox_dim_of(rw, gather->inputs[0], 0);
        *at = (int64_t)index + (index < 0 ? n : 0);
        return *at >= 0 && *at < n ? gather->inputs[0] : NULL;
    }
    const struct ox_value *part = squeeze ? squeeze->inputs[0] : NULL;
    struct ox_value *from = part ? split_from(rw, part, 0, at) : NULL;
    if (!from || ox_rank_of(rw, part) != 5 || ox_dim_of(rw, part, 0) != 1)
        return NULL;
    for (int i = 0; i < 4; i++) /* of several axes of 1 it may be another */
        if (ox_dim_expr(rw, part, i + 1) != ox_dim_expr(rw, value, i))
            return NULL;
    return from;
}

/* value: [batch, heads, rows, size], or with rows_first [batch, rows, heads, size] */
static bool parts_stacked(struct ox_rewrite *rw, const struct ox_value *value, bool rows_first,
                          struct origin *o)
{
    int64_t at;
    size_t n;
    struct ox_value *stack = stacked(rw, value, &at);
    const struct ox_node *turn = stack ? ox_made_by(rw, stack, "Transpose", false) : NULL;
    const int64_t *perm = turn ? ox_attr_ints(turn, "perm", &n) : NULL;
    if (!perm || n != 5 || perm[0] != 2 || perm[1] != 0 || perm[4] != 4 ||
        perm[2] != (rows_first ? 1 : 3) || perm[3] != (rows_first ? 3 : 1))
        return false;
    struct ox_value *x = turn->inputs[0];
    const int64_t parts = ox_rank_of(rw, x) == 5 ? ox_dim_of(rw, x, 2) : -1;
    if (parts < 1)
        return false;
    *o = (struct origin){x, o->size, o->heads, at * o->heads, 1, parts * o->heads};
    return true;
}

static bool find_origin(struct ox_rewrite *rw, const struct ox_value *value, bool rows_first,
                        struct origin *o)
{
    *o = (struct origin){.size = ox_dim_of(rw, value, 3),
                         .heads = ox_dim_of(rw, value, rows_first ? 2 : 1)};
    return o->size > 0 && o->heads > 0 &&
           (parts_stacked(rw, value, rows_first, o) ||
            (rows_first && (parts_in_turn(rw, value, o) || parts_side_by_side(rw, value, o))));
}

/* x as [batch, rows, blocks, size] */
static struct ox_value *in_blocks(struct ox_rewrite *rw, struct ox_node *attend,
                                  const struct origin *o)
{
    struct ox_value *shape = ox_rw_ints(rw, o->x->name, 4, (int64_t[]){0, 0, o->blocks, o->size});
    struct ox_value *in[] = {o->x, shape}, *out = ox_rw_value(rw, o->x->name, NULL);
    if (!shape || !out || !ox_rw_insert(rw, attend, "Reshape", "", o->x->name, in, 2, &out, 1))
        return NULL;
    return out;
}

/* One factor alone is copied as fast as it is read with gaps: only what is shared pays. */
static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct origin o[3];
    struct ox_value *to[3] = {NULL};
    if (!ox_is_domain_op(node, OX_OWN_DOMAIN, "Attend"))
        return;
    for (size_t i = 0; i < 3; i++) {
        const bool rows_first = ox_attr_int(node, ox_attend_names[i].rows_first, 0) != 0;
        const bool is_shared = ox_attr_int(node, ox_attend_names[i].heads, 0) != 0;
        if (is_shared || !find_origin(rw, node->inputs[i], rows_first, &o[i]))
            o[i].x = NULL;
    }
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 3; k++) {
            if (k == i || !o[i].x || o[k].x != o[i].x || o[k].size != o[i].size ||
                o[k].blocks != o[i].blocks)
                continue;
            to[i] = k < i ? to[k] : in_blocks(rw, node, &o[i]);
            break;
        }
    }
    for (size_t i = 0; i < 3 && !rw->failed; i++) {
        if (!to[i])
            continue;
        const struct ox_attend_names *names = &ox_attend_names[i];
        ox_rw_set_input(rw, node, i, to[i]);
        rw->failed |= !ox_node_set_int(node, names->rows_first, 1) ||
                      !ox_node_set_int(node, names->heads, o[i].heads) ||
                      !ox_node_set_int(node, names->first, o[i].first) ||
                      !ox_node_set_int(node, names->every, o[i].every);
    }
}

enum ox_status ox_pass_share_heads(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
