/* MatMul and the Add after it become Gemm, and transposed matrices its attributes. */
#include "graph/match.h"

static bool is_float(enum ox_dtype dtype)
{
    return dtype == OX_FLOAT32 || dtype == OX_FLOAT64 || dtype == OX_FLOAT16;
}

/* Whether c can be Gemm's third operand: it is not wider than y[M, N] in either axis. */
static bool fits(struct ox_rewrite *rw, const struct ox_value *c, const struct ox_value *y)
{
    int rank = ox_rank_of(rw, c);
    if (rank < 0 || rank > 2)
        return false;
    for (int axis = 1; axis <= rank; axis++) {
        const struct ox_expr *dim = ox_dim_expr(rw, c, -axis);
        int64_t one;
        if (!dim || (dim != ox_dim_expr(rw, y, -axis) && !(ox_expr_is_int(dim, &one) && one == 1)))
            return false;
    }
    return true;
}

static void take_product(struct ox_rewrite *rw, struct ox_node *add)
{
    for (size_t i = 0; i < 2 && add->n_inputs == 2; i++) {
        struct ox_value *product = add->inputs[i], *c = add->inputs[1 - i];
        struct ox_node *matmul = ox_made_by(rw, product, "MatMul", true);
        if (!matmul || !c || c == product || ox_node_opset(add) < 7 || matmul->n_inputs != 2 ||
            !is_float(ox_dtype_of_value(rw, product)) || ox_rank_of(rw, ox_input(matmul, 0)) != 2 ||
            ox_rank_of(rw, ox_input(matmul, 1)) != 2 || !fits(rw, c, product))
            continue;
        struct ox_value *in[] = {matmul->inputs[0], matmul->inputs[1], c};
        ox_rw_become(rw, add, "Gemm", "", in, 3);
        add->name = matmul->name;
        ox_rw_remove(rw, matmul);
        return;
    }
}

static void take_transpose(struct ox_rewrite *rw, struct ox_node *gemm, size_t i, const char *name)
{
    const struct ox_node *turn = ox_made_by(rw, ox_input(gemm, i), "Transpose", true);
    if (!turn || !ox_input(turn, 0) || ox_rank_of(rw, turn->inputs[0]) != 2)
        return;
    bool turned;
    if (!ox_orders_matrix(turn, &turned) || !turned)
        return;
    ox_rw_set_input(rw, gemm, i, turn->inputs[0]);
    rw->failed |= !ox_node_set_int(gemm, name, !ox_attr_int(gemm, name, 0));
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (ox_is_op(node, "Add"))
        take_product(rw, node);
    if (ox_is_op(node, "Gemm")) {
        take_transpose(rw, node, 0, "transA");
        take_transpose(rw, node, 1, "transB");
    }
}

enum ox_status ox_pass_merge_gemm(struct ox_rewrite *rw, struct ox_graph *graph,
                                  struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
