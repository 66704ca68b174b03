#include <math.h>
#include <string.h>

#include "ops/gradient.h"

/* What a rule works on: y's derivative by the node's output, the node's first inputs and its output. */
struct step {
    struct ox_tape *tape;
    const struct ox_node *node;
    const struct ox_tensor *grad, *a, *b, *out;
};

static const struct ox_tensor *one(const struct step *s, const char *op_type,
                                   const struct ox_tensor *a)
{
    return ox_tape_op(s->tape, op_type, 1, &a, NULL, 0);
}

static const struct ox_tensor *two(const struct step *s, const char *op_type,
                                   const struct ox_tensor *a, const struct ox_tensor *b)
{
    return ox_tape_op(s->tape, op_type, 2, (const struct ox_tensor *[]){a, b}, NULL, 0);
}

static const struct ox_tensor *mul(const struct step *s, const struct ox_tensor *a,
                                   const struct ox_tensor *b)
{
    return two(s, "Mul", a, b);
}

static const struct ox_tensor *number(const struct step *s, double value)
{
    return ox_tape_scalar(s->tape, s->grad->dtype, value);
}

static const struct ox_tensor *scale(const struct step *s, const struct ox_tensor *a, double by)
{
    return mul(s, a, number(s, by));
}

static const struct ox_tensor *reshape(const struct step *s, const struct ox_tensor *a,
                                       unsigned rank, const int64_t *dims)
{
    return two(s, "Reshape", a, ox_tape_ints(s->tape, rank, dims));
}

static int64_t int_attr(const struct step *s, const char *name, int64_t fallback)
{
    const struct ox_attr *attr = ox_node_attr(s->node, name);
    return attr && attr->type == OX_ATTR_INT ? attr->i : fallback;
}

static float float_attr(const struct step *s, const char *name, float fallback)
{
    const struct ox_attr *attr = ox_node_attr(s->node, name);
    return attr && attr->type == OX_ATTR_FLOAT ? attr->f : fallback;
}

/* Adds grad * by to the derivative by the first input. */
static void chain(const struct step *s, const struct ox_tensor *by)
{
    ox_tape_add(s->tape, s->node, 0, mul(s, s->grad, by));
}

/* ---- Elementwise -------------------------------------------------------------------------------------------------- */

static void of_add(const struct step *s)
{
    ox_tape_add(s->tape, s->node, 0, s->grad);
    ox_tape_add(s->tape, s->node, 1, s->grad);
}

static void of_sub(const struct step *s)
{
    ox_tape_add(s->tape, s->node, 0, s->grad);
    ox_tape_add(s->tape, s->node, 1, one(s, "Neg", s->grad));
}

static void of_mul(const struct step *s)
{
    ox_tape_add(s->tape, s->node, 0, mul(s, s->grad, s->b));
    ox_tape_add(s->tape, s->node, 1, mul(s, s->grad, s->a));
}

static void of_div(const struct step *s)
{
    const struct ox_tensor *by_a = two(s, "Div", s->grad, s->b);
    ox_tape_add(s->tape, s->node, 0, by_a);
    ox_tape_add(s->tape, s->node, 1, one(s, "Neg", mul(s, by_a, s->out)));
}

static void of_pow(const struct step *s)
{
    const struct ox_tensor *less = two(s, "Sub", s->b, ox_tape_scalar(s->tape, s->b->dtype, 1));
    const struct ox_tensor *exponent = s->b->dtype == s->grad->dtype ? s->b : NULL;
    if (!exponent) {
        struct ox_attr to = {
            .name = "to", .type = OX_ATTR_INT, .n = 1, .i = (int64_t)s->grad->dtype};
        exponent = ox_tape_op(s->tape, "Cast", 1, &s->b, &to, 1);
    }
    chain(s, mul(s, exponent, two(s, "Pow", s->a, less)));
    if (s->b->dtype == s->grad->dtype && s->tape->active[s->node->inputs[1]->id])
        ox_tape_add(s->tape, s->node, 1, mul(s, s->grad, mul(s, s->out, one(s, "Log", s->a))));
}

static void of_sum(const struct step *s)
{
    for (size_t i = 0; i < s->node->n_inputs; i++)
        ox_tape_add(s->tape, s->node, i, s->grad);
}

static void of_mean(const struct step *s)
{
    const struct ox_tensor *part = scale(s, s->grad, 1.0 / (double)s->node->n_inputs);
    for (size_t i = 0; i < s->node->n_inputs; i++)
        ox_tape_add(s->tape, s->node, i, part);
}

static void of_identity(const struct step *s)
{
    ox_tape_add(s->tape, s->node, 0, s->grad);
}

static void of_neg(const struct step *s)
{
    ox_tape_add(s->tape, s->node, 0, one(s, "Neg", s->grad));
}

static void of_abs(const struct step *s)
{
    chain(s, one(s, "Sign", s->a));
}

static void of_exp(const struct step *s)
{
    chain(s, s->out);
}

static void of_log(const struct step *s)
{
    ox_tape_add(s->tape, s->node, 0, two(s, "Div", s->grad, s->a));
}

static void of_sqrt(const struct step *s)
{
    ox_tape_add(s->tape, s->node, 0, two(s, "Div", scale(s, s->grad, 0.5), s->out));
}

static void of_reciprocal(const struct step *s)
{
    chain(s, one(s, "Neg", mul(s, s->out, s->out)));
}

static void of_sin(const struct step *s)
{
    chain(s, one(s, "Cos", s->a));
}

static void of_cos(const struct step *s)
{
    chain(s, one(s, "Neg", one(s, "Sin", s->a)));
}

static void of_tan(const struct step *s)
{
    chain(s, two(s, "Add", number(s, 1), mul(s, s->out, s->out)));
}

static void of_tanh(const struct step *s)
{
    chain(s, two(s, "Sub", number(s, 1), mul(s, s->out, s->out)));
}

static void of_sigmoid(const struct step *s)
{
    chain(s, mul(s, s->out, two(s, "Sub", number(s, 1), s->out)));
}

static void of_softplus(const struct step *s)
{
    chain(s, one(s, "Sigmoid", s->a));
}

static void of_relu(const struct step *s)
{
    chain(s, one(s, "Sign", s->out));
}

static void of_erf(const struct step *s)
{
    const double two_over_sqrt_pi = 1.12837916709551257390;
    const struct ox_tensor *bell = one(s, "Exp", one(s, "Neg", mul(s, s->a, s->a)));
    chain(s, scale(s, bell, two_over_sqrt_pi));
}

/* ---- Products ----------------------------------------------------------------------------------------------------- */

static const struct ox_tensor *swap_last(const struct step *s, const struct ox_tensor *a)
{
    int64_t perm[OX_MOST_RANK];
    for (unsigned d = 0; a && d < a->rank; d++)
        perm[d] = d;
    if (a) {
        perm[a->rank - 1] = a->rank - 2;
        perm[a->rank - 2] = a->rank - 1;
    }
    struct ox_attr attr = {
        .name = "perm", .type = OX_ATTR_INTS, .n = a ? a->rank : 0, .ints = perm};
    return ox_tape_op(s->tape, "Transpose", 1, &a, &attr, 1);
}

/* Vectors become matrices of one row (left) or column (right), as the product itself takes them. */
static void of_matmul(const struct step *s)
{
    const struct ox_tensor *a = s->a, *b = s->b, *g = s->grad;
    int64_t dims[OX_MOST_RANK + 2];
    unsigned rank = g->rank;
    memcpy(dims, g->dims, rank * sizeof *dims);
    if (b->rank == 1) {
        dims[rank++] = 1;
        b = reshape(s, b, 2, (const int64_t[]){b->dims[0], 1});
    }
    if (a->rank == 1) {
        dims[rank] = dims[rank - 1];
        if (rank == 0)
            dims[0] = 1;
        else
            dims[rank - 1] = 1;
        rank++;
        a = reshape(s, a, 2, (const int64_t[]){1, a->dims[0]});
    }
    g = reshape(s, g, rank, dims);
    const struct ox_tensor *by_a = two(s, "MatMul", g, swap_last(s, b));
    const struct ox_tensor *by_b = two(s, "MatMul", swap_last(s, a), g);
    if (s->a->rank == 1 && by_a && by_a->n == s->a->n)
        by_a = reshape(s, by_a, 1, s->a->dims);
    if (s->b->rank == 1 && by_b && by_b->n == s->b->n)
        by_b = reshape(s, by_b, 1, s->b->dims);
    ox_tape_add(s->tape, s->node, 0, by_a);
    ox_tape_add(s->tape, s->node, 1, by_b);
}

static const struct ox_tensor *gemm(const struct step *s, const struct ox_tensor *a, bool swap_a,
                                    const struct ox_tensor *b, bool swap_b)
{
    struct ox_attr attrs[] = {
        {.name = "alpha", .type = OX_ATTR_FLOAT, .n = 1, .f = float_attr(s, "alpha", 1)},
        {.name = "transA", .type = OX_ATTR_INT, .n = 1, .i = swap_a},
        {.name = "transB", .type = OX_ATTR_INT, .n = 1, .i = swap_b}};
    return ox_tape_op(s->tape, "Gemm", 2, (const struct ox_tensor *[]){a, b}, attrs, 3);
}

static void of_gemm(const struct step *s)
{
    bool swap_a = int_attr(s, "transA", 0) != 0, swap_b = int_attr(s, "transB", 0) != 0;
    ox_tape_add(s->tape, s->node, 0,
                swap_a ? gemm(s, s->b, swap_b, s->grad, true)
                       : gemm(s, s->grad, false, s->b, !swap_b));
    ox_tape_add(s->tape, s->node, 1,
                swap_b ? gemm(s, s->grad, true, s->a, swap_a)
                       : gemm(s, s->a, !swap_a, s->grad, false));
    if (s->node->n_inputs > 2)
        ox_tape_add(s->tape, s->node, 2, scale(s, s->grad, (double)float_attr(s, "beta", 1)));
}

/* ---- Shapes and sums ------------------------------------------------------------------------------------------------ */

static void of_reshape(const struct step *s)
{
    ox_tape_add(s->tape, s->node, 0, reshape(s, s->grad, s->a->rank, s->a->dims));
}

static void of_transpose(const struct step *s)
{
    const struct ox_attr *attr = ox_node_attr(s->node, "perm");
    int64_t back[OX_MOST_RANK];
    for (unsigned d = 0; d < s->a->rank; d++) {
        int64_t from = attr && d < attr->n ? attr->ints[d] : (int64_t)(s->a->rank - 1 - d);
        back[from] = d; /* the forward pass has checked the permutation */
    }
    struct ox_attr perm = {.name = "perm", .type = OX_ATTR_INTS, .n = s->a->rank, .ints = back};
    ox_tape_add(s->tape, s->node, 0, ox_tape_op(s->tape, "Transpose", 1, &s->grad, &perm, 1));
}

/* The derivative of a sum goes to all that was summed. */
static void spread(const struct step *s, double factor)
{
    const struct ox_attr *attr = ox_node_attr(s->node, "axes");
    const int64_t *axes = attr && attr->type == OX_ATTR_INTS ? attr->ints : NULL;
    size_t n = axes ? attr->n : 0;
    if (!axes && s->b) {
        axes = s->b->data;
        n = s->b->n;
    }
    bool none = n == 0 && int_attr(s, "noop_with_empty_axes", 0) != 0;
    int64_t kept[OX_MOST_RANK];
    for (unsigned d = 0; d < s->a->rank; d++)
        kept[d] = n == 0 && !none ? 1 : s->a->dims[d];
    for (size_t i = 0; i < n; i++)
        kept[axes[i] < 0 ? axes[i] + (int64_t)s->a->rank : axes[i]] = 1;
    const struct ox_tensor *wide = two(s, "Expand", reshape(s, s->grad, s->a->rank, kept),
                                       ox_tape_ints(s->tape, s->a->rank, s->a->dims));
    ox_tape_add(s->tape, s->node, 0, factor == 1 ? wide : scale(s, wide, factor));
}

static void of_reduce_sum(const struct step *s)
{
    spread(s, 1);
}

static void of_reduce_mean(const struct step *s)
{
    spread(s, s->a->n ? (double)s->out->n / (double)s->a->n : 1);
}

/* Of opset 13 on: along one axis. */
static void of_softmax(const struct step *s)
{
    struct ox_attr keep = {.name = "keepdims", .type = OX_ATTR_INT, .n = 1, .i = 1};
    int64_t axis = int_attr(s, "axis", -1);
    const struct ox_tensor *weighted = mul(s, s->grad, s->out);
    const struct ox_tensor *sum = ox_tape_op(
        s->tape, "ReduceSum", 2,
        (const struct ox_tensor *[]){weighted, ox_tape_ints(s->tape, 1, &axis)}, &keep, 1);
    ox_tape_add(s->tape, s->node, 0, two(s, "Sub", weighted, mul(s, s->out, sum)));
}

/* ---- All of them, sorted ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *op_type;
    unsigned n_in; /* inputs that the rule reads */
    int64_t since; /* of the first opset that the rule is right for */
    void (*rule)(const struct step *s);
} rules[] = {
    {"Abs", 1, 1, of_abs},
    {"Add", 2, 7, of_add},
    {"Cos", 1, 1, of_cos},
    {"Div", 2, 7, of_div},
    {"Erf", 1, 1, of_erf},
    {"Exp", 1, 1, of_exp},
    {"Flatten", 1, 1, of_reshape},
    {"Gemm", 2, 7, of_gemm},
    {"Identity", 1, 1, of_identity},
    {"Log", 1, 1, of_log},
    {"MatMul", 2, 1, of_matmul},
    {"Mean", 1, 8, of_mean},
    {"Mul", 2, 7, of_mul},
    {"Neg", 1, 1, of_neg},
    {"Pow", 2, 7, of_pow},
    {"Reciprocal", 1, 1, of_reciprocal},
    {"ReduceMean", 1, 1, of_reduce_mean},
    {"ReduceSum", 1, 1, of_reduce_sum},
    {"Relu", 1, 1, of_relu},
    {"Reshape", 1, 1, of_reshape},
    {"Sigmoid", 1, 1, of_sigmoid},
    {"Sin", 1, 1, of_sin},
    {"Softmax", 1, 13, of_softmax},
    {"Softplus", 1, 1, of_softplus},
    {"Sqrt", 1, 1, of_sqrt},
    {"Squeeze", 1, 1, of_reshape},
    {"Sub", 2, 7, of_sub},
    {"Sum", 1, 8, of_sum},
    {"Tan", 1, 1, of_tan},
    {"Tanh", 1, 1, of_tanh},
    {"Transpose", 1, 1, of_transpose},
    {"Unsqueeze", 1, 1, of_reshape},
};

enum ox_status ox_gradient_of(struct ox_tape *tape, const struct ox_node *node,
                              const struct ox_tensor *grad)
{
    int64_t opset = ox_graph_opset(tape->graph, node->domain);
    struct step s = {.tape = tape,
                     .node = node,
                     .grad = grad,
                     .a = ox_tape_in(tape, node, 0),
                     .b = ox_tape_in(tape, node, 1),
                     .out = tape->values[node->outputs[0]->id]};
    for (size_t i = 0; i < OX_COUNT(rules) && !node->domain[0]; i++) {
        if (strcmp(rules[i].op_type, node->op_type) != 0 || opset < rules[i].since || !s.a ||
            (rules[i].n_in > 1 && !s.b))
            continue;
        rules[i].rule(&s);
        return tape->status;
    }
    return ox_run_fail(tape->r, tape->err, OX_UNSUPPORTED, "no derivative of '%.64s' (opset %lld)",
                       node->op_type, (long long)opset);
}
