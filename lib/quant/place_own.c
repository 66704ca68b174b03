/* Where Q and DQ pay: at the inputs of products and convolutions, at the outputs of convolutions, and through what lies between
 * where that costs no accuracy. */
#include <string.h>

#include "graph/match.h"
#include "quant/place.h"
#include "quant/row_table.h"

static const char *const heavy[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", NULL};
/* Their output holds elements of their input and nothing else. */
static const char *const movers[] = {
    "Reshape", "Flatten", "Squeeze", "Unsqueeze",    "Transpose",    "Slice",    "MaxPool",
    "Gather",  "Split",   "Expand",  "DepthToSpace", "SpaceToDepth", "Identity", NULL};
/* Runtimes have them on integers. */
static const char *const mixers[] = {
    "Add",       "Mul",    "Concat",  "AveragePool", "GlobalAveragePool",
    "LeakyRelu", "Resize", "Sigmoid", NULL};
static const char *const clippers[] = {"Relu", "Clip", NULL};
/* onnxruntime makes one float operator of Gemm and one of them. */
static const char *const joined[] = {"Relu",     "Sigmoid",         "Tanh", "LeakyRelu",
                                     "Elu",      "HardSigmoid",     "Selu", "Softplus",
                                     "Softsign", "ThresholdedRelu", NULL};

static void want(bool *wanted, const struct ox_value *value)
{
    if (value)
        wanted[value->id] = true;
}

static bool adds_to_product(const struct ox_value *value)
{
    const struct ox_node *add = value ? value->producer : NULL;
    bool adds = false;
    for (size_t i = 0; add && ox_is_op(add, "Add") && i < add->n_inputs; i++)
        adds |= add->inputs[i] && add->inputs[i]->producer &&
                ox_is_op(add->inputs[i]->producer, "MatMul");
    return adds;
}

static bool sums_wanted(const struct ox_node *node, const bool *wanted)
{
    if (!ox_is_op(node, "Add") || node->n_inputs != 2 || !node->n_outputs)
        return false;
    return node->inputs[0] && node->inputs[1] && wanted[node->inputs[0]->id] &&
           wanted[node->inputs[1]->id];
}

/* Backwards from products and convolutions, through what may run on integers with them. */
void ox_place_wants(const struct ox_graph *graph, bool *wanted)
{
    for (size_t i = graph->n_nodes; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        bool leads = false;
        for (size_t k = 0; k < node->n_outputs; k++)
            leads |= node->outputs[k] && wanted[node->outputs[k]->id];
        if (!node->n_inputs || !node->n_outputs)
            continue;
        if (ox_is_any_op(node, heavy)) {
            want(wanted, node->inputs[0]);
            want(wanted, node->n_inputs > 1 ? node->inputs[1] : NULL);
            want(wanted, node->outputs[0]);
        } else if (leads && (ox_is_any_op(node, movers) || ox_is_any_op(node, clippers))) {
            want(wanted, node->inputs[0]);
        } else if (leads && ox_is_any_op(node, mixers)) {
            for (size_t k = 0; k < (ox_is_op(node, "Resize") ? 1 : node->n_inputs); k++)
                want(wanted, node->inputs[k]);
        }
    }
    /* What clips the output of one of them takes its place. What follows a product and its Add may have to be kept apart. */
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        if (ox_is_any_op(node, clippers) && node->n_inputs && node->inputs[0] && node->n_outputs &&
            wanted[node->inputs[0]->id])
            want(wanted, node->outputs[0]);
        if (ox_is_any_op(node, joined) && node->n_inputs && adds_to_product(node->inputs[0]))
            want(wanted, node->inputs[0]);
        if (sums_wanted(node, wanted))
            want(wanted, node->outputs[0]);
    }
}

static bool constant(const struct ox_place *place, const struct ox_value *value)
{
    return ox_place_constant(place, value);
}

/* What was 0 in all samples tells nothing of what it may be: any scale would do, and be wrong for all else. */
static bool has_range(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_mark *mark = ox_place_mark(place, value);
    return mark->has_range && (mark->range.least < 0 || mark->range.most > 0);
}

/* Why a heavy node stays in float; NULL. */
static const char *not_heavy(struct ox_place *place, const struct ox_node *node)
{
    const struct ox_value *x = node->inputs[0], *w = node->inputs[1];
    bool product = ox_is_op(node, "MatMul");
    if (!x || !w || !node->outputs[0])
        return "it lacks an input";
    if (!ox_place_can(place, x) || !ox_place_can(place, w))
        return "its inputs are not float32, or float16 before opset 19";
    if (!product && !constant(place, w))
        return "its weight is not constant";
    if (constant(place, x) && (!product || constant(place, w)))
        return "its first input is constant";
    if (ox_place_handed_on(x) || ox_place_handed_on(w))
        return "its weight is state of a loop, which each turn would quantize anew";
    if (!constant(place, x) && !has_range(place, x))
        return "the calibration saw nothing of its input, or zeros alone";
    if (!constant(place, w) && !has_range(place, w))
        return "the calibration saw nothing of its second input, or zeros alone";
    if (!product && !has_range(place, node->outputs[0]))
        return "the calibration saw nothing of its output, or zeros alone";
    if (!product && ox_quant_is_before(place->before_cubic, node->outputs[0]))
        return "onnxruntime refuses a cubic Resize behind a convolution on integers";
    if (ox_quant_is_before(place->before_log, node->outputs[0]))
        return "a logarithm follows, which makes much of small values";
    if ((product || ox_is_op(node, "Gemm")) &&
        ox_quant_is_before(place->before_comparison, node->outputs[0]))
        return "what it makes is compared alone, which rounding decides otherwise";
    if (ox_quant_small_in_body(place->q, place->graph, w))
        return "its weight is too small to gain anything in a body; --nodes takes it";
    return NULL;
}

static bool weights_finite(struct ox_place *place, const struct ox_value *value, bool *finite,
                           struct ox_error *err, enum ox_status *status)
{
    struct ox_tensor *values;
    enum ox_dtype real;
    float low = 0, high = 0;
    *status = ox_quant_values(place->q, value, &values, &real, err);
    if (*status != OX_OK)
        return false;
    *finite = ox_qparams_extremes(values, -1, &low, &high) && low >= -3.4e38f && high <= 3.4e38f;
    ox_tensor_release(values);
    return true;
}

/* ---- Products and convolutions ------------------------------------------------------------------------------------ */

static int weight_axis(const struct ox_node *node, const struct ox_stored *weight)
{
    if (ox_is_op(node, "Conv"))
        return 0;
    if (ox_is_op(node, "ConvTranspose"))
        return ox_quant_int_attr(node, "group", 1) == 1 ? 1 : -1;
    if (ox_is_op(node, "Gemm"))
        return ox_quant_int_attr(node, "transB", 0) ? 0 : 1;
    return weight->rank >= 2 ? (int)weight->rank - 1 : -1; /* the columns of the product */
}

/* Runtimes take scales a column of a matrix, not of a stack of matrices. A single channel is the tensor. */
static int axis_of(const struct ox_place *place, const struct ox_node *node,
                   const struct ox_value *weight)
{
    const struct ox_stored *stored = ox_value_stored(weight);
    if (!stored || (ox_is_op(node, "MatMul") && stored->rank != 2))
        return -1;
    int axis = weight_axis(node, stored);
    axis = axis < 0 ? -1 : ox_place_axis(place, weight, axis);
    return axis >= 0 && stored->dims[axis] > 1 ? axis : -1;
}

/* Every use of the value is by one node, no output, no capture. */
static bool only_feeds(const struct ox_place *place, const struct ox_value *value)
{
    return ox_quant_n_uses(&place->uses, value) == 1 && !value->is_output &&
           !place->uses.captured[value->id];
}

static struct ox_node *only_user(const struct ox_place *place, const struct ox_value *value)
{
    return only_feeds(place, value) ? place->uses.uses[place->uses.first[value->id]].node : NULL;
}

/* The Add of a constant row that onnxruntime joins with the product into a Gemm, before it looks for integers: of matrices, and of
 * stacks of them where all sizes are known. Its integer Gemm asks for a bias of integers. NULL; `index` is the bias's. */
static struct ox_node *add_of_gemm(const struct ox_place *place, const struct ox_node *product,
                                   size_t *index)
{
    const struct ox_quant *q = place->q;
    const struct ox_stored *weight = ox_value_stored(product->inputs[1]);
    struct ox_node *add = only_user(place, product->outputs[0]);
    int rank = ox_quant_rank(q, product->inputs[0]);
    if (!add || !ox_is_op(add, "Add") || add->n_inputs != 2 || !add->inputs[0] || !add->inputs[1] ||
        !weight || weight->rank != 2 || rank < 2)
        return NULL;
    for (int i = 0; rank > 2 && i < rank; i++) {
        if (ox_quant_dim(q, product->inputs[0], i) < 0)
            return NULL;
    }
    *index = add->inputs[0] == product->outputs[0];
    const struct ox_value *row = add->inputs[*index];
    const struct ox_stored *bias = constant(place, row) ? ox_value_stored(row) : NULL;
    bool is_row = bias && (bias->rank == 1 || (bias->rank == 2 && bias->dims[0] == 1)) &&
                  bias->dims[bias->rank - 1] == weight->dims[1];
    return is_row ? add : NULL;
}

/* A Gemm adds any matrix: one whose rows differ has no scale a column. */
static bool bias_fits(struct ox_place *place, const struct ox_value *weight,
                      const struct ox_value *bias)
{
    const struct ox_mark *mark = ox_place_mark(place, weight);
    const struct ox_stored *w = ox_value_stored(weight), *b = ox_value_stored(bias);
    uint64_t n = 1;
    for (unsigned i = 0; i < b->rank; i++)
        n *= (uint64_t)b->dims[i];
    return mark->kind != OX_MARK_WEIGHT || mark->axis < 0 || n == 1 ||
           (n == (uint64_t)w->dims[mark->axis] && b->dims[b->rank - 1] == w->dims[mark->axis]);
}

/* What several nodes use along different axes has one scale: runtimes take scales for the columns of each. */
static void mark_weight(struct ox_place *place, const struct ox_node *node, struct ox_value *weight)
{
    struct ox_mark *mark = ox_place_mark(place, weight);
    int axis = axis_of(place, node, weight);
    if (mark->kind == OX_MARK_WEIGHT && mark->axis != axis)
        mark->axis = -1;
    else
        ox_place_weight(place, weight, axis);
}

static enum ox_status mark_heavy(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    struct ox_value *w = node->inputs[1];
    bool conv = ox_is_op(node, "Conv") || ox_is_op(node, "ConvTranspose");
    /* There is no such operator on integers: its weight is stored small, and rounds nothing else. */
    if (ox_is_op(node, "ConvTranspose") && constant(place, w) &&
        (place->q->options->format == OX_QUANT_QOPERATOR || place->float_transposed)) {
        mark_weight(place, node, w);
        return OX_OK;
    }
    ox_place_activation(place, node->inputs[0]);
    if (constant(place, w))
        mark_weight(place, node, w);
    else
        ox_place_activation(place, w);
    if (conv)
        ox_place_activation(place, node->outputs[0]);
    if (conv)
        return ox_place_bias(place, node, 2, 1, err);
    size_t index;
    struct ox_node *add = ox_is_op(node, "MatMul") ? add_of_gemm(place, node, &index) : NULL;
    if (add && ox_place_int8_parts(place, node))
        return ox_quant_make_sum(place->q, add, err);
    if (add)
        return ox_place_bias_of(place, node, add, index, 1, err);
    if (!ox_is_op(node, "Gemm") || node->n_inputs < 3 || !constant(place, node->inputs[2]) ||
        !bias_fits(place, w, node->inputs[2]))
        return OX_OK;
    return ox_place_bias(place, node, 2, 1, err);
}

/* Weights of zeros, as the last ones of residual blocks before training: what they make is 0 whatever comes, and any range is right. */
static enum ox_status settle_zeros(struct ox_place *place, const struct ox_node *node,
                                   struct ox_error *err)
{
    const struct ox_value *w = node->inputs[1], *out = node->outputs[0];
    struct ox_mark *mark = out ? ox_place_mark(place, out) : NULL;
    enum ox_dtype real;
    struct ox_tensor *values;
    float low, high;
    if (!mark || !mark->has_range || has_range(place, out) || !w || !constant(place, w) ||
        !ox_quant_is_float(ox_value_stored(w)->dtype))
        return OX_OK;
    OX_TRY(ox_quant_values(place->q, w, &values, &real, err));
    if (ox_qparams_extremes(values, -1, &low, &high) && low == 0 && high == 0)
        mark->range = (struct ox_qrange){0, 1};
    ox_tensor_release(values);
    return OX_OK;
}

static enum ox_status place_heavy(struct ox_place *place, struct ox_node *node,
                                  struct ox_error *err)
{
    const char *reason = ox_quant_unwanted(place->q, node);
    enum ox_status status = OX_OK;
    bool finite = true;
    if (!reason) {
        OX_TRY(settle_zeros(place, node, err));
        reason = not_heavy(place, node);
    }
    for (size_t i = 0; i < 2 && !reason && finite; i++) {
        if (constant(place, node->inputs[i]) &&
            !weights_finite(place, node->inputs[i], &finite, err, &status))
            return status;
    }
    if (!finite)
        reason = "its weight holds a NaN or an infinity";
    ox_quant_report_add_node(place->q->report, node, NULL, reason);
    return reason ? OX_OK : mark_heavy(place, node, err);
}

static enum ox_status place_recurrent(struct ox_place *place, struct ox_node *node,
                                      struct ox_error *err)
{
    const char *reason = ox_quant_unwanted(place->q, node);
    if (!reason)
        OX_TRY(ox_quant_shrink_recurrent(place->q, node, &reason, err));
    ox_quant_report_add_node(place->q->report, node, NULL, reason);
    return OX_OK;
}

/* A table that is gathered from is stored as integers, gathered as such, and made float after. */
static enum ox_status place_table(struct ox_place *place, struct ox_node *node,
                                  struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_value *table = node->inputs[0], *out = node->outputs[0], *scale, *zero;
    const struct ox_stored *stored = ox_value_stored(table);
    const char *reason = ox_quant_unwanted(q, node);
    if (!stored || !ox_quant_is_float(stored->dtype) || stored->rank < 2 || !out)
        return OX_OK;
    const bool carried = place->before_body[out->id];
    if (ox_row_table_serves(node, carried)) {
        if (!reason)
            OX_TRY(ox_row_table_gather(q, node, &reason, err));
        place->gone[node->index] = !reason;
        ox_quant_report_add_node(q->report, node, NULL, reason);
        return OX_OK;
    }
    if (!reason && !ox_place_can(place, table))
        reason = "DequantizeLinear takes float16 since opset 19";
    if (!reason && carried)
        reason = "onnxruntime carries DequantizeLinear into the body that reads it, and fails";
    struct ox_tensor *values, *integers;
    struct ox_qparams params;
    enum ox_dtype real;
    struct ox_error why = {OX_OK, ""};
    OX_TRY(ox_quant_values(q, table, &values, &real, err));
    const enum ox_dtype type = ox_quant_stored_type(q) == OX_INT16 ? OX_UINT16 : OX_UINT8;
    enum ox_status status =
        ox_qparams_of_tensor(&params, &q->arena, values, -1, type, real, false, false, false, &why);
    if (status == OX_INPUT)
        reason = "its table holds what is no number";
    if (status == OX_OK && !reason)
        status = ox_quantize_tensor(&integers, ox_env_budget(q->model->env), values, &params, err);
    if (status == OX_OK && !reason)
        ox_quant_report_add_constant(q->report, table, "table", values, integers, &params);
    ox_tensor_release(values);
    if (status != OX_OK && status != OX_INPUT)
        return status;
    ox_quant_report_add_node(q->report, node, NULL, reason);
    if (reason)
        return OX_OK;
    struct ox_value **inputs =
        ox_arena_copy(&q->arena, node->inputs, node->n_inputs * sizeof *inputs);
    struct ox_value *rows =
        ox_graph_add_value(place->graph, ox_quant_name(q, out->name, "_quantized"));
    struct ox_value *to =
        ox_quant_add_init(place->graph, ox_quant_name(q, table->name, "_quantized"), integers);
    if (!inputs || !rows || !to)
        return ox_no_memory(err);
    inputs[0] = to;
    OX_TRY(ox_quant_add_params(q, place->graph, &params, ox_quant_name(q, table->name, "_scale"),
                               ox_quant_name(q, table->name, "_zero_point"), &scale, &zero, err));
    struct ox_value *parts[] = {rows, scale, zero};
    struct ox_node *gather = ox_graph_add_node(place->graph, node->op_type, "", node->name, inputs,
                                               node->n_inputs, &rows, 1);
    if (!gather || !ox_quant_copy_attrs(gather, node, NULL) ||
        !ox_graph_add_node(place->graph, "DequantizeLinear", "",
                           ox_quant_name(q, out->name, "_DequantizeLinear"), parts, 3, &out, 1))
        return ox_no_memory(err);
    place->gone[node->index] = true;
    return OX_OK;
}

/* ---- What lies between -------------------------------------------------------------------------------------------- */

static bool marked(struct ox_place *place, const struct ox_value *value)
{
    return value && ox_place_mark(place, value)->kind == OX_MARK_ACTIVATION;
}

/* Whether what is moved comes from where integers are made cheaply; not from an operator that stays in float anyway. */
static bool from_integers(const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    while (node && ox_is_any_op(node, movers) && node->inputs[0])
        node = node->inputs[0]->producer;
    return node && (ox_is_any_op(node, heavy) || ox_is_any_op(node, mixers) ||
                    ox_is_any_op(node, clippers));
}

/* All outputs are integers, each with a scale of its own. */
static bool makes_integers(struct ox_place *place, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct ox_value *out = node->outputs[i];
        if (!marked(place, out) || ox_place_mark(place, out)->share)
            return false;
    }
    return true;
}

/* The input of a mover whose outputs are integers may be integers before it moves: the same values, a quarter of the bytes. */
static void push_up(struct ox_place *place, struct ox_node *node)
{
    struct ox_value *in = node->inputs[0];
    if (!ox_is_any_op(node, movers) || !in || !makes_integers(place, node) || marked(place, in) ||
        constant(place, in) || !ox_place_can(place, in) || !has_range(place, in) ||
        !only_feeds(place, in) || !from_integers(in))
        return;
    ox_place_activation(place, in);
    for (size_t i = 0; i < node->n_outputs; i++)
        ox_place_same(place, node->outputs[i], in);
}

/* A part may have a much smaller range than the whole: then its own scale is worth more. */
static bool is_narrow_part(struct ox_place *place, const struct ox_node *mover)
{
    const struct ox_mark *a = ox_place_mark(place, mover->inputs[0]);
    const struct ox_mark *b = ox_place_mark(place, mover->outputs[0]);
    float whole = a->range.most - a->range.least, part = b->range.most - b->range.least;
    return (ox_is_op(mover, "Slice") || ox_is_op(mover, "Gather") || ox_is_op(mover, "Split")) &&
           part < whole * 0.75f;
}

/* What integers are without rounding: one of several parts of them, or their positive ones. */
static bool part_of_marked(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    if (!node || !node->inputs[0] || !marked(place, node->inputs[0]))
        return false;
    return ox_is_op(node, "Split") ||
           (ox_is_any_op(node, clippers) && only_feeds(place, node->inputs[0]));
}

/* The same, or the gate that such a part makes. */
static bool from_marked(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    return part_of_marked(place, value) || (node && ox_is_op(node, "Sigmoid") && node->inputs[0] &&
                                            part_of_marked(place, node->inputs[0]));
}

/* One value, and what pools and other movers make of it, as in spatial pyramids: one scale serves all. */
static bool joins_one_value(const struct ox_node *node)
{
    const struct ox_value *one = NULL;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *from = node->inputs[i];
        while (from && from->producer && ox_is_op(from->producer, "MaxPool"))
            from = from->producer->inputs[0];
        if (!from || !from->producer || !ox_is_any_op(from->producer, mixers) ||
            (one && from != one))
            return false;
        one = from;
    }
    return ox_is_op(node, "Concat");
}

/* A sum, product or pool between integers runs on integers, if all of its inputs become such. */
static void join_mixer(struct ox_place *place, struct ox_node *node)
{
    size_t n_marked = 0;
    if (!ox_is_any_op(node, mixers) || !marked(place, node->outputs[0]))
        return;
    size_t n = ox_is_op(node, "Resize") ? 1 : node->n_inputs;
    for (size_t i = 0; i < n; i++) {
        const struct ox_value *in = node->inputs[i];
        if (!in || !ox_place_can(place, in) || constant(place, in) || !has_range(place, in))
            return;
        n_marked += marked(place, in) || from_marked(place, in);
    }
    for (size_t i = 0; (n_marked || joins_one_value(node)) && i < n; i++)
        ox_place_activation(place, node->inputs[i]);
}

/* A mixer that makes integers, or a mover that does of all or much of its input. */
static bool takes_integers(struct ox_place *place, const struct ox_node *user,
                           const struct ox_value *value)
{
    if (ox_is_any_op(user, movers))
        return user->n_outputs == 1 && user->inputs[0] == value && makes_integers(place, user) &&
               !is_narrow_part(place, user);
    return ox_is_any_op(user, mixers) && marked(place, user->outputs[0]) &&
           !ox_quant_unwanted(place->q, user);
}

/* What a mixer makes for several that all make integers, as in squeeze and excitation, or slices in place of a Split: with it on
 * integers they run on integers too. */
static void bridge_mixers(struct ox_place *place, const struct ox_node *node)
{
    struct ox_value *out = node->outputs[0];
    const struct ox_quant_uses *uses = &place->uses;
    bool from_marked = false;
    if (!ox_is_any_op(node, mixers) || marked(place, out) || out->is_output ||
        place->uses.captured[out->id] || !ox_place_can(place, out) || !has_range(place, out) ||
        ox_quant_n_uses(uses, out) < 2)
        return;
    for (size_t i = 0; i < node->n_inputs; i++)
        from_marked |= marked(place, node->inputs[i]);
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++) {
        if (!takes_integers(place, uses->uses[i].node, out))
            return;
    }
    if (!from_marked)
        return;
    ox_place_activation(place, out);
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++)
        join_mixer(place, uses->uses[i].node);
}

/* A sum of what convolutions make for it alone: in float it would need all of them as floats, and in onnxruntime in another order. */
static void join_sum(struct ox_place *place, const struct ox_node *node)
{
    struct ox_value *out = node->outputs[0];
    if (!ox_is_op(node, "Add") || node->n_inputs != 2 || marked(place, out) || out->is_output ||
        !ox_place_can(place, out) || !has_range(place, out))
        return;
    for (size_t i = 0; i < 2; i++) {
        const struct ox_value *in = node->inputs[i];
        if (!marked(place, in) || constant(place, in) || !only_feeds(place, in) || !in->producer ||
            !(ox_is_op(in->producer, "Conv") || ox_is_op(in->producer, "Add")))
            return;
    }
    ox_place_activation(place, out);
}

/* Both ends of a mover are integers: they take the same scale, and it runs on integers. */
static bool join_ends(struct ox_place *place, struct ox_node *node)
{
    struct ox_value *in = node->inputs[0], *out = node->outputs[0];
    if (!ox_is_any_op(node, movers) || node->n_outputs != 1 || !marked(place, in) ||
        !marked(place, out) || ox_place_mark(place, out)->share ||
        ox_place_mark(place, in)->share == out)
        return false;
    if (is_narrow_part(place, node))
        return false;
    ox_place_same(place, out, in);
    return true;
}

/* Parts that become integers keep the scale of the whole: another one would round once more. Runtimes split integers only if all of
 * the parts are such, which rounds none of the others. */
static void join_parts(struct ox_place *place, struct ox_node *split)
{
    bool any = false;
    for (size_t i = 0; i < split->n_outputs; i++)
        any |= marked(place, split->outputs[i]);
    for (size_t i = 0; any && i < split->n_outputs && marked(place, split->inputs[0]); i++) {
        struct ox_value *part = split->outputs[i];
        if (part && !part->is_output && !ox_place_mark(place, part)->share)
            ox_place_same(place, part, split->inputs[0]);
    }
}

/* A convolution, then Relu or Clip: integers clip by themselves. */
static void absorb_clip(struct ox_place *place, struct ox_node *node)
{
    struct ox_value *in = node->inputs[0], *out = node->outputs[0];
    bool heavy_before = in && in->producer && ox_is_any_op(in->producer, heavy);
    if (!in || !out || !in->producer ||
        !(marked(place, in) || (heavy_before && marked(place, out))) ||
        place->q->options->symmetric_activation || ox_quant_unwanted(place->q, node))
        return;
    const struct ox_mark *made = ox_place_mark(place, out);
    bool from_zero = ox_is_op(node, "Clip") || (made->has_range && made->range.least >= 0);
    if (!from_zero || !(ox_is_any_op(in->producer, heavy) || ox_is_any_op(in->producer, mixers)))
        return;
    if (ox_place_absorb(place, node))
        ox_place_activation(place, out);
}

/* onnxruntime joins Gemm and an activation before it looks for integers: integers between them keep it from that. */
static void part_from_activation(struct ox_place *place, const struct ox_node *gemm,
                                 struct ox_value *out)
{
    if (!out || !marked(place, gemm->inputs[0]) || marked(place, out) || !has_range(place, out))
        return;
    const struct ox_node *user = only_user(place, out);
    if (user && ox_is_any_op(user, joined) && !place->gone[user->index])
        ox_place_activation(place, out);
}

/* onnxruntime makes a Gemm of a product of matrices and any sum behind it, and has none on integers whose last term is computed: it then
 * dequantizes the weight in each run. */
static enum ox_status part_from_sum(struct ox_place *place, const struct ox_node *product,
                                    struct ox_error *err)
{
    struct ox_value *out = product->outputs[0];
    struct ox_node *add =
        marked(place, product->inputs[0]) && !marked(place, out) ? only_user(place, out) : NULL;
    size_t index;
    if (!add || !ox_is_op(add, "Add") || add->n_inputs != 2 || add_of_gemm(place, product, &index))
        return OX_OK;
    const struct ox_value *term = add->inputs[add->inputs[0] == out];
    if (!term || ox_quant_rank(place->q, product->inputs[0]) > 2 ||
        ox_quant_rank(place->q, term) > 2)
        return OX_OK;
    return ox_quant_make_sum(place->q, add, err);
}

enum ox_status ox_place_own(struct ox_place *place, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    OX_TRY(ox_quant_before_cubic(place->q, graph, &place->before_cubic, err));
    OX_TRY(ox_quant_before_comparison(place->q, graph, &place->before_comparison, err));
    OX_TRY(ox_quant_before_body(place->q, graph, &place->before_body, err));
    if (ox_dtype_bits(place->q->options->activation_type) == 8)
        OX_TRY(ox_quant_before_log(place->q, graph, &place->before_log, err));
    for (size_t i = 0; i < place->n_nodes; i++) {
        if (ox_is_any_op(graph->nodes[i], heavy))
            OX_TRY(place_heavy(place, graph->nodes[i], err));
        else if (ox_is_op(graph->nodes[i], "Gather"))
            OX_TRY(place_table(place, graph->nodes[i], err));
        else if (ox_quant_is_recurrent(graph->nodes[i]))
            OX_TRY(place_recurrent(place, graph->nodes[i], err));
    }
    for (size_t i = place->n_nodes; i-- > 0;) {
        struct ox_node *node = graph->nodes[i];
        if (!node->n_inputs || !node->n_outputs || !node->inputs[0] || !node->outputs[0] ||
            place->gone[i])
            continue;
        push_up(place, node);
        if (!ox_quant_unwanted(place->q, node)) {
            bridge_mixers(place, node);
            join_mixer(place, node);
        }
    }
    for (size_t i = 0; i < place->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        if (!node->n_inputs || !node->n_outputs || !node->inputs[0] || !node->outputs[0] ||
            place->gone[i])
            continue;
        if (!ox_quant_unwanted(place->q, node))
            join_sum(place, node);
        if (ox_is_any_op(node, clippers))
            absorb_clip(place, node);
        else if (ox_is_op(node, "Split") && node->n_outputs > 1)
            join_parts(place, node);
        else
            join_ends(place, node);
    }
    ox_place_int8_ends(place);
    for (size_t i = 0; i < place->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        size_t index;
        if (ox_is_op(node, "Gemm"))
            part_from_activation(place, node, node->outputs[0]);
        const struct ox_node *add =
            ox_is_op(node, "MatMul") ? add_of_gemm(place, node, &index) : NULL;
        if (add)
            part_from_activation(place, node, add->outputs[0]);
        else if (ox_is_op(node, "MatMul"))
            OX_TRY(part_from_sum(place, node, err));
    }
    return OX_OK;
}
