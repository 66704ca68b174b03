/* A Transpose on either side of a Reshape (or Squeeze, Unsqueeze) that takes axes apart or puts neighbours together moves everything twice. Both shapes are
 * made of the same finer axes, so one Transpose of these does it, or none: detectors that turn the channels of a head into
 * boxes and values, patches that become a sequence. Only where runs of the last axis stay whole: these are copied fast. */
#include <string.h>

#include "graph/match.h"

enum { MOST_RANK = 8 };

/* An axis that is part of one axis of the Reshape's input and of one of its output. */
struct part {
    const struct ox_expr *dim;
    int from, to;
};

struct turns {
    struct ox_node *first, *reshape, *second;
    int rank_in, rank_out;
    int perm_in[MOST_RANK], perm_out[MOST_RANK];
    struct part parts[MOST_RANK];
    int n_parts, n_moved;  /* moved: those that are no axes of one */
    int source[MOST_RANK]; /* parts in the order in which they lie before the first Transpose */
    int result[MOST_RANK]; /* ... and after the second */
};

static bool read_perm(struct ox_rewrite *rw, const struct ox_node *node, int rank, int *out)
{
    size_t n;
    const int64_t *perm = ox_attr_ints(node, "perm", &n);
    bool seen[MOST_RANK] = {false};
    if (rank < 1 || rank > MOST_RANK || (perm && n != (size_t)rank) ||
        (!perm && ox_node_attr(node, "perm")) || ox_rank_of(rw, ox_input(node, 0)) != rank)
        return false;
    for (int i = 0; i < rank; i++) {
        out[i] = perm && perm[i] >= 0 && perm[i] < rank ? (int)perm[i] : perm ? 0 : rank - 1 - i;
        if (seen[out[i]])
            return false;
        seen[out[i]] = true;
    }
    return true;
}

/* Axes i.. of one side whose sizes multiply to `whole`; how many, or 0. */
static int group(struct ox_rewrite *rw, const struct ox_value *value, int i, int rank,
                 int64_t whole)
{
    int64_t product = 1;
    for (int k = i; k < rank; k++) {
        const int64_t dim = ox_dim_of(rw, value, k);
        if (dim < 1 || OX_MUL_OVERFLOWS(product, dim, &product) || product > whole)
            return 0;
        if (product == whole)
            return k - i + 1;
    }
    return 0;
}

static bool add_part(struct turns *t, const struct ox_expr *dim, int from, int to)
{
    if (t->n_parts == MOST_RANK)
        return false;
    t->parts[t->n_parts++] = (struct part){dim, from, to};
    return true;
}

/* The finer axes that both sides of the Reshape are made of. */
static bool find_parts(struct ox_rewrite *rw, struct turns *t)
{
    const struct ox_value *x = t->reshape->inputs[0], *y = t->reshape->outputs[0];
    int i = 0, j = 0;
    while (i < t->rank_in && j < t->rank_out) {
        const struct ox_expr *dim = ox_dim_expr(rw, x, i), *other = ox_dim_expr(rw, y, j);
        const int64_t a = ox_dim_of(rw, x, i), b = ox_dim_of(rw, y, j);
        int n;
        if (dim && dim == other) {
            if (!add_part(t, dim, i++, j++))
                return false;
        } else if (a > b && (n = group(rw, y, j, t->rank_out, a)) > 0) {
            for (const int end = j + n; j < end; j++)
                if (!add_part(t, ox_dim_expr(rw, y, j), i, j))
                    return false;
            i++;
        } else if (b > a && (n = group(rw, x, i, t->rank_in, b)) > 0) {
            for (const int end = i + n; i < end; i++)
                if (!add_part(t, ox_dim_expr(rw, x, i), i, j))
                    return false;
            j++;
        } else {
            return false;
        }
    }
    for (; i < t->rank_in && ox_dim_of(rw, x, i) == 1 && t->rank_out; i++)
        if (!add_part(t, ox_dim_expr(rw, x, i), i, t->rank_out - 1))
            return false;
    for (; j < t->rank_out && ox_dim_of(rw, y, j) == 1 && t->rank_in; j++)
        if (!add_part(t, ox_dim_expr(rw, y, j), t->rank_in - 1, j))
            return false;
    return i == t->rank_in && j == t->rank_out;
}

static bool is_one(const struct part *part)
{
    int64_t size;
    return ox_expr_is_int(part->dim, &size) && size == 1;
}

/* Axes of one lie anywhere: they have no place. */
static void order_parts(struct turns *t)
{
    int n = 0;
    for (int axis = 0; axis < t->rank_in; axis++)
        for (int k = 0; k < t->n_parts; k++)
            if (t->perm_in[t->parts[k].from] == axis && !is_one(&t->parts[k]))
                t->source[n++] = k;
    t->n_moved = n;
    n = 0;
    for (int axis = 0; axis < t->rank_out; axis++)
        for (int k = 0; k < t->n_parts; k++)
            if (t->parts[k].to == t->perm_out[axis] && !is_one(&t->parts[k]))
                t->result[n++] = k;
}

/* Nothing moves, or runs do that are long enough to be copied fast. */
static bool is_worth(const struct turns *t)
{
    enum { RUN = 8 };
    const int last = t->source[t->n_moved - 1];
    int64_t run;
    return memcmp(t->source, t->result, (size_t)t->n_moved * sizeof *t->source) == 0 ||
           (last == t->result[t->n_moved - 1] && ox_expr_is_int(t->parts[last].dim, &run) &&
            run >= RUN);
}

/* The only use of what changes a shape is by the node. */
static struct ox_node *reshape_before(struct ox_rewrite *rw, const struct ox_node *node)
{
    static const char *const names[] = {"Reshape", "Squeeze", "Unsqueeze"};
    struct ox_node *found = NULL;
    for (size_t i = 0; i < OX_COUNT(names) && !found; i++)
        found = ox_made_by(rw, ox_input(node, 0), names[i], true);
    return found;
}

static bool read_turns(struct ox_rewrite *rw, struct ox_node *second, struct turns *t)
{
    struct ox_node *reshape = reshape_before(rw, second);
    struct ox_node *first =
        reshape ? ox_made_by(rw, ox_input(reshape, 0), "Transpose", true) : NULL;
    if (!first || !ox_input(first, 0) || ox_node_opset(second) < 5)
        return false;
    *t = (struct turns){.first = first, .reshape = reshape, .second = second};
    t->rank_in = ox_rank_of(rw, reshape->inputs[0]);
    t->rank_out = ox_rank_of(rw, reshape->outputs[0]);
    if (!read_perm(rw, first, t->rank_in, t->perm_in) ||
        !read_perm(rw, second, t->rank_out, t->perm_out) || !find_parts(rw, t))
        return false;
    order_parts(t);
    return t->n_moved > 0 && is_worth(t);
}

/* The sizes as a target of Reshape; false: there are more than one that are no numbers. */
static bool sizes_of(const struct ox_expr *const *dims, int n, int64_t *out)
{
    int n_unknown = 0;
    for (int i = 0; i < n; i++) {
        if (ox_expr_is_int(dims[i], &out[i]))
            continue;
        out[i] = -1;
        n_unknown++;
    }
    return n_unknown <= 1;
}

static struct ox_value *value_of(struct ox_rewrite *rw, const struct ox_value *like, int n,
                                 const struct ox_expr *const *dims)
{
    const struct ox_type *type =
        ox_rw_tensor_type(rw, ox_dtype_of_value(rw, like), (unsigned)n, dims);
    return type ? ox_rw_value(rw, like->name, type) : NULL;
}

static int place_in(const int *order, int part)
{
    int i = 0;
    while (order[i] != part)
        i++;
    return i;
}

/* What changes nothing here, drop-identities takes out. */
static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct turns t;
    const struct ox_expr *before[MOST_RANK], *after[MOST_RANK], *end[MOST_RANK];
    int64_t sizes[MOST_RANK], ends[MOST_RANK], perm[MOST_RANK];
    if (!read_turns(rw, node, &t))
        return;
    const int n = t.n_moved;
    for (int i = 0; i < n; i++) {
        before[i] = t.parts[t.source[i]].dim;
        after[i] = t.parts[t.result[i]].dim;
        perm[i] = place_in(t.source, t.result[i]);
    }
    for (int i = 0; i < t.rank_out; i++)
        end[i] = ox_dim_expr(rw, t.reshape->outputs[0], t.perm_out[i]);
    if (!sizes_of(before, n, sizes) || !sizes_of(end, t.rank_out, ends))
        return;
    struct ox_value *x = t.first->inputs[0];
    struct ox_value *apart = value_of(rw, x, n, before), *turned = value_of(rw, x, n, after);
    struct ox_value *shape = ox_rw_ints(rw, x->name, (size_t)n, sizes);
    struct ox_value *last = ox_rw_ints(rw, node->outputs[0]->name, (size_t)t.rank_out, ends);
    struct ox_node *turn = NULL;
    if (apart && turned && shape && last &&
        ox_rw_insert(rw, node, "Reshape", "", t.reshape->name, (struct ox_value *[]){x, shape}, 2,
                     &apart, 1))
        turn = ox_rw_insert(rw, node, "Transpose", "", node->name, &apart, 1, &turned, 1);
    if (!turn)
        return;
    rw->failed |= !ox_node_set_ints(turn, "perm", perm, (size_t)n);
    ox_rw_clear_attrs(rw, node);
    ox_rw_become(rw, node, "Reshape", "", (struct ox_value *[]){turned, last}, 2);
    ox_rw_remove(rw, t.reshape);
    ox_rw_remove(rw, t.first);
}

enum ox_status ox_pass_merge_turns(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, "Transpose", look_at, err);
}
