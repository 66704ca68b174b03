/* Computing in 16-bit floats: weights and values of the main graph become halves where operators take them and targets have kernels
 * for them, with casts where they do not. Each value keeps its name for its float32 form; its half is a new value. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/match.h"
#include "graph/target_survey.h"
#include "schema/param.h"
#include "schema/schema.h"

enum {
    WORTH_NARROWING = 1024, /* elements of a weight that is cast back for nodes in float */
    CAST_TAKES_NUMBER = 6,  /* before, `to` is a name */
    DIFFERENCE_DEPTH = 4    /* sums of sums that a root is taken of */
};

struct halver {
    struct ox_model *model;
    struct ox_graph *graph;
    const struct ox_half_options *options;
    struct ox_shapes *shapes;
    size_t n_values, n_nodes;        /* of the model as it was */
    bool *is_float;                  /* by value id: a float32 tensor */
    bool *wide;                      /* by value id: does not fit in a half */
    bool *half_node;                 /* by node index */
    struct ox_target_survey *survey; /* NULL: there are no targets */
    struct ox_value **half;          /* by value id: the value in half; NULL: not made */
    struct ox_half_report report;
    struct ox_error *err;
};

static enum ox_status no_room(const struct halver *h)
{
    return ox_fail(h->err, OX_NO_MEMORY, "%s: out of memory", h->model->path);
}

/* ---- What may be half --------------------------------------------------------------------------------------------- */

static bool takes_half(const struct halver *h, const struct ox_schema_param *param)
{
    return param && ox_param_takes(param, 't', h->options->dtype);
}

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

static bool is_float(const struct halver *h, const struct ox_value *value)
{
    return value && !value->outer && value->id < h->n_values && h->is_float[value->id];
}

static bool can_be_half(const struct halver *h, const struct ox_node *node)
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
        if (!is_float(h, value))
            continue;
        if (!takes_half(h, param) || h->wide[value->id])
            return false;
        any = true;
    }
    return any;
}

/* The largest of a constant tells whether it fits. */
static enum ox_status look_at_weight(struct halver *h, const struct ox_stored *stored, bool *fits)
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
static bool *classes_taken(const struct halver *h)
{
    const struct ox_target_survey *survey = h->survey;
    bool *taken = calloc(survey->n_classes + 1, sizeof *taken);
    for (size_t i = 0; taken && i < survey->n_classes; i++)
        taken[i] = ox_target_takes_half(h->options->targets, survey, &survey->classes[i],
                                        h->options->dtype);
    return taken;
}

/* Nodes that a target has no kernel for in halves stay in float. */
static enum ox_status ask_targets(struct halver *h)
{
    const struct ox_target_survey *survey = h->survey;
    bool *taken = classes_taken(h);
    if (!taken)
        return no_room(h);
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

static bool is_made_in_half(const struct halver *h, const struct ox_value *value)
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
static void keep_in_float(struct halver *h)
{
    for (size_t i = 0; i < h->n_nodes; i++) {
        const struct ox_node *node = h->graph->nodes[i];
        bool any_half = false, any_quantized = false;
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (!is_float(h, node->inputs[k]))
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

static bool reads_weight(const struct halver *h, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *value = node->inputs[i];
        if (is_float(h, value) && value->init && !value->is_input && value->init->rank > 0)
            return true;
    }
    return false;
}

/* A float value that the node reads or makes, by place; NULL: another. */
static const struct ox_value *float_at(const struct halver *h, const struct ox_node *node, size_t k)
{
    const struct ox_value *value =
        k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
    return is_float(h, value) ? value : NULL;
}

static bool touches(const struct halver *h, const struct ox_node *node, const bool *near)
{
    for (size_t k = 0; k < node->n_inputs + node->n_outputs; k++) {
        const struct ox_value *value = float_at(h, node, k);
        if (value && near[value->id])
            return true;
    }
    return false;
}

/* Whether something is near now that was not. */
static bool bring_near(const struct halver *h, const struct ox_node *node, bool *near)
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
static enum ox_status leave_islands(struct halver *h)
{
    struct ox_node *const *nodes = h->graph->nodes;
    bool *near = calloc(h->n_values + 1, sizeof *near);
    if (!near)
        return no_room(h);
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

static void keep_exact(struct halver *h, const struct ox_value *value, int depth)
{
    if (!is_float(h, value) || !depth)
        return;
    h->wide[value->id] = true;
    for (size_t i = 0; may_cancel(value->producer) && i < value->producer->n_inputs; i++)
        keep_exact(h, value->producer->inputs[i], depth - 1);
}

/* A distance by x^2 - 2xy + y^2 and a variance by E(x^2) - E(x)^2 round to less than 0 in halves, and their roots to NaN. */
static void keep_differences(struct halver *h)
{
    for (size_t i = 0; i < h->n_nodes; i++) {
        const struct ox_node *node = h->graph->nodes[i];
        if (!ox_is_op(node, "Sqrt") || !is_float(h, node->inputs[0]))
            continue;
        const struct ox_value *value = node->inputs[0];
        const struct ox_value *other = value->producer ? beside_epsilon(value->producer) : NULL;
        if (may_cancel(other ? other->producer : value->producer))
            keep_exact(h, value, DIFFERENCE_DEPTH);
    }
}

/* ---- Looking ------------------------------------------------------------------------------------------------------ */

static enum ox_status look(struct halver *h)
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

/* ---- Casts and weights -------------------------------------------------------------------------------------------- */

static struct ox_value *new_half(struct halver *h, const struct ox_value *value)
{
    struct ox_strbuf name;
    ox_strbuf_init(&name);
    ox_strbuf_printf(&name, "%s_%s", value->name,
                     h->options->dtype == OX_FLOAT16 ? "fp16" : "bf16");
    struct ox_value *made = name.failed ? NULL : ox_graph_add_value(h->graph, name.data);
    ox_strbuf_release(&name);
    return made;
}

static enum ox_status add_cast(struct halver *h, struct ox_value *from, struct ox_value *to,
                               enum ox_dtype dtype)
{
    struct ox_node *node = ox_graph_add_node(h->graph, "Cast", "", "", &from, 1, &to, 1);
    h->report.n_casts++;
    return node && ox_node_set_int(node, "to", dtype) ? OX_OK : no_room(h);
}

/* What keeps a divisor from being 0 must not become 0 itself: an epsilon is the least half. */
static void keep_epsilon(const struct ox_tensor *tensor, struct ox_tensor *narrow)
{
    const float *value = tensor->data;
    uint16_t *half = narrow->data;
    if (narrow->dtype == OX_FLOAT16 && tensor->n == 1 && *value != 0 && !(*half & 0x7fff))
        *half |= 1;
}

static enum ox_status half_weight(struct halver *h, const struct ox_stored *stored,
                                  struct ox_value *half)
{
    struct ox_tensor *tensor, *narrow;
    OX_TRY(ox_stored_load(h->model, stored, &tensor, h->err));
    enum ox_status status = ox_tensor_convert(&narrow, ox_env_budget(h->model->env), tensor,
                                              h->options->dtype, true, h->err);
    if (status == OX_OK)
        keep_epsilon(tensor, narrow);
    ox_tensor_release(tensor);
    if (status != OX_OK)
        return status;
    if (!ox_graph_add_init(h->graph, half, narrow))
        status = no_room(h);
    ox_tensor_release(narrow);
    h->report.n_weights++;
    return status;
}

/* The value in half; made once: a weight, what a node of halves makes, or by a cast. */
static enum ox_status want_half(struct halver *h, struct ox_value *value, struct ox_value **out)
{
    struct ox_value **slot = &h->half[value->id];
    if (!*slot) {
        *slot = new_half(h, value);
        if (!*slot)
            return no_room(h);
        if (value->init && !value->is_input)
            OX_TRY(half_weight(h, value->init, *slot));
        else if (!value->producer || value->producer->index >= h->n_nodes ||
                 !h->half_node[value->producer->index])
            OX_TRY(add_cast(h, value, *slot, h->options->dtype));
    }
    *out = *slot;
    return OX_OK;
}

/* ---- Rewriting ---------------------------------------------------------------------------------------------------- */

static enum ox_status rewrite_node(struct halver *h, struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        struct ox_value *half;
        if (!is_float(h, node->inputs[i]))
            continue;
        OX_TRY(want_half(h, node->inputs[i], &half));
        node->inputs[i] = half;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        struct ox_value *half, *value = node->outputs[i];
        if (!is_float(h, value))
            continue;
        OX_TRY(want_half(h, value, &half));
        node->outputs[i] = half;
        half->producer = node;
        half->output_index = (unsigned)i;
        value->producer = NULL;
        value->removed = true;
    }
    return OX_OK;
}

/* By id: float32 forms that are still used by nodes in float, graphs within, or as outputs. */
static bool *float_uses(const struct halver *h)
{
    const struct ox_model *model = h->model;
    bool *used = calloc(h->graph->n_values + 1, sizeof *used);
    for (size_t i = 0; used && i < h->graph->n_nodes; i++) {
        const struct ox_node *node = h->graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k])
                used[node->inputs[k]->id] = true;
        }
    }
    for (size_t i = 0; used && i < h->graph->n_outputs; i++)
        used[h->graph->outputs[i]->id] = true;
    for (size_t g = 0; used && g < model->n_graphs; g++) {
        const struct ox_graph *inner = model->graphs[g];
        for (size_t i = 0; i < inner->n_values && inner->scope == h->graph; i++) {
            if (inner->values[i]->outer)
                used[inner->values[i]->outer->id] = true;
        }
    }
    return used;
}

/* Weights of nodes that stay in float are kept in halves all the same, and cast: the file is what shrinks then. Scales and the like,
 * which are small, and those of quantized values, which must be exact, are not. */
static enum ox_status narrow_weights(struct halver *h, const bool *used)
{
    bool *exact = calloc(h->n_values + 1, sizeof *exact);
    enum ox_status status = exact ? OX_OK : no_room(h);
    for (size_t i = 0; exact && i < h->n_nodes; i++) {
        const struct ox_node *node = h->graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs && strstr(node->op_type, "Quantize"); k++) {
            if (is_float(h, node->inputs[k]))
                exact[node->inputs[k]->id] = true;
        }
    }
    for (size_t i = 0; i < h->n_values && status == OX_OK; i++) {
        struct ox_value *value = h->graph->values[i], *half;
        size_t n;
        if (!used[i] || !h->is_float[i] || h->wide[i] || exact[i] || !value->init ||
            value->is_input || value->is_output ||
            !ox_dims_count(value->init->rank, value->init->dims, &n) || n < WORTH_NARROWING)
            continue;
        status = want_half(h, value, &half);
        if (status == OX_OK)
            status = add_cast(h, half, value, OX_FLOAT32);
    }
    free(exact);
    return status;
}

/* Float32 forms that have become what a cast makes, or that nobody reads, leave the initializers. */
static enum ox_status drop_weights(struct halver *h, const bool *used)
{
    bool *drop = calloc(h->graph->n_inits + 1, sizeof *drop);
    if (!drop)
        return no_room(h);
    for (size_t i = 0; i < h->graph->n_inits; i++) {
        const struct ox_value *value = ox_graph_value(h->graph, h->graph->inits[i]->name);
        drop[i] = value && value->id < h->n_values && value->init == h->graph->inits[i] &&
                  h->half[value->id] && (!used[value->id] || value->producer) && !value->is_input;
    }
    ox_graph_remove_inits(h->graph, drop);
    free(drop);
    for (size_t i = 0; i < h->n_values; i++)
        h->graph->values[i]->removed &= !h->graph->values[i]->producer;
    return OX_OK;
}

static enum ox_status define_floats(struct halver *h)
{
    bool *used = float_uses(h);
    enum ox_status status = used ? narrow_weights(h, used) : no_room(h);
    for (size_t i = 0; i < h->n_values && status == OX_OK; i++) {
        struct ox_value *value = h->graph->values[i];
        if (!used[i] || !h->is_float[i] || !h->half[i] || value->producer || value->is_input ||
            value->init)
            continue;
        status = add_cast(h, h->half[i], value, OX_FLOAT32);
        value->removed = false;
    }
    if (status == OX_OK)
        status = drop_weights(h, used);
    free(used);
    return status;
}

static enum ox_status rewrite(struct halver *h)
{
    OX_TRY(look(h));
    for (size_t i = 0; i < h->n_nodes; i++) {
        if (h->half_node[i])
            OX_TRY(rewrite_node(h, h->graph->nodes[i]));
    }
    OX_TRY(define_floats(h));
    enum ox_status status = ox_graph_sort(h->graph, h->err);
    return status == OX_OK ? OX_OK : ox_fail_context(h->err, status, "%s", h->model->path);
}

/* Without casts there are no halves. */
static enum ox_status check_casts(const struct halver *h)
{
    const int64_t opset = ox_graph_opset(h->graph, "");
    const struct ox_schema *cast = opset ? ox_schema_find("", "Cast", opset) : NULL;
    const char *type = ox_dtype_name(h->options->dtype);
    if (opset && (!cast || cast->since < CAST_TAKES_NUMBER || !takes_half(h, &cast->inputs[0])))
        return ox_fail(h->err, OX_UNSUPPORTED,
                       "%s: opset %lld casts nothing to %s: convert it to 13 or newer first",
                       h->model->path, (long long)opset, type);
    if (opset && !ox_target_casts_half(h->options->targets, opset, h->options->dtype))
        return ox_fail(h->err, OX_UNSUPPORTED, "%s: a target has no casts to %s", h->model->path,
                       type);
    return OX_OK;
}

enum ox_status ox_to_half(struct ox_model *model, const struct ox_half_options *options,
                          struct ox_half_report *report, struct ox_error *err)
{
    struct halver h = {.model = model, .graph = model->graph, .options = options, .err = err};
    if (!model->graph)
        return ox_fail(err, OX_INPUT, "%s: it has no graph", model->path);
    if (options->dtype != OX_FLOAT16 && options->dtype != OX_BFLOAT16)
        return ox_fail(err, OX_USAGE, "%s is no 16-bit float", ox_dtype_name(options->dtype));
    OX_TRY(check_casts(&h));
    ox_model_free_inits(model);
    OX_TRY(ox_shapes_infer(&h.shapes, model, NULL, NULL, err));
    h.n_values = h.graph->n_values;
    h.n_nodes = h.graph->n_nodes;
    h.is_float = calloc(h.n_values + 1, sizeof *h.is_float);
    h.wide = calloc(h.n_values + 1, sizeof *h.wide);
    h.half_node = calloc(h.n_nodes + 1, sizeof *h.half_node);
    h.half = calloc(h.n_values + 1, sizeof(*h.half));
    enum ox_status status = h.is_float && h.wide && h.half_node && h.half ? OX_OK : no_room(&h);
    if (status == OX_OK && options->targets)
        status = ox_target_survey_new(&h.survey, model, h.shapes, NULL, err);
    if (status == OX_OK)
        status = rewrite(&h);
    ox_target_survey_release(h.survey);
    ox_shapes_release(h.shapes);
    free(h.is_float);
    free(h.wide);
    free(h.half_node);
    free(h.half);
    h.report.n_nodes = h.n_nodes;
    if (status == OX_OK && report)
        *report = h.report;
    return status;
}
