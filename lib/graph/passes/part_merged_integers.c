/* Integer products with a float result: MatMulIntegerToFloat, DynamicQuantizeMatMul, and the projections of QAttention. */
#include "graph/passes/codes.h"
#include "graph/passes/part_merged.h"

/* An integer product: what MatMulInteger takes, the scales of both sides, what is added. */
struct product {
    struct ox_value *in[4], *scales[2], *bias;
};

static bool is_one(struct ox_rewrite *rw, const struct ox_value *value)
{
    const int rank = ox_rank_of(rw, value);
    return rank == 0 || (rank == 1 && ox_dim_of(rw, value, 0) == 1);
}

/* ... or one of each column of `matrix`. */
static bool is_of_columns(struct ox_rewrite *rw, const struct ox_value *value,
                          const struct ox_value *matrix)
{
    const int rank = ox_rank_of(rw, matrix);
    return is_one(rw, value) ||
           (rank >= 2 && ox_rank_of(rw, value) == 1 && ox_dim_of(rw, value, 0) > 0 &&
            ox_dim_of(rw, value, 0) == ox_dim_of(rw, matrix, rank - 1));
}

/* Whether the right side has what integer products take: one scale and zero point, or one a column. */
static bool has_weights(struct ox_rewrite *rw, const struct product *of)
{
    const struct ox_value *b = of->in[1], *scale = of->scales[1], *zero = of->in[3];
    return b && scale && ox_rank_of(rw, b) >= 1 && is_of_columns(rw, scale, b) &&
           (!zero || is_of_columns(rw, zero, b)) && (!of->bias || ox_rank_of(rw, of->bias) == 1);
}

/* ... and the left side codes with one zero point and scale. */
static bool is_served(struct ox_rewrite *rw, const struct product *of)
{
    return of->in[2] && of->scales[0] && is_one(rw, of->scales[0]) && is_one(rw, of->in[2]) &&
           has_weights(rw, of);
}

static struct ox_value *scaled(const struct ox_parts *p, const struct product *of,
                               const struct ox_type *type)
{
    struct ox_rewrite *rw = p->rw;
    const size_t larger = ox_rank_of(rw, of->scales[1]) == 0 ? 0 : 1;
    struct ox_value *by =
        ox_part_value(p, "Mul", of->scales, 2, ox_rw_type(rw, of->scales[larger]));
    struct ox_value *sums = ox_part_value(p, "MatMulInteger", of->in, of->in[3] ? 4 : 3, NULL);
    struct ox_node *cast = sums ? ox_part(p, "Cast", "", &sums, 1, type) : NULL;
    if (!cast || !by)
        return NULL;
    rw->failed |= !ox_node_set_int(cast, "to", OX_FLOAT32);
    struct ox_value *factors[] = {cast->outputs[0], by};
    struct ox_value *terms[] = {ox_part_value(p, "Mul", factors, 2, type), of->bias};
    return terms[0] && terms[1] ? ox_part_value(p, "Add", terms, 2, type) : terms[0];
}

void ox_part_integer_product(const struct ox_parts *p)
{
    enum { A, B, A_SCALE, B_SCALE, A_ZERO, B_ZERO, BIAS };
    const struct ox_node *node = p->node;
    const struct product of = {
        .in = {node->inputs[A], ox_input(node, B), ox_input(node, A_ZERO), ox_input(node, B_ZERO)},
        .scales = {ox_input(node, A_SCALE), ox_input(node, B_SCALE)},
        .bias = ox_input(node, BIAS)};
    if (is_served(p->rw, &of))
        ox_part_end(p, scaled(p, &of, p->type));
}

void ox_part_dynamic_product(const struct ox_parts *p)
{
    enum { A, B, B_SCALE, B_ZERO, BIAS, CODES = 0, SCALE, ZERO, MADE };
    struct ox_rewrite *rw = p->rw;
    const struct ox_node *node = p->node;
    struct ox_value *a = node->inputs[A], *made[MADE];
    struct product of = {.in = {a, ox_input(node, B), NULL, ox_input(node, B_ZERO)},
                         .scales = {NULL, ox_input(node, B_SCALE)},
                         .bias = ox_input(node, BIAS)};
    if (!has_weights(rw, &of))
        return;
    const struct ox_type *types[MADE] = {ox_codes_type(rw, a, OX_UINT8),
                                         ox_rw_tensor_type(rw, OX_FLOAT32, 0, NULL),
                                         ox_rw_tensor_type(rw, OX_UINT8, 0, NULL)};
    for (size_t i = 0; i < MADE; i++)
        if (!(made[i] = ox_rw_value(rw, a->name, types[i])))
            return;
    of.in[0] = made[CODES];
    of.in[2] = made[ZERO];
    of.scales[0] = made[SCALE];
    if (ox_rw_insert(rw, p->node, "DynamicQuantizeLinear", "", node->name, &a, 1, made, MADE))
        ox_part_end(p, scaled(p, &of, p->type));
}

/* ---- QAttention: attention over such products ---------------------------------------------------------------------- */

/* The three parts of the projected rows. false: out of memory. */
static bool split(const struct ox_parts *p, struct ox_value *rows, struct ox_value *thirds[3])
{
    enum { COUNTED = 18 /* from there on Split is told how many parts it makes */ };
    struct ox_rewrite *rw = p->rw;
    for (size_t i = 0; i < 3; i++)
        if (!(thirds[i] = ox_rw_value(rw, rows->name, p->type)))
            return false;
    struct ox_node *node =
        ox_rw_insert(rw, p->node, "Split", "", p->node->name, &rows, 1, thirds, 3);
    if (!node)
        return false;
    rw->failed |=
        !ox_node_set_int(node, "axis", -1) ||
        (ox_graph_opset(p->node->graph, "") >= COUNTED && !ox_node_set_int(node, "num_outputs", 3));
    return true;
}

void ox_part_integer_attention(const struct ox_parts *p)
{
    enum { X, WEIGHTS, BIAS, X_SCALE, W_SCALE, MASK, X_ZERO, W_ZERO, PAST };
    struct ox_rewrite *rw = p->rw;
    const struct ox_node *node = p->node;
    const struct product of = {.in = {node->inputs[X], ox_input(node, WEIGHTS),
                                      ox_input(node, X_ZERO), ox_input(node, W_ZERO)},
                               .scales = {ox_input(node, X_SCALE), ox_input(node, W_SCALE)},
                               .bias = ox_input(node, BIAS)};
    if (ox_input(node, PAST) || ox_attr_int(node, "do_rotary", 0) ||
        (node->n_outputs > 1 && node->outputs[1]) || ox_rank_of(rw, of.in[0]) != 3 ||
        !is_served(rw, &of) || ox_rank_of(rw, of.in[1]) != 2 || ox_dim_of(rw, of.in[1], 1) % 3)
        return;
    const struct ox_expr *dims[] = {ox_dim_expr(rw, of.in[0], 0), ox_dim_expr(rw, of.in[0], 1),
                                    ox_dim_expr(rw, of.in[1], 1)};
    struct ox_value *rows = scaled(p, &of, ox_rw_tensor_type(rw, OX_FLOAT32, 3, dims)), *thirds[3];
    if (!rows || !split(p, rows, thirds))
        return;
    struct ox_value *in[] = {thirds[0], thirds[1], thirds[2], NULL, ox_input(node, MASK)};
    const struct ox_node *heads =
        ox_part_alike(p, "MultiHeadAttention", "com.microsoft", in, in[4] ? 5 : 3, p->type);
    ox_part_end(p, heads ? heads->outputs[0] : NULL);
}
