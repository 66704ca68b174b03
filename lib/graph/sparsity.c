/* Weights of which some of each few neighbours are zeros. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/match.h"
#include "graph/weight_list.h"
#include "model/value.h"

enum { MOST = 64 }; /* of neighbours that are looked at together, and of axes */

/* A tensor along an axis: element k of row o, i lies at (o * n + k) * inner + i. */
struct along {
    size_t outer, n, inner;
};

static struct along along(const struct ox_tensor *tensor, unsigned axis)
{
    struct along a = {1, (size_t)tensor->dims[axis], 1};
    for (unsigned d = 0; d < axis; d++)
        a.outer *= (size_t)tensor->dims[d];
    for (unsigned d = axis + 1; d < tensor->rank; d++)
        a.inner *= (size_t)tensor->dims[d];
    return a;
}

/* ---- Which are ---------------------------------------------------------------------------------------------------- */

static bool is_sparse_along(const struct ox_tensor *tensor, unsigned axis)
{
    enum { GROUP = 4, ZEROS = 2 };
    const struct along a = along(tensor, axis);
    if (!a.n || a.n % GROUP)
        return false;
    for (size_t o = 0; o < a.outer * (a.n / GROUP); o++) {
        for (size_t i = 0; i < a.inner; i++) {
            unsigned zeros = 0;
            for (size_t k = 0; k < GROUP; k++)
                zeros += ox_tensor_get_double(tensor, (o * GROUP + k) * a.inner + i) == 0;
            if (zeros < ZEROS)
                return false;
        }
    }
    return true;
}

enum ox_status ox_weight_list_sparse_axes(uint64_t *axes, const struct ox_weight_list *weights,
                                          size_t i, const struct ox_weight_stats *stats,
                                          struct ox_error *err)
{
    struct ox_tensor *tensor;
    *axes = 0;
    if (!stats->numeric || !stats->n || stats->n_zeros < stats->n - stats->n / 2)
        return OX_OK;
    OX_TRY(ox_weight_list_load(&tensor, weights, i, err));
    for (unsigned d = 0; d < tensor->rank && d < MOST; d++)
        if (is_sparse_along(tensor, d))
            *axes |= (uint64_t)1 << d;
    ox_tensor_release(tensor);
    return OX_OK;
}

/* ---- Making them so ------------------------------------------------------------------------------------------------- */

/* An initializer, and the axis along which nodes sum it; -1: not the same for all of them. */
struct weight {
    struct ox_value *value;
    int axis;
};

struct pruning {
    struct ox_model *model;
    unsigned keep, of;
    struct weight *weights;
    size_t n_weights;
    struct ox_pruned *told;
    struct ox_error *err;
};

/* The axis of input i that the node sums over; -1: none. */
static int summed_axis(const struct ox_node *node, size_t i, unsigned rank)
{
    if (ox_is_op(node, "Conv"))
        return i == 1 && rank > 2 ? 1 : -1;
    if (ox_is_op(node, "ConvTranspose"))
        return i == 1 && rank > 2 ? 0 : -1;
    if (ox_is_op(node, "Gemm") && i < 2 && rank == 2) {
        const bool turned = ox_attr_int(node, i ? "transB" : "transA", 0) != 0;
        return turned ? (int)i : 1 - (int)i;
    }
    if (ox_is_op(node, "MatMul") && i < 2 && rank > 0)
        return i == 0 || rank == 1 ? (int)rank - 1 : (int)rank - 2;
    return -1;
}

static void note_weight(struct pruning *p, const struct ox_node *node, size_t i)
{
    struct ox_value *value = (struct ox_value *)(uintptr_t)ox_value_origin(node->inputs[i]);
    const struct ox_stored *init = value->is_input ? NULL : value->init;
    const int axis = init ? summed_axis(node, i, init->rank) : -1;
    if (axis < 0 || !ox_dtype_is_real(init->dtype) || ox_dtype_size(init->dtype) < 2)
        return;
    for (size_t k = 0; k < p->n_weights; k++) {
        if (p->weights[k].value != value)
            continue;
        if (p->weights[k].axis != axis)
            p->weights[k].axis = -1;
        return;
    }
    p->weights[p->n_weights++] = (struct weight){value, axis};
}

static enum ox_status list_weights(struct pruning *p)
{
    size_t most = 0;
    for (size_t g = 0; g < p->model->n_graphs; g++)
        most += p->model->graphs[g]->n_inits;
    p->weights = calloc(most + 1, sizeof *p->weights);
    if (!p->weights)
        return ox_fail(p->err, OX_NO_MEMORY, "%s: out of memory", p->model->path);
    for (size_t g = 0; g < p->model->n_graphs; g++) {
        const struct ox_graph *graph = p->model->graphs[g];
        for (size_t n = 0; n < graph->n_nodes; n++)
            for (size_t i = 0; i < graph->nodes[n]->n_inputs && i < 2; i++)
                if (graph->nodes[n]->inputs[i])
                    note_weight(p, graph->nodes[n], i);
    }
    return OX_OK;
}

/* Of the `of` elements from `at` on, `step` apart; NaNs are the largest. */
static uint64_t prune_group(const struct pruning *p, struct ox_tensor *tensor, size_t at,
                            size_t step)
{
    const size_t size = ox_dtype_size(tensor->dtype);
    double left[MOST];
    uint64_t zeroed = 0;
    for (unsigned k = 0; k < p->of; k++) {
        left[k] = fabs(ox_tensor_get_double(tensor, at + k * step));
        left[k] = isnan(left[k]) ? INFINITY : left[k];
    }
    for (unsigned n = p->keep; n < p->of; n++) {
        unsigned least = 0;
        for (unsigned k = 1; k < p->of; k++)
            if (left[least] < 0 || (left[k] >= 0 && left[k] <= left[least]))
                least = k;
        zeroed += left[least] > 0;
        left[least] = -1;
        memset((char *)tensor->data + (at + least * step) * size, 0, size);
    }
    return zeroed;
}

static enum ox_status prune(struct pruning *p, const struct weight *weight)
{
    struct ox_tensor *tensor, *pruned = NULL;
    OX_TRY(ox_stored_load(p->model, weight->value->init, &tensor, p->err));
    const struct along a = along(tensor, (unsigned)weight->axis);
    const uint64_t before = p->told->n_zeroed;
    enum ox_status status = ox_tensor_new(&pruned, ox_env_budget(p->model->env), tensor->dtype,
                                          tensor->rank, tensor->dims, p->err);
    if (status == OX_OK) {
        memcpy(pruned->data, tensor->data, tensor->n * ox_dtype_size(tensor->dtype));
        for (size_t o = 0; o < a.outer * (a.n / p->of); o++)
            for (size_t i = 0; i < a.inner; i++)
                p->told->n_zeroed += prune_group(p, pruned, o * p->of * a.inner + i, a.inner);
        if (p->told->n_zeroed > before &&
            !ox_graph_add_init(weight->value->graph, weight->value, pruned))
            status = ox_fail(p->err, OX_NO_MEMORY, "%s: out of memory", p->model->path);
    }
    ox_tensor_release(pruned);
    ox_tensor_release(tensor);
    return status;
}

enum ox_status ox_prune_weights(struct ox_model *model, unsigned keep, unsigned of,
                                struct ox_pruned *told, struct ox_error *err)
{
    struct pruning p = {.model = model, .keep = keep, .of = of, .told = told, .err = err};
    *told = (struct ox_pruned){.n_weights = 0};
    if (keep < 1 || keep >= of || of > MOST)
        return ox_fail(err, OX_USAGE, "%s: %u of %u neighbours cannot be kept", model->path, keep,
                       of);
    enum ox_status status = list_weights(&p);
    for (size_t i = 0; i < p.n_weights && status == OX_OK; i++) {
        const struct weight *weight = &p.weights[i];
        const int64_t n = weight->axis < 0 ? 0 : weight->value->init->dims[weight->axis];
        const bool fits = n > 0 && n % (int64_t)of == 0;
        told->n_weights += fits;
        told->n_left += !fits;
        if (fits)
            status = prune(&p, weight);
    }
    free(p.weights);
    return status;
}
