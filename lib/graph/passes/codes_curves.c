/* A value that is a function of one 8-bit code, element by element, is looked up in a table of 256, whatever stands between: the
 * table is made by running those operators over all codes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/passes/codes.h"
#include "ops/evaluate.h"

/* What a value is of its source's codes: table->data[code]. */
struct curve {
    struct ox_value *source;
    struct ox_tensor *table;
    bool deep; /* more than codes as they are, or dequantized */
};

struct curves {
    struct ox_rewrite *rw;
    size_t n; /* values when the pass began */
    struct curve *of;
};

static bool is_pointwise(const struct ox_node *node)
{
    static const char *const names[] = {"Abs",
                                        "Add",
                                        "Ceil",
                                        "Celu",
                                        "Clip",
                                        "Cos",
                                        "Div",
                                        "Elu",
                                        "Erf",
                                        "Exp",
                                        "Floor",
                                        "Gelu",
                                        "HardSigmoid",
                                        "HardSwish",
                                        "LeakyRelu",
                                        "Log",
                                        "Max",
                                        "Min",
                                        "Mish",
                                        "Mul",
                                        "Neg",
                                        "PRelu",
                                        "Pow",
                                        "Relu",
                                        "Reciprocal",
                                        "Round",
                                        "Selu",
                                        "Sigmoid",
                                        "Sign",
                                        "Sin",
                                        "Softplus",
                                        "Softsign",
                                        "Sqrt",
                                        "Sub",
                                        "Swish",
                                        "Tanh",
                                        "ThresholdedRelu"};
    if (node->domain[0] || node->n_outputs != 1 || !node->outputs[0] || !node->n_inputs ||
        node->n_inputs > 4)
        return false;
    for (size_t i = 0; i < OX_COUNT(names); i++)
        if (strcmp(names[i], node->op_type) == 0)
            return true;
    return false;
}

static const struct curve *curve_of(const struct curves *c, const struct ox_value *value)
{
    return value && value->id < c->n && c->of[value->id].table ? &c->of[value->id] : NULL;
}

/* All codes of a type, in the order of their bits. */
static struct ox_tensor *all_codes(struct ox_rewrite *rw, enum ox_dtype dtype)
{
    const int64_t n = 256;
    struct ox_tensor *tensor;
    struct ox_error err;
    if (ox_tensor_new(&tensor, ox_env_budget(rw->env), dtype, 1, &n, &err) != OX_OK) {
        rw->failed = true;
        return NULL;
    }
    for (int i = 0; i < 256; i++)
        ((uint8_t *)tensor->data)[i] = (uint8_t)i;
    return tensor;
}

/* Runs the node over tables and constants; NULL: it cannot be. */
static struct ox_tensor *evaluate(struct ox_rewrite *rw, const struct ox_node *node,
                                  const struct ox_tensor *const *in)
{
    const int64_t opset = ox_node_opset(node);
    const struct ox_op *op = ox_rw_op(rw, node);
    const struct ox_schema *schema = ox_schema_find(node->domain, node->op_type, opset);
    struct ox_tensor *out = NULL;
    struct ox_error err;
    if (!op || !ox_can_evaluate(node, op, schema, in))
        return NULL;
    if (ox_evaluate(node, op, schema, opset, NULL, in, &rw->scratch, rw->env, &out, &err) != OX_OK)
        return NULL;
    if (out && out->n == 256)
        return out;
    ox_tensor_release(out);
    return NULL;
}

static bool is_narrow(enum ox_dtype dtype)
{
    return dtype == OX_UINT8 || dtype == OX_INT8;
}

/* Input 0 as codes: those that it is a table of already, or all of its type. */
static const struct curve *codes_at(struct curves *c, struct ox_value *value)
{
    const enum ox_dtype dtype = ox_dtype_of_value(c->rw, value);
    if (value->id >= c->n || !is_narrow(dtype) || ox_rw_stored(c->rw, value))
        return NULL;
    if (!c->of[value->id].table)
        c->of[value->id] = (struct curve){.source = value, .table = all_codes(c->rw, dtype)};
    return c->of[value->id].table ? &c->of[value->id] : NULL;
}

/* A constant of one element, that leaves the shape of the rest as it is; its rank is at most that of the source. */
static const struct ox_tensor *constant_of(struct ox_rewrite *rw, const struct ox_value *value,
                                           int rank)
{
    const struct ox_stored *stored = ox_rw_stored(rw, value);
    size_t n;
    if (!stored || !ox_dims_count(stored->rank, stored->dims, &n) || n != 1 ||
        (stored->rank && (int)stored->rank > rank))
        return NULL;
    return ox_rw_const(rw, value);
}

/* Numbers that a DequantizeLinear makes of a constant code, as such: onnxruntime's quantizer leaves them to operators of two inputs. */
static void take_numbers(struct ox_rewrite *rw, struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        struct ox_codes codes;
        double code;
        if (!ox_codes_of_one(rw, node->inputs[i], &codes) ||
            !ox_const_scalar(rw, codes.codes, &code))
            continue;
        const struct ox_stored *stored = ox_rw_stored(rw, codes.codes);
        const float number = (float)((int)code - codes.zero_is) * (float)codes.scale_is;
        struct ox_value *value =
            ox_rw_floats(rw, node->inputs[i]->name, stored->rank, stored->dims, &number);
        if (value)
            ox_rw_set_input(rw, node, i, value);
    }
}

static void draw(struct curves *c, struct ox_node *node)
{
    const struct ox_tensor *in[4] = {NULL};
    const struct curve *from = NULL;
    struct ox_value *out = node->n_outputs ? node->outputs[0] : NULL;
    struct ox_codes codes;
    const bool takes = ox_is_dequantize(node), makes = ox_is_quantize(node);
    if (!out || out->id >= c->n || !(takes || makes || is_pointwise(node)) || node->n_inputs > 4)
        return;
    if (takes && (!ox_codes_of_one(c->rw, out, &codes) || !codes_at(c, codes.codes)))
        return;
    if (makes && !ox_codes_made(c->rw, node, &codes))
        return;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct curve *curve = curve_of(c, node->inputs[i]);
        if (curve && (!from || from->source == curve->source))
            from = curve;
        else if (curve)
            return;
    }
    if (!from)
        return;
    if (!takes && !makes)
        take_numbers(c->rw, node);
    const int rank = ox_rank_of(c->rw, from->source);
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct curve *curve = curve_of(c, node->inputs[i]);
        if (!node->inputs[i])
            continue;
        in[i] = curve ? curve->table : constant_of(c->rw, node->inputs[i], rank);
        if (!in[i])
            return;
    }
    if (!takes && !makes && in[0]->dtype != OX_FLOAT32)
        return;
    struct ox_tensor *table = evaluate(c->rw, node, in);
    if (table)
        c->of[out->id] =
            (struct curve){.source = from->source, .table = table, .deep = !takes || from->deep};
}

/* Whether the value is looked up in a table of other codes, rather than being such codes itself. */
static bool is_drawn(const struct curves *c, const struct ox_value *value)
{
    const struct curve *curve = curve_of(c, value);
    return curve && curve->source != value;
}

/* Whether somebody needs the value as such, not only what is made of it element by element. */
static bool is_asked(const struct curves *c, const struct ox_value *value)
{
    if (ox_rw_is_pinned(c->rw, value))
        return true;
    for (const struct ox_use *use = ox_rw_uses(c->rw, value); use; use = use->next)
        if (!use->node->n_outputs || !is_drawn(c, use->node->outputs[0]))
            return true;
    return false;
}

/* ... or the floats that codes stand for: a DequantizeLinear stays, for those that take its codes. */
static bool is_needed(const struct curves *c, const struct ox_value *value)
{
    for (const struct ox_use *use = ox_rw_uses(c->rw, value); use; use = use->next)
        if (ox_is_dequantize(use->node) && is_asked(c, use->node->outputs[0]))
            return true;
    return is_asked(c, value);
}

/* Whether a table of floats is what codes of one scale stand for, as those divided by a power of two are; which. */
static bool is_straight(const struct ox_tensor *table, enum ox_dtype dtype, float *scale, int *zero)
{
    enum { CODES = 256 };
    const float *y = table->data;
    const int least = dtype == OX_INT8 ? -CODES / 2 : 0;
    for (*zero = least; y[(uint8_t)*zero] != 0; ++*zero)
        if (*zero == least + CODES - 1)
            return false;
    *scale = *zero == least ? y[(uint8_t)(*zero + 1)] : -y[(uint8_t)(*zero - 1)];
    for (int i = least; i < least + CODES; i++) {
        const float at = (float)(i - *zero) * *scale, stored = y[(uint8_t)i];
        if (at != stored || signbit(at) != signbit(stored))
            return false;
    }
    return isnormal(*scale);
}

/* Then DequantizeLinear, which opset 10 brought, does it. */
static bool straighten(struct curves *c, struct ox_node *node, const struct curve *curve)
{
    const enum ox_dtype dtype = ox_dtype_of_value(c->rw, curve->source);
    const char *name = node->outputs[0]->name;
    struct ox_tensor *tensor;
    struct ox_error err;
    float scale;
    int zero;
    if (curve->table->dtype != OX_FLOAT32 || ox_node_opset(node) < 10 ||
        !is_straight(curve->table, dtype, &scale, &zero))
        return false;
    if (ox_tensor_new(&tensor, ox_env_budget(c->rw->env), dtype, 0, NULL, &err) != OX_OK) {
        c->rw->failed = true;
        return true;
    }
    *(uint8_t *)tensor->data = (uint8_t)zero;
    struct ox_value *in[3] = {curve->source, ox_rw_floats(c->rw, name, 0, NULL, &scale),
                              ox_rw_constant(c->rw, name, tensor)};
    ox_tensor_release(tensor);
    if (!in[1] || !in[2])
        return true;
    ox_rw_clear_attrs(c->rw, node);
    ox_rw_become(c->rw, node, "DequantizeLinear", "", in, 3);
    return true;
}

static void tabulate(struct curves *c, struct ox_node *node)
{
    struct ox_value *out = node->n_outputs == 1 ? node->outputs[0] : NULL;
    const struct curve *curve = curve_of(c, out);
    if (!is_drawn(c, out) || !curve->deep || !is_needed(c, out) || ox_is_dequantize(node))
        return;
    if (straighten(c, node, curve))
        return;
    const int64_t n = 256;
    struct ox_tensor *flat;
    struct ox_error err;
    if (ox_tensor_view(&flat, curve->table, 1, &n, &err) != OX_OK) {
        c->rw->failed = true;
        return;
    }
    struct ox_value *in[2] = {curve->source, ox_rw_constant(c->rw, out->name, flat)};
    ox_tensor_release(flat);
    if (!in[1])
        return;
    ox_rw_clear_attrs(c->rw, node);
    ox_rw_become(c->rw, node, "Lookup", OX_OWN_DOMAIN, in, 2);
}

enum ox_status ox_pass_codes_curves(struct ox_rewrite *rw, struct ox_graph *graph,
                                    struct ox_error *err)
{
    const size_t n_nodes = graph->n_nodes;
    struct curves c = {.rw = rw,
                       .n = graph->n_values,
                       .of = ox_rw_scratch(rw, graph->n_values, sizeof(struct curve))};
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < n_nodes && !rw->failed && status == OX_OK; i++) {
        status = ox_env_poll(rw->env, err);
        draw(&c, graph->nodes[i]);
    }
    for (size_t i = 0; i < n_nodes && !rw->failed; i++)
        tabulate(&c, graph->nodes[i]);
    for (size_t i = 0; c.of && i < c.n; i++)
        ox_tensor_release(c.of[i].table);
    return status;
}
