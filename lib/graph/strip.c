/* A model without its weights: each large constant is made by ConstantOfShape of its mean, which keeps numbers within their ranges, so that
 * the rest of the model is shown and run as it was. Shapes and indices are no weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/cost/cost.h"
#include "schema/schema.h"

enum { DEFAULT_THRESHOLD = 1024 };

static const char fill_op[] = "ConstantOfShape";

struct strip {
    struct ox_model *model;
    struct ox_weight_list *list;
    size_t at; /* in the list, whose order is that of the graphs */
    uint64_t threshold;
    struct ox_stripped *told;
    struct ox_error *err;
};

static enum ox_status no_memory(const struct strip *s)
{
    return ox_fail(s->err, OX_NO_MEMORY, "%s: out of memory", s->model->path);
}

/* The tensor's place in the list. */
static size_t place_of(struct strip *s, const struct ox_stored *stored)
{
    const size_t n = ox_weight_list_count(s->list);
    for (size_t i = 0; i < n; i++, s->at++)
        if (ox_weight_list_stored(s->list, s->at % n) == stored)
            return s->at++ % n;
    return n;
}

static enum ox_status mean_of(struct strip *s, const struct ox_stored *stored,
                              struct ox_tensor **one)
{
    static const int64_t dims[] = {1};
    struct ox_weight_stats stats;
    OX_TRY(ox_weight_list_stats(&stats, s->list, place_of(s, stored), NULL, 0, s->err));
    OX_TRY(ox_tensor_new(one, ox_env_budget(s->model->env), stored->dtype, 1, dims, s->err));
    const double mean = isfinite(stats.mean) ? stats.mean : 0;
    const double value = ox_dtype_is_float(stored->dtype) ? mean : nearbyint(mean);
    ox_elements_convert(stored->dtype, (*one)->data, OX_FLOAT64, &value, 1, true);
    return OX_OK;
}

/* Its shape as the output of a Constant, which bodies of functions may have too. */
static enum ox_status add_shape(struct strip *s, struct ox_graph *graph,
                                const struct ox_stored *stored, const char *name,
                                struct ox_value **shape)
{
    const int64_t dims[] = {stored->rank};
    struct ox_tensor *tensor;
    struct ox_strbuf text = {0};
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(s->model->env), OX_INT64, 1, dims, s->err));
    memcpy(tensor->data, stored->dims, stored->rank * sizeof *stored->dims);
    ox_strbuf_printf(&text, "%s_shape", name);
    *shape = text.failed ? NULL : ox_graph_add_value(graph, text.data);
    ox_strbuf_release(&text);
    struct ox_node *node =
        *shape ? ox_graph_add_node(graph, "Constant", "", (*shape)->name, NULL, 0, shape, 1) : NULL;
    const bool good = node && ox_node_set_tensor(node, "value", tensor);
    ox_tensor_release(tensor);
    return good ? OX_OK : no_memory(s);
}

static enum ox_status make_by_fill(struct strip *s, struct ox_value *value,
                                   const struct ox_stored *stored)
{
    struct ox_graph *graph = value->graph;
    struct ox_tensor *one = NULL;
    struct ox_value *shape;
    struct ox_node *node = NULL;
    enum ox_status status = mean_of(s, stored, &one);
    if (status == OX_OK)
        status = add_shape(s, graph, stored, value->name, &shape);
    if (status == OX_OK)
        node = ox_graph_add_node(graph, fill_op, "", value->name, &shape, 1, &value, 1);
    if (status == OX_OK && !(node && ox_node_set_tensor(node, "value", one)))
        status = no_memory(s);
    ox_tensor_release(one);
    return status;
}

/* Whether it is so large that it goes, and may; what may not is counted. */
static bool goes(struct strip *s, const struct ox_graph *graph, const struct ox_value *value,
                 const struct ox_stored *stored)
{
    const struct ox_schema *fill = ox_schema_find("", fill_op, ox_graph_opset(graph, ""));
    uint64_t bytes = 0;
    size_t n;
    if (!ox_dims_count(stored->rank, stored->dims, &n) ||
        !ox_dtype_packed_bytes(stored->dtype, n, &bytes) || bytes < s->threshold ||
        !ox_cost_is_parameter(stored->dtype))
        return false;
    const bool can =
        fill && value && !value->is_input && ox_param_takes(&fill->outputs[0], 't', stored->dtype);
    *(can ? &s->told->n : &s->told->n_left) += 1;
    *(can ? &s->told->bytes : &s->told->bytes_left) += bytes;
    return can;
}

static enum ox_status strip_inits(struct strip *s, struct ox_graph *graph)
{
    const size_t n = graph->n_inits;
    bool *remove = calloc(n + 1, sizeof *remove);
    struct ox_value **values = calloc(n + 1, sizeof(*values));
    const struct ox_stored **stored = calloc(n + 1, sizeof(*stored));
    enum ox_status status = remove && values && stored ? OX_OK : no_memory(s);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
        if (value && value->init == graph->inits[i] && goes(s, graph, value, value->init)) {
            remove[i] = true;
            values[i] = value;
            stored[i] = value->init;
        }
    }
    if (status == OX_OK)
        ox_graph_remove_inits(graph, remove);
    for (size_t i = 0; i < n && status == OX_OK; i++)
        if (values[i])
            status = make_by_fill(s, values[i], stored[i]);
    free(remove);
    free(values);
    free(stored);
    return status;
}

static enum ox_status strip_constants(struct strip *s, struct ox_graph *graph)
{
    const size_t n = graph->n_nodes;
    bool *remove = calloc(n + 1, sizeof *remove);
    enum ox_status status = remove ? OX_OK : no_memory(s);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        const struct ox_node *node = graph->nodes[i];
        const struct ox_stored *held = ox_cost_constant(node);
        struct ox_value *value = node->n_outputs ? node->outputs[0] : NULL;
        const bool whole = held && !ox_node_attr(node, "sparse_value");
        if (whole && value && value->producer == node && goes(s, graph, value, held)) {
            remove[i] = true;
            status = make_by_fill(s, value, held);
        }
    }
    bool *all = status == OX_OK ? realloc(remove, (graph->n_nodes + 1) * sizeof *remove) : NULL;
    if (all) {
        memset(all + n, 0, graph->n_nodes + 1 - n);
        ox_graph_remove_nodes(graph, all);
        remove = all;
    } else if (status == OX_OK) {
        status = no_memory(s);
    }
    free(remove);
    return status;
}

enum ox_status ox_strip_weights(struct ox_model *model, uint64_t threshold,
                                struct ox_stripped *told, struct ox_error *err)
{
    struct strip s = {.model = model,
                      .threshold = threshold ? threshold : DEFAULT_THRESHOLD,
                      .told = told,
                      .err = err};
    *told = (struct ox_stripped){0};
    if (model->ir_version < 4)
        ox_model_free_inits(model);
    enum ox_status status = ox_weight_list_new(&s.list, model, err);
    const size_t n_graphs = model->n_graphs;
    for (size_t g = 0; g < n_graphs && status == OX_OK; g++) {
        struct ox_graph *graph = model->graphs[g];
        const uint64_t before = told->n;
        status = strip_constants(&s, graph);
        if (status == OX_OK)
            status = strip_inits(&s, graph);
        if (status == OX_OK && told->n > before)
            status = ox_graph_sort(graph, err);
    }
    ox_weight_list_release(s.list);
    if (status == OX_OK && !ox_model_part_names(model))
        status = no_memory(&s);
    return status;
}
