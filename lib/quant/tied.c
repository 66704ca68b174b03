/* One weight for the tables that Gather takes rows of and the product at the other end, as language models have it: stored once. A scale a row
 * of the one is a scale a column of the other, and its blocks are that one's, so that the product's integers, turned around, are the table's. */
#include "quant/tied.h"

#include <string.h>

#include "quant/row_table.h"

enum ox_status ox_quant_note_blocks(struct ox_quant *q, const struct ox_columns *columns,
                                    struct ox_error *err)
{
    struct ox_columns *own = ox_arena_array(&q->arena, 1, sizeof *own);
    if (!own)
        return ox_no_memory(err);
    *own = *columns;
    own->next = q->columns;
    q->columns = own;
    return OX_OK;
}

enum ox_status ox_quant_note_columns(struct ox_quant *q, const struct ox_value *weight,
                                     struct ox_value *integers, struct ox_value *scale,
                                     const struct ox_qparams *params, struct ox_error *err)
{
    const struct ox_stored *stored = ox_value_stored(weight);
    if (!stored || stored->rank != 2 || params->type != OX_INT8 || params->axis < 0 ||
        params->real != OX_FLOAT32 || params->n != (uint64_t)stored->dims[params->axis])
        return OX_OK;
    const struct ox_columns columns = {
        .stored = stored, .integers = integers, .scale = scale, .axis = params->axis};
    return ox_quant_note_blocks(q, &columns, err);
}

/* Whether the rows of the table are what lies along the other axis of the weight. */
static enum ox_status is_same(struct ox_quant *q, const struct ox_stored *table,
                              const struct ox_columns *columns, bool *same, struct ox_error *err)
{
    const struct ox_stored *stored = columns->stored;
    const int axis = columns->axis;
    struct ox_tensor *rows = NULL, *weight = NULL;
    enum ox_status status = OX_OK;
    *same = table == stored && axis == 0;
    if (*same || table->dims[0] != stored->dims[axis] || table->dims[1] != stored->dims[!axis])
        return OX_OK;
    OX_TRY_CLEANUP(ox_quant_stored_floats(q, table, &rows, err));
    OX_TRY_CLEANUP(ox_quant_stored_floats(q, stored, &weight, err));
    const size_t n = (size_t)table->dims[0], width = (size_t)table->dims[1];
    const float *a = rows->data, *b = weight->data;
    *same = true;
    for (size_t i = 0; i < n && *same; i++) {
        for (size_t j = 0; j < width && *same; j++)
            *same = a[i * width + j] == b[axis ? j * n + i : i * width + j];
    }
cleanup:
    ox_tensor_release(rows);
    ox_tensor_release(weight);
    return status;
}

/* [n] as [n, 1]. */
static struct ox_value *as_column(struct ox_quant *q, struct ox_graph *graph,
                                  struct ox_value *scale, struct ox_error *err)
{
    const int64_t two = 2;
    struct ox_tensor *dims;
    if (ox_tensor_new(&dims, ox_env_budget(q->model->env), OX_INT64, 1, &two, err) != OX_OK)
        return NULL;
    ((int64_t *)dims->data)[0] = -1;
    ((int64_t *)dims->data)[1] = 1;
    struct ox_value *out = ox_graph_add_value(graph, ox_quant_name(q, scale->name, "_column"));
    struct ox_value *inputs[] = {
        scale, ox_quant_add_init(graph, ox_quant_name(q, scale->name, "_shape"), dims)};
    bool made = inputs[1] && out && ox_graph_add_node(graph, "Reshape", "", "", inputs, 2, &out, 1);
    return made ? out : NULL;
}

/* NULL: out of memory. */
static struct ox_value *as_rows(struct ox_quant *q, struct ox_graph *graph, struct ox_value *value)
{
    static const int64_t around[] = {1, 0};
    struct ox_value *rows = ox_graph_add_value(graph, ox_quant_name(q, value->name, "_rows"));
    struct ox_node *node =
        rows ? ox_graph_add_node(graph, "Transpose", "", "", &value, 1, &rows, 1) : NULL;
    return node && ox_node_set_ints(node, "perm", around, 2) ? rows : NULL;
}

static enum ox_status tie(struct ox_quant *q, const struct ox_row_table *table,
                          const struct ox_columns *columns, bool *gone, struct ox_error *err)
{
    struct ox_graph *graph = columns->integers->graph;
    struct ox_value *rows = columns->axis || columns->blocked ? as_rows(q, graph, columns->integers)
                                                              : columns->integers;
    struct ox_value *scales = columns->blocked ? as_rows(q, graph, columns->scale)
                                               : as_column(q, graph, columns->scale, err);
    if (!rows || !scales)
        return ox_no_memory(err);
    if (table->scales->producer) /* a Cast that nothing needs any more */
        gone[table->scales->producer->index] = true;
    ox_quant_read_instead(graph, table->integers, rows);
    ox_quant_read_instead(graph, table->scales, scales);
    return OX_OK;
}

enum ox_status ox_quant_tie(struct ox_quant *q, struct ox_error *err)
{
    for (const struct ox_row_table *table = q->row_tables; table; table = table->next) {
        const struct ox_columns *columns = q->columns;
        bool same = false;
        for (; columns && table->stored->dtype == OX_FLOAT32; columns = columns->next) {
            if (columns->integers->graph == table->integers->graph &&
                columns->blocked == table->blocked)
                OX_TRY(is_same(q, table->stored, columns, &same, err));
            if (same)
                break;
        }
        if (!same)
            continue;
        struct ox_graph *graph = table->integers->graph;
        bool *gone = ox_arena_array(&q->arena, graph->n_nodes + 3, sizeof *gone);
        if (!gone)
            return ox_no_memory(err);
        OX_TRY(tie(q, table, columns, gone, err));
        ox_graph_remove_nodes(graph, gone);
    }
    return OX_OK;
}
