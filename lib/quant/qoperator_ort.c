/* The form "QOperator" as onnxruntime.quantization 1.31 writes it: nodes in the file's order, each on integers where its inputs can be.
 * Much of it is of com.microsoft. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/place.h"
#include "quant/walk.h"

struct qop {
    struct ox_walk walk;
    struct ox_place *place; /* ranges alone */
    bool contrib;           /* something of com.microsoft was written */
};

static bool initializer(const struct ox_value *value)
{
    return value && value->init && !value->producer;
}

static bool float_tensor(const struct qop *p, const struct ox_value *value)
{
    return value && ox_quant_is_float(ox_quant_dtype(p->walk.q, value));
}

/* ---- Parameters --------------------------------------------------------------------------------------------------- */

/* Scale and zero point of a value by its range, or those given. *found false: it has no range. */
static enum ox_status params_of(struct qop *p, const struct ox_value *value,
                                const struct ox_qparam *given, struct ox_walked *out, bool *found,
                                struct ox_error *err)
{
    struct ox_quant *q = p->walk.q;
    const struct ox_quant_options *options = q->options;
    const struct ox_mark *mark =
        value->id < p->place->n_marks ? ox_place_mark(p->place, value) : NULL;
    *found = mark && mark->has_range;
    if (!*found)
        return OX_OK;
    struct ox_mark *memo = ox_place_mark(p->place, value);
    if (memo->scale) { /* initializers of that name are there: the first stay */
        out->scale = memo->scale;
        out->zero = memo->zero;
        out->params = memo->params;
        return OX_OK;
    }
    struct ox_qparams params = {options->activation_type, ox_quant_dtype(q, value), -1, 1, NULL};
    if (!ox_quant_is_float(params.real))
        params.real = OX_FLOAT32;
    params.pairs = ox_arena_array(&q->arena, 1, sizeof *params.pairs);
    const char *scale = ox_quant_name(q, value->name, "_scale");
    const char *zero = ox_quant_name(q, value->name, "_zero_point");
    if (!params.pairs || !scale || !zero)
        return ox_no_memory(err);
    params.pairs[0] =
        given ? *given
              : ox_qparam_of_range(mark->range.least, mark->range.most, options->activation_type,
                                   params.real, options->symmetric_activation, false, true);
    OX_TRY(ox_quant_add_params(q, p->walk.graph, &params, scale, zero, &memo->scale, &memo->zero,
                               err));
    memo->params = params;
    out->scale = memo->scale;
    out->zero = memo->zero;
    out->params = params;
    return ox_walk_value(&p->walk, memo->scale) && ox_walk_value(&p->walk, memo->zero)
               ? OX_OK
               : ox_no_memory(err);
}

/* The value as integers. out->q NULL: it cannot be had. product: of which it is the second input; NULL. axis: of a weight, with
 * per_channel. */
static enum ox_status quantized(struct qop *p, struct ox_value *value,
                                const struct ox_node *product, int axis, enum ox_dtype type,
                                struct ox_walked *out, struct ox_error *err)
{
    struct ox_quant *q = p->walk.q;
    const struct ox_quant_options *options = q->options;
    struct ox_walked *known = ox_walk_value(&p->walk, value);
    *out = (struct ox_walked){0};
    if (!known)
        return ox_no_memory(err);
    if (known->q) {
        *out = *known;
        return OX_OK;
    }
    if (initializer(value)) {
        /* A constant follows the weights' rule whenever its type is theirs. */
        bool as_weight = type == options->weight_type || (product && axis >= 0);
        bool symmetric = as_weight ? ox_dtype_is_signed(type) || options->symmetric_weights
                                   : options->symmetric_activation;
        struct ox_saturation sums;
        const bool adds = product && options->activation_type == OX_UINT8 &&
                          ox_saturation_of(&sums, product, value->init->rank, value->init->dims);
        const struct ox_weight_wish wish = {.type = type,
                                            .symmetric = symmetric,
                                            .reduce = product && options->reduce_range,
                                            .axis = axis,
                                            .outputs = -1,
                                            .sums = adds ? &sums : NULL};
        const char *reason = NULL;
        OX_TRY(ox_walk_weight(&p->walk, value, &wish, &known, &reason, err));
        if (!known)
            return ox_fail(err, OX_INPUT, "%s", reason);
        *out = *known;
        return OX_OK;
    }
    bool found;
    OX_TRY(params_of(p, value, NULL, out, &found, err));
    if (!found)
        return OX_OK;
    struct ox_value *integers = ox_walk_new(&p->walk, value->name, "_quantized");
    const char *name = ox_quant_name(q, value->name, "_QuantizeLinear");
    struct ox_value *inputs[] = {value, out->scale, out->zero};
    if (!integers || !name ||
        !ox_walk_add(&p->walk, "QuantizeLinear", "", name, inputs, 3, &integers, 1))
        return ox_no_memory(err);
    known = ox_walk_value(&p->walk, value);
    known->q = integers;
    known->scale = out->scale;
    known->zero = out->zero;
    known->params = out->params;
    *out = *known;
    return OX_OK;
}

static enum ox_status activation(struct qop *p, struct ox_value *value, struct ox_walked *out,
                                 struct ox_error *err)
{
    return quantized(p, value, NULL, -1, p->walk.q->options->activation_type, out, err);
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

/* The operator on integers; its output is then known as such. */
static enum ox_status replace(struct qop *p, struct ox_node *node, const char *op_type,
                              bool contrib, struct ox_value *const *inputs, size_t n_inputs,
                              const struct ox_walked *params, const char *const *but_attrs,
                              struct ox_node **made, struct ox_error *err)
{
    struct ox_value *out = node->outputs[0];
    struct ox_value *integers = ox_walk_new(&p->walk, out->name, "_quantized");
    const char *name = *node->name ? ox_quant_name(p->walk.q, node->name, "_quant") : "";
    if (!integers || !name)
        return ox_no_memory(err);
    struct ox_node *added = ox_walk_add(&p->walk, op_type, contrib ? "com.microsoft" : "", name,
                                        inputs, n_inputs, &integers, 1);
    if (!added || !ox_quant_copy_attrs(added, node, but_attrs))
        return ox_no_memory(err);
    struct ox_walked *to = ox_walk_value(&p->walk, out);
    *to = (struct ox_walked){
        .q = integers, .scale = params->scale, .zero = params->zero, .params = params->params};
    p->contrib |= contrib;
    ox_walk_drop(&p->walk, node);
    if (made)
        *made = added;
    return OX_OK;
}

/* The int32 bias; may make the weight's scales larger and its integers new. */
static enum ox_status bias_of(struct qop *p, struct ox_value *bias, const struct ox_walked *x,
                              struct ox_value *weight, float beta, struct ox_value **out,
                              struct ox_error *err)
{
    struct ox_quant *q = p->walk.q;
    struct ox_walked *known = ox_walk_value(&p->walk, bias);
    struct ox_walked *w = ox_walk_value(&p->walk, weight);
    if (!known || !w)
        return ox_no_memory(err);
    if (known->q) {
        *out = known->q;
        return OX_OK;
    }
    struct ox_tensor *values = NULL, *weights = NULL, *integers = NULL;
    struct ox_qparams params = {OX_INT32, OX_FLOAT32, -1, 0, NULL};
    enum ox_dtype real;
    enum ox_status status;
    OX_TRY_CLEANUP(ox_quant_values(q, bias, &values, &params.real, err));
    bool centred = w->params.n > 0 && q->options->weight_type == OX_INT8;
    for (size_t c = 0; c < w->params.n; c++)
        centred &= w->params.pairs[c].zero == 0;
    if (centred && (w->params.axis >= 0 || !q->options->per_channel) &&
        ox_qparams_repair(&w->params, x->params.pairs[0].scale, values)) {
        struct ox_tensor *again;
        struct ox_tensor *scale, *zero;
        OX_TRY_CLEANUP(ox_quant_values(q, weight, &weights, &real, err));
        OX_TRY_CLEANUP(
            ox_quantize_tensor(&again, ox_env_budget(q->model->env), weights, &w->params, err));
        bool good = ox_graph_add_init(p->walk.graph, w->q, again) != NULL;
        ox_tensor_release(again);
        OX_TRY_CLEANUP(
            ox_qparams_tensors(&w->params, ox_env_budget(q->model->env), &scale, &zero, err));
        good = good && ox_graph_add_init(p->walk.graph, w->scale, scale);
        ox_tensor_release(scale);
        ox_tensor_release(zero);
        OX_TRY_CLEANUP(good ? OX_OK : ox_no_memory(err));
    }
    params.n = w->params.n;
    params.axis = params.n > 1 ? 0 : -1;
    params.pairs = ox_arena_array(&q->arena, params.n, sizeof *params.pairs);
    OX_TRY_CLEANUP(params.pairs ? OX_OK : ox_no_memory(err));
    for (size_t i = 0; i < params.n; i++)
        params.pairs[i].scale = x->params.pairs[0].scale * w->params.pairs[i].scale * beta;
    bool clipped;
    OX_TRY_CLEANUP(
        ox_quantize_bias(&integers, ox_env_budget(q->model->env), values, &params, &clipped, err));
    ox_quant_report_add_constant(q->report, bias, "bias", values, integers, &params);
    struct ox_walked made = {.params = params};
    made.q = ox_quant_add_init(p->walk.graph, ox_quant_name(q, bias->name, "_quantized"),
                               ox_tensor_ref(integers));
    OX_TRY_CLEANUP(made.q ? OX_OK : ox_no_memory(err));
    OX_TRY_CLEANUP(ox_quant_add_params(
        q, p->walk.graph, &params, ox_quant_name(q, bias->name, "_quantized_scale"),
        ox_quant_name(q, bias->name, "_quantized_zero_point"), &made.scale, &made.zero, err));
    *ox_walk_value(&p->walk, bias) = made;
    *out = made.q;
cleanup:
    ox_tensor_release(values);
    ox_tensor_release(weights);
    ox_tensor_release(integers);
    return status;
}

/* Each handler sets *done, or leaves the node as it is. */

static enum ox_status handle_product(struct qop *p, struct ox_node *node, bool *done,
                                     struct ox_error *err)
{
    struct ox_quant *q = p->walk.q;
    const struct ox_quant_options *options = q->options;
    bool conv = node->op_type[0] == 'C', gemm = node->op_type[0] == 'G';
    struct ox_walked x, w, y = {0};
    bool found, fine = options->per_channel && initializer(node->inputs[1]);
    OX_TRY(params_of(p, node->outputs[0], NULL, &y, &found, err));
    OX_TRY(activation(p, node->inputs[0], &x, err));
    int axis = -1;
    if (fine && !conv && !gemm)
        axis = (int)node->inputs[1]->init->rank - 1;
    else if (fine)
        axis = conv || ox_quant_int_attr(node, "transB", 0) > 0 ? 0 : 1;
    /* A second input that is no initializer is quantized as an activation. */
    OX_TRY(quantized(p, node->inputs[1], node, axis,
                     initializer(node->inputs[1]) ? (conv && fine ? OX_INT8 : options->weight_type)
                                                  : options->activation_type,
                     &w, err));
    bool has_bias = node->n_inputs == 3 && node->inputs[2];
    if (!found || !x.q || !w.q || (gemm && has_bias && !initializer(node->inputs[2])))
        return OX_OK;
    struct ox_value *bias = NULL;
    if (has_bias) {
        OX_TRY(bias_of(p, node->inputs[2], &x, node->inputs[1],
                       gemm ? ox_quant_float_attr(node, "beta", 1) : 1, &bias, err));
        w = *ox_walk_value(&p->walk, node->inputs[1]);
    }
    *done = true;
    struct ox_value *inputs[9] = {x.q, x.scale, x.zero, w.q, w.scale, w.zero};
    static const char *const but_beta[] = {"beta", NULL};
    if (gemm) {
        inputs[6] = bias;
        inputs[7] = y.scale;
        inputs[8] = y.zero;
        return replace(p, node, "QGemm", true, inputs, 9, &y, but_beta, NULL, err);
    }
    inputs[6] = y.scale;
    inputs[7] = y.zero;
    inputs[8] = bias;
    return replace(p, node, conv ? "QLinearConv" : "QLinearMatMul", false, inputs, bias ? 9 : 8, &y,
                   conv ? NULL : but_beta, NULL, err);
}

/* com.microsoft's QLinear form of operators with n inputs that count. */
static enum ox_status handle_linear(struct qop *p, struct ox_node *node, bool *done,
                                    struct ox_error *err)
{
    struct ox_walked in[2], y = {0};
    size_t n_in = strcmp(node->op_type, "Add") == 0 || strcmp(node->op_type, "Mul") == 0 ? 2 : 1;
    bool softmax = strcmp(node->op_type, "Softmax") == 0, found;
    bool is_signed = p->walk.q->options->activation_type == OX_INT8;
    struct ox_qparam fixed = {1 / 256.0f, is_signed ? -128 : 0};
    OX_TRY(params_of(p, node->outputs[0], softmax ? &fixed : NULL, &y, &found, err));
    for (size_t i = 0; i < n_in; i++) {
        OX_TRY(activation(p, node->inputs[i], &in[i], err));
        if (!in[i].q)
            return OX_OK;
    }
    if (!found)
        return OX_OK;
    struct ox_value *inputs[8];
    size_t n = 0;
    for (size_t i = 0; i < n_in; i++) {
        inputs[n++] = in[i].q;
        inputs[n++] = in[i].scale;
        inputs[n++] = in[i].zero;
    }
    inputs[n++] = y.scale;
    inputs[n++] = y.zero;
    *done = true;
    const char *name = ox_quant_name(p->walk.q, "QLinear", node->op_type);
    struct ox_node *made;
    if (!name)
        return ox_no_memory(err);
    OX_TRY(replace(p, node, name, true, inputs, n, &y, NULL, &made, err));
    if (softmax && !ox_node_set_int(made, "opset", ox_graph_opset(p->walk.graph, "")))
        return ox_no_memory(err);
    return OX_OK;
}

static enum ox_status handle_concat(struct qop *p, struct ox_node *node, bool *done,
                                    struct ox_error *err)
{
    struct ox_walked y = {0}, in;
    bool found, all = true;
    OX_TRY(params_of(p, node->outputs[0], NULL, &y, &found, err));
    struct ox_value **inputs =
        ox_arena_array(&p->walk.q->arena, 3 * node->n_inputs + 2, sizeof *inputs);
    if (!inputs)
        return ox_no_memory(err);
    size_t n = 0;
    inputs[n++] = y.scale;
    inputs[n++] = y.zero;
    for (size_t i = 0; i < node->n_inputs && all; i++) {
        OX_TRY(activation(p, node->inputs[i], &in, err));
        all = in.q != NULL;
        inputs[n++] = in.q;
        inputs[n++] = in.scale;
        inputs[n++] = in.zero;
    }
    if (!found || !all)
        return OX_OK;
    *done = true;
    return replace(p, node, "QLinearConcat", true, inputs, n, &y, NULL, NULL, err);
}

static enum ox_status handle_global_pool(struct qop *p, struct ox_node *node, bool *done,
                                         struct ox_error *err)
{
    struct ox_walked *known = ox_walk_value(&p->walk, node->inputs[0]), y = {0};
    bool found;
    if (!known || !known->q)
        return OX_OK;
    struct ox_walked x = *known;
    OX_TRY(params_of(p, node->outputs[0], NULL, &y, &found, err));
    if (!found)
        y = x;
    struct ox_value *inputs[] = {x.q, x.scale, x.zero, y.scale, y.zero};
    struct ox_node *made;
    *done = true;
    OX_TRY(replace(p, node, "QLinearGlobalAveragePool", true, inputs, 5, &y, NULL, &made, err));
    return ox_node_set_int(made, "channels_last", 0) ? OX_OK : ox_no_memory(err);
}

/* Relu and Clip of integers are done by their range: the output is the input. */
static enum ox_status handle_clip(struct qop *p, struct ox_node *node, bool *done,
                                  struct ox_error *err)
{
    struct ox_walked *known = ox_walk_value(&p->walk, node->inputs[0]);
    (void)err;
    if (!known || !known->q || p->walk.q->options->symmetric_activation)
        return OX_OK;
    struct ox_walked x = *known;
    x.generated = false;
    *ox_walk_value(&p->walk, node->outputs[0]) = x;
    ox_walk_drop(&p->walk, node);
    *done = true;
    return OX_OK;
}

/* The same operator on integers. */
static enum ox_status move(struct qop *p, struct ox_node *node, const struct ox_walked *x,
                           struct ox_value *const *others, size_t n_inputs, struct ox_error *err)
{
    struct ox_value **inputs = ox_arena_array(&p->walk.q->arena, n_inputs + 1, sizeof *inputs);
    if (!inputs)
        return ox_no_memory(err);
    inputs[0] = x->q;
    for (size_t i = 1; i < n_inputs; i++)
        inputs[i] = others[i];
    size_t n_outputs = node->n_outputs;
    struct ox_value **outputs = ox_arena_array(&p->walk.q->arena, n_outputs + 1, sizeof *outputs);
    if (!outputs)
        return ox_no_memory(err);
    for (size_t i = 0; i < n_outputs; i++) {
        bool quantizes = i == 0 || strcmp(node->op_type, "Split") == 0;
        outputs[i] = node->outputs[i] && quantizes
                         ? ox_walk_new(&p->walk, node->outputs[i]->name, "_quantized")
                         : node->outputs[i];
        if (node->outputs[i] && !outputs[i])
            return ox_no_memory(err);
        if (outputs[i] == node->outputs[i])
            continue;
        struct ox_walked *to = ox_walk_value(&p->walk, node->outputs[i]);
        *to = *x;
        to->q = outputs[i];
        to->generated = false;
    }
    struct ox_node *made = ox_walk_add(&p->walk, node->op_type, node->domain, node->name, inputs,
                                       n_inputs, outputs, n_outputs);
    if (!made || !ox_quant_copy_attrs(made, node, NULL))
        return ox_no_memory(err);
    ox_walk_drop(&p->walk, node);
    return OX_OK;
}

static enum ox_status handle_move(struct qop *p, struct ox_node *node, bool *done,
                                  struct ox_error *err)
{
    int64_t opset = ox_graph_opset(p->walk.graph, "");
    bool too_old = (strcmp(node->op_type, "MaxPool") == 0 && opset < 12) ||
                   (strcmp(node->op_type, "Resize") == 0 && opset < 11);
    struct ox_walked *known = ox_walk_value(&p->walk, node->inputs[0]);
    if (too_old || !known || !known->q)
        return OX_OK;
    struct ox_walked x = *known;
    *done = true;
    return move(p, node, &x, node->inputs, node->n_inputs, err);
}

/* Split, Gather: parts keep the scale of the whole. */
static enum ox_status handle_part(struct qop *p, struct ox_node *node, bool *done,
                                  struct ox_error *err)
{
    struct ox_walked x;
    OX_TRY(activation(p, node->inputs[0], &x, err));
    if (!x.q)
        return OX_OK;
    *done = true;
    return move(p, node, &x, node->inputs, node->n_inputs, err);
}

static enum ox_status handle_arg_max(struct qop *p, struct ox_node *node, bool *done,
                                     struct ox_error *err)
{
    struct ox_walked *known = ox_walk_value(&p->walk, node->inputs[0]);
    (void)err;
    if (known && known->q)
        node->inputs[0] = known->q;
    *done = true;
    return OX_OK;
}

static enum ox_status handle_pad(struct qop *p, struct ox_node *node, bool *done,
                                 struct ox_error *err)
{
    struct ox_quant *q = p->walk.q;
    struct ox_walked *known = ox_walk_value(&p->walk, node->inputs[0]);
    if (ox_graph_opset(p->walk.graph, "") < 11 || !known || !known->q || !known->params.n)
        return OX_OK;
    struct ox_walked x = *known;
    struct ox_value *inputs[4] = {0};
    size_t n = node->n_inputs < 4 ? node->n_inputs : 4;
    for (size_t i = 1; i < n; i++)
        inputs[i] = node->inputs[i];
    const struct ox_attr *mode = ox_node_attr(node, "mode");
    if (!mode || strcmp(mode->s.p, "constant") == 0) {
        n = n > 3 ? n : 3;
        if (!inputs[2]) {
            inputs[2] = x.zero;
        } else if (initializer(inputs[2])) {
            struct ox_tensor *value, *integers;
            enum ox_dtype real;
            OX_TRY(ox_quant_values(q, inputs[2], &value, &real, err));
            enum ox_status status =
                ox_quantize_tensor(&integers, ox_env_budget(q->model->env), value, &x.params, err);
            const char *name = ox_quant_name(q, inputs[2]->name, "_quantized");
            ox_tensor_release(value);
            if (status != OX_OK)
                return status;
            inputs[2] = ox_quant_add_init(p->walk.graph, name, integers);
            if (!inputs[2] || !ox_walk_value(&p->walk, inputs[2]))
                return ox_no_memory(err);
        } else {
            return OX_OK;
        }
    }
    *done = true;
    return move(p, node, &x, inputs, n, err);
}

/* ---- The walk ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *op_type;
    enum ox_status (*handle)(struct qop *p, struct ox_node *node, bool *done, struct ox_error *err);
} handlers[] = {
    {"Add", handle_linear},
    {"ArgMax", handle_arg_max},
    {"AveragePool", handle_linear},
    {"Clip", handle_clip},
    {"Concat", handle_concat},
    {"Conv", handle_product},
    {"Flatten", handle_move},
    {"Gather", handle_part},
    {"Gemm", handle_product},
    {"GlobalAveragePool", handle_global_pool},
    {"LeakyRelu", handle_linear},
    {"MatMul", handle_product},
    {"MaxPool", handle_move},
    {"Mul", handle_linear},
    {"Pad", handle_pad},
    {"Relu", handle_clip},
    {"Reshape", handle_move},
    {"Resize", handle_move},
    {"Sigmoid", handle_linear},
    {"Softmax", handle_linear},
    {"Split", handle_part},
    {"Squeeze", handle_move},
    {"Transpose", handle_move},
    {"Unsqueeze", handle_move},
};

/* Whether the walk looks at the node at all. */
static bool eligible(const struct qop *p, const struct ox_node *node)
{
    if (!node->n_inputs || !node->inputs[0])
        return false;
    if (strcmp(node->op_type, "Gather") == 0)
        return initializer(node->inputs[0]) && float_tensor(p, node->inputs[0]);
    if (strcmp(node->op_type, "MatMul") == 0 || strcmp(node->op_type, "Gemm") == 0)
        return float_tensor(p, node->inputs[0]) || float_tensor(p, node->inputs[1]);
    return float_tensor(p, node->inputs[0]);
}

static enum ox_status walk_node(struct qop *p, struct ox_node *node, struct ox_error *err)
{
    bool done = false;
    for (size_t i = 0; i < OX_COUNT(handlers); i++) {
        if (strcmp(handlers[i].op_type, node->op_type) != 0)
            continue;
        const char *reason = ox_quant_unwanted(p->walk.q, node);
        if (!reason && eligible(p, node))
            OX_TRY(handlers[i].handle(p, node, &done, err));
        if (!reason && !done)
            reason = "its inputs are not on integers";
        ox_quant_report_add_node(p->walk.q->report, node, NULL, reason);
    }
    if (strcmp(node->op_type, "ArgMax") == 0 && done)
        return OX_OK;
    return done ? OX_OK : ox_walk_keep(&p->walk, node, err);
}

enum ox_status ox_qoperator_like_ort(struct ox_place *place, struct ox_error *err)
{
    struct qop p = {.place = place};
    OX_TRY(ox_walk_begin(&p.walk, place->q, place->graph, err));
    for (size_t i = 0; i < p.walk.n_nodes; i++)
        OX_TRY(walk_node(&p, place->graph->nodes[i], err));
    OX_TRY(ox_walk_end(&p.walk, err));
    if (p.contrib && !ox_quant_set_opset(place->q->model, "com.microsoft", 1))
        return ox_no_memory(err);
    return OX_OK;
}
