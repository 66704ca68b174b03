/* MatMul and the Add after it, of more than two axes, become Gemm of rows where that leaves fewer nodes: where several share their left
 * side, as queries, keys and values do, and what follows changes the shape anyway. */
#include "graph/match.h"

enum { MOST_SHARED = 32 };

/* A product, the bias added to it, and their result, which only Reshape reads. */
struct product {
    struct ox_node *matmul, *add;
    struct ox_value *bias;
};

static bool is_float(enum ox_dtype dtype)
{
    return dtype == OX_FLOAT32 || dtype == OX_FLOAT64 || dtype == OX_FLOAT16;
}

/* Whether a Reshape's result does not depend on the axes of its input, only on their product. */
static bool forgets_axes(struct ox_rewrite *rw, const struct ox_node *node)
{
    size_t n = 0;
    const struct ox_value *target = ox_input(node, 1);
    const int64_t *ints = ox_is_op(node, "Reshape") && target && ox_rw_stored(rw, target)
                              ? ox_const_ints(rw, target, &n)
                              : NULL;
    for (size_t i = 0; ints && i < n; i++)
        if (ints[i] == 0)
            return false;
    return ints != NULL;
}

static bool only_reshaped(struct ox_rewrite *rw, const struct ox_value *y)
{
    if (ox_rw_is_pinned(rw, y) || ox_rw_n_uses(rw, y) == 0)
        return false;
    for (const struct ox_use *use = ox_rw_uses(rw, y); use; use = use->next)
        if (use->input != 0 || !forgets_axes(rw, use->node))
            return false;
    return true;
}

static bool read_product(struct ox_rewrite *rw, const struct ox_value *x, struct ox_node *matmul,
                         struct product *out)
{
    struct ox_value *w = ox_input(matmul, 1), *product = matmul->outputs[0];
    if (!ox_is_op(matmul, "MatMul") || ox_input(matmul, 0) != x || !w || w == x || !product ||
        ox_rank_of(rw, w) != 2 || ox_dim_of(rw, w, 0) < 1 || ox_dim_of(rw, w, 1) < 1 ||
        !is_float(ox_dtype_of_value(rw, product)))
        return false;
    struct ox_node *add = ox_used_by(rw, product, "Add");
    struct ox_value *bias = add ? ox_other_input(add, product) : NULL;
    if (!bias || ox_node_opset(add) < 7 || ox_rank_of(rw, bias) != 1 ||
        ox_dim_of(rw, bias, 0) != ox_dim_of(rw, w, 1) || !add->outputs[0] ||
        !only_reshaped(rw, add->outputs[0]))
        return false;
    *out = (struct product){matmul, add, bias};
    return true;
}

static void become_gemm(struct ox_rewrite *rw, const struct product *p, struct ox_value *rows)
{
    struct ox_value *y = p->add->outputs[0];
    const struct ox_expr *dims[] = {NULL, ox_dim_expr(rw, y, -1)};
    const struct ox_type *type = ox_rw_tensor_type(rw, ox_dtype_of_value(rw, y), 2, dims);
    struct ox_value *flat = type ? ox_rw_value(rw, y->name, type) : NULL;
    struct ox_value *in[] = {rows, p->matmul->inputs[1], p->bias};
    if (!flat || !ox_rw_insert(rw, p->add, "Gemm", "", p->matmul->name, in, 3, &flat, 1) ||
        !ox_rw_replace(rw, y, flat))
        return;
    ox_rw_remove(rw, p->add);
    ox_rw_remove(rw, p->matmul);
}

/* All that multiply what `first` multiplies. */
static void flatten(struct ox_rewrite *rw, struct ox_node *first)
{
    struct ox_value *x = ox_input(first, 0);
    struct product list[MOST_SHARED];
    size_t n = 0;
    if (!x || ox_rank_of(rw, x) < 3 || ox_node_opset(first) < 7)
        return;
    for (const struct ox_use *use = ox_rw_uses(rw, x); use && n < MOST_SHARED; use = use->next)
        n += read_product(rw, x, use->node, &list[n]);
    /* Rows of a Reshape that nobody else reads cost nothing: the two become one. */
    bool free_rows =
        ox_made_by(rw, x, "Reshape", false) && !ox_rw_is_pinned(rw, x) && ox_rw_n_uses(rw, x) == n;
    if (n + free_rows < 2)
        return;
    const int64_t target[] = {-1, ox_dim_of(rw, list[0].matmul->inputs[1], 0)};
    const struct ox_expr *dims[] = {NULL, ox_dim_expr(rw, x, -1)};
    const struct ox_type *type = ox_rw_tensor_type(rw, ox_dtype_of_value(rw, x), 2, dims);
    struct ox_value *rows = type ? ox_rw_value(rw, x->name, type) : NULL;
    struct ox_value *shape = ox_rw_ints(rw, x->name, 2, target);
    if (!rows || !shape ||
        !ox_rw_insert(rw, first, "Reshape", "", rows->name, (struct ox_value *[]){x, shape}, 2,
                      &rows, 1))
        return;
    for (size_t i = 0; i < n; i++)
        become_gemm(rw, &list[i], rows);
}

enum ox_status ox_pass_flatten_products(struct ox_rewrite *rw, struct ox_graph *graph,
                                        struct ox_error *err)
{
    return ox_rw_each(rw, graph, "MatMul", flatten, err);
}
