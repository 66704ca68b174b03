#include <stdlib.h>
#include <string.h>

#include "model/name.h"
#include "quant/equalize.h"
#include "quant/estimate.h"
#include "quant/quant.h"
#include "quant/row_table.h"
#include "quant/walk.h"

/* ---- Inputs ------------------------------------------------------------------------------------------------------- */

/* The activation as integers: one DynamicQuantizeLinear serves all that ask. */
static enum ox_status quantize_input(struct ox_walk *walk, struct ox_value *value,
                                     struct ox_walked *out, struct ox_error *err)
{
    struct ox_walked *known = ox_walk_value(walk, value);
    if (!known)
        return ox_no_memory(err);
    if (!known->q) {
        struct ox_value *made[3] = {ox_walk_new(walk, value->name, "_quantized"),
                                    ox_walk_new(walk, value->name, "_scale"),
                                    ox_walk_new(walk, value->name, "_zero_point")};
        const char *name = ox_quant_name(walk->q, value->name, "_QuantizeLinear");
        if (!made[0] || !made[1] || !made[2] || !name ||
            !ox_walk_add(walk, "DynamicQuantizeLinear", "", name, &value, 1, made, 3))
            return ox_no_memory(err);
        known = ox_walk_value(walk, value);
        known->q = made[0];
        known->scale = made[1];
        known->zero = made[2];
    }
    *out = *known;
    return OX_OK;
}

/* The weights of a product or convolution. axis: of their scales. What they are added up in is the caller's to say. */
static struct ox_weight_wish weights_of(const struct ox_walk *walk, const struct ox_node *node,
                                        int axis)
{
    const struct ox_quant *q = walk->q;
    const unsigned rank = ox_value_stored(node->inputs[1])->rank;
    const struct ox_quant_options *options = q->options;
    const struct ox_cancel_plan *plan = &walk->plans[node->index];
    bool plain = options->compat_ort || options->accuracy == OX_QUANT_PLAIN || !plan->pays;
    return (struct ox_weight_wish){.type = options->weight_type,
                                   .symmetric = ox_dtype_is_signed(options->weight_type) ||
                                                options->symmetric_weights,
                                   .reduce = options->reduce_range,
                                   .axis = axis,
                                   .outputs = plain ? -1 : ox_cancel_axis(node, rank),
                                   .live = plan->live};
}

/* ---- From integers back to float ---------------------------------------------------------------------------------- */

/* sums (int32) * scale(x) * scale(w) -> out. */
static enum ox_status rescale(struct ox_walk *walk, const char *name, struct ox_value *sums,
                              const struct ox_walked *x, const struct ox_walked *w,
                              struct ox_value *out, struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    struct ox_value *real = ox_walk_new(walk, sums->name, "_cast_output");
    const char *cast_name = ox_quant_name(q, sums->name, "_cast");
    const char *scales_name =
        *name ? ox_quant_name(q, name, "_scales_mul")
              : ox_arena_printf(&q->arena, "%s_%s_mul", x->scale->name, w->scale->name);
    const char *mul_name = *name ? ox_quant_name(q, name, "_output_scale_mul") : "";
    if (!real || !cast_name || !scales_name || !mul_name)
        return ox_no_memory(err);
    struct ox_value *scale = ox_walk_new(walk, scales_name, ":0");
    struct ox_node *cast = ox_walk_add(walk, "Cast", "", cast_name, &sums, 1, &real, 1);
    struct ox_value *scales[] = {x->scale, w->scale}, *factors[] = {real, scale};
    if (!scale || !cast || !ox_node_set_int(cast, "to", OX_FLOAT32) ||
        !ox_walk_add(walk, "Mul", "", scales_name, scales, 2, &scale, 1) ||
        !ox_walk_add(walk, "Mul", "", mul_name, factors, 2, &out, 1))
        return ox_no_memory(err);
    return OX_OK;
}

/* ---- MatMul and Gemm ---------------------------------------------------------------------------------------------- */

/* x * w -> out, in integers. */
static enum ox_status multiply(struct ox_walk *walk, const char *name, struct ox_value *input,
                               const struct ox_walked *w, struct ox_value *out,
                               struct ox_error *err)
{
    struct ox_walked x;
    OX_TRY(quantize_input(walk, input, &x, err));
    struct ox_value *sums = ox_walk_new(walk, out->name, "_output_quantized");
    const char *q_name = *name ? ox_quant_name(walk->q, name, "_quant") : "";
    struct ox_value *inputs[] = {x.q, w->q, x.zero, w->zero};
    if (!sums || !q_name || !ox_walk_add(walk, "MatMulInteger", "", q_name, inputs, 4, &sums, 1))
        return ox_no_memory(err);
    return rescale(walk, q_name, sums, &x, w, out, err);
}

static bool is_empty(const struct ox_stored *stored)
{
    bool empty = false;
    for (unsigned i = 0; i < stored->rank; i++)
        empty |= stored->dims[i] == 0;
    return empty;
}

/* Whether weights can be had as integers for a product. */
static const char *no_product(const struct ox_quant *q, const struct ox_node *node)
{
    const struct ox_value *a = node->inputs[0], *b = node->inputs[1];
    if (!a || !b)
        return "it lacks an input";
    const struct ox_stored *weight = ox_value_stored(b);
    if (!weight)
        return "its second input is not constant";
    if (!ox_quant_is_float(weight->dtype))
        return "its weight is not of float32";
    if (!q->options->compat_ort && is_empty(weight))
        return "its weight is empty";
    if (ox_value_stored(a))
        return "both of its inputs are constant";
    enum ox_dtype dtype = ox_quant_dtype(q, a);
    if (dtype != OX_FLOAT32 && dtype != OX_UNDEFINED)
        return "DynamicQuantizeLinear takes float32 alone";
    return weight->dtype != OX_FLOAT32 ? "its weight is not of float32" : NULL;
}

/* By [..., terms, outputs]. */
static struct ox_saturation sums_of(const struct ox_walk *walk, const struct ox_node *node,
                                    const struct ox_stored *weight)
{
    struct ox_saturation sums = ox_saturation_of_columns(weight->rank, weight->dims);
    if (walk->q->options->processor == OX_QUANT_ANY)
        sums.largest = ox_saturation_likely(node->inputs[0]);
    return sums;
}

static enum ox_status walk_matmul(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                  struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    const struct ox_quant_options *options = q->options;
    *reason = no_product(q, node);
    if (*reason)
        return OX_OK;
    struct ox_walked *w;
    int rank = ox_quant_rank(q, node->inputs[1]);
    int axis = options->per_channel && rank > 0 ? rank - 1 : -1;
    /* MatMulInteger takes a vector of zero points for a matrix alone. */
    if (!options->compat_ort && rank != 2)
        axis = -1;
    const struct ox_stored *stored = ox_value_stored(node->inputs[1]);
    const struct ox_saturation sums = sums_of(walk, node, stored);
    struct ox_weight_wish wish = weights_of(walk, node, axis);
    wish.sums = &sums;
    OX_TRY(ox_walk_weight(walk, node->inputs[1], &wish, &w, reason, err));
    if (!w)
        return OX_OK;
    struct ox_walked weight = *w;
    OX_TRY(multiply(walk, node->name, node->inputs[0], &weight, node->outputs[0], err));
    ox_walk_drop(walk, node);
    return OX_OK;
}

/* A constant matrix turned around, as a new initializer. */
static enum ox_status transposed(struct ox_walk *walk, const struct ox_value *value,
                                 struct ox_value **out, struct ox_error *err)
{
    struct ox_tensor *turned;
    enum ox_dtype real;
    OX_TRY(ox_quant_turned(walk->q, value, &turned, &real, err));
    *out =
        ox_quant_add_init(walk->graph, ox_quant_name(walk->q, value->name, "_transposed"), turned);
    return *out ? OX_OK : ox_no_memory(err);
}

static const char *no_gemm(const struct ox_quant *q, const struct ox_node *node)
{
    if (ox_quant_float_attr(node, "alpha", 1) != 1 || ox_quant_float_attr(node, "beta", 1) != 1)
        return "its alpha or beta is not 1";
    if (ox_quant_int_attr(node, "transA", 0))
        return "its first input is transposed";
    return no_product(q, node);
}

/* Gemm is MatMul and Add: the product runs on integers, the addition in float. */
static enum ox_status walk_gemm(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    const struct ox_quant_options *options = q->options;
    *reason = no_gemm(q, node);
    if (*reason)
        return OX_OK;
    struct ox_value *b = node->inputs[1], *out = node->outputs[0];
    bool has_bias = node->n_inputs > 2 && node->inputs[2];
    struct ox_weight_wish wish = weights_of(walk, node, options->per_channel ? 1 : -1);
    struct ox_walked *w;
    if (ox_value_stored(b)->rank != 2) {
        *reason = "its weight is no matrix";
        return OX_OK;
    }
    if (ox_quant_int_attr(node, "transB", 0))
        OX_TRY(transposed(walk, b, &b, err));
    const struct ox_stored *stored = ox_value_stored(b);
    const struct ox_saturation sums = sums_of(walk, node, stored);
    wish.sums = &sums;
    wish.outputs = wish.outputs < 0 ? -1 : 1; /* of the matrix as it is now */
    OX_TRY(ox_walk_weight(walk, b, &wish, &w, reason, err));
    if (!w)
        return OX_OK;
    struct ox_walked weight = *w;
    struct ox_value *product = has_bias ? ox_walk_new(walk, out->name, "_MatMul") : out;
    const char *name = *node->name ? ox_quant_name(q, node->name, "_MatMul") : "";
    const char *add_name = *node->name ? ox_quant_name(q, node->name, "_Add") : "";
    if (!product || !name || !add_name)
        return ox_no_memory(err);
    OX_TRY(multiply(walk, name, node->inputs[0], &weight, product, err));
    if (has_bias) {
        struct ox_value *terms[] = {product, node->inputs[2]};
        if (!ox_walk_add(walk, "Add", "", add_name, terms, 2, &out, 1))
            return ox_no_memory(err);
    }
    ox_walk_drop(walk, node);
    return OX_OK;
}

/* ---- Conv --------------------------------------------------------------------------------------------------------- */

static enum ox_status add_bias(struct ox_walk *walk, const struct ox_node *node,
                               struct ox_value *scaled, struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    struct ox_value *out = node->outputs[0];
    int64_t rank = ox_value_stored(node->inputs[1])->rank;
    struct ox_tensor *shape;
    OX_TRY(ox_tensor_new(&shape, ox_env_budget(q->model->env), OX_INT64, 1, &rank, err));
    for (int64_t i = 0; i < rank; i++)
        ((int64_t *)shape->data)[i] = i == 1 ? -1 : 1;
    struct ox_value *dims =
        ox_quant_add_init(walk->graph, ox_quant_name(q, out->name, "_bias_reshape_shape"), shape);
    struct ox_value *bias = ox_walk_new(walk, out->name, "_bias_reshape_output");
    const char *name = ox_quant_name(q, out->name, "_bias_add");
    struct ox_value *reshaped[] = {node->inputs[2], dims}, *terms[] = {scaled, bias};
    if (!dims || !bias || !name || !ox_walk_value(walk, dims) ||
        !ox_walk_add(walk, "Reshape", "", "", reshaped, 2, &bias, 1) ||
        !ox_walk_add(walk, "Add", "", name, terms, 2, &out, 1))
        return ox_no_memory(err);
    return OX_OK;
}

/* Scales of the channels as [n, 1, 1 ...] and one zero point: what multiplies a convolution's output. */
static enum ox_status spread_scale(struct ox_walk *walk, const struct ox_value *value,
                                   struct ox_walked *weight, struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    struct ox_budget *budget = ox_env_budget(q->model->env);
    struct ox_tensor *flat = NULL, *unused = NULL, *column = NULL, *one = NULL, *zero = NULL;
    const unsigned rank = ox_value_stored(value)->rank;
    int64_t *dims = ox_arena_array(&q->arena, rank, sizeof *dims);
    struct ox_qparams first = weight->params;
    enum ox_status status = dims ? OX_OK : ox_no_memory(err);
    OX_TRY_CLEANUP(status);
    for (unsigned i = 0; i + 1 < rank; i++)
        dims[i] = i ? 1 : (int64_t)weight->params.n;
    first.axis = -1;
    first.n = 1;
    OX_TRY_CLEANUP(ox_qparams_tensors(&weight->params, budget, &flat, &unused, err));
    OX_TRY_CLEANUP(ox_tensor_view(&column, flat, rank - 1, dims, err));
    OX_TRY_CLEANUP(ox_qparams_tensors(&first, budget, &one, &zero, err));
    weight->scale = ox_quant_add_init(walk->graph, ox_quant_name(q, value->name, "_scale"),
                                      ox_tensor_ref(column));
    weight->zero = ox_quant_add_init(walk->graph, ox_quant_name(q, value->name, "_zero_point"),
                                     ox_tensor_ref(zero));
    if (!weight->scale || !weight->zero || !ox_walk_value(walk, weight->scale) ||
        !ox_walk_value(walk, weight->zero))
        status = ox_no_memory(err);
cleanup:
    ox_tensor_release(flat);
    ox_tensor_release(unused);
    ox_tensor_release(column);
    ox_tensor_release(one);
    ox_tensor_release(zero);
    return status;
}

static enum ox_status walk_conv(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    const struct ox_quant_options *options = q->options;
    *reason = no_product(q, node);
    if (*reason)
        return OX_OK;
    struct ox_walked *w, x;
    /* Not every runtime has ConvInteger for int8 weights: around 128 they say the same. Runtimes want one zero point for all
     * channels, but scales come after the convolution: a scale a channel costs nothing, asked for or not, and batch norm that was
     * folded in makes channels of very different sizes. That is worth more than zero points off the middle. */
    struct ox_weight_wish wish = weights_of(walk, node, -1);
    if (!options->compat_ort) {
        wish.type = OX_INT8;
        wish.symmetric = wish.as_unsigned = true;
        wish.axis = 0;
    }
    OX_TRY(ox_walk_weight(walk, node->inputs[1], &wish, &w, reason, err));
    if (!w)
        return OX_OK;
    struct ox_walked weight = *w;
    if (weight.params.axis == 0)
        OX_TRY(spread_scale(walk, node->inputs[1], &weight, err));
    OX_TRY(quantize_input(walk, node->inputs[0], &x, err));
    struct ox_value *out = node->outputs[0];
    bool has_bias = node->n_inputs > 2 && node->inputs[2];
    struct ox_value *sums = ox_walk_new(walk, out->name, "_output_quantized");
    struct ox_value *scaled = has_bias ? ox_walk_new(walk, out->name, "quant_scaled_output") : out;
    const char *name = *node->name ? ox_quant_name(q, node->name, "_quant") : "";
    struct ox_value *inputs[] = {x.q, weight.q, x.zero, weight.zero};
    if (!sums || !scaled || !name)
        return ox_no_memory(err);
    struct ox_node *conv = ox_walk_add(walk, "ConvInteger", "", name, inputs, 4, &sums, 1);
    if (!conv || !ox_quant_copy_attrs(conv, node, NULL))
        return ox_no_memory(err);
    OX_TRY(rescale(walk, name, sums, &x, &weight, scaled, err));
    if (has_bias)
        OX_TRY(add_bias(walk, node, scaled, err));
    ox_walk_drop(walk, node);
    return OX_OK;
}

/* ---- Gather and Transpose ----------------------------------------------------------------------------------------- */

/* The node itself, on integers. */
static enum ox_status move_integers(struct ox_walk *walk, struct ox_node *node,
                                    const struct ox_walked *from, struct ox_error *err)
{
    struct ox_value *out = node->outputs[0];
    struct ox_value *moved = ox_walk_new(walk, out->name, "_quantized");
    struct ox_value **inputs =
        ox_arena_copy(&walk->q->arena, node->inputs, node->n_inputs * sizeof *inputs);
    if (!moved || !inputs)
        return ox_no_memory(err);
    inputs[0] = from->q;
    struct ox_node *made = ox_walk_add(walk, node->op_type, node->domain, node->name, inputs,
                                       node->n_inputs, &moved, 1);
    if (!made || !ox_quant_copy_attrs(made, node, NULL))
        return ox_no_memory(err);
    struct ox_walked *to = ox_walk_value(walk, out);
    *to = (struct ox_walked){.q = moved, .scale = from->scale, .zero = from->zero};
    ox_walk_drop(walk, node);
    return OX_OK;
}

/* The table is 8 bits an element; what is gathered becomes float where float is needed. */
static enum ox_status walk_gather(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                  struct ox_error *err)
{
    struct ox_walked *table;
    const struct ox_stored *stored = ox_value_stored(node->inputs[0]);
    if (!stored || !ox_quant_is_float(stored->dtype)) {
        *reason = "what it gathers from is no constant of float32";
        return OX_OK;
    }
    if (!walk->q->options->compat_ort && ox_row_table_serves(node)) {
        OX_TRY(ox_walk_keep(walk, node, err));
        OX_TRY(ox_row_table_gather(walk->q, node, reason, err));
        if (!*reason)
            ox_walk_drop(walk, node);
        return OX_OK;
    }
    if (stored->dtype == OX_FLOAT16 && ox_graph_opset(walk->graph, "") < 19) {
        *reason = "DequantizeLinear takes float16 since opset 19";
        return OX_OK;
    }
    const struct ox_weight_wish wish = {.type = OX_UINT8, .axis = -1, .outputs = -1};
    OX_TRY(ox_walk_weight(walk, node->inputs[0], &wish, &table, reason, err));
    if (!table)
        return OX_OK;
    struct ox_walked from = *table;
    return move_integers(walk, node, &from, err);
}

static enum ox_status walk_transpose(struct ox_walk *walk, struct ox_node *node,
                                     const char **reason, struct ox_error *err)
{
    struct ox_walked *known = node->inputs[0] ? ox_walk_value(walk, node->inputs[0]) : NULL;
    if (!known || !known->q || known->params.axis > 0) {
        *reason = "its input is not quantized";
        return OX_OK;
    }
    struct ox_walked from = *known;
    return move_integers(walk, node, &from, err);
}

/* ---- Recurrent layers --------------------------------------------------------------------------------------------- */

static enum ox_status walk_recurrent(struct ox_walk *walk, struct ox_node *node,
                                     const char **reason, struct ox_error *err)
{
    OX_TRY(ox_walk_keep(walk, node, err));
    return ox_quant_shrink_recurrent(walk->q, node, reason, err);
}

/* The weights [directions, rows, columns] as int8 [directions, columns, rows], which com.microsoft's LSTM wants, scales
 * [directions, rows] or [directions]. */
static enum ox_status lstm_weight(struct ox_walk *walk, const struct ox_value *value,
                                  struct ox_value *out[3], const char **reason,
                                  struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    struct ox_budget *budget = ox_env_budget(q->model->env);
    struct ox_tensor *in, *flat = NULL, *rows = NULL, *turned = NULL;
    struct ox_tensor *scale = NULL, *zero = NULL, *scales = NULL, *zeros = NULL;
    struct ox_qparams params;
    enum ox_dtype real;
    OX_TRY(ox_quant_values(q, value, &in, &real, err));
    bool fine = q->options->per_channel;
    const int64_t d = in->dims[0], r = in->dims[1], c = in->dims[2];
    const int64_t folded[] = {d * (fine ? r : 1), fine ? c : r * c}, back[] = {d, c, r};
    const int64_t shape[] = {d, r};
    const struct ox_saturation sums = ox_saturation_of_rows((size_t)(d * r), (size_t)c);
    double widened = 1;
    struct ox_error why = {OX_OK, ""};
    enum ox_status status;
    OX_TRY_CLEANUP(ox_tensor_view(&flat, in, 2, folded, err));
    status = ox_qparams_of_tensor(&params, &q->arena, flat, 0, OX_INT8, real, true,
                                  q->options->reduce_range, q->options->compat_ort, &why);
    if (status == OX_INPUT) {
        *reason = ox_arena_printf(&q->arena, "its weight '%s' %s", value->name, why.message);
        status = *reason ? OX_OK : ox_no_memory(err);
        goto cleanup;
    }
    OX_TRY_CLEANUP(status);
    if (ox_saturation_avoided(q->options))
        OX_TRY_CLEANUP(ox_saturation_widen(&sums, 1, flat, &params, &q->arena, &widened, err));
    OX_TRY_CLEANUP(ox_quantize_tensor(&rows, budget, flat, &params, err));
    ox_quant_report_add_constant(q->report, value->name, "weight", flat, rows, &params);
    ox_quant_report_add_sums(q->report, ox_saturation_can(&sums, 1, rows->data), widened);
    OX_TRY_CLEANUP(ox_tensor_new(&turned, budget, OX_INT8, 3, back, err));
    for (int64_t i = 0; i < d * r; i++) {
        for (int64_t j = 0; j < c; j++)
            ((int8_t *)turned->data)[(i / r * c + j) * r + i % r] =
                ((const int8_t *)rows->data)[i * c + j];
    }
    OX_TRY_CLEANUP(ox_qparams_tensors(&params, budget, &scale, &zero, err));
    OX_TRY_CLEANUP(ox_tensor_view(&scales, scale, fine ? 2 : 1, shape, err));
    OX_TRY_CLEANUP(ox_tensor_view(&zeros, zero, fine ? 2 : 1, shape, err));
    out[0] = ox_quant_add_init(walk->graph, ox_quant_name(q, value->name, "_quantized"),
                               ox_tensor_ref(turned));
    out[1] = ox_quant_add_init(walk->graph, ox_quant_name(q, value->name, "_scale"),
                               ox_tensor_ref(scales));
    out[2] = ox_quant_add_init(walk->graph, ox_quant_name(q, value->name, "_zero_point"),
                               ox_tensor_ref(zeros));
    if (!out[0] || !out[1] || !out[2])
        status = ox_no_memory(err);
cleanup:
    ox_tensor_release(in);
    ox_tensor_release(flat);
    ox_tensor_release(rows);
    ox_tensor_release(turned);
    ox_tensor_release(scale);
    ox_tensor_release(zero);
    ox_tensor_release(scales);
    ox_tensor_release(zeros);
    return status;
}

/* By com.microsoft's DynamicQuantizeLSTM where that is allowed. */
static enum ox_status walk_lstm(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                struct ox_error *err)
{
    enum { X, W, R, N_PLAIN = 8, N_ALL = 12 };
    static const char *const but_layout[] = {"layout", NULL};
    const struct ox_quant_options *options = walk->q->options;
    bool layout = ox_quant_int_attr(node, "layout", 0) != 0;
    if (!options->compat_ort && (!options->contrib || layout))
        return walk_recurrent(walk, node, reason, err);
    struct ox_value *inputs[N_ALL] = {0}, *made[2][3] = {{0}};
    for (size_t i = 0; i < node->n_inputs && i < N_PLAIN; i++)
        inputs[i] = node->inputs[i];
    for (int i = W; i <= R; i++) {
        const struct ox_stored *stored = ox_value_stored(inputs[i]);
        if (!stored || stored->dtype != OX_FLOAT32 || stored->rank != 3) {
            *reason = "its weights are no constants of float32";
            return OX_OK;
        }
        OX_TRY(lstm_weight(walk, inputs[i], made[i - W], reason, err));
        if (*reason)
            return OX_OK;
    }
    for (int i = 0; i < 2; i++) {
        inputs[W + i] = made[i][0];
        inputs[N_PLAIN + 2 * i] = made[i][1];
        inputs[N_PLAIN + 2 * i + 1] = made[i][2];
    }
    OX_TRY(ox_walk_keep(walk, node, err));
    const char *name = *node->name ? ox_quant_name(walk->q, node->name, "_quant") : "";
    struct ox_node *lstm = name ? ox_walk_add(walk, "DynamicQuantizeLSTM", "com.microsoft", name,
                                              inputs, N_ALL, node->outputs, node->n_outputs)
                                : NULL;
    if (!lstm || !ox_quant_copy_attrs(lstm, node, but_layout) ||
        !ox_quant_set_opset(walk->q->model, "com.microsoft", 1))
        return ox_no_memory(err);
    ox_walk_drop(walk, node);
    return OX_OK;
}

/* ---- The walk ----------------------------------------------------------------------------------------------------- */

static const struct handler {
    const char *op_type;
    bool own; /* onnxruntime's quantizer leaves it alone */
    enum ox_status (*walk)(struct ox_walk *walk, struct ox_node *node, const char **reason,
                           struct ox_error *err);
} handlers[] = {
    {"MatMul", false, walk_matmul},       {"Gemm", false, walk_gemm},
    {"Conv", false, walk_conv},           {"Gather", false, walk_gather},
    {"Transpose", false, walk_transpose}, {"LSTM", false, walk_lstm},
    {"GRU", true, walk_recurrent},        {"RNN", true, walk_recurrent},
};

static const struct handler *find_handler(const struct ox_node *node)
{
    for (size_t i = 0; i < OX_COUNT(handlers) && !*node->domain; i++) {
        if (strcmp(handlers[i].op_type, node->op_type) == 0)
            return &handlers[i];
    }
    return NULL;
}

static enum ox_status walk_node(struct ox_walk *walk, struct ox_node *node, struct ox_error *err)
{
    const struct handler *handler = find_handler(node);
    if (!handler || (handler->own && walk->q->options->compat_ort))
        return ox_walk_keep(walk, node, err);
    const char *reason = ox_quant_unwanted(walk->q, node);
    if (!reason && ox_quant_is_before(walk->before_log, node->outputs[0]) &&
        handler->walk != walk_gather && handler->walk != walk_transpose)
        reason = "a logarithm follows, which makes much of small values";
    if (!reason)
        OX_TRY(handler->walk(walk, node, &reason, err));
    ox_quant_report_add_node(walk->q->report, node, NULL, reason);
    return reason ? ox_walk_keep(walk, node, err) : OX_OK;
}

static enum ox_status walk_graph(struct ox_quant *q, struct ox_graph *graph, struct ox_error *err)
{
    struct ox_walk walk;
    OX_TRY(ox_graph_sort(graph, err));
    OX_TRY(ox_walk_begin(&walk, q, graph, err));
    if (!q->options->compat_ort)
        OX_TRY(ox_quant_before_log(q, graph, &walk.before_log, err));
    for (size_t i = 0; i < walk.n_nodes && !q->options->compat_ort; i++)
        OX_TRY(ox_cancel_plan(q, graph->nodes[i], &walk.plans[i], err));
    for (size_t i = 0; i < walk.n_nodes; i++)
        OX_TRY(walk_node(&walk, graph->nodes[i], err));
    return ox_walk_end(&walk, err);
}

enum ox_status ox_quant_body(struct ox_quant *q, struct ox_graph *body, struct ox_error *err)
{
    enum ox_dtype type = q->options->weight_type;
    if ((type != OX_INT8 && type != OX_UINT8) || ox_graph_opset(q->model->graph, "") < 11)
        return OX_OK;
    return walk_graph(q, body, err);
}

static enum ox_status check_options(const struct ox_model *model,
                                    const struct ox_quant_options *options, struct ox_error *err)
{
    if (options->weight_type != OX_INT8 && options->weight_type != OX_UINT8)
        return ox_fail(err, OX_USAGE, "weights of %s cannot be used with dynamic quantization",
                       ox_dtype_name(options->weight_type));
    int64_t opset = model->graph ? ox_graph_opset(model->graph, "") : 0;
    if (opset && opset < 11)
        return ox_fail(err, OX_UNSUPPORTED,
                       "DynamicQuantizeLinear needs opset 11, the model is of %lld",
                       (long long)opset);
    return OX_OK;
}

/* Without samples nothing can be judged, so channels are evened out only where they are so uneven that one scale cannot serve them. */
static enum ox_status even_out(struct ox_quant *q, struct ox_error *err)
{
    const float least_ratio = 8;
    struct ox_equalized *changed;
    OX_TRY(ox_quant_equalize(q, least_ratio, &changed, err));
    return changed ? ox_quant_infer(q, err) : OX_OK;
}

enum ox_status ox_quantize_dynamic(struct ox_model *model, const struct ox_quant_options *options,
                                   struct ox_quant_report **report, struct ox_error *err)
{
    struct ox_quant q;
    struct ox_estimate estimate;
    enum ox_status status = ox_quant_init(&q, model, options, false, err);
    if (status == OX_OK)
        status = check_options(model, options, err);
    if (status == OX_OK)
        status = ox_quant_infer(&q, err);
    if (status == OX_OK)
        status = ox_estimate_begin(&estimate, &q, err);
    if (status == OX_OK && !options->compat_ort && options->accuracy != OX_QUANT_PLAIN)
        status = even_out(&q, err);
    if (status == OX_OK)
        status = walk_graph(&q, model->graph, err);
    for (size_t g = 0; g < q.n_graphs && status == OX_OK && !options->compat_ort; g++) {
        if (ox_quant_is_body(model->graphs[g]))
            status = ox_quant_body(&q, model->graphs[g], err);
    }
    if (status == OX_OK)
        status = ox_quant_finish(&q, err);
    if (status == OX_OK) {
        ox_estimate_end(&estimate, &q, true);
        ox_saturation_note(&q);
    }
    if (status == OX_OK && report) {
        *report = q.report;
        q.report = NULL;
    }
    ox_quant_release(&q);
    return status == OX_OK ? status : ox_fail_model(err, status, model);
}
