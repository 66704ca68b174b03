/* Activations: their parameters, and the spellings of exporters that had no operator for them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/match.h"
#include "ops/fused/fused.h"

static bool clip_bounds(struct ox_rewrite *rw, const struct ox_node *node, float *lo, float *hi)
{
    double bound;
    *lo = -FLT_MAX; /* infinities are clipped to these too */
    *hi = FLT_MAX;
    if (ox_node_opset(node) < 11) {
        *lo = ox_attr_float(node, "min", *lo);
        *hi = ox_attr_float(node, "max", *hi);
        return true;
    }
    for (size_t i = 1; i <= 2; i++) {
        if (!ox_input(node, i))
            continue;
        if (!ox_const_scalar(rw, node->inputs[i], &bound))
            return false;
        *(i == 1 ? lo : hi) = (float)bound;
    }
    return true;
}

bool ox_activation_of(struct ox_rewrite *rw, const struct ox_node *node, const char **name,
                      float *a, float *b)
{
    *a = *b = 0;
    if (!ox_input(node, 0))
        return false;
    if (ox_is_domain_op(node, OX_OWN_DOMAIN, "Activation")) {
        *name = ox_attr_string(node, "activation", "");
        *a = ox_attr_float(node, "alpha", 0);
        *b = ox_attr_float(node, "beta", 0);
        return ox_fused_has(*name);
    }
    *name = node->op_type;
    if (node->domain[0] || !ox_fused_has(node->op_type) ||
        ox_dtype_of_value(rw, node->inputs[0]) != OX_FLOAT32)
        return false;
    if (ox_is_op(node, "Clip"))
        return clip_bounds(rw, node, a, b);
    if (ox_is_op(node, "Gelu")) {
        const char *way = ox_attr_string(node, "approximate", "none");
        const bool is_tanh = strcmp(way, "tanh") == 0;
        *name = is_tanh ? "GeluTanh" : "Gelu";
        return is_tanh || strcmp(way, "none") == 0;
    }
    *a = ox_attr_float(node, "alpha", 1); /* of HardSigmoid, Elu, LeakyRelu, Swish */
    *b = ox_attr_float(node, "beta", 0);
    if (ox_is_op(node, "Relu"))
        *a = 0;
    return true;
}

/* ---- Spellings -------------------------------------------------------------------------------------------------- */

/* `node` (whose output is what x becomes in the end) is the activation of x. */
static void become(struct ox_rewrite *rw, struct ox_node *node, struct ox_value *x,
                   const char *name, float a, float b)
{
    ox_rw_clear_attrs(rw, node);
    ox_rw_become(rw, node, "Activation", OX_OWN_DOMAIN, &x, 1);
    rw->failed |= !ox_node_set_string(node, "activation", name) ||
                  !ox_node_set_float(node, "alpha", a) || !ox_node_set_float(node, "beta", b);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

/* clip(x + 3, 0, 6), as which the relatives of MobileNet spell it. */
static bool is_relu6_of_3(struct ox_rewrite *rw, const struct ox_value *value, struct ox_value **x)
{
    float lo, hi;
    const struct ox_node *clip = ox_made_by(rw, value, "Clip", true);
    if (!clip || !clip_bounds(rw, clip, &lo, &hi) || !near(lo, 0) || !near(hi, 6))
        return false;
    const struct ox_node *add = ox_made_by(rw, ox_input(clip, 0), "Add", true);
    for (size_t k = 0; add && k < 2; k++) {
        if (ox_const_is(rw, add->inputs[1 - k], 3)) {
            *x = add->inputs[k];
            return true;
        }
    }
    return false;
}

/* clip(x / 6 + 1 / 2, 0, 1), by the standard's operator or ours. */
static bool is_hard_gate(struct ox_rewrite *rw, const struct ox_value *gate,
                         const struct ox_value *x)
{
    const struct ox_node *node = gate->producer;
    const char *name;
    float a, b;
    return node && node->graph == rw->graph && !ox_rw_gone(rw, node) &&
           ox_activation_of(rw, node, &name, &a, &b) && strcmp(name, "HardSigmoid") == 0 &&
           node->inputs[0] == x && near(a, 1.0 / 6) && near(b, 0.5);
}

/* x times something that is made of x. */
static bool spelled_product(struct ox_rewrite *rw, struct ox_node *mul)
{
    for (size_t k = 0; k < 2; k++) {
        struct ox_value *x = mul->inputs[k], *of;
        const struct ox_value *gate = mul->inputs[1 - k];
        if (!x || !gate || x == gate)
            continue;
        const struct ox_node *node = ox_made_by(rw, gate, "Sigmoid", true);
        if (node && node->inputs[0] == x) {
            become(rw, mul, x, "Swish", 1, 0);
            return true;
        }
        if (is_hard_gate(rw, gate, x)) {
            become(rw, mul, x, "HardSwish", 0, 0);
            return true;
        }
        node = ox_made_by(rw, gate, "Tanh", true);
        node = node ? ox_made_by(rw, node->inputs[0], "Softplus", true) : NULL;
        if (node && node->inputs[0] == x) {
            become(rw, mul, x, "Mish", 0, 0);
            return true;
        }
        node = ox_made_by(rw, gate, "Div", true);
        if (node && ox_const_is(rw, node->inputs[1], 6) &&
            is_relu6_of_3(rw, node->inputs[0], &of) && of == x) {
            become(rw, mul, x, "HardSwish", 0, 0);
            return true;
        }
        node = ox_made_by(rw, gate, "Mul", true);
        for (size_t m = 0; node && m < 2; m++) {
            if (ox_const_is(rw, node->inputs[m], 1.0 / 6) &&
                is_relu6_of_3(rw, node->inputs[1 - m], &of) && of == x) {
                become(rw, mul, x, "HardSwish", 0, 0);
                return true;
            }
        }
    }
    return false;
}

/* clip(x + 3, 0, 6) / 6, and with *mul x clip(x + 3, 0, 6) / 6. */
static bool is_sixth(struct ox_rewrite *rw, const struct ox_node *node, struct ox_value **x,
                     struct ox_node **mul)
{
    struct ox_value *value = ox_input(node, 0);
    bool by = ox_is_op(node, "Mul");
    *mul = NULL;
    if (by && value && !ox_const_is(rw, node->inputs[1], 1.0 / 6))
        value = ox_const_is(rw, value, 1.0 / 6) ? node->inputs[1] : NULL;
    if (!value || (!by && !ox_const_is(rw, node->inputs[1], 6)))
        return false;
    if (is_relu6_of_3(rw, value, x) && ox_dtype_of_value(rw, *x) == OX_FLOAT32)
        return true;
    *mul = ox_made_by(rw, value, "Mul", true);
    for (size_t k = 0; *mul && k < 2; k++) {
        if (is_relu6_of_3(rw, (*mul)->inputs[1 - k], x) && *x == (*mul)->inputs[k])
            return true;
    }
    return false;
}

static bool spelled_quotient(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *x;
    struct ox_node *mul;
    if (!is_sixth(rw, node, &x, &mul))
        return false;
    become(rw, node, x, mul ? "HardSwish" : "HardSigmoid", mul ? 0 : 1.0f / 6, mul ? 0 : 0.5f);
    return true;
}

static bool may_be_spelled(struct ox_rewrite *rw, const struct ox_node *node)
{
    return (ox_is_op(node, "Mul") || ox_is_op(node, "Div")) && node->n_inputs == 2 &&
           node->inputs[0] && node->inputs[1] && node->outputs[0] &&
           ox_dtype_of_value(rw, node->outputs[0]) == OX_FLOAT32;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (may_be_spelled(rw, node) && !spelled_quotient(rw, node) && ox_is_op(node, "Mul"))
        spelled_product(rw, node);
}

enum ox_status ox_pass_activations(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}

/* ---- By operators of the standard ------------------------------------------------------------------------------- */

static void name_gate(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *x;
    struct ox_node *mul;
    if (!may_be_spelled(rw, node) || !is_sixth(rw, node, &x, &mul))
        return;
    struct ox_node *gate = mul ? mul : node;
    ox_rw_clear_attrs(rw, gate);
    ox_rw_become(rw, gate, "HardSigmoid", "", &x, 1);
    rw->failed |=
        !ox_node_set_float(gate, "alpha", 1.0f / 6) || !ox_node_set_float(gate, "beta", 0.5f);
    if (mul)
        ox_rw_become(rw, node, "Mul", "", (struct ox_value *[]){x, mul->outputs[0]}, 2);
}

enum ox_status ox_pass_name_gates(struct ox_rewrite *rw, struct ox_graph *graph,
                                  struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, name_gate, err);
}
