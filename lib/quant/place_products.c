/* Products and convolutions: whether they get integers, and how their weights and biases do. */
#include "graph/match.h"
#include "quant/place_own.h"

/* Why a heavy node stays in float; NULL. */
static const char *not_heavy(struct ox_place *place, const struct ox_node *node)
{
    const struct ox_value *x = node->inputs[0], *w = node->inputs[1];
    bool product = ox_is_op(node, "MatMul");
    if (!x || !w || !node->outputs[0])
        return "it lacks an input";
    if (ox_place_is_softmax_of_ones(place, x) || ox_place_is_softmax_of_ones(place, w))
        return "it takes a softmax of single elements, of which onnxruntime makes 0 in integers";
    if (!ox_place_can(place, x) || !ox_place_can(place, w))
        return "its inputs are not float32, or float16 before opset 19";
    if (!product && !ox_place_constant(place, w))
        return "its weight is not constant";
    if (ox_place_constant(place, x) && (!product || ox_place_constant(place, w)))
        return "its first input is constant";
    if (ox_place_handed_on(x) || ox_place_handed_on(w))
        return "its weight is state of a loop, which each turn would quantize anew";
    if (!ox_place_constant(place, x) && !ox_place_has_range(place, x))
        return "the calibration saw nothing of its input, or zeros alone";
    if (!ox_place_constant(place, w) && !ox_place_has_range(place, w))
        return "the calibration saw nothing of its second input, or zeros alone";
    if (!product && !ox_place_has_range(place, node->outputs[0]))
        return "the calibration saw nothing of its output, or zeros alone";
    if (ox_quant_small_in_body(place->q, place->graph, w))
        return "its weight is too small to gain anything in a body; --nodes takes it";
    return ox_quant_before_reason(&place->before, node);
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

/* The Add of a constant row that onnxruntime joins with the product into a Gemm, before it looks for integers: of matrices, and of
 * stacks of them where all sizes are known. Its integer Gemm asks for a bias of integers. NULL; `index` is the bias's. */
static struct ox_node *add_of_gemm(const struct ox_place *place, const struct ox_node *product,
                                   size_t *index)
{
    const struct ox_quant *q = place->q;
    const struct ox_stored *weight = ox_value_stored(product->inputs[1]);
    struct ox_node *add = ox_place_only_user(place, product->outputs[0]);
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
    const struct ox_stored *bias = ox_place_constant(place, row) ? ox_value_stored(row) : NULL;
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
    if (ox_is_op(node, "ConvTranspose") && ox_place_constant(place, w) &&
        (place->q->options->format == OX_QUANT_QOPERATOR || place->float_transposed)) {
        mark_weight(place, node, w);
        return OX_OK;
    }
    ox_place_activation(place, node->inputs[0]);
    if (ox_place_constant(place, w))
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
    if (!ox_is_op(node, "Gemm") || node->n_inputs < 3 ||
        !ox_place_constant(place, node->inputs[2]) || !bias_fits(place, w, node->inputs[2]))
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
    if (!mark || !mark->has_range || ox_place_has_range(place, out) || !w ||
        !ox_place_constant(place, w) || !ox_quant_is_float(ox_value_stored(w)->dtype))
        return OX_OK;
    OX_TRY(ox_quant_values(place->q, w, &values, &real, err));
    if (ox_qparams_extremes(values, -1, &low, &high) && low == 0 && high == 0)
        mark->range = (struct ox_qrange){0, 1};
    ox_tensor_release(values);
    return OX_OK;
}

enum ox_status ox_place_product(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    const char *reason = ox_quant_unwanted(place->q, node);
    enum ox_status status = OX_OK;
    bool finite = true;
    if (!reason) {
        OX_TRY(settle_zeros(place, node, err));
        reason = not_heavy(place, node);
    }
    for (size_t i = 0; i < 2 && !reason && finite; i++) {
        if (ox_place_constant(place, node->inputs[i]) &&
            !weights_finite(place, node->inputs[i], &finite, err, &status))
            return status;
    }
    if (!finite)
        reason = "its weight holds a NaN or an infinity";
    ox_quant_report_add_node(place->q->report, node, NULL, reason);
    return reason ? OX_OK : mark_heavy(place, node, err);
}

/* onnxruntime makes a Gemm of a product of matrices and any sum behind it, and has none on integers whose last term is computed: it then
 * dequantizes the weight in each run. */
static enum ox_status part_from_sum(struct ox_place *place, const struct ox_node *product,
                                    struct ox_error *err)
{
    struct ox_value *out = product->outputs[0];
    struct ox_node *add =
        ox_place_is_marked(place, product->inputs[0]) && !ox_place_is_marked(place, out)
            ? ox_place_only_user(place, out)
            : NULL;
    size_t index;
    if (!add || !ox_is_op(add, "Add") || add->n_inputs != 2 || add_of_gemm(place, product, &index))
        return OX_OK;
    const struct ox_value *term = add->inputs[add->inputs[0] == out];
    if (!term || ox_quant_rank(place->q, product->inputs[0]) > 2 ||
        ox_quant_rank(place->q, term) > 2)
        return OX_OK;
    return ox_quant_make_sum(place->q, add, err);
}

/* LeakyRelu that leaks nothing is Relu to all, but for onnxruntime where it looks for what clips by itself. */
static enum ox_status leak_nothing(struct ox_place *place, struct ox_node *relu,
                                   struct ox_error *err)
{
    relu->op_type = ox_arena_strdup(&place->q->model->arena, "LeakyRelu");
    return relu->op_type && ox_node_set_float(relu, "alpha", 0) ? OX_OK : ox_no_memory(err);
}

static struct ox_node *relu_behind(const struct ox_place *place, const struct ox_value *out)
{
    struct ox_node *relu = ox_place_only_user(place, out);
    return relu && ox_is_op(relu, "Relu") && !place->gone[relu->index] ? relu : NULL;
}

/* onnxruntime takes a product and its Relu for what an integer operator clips by itself, and leaves the product in float where no integers
 * follow. */
static enum ox_status part_from_relu(struct ox_place *place, const struct ox_node *product,
                                     struct ox_error *err)
{
    struct ox_node *relu = relu_behind(place, product->outputs[0]);
    if (!relu || ox_place_is_marked(place, relu->outputs[0]) ||
        !ox_place_only_user(place, relu->outputs[0]))
        return OX_OK;
    return leak_nothing(place, relu, err);
}

/* Integers some of which stand for what is below 0. */
static bool starts_below(struct ox_place *place, const struct ox_value *value)
{
    return ox_place_is_marked(place, value) && (place->q->options->symmetric_activation ||
                                                ox_place_sharing(place, value)->range.least < 0);
}

/* So it does of a Gemm whose integers behind Relu start below 0. Behind all else it is on integers and gives floats, which an activation
 * takes without another rounding. */
static enum ox_status part_from_activation(struct ox_place *place, const struct ox_node *gemm,
                                           struct ox_value *out, struct ox_error *err)
{
    if (!out || !ox_place_is_marked(place, gemm->inputs[0]) || ox_place_is_marked(place, out))
        return OX_OK;
    struct ox_node *relu = relu_behind(place, out);
    return relu && starts_below(place, relu->outputs[0]) ? leak_nothing(place, relu, err) : OX_OK;
}

enum ox_status ox_place_part_product(struct ox_place *place, const struct ox_node *node,
                                     struct ox_error *err)
{
    size_t index;
    if (ox_is_op(node, "Gemm"))
        return part_from_activation(place, node, node->outputs[0], err);
    if (!ox_is_op(node, "MatMul"))
        return OX_OK;
    const struct ox_node *add = add_of_gemm(place, node, &index);
    if (add)
        return part_from_activation(place, node, add->outputs[0], err);
    if (place->q->options->format == OX_QUANT_QDQ && ox_place_is_marked(place, node->inputs[0]) &&
        !ox_place_is_marked(place, node->outputs[0]))
        OX_TRY(part_from_relu(place, node, err));
    return part_from_sum(place, node, err);
}
