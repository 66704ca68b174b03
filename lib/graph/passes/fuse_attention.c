/* Scaled dot-product attention as exporters write it in parts, as one Attend (ops/fused/fused_attention.c):
 *
 *     MatMul(Softmax(scale MatMul(q, k') + mask), v)
 *
 * The scale may stand on the scores, on q, on k, or in parts on both. What only turns q, k, v or the result around
 * (Transpose, or Transpose between two Reshapes) and what repeats heads of k and v for groups of queries (Unsqueeze,
 * Expand or Tile, Reshape) becomes an attribute. */
#include <string.h>

#include "graph/match.h"
#include "ops/fused/fused.h"

/* A factor of a product, looked at from the product back: axis i of what the product sees, [batch, heads, rows, size],
 * is axis axes[i] of `value`, times `scale`, each head standing for `group`. */
struct side {
    struct ox_value *value;
    int axes[4];
    double scale;
    int64_t group;
};

/* What is passed on is what can be read as it lies. */
static bool is_readable(const struct side *s)
{
    return s->axes[0] == 0 && s->axes[3] == 3 && s->axes[1] + s->axes[2] == 3;
}

static bool is_plain(const struct side *s)
{
    return is_readable(s) && s->axes[1] == 1;
}

/* Mul or Div by a constant of one element: the other operand; NULL. */
static struct ox_value *scaled(struct ox_rewrite *rw, const struct ox_value *value, double *scale)
{
    struct ox_node *mul = ox_made_by(rw, value, "Mul", false);
    struct ox_node *div = ox_made_by(rw, value, "Div", false);
    double factor;
    if (div && ox_const_scalar(rw, div->inputs[1], &factor) && factor != 0 &&
        ox_rank_of(rw, div->inputs[0]) == ox_rank_of(rw, value)) {
        *scale /= factor;
        return div->inputs[0];
    }
    for (size_t i = 0; mul && i < 2; i++) {
        if (ox_const_scalar(rw, mul->inputs[i], &factor) &&
            ox_rank_of(rw, mul->inputs[1 - i]) == ox_rank_of(rw, value)) {
            *scale *= factor;
            return mul->inputs[1 - i];
        }
    }
    return NULL;
}

static bool step_transpose(const struct ox_rewrite *rw, struct side *s)
{
    struct ox_node *node = ox_made_by(rw, s->value, "Transpose", false);
    size_t n;
    const int64_t *perm = node ? ox_attr_ints(node, "perm", &n) : NULL;
    if (!perm || n != 4)
        return false;
    for (int i = 0; i < 4; i++)
        s->axes[i] = (int)perm[s->axes[i]];
    s->value = node->inputs[0];
    return true;
}

static bool same_dim(struct ox_rewrite *rw, const struct ox_value *a, int axis_a,
                     const struct ox_value *b, int axis_b)
{
    const struct ox_expr *x = ox_dim_expr(rw, a, axis_a), *y = ox_dim_expr(rw, b, axis_b);
    return x && x == y;
}

/* [b, h, s, d] to [b h, s, d], turned to [b h, d, s], and to [b, h, d, s]. */
static bool step_turn_flat(struct ox_rewrite *rw, struct side *s)
{
    struct ox_node *to = ox_made_by(rw, s->value, "Reshape", false);
    struct ox_node *turn = to ? ox_made_by(rw, to->inputs[0], "Transpose", false) : NULL;
    struct ox_node *from = turn ? ox_made_by(rw, turn->inputs[0], "Reshape", false) : NULL;
    size_t n;
    const int64_t *perm = from ? ox_attr_ints(turn, "perm", &n) : NULL;
    if (!perm || n != 3 || perm[0] != 0 || perm[1] != 2 || perm[2] != 1)
        return false;
    struct ox_value *x = from->inputs[0], *flat = turn->inputs[0];
    if (ox_rank_of(rw, x) != 4 || ox_rank_of(rw, s->value) != 4 || !same_dim(rw, x, 2, flat, 1) ||
        !same_dim(rw, x, 3, flat, 2) || !same_dim(rw, x, 2, s->value, 3) ||
        !same_dim(rw, x, 3, s->value, 2) || !same_dim(rw, x, 0, s->value, 0) ||
        !same_dim(rw, x, 1, s->value, 1))
        return false;
    for (int i = 0; i < 4; i++)
        s->axes[i] = s->axes[i] == 2 ? 3 : s->axes[i] == 3 ? 2 : s->axes[i];
    s->value = x;
    return true;
}

/* Heads repeated: [b, h, s, d] to [b, h, 1, s, d], to [b, h, n, s, d], to [b, h n, s, d]. */
static bool step_repeat(struct ox_rewrite *rw, struct side *s)
{
    struct ox_node *to = is_plain(s) ? ox_made_by(rw, s->value, "Reshape", false) : NULL;
    struct ox_value *wide = to ? to->inputs[0] : NULL;
    struct ox_node *repeat = wide ? ox_made_by(rw, wide, "Expand", false) : NULL;
    if (wide && !repeat)
        repeat = ox_made_by(rw, wide, "Tile", false);
    struct ox_node *more = repeat ? ox_made_by(rw, repeat->inputs[0], "Unsqueeze", false) : NULL;
    if (!more || ox_rank_of(rw, wide) != 5 || ox_rank_of(rw, s->value) != 4)
        return false;
    struct ox_value *x = more->inputs[0];
    int64_t n = ox_dim_of(rw, wide, 2), heads = ox_dim_of(rw, x, 1);
    if (ox_rank_of(rw, x) != 4 || n < 1 || heads < 1 || ox_dim_of(rw, repeat->inputs[0], 2) != 1 ||
        ox_dim_of(rw, wide, 1) != heads || ox_dim_of(rw, s->value, 1) != heads * n ||
        !same_dim(rw, x, 3, s->value, 3) || !same_dim(rw, x, 2, wide, 3) ||
        !same_dim(rw, x, 3, wide, 4) || !same_dim(rw, x, 0, wide, 0))
        return false;
    s->value = x;
    s->group = n;
    return true;
}

/* Walks back as far as leads to something readable. false: nothing is. */
static bool walk_back(struct ox_rewrite *rw, struct side *s)
{
    struct side at = *s;
    bool found = false;
    for (;;) {
        if (is_readable(&at)) {
            *s = at;
            found = true;
        }
        struct ox_value *inner = scaled(rw, at.value, &at.scale);
        if (inner)
            at.value = inner;
        else if (!step_turn_flat(rw, &at) && !step_transpose(rw, &at) &&
                 (at.group != 1 || !step_repeat(rw, &at)))
            return found;
    }
}

struct attention {
    struct side q, k, v;
    struct ox_value *mask;
    struct ox_node *last; /* makes the result */
    bool y_rows_first;
};

/* The scores before the softmax: peels mask and scale off down to the product of q and k. */
static struct ox_node *match_scores(struct ox_rewrite *rw, struct ox_value *scores,
                                    struct attention *a, double *scale)
{
    struct ox_node *add = ox_made_by(rw, scores, "Add", true);
    for (size_t i = 0; add && i < 2; i++) {
        double factor = 1;
        struct ox_value *x = add->inputs[i], *inner = scaled(rw, x, &factor);
        struct ox_node *product =
            ox_rw_only_user(rw, x) ? ox_made_by(rw, inner ? inner : x, "MatMul", true) : NULL;
        if (!product || ox_rank_of(rw, x) != 4 || ox_rank_of(rw, scores) != 4)
            continue;
        a->mask = add->inputs[1 - i];
        *scale = factor;
        return ox_dtype_of_value(rw, a->mask) == OX_FLOAT32 ? product : NULL;
    }
    struct ox_value *inner = ox_rw_only_user(rw, scores) ? scaled(rw, scores, scale) : NULL;
    return ox_made_by(rw, inner ? inner : scores, "MatMul", true);
}

static bool is_over_last_axis(struct ox_rewrite *rw, const struct ox_node *softmax)
{
    int64_t axis = ox_attr_int(softmax, "axis", -1);
    return ox_rank_of(rw, softmax->inputs[0]) == 4 && (axis == -1 || axis == 3);
}

/* All of it around a softmax. */
static bool match(struct ox_rewrite *rw, const struct ox_node *softmax, struct attention *a)
{
    double scale = 1;
    struct ox_node *last = ox_used_by(rw, softmax->outputs[0], "MatMul");
    if (!last || last->inputs[0] != softmax->outputs[0] || last->inputs[1] == softmax->outputs[0] ||
        !is_over_last_axis(rw, softmax))
        return false;
    struct ox_node *product = match_scores(rw, softmax->inputs[0], a, &scale);
    if (!product)
        return false;
    a->q = (struct side){product->inputs[0], {0, 1, 2, 3}, scale, 1};
    a->k = (struct side){product->inputs[1], {0, 1, 3, 2}, 1, 1};
    a->v = (struct side){last->inputs[1], {0, 1, 2, 3}, 1, 1};
    const struct ox_value *seen[] = {a->q.value, a->k.value, a->v.value, last->outputs[0]};
    for (size_t i = 0; i < OX_COUNT(seen); i++) {
        if (ox_rank_of(rw, seen[i]) != 4 || ox_dtype_of_value(rw, seen[i]) != OX_FLOAT32)
            return false;
        /* Heads and batches that are broadcast are left alone. */
        if (i < 3 && (!same_dim(rw, seen[i], 0, last->outputs[0], 0) ||
                      !same_dim(rw, seen[i], 1, last->outputs[0], 1)))
            return false;
    }
    if (!walk_back(rw, &a->q) || !walk_back(rw, &a->k) || !walk_back(rw, &a->v))
        return false;
    a->last = last;
    return a->q.group == 1 && a->k.group == a->v.group && a->v.scale == 1;
}

/* The result turned to [batch, rows, heads, size], when that is all that it is used for. */
static void match_result(struct ox_rewrite *rw, struct attention *a)
{
    static const int64_t turned[] = {0, 2, 1, 3};
    struct ox_node *node = ox_used_by(rw, a->last->outputs[0], "Transpose");
    size_t n;
    const int64_t *perm = node ? ox_attr_ints(node, "perm", &n) : NULL;
    if (!perm || n != 4 || memcmp(perm, turned, sizeof turned) != 0)
        return;
    a->last = node;
    a->y_rows_first = true;
}

static void fuse(struct ox_rewrite *rw, const struct attention *a)
{
    struct ox_value *in[] = {a->q.value, a->k.value, a->v.value, a->mask};
    struct ox_node *node = a->last;
    ox_rw_become(rw, node, "Attend", OX_OWN_DOMAIN, in, a->mask ? 4 : 3);
    ox_rw_clear_attrs(rw, node);
    const struct side *const sides[] = {&a->q, &a->k, &a->v};
    for (size_t i = 0; i < OX_COUNT(sides); i++)
        rw->failed |= !ox_node_set_int(node, ox_attend_names[i].rows_first, !is_plain(sides[i]));
    rw->failed |= !ox_node_set_float(node, "scale", (float)(a->q.scale * a->k.scale)) ||
                  !ox_node_set_int(node, "y_rows_first", a->y_rows_first) ||
                  !ox_node_set_int(node, "group", a->k.group);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *softmax)
{
    struct attention a = {.mask = NULL};
    if (softmax->n_outputs != 1 || !match(rw, softmax, &a))
        return;
    match_result(rw, &a);
    fuse(rw, &a);
}

enum ox_status ox_pass_fuse_attention(struct ox_rewrite *rw, struct ox_graph *graph,
                                      struct ox_error *err)
{
    return ox_rw_each(rw, graph, "Softmax", look_at, err);
}
