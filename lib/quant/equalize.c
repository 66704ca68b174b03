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

static bool is_layer(const struct ox_node *node, const struct ox_quant_uses *uses)
{
    if (*node->domain || node->n_inputs < 2 || !node->inputs[0] || !node->inputs[1])
        return false;
    const struct ox_stored *w = ox_value_stored(node->inputs[1]);
    if (!w || w->dtype != OX_FLOAT32 || ox_quant_n_uses(uses, node->inputs[1]) != 1 ||
        uses->captured[node->inputs[1]->id])
        return false;
    if (node->n_inputs > 2 && node->inputs[2]) {
        const struct ox_stored *b = ox_value_stored(node->inputs[2]);
        if (!b || b->dtype != OX_FLOAT32 || b->rank != 1 ||
            ox_quant_n_uses(uses, node->inputs[2]) != 1)
            return false;
    }
    if (strcmp(node->op_type, "Conv") == 0)
        return w->rank >= 3;
    return strcmp(node->op_type, "Gemm") == 0 && w->rank == 2 &&
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

enum ox_status ox_quant_equalize(struct ox_quant *q, float least_ratio,
                                 struct ox_equalized **changed, struct ox_error *err)
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
    }
    return OX_OK;
}

const struct ox_equalized *ox_equalized_of(const struct ox_equalized *rows, const char *name)
{
    while (rows && strcmp(rows->name, name) != 0)
        rows = rows->next;
    return rows;
}
