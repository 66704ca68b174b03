#include "quant/place.h"

#include <math.h>
#include <string.h>

#include "graph/match.h"
#include "quant/cancel.h"
#include "quant/place_own.h"

enum ox_status ox_place_begin(struct ox_place *place, struct ox_quant *q, struct ox_graph *graph,
                              const struct ox_calibration *calibration, struct ox_error *err)
{
    *place = (struct ox_place){.q = q, .calibration = calibration, .graph = graph};
    OX_TRY(ox_quant_find_uses(q, graph, &place->uses, err));
    place->n_marks = graph->n_values;
    place->n_nodes = graph->n_nodes;
    place->marks = ox_arena_array(&q->arena, graph->n_values + 1, sizeof *place->marks);
    place->gone = ox_arena_array(&q->arena, graph->n_nodes + 1, sizeof *place->gone);
    if (!place->marks || !place->gone)
        return ox_no_memory(err);
    return OX_OK;
}

/* In the model that is quantized; what is made of tables serves like any other value. */
static bool is_dequantized(const struct ox_place *place, const struct ox_node *producer)
{
    return producer && producer->index < place->n_nodes &&
           strcmp(producer->op_type, "DequantizeLinear") == 0;
}

bool ox_place_ort_moves(const struct ox_node *node)
{
    static const char *const moves[] = {"Reshape", "Squeeze", "Unsqueeze", "Transpose",
                                        "Slice",   "MaxPool", NULL};
    return ox_is_any_op(node, moves);
}

const struct ox_node *ox_place_moved_softmax(const struct ox_node *node)
{
    while (node && ox_place_ort_moves(node) && node->inputs[0])
        node = node->inputs[0]->producer;
    return node && ox_is_op(node, "Softmax") ? node : NULL;
}

bool ox_place_is_softmax_of_ones(const struct ox_place *place, const struct ox_value *value)
{
    const struct ox_node *softmax = ox_place_moved_softmax(value->producer);
    if (!softmax || place->q->options->compat_ort)
        return false;
    const struct ox_value *x = softmax->inputs[0];
    const bool flat = ox_graph_opset(place->graph, "") < 13; /* all axes from there on are one */
    const int64_t axis = ox_quant_int_attr(softmax, "axis", flat ? 1 : -1);
    const int rank = ox_quant_rank(place->q, x);
    const int64_t first = axis < 0 ? axis + rank : axis;
    bool ones = first >= 0 && first < rank;
    for (int64_t i = first; ones && i < (flat ? rank : first + 1); i++)
        ones = ox_quant_dim(place->q, x, (unsigned)i) == 1;
    return ones;
}

bool ox_place_can(const struct ox_place *place, const struct ox_value *value)
{
    enum ox_dtype dtype = value ? ox_quant_dtype(place->q, value) : OX_UNDEFINED;
    if (!ox_quant_is_float(dtype) || is_dequantized(place, value->producer) ||
        ox_place_is_softmax_of_ones(place, value))
        return false;
    /* QuantizeLinear takes float16 since opset 19. */
    return dtype == OX_FLOAT32 || place->q->options->compat_ort ||
           ox_graph_opset(place->graph, "") >= 19;
}

bool ox_place_constant(const struct ox_place *place, const struct ox_value *value)
{
    if (!value)
        return false;
    return place->q->options->compat_ort ? value->init && !value->producer
                                         : ox_value_stored(value) != NULL;
}

/* The output of a body that is the next turn's value of input i; NULL: it is none of the loop's state. */
static const struct ox_value *next_turn(const struct ox_graph *body, size_t i)
{
    const bool loop = ox_is_op(body->parent, "Loop");
    size_t n_states = body->n_inputs, at = i;
    if (loop) { /* number and condition go in, the condition comes out */
        if (i < 2)
            return NULL;
        at = i - 1;
    } else {
        const int64_t n_scanned = ox_quant_int_attr(body->parent, "num_scan_inputs", 0);
        n_states -= n_scanned > 0 && (size_t)n_scanned <= n_states ? (size_t)n_scanned : 0;
    }
    return i < n_states && at < body->n_outputs ? body->outputs[at] : NULL;
}

bool ox_place_handed_on(const struct ox_value *value)
{
    static const char *const parts[] = {"Identity", "Transpose", "Slice",     "Split",
                                        "Reshape",  "Squeeze",   "Unsqueeze", NULL};
    while (value->producer && ox_is_any_op(value->producer, parts) && value->producer->inputs[0])
        value = value->producer->inputs[0];
    const struct ox_graph *body = value->graph;
    const struct ox_node *parent = body->parent;
    if (!value->is_input || !parent || !(ox_is_op(parent, "Loop") || ox_is_op(parent, "Scan")))
        return false;
    for (size_t i = 0; i < body->n_inputs; i++) {
        if (body->inputs[i] != value)
            continue;
        const struct ox_value *next = next_turn(body, i);
        while (next && next->producer && ox_is_op(next->producer, "Identity"))
            next = next->producer->inputs[0];
        return next == value;
    }
    return false;
}

bool ox_place_has(const struct ox_place *place, const struct ox_value *value)
{
    return value && (place->marks[value->id].kind || place->marks[value->id].is_bias);
}

void ox_place_activation(struct ox_place *place, struct ox_value *value)
{
    if (!ox_place_can(place, value))
        return;
    struct ox_mark *mark = ox_place_mark(place, value);
    if (!mark->kind)
        *mark = (struct ox_mark){.kind = OX_MARK_ACTIVATION,
                                 .axis = -1,
                                 .is_bias = mark->is_bias,
                                 .has_range = mark->has_range,
                                 .range = mark->range};
}

void ox_place_same(struct ox_place *place, struct ox_value *output, struct ox_value *input)
{
    if (!ox_place_can(place, output) || output == input)
        return;
    struct ox_mark *mark = ox_place_mark(place, output);
    mark->kind = OX_MARK_ACTIVATION;
    mark->axis = -1;
    mark->share = input;
}

void ox_place_weight(struct ox_place *place, struct ox_value *value, int axis)
{
    if (!ox_place_can(place, value))
        return;
    struct ox_mark *mark = ox_place_mark(place, value);
    if (mark->kind && axis < 0)
        return;
    mark->kind = OX_MARK_WEIGHT;
    mark->axis = axis;
    mark->share = NULL;
}

int ox_place_axis(const struct ox_place *place, const struct ox_value *weight, int axis)
{
    const struct ox_stored *stored = ox_value_stored(weight);
    if (!place->q->options->per_channel || !stored)
        return -1;
    return axis < (int)stored->rank ? axis : -1;
}

enum ox_status ox_place_bias(struct ox_place *place, struct ox_node *node, size_t index, float beta,
                             struct ox_error *err)
{
    return ox_place_bias_of(place, node, node, index, beta, err);
}

enum ox_status ox_place_bias_of(struct ox_place *place, const struct ox_node *product,
                                struct ox_node *node, size_t index, float beta,
                                struct ox_error *err)
{
    struct ox_value *bias = index < node->n_inputs ? node->inputs[index] : NULL;
    const struct ox_stored *stored = ox_place_constant(place, bias) ? ox_value_stored(bias) : NULL;
    if (!stored || !ox_quant_is_float(stored->dtype))
        return OX_OK;
    if (place->n_biases == place->cap_biases) {
        size_t cap = place->cap_biases ? 2 * place->cap_biases : 32;
        struct ox_mark_bias *grown = ox_arena_array(&place->q->arena, cap, sizeof *grown);
        if (!grown)
            return ox_no_memory(err);
        if (place->n_biases)
            memcpy(grown, place->biases, place->n_biases * sizeof *grown);
        place->biases = grown;
        place->cap_biases = cap;
    }
    place->biases[place->n_biases++] = (struct ox_mark_bias){
        node, index, bias, product->inputs[0], product->inputs[1], beta, NULL};
    ox_place_mark(place, bias)->is_bias = true;
    return OX_OK;
}

bool ox_place_absorb(struct ox_place *place, struct ox_node *node)
{
    struct ox_value *in = node->inputs[0], *out = node->outputs[0];
    struct ox_node *producer = in->producer;
    /* A subgraph that captures the output, or what movers make of it, would read what is not clipped yet. */
    if (!producer || in->is_output || in->is_input || place->uses.captured[in->id] ||
        place->uses.captured[out->id] || ox_quant_is_before(place->before.body, out) ||
        ox_quant_n_uses(&place->uses, in) != 1 || !ox_place_mark(place, out)->has_range)
        return false;
    producer->outputs[in->output_index] = out;
    out->producer = producer;
    out->output_index = in->output_index;
    in->producer = NULL;
    in->removed = true;
    ox_place_mark(place, in)->kind = OX_MARK_NONE;
    place->gone[node->index] = true;
    return true;
}

/* ---- Ranges ------------------------------------------------------------------------------------------------------- */

struct ox_calibrated *ox_place_seen(const struct ox_quant *q,
                                    const struct ox_calibration *calibration,
                                    const struct ox_value *value)
{
    value = ox_value_origin(value);
    const char *scope = q->scopes[value->graph->id];
    if (!*scope)
        return ox_calibration_find(calibration, value->name);
    struct ox_strbuf key = {0};
    ox_strbuf_printf(&key, "%s%s", scope, value->name);
    struct ox_calibrated *seen =
        key.data && !key.failed ? ox_calibration_find(calibration, key.data) : NULL;
    ox_strbuf_release(&key);
    return seen;
}

void ox_place_range_of(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_quant_options *options = place->q->options;
    struct ox_calibrated *seen = ox_place_seen(place->q, place->calibration, value);
    struct ox_mark *mark = ox_place_mark(place, value);
    /* Empty in all samples: onnxruntime's quantizer takes scale 1. */
    if (seen && !seen->given && options->compat_ort && !seen->stats.n_values)
        mark->has_range = true;
    if (!seen || (!seen->given && !seen->stats.bins))
        return;
    int32_t least, most;
    ox_qtype_limits(options->activation_type, &least, &most);
    mark->has_range = true;
    if (seen->given)
        mark->range = (struct ox_qrange){seen->rmin, seen->rmax};
    else
        mark->range =
            ox_calibrated_range(seen, options->method, options, (unsigned)(most - least + 1));
}

/* Of values whose channels were evened out the extremes of the channels tell, each by its factor. */
static void range_of_equalized(struct ox_place *place, const struct ox_equalized *row)
{
    const struct ox_calibrated *seen = ox_calibration_find(place->calibration, row->name);
    const struct ox_value *value = ox_graph_value(place->graph, row->name);
    if (!value || !seen || seen->stats.n_channels != row->n)
        return;
    const float *channels = seen->stats.channels;
    struct ox_mark *mark = ox_place_mark(place, value);
    mark->has_range = true;
    mark->range = (struct ox_qrange){INFINITY, -INFINITY};
    for (size_t c = 0; c < row->n; c++) {
        mark->range.least = fminf(mark->range.least, channels[c] / row->factors[c]);
        mark->range.most = fmaxf(mark->range.most, channels[row->n + c] / row->factors[c]);
    }
}

/* Nobody else reads what is clipped: an output of the model, or what a body captures, is not. onnxruntime's quantizer looks at nodes
 * alone. */
static bool only_clipped(const struct ox_place *place, const struct ox_value *value)
{
    return ox_quant_n_uses(&place->uses, value) == 1 &&
           (place->q->options->compat_ort ||
            (!value->is_output && !place->uses.captured[value->id]));
}

void ox_place_ranges(struct ox_place *place)
{
    struct ox_graph *graph = place->graph;
    for (size_t i = 0; i < place->n_marks; i++)
        ox_place_range_of(place, graph->values[i]);
    for (const struct ox_equalized *row = place->equalized; row; row = row->next)
        range_of_equalized(place, row);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        if (*node->domain || !node->n_inputs || !node->inputs[0] || !node->n_outputs ||
            !node->outputs[0] || ox_quant_unwanted(place->q, node))
            continue;
        struct ox_mark *in = ox_place_mark(place, node->inputs[0]);
        struct ox_mark *out = ox_place_mark(place, node->outputs[0]);
        bool clips = strcmp(node->op_type, "Relu") == 0 || strcmp(node->op_type, "Clip") == 0;
        if (clips && only_clipped(place, node->inputs[0]) && in->has_range && out->has_range)
            in->range = out->range;
        if (strcmp(node->op_type, "Softmax") == 0 ||
            (!place->q->options->compat_ort && ox_place_moved_softmax(node))) {
            /* onnxruntime's QLinearSoftmax overflows at scales much under 1/256. See place_softmax.c for others. */
            out->has_range = true;
            out->range = (struct ox_qrange){0, 1};
        }
    }
}

enum ox_status ox_place_integers(struct ox_place *place, const struct ox_value *value,
                                 const struct ox_tensor *values, struct ox_tensor **out,
                                 struct ox_error *err)
{
    const struct ox_mark *mark = ox_place_mark(place, value);
    const struct ox_quant_uses *uses = &place->uses;
    int outputs = -1;
    if (place->cancelling && mark->kind == OX_MARK_WEIGHT && ox_quant_n_uses(uses, value)) {
        struct ox_quant_use use = uses->uses[uses->first[value->id]];
        outputs = use.index == 1 ? ox_cancel_axis(use.node, values->rank) : -1;
    }
    OX_TRY(ox_quantize_cancelling(out, ox_env_budget(place->q->model->env), values, &mark->params,
                                  outputs, NULL, err));
    if (ox_saturation_avoided(place->q->options))
        ox_saturation_settle(mark->sums, mark->n_sums, values, &mark->params, *out);
    return OX_OK;
}

const struct ox_mark *ox_place_sharing(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_mark *mark = ox_place_mark(place, value);
    for (size_t steps = 0; mark->share && steps < place->n_marks; steps++)
        mark = ox_place_mark(place, mark->share);
    return mark;
}

struct ox_qparam ox_place_pair(const struct ox_place *place, const struct ox_value *value,
                               struct ox_qrange range)
{
    const struct ox_quant_options *options = place->q->options;
    return ox_qparam_of_range(range.least, range.most, options->activation_type,
                              ox_quant_dtype(place->q, value), options->symmetric_activation, false,
                              options->compat_ort);
}

bool ox_place_only_feeds(const struct ox_place *place, const struct ox_value *value)
{
    return ox_quant_n_uses(&place->uses, value) == 1 && !value->is_output &&
           !place->uses.captured[value->id];
}

struct ox_node *ox_place_only_user(const struct ox_place *place, const struct ox_value *value)
{
    return ox_place_only_feeds(place, value) ? place->uses.uses[place->uses.first[value->id]].node
                                             : NULL;
}
