/* Gelu as exporters write it in parts, by erf, by tanh, or as x sigmoid(1.702 x), as one Activation. */
#include "graph/match.h"

struct activation {
    struct ox_value *x;
    const char *name;
    float alpha;
};

/* The value that a constant multiplies (Mul with it, Div by its inverse), when that constant is `factor`; NULL. */
static struct ox_value *times(struct ox_rewrite *rw, const struct ox_value *value, double factor)
{
    struct ox_node *mul = ox_made_by(rw, value, "Mul", false);
    struct ox_node *div = mul ? NULL : ox_made_by(rw, value, "Div", false);
    if (div)
        return ox_const_is(rw, div->inputs[1], 1 / factor) ? div->inputs[0] : NULL;
    for (size_t i = 0; mul && i < 2; i++) {
        if (ox_const_is(rw, mul->inputs[i], factor))
            return mul->inputs[1 - i];
    }
    return NULL;
}

/* The user of (1 + u) that ends x (1 + u) / 2 in any order; NULL. */
static struct ox_node *half_of_both(struct ox_rewrite *rw, const struct ox_value *one_and_u,
                                    const struct ox_value *x)
{
    struct ox_node *first = ox_used_by(rw, one_and_u, "Mul");
    if (!first)
        return NULL;
    struct ox_value *other = ox_other_input(first, one_and_u);
    if (other && other != x && times(rw, other, 0.5) == x)
        return first;
    struct ox_node *second = ox_used_by(rw, first->outputs[0], "Mul");
    if (other == x && !second) {
        second = ox_used_by(rw, first->outputs[0], "Div");
        return second && second->inputs[0] == first->outputs[0] &&
                       ox_const_is(rw, second->inputs[1], 2)
                   ? second
                   : NULL;
    }
    if (!second || !other)
        return NULL;
    struct ox_value *last = ox_other_input(second, first->outputs[0]);
    if ((other == x && ox_const_is(rw, last, 0.5)) || (last == x && ox_const_is(rw, other, 0.5)))
        return second;
    return NULL;
}

/* x when the value is x^3. */
static struct ox_value *cube_of(struct ox_rewrite *rw, const struct ox_value *value)
{
    struct ox_node *pow = ox_made_by(rw, value, "Pow", false);
    if (pow)
        return ox_const_is(rw, pow->inputs[1], 3) ? pow->inputs[0] : NULL;
    struct ox_node *mul = ox_made_by(rw, value, "Mul", false);
    for (size_t i = 0; mul && i < 2; i++) {
        struct ox_node *square = ox_made_by(rw, mul->inputs[i], "Mul", false);
        struct ox_value *x = mul->inputs[1 - i];
        if (square && square->inputs[0] == x && square->inputs[1] == x)
            return x;
        struct ox_node *power = ox_made_by(rw, mul->inputs[i], "Pow", false);
        if (power && power->inputs[0] == x && ox_const_is(rw, power->inputs[1], 2))
            return x;
    }
    return NULL;
}

/* x when the value is sqrt(2 / pi) (x + 0.044715 x^3). */
static struct ox_value *tanh_argument_of(struct ox_rewrite *rw, const struct ox_value *value)
{
    struct ox_value *sum = times(rw, value, 0.7978845608028654);
    struct ox_node *add = sum ? ox_made_by(rw, sum, "Add", false) : NULL;
    for (size_t i = 0; add && i < 2; i++) {
        struct ox_value *cube = times(rw, add->inputs[i], 0.044715);
        struct ox_value *x = add->inputs[1 - i];
        if (cube && cube_of(rw, cube) == x)
            return x;
        /* ((0.044715 x) x) x and the like, in two products */
        struct ox_node *mul = ox_made_by(rw, add->inputs[i], "Mul", false);
        for (size_t k = 0; mul && k < 2; k++) {
            struct ox_value *inner = times(rw, mul->inputs[k], 0.044715);
            struct ox_node *square = inner ? ox_made_by(rw, inner, "Mul", false) : NULL;
            if (mul->inputs[1 - k] == x && square && square->inputs[0] == x &&
                square->inputs[1] == x)
                return x;
        }
    }
    return NULL;
}

/* Gelu around an Erf or a Tanh. */
static struct ox_node *match_gelu(struct ox_rewrite *rw, const struct ox_node *node,
                                  struct activation *out)
{
    const bool by_erf = ox_is_op(node, "Erf");
    struct ox_node *add = ox_used_by(rw, node->outputs[0], "Add");
    if (!add || !ox_const_is(rw, ox_other_input(add, node->outputs[0]), 1))
        return NULL;
    out->x = by_erf ? times(rw, node->inputs[0], 0.70710678118654752)
                    : tanh_argument_of(rw, node->inputs[0]);
    out->name = by_erf ? "Gelu" : "GeluTanh";
    return out->x ? half_of_both(rw, add->outputs[0], out->x) : NULL;
}

/* x sigmoid(alpha x) */
static struct ox_node *match_quick(struct ox_rewrite *rw, const struct ox_node *node,
                                   struct activation *out)
{
    struct ox_node *scaled = ox_made_by(rw, node->inputs[0], "Mul", false);
    struct ox_node *mul = ox_used_by(rw, node->outputs[0], "Mul");
    struct ox_value *x = mul ? ox_other_input(mul, node->outputs[0]) : NULL;
    double factor;
    if (!x || !scaled || !ox_const_scalar(rw, ox_other_input(scaled, x), &factor))
        return NULL;
    *out = (struct activation){x, "Swish", (float)factor};
    return mul;
}

static const struct {
    const char *op_type;
    struct ox_node *(*match)(struct ox_rewrite *rw, const struct ox_node *node,
                             struct activation *out);
} matches[] = {{"Erf", match_gelu}, {"Tanh", match_gelu}, {"Sigmoid", match_quick}};

static void fuse(struct ox_rewrite *rw, struct ox_node *last, struct activation *found)
{
    ox_rw_become(rw, last, "Activation", OX_OWN_DOMAIN, &found->x, 1);
    ox_rw_clear_attrs(rw, last);
    rw->failed |= !ox_node_set_string(last, "activation", found->name) ||
                  !ox_node_set_float(last, "alpha", found->alpha);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_node *last = NULL;
    struct activation found = {.x = NULL};
    if (node->n_inputs == 0 || node->n_outputs != 1 ||
        ox_dtype_of_value(rw, node->inputs[0]) != OX_FLOAT32)
        return;
    for (size_t m = 0; m < OX_COUNT(matches) && !last; m++) {
        if (ox_is_op(node, matches[m].op_type))
            last = matches[m].match(rw, node, &found);
    }
    if (last && ox_same_shape(rw, found.x, last->outputs[0]))
        fuse(rw, last, &found);
}

enum ox_status ox_pass_fuse_gelu(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
