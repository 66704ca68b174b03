/* MatMul, Gemm and Conv on integers, whose sums become float again. */
#include "graph/match.h"
#include "quant/dynamic.h"
#include "quant/quant.h"
#include "quant/row_table.h"

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

/* Rows of a matrix whose columns are worth something of their own. */
enum { LONG_COLUMN = 64 };

/* Scales of columns multiply the sums as that of a matrix would: they cost bytes alone, so columns that are long enough to make
 * little of them have theirs unasked. MatMulInteger takes a vector of zero points for a matrix alone. */
static int columns_axis(const struct ox_quant_options *options, const struct ox_stored *weight)
{
    if (options->compat_ort)
        return options->per_channel && weight->rank > 0 ? (int)weight->rank - 1 : -1;
    if (weight->rank != 2)
        return -1;
    return options->per_channel || weight->dims[0] >= LONG_COLUMN ? 1 : -1;
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

/* Whether zero points need not be said. */
static bool all_zero(const struct ox_qparams *params)
{
    bool zero = params->axis >= 0;
    for (size_t i = 0; zero && i < params->n; i++)
        zero = params->pairs[i].zero == 0;
    return zero;
}

/* Integers of a matrix turned around: a quarter of the bytes of its floats. */
static enum ox_status turn_codes(struct ox_walk *walk, const struct ox_value *value,
                                 struct ox_walked *x, struct ox_error *err)
{
    static const int64_t around[] = {1, 0};
    struct ox_value *turned = ox_walk_new(walk, value->name, "_quantized_transposed");
    struct ox_node *node =
        turned ? ox_walk_add(walk, "Transpose", "", "", &x->q, 1, &turned, 1) : NULL;
    x->q = turned;
    return node && ox_node_set_ints(node, "perm", around, 2) ? OX_OK : ox_no_memory(err);
}

/* x * w -> out, in integers. turned: x is transposed first. */
static enum ox_status multiply(struct ox_walk *walk, const char *name, struct ox_value *input,
                               bool turned, const struct ox_walked *w, struct ox_value *out,
                               struct ox_error *err)
{
    struct ox_walked x;
    OX_TRY(quantize_input(walk, input, &x, err));
    if (turned)
        OX_TRY(turn_codes(walk, input, &x, err));
    struct ox_value *sums = ox_walk_new(walk, out->name, "_output_quantized");
    const char *q_name = *name ? ox_quant_name(walk->q, name, "_quant") : "";
    struct ox_value *inputs[] = {x.q, w->q, x.zero, w->zero};
    const size_t n = !walk->q->options->compat_ort && all_zero(&w->params) ? 3 : 4;
    if (!sums || !q_name || !ox_walk_add(walk, "MatMulInteger", "", q_name, inputs, n, &sums, 1))
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
    if (!q->options->compat_ort && ox_quant_small_in_body(q, node->graph, b))
        return "its weight is too small to gain anything in a body; --nodes takes it";
    if (ox_value_stored(a))
        return "both of its inputs are constant";
    enum ox_dtype dtype = ox_quant_dtype(q, a);
    if (dtype != OX_FLOAT32 && dtype != OX_UNDEFINED)
        return "DynamicQuantizeLinear takes float32 alone";
    return weight->dtype != OX_FLOAT32 ? "its weight is not of float32" : NULL;
}

enum ox_status ox_dynamic_note_product(struct ox_walk *walk, const struct ox_node *node,
                                       struct ox_error *err)
{
    static const char *const products[] = {"MatMul", "Gemm", NULL};
    if (!ox_is_any_op(node, products) || !ox_input(node, 0) || !ox_input(node, 1))
        return OX_OK;
    struct ox_walked *weight = ox_walk_value(walk, node->inputs[1]);
    if (!weight)
        return ox_no_memory(err);
    const unsigned largest = ox_saturation_likely(node->inputs[0]);
    weight->largest = weight->largest > largest ? weight->largest : largest;
    return OX_OK;
}

/* By [..., terms, outputs]: those of a product's second input, which may have been turned around. */
static struct ox_saturation sums_of(const struct ox_walk *walk, const struct ox_node *node,
                                    const struct ox_stored *weight)
{
    struct ox_saturation sums = ox_saturation_of_columns(weight->rank, weight->dims);
    if (walk->q->options->processor == OX_QUANT_ANY)
        sums.largest = walk->values[node->inputs[1]->id].largest;
    return sums;
}

/* uint8, which runtimes add exactly, takes up to twice as long but loses nothing. Short columns have few pairs to choose a scale by, and
 * where the matrix is small that is a few microseconds against 3 dB of an MLP: it turns where any scale would grow. Larger ones do
 * where that costs more of them than the 1 dB that it costs most, the largest where it costs 3. Single outputs lose as often as they gain,
 * and what may be the integers of a table too (tied.h) is int8. */
static double turns_above(const struct ox_quant *q, const struct ox_stored *weight)
{
    enum { SMALL_MATRIX = LONG_COLUMN * 64, LARGE_MATRIX = 1 << 16, FEW_COLUMNS = 8 };
    static const double any = 1, more_than_most = 1.41, half_a_bit = 2;
    if (q->options->processor != OX_QUANT_ANY || weight->rank != 2)
        return 0;
    if (weight->dims[0] < LONG_COLUMN)
        return any;
    if (weight->dims[1] < FEW_COLUMNS)
        return 0;
    if (weight->dims[1] < SMALL_MATRIX / weight->dims[0])
        return any;
    if (ox_row_table_sized(q->model, weight->dims[1], weight->dims[0]))
        return 0;
    return weight->dims[1] <= LARGE_MATRIX / weight->dims[0] ? more_than_most : half_a_bit;
}

enum ox_status ox_dynamic_matmul(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                 struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    const struct ox_quant_options *options = q->options;
    *reason = no_product(q, node);
    if (*reason)
        return OX_OK;
    struct ox_walked *w;
    const struct ox_stored *stored = ox_value_stored(node->inputs[1]);
    const struct ox_saturation sums = sums_of(walk, node, stored);
    struct ox_weight_wish wish = weights_of(walk, node, columns_axis(options, stored));
    wish.sums = &sums;
    wish.turn_above = turns_above(q, stored);
    OX_TRY(ox_walk_weight(walk, node->inputs[1], &wish, &w, reason, err));
    if (!w)
        return OX_OK;
    struct ox_walked weight = *w;
    OX_TRY(multiply(walk, node->name, node->inputs[0], false, &weight, node->outputs[0], err));
    ox_walk_drop(walk, node);
    return OX_OK;
}

/* A constant matrix turned around, as an initializer that all who ask share. */
static enum ox_status transposed(struct ox_walk *walk, const struct ox_value *value,
                                 struct ox_value **out, struct ox_error *err)
{
    struct ox_tensor *turned;
    enum ox_dtype real;
    struct ox_walked *walked = ox_walk_value(walk, value);
    if (!walked)
        return ox_no_memory(err);
    *out = walked->turned;
    if (*out)
        return OX_OK;
    OX_TRY(ox_quant_turned(walk->q, value, &turned, &real, err));
    *out =
        ox_quant_add_init(walk->graph, ox_quant_name(walk->q, value->name, "_transposed"), turned);
    if (!*out)
        return ox_no_memory(err);
    walked->turned = *out;
    return OX_OK;
}

/* Factors of constants went into them when the model was prepared. */
static const char *no_gemm(const struct ox_quant *q, const struct ox_node *node)
{
    const bool compat = q->options->compat_ort;
    if (ox_quant_float_attr(node, "alpha", 1) != 1 ||
        (compat && ox_quant_float_attr(node, "beta", 1) != 1))
        return "its alpha or beta is not 1";
    if (compat && ox_quant_int_attr(node, "transA", 0))
        return "its first input is transposed";
    return no_product(q, node);
}

/* product + beta * c -> out. */
static enum ox_status add_term(struct ox_walk *walk, const struct ox_node *gemm, const char *name,
                               struct ox_value *product, struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    struct ox_value *term = gemm->inputs[2], *out = gemm->outputs[0];
    const float beta = ox_quant_float_attr(gemm, "beta", 1);
    if (beta != 1) {
        struct ox_tensor *factor;
        OX_TRY(ox_tensor_new(&factor, ox_env_budget(q->model->env), OX_FLOAT32, 0, NULL, err));
        *(float *)factor->data = beta;
        struct ox_value *scaled = ox_walk_new(walk, out->name, "_scaled_C");
        struct ox_value *factors[] = {
            term, ox_quant_add_init(walk->graph, ox_quant_name(q, out->name, "_beta"), factor)};
        if (!scaled || !factors[1] || !ox_walk_value(walk, factors[1]) ||
            !ox_walk_add(walk, "Mul", "", "", factors, 2, &scaled, 1))
            return ox_no_memory(err);
        term = scaled;
    }
    struct ox_value *terms[] = {product, term};
    return ox_walk_add(walk, "Add", "", name, terms, 2, &out, 1) ? OX_OK : ox_no_memory(err);
}

/* Gemm is MatMul and Add: the product runs on integers, the addition in float. */
enum ox_status ox_dynamic_gemm(struct ox_walk *walk, struct ox_node *node, const char **reason,
                               struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    const struct ox_quant_options *options = q->options;
    *reason = no_gemm(q, node);
    if (*reason)
        return OX_OK;
    struct ox_value *b = node->inputs[1], *out = node->outputs[0];
    const bool turned = ox_quant_int_attr(node, "transA", 0) != 0;
    const bool has_bias =
        node->n_inputs > 2 && node->inputs[2] && ox_quant_float_attr(node, "beta", 1) != 0;
    struct ox_walked *w;
    if (ox_value_stored(b)->rank != 2) {
        *reason = "its weight is no matrix";
        return OX_OK;
    }
    if (ox_quant_int_attr(node, "transB", 0))
        OX_TRY(transposed(walk, b, &b, err));
    const struct ox_stored *stored = ox_value_stored(b);
    struct ox_weight_wish wish = weights_of(walk, node, columns_axis(options, stored));
    const struct ox_saturation sums = sums_of(walk, node, stored);
    wish.sums = &sums;
    wish.turn_above = turns_above(q, stored);
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
    OX_TRY(multiply(walk, name, node->inputs[0], turned, &weight, product, err));
    if (has_bias)
        OX_TRY(add_term(walk, node, add_name, product, err));
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

enum ox_status ox_dynamic_conv(struct ox_walk *walk, struct ox_node *node, const char **reason,
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
