/* Changes of a node beyond an attribute's value: it becomes the last of a few nodes that compute what another convention has. */
#include <string.h>

#include "parity/expected.h"

static struct ox_node *add(struct ox_node *at, const char *op_type, struct ox_value *const *inputs,
                           size_t n_inputs)
{
    struct ox_graph *graph = at->graph;
    struct ox_value *out = ox_graph_add_value(graph, NULL);
    return out ? ox_graph_add_node(graph, op_type, "", "", inputs, n_inputs, &out, 1) : NULL;
}

static struct ox_value *made(const struct ox_node *node)
{
    return node ? node->outputs[0] : NULL;
}

/* The node itself takes the last step. */
static bool become(struct ox_node *node, const char *op_type, struct ox_value *a,
                   struct ox_value *b)
{
    struct ox_value **inputs = ox_arena_array(&node->graph->model->arena, 2, sizeof *inputs);
    if (!inputs || !a)
        return false;
    inputs[0] = a;
    inputs[1] = b;
    node->op_type = op_type;
    node->domain = "";
    node->inputs = inputs;
    node->n_inputs = b ? 2 : 1;
    node->n_attrs = 0;
    return true;
}

static struct ox_value *binary(struct ox_node *at, const char *op_type, struct ox_value *a,
                               struct ox_value *b)
{
    struct ox_value *inputs[2] = {a, b};
    return a && b ? made(add(at, op_type, inputs, 2)) : NULL;
}

/* ---- Softmax ------------------------------------------------------------------------------------------------------- */

/* As before opset 13: over the axis and all behind it. */
static bool flatten(struct ox_node *node, int64_t axis)
{
    struct ox_value *x = node->inputs[0], *shape = made(add(node, "Shape", &x, 1));
    struct ox_node *flat = add(node, "Flatten", &x, 1);
    if (!shape || !flat || !ox_node_set_int(flat, "axis", axis))
        return false;
    struct ox_value *in = made(flat);
    struct ox_node *softmax = add(node, node->op_type, &in, 1);
    return softmax && ox_node_set_int(softmax, "axis", -1) &&
           become(node, "Reshape", made(softmax), shape);
}

static struct ox_value *reduce(struct ox_node *at, const char *op_type, struct ox_value *x,
                               int64_t axis)
{
    struct ox_node *node = x ? add(at, op_type, &x, 1) : NULL;
    const bool good =
        node && ox_node_set_ints(node, "axes", &axis, 1) && ox_node_set_int(node, "keepdims", 1);
    return good ? made(node) : NULL;
}

/* As since opset 13: along the axis alone. */
static bool single_axis(struct ox_node *node, int64_t axis)
{
    const bool is_log = strcmp(node->op_type, "LogSoftmax") == 0;
    struct ox_value *x = node->inputs[0];
    struct ox_value *less = binary(node, "Sub", x, reduce(node, "ReduceMax", x, axis));
    struct ox_value *powers = less ? made(add(node, "Exp", &less, 1)) : NULL;
    struct ox_value *sum = reduce(node, "ReduceSum", powers, axis);
    if (!sum)
        return false;
    return is_log ? become(node, "Sub", less, made(add(node, "Log", &sum, 1)))
                  : become(node, "Div", powers, sum);
}

enum ox_status ox_change_softmax(struct ox_node *node, bool *changed, struct ox_error *err)
{
    const bool newer = ox_graph_opset(node->graph, "") >= 13;
    const struct ox_attr *attr = ox_node_attr(node, "axis");
    const int64_t axis = attr ? attr->i : newer ? -1 : 1;
    *changed = node->n_inputs == 1 && node->inputs[0] && axis != -1 && !*node->domain;
    if (!*changed)
        return OX_OK;
    return (newer ? flatten(node, axis) : single_axis(node, axis)) ? OX_OK : ox_no_memory(err);
}

/* ---- Gelu ---------------------------------------------------------------------------------------------------------- */

enum ox_status ox_change_gelu(struct ox_node *node, bool *changed, struct ox_error *err)
{
    (void)err;
    *changed = strcmp(node->domain, "com.microsoft") == 0 && node->n_inputs == 1;
    if (*changed)
        node->op_type = strcmp(node->op_type, "Gelu") == 0 ? "FastGelu" : "Gelu";
    return OX_OK;
}

static struct ox_value *constant(struct ox_node *at, enum ox_dtype dtype, double value)
{
    struct ox_env *env = at->graph->model->env;
    struct ox_tensor *wide = NULL, *narrow = NULL;
    struct ox_node *node = NULL;
    if (ox_tensor_new(&wide, ox_env_budget(env), OX_FLOAT64, 0, NULL, NULL) != OX_OK)
        return NULL;
    *(double *)wide->data = value;
    if (ox_tensor_convert(&narrow, ox_env_budget(env), wide, dtype, false, NULL) == OX_OK) {
        node = add(at, "Constant", NULL, 0);
        if (node && !ox_node_set_tensor(node, "value", narrow))
            node = NULL;
    }
    ox_tensor_release(wide);
    ox_tensor_release(narrow);
    return made(node);
}

/* erf(u) of Gelu's u = x / sqrt(2) is, in the other form, tanh(sqrt(2 / pi) (x + 0.044715 x^3)). */
enum ox_status ox_change_erf(struct ox_node *node, bool *changed, struct ox_error *err)
{
    static const double LINEAR = 1.1283791670955126, CUBIC = 0.10091095435477;
    struct ox_value *u = node->n_inputs == 1 ? node->inputs[0] : NULL;
    *changed = u != NULL;
    if (!u)
        return OX_OK;
    const enum ox_dtype dtype =
        u->type && ox_dtype_is_float(u->type->elem) ? u->type->elem : OX_FLOAT32;
    struct ox_value *square = binary(node, "Mul", u, u);
    struct ox_value *cubic = binary(node, "Mul", square, constant(node, dtype, CUBIC));
    struct ox_value *factor = binary(node, "Add", cubic, constant(node, dtype, LINEAR));
    return become(node, "Tanh", binary(node, "Mul", u, factor), NULL) ? OX_OK : ox_no_memory(err);
}

/* ---- Padding ------------------------------------------------------------------------------------------------------- */

enum { MOST_PADS = 2 * OX_AXIS_RANK };

static bool slides(const struct ox_node *node)
{
    static const char *const ops[] = {"Conv", "MaxPool", "AveragePool"};
    for (size_t i = 0; i < OX_COUNT(ops); i++)
        if (strcmp(node->op_type, ops[i]) == 0)
            return true;
    return false;
}

static const struct ox_attr *ints_of(const struct ox_node *node, const char *name)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    return attr && attr->type == OX_ATTR_INTS && !attr->ref ? attr : NULL;
}

enum ox_status ox_change_pads(struct ox_node *node, bool *changed, struct ox_error *err)
{
    const struct ox_attr *pads = ints_of(node, "pads");
    int64_t turned[MOST_PADS];
    *changed = false;
    if (!slides(node) || !pads || pads->n > MOST_PADS || pads->n % 2)
        return OX_OK;
    for (size_t i = 0; i < pads->n; i++) {
        turned[i] = pads->ints[(i + pads->n / 2) % pads->n];
        *changed = *changed || turned[i] != pads->ints[i];
    }
    return !*changed || ox_node_set_ints(node, "pads", turned, pads->n) ? OX_OK : ox_no_memory(err);
}

/* Pads that are given, of windows that leave some places out, become those that keep the size divided by the stride: exporters
 * of one framework divide them evenly, others put more at the end. */
static enum ox_status pad_same(struct ox_node *node, const char *to, bool *changed,
                               struct ox_error *err)
{
    const struct ox_attr *pads = ints_of(node, "pads"), *strides = ints_of(node, "strides");
    const struct ox_attr *is = ox_node_attr(node, "auto_pad");
    bool padded = false, strided = false;
    *changed = false;
    if (!slides(node))
        return OX_OK;
    for (size_t i = 0; pads && i < pads->n; i++)
        padded = padded || pads->ints[i] > 0;
    for (size_t i = 0; strides && i < strides->n; i++)
        strided = strided || strides->ints[i] > 1;
    if (is && is->type == OX_ATTR_STRING && is->n && strncmp(is->s.p, "SAME_", 5) == 0)
        *changed = strcmp(is->s.p, to) != 0;
    else
        *changed = padded && strided;
    if (!*changed)
        return OX_OK;
    ox_node_drop_attr(node, "pads");
    return ox_node_set_string(node, "auto_pad", to) ? OX_OK : ox_no_memory(err);
}

enum ox_status ox_change_same_upper(struct ox_node *node, bool *changed, struct ox_error *err)
{
    return pad_same(node, "SAME_UPPER", changed, err);
}

enum ox_status ox_change_same_lower(struct ox_node *node, bool *changed, struct ox_error *err)
{
    return pad_same(node, "SAME_LOWER", changed, err);
}
