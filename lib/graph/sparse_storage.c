/* Initializers with many zeros stored as sparse ones, and back. */
#include <stdlib.h>
#include <string.h>

#include "model/graph_impl.h"
#include "model/model.h"

struct storage {
    struct ox_model *model;
    struct ox_graph *graph;
    size_t *n;
    struct ox_error *err;
};

static enum ox_status no_room(const struct storage *s)
{
    return ox_fail(s->err, OX_NO_MEMORY, "%s: out of memory", s->model->path);
}

/* ---- To sparse ----------------------------------------------------------------------------------------------------- */

static bool is_zero(const char *element, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (element[i])
            return false;
    return true;
}

static size_t count_others(const struct ox_tensor *tensor, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < tensor->n; i++)
        n += !is_zero((const char *)tensor->data + i * size, size);
    return n;
}

static void take_others(const struct ox_tensor *tensor, size_t size, struct ox_tensor *values,
                        struct ox_tensor *indices)
{
    size_t n = 0;
    for (size_t i = 0; i < tensor->n; i++) {
        const char *element = (const char *)tensor->data + i * size;
        if (is_zero(element, size))
            continue;
        memcpy((char *)values->data + n * size, element, size);
        ((int64_t *)indices->data)[n++] = (int64_t)i;
    }
}

static enum ox_status add_sparse(const struct storage *s, struct ox_value *value,
                                 const struct ox_tensor *tensor, size_t n)
{
    struct ox_graph *graph = s->graph;
    struct ox_budget *budget = ox_env_budget(s->model->env);
    struct ox_tensor *values = NULL, *indices = NULL;
    const int64_t dims[] = {(int64_t)n};
    enum ox_status status = ox_tensor_new(&values, budget, tensor->dtype, 1, dims, s->err);
    if (status == OX_OK)
        status = ox_tensor_new(&indices, budget, OX_INT64, 1, dims, s->err);
    struct ox_stored_sparse *sparse = ox_arena_alloc(&s->model->arena, sizeof *sparse);
    struct ox_stored_sparse **list =
        ox_arena_array(&s->model->arena, graph->n_sparse_inits + 1, sizeof(*list));
    if (status == OX_OK && sparse && list) {
        take_others(tensor, ox_dtype_size(tensor->dtype), values, indices);
        if (graph->n_sparse_inits)
            memcpy((void *)list, (const void *)graph->sparse_inits,
                   graph->n_sparse_inits * sizeof(*list));
        sparse->values = ox_model_store(s->model, value->name, values);
        sparse->indices = ox_model_store(s->model, NULL, indices);
        sparse->rank = tensor->rank;
        sparse->dims = ox_arena_copy(&s->model->arena, tensor->dims, tensor->rank * sizeof *dims);
    }
    ox_tensor_release(values);
    ox_tensor_release(indices);
    if (status != OX_OK)
        return status;
    if (!sparse || !list || !sparse->values || !sparse->indices || !sparse->dims)
        return no_room(s);
    ox_graph_drop_init(graph, value);
    list[graph->n_sparse_inits++] = sparse;
    graph->sparse_inits = list;
    value->sparse_init = sparse;
    ++*s->n;
    return OX_OK;
}

static enum ox_status make_sparse(const struct storage *s, struct ox_value *value, double share)
{
    const size_t size = ox_dtype_size(value->init->dtype);
    struct ox_tensor *tensor;
    OX_TRY(ox_stored_load(s->model, value->init, &tensor, s->err));
    const size_t n = count_others(tensor, size);
    const bool pays = tensor->n && (double)(tensor->n - n) >= share * (double)tensor->n &&
                      n * (size + sizeof(int64_t)) < tensor->n * size;
    enum ox_status status = pays ? add_sparse(s, value, tensor, n) : OX_OK;
    ox_tensor_release(tensor);
    return status;
}

/* Of whole bytes, as they lie in memory, and with dimensions. */
static bool may_be_sparse(const struct ox_value *value)
{
    const struct ox_stored *init = value ? value->init : NULL;
    return init && !value->is_input && !value->is_output && init->rank > 0 &&
           init->dtype != OX_STRING && init->dtype != OX_UNDEFINED &&
           (ox_dtype_is_real(init->dtype) || ox_dtype_is_integer(init->dtype));
}

enum ox_status ox_sparsify_initializers(struct ox_model *model, double share, size_t *n,
                                        struct ox_error *err)
{
    enum { FIRST_IR = 6 };
    *n = 0;
    if (model->ir_version < FIRST_IR)
        return ox_fail(err, OX_USAGE, "%s: IR version %lld has no sparse initializers; %d has",
                       model->path, (long long)model->ir_version, FIRST_IR);
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct storage s = {model, model->graphs[g], n, err};
        for (size_t i = s.graph->n_inits; i-- > 0;) {
            struct ox_value *value = ox_graph_value(s.graph, s.graph->inits[i]->name);
            if (value && value->init == s.graph->inits[i] && may_be_sparse(value))
                OX_TRY(make_sparse(&s, value, share));
        }
    }
    return OX_OK;
}

/* ---- To dense ------------------------------------------------------------------------------------------------------ */

static enum ox_status make_dense(const struct storage *s, struct ox_value *value)
{
    struct ox_datum *sparse = NULL, *dense = NULL;
    char shown[OX_SHOWN_BYTES];
    OX_TRY(ox_stored_sparse_load(s->model, value->sparse_init, &sparse, s->err));
    enum ox_status status = ox_datum_densify(&dense, ox_env_budget(s->model->env), sparse, s->err);
    if (status != OX_OK)
        ox_fail_context(s->err, status, "%s: '%s'", s->model->path,
                        ox_shown(shown, value->name, strlen(value->name)));
    ox_datum_release(sparse);
    if (status == OX_OK && !ox_graph_add_init(s->graph, value, dense->tensor))
        status = no_room(s);
    ox_datum_release(dense);
    if (status == OX_OK) {
        value->sparse_init = NULL;
        ++*s->n;
    }
    return status;
}

enum ox_status ox_densify_initializers(struct ox_model *model, size_t *n, struct ox_error *err)
{
    *n = 0;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct storage s = {model, model->graphs[g], n, err};
        size_t kept = 0;
        for (size_t i = 0; i < s.graph->n_sparse_inits; i++) {
            struct ox_stored_sparse *sparse = s.graph->sparse_inits[i];
            struct ox_value *value =
                sparse->values ? ox_graph_value(s.graph, sparse->values->name) : NULL;
            if (value && value->sparse_init == sparse && sparse->indices && !value->init)
                OX_TRY(make_dense(&s, value));
            else
                s.graph->sparse_inits[kept++] = sparse;
        }
        s.graph->n_sparse_inits = kept;
    }
    return OX_OK;
}
