/* Rows that Gather picks of a table are computed after they are picked, where the whole table would be computed of a large constant:
 * embeddings that are kept in 8 bits with a scale for each row, say, or as the turned weights of the last product. */
#include "graph/match.h"

enum {
    LARGE = 1 << 20, /* elements: a run that picks more is rare */
    DEEPEST = 4,
    MOST_OPERANDS = 2
};

/* How rows are picked of tables of one shape. */
struct picker {
    struct ox_node *gather;
    int rank;  /* of the tables */
    int picks; /* rank of the indices */
    int64_t rows;
};

static bool is_elementwise(const struct ox_node *node)
{
    static const char *const ops[] = {"Cast", "Mul", "Add", "Sub", "Div", NULL};
    return ox_is_any_op(node, ops) && ox_node_opset(node) >= 13 &&
           node->n_attrs == ox_is_op(node, "Cast") && node->n_inputs <= MOST_OPERANDS;
}

static bool is_large(struct ox_rewrite *rw, const struct ox_value *value, int rank)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++) {
        int64_t dim = ox_dim_of(rw, value, d);
        if (dim < 1 || __builtin_mul_overflow(n, dim, &n))
            return false;
    }
    return n >= LARGE;
}

static bool has_rows(struct ox_rewrite *rw, const struct picker *p, const struct ox_value *operand)
{
    return ox_rank_of(rw, operand) == p->rank && ox_dim_of(rw, operand, 0) == p->rows;
}

/* The same for each row, whatever picks them. */
static bool is_repeated(struct ox_rewrite *rw, const struct picker *p,
                        const struct ox_value *operand)
{
    const int rank = ox_rank_of(rw, operand);
    return rank >= 0 &&
           (rank < p->rank || (rank == p->rank && p->picks > 0 && ox_dim_of(rw, operand, 0) == 1));
}

/* Whether the table is a constant, or computed of such: of operands that have its rows, one at least, and others that are repeated for
 * each row, and will be for each that is picked. */
static bool can_pick(struct ox_rewrite *rw, const struct picker *p, const struct ox_value *table,
                     unsigned depth)
{
    if (ox_rw_stored(rw, table))
        return true;
    const struct ox_node *made = table->outer ? NULL : table->producer;
    bool any = false;
    if (!made || !depth || !is_elementwise(made))
        return false;
    for (size_t i = 0; i < made->n_inputs; i++) {
        const struct ox_value *operand = made->inputs[i];
        const bool picked = has_rows(rw, p, operand);
        if (picked ? !can_pick(rw, p, operand, depth - 1) : !is_repeated(rw, p, operand))
            return false;
        any |= picked;
    }
    return any;
}

static bool is_for_gathers_alone(const struct ox_rewrite *rw, const struct ox_value *table)
{
    if (table->outer || !table->producer || ox_rw_is_pinned(rw, table))
        return false;
    for (const struct ox_use *use = ox_rw_uses(rw, table); use; use = use->next)
        if (!ox_is_op(use->node, "Gather") || use->input != 0 ||
            ox_attr_int(use->node, "axis", 0) != 0)
            return false;
    return true;
}

static struct ox_value *pick(struct ox_rewrite *rw, const struct picker *p, struct ox_value *table);

/* The operands of what makes a table, picked. false: out of memory. */
static bool pick_operands(struct ox_rewrite *rw, const struct picker *p, const struct ox_node *made,
                          struct ox_value *in[MOST_OPERANDS])
{
    for (size_t i = 0; i < made->n_inputs; i++) {
        in[i] = made->inputs[i];
        if (has_rows(rw, p, in[i]))
            in[i] = pick(rw, p, in[i]);
        if (!in[i])
            return false;
    }
    return true;
}

static struct ox_value *pick(struct ox_rewrite *rw, const struct picker *p, struct ox_value *table)
{
    const struct ox_node *made = ox_rw_stored(rw, table) ? NULL : table->producer;
    struct ox_value *in[MOST_OPERANDS] = {table, p->gather->inputs[1]};
    if (made && !pick_operands(rw, p, made, in))
        return NULL;
    const enum ox_dtype elem = ox_dtype_of_value(rw, table);
    struct ox_value *rows = ox_rw_value(
        rw, table->name, ox_rw_tensor_type(rw, elem, (unsigned)(p->rank - 1 + p->picks), NULL));
    struct ox_node *node =
        rows ? ox_rw_insert(rw, p->gather, made ? made->op_type : "Gather", "", p->gather->name, in,
                            made ? made->n_inputs : MOST_OPERANDS, &rows, 1)
             : NULL;
    if (node && ox_is_op(node, "Cast"))
        rw->failed |= !ox_node_set_int(node, "to", elem);
    return node ? rows : NULL;
}

/* What made the table, and what that was made of, goes at once: folding would compute it. */
static void drop(struct ox_rewrite *rw, struct ox_value *table)
{
    struct ox_node *made = table->outer ? NULL : table->producer;
    if (!made || ox_rw_uses(rw, table) || ox_rw_is_pinned(rw, table))
        return;
    struct ox_value *in[MOST_OPERANDS] = {NULL};
    const size_t n = made->n_inputs;
    if (!is_elementwise(made))
        return;
    for (size_t i = 0; i < n; i++)
        in[i] = made->inputs[i];
    ox_rw_remove(rw, made);
    for (size_t i = 0; i < n; i++)
        drop(rw, in[i]);
}

/* Rows of Transpose(weights) are columns of the weights, which are turned when they are few. What nothing else needs is turned
 * by folding. */
static bool pick_columns(struct ox_rewrite *rw, const struct picker *p)
{
    enum { MOST_PICKS = 6 };
    struct ox_value *const table = p->gather->inputs[0];
    bool turned;
    struct ox_value *in[MOST_OPERANDS] = {ox_matrix_behind(rw, table, &turned),
                                          p->gather->inputs[1]};
    if (!in[0] || !turned || ox_rw_n_uses(rw, in[0]) < 2 || p->picks > MOST_PICKS)
        return false;
    struct ox_value *columns = ox_rw_value(
        rw, table->name,
        ox_rw_tensor_type(rw, ox_dtype_of_value(rw, table), (unsigned)p->picks + 1, NULL));
    struct ox_node *node = columns ? ox_rw_insert(rw, p->gather, "Gather", "", p->gather->name, in,
                                                  MOST_OPERANDS, &columns, 1)
                                   : NULL;
    if (!node)
        return true;
    int64_t back[MOST_PICKS + 1] = {0};
    for (int d = 0; d < p->picks; d++)
        back[d] = d + 1;
    ox_rw_become(rw, p->gather, "Transpose", "", &columns, 1);
    ox_rw_clear_attrs(rw, p->gather);
    rw->failed |= !ox_node_set_int(node, "axis", 1) ||
                  !ox_node_set_ints(p->gather, "perm", back, (size_t)p->picks + 1);
    return true;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *gather)
{
    struct ox_value *table = ox_input(gather, 0), *in[MOST_OPERANDS];
    if (!table || !ox_input(gather, 1) || !is_for_gathers_alone(rw, table))
        return;
    const struct ox_node *made = table->producer;
    const struct picker p = {gather, ox_rank_of(rw, table), ox_rank_of(rw, gather->inputs[1]),
                             ox_dim_of(rw, table, 0)};
    if (p.rank < 1 || p.picks < 0 || !is_large(rw, table, p.rank) || pick_columns(rw, &p) ||
        !can_pick(rw, &p, table, DEEPEST) || !pick_operands(rw, &p, made, in))
        return;
    const enum ox_dtype elem = ox_dtype_of_value(rw, table);
    ox_rw_become(rw, gather, made->op_type, "", in, made->n_inputs);
    ox_rw_clear_attrs(rw, gather);
    if (ox_is_op(gather, "Cast"))
        rw->failed |= !ox_node_set_int(gather, "to", elem);
    drop(rw, table);
}

enum ox_status ox_pass_pick_first(struct ox_rewrite *rw, struct ox_graph *graph,
                                  struct ox_error *err)
{
    return ox_rw_each(rw, graph, "Gather", look_at, err);
}
