/* Which nodes compute in 16-bit floats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/halver.h"
#include "graph/match.h"
#include "schema/schema.h"

enum {
    DIFFERENCE_DEPTH = 4 /* sums of sums that a root is taken of */
};

bool ox_halver_takes(const struct ox_halver *h, const struct ox_schema_param *param)
{
    return param && ox_param_takes(param, 't', h->options->dtype);
}

bool ox_halver_is_float(const struct ox_halver *h, const struct ox_value *value)
{
    return value && !value->outer && value->id < h->n_values && h->is_float[value->id];
}

/* ---- What may be half --------------------------------------------------------------------------------------------- */

/* Operators that make a type of their own, have subgraphs, or lose what they are for. */
static bool stays_float(const struct ox_node *node)
{
    static const char *const names[] = {"Cast",
                                        "CastLike",
                                        "Constant",
                                        "ConstantOfShape",
                                        "EyeLike",
                                        "RandomNormal",
                                        "RandomUniform",
                                        "QuantizeLinear",
                                        "DequantizeLinear",
                                        "DynamicQuantizeLinear",
                                        "CumSum",
                                        "Range",
                                        "Resize",
                                        "Upsample",
                                        "NonMaxSuppression",
                                        "Bernoulli",
                                        "Multinomial",
                                        "Gradient"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        if (strcmp(node->op_type, names[i]) == 0)
            return true;
    }
    return ox_node_has_graphs(node);
}

static bool can_be_half(const struct ox_halver *h, const struct ox_node *node)
{
    const struct ox_schema *schema = NULL;
    bool any = false;
    if (!stays_float(node) &&
        !ox_model_function(h->model, node->domain, node->op_type, node->overload))
        schema =
            ox_schema_find(node->domain, node->op_type, ox_graph_opset(h->graph, node->domain));
    for (size_t i = 0; schema && i < node->n_inputs + node->n_outputs; i++) {
        bool output = i >= node->n_inputs;
        const struct ox_value *value = output ? node->outputs[i - node->n_inputs] : node->inputs[i];
        const struct ox_schema_param *param =
            output ? ox_param_at(schema->outputs, schema->n_outputs, i - node->n_inputs)
                   : ox_param_at(schema->inputs, schema->n_inputs, i);
        if (!ox_halver_is_float(h, value))
            continue;
        if (!ox_halver_takes(h, param) || h->wide[value->id])
            return false;
        any = true;
    }
    return any;
}

/* The largest of a constant tells whether it fits. */
static enum ox_status look_at_weight(struct ox_halver *h, const struct ox_stored *stored,
                                     bool *fits)
{
    struct ox_tensor *tensor;
    *fits = true;
    if (h->options->dtype != OX_FLOAT16)
        return OX_OK;
    OX_TRY(ox_stored_load(h->model, stored, &tensor, h->err));
    const float *values = tensor->data;
    for (size_t i = 0; i < tensor->n && *fits; i++)
        *fits = !(fabsf(values[i]) > 65504.0f) || isinf(values[i]);
    ox_tensor_release(tensor);
    return OX_OK;
}

/* Whether nodes of each class may be in halves for all targets; NULL: out of memory. */
static bool *classes_taken(const struct ox_halver *h)
{
    const struct ox_target_survey *survey = h->survey;
    bool *taken = calloc(survey->n_classes + 1, sizeof *taken);
    for (size_t i = 0; taken && i < survey->n_classes; i++)
        taken[i] = ox_target_takes_half(h->options->targets, survey, &survey->classes[i],
                                        h->options->dtype);
    return taken;
}

/* Nodes that a target has no kernel for in halves stay in float. */
static enum ox_status ask_targets(struct ox_halver *h)
{
    const struct ox_target_survey *survey = h->survey;
    bool *taken = classes_taken(h);
    if (!taken)
        return ox_halver_no_room(h);
    for (size_t i = 0; i < survey->n_nodes; i++) {
        const struct ox_node *node = survey->nodes[i].node;
        if (node->graph != h->graph || !h->half_node[node->index])
            continue;
        h->half_node[node->index] =
            taken[survey->nodes[i].class] &&
            ox_target_runs_half(h->options->targets, node, h->options->dtype);
        h->report.n_refused += !h->half_node[node->index];
    }
    free(taken);
    return OX_OK;
}

/* ---- What halves only spoil ---------------------------------------------------------------------------------------- */

static bool decides(const struct ox_node *node)
{
    static const char *const names[] = {"ArgMax",         "ArgMin",      "Equal", "Greater",
                                        "GreaterOrEqual", "LessOrEqual", "Less",  "TopK"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        if (ox_is_op(node, names[i]))
            return true;
    }
    return false;
}

static bool is_made_in_half(const struct ox_halver *h, const struct ox_value *value)
{
    const struct ox_node *maker = value->producer;
    return maker && maker->index < h->n_nodes && h->half_node[maker->index];
}

static bool is_of(const struct ox_node *node, const char *op_type)
{
    return node && ox_is_op(node, op_type);
}

/* Sums of integers pass what a half can hold, and products of two scales are less than the least half. */
static bool is_quantized(const struct ox_value *value)
{
    const struct ox_node *maker = value->producer;
    const struct ox_value *from = maker && maker->n_inputs ? maker->inputs[0] : NULL;
    if (!from || is_of(maker, "DynamicQuantizeLinear"))
        return from != NULL;
    if (is_of(maker, "DequantizeLinear"))
        return !from->init;
    return is_of(maker, "Cast") &&
           (is_of(from->producer, "MatMulInteger") || is_of(from->producer, "ConvInteger"));
}

/* A decision on values that are there in float would only round them to ties. What computes on quantized values is computed in integers
 * where nothing stands between it and them. */
static void keep_in_float(struct ox_halver *h)
{
    for (size_t i = 0; i < h->n_nodes; i++) {
        const struct ox_node *node = h->graph->nodes[i];
        bool any_half = false, any_quantized = false;
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (!ox_halver_is_float(h, node->inputs[k]))
                continue;
            any_half |= is_made_in_half(h, node->inputs[k]);
            any_quantized |= is_quantized(node->inputs[k]);
        }
        if (any_quantized || (decides(node) && !any_half))
            h->half_node[i] = false;
    }
}

/* ---- Islands ------------------------------------------------------------------------------------------------------ */

/* Operators that only move elements: halves gain nothing there by themselves. */
static bool only_moves(const struct ox_node *node)
{
    static const char *const names[] = {"Reshape",
                                        "Transpose",
                                        "Squeeze",
                                        "Unsqueeze",
                                        "Flatten",
                                        "Identity",
                                        "Concat",
                                        "Split",
                                        "Slice",
                                        "Expand",
                                        "Tile",
                                        "Pad",
                                        "Where",
                                        "DepthToSpace",
                                        "Gather",
                                        "GatherElements",
                                        "GatherND",
                                        "Compress",
                                        "ScatterND",
                                        "SpaceToDepth",
                                        "Shape",
                                        "ScatterElements",
                                        "ReverseSequence",
                                        "Trilu",
                                        "Size",
                                        "NonZero",
                                        "IsNaN",
                                        "IsInf"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        if (strcmp(node->op_type, names[i]) == 0)
            return true;
    }
    return false;
}

static bool reads_weight(const struct ox_halver *h, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *value = node->inputs[i];
        if (ox_halver_is_float(h, value) && value->init && !value->is_input &&
            value->init->rank > 0)
            return true;
    }
    return false;
}

/* A float value that the node reads or makes, by place; NULL: another. */
static const struct ox_value *float_at(const struct ox_halver *h, const struct ox_node *node,
                                       size_t k)
{
    const struct ox_value *value =
        k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
    return ox_halver_is_float(h, value) ? value : NULL;
}

static bool touches(const struct ox_halver *h, const struct ox_node *node, const bool *near)
{
    for (size_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
        const struct ox_value *value = float_at(h, node, k);
        if (value && near[value->id])
            return true;
    }
    return false;
}

/* Whether something is near now that was not. */
static bool bring_near(const struct ox_halver *h, const struct ox_node *node, bool *near)
{
    bool more = false;
    for (size_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
        const struct ox_value *value = float_at(h, node, k);
        if (!value || near[value->id])
            continue;
        near[value->id] = true;
        more = true;
    }
    return more;
}

/* Near is what nodes in halves touch that do more than move, and from there on what those do that only move. Those that are near
 * nothing stay in float: casts around them would be all that they gain. */
static enum ox_status leave_islands(struct ox_halver *h)
{
    struct ox_node *const *nodes = h->graph->nodes;
    bool *near = calloc(h->n_values + 1, sizeof *near);
    if (!near)
        return ox_halver_no_room(h);
    for (size_t i = 0; i < h->n_nodes; i++) {
        if (h->half_node[i] && (!only_moves(nodes[i]) || reads_weight(h, nodes[i])))
            bring_near(h, nodes[i], near);
    }
    for (bool more = true; more;) { /* there and back: most ways are taken at once */
        more = false;
        for (size_t i = 0; i < 2 * h->n_nodes; i++) {
            const size_t at = i < h->n_nodes ? i : 2 * h->n_nodes - 1 - i;
            if (h->half_node[at] && touches(h, nodes[at], near))
                more |= bring_near(h, nodes[at], near);
        }
    }
    for (size_t i = 0; i < h->n_nodes; i++)
        h->half_node[i] &= touches(h, nodes[i], near);
    free(near);
    return OX_OK;
}

/* ---- Roots of differences ----------------------------------------------------------------------------------------- */

/* Whether what it makes may be a small difference of large values. */
static bool may_cancel(const struct ox_node *node)
{
    static const char *const names[] = {"Add", "Gemm", "MatMul", "Sub", "Sum"};
    for (size_t i = 0; node && i < OX_COUNT(names); i++) {
        if (ox_is_op(node, names[i]))
            return true;
    }
    return false;
}

/* The operand beside an epsilon; NULL: none of the two is a constant number. */
static const struct ox_value *beside_epsilon(const struct ox_node *node)
{
    for (size_t i = 0; ox_is_op(node, "Add") && node->n_inputs == 2 && i < 2; i++) {
        const struct ox_value *value = node->inputs[i];
        size_t n;
        if (value && value->init && ox_dims_count(value->init->rank, value->init->dims, &n) &&
            n == 1)
            return node->inputs[1 - i];
    }
    return NULL;
}

static void keep_exact(struct ox_halver *h, const struct ox_value *value, int depth)
{
    if (!ox_halver_is_float(h, value) || !depth)
        return;
    h->wide[value->id] = true;
    for (size_t i = 0; may_cancel(value->producer) && i < value->producer->n_inputs; i++)
        keep_exact(h, value->producer->inputs[i], depth - 1);
}

/* A distance by x^2 - 2xy + y^2 and a variance by E(x^2) - E(x)^2 round to less than 0 in halves, and their roots to NaN. */
static void keep_differences(struct ox_halver *h)
{
    for (size_t i = 0; i < h->n_nodes; i++) {
        const struct ox_node *node = h->graph->nodes[i];
        if (!ox_is_op(node, "Sqrt") || !ox_halver_is_float(h, node->inputs[0]))
            continue;
        const struct ox_value *value = node->inputs[0];
        const struct ox_value *other = value->producer ? beside_epsilon(value->producer) : NULL;
        if (may_cancel(other ? other->producer : value->producer))
            keep_exact(h, value, DIFFERENCE_DEPTH);
    }
}

/* ---- Looking ------------------------------------------------------------------------------------------------------ */

enum ox_status ox_halver_choose(struct ox_halver *h)
{
    struct ox_graph *graph = h->graph;
    for (size_t i = 0; i < h->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        const struct ox_type *type = ox_shapes_type(h->shapes, value);
        h->is_float[i] =
            type && type->kind == OX_TYPE_TENSOR && type->elem == OX_FLOAT32 && !value->sparse_init;
        if (value->init && value->init->dtype == OX_FLOAT32) {
            bool fits;
            OX_TRY(look_at_weight(h, value->init, &fits));
            h->wide[i] = !fits;
        }
    }
    for (size_t i = 0; i < h->options->n_wide; i++) {
        const struct ox_value *value = ox_graph_value(graph, h->options->wide[i]);
        if (value && value->id < h->n_values)
            h->wide[value->id] = true;
    }
    keep_differences(h);
    for (size_t i = 0; i < h->n_nodes; i++)
        h->half_node[i] = can_be_half(h, graph->nodes[i]);
    if (h->survey)
        OX_TRY(ask_targets(h));
    keep_in_float(h);
    OX_TRY(leave_islands(h));
    for (size_t i = 0; i < h->n_nodes; i++)
        h->report.n_half += h->half_node[i];
    return OX_OK;
}
