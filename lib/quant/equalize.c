#include "quant/equalize.h"

#include <math.h>
#include <string.h>

/* A layer with constant weights, seen by its output or its input channels. */
struct layer {
    struct ox_node *node;
    struct ox_tensor *w;
    bool conv, columns; /* columns: weights [in, out] */
    size_t group;
};

/* Whether there are weights, all groups of output channels have as many, and a bias is one number a channel. */
static bool is_whole(const struct ox_node *node, const struct ox_stored *w,
                     const struct ox_stored *bias)
{
    bool conv = node->op_type[0] == 'C';
    int64_t outs = w->dims[!conv && !ox_quant_int_attr(node, "transB", 0)];
    int64_t group = conv ? ox_quant_int_attr(node, "group", 1) : 1;
    for (unsigned i = 0; i < w->rank; i++)
        if (w->dims[i] < 1)
            return false;
    return group > 0 && outs % group == 0 && (!bias || bias->dims[0] == outs);
}

static bool is_layer(const struct ox_node *node, const struct ox_quant_uses *uses)
{
    if (*node->domain || node->n_inputs < 2 || !node->inputs[0] || !node->inputs[1])
        return false;
    const struct ox_stored *w = ox_value_stored(node->inputs[1]), *bias = NULL;
    if (!w || w->dtype != OX_FLOAT32 || ox_quant_n_uses(uses, node->inputs[1]) != 1 ||
        uses->captured[node->inputs[1]->id])
        return false;
    if (node->n_inputs > 2 && node->inputs[2]) {
        bias = ox_value_stored(node->inputs[2]);
        if (!bias || bias->dtype != OX_FLOAT32 || bias->rank != 1 ||
            ox_quant_n_uses(uses, node->inputs[2]) != 1)
            return false;
    }
    if (strcmp(node->op_type, "Conv") == 0)
        return w->rank >= 3 && is_whole(node, w, bias);
    return strcmp(node->op_type, "Gemm") == 0 && w->rank == 2 && is_whole(node, w, bias) &&
           !ox_quant_int_attr(node, "transA", 0) && ox_quant_float_attr(node, "alpha", 1) == 1 &&
           ox_quant_float_attr(node, "beta", 1) == 1;
}

/* Scaling a channel by a positive number goes through it. */
static bool passes(const struct ox_node *node)
{
    static const char *const names[] = {"Relu",        "LeakyRelu",         "MaxPool",
                                        "AveragePool", "GlobalAveragePool", "Identity"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        if (!*node->domain && strcmp(node->op_type, names[i]) == 0)
            return node->n_inputs == 1;
    }
    return false;
}

enum { MOST_BETWEEN = 8 };

/* The layer that alone reads what this one makes, and the values on the way; NULL. A Flatten of [n, c, 1, 1] passes too. */
static struct ox_node *next_layer(const struct ox_quant *q, const struct ox_quant_uses *uses,
                                  const struct ox_node *node, struct ox_value **between,
                                  size_t *n_between)
{
    struct ox_value *value = node->outputs[0];
    for (*n_between = 0; *n_between < MOST_BETWEEN;) {
        if (!value || value->is_output || uses->captured[value->id] ||
            ox_quant_n_uses(uses, value) != 1)
            return NULL;
        between[(*n_between)++] = value;
        struct ox_quant_use use = uses->uses[uses->first[value->id]];
        if (use.index != 0)
            return NULL;
        if (is_layer(use.node, uses))
            return use.node;
        bool flat = strcmp(use.node->op_type, "Flatten") == 0 && !*use.node->domain &&
                    ox_quant_int_attr(use.node, "axis", 1) == 1;
        for (int i = 2; flat && i < ox_quant_rank(q, value); i++)
            flat = ox_quant_dim(q, value, (unsigned)i) == 1;
        if ((!flat && !passes(use.node)) || !use.node->outputs[0])
            return NULL;
        value = use.node->outputs[0];
    }
    return NULL;
}

static enum ox_status open_layer(struct ox_quant *q, struct ox_node *node, struct layer *out,
                                 struct ox_error *err)
{
    enum ox_dtype real;
    *out = (struct layer){.node = node, .conv = node->op_type[0] == 'C', .group = 1};
    if (out->conv)
        out->group = (size_t)ox_quant_int_attr(node, "group", 1);
    else
        out->columns = !ox_quant_int_attr(node, "transB", 0);
    struct ox_tensor *values;
    OX_TRY(ox_quant_values(q, node->inputs[1], &values, &real, err));
    /* A copy that may be changed. */
    enum ox_status status = ox_tensor_new(&out->w, ox_env_budget(q->model->env), OX_FLOAT32,
                                          values->rank, values->dims, err);
    if (status == OX_OK)
        memcpy(out->w->data, values->data, values->n * sizeof(float));
    ox_tensor_release(values);
    return status;
}

static size_t n_outputs(const struct layer *l)
{
    return (size_t)l->w->dims[l->columns];
}

static size_t n_inputs(const struct layer *l)
{
    return (size_t)l->w->dims[!l->columns] * l->group;
}

/* Calls for each weight of an output channel, or of an input channel: the largest magnitude, after multiplying by factor. */
static float touch(struct layer *l, bool output, size_t channel, float factor)
{
    float *w = l->w->data, most = 0;
    size_t outs = n_outputs(l), ins = (size_t)l->w->dims[!l->columns];
    size_t inner = l->w->n / outs / ins, outs_a_group = outs / l->group;
    size_t first = output ? channel : channel / ins * outs_a_group;
    size_t last = output ? channel + 1 : first + outs_a_group;
    for (size_t o = first; o < last; o++) {
        for (size_t i = output ? 0 : channel % ins; i < ins; i += output ? 1 : ins) {
            size_t at = l->columns ? i * outs + o : (o * ins + i) * inner;
            for (size_t k = 0; k < inner; k++) {
                w[at + k] *= factor;
                most = fmaxf(most, fabsf(w[at + k]));
            }
        }
    }
    return most;
}

static enum ox_status store(struct layer *l, struct ox_error *err)
{
    struct ox_graph *graph = l->node->graph;
    struct ox_value *w = ox_quant_add_init(graph, l->node->inputs[1]->name, ox_tensor_ref(l->w));
    if (!w)
        return ox_no_memory(err);
    l->node->inputs[1] = w;
    return OX_OK;
}

static enum ox_status scale_bias(struct ox_quant *q, struct ox_node *node, const float *factors,
                                 struct ox_error *err)
{
    struct ox_tensor *old, *scaled;
    enum ox_dtype real;
    if (node->n_inputs < 3 || !node->inputs[2])
        return OX_OK;
    OX_TRY(ox_quant_values(q, node->inputs[2], &old, &real, err));
    enum ox_status status =
        ox_tensor_new(&scaled, ox_env_budget(q->model->env), OX_FLOAT32, 1, old->dims, err);
    for (size_t i = 0; status == OX_OK && i < old->n; i++)
        ((float *)scaled->data)[i] = ((const float *)old->data)[i] / factors[i];
    ox_tensor_release(old);
    if (status != OX_OK)
        return status;
    struct ox_value *bias = ox_quant_add_init(node->graph, node->inputs[2]->name, scaled);
    if (!bias)
        return ox_no_memory(err);
    node->inputs[2] = bias;
    return OX_OK;
}

/* Factors sqrt(r1 / r2), their geometric mean taken out, powers of two so that nothing is rounded. */
static float choose_factors(struct layer *a, struct layer *b, size_t n, float *factors)
{
    double sum = 0;
    size_t used = 0;
    float least = INFINITY, most = 0;
    for (size_t c = 0; c < n; c++) {
        float r1 = touch(a, true, c, 1), r2 = touch(b, false, c, 1);
        factors[c] = r1 > 0 && r2 > 0 ? sqrtf(r1 / r2) : 0;
        if (factors[c] > 0) {
            sum += log2((double)factors[c]);
            used++;
        }
    }
    for (size_t c = 0; c < n; c++) {
        double log = factors[c] > 0 ? log2((double)factors[c]) - sum / (double)used : 0;
        factors[c] = (float)exp2(rint(log));
        least = fminf(least, factors[c]);
        most = fmaxf(most, factors[c]);
    }
    return most / least;
}

static enum ox_status note_values(struct ox_quant *q, struct ox_value *const *between, size_t n,
                                  const float *factors, size_t n_factors,
                                  struct ox_equalized **changed, struct ox_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct ox_equalized *row = ox_arena_alloc(&q->arena, sizeof *row);
        if (!row)
            return ox_no_memory(err);
        *row = (struct ox_equalized){between[i]->name, n_factors, factors, *changed};
        *changed = row;
    }
    return OX_OK;
}

static enum ox_status equalize_pair(struct ox_quant *q, struct ox_node *first,
                                    struct ox_node *second, struct ox_value *const *between,
                                    size_t n_between, float least_ratio,
                                    struct ox_equalized **changed, struct ox_error *err)
{
    struct layer a = {0}, b = {0};
    enum ox_status status;
    OX_TRY_CLEANUP(open_layer(q, first, &a, err));
    OX_TRY_CLEANUP(open_layer(q, second, &b, err));
    size_t n = n_outputs(&a);
    if (n != n_inputs(&b) || !n)
        goto cleanup;
    float *factors = ox_arena_array(&q->arena, n, sizeof *factors);
    OX_TRY_CLEANUP(factors ? OX_OK : ox_no_memory(err));
    if (!(choose_factors(&a, &b, n, factors) >= least_ratio))
        goto cleanup;
    for (size_t c = 0; c < n; c++) {
        touch(&a, true, c, 1 / factors[c]);
        touch(&b, false, c, factors[c]);
    }
    OX_TRY_CLEANUP(scale_bias(q, first, factors, err));
    OX_TRY_CLEANUP(store(&a, err));
    OX_TRY_CLEANUP(store(&b, err));
    OX_TRY_CLEANUP(note_values(q, between, n_between, factors, n, changed, err));
    ox_quant_report_add_note(q->report, "channels between '%s' and '%s' are evened out",
                             first->name, second->name);
cleanup:
    ox_tensor_release(a.w);
    ox_tensor_release(b.w);
    return status;
}

/* The one node that reads the value, but for its shape, as its first input; NULL. */
static const struct ox_node *only_reader(const struct ox_quant_uses *uses,
                                         const struct ox_value *value)
{
    const struct ox_node *reader = NULL;
    if (!value || value->is_output || uses->captured[value->id])
        return NULL;
    for (uint32_t i = uses->first[value->id]; i < uses->first[value->id + 1]; i++) {
        const struct ox_quant_use use = uses->uses[i];
        if (!*use.node->domain && strcmp(use.node->op_type, "Shape") == 0)
            continue;
        if (reader || use.index != 0 || *use.node->domain)
            return NULL;
        reader = use.node;
    }
    return reader;
}

/* The groups that a Reshape [batch, groups, rest] makes of channels, which lie one after the other in each; 0: it does not. */
static enum ox_status groups_of_reshape(struct ox_quant *q, const struct ox_node *reshape,
                                        size_t *groups, struct ox_error *err)
{
    struct ox_tensor *shape;
    const struct ox_value *wanted = reshape->n_inputs == 2 ? reshape->inputs[1] : NULL;
    const struct ox_stored *stored = ox_value_stored(wanted);
    *groups = 0;
    if (!stored || stored->dtype != OX_INT64 || stored->rank != 1 || stored->dims[0] != 3 ||
        ox_quant_int_attr(reshape, "allowzero", 0))
        return OX_OK;
    OX_TRY(ox_stored_load(q->model, stored, &shape, err));
    const int64_t *dims = shape->data, batch = ox_quant_dim(q, reshape->inputs[0], 0);
    if ((dims[0] == 0 || (dims[0] > 0 && dims[0] == batch)) && dims[1] > 0)
        *groups = (size_t)dims[1];
    ox_tensor_release(shape);
    return OX_OK;
}

/* In how many groups the value's channels are normalized apart; 0: they are not, or something else reads them. */
static enum ox_status normalized_groups(struct ox_quant *q, const struct ox_quant_uses *uses,
                                        const struct ox_value *value, size_t channels,
                                        size_t *groups, float *epsilon, struct ox_error *err)
{
    const struct ox_node *node = only_reader(uses, value);
    size_t n = channels;
    *groups = 0;
    if (node && strcmp(node->op_type, "Reshape") == 0) {
        OX_TRY(groups_of_reshape(q, node, &n, err));
        node = only_reader(uses, node->outputs[0]);
        if (!node || strcmp(node->op_type, "InstanceNormalization") != 0)
            return OX_OK;
    }
    if (!node)
        return OX_OK;
    if (strcmp(node->op_type, "GroupNormalization") == 0)
        n = (size_t)ox_quant_int_attr(node, "num_groups", 0);
    else if (strcmp(node->op_type, "InstanceNormalization") != 0)
        return OX_OK;
    *epsilon = ox_quant_float_attr(node, "epsilon", 1e-5f);
    if (n && channels % n == 0)
        *groups = n;
    return OX_OK;
}

/* What is normalized by itself may have any size before, so that of each group is made nearly that of the largest: one scale serves
 * all then. Groups whose variance epsilon is to tell from 0 would change by more than their rounding does now. Powers of two, by which
 * values are divided. false: all are one. */
static bool choose_sizes(const struct ox_stats *stats, size_t n, size_t groups, float epsilon,
                         float *factors)
{
    const float crest = 8, steps = 255; /* the peak over the deviation; of 8 bits */
    const size_t each = n / groups;
    float largest = 0;
    bool some = false;
    for (size_t i = 0; i < 2 * n; i++)
        largest = fmaxf(largest, fabsf(stats->channels[i]));
    for (size_t g = 0; g < groups; g++) {
        float most = 0, factor = 1;
        for (size_t c = g * each; c < (g + 1) * each; c++)
            most = fmaxf(most, fmaxf(fabsf(stats->channels[c]), fabsf(stats->channels[n + c])));
        if (most * largest > 4 * steps * crest * epsilon && largest < INFINITY)
            factor = most / largest;
        some |= factor < 1;
        for (size_t c = g * each; c < (g + 1) * each; c++)
            factors[c] = factor;
    }
    return some;
}

static enum ox_status even_normalized(struct ox_quant *q, const struct ox_calibration *calibration,
                                      const struct ox_quant_uses *uses, struct ox_node *conv,
                                      struct ox_equalized **changed, struct ox_error *err)
{
    struct ox_value *value = conv->outputs[0];
    const size_t n = (size_t)ox_value_stored(conv->inputs[1])->dims[0];
    const struct ox_calibrated *seen = ox_calibration_find(calibration, value->name);
    struct layer layer = {0};
    float epsilon, *factors;
    size_t groups;
    OX_TRY(normalized_groups(q, uses, value, n, &groups, &epsilon, err));
    if (!groups || !seen || seen->stats.n_channels != n)
        return OX_OK;
    factors = ox_arena_array(&q->arena, n, sizeof *factors);
    if (!factors)
        return ox_no_memory(err);
    if (!choose_sizes(&seen->stats, n, groups, epsilon, factors))
        return OX_OK;
    enum ox_status status;
    OX_TRY_CLEANUP(open_layer(q, conv, &layer, err));
    for (size_t c = 0; c < n; c++)
        touch(&layer, true, c, 1 / factors[c]);
    OX_TRY_CLEANUP(scale_bias(q, conv, factors, err));
    OX_TRY_CLEANUP(store(&layer, err));
    OX_TRY_CLEANUP(note_values(q, &value, 1, factors, n, changed, err));
    ox_quant_report_add_note(q->report, "channels that '%s' makes are evened out", conv->name);
cleanup:
    ox_tensor_release(layer.w);
    return status;
}

enum ox_status ox_quant_equalize(struct ox_quant *q, const struct ox_calibration *calibration,
                                 float least_ratio, struct ox_equalized **changed,
                                 struct ox_error *err)
{
    struct ox_graph *graph = q->model->graph;
    *changed = NULL;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_quant_uses uses;
        struct ox_value *between[MOST_BETWEEN];
        size_t n_between;
        if (graph->nodes[i]->n_outputs != 1 ||
            (graph->nodes[i]->op_type[0] != 'C' && graph->nodes[i]->op_type[0] != 'G'))
            continue;
        OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
        if (!is_layer(graph->nodes[i], &uses))
            continue;
        struct ox_node *second = next_layer(q, &uses, graph->nodes[i], between, &n_between);
        if (second)
            OX_TRY(equalize_pair(q, graph->nodes[i], second, between, n_between, least_ratio,
                                 changed, err));
        else if (calibration && graph->nodes[i]->op_type[0] == 'C')
            OX_TRY(even_normalized(q, calibration, &uses, graph->nodes[i], changed, err));
    }
    return OX_OK;
}

const struct ox_equalized *ox_equalized_of(const struct ox_equalized *rows, const char *name)
{
    while (rows && strcmp(rows->name, name) != 0)
        rows = rows->next;
    return rows;
}
