/* What is done to a model before it is calibrated and quantized. */
#include <math.h>
#include <string.h>

#include "graph/match.h"
#include "model/name.h"
#include "quant/quant.h"
#include "quant/unfold.h"

/* ---- Batch normalization into the convolution before it ----------------------------------------------------------- */

enum { BN_X, BN_SCALE, BN_BIAS, BN_MEAN, BN_VAR, N_BN };

/* The convolution that feeds only this node, all constants known; NULL. */
static struct ox_node *foldable(const struct ox_quant_uses *uses, const struct ox_node *norm)
{
    if (strcmp(norm->op_type, "BatchNormalization") != 0 || *norm->domain ||
        norm->n_inputs != N_BN || norm->n_outputs < 1 || !norm->outputs[0] || !norm->inputs[BN_X] ||
        ox_quant_int_attr(norm, "training_mode", 0))
        return NULL;
    for (size_t i = 1; i < norm->n_outputs; i++) {
        if (norm->outputs[i])
            return NULL;
    }
    for (int i = BN_SCALE; i < N_BN; i++) {
        const struct ox_stored *stored = ox_value_stored(norm->inputs[i]);
        if (!stored || stored->dtype != OX_FLOAT32 || stored->rank != 1)
            return NULL;
    }
    const struct ox_value *x = norm->inputs[BN_X];
    struct ox_node *conv = x->producer;
    if (!conv || *conv->domain || x->is_output || uses->captured[x->id] ||
        ox_quant_n_uses(uses, x) != 1 || conv->n_inputs < 2 || !conv->inputs[1])
        return NULL;
    bool transposed = strcmp(conv->op_type, "ConvTranspose") == 0;
    if (strcmp(conv->op_type, "Conv") != 0 &&
        (!transposed || ox_quant_int_attr(conv, "group", 1) != 1))
        return NULL;
    const struct ox_stored *weight = ox_value_stored(conv->inputs[1]);
    const struct ox_stored *bias = conv->n_inputs > 2 ? ox_value_stored(conv->inputs[2]) : NULL;
    bool has_bias = conv->n_inputs > 2 && conv->inputs[2];
    if (!weight || weight->dtype != OX_FLOAT32 || weight->rank < 3 ||
        weight->dims[transposed] != ox_value_stored(norm->inputs[BN_SCALE])->dims[0] ||
        (has_bias && (!bias || bias->dtype != OX_FLOAT32 || bias->rank != 1 ||
                      bias->dims[0] != weight->dims[transposed])))
        return NULL;
    return conv;
}

/* w[..., c, ...] *= factor[c]; bias[c] = (bias[c] - mean[c]) * factor[c] + shift[c]. */
static enum ox_status fold_norm(struct ox_quant *q, struct ox_node *conv, struct ox_node *norm,
                                struct ox_error *err)
{
    struct ox_tensor *params[N_BN] = {0}, *weight = NULL, *old_bias = NULL;
    struct ox_tensor *scaled = NULL, *bias = NULL;
    struct ox_budget *budget = ox_env_budget(q->model->env);
    enum ox_dtype real;
    enum ox_status status = OX_OK;
    const double epsilon = (double)ox_quant_float_attr(norm, "epsilon", 1e-5f);
    int axis = strcmp(conv->op_type, "ConvTranspose") == 0;
    for (int i = BN_SCALE; i < N_BN; i++)
        OX_TRY_CLEANUP(ox_quant_values(q, norm->inputs[i], &params[i], &real, err));
    OX_TRY_CLEANUP(ox_quant_values(q, conv->inputs[1], &weight, &real, err));
    if (conv->n_inputs > 2 && conv->inputs[2])
        OX_TRY_CLEANUP(ox_quant_values(q, conv->inputs[2], &old_bias, &real, err));
    OX_TRY_CLEANUP(ox_tensor_new(&scaled, budget, OX_FLOAT32, weight->rank, weight->dims, err));
    OX_TRY_CLEANUP(ox_tensor_new(&bias, budget, OX_FLOAT32, 1, &weight->dims[axis], err));
    struct ox_qview view = ox_qview_of(weight, axis);
    for (size_t k = 0; k < view.outer * view.n; k++) {
        size_t c = k % view.n;
        double factor = (double)((float *)params[BN_SCALE]->data)[c] /
                        sqrt((double)((float *)params[BN_VAR]->data)[c] + epsilon);
        for (size_t i = k * view.inner; i < (k + 1) * view.inner; i++)
            ((float *)scaled->data)[i] = (float)((double)((float *)weight->data)[i] * factor);
        double before = old_bias ? (double)((float *)old_bias->data)[c] : 0;
        ((float *)bias->data)[c] =
            (float)((before - (double)((float *)params[BN_MEAN]->data)[c]) * factor +
                    (double)((float *)params[BN_BIAS]->data)[c]);
    }
    struct ox_value *inputs[3] = {conv->inputs[0]};
    inputs[1] = ox_quant_add_init(conv->graph, conv->inputs[1]->name, ox_tensor_ref(scaled));
    inputs[2] = ox_quant_add_init(conv->graph, norm->inputs[BN_BIAS]->name, ox_tensor_ref(bias));
    struct ox_node *made = inputs[1] && inputs[2]
                               ? ox_graph_add_node(conv->graph, conv->op_type, "", conv->name,
                                                   inputs, 3, norm->outputs, 1)
                               : NULL;
    if (!made || !ox_quant_copy_attrs(made, conv, NULL))
        status = ox_no_memory(err);
cleanup:
    for (int i = 0; i < N_BN; i++)
        ox_tensor_release(params[i]);
    ox_tensor_release(weight);
    ox_tensor_release(old_bias);
    ox_tensor_release(scaled);
    ox_tensor_release(bias);
    return status;
}

static enum ox_status fold_norms(struct ox_quant *q, struct ox_graph *graph, struct ox_error *err)
{
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    size_t n = graph->n_nodes;
    bool *gone = ox_arena_array(&q->arena, 2 * n + 1, sizeof *gone);
    if (!gone)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        struct ox_node *norm = graph->nodes[i], *conv = foldable(&uses, norm);
        if (!conv)
            continue;
        OX_TRY(fold_norm(q, conv, norm, err));
        gone[conv->index] = gone[norm->index] = true;
    }
    ox_graph_remove_nodes(graph, gone);
    return ox_graph_sort(graph, err);
}

/* ---- Gemm's factors into its constants ---------------------------------------------------------------------------- */

/* The constant times the factor, of its own type. */
static enum ox_status multiplied(struct ox_quant *q, const struct ox_value *value, float factor,
                                 struct ox_tensor **out, struct ox_error *err)
{
    struct ox_budget *budget = ox_env_budget(q->model->env);
    struct ox_tensor *values = NULL, *product = NULL, *half = NULL;
    enum ox_dtype real;
    enum ox_status status = OX_OK;
    OX_TRY_CLEANUP(ox_quant_values(q, value, &values, &real, err));
    OX_TRY_CLEANUP(ox_tensor_new(&product, budget, OX_FLOAT32, values->rank, values->dims, err));
    for (size_t i = 0; i < values->n; i++)
        ((float *)product->data)[i] = ((const float *)values->data)[i] * factor;
    if (real == OX_FLOAT16) {
        OX_TRY_CLEANUP(ox_tensor_new(&half, budget, real, values->rank, values->dims, err));
        ox_elements_convert(real, half->data, OX_FLOAT32, product->data, values->n, false);
    }
    *out = ox_tensor_ref(half ? half : product);
cleanup:
    ox_tensor_release(values);
    ox_tensor_release(product);
    ox_tensor_release(half);
    return status;
}

static enum ox_status fold_factor(struct ox_quant *q, struct ox_node *gemm, const char *name,
                                  size_t index, struct ox_error *err)
{
    const float factor = ox_quant_float_attr(gemm, name, 1);
    struct ox_value *value = index < gemm->n_inputs ? gemm->inputs[index] : NULL;
    const struct ox_stored *stored = ox_value_stored(value);
    if (factor == 1 || !isfinite(factor) ||
        (value && (!stored || !ox_quant_is_float(stored->dtype))))
        return OX_OK;
    if (value) {
        struct ox_tensor *product;
        OX_TRY(multiplied(q, value, factor, &product, err));
        gemm->inputs[index] = ox_quant_add_init(gemm->graph, value->name, product);
        if (!gemm->inputs[index])
            return ox_no_memory(err);
    }
    return ox_node_set_float(gemm, name, 1) ? OX_OK : ox_no_memory(err);
}

/* onnxruntime's integer Gemm takes no beta, and wants alpha in the scale of its bias. */
static enum ox_status fold_factors(struct ox_quant *q, struct ox_graph *graph, struct ox_error *err)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        if (*node->domain || strcmp(node->op_type, "Gemm") != 0 || node->n_inputs < 2 ||
            !node->inputs[1])
            continue;
        OX_TRY(fold_factor(q, node, "alpha", 1, err));
        OX_TRY(fold_factor(q, node, "beta", 2, err));
    }
    return OX_OK;
}

/* ---- The opset that the forms need -------------------------------------------------------------------------------- */

static int64_t needed_opset(const struct ox_quant_options *options)
{
    if (options->weight_only)
        return options->contrib ? 8 : 21; /* sums that broadcast; blocks */
    if (ox_dtype_bits(options->weight_type) != 8 || ox_dtype_bits(options->activation_type) != 8)
        return 21;
    return options->per_channel ? 13 : 11;
}

/* onnxruntime raises a model of 16-bit types, and one from before there was QuantizeLinear. */
static int64_t opset_of_ort(const struct ox_model *model, const struct ox_quant_options *options)
{
    const int64_t needed = needed_opset(options);
    return needed == 21 ? needed : ox_graph_opset(model->graph, "") < 10 ? 11 : 1;
}

static enum ox_status raise_opset(struct ox_model *model, int64_t needed, struct ox_error *err)
{
    struct ox_opset_goal goal = {"", needed};
    int64_t opset = ox_graph_opset(model->graph, "");
    if (!opset || opset >= goal.version)
        return OX_OK;
    struct ox_conversion *conversion = NULL;
    enum ox_status status = ox_convert_opset(&conversion, model, &goal, 1, err);
    if (status == OX_OK && conversion && ox_conversion_blocked(conversion)) {
        const struct ox_convert_note *note = ox_conversion_at(conversion, 0);
        for (size_t i = 1; i < ox_conversion_count(conversion) && !note->blocked; i++)
            note = ox_conversion_at(conversion, i);
        status = ox_fail(err, OX_UNSUPPORTED,
                         "these types need opset %lld, to which the model of opset %lld cannot be "
                         "converted: %s (%s): %s",
                         (long long)goal.version, (long long)opset, note->node, note->op_type,
                         note->reason);
    }
    ox_conversion_release(conversion);
    return status;
}

/* ---- Weights that are stored turned around ------------------------------------------------------------------------ */

static bool is_weight_of_products(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    static const char *const products[] = {"Gemm", "MatMul", NULL};
    if (value->is_output || uses->captured[value->id])
        return false;
    for (uint32_t i = uses->first[value->id]; i < uses->first[value->id + 1]; i++) {
        const struct ox_quant_use *use = &uses->uses[i];
        if (use->index != 1 || !ox_is_any_op(use->node, products))
            return false;
    }
    return true;
}

/* Adds up what Transpose makes of weights that something else reads too, as the table of a language model is the weight of its last
 * product: as a weight it becomes integers, which may be the table's, as what a node makes it would not. */
static enum ox_status add_turned_weights(struct ox_quant *q, struct ox_graph *graph,
                                         uint64_t *bytes, struct ox_error *err)
{
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        const struct ox_stored *stored = ox_is_op(node, "Transpose") && ox_input(node, 0)
                                             ? ox_value_stored(node->inputs[0])
                                             : NULL;
        uint64_t more = stored ? ox_dtype_size(stored->dtype) : 0;
        for (unsigned d = 0; stored && d < stored->rank; d++) {
            if (OX_MUL_OVERFLOWS(more, (uint64_t)stored->dims[d], &more))
                return OX_OK;
        }
        if (more && is_weight_of_products(&uses, node->outputs[0]) &&
            OX_ADD_OVERFLOWS(*bytes, more, bytes))
            return OX_OK;
    }
    return OX_OK;
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

enum ox_status ox_quantize_prepare(struct ox_model *model, const struct ox_quant_options *options,
                                   struct ox_error *err)
{
    /* No runtime pads integers between Q and DQ: convolutions do. Nor does one fold factors and sums into weights behind DQ. */
    static const char *const passes[] = {
        "part-products", "fold-constants", "drop-identities", "late-squeeze", "fold-batch-norm",
        "fold-padding",  "name-gates",     "merge-equal",     "drop-dead",    "widen-halves"};
    /* Blocks of weights serve products of halves as they are. */
    struct ox_rewrite_plan plan = {.level = 2,
                                   .passes = passes,
                                   .n_passes = OX_COUNT(passes) - options->weight_only,
                                   .own_forms = true,
                                   .fold_bytes = ox_fold_bytes(model)};
    struct ox_quant q;
    enum ox_status status = ox_quant_init(&q, model, options, true, err);
    if (status == OX_OK)
        status = raise_opset(
            model, options->compat_ort ? opset_of_ort(model, options) : needed_opset(options), err);
    if (status == OX_OK && !options->compat_ort && model->n_functions) {
        size_t n_calls; /* what stands in a function can then be calibrated like all else */
        status = ox_inline_functions(model, &n_calls, err);
    }
    for (size_t g = 0; g < model->n_graphs && status == OX_OK && !options->compat_ort; g++) {
        if (model->graphs[g]->function)
            continue;
        status = ox_quant_widen_weights(&q, model->graphs[g], err);
        if (status == OX_OK)
            status = add_turned_weights(&q, model->graphs[g], &plan.fold_bytes, err);
    }
    if (status == OX_OK && !options->compat_ort)
        status = ox_quant_keep_origins(&q, err);
    if (status == OX_OK && !options->compat_ort) {
        status = ox_rewrite_model(model, &plan, NULL, err);
        for (size_t g = 0; g < model->n_graphs && status == OX_OK; g++) {
            if (model->graphs[g]->function)
                continue;
            status = fold_norms(&q, model->graphs[g], err);
            if (status == OX_OK)
                status = fold_factors(&q, model->graphs[g], err);
            if (status == OX_OK)
                status = ox_quant_share_sizes(&q, model->graphs[g], err);
        }
        if (status == OX_OK)
            status = ox_quant_drop_inits(&q, err);
    }
    ox_quant_release(&q);
    return status == OX_OK ? status : ox_fail_model(err, status, model);
}
