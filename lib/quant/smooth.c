/* SmoothQuant (Xiao et al., arXiv 2211.10438): channels of a normalization's output that are larger than others move into the weights of
 * the products behind it, which have a scale a column or take outliers better than activations. */
#include <math.h>
#include <string.h>

#include "quant/equalize.h"

static bool is_op(const struct ox_node *node, const char *op_type)
{
    return !*node->domain && strcmp(node->op_type, op_type) == 0;
}

/* A constant float32 vector of n elements. */
static bool is_vector(const struct ox_value *value, int64_t n)
{
    const struct ox_stored *stored = ox_value_stored(value);
    return stored && stored->dtype == OX_FLOAT32 && stored->rank == 1 && stored->dims[0] == n;
}

/* A product that takes the value on its left and a constant matrix on its right. *turned: [columns, n]. */
static bool is_product(struct ox_quant_use use, int64_t n, bool *turned)
{
    const struct ox_node *node = use.node;
    bool gemm = is_op(node, "Gemm");
    if (use.index != 0 || (!gemm && !is_op(node, "MatMul")) || node->n_inputs < 2 ||
        !node->inputs[1])
        return false;
    const struct ox_stored *w = ox_value_stored(node->inputs[1]);
    *turned = gemm && ox_quant_int_attr(node, "transB", 0);
    return w && w->dtype == OX_FLOAT32 && w->rank == 2 && w->dims[*turned] == n &&
           !(gemm && ox_quant_int_attr(node, "transA", 0));
}

/* What a normalization makes is read by products alone. */
static bool is_candidate(const struct ox_quant *q, const struct ox_quant_uses *uses,
                         const struct ox_node *node, int64_t *n)
{
    if (!is_op(node, "LayerNormalization") || node->n_inputs < 2 || node->n_outputs < 1 ||
        !node->inputs[1] || !node->outputs[0])
        return false;
    const struct ox_value *out = node->outputs[0];
    const struct ox_stored *scale = ox_value_stored(node->inputs[1]);
    *n = scale && scale->rank == 1 ? scale->dims[0] : 0;
    if (*n <= 0 || !is_vector(node->inputs[1], *n) || out->is_output || uses->captured[out->id] ||
        (node->n_inputs > 2 && node->inputs[2] && !is_vector(node->inputs[2], *n)) ||
        !ox_quant_n_uses(uses, out) || ox_quant_rank(q, out) < 2)
        return false;
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++) {
        bool turned;
        if (!is_product(uses->uses[i], *n, &turned))
            return false;
    }
    return true;
}

/* Input `index` of the node as a new constant, row or column or element c multiplied by factors[c], or divided. */
static enum ox_status scale_input(struct ox_quant *q, struct ox_node *node, size_t index, int axis,
                                  const float *factors, bool divide, struct ox_error *err)
{
    struct ox_tensor *old, *scaled;
    enum ox_dtype real;
    if (index >= node->n_inputs || !node->inputs[index])
        return OX_OK;
    OX_TRY(ox_quant_values(q, node->inputs[index], &old, &real, err));
    enum ox_status status =
        ox_tensor_new(&scaled, ox_env_budget(q->model->env), OX_FLOAT32, old->rank, old->dims, err);
    struct ox_qview view = ox_qview_of(old, axis);
    for (size_t k = 0; status == OX_OK && k < view.outer * view.n; k++) {
        float factor = divide ? 1 / factors[k % view.n] : factors[k % view.n];
        for (size_t i = k * view.inner; i < (k + 1) * view.inner; i++)
            ((float *)scaled->data)[i] = ((const float *)old->data)[i] * factor;
    }
    ox_tensor_release(old);
    if (status != OX_OK)
        return status;
    struct ox_value *value = ox_quant_add_init(node->graph, node->inputs[index]->name, scaled);
    if (!value)
        return ox_no_memory(err);
    node->inputs[index] = value;
    return OX_OK;
}

/* Largest magnitude of each row of the matrices that follow. */
static enum ox_status weights_most(struct ox_quant *q, const struct ox_quant_uses *uses,
                                   const struct ox_value *out, size_t n, float *most,
                                   struct ox_error *err)
{
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++) {
        struct ox_tensor *w;
        enum ox_dtype real;
        bool turned = false;
        is_product(uses->uses[i], (int64_t)n, &turned);
        OX_TRY(ox_quant_values(q, uses->uses[i].node->inputs[1], &w, &real, err));
        struct ox_qview view = ox_qview_of(w, turned);
        for (size_t k = 0; k < view.outer * view.n; k++) {
            for (size_t e = k * view.inner; e < (k + 1) * view.inner; e++)
                most[k % view.n] = fmaxf(most[k % view.n], fabsf(((const float *)w->data)[e]));
        }
        ox_tensor_release(w);
    }
    return OX_OK;
}

/* sqrt(activation / weight), their geometric mean taken out; powers of two, so that float results stay the same. false: they are
 * all one. */
static bool choose_factors(const struct ox_calibrated *seen, size_t n, float *factors)
{
    double sum = 0;
    bool some = false;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t c = 0; c < n; c++) {
            float most = fmaxf(fabsf(seen->stats.channels[c]), fabsf(seen->stats.channels[n + c]));
            double log = most > 0 && most < INFINITY && factors[c] > 0
                             ? log2(sqrt((double)most / (double)factors[c]))
                             : 0;
            if (pass == 0) {
                sum += log;
                continue;
            }
            factors[c] = (float)exp2(rint(log - sum / (double)n));
            some |= factors[c] != 1;
        }
    }
    return some;
}

enum ox_status ox_quant_smooth(struct ox_quant *q, const struct ox_calibration *calibration,
                               struct ox_equalized **changed, struct ox_error *err)
{
    struct ox_graph *graph = q->model->graph;
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        int64_t n;
        if (!is_candidate(q, &uses, node, &n))
            continue;
        const struct ox_value *out = node->outputs[0];
        const struct ox_calibrated *seen = ox_calibration_find(calibration, out->name);
        if (!seen || seen->stats.n_channels != (size_t)n)
            continue;
        float *factors = ox_arena_array(&q->arena, (size_t)n, sizeof *factors);
        struct ox_equalized *row = ox_arena_alloc(&q->arena, sizeof *row);
        if (!factors || !row)
            return ox_no_memory(err);
        OX_TRY(weights_most(q, &uses, out, (size_t)n, factors, err));
        if (!choose_factors(seen, (size_t)n, factors))
            continue;
        OX_TRY(scale_input(q, node, 1, 0, factors, true, err));
        OX_TRY(scale_input(q, node, 2, 0, factors, true, err));
        for (uint32_t k = uses.first[out->id]; k < uses.first[out->id + 1]; k++) {
            bool turned = false;
            is_product(uses.uses[k], n, &turned);
            OX_TRY(scale_input(q, uses.uses[k].node, 1, turned, factors, false, err));
        }
        *row = (struct ox_equalized){out->name, (size_t)n, factors, *changed};
        *changed = row;
        ox_quant_report_add_note(q->report, "what '%s' makes is smoothed", node->name);
    }
    return OX_OK;
}

/* The first of the node's inputs that are constants for each of n channels of what it makes; 0: it has none. */
static size_t first_of_channels(const struct ox_node *node, int64_t n)
{
    const bool norm = is_op(node, "LayerNormalization") || is_op(node, "RMSNormalization");
    if (node->n_inputs < 2 || !node->inputs[0] || !node->inputs[1])
        return 0;
    if (norm && (node->n_inputs < 3 || !node->inputs[2] || is_vector(node->inputs[2], n)))
        return is_vector(node->inputs[1], n);
    return is_op(node, "Mul") && !ox_value_stored(node->inputs[0]) && is_vector(node->inputs[1], n);
}

enum ox_status ox_quant_divide(struct ox_quant *q, const struct ox_quant_uses *uses,
                               struct ox_value *value, const float *factors, size_t n,
                               size_t n_readers, struct ox_value **out, struct ox_error *err)
{
    struct ox_node *maker = value->producer;
    const size_t first = maker && maker->n_outputs == 1 ? first_of_channels(maker, (int64_t)n) : 0;
    *out = value;
    if (first && !value->is_output && !uses->captured[value->id] &&
        ox_quant_n_uses(uses, value) == n_readers) {
        for (size_t i = first; i < maker->n_inputs; i++)
            OX_TRY(scale_input(q, maker, i, 0, factors, true, err));
        return OX_OK;
    }
    const int64_t dims[] = {(int64_t)n};
    struct ox_graph *graph = value->graph;
    struct ox_tensor *inverse;
    OX_TRY(ox_tensor_new(&inverse, ox_env_budget(q->model->env), OX_FLOAT32, 1, dims, err));
    for (size_t c = 0; c < n; c++)
        ((float *)inverse->data)[c] = 1 / factors[c];
    struct ox_value *terms[] = {
        value, ox_quant_add_init(graph, ox_quant_name(q, value->name, "_factors"), inverse)};
    *out = ox_graph_add_value(graph, ox_quant_name(q, value->name, "_divided"));
    return terms[1] && *out &&
                   ox_graph_add_node(graph, "Mul", "", ox_quant_name(q, value->name, "_Mul"), terms,
                                     2, out, 1)
               ? OX_OK
               : ox_no_memory(err);
}
