/* What values were in a run of the whole. */
#include <stdlib.h>
#include <string.h>

#include "graph/reduce/reducer.h"
#include "shape/shapes.h"
#include "tensor/tensor.h"

bool ox_says_size(const struct ox_type *type)
{
    return type && type->kind == OX_TYPE_TENSOR && type->has_rank && type->rank <= 1 &&
           (ox_dtype_is_integer(type->elem) || type->elem == OX_BOOL);
}

/* Values between nodes of what is left, which the model that is run has too. */
static enum ox_status list_names(const struct ox_reduction *r, bool all, const char **names,
                                 size_t *n, struct ox_error *err)
{
    struct ox_model *best = ox_reduction_best(r);
    struct ox_shapes *shapes = NULL;
    if (!all)
        OX_TRY(ox_shapes_infer(&shapes, best, NULL, NULL, err));
    *n = 0;
    for (size_t i = 0; i < best->graph->n_values; i++) {
        const struct ox_value *value = best->graph->values[i];
        const struct ox_value *run =
            *value->name ? ox_graph_value(r->recorded_from->graph, value->name) : NULL;
        if (value->producer && run && run->producer &&
            (all || ox_says_size(ox_shapes_type(shapes, value))))
            names[(*n)++] = run->name;
    }
    ox_shapes_release(shapes);
    return OX_OK;
}

static void keep_values(struct ox_reduction *r, const char **names, struct ox_datum **values,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i])
            r->values[r->n_values++] = (struct ox_recorded){names[i], values[i]};
}

static enum ox_status record(struct ox_reduction *r, bool all, struct ox_error *err)
{
    const size_t most = ox_reduction_best(r)->graph->n_values;
    const char **names = calloc(most + 1, sizeof *names);
    struct ox_datum **values = calloc(most + 1, sizeof(*values));
    struct ox_recorded *list = realloc(r->values, (r->n_values + most + 1) * sizeof *list);
    size_t n = 0;
    enum ox_status status = names && values && list ? OX_OK : ox_no_memory(err);
    if (list)
        r->values = list;
    if (status == OX_OK)
        status = list_names(r, all, names, &n, err);
    if (status == OX_OK && n)
        status = r->options->record(r->options->arg, r->recorded_from, names, n, values, err);
    if (status == OX_OK)
        keep_values(r, names, values, n);
    r->told->n_constants = r->n_values;
    free((void *)names);
    free((void *)values);
    return status;
}

enum ox_status ox_reduction_value(struct ox_reduction *r, const char *name, bool all,
                                  const struct ox_tensor **tensor, struct ox_error *err)
{
    bool *recorded = all ? &r->recorded_all : &r->recorded_sizes;
    *tensor = NULL;
    if (!r->options->record)
        return OX_OK;
    if (!*recorded) {
        *recorded = true;
        OX_TRY(record(r, all, err));
    }
    for (size_t i = 0; i < r->n_values && !*tensor; i++)
        if (strcmp(r->values[i].name, name) == 0)
            *tensor = ox_datum_get_tensor(r->values[i].value);
    return OX_OK;
}
