/* Embeddings: one scale for all rows is as wide as the largest of them needs, and what it rounds away is more than all else that is
 * quantized does. A scale a row is gathered like the row. */
#include "quant/row_table.h"

#include <math.h>
#include <string.h>

#include "graph/match.h"

bool ox_row_table_serves(const struct ox_node *gather, bool narrow_too)
{
    enum { LEAST_COLUMNS = 40 }; /* a scale of float16 is then at most a twentieth of its row */
    const struct ox_value *table = gather->n_inputs == 2 ? gather->inputs[0] : NULL;
    const struct ox_stored *stored = ox_value_stored(table);
    return stored && gather->inputs[1] && gather->n_outputs == 1 && gather->outputs[0] &&
           ox_quant_is_float(stored->dtype) && stored->rank == 2 &&
           (narrow_too || stored->dims[1] >= LEAST_COLUMNS) &&
           ox_quant_int_attr(gather, "axis", 0) == 0;
}

bool ox_row_table_sized(const struct ox_model *model, int64_t rows, int64_t columns)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            const struct ox_stored *stored =
                node->n_inputs == 2 ? ox_value_stored(node->inputs[0]) : NULL;
            if (stored && stored->rank == 2 && stored->dims[0] == rows &&
                stored->dims[1] == columns && ox_is_op(node, "Gather"))
                return true;
        }
    }
    return false;
}

/* Scales are float16 where all are normal numbers of it. */
static enum ox_status params_of(struct ox_qparams *params, struct ox_quant *q,
                                const struct ox_tensor *values, enum ox_dtype real,
                                struct ox_error *err)
{
    const enum ox_dtype type = ox_quant_stored_type(q);
    OX_TRY(ox_qparams_of_tensor(params, &q->arena, values, 0, type, OX_FLOAT16, true, false, false,
                                err));
    for (size_t i = 0; i < params->n; i++) {
        float scale = params->pairs[i].scale;
        if (scale < 0x1p-14f || !isfinite(scale))
            return ox_qparams_of_tensor(params, &q->arena, values, 0, type, real, true, false,
                                        false, err);
    }
    return OX_OK;
}

static enum ox_status make(struct ox_quant *q, const struct ox_node *gather,
                           struct ox_row_table *out, const char **reason, struct ox_error *err)
{
    const struct ox_value *value = gather->inputs[0];
    struct ox_budget *budget = ox_env_budget(q->model->env);
    struct ox_tensor *values, *integers = NULL, *scale = NULL, *zero = NULL, *column = NULL;
    struct ox_qparams params;
    struct ox_error why = {OX_OK, ""};
    enum ox_dtype real;
    OX_TRY(ox_quant_values(q, value, &values, &real, err));
    const int64_t dims[] = {values->dims[0], 1};
    enum ox_status status = params_of(&params, q, values, real, &why);
    if (status != OX_OK) {
        *reason = "its table holds what is no number";
        status = status == OX_INPUT ? OX_OK : ox_no_memory(err);
        goto cleanup;
    }
    OX_TRY_CLEANUP(ox_quantize_tensor(&integers, budget, values, &params, err));
    ox_quant_report_add_constant(q->report, value, "table", values, integers, &params);
    OX_TRY_CLEANUP(ox_qparams_tensors(&params, budget, &scale, &zero, err));
    OX_TRY_CLEANUP(ox_tensor_view(&column, scale, 2, dims, err));
    out->integers = ox_quant_add_init(gather->graph, ox_quant_name(q, value->name, "_quantized"),
                                      ox_tensor_ref(integers));
    out->scales = ox_quant_add_scales(q, gather->graph, value->name, column, real);
    if (!out->integers || !out->scales)
        status = ox_no_memory(err);
cleanup:
    ox_tensor_release(values);
    ox_tensor_release(integers);
    ox_tensor_release(scale);
    ox_tensor_release(zero);
    ox_tensor_release(column);
    return status;
}

/* What was made for another node, or is made now. */
static enum ox_status find(struct ox_quant *q, const struct ox_node *gather,
                           struct ox_row_table **out, const char **reason, struct ox_error *err)
{
    const struct ox_stored *stored = ox_value_stored(gather->inputs[0]);
    struct ox_row_table *table = q->row_tables;
    while (table && (table->stored != stored || table->graph != gather->graph))
        table = table->next;
    *out = table;
    if (table)
        return OX_OK;
    table = ox_arena_array(&q->arena, 1, sizeof *table);
    if (!table)
        return ox_no_memory(err);
    *table = (struct ox_row_table){.stored = stored, .graph = gather->graph, .next = q->row_tables};
    OX_TRY(make(q, gather, table, reason, err));
    if (*reason)
        return OX_OK;
    *out = q->row_tables = table;
    return OX_OK;
}

enum ox_status ox_row_table_gather(struct ox_quant *q, struct ox_node *gather, const char **reason,
                                   struct ox_error *err)
{
    struct ox_graph *graph = gather->graph;
    struct ox_value *out = gather->outputs[0], *ids = gather->inputs[1];
    const enum ox_dtype real = ox_value_stored(gather->inputs[0])->dtype;
    struct ox_row_table *table;
    OX_TRY(find(q, gather, &table, reason, err));
    if (!table)
        return OX_OK;
    struct ox_value *rows = ox_graph_add_value(graph, ox_quant_name(q, out->name, "_quantized"));
    struct ox_value *scale = ox_graph_add_value(graph, ox_quant_name(q, out->name, "_scale"));
    struct ox_value *cast = ox_graph_add_value(graph, ox_quant_name(q, out->name, "_cast"));
    if (!rows || !scale || !cast)
        return ox_no_memory(err);
    struct ox_value *of_rows[] = {table->integers, ids}, *of_scales[] = {table->scales, ids};
    struct ox_value *factors[] = {cast, scale};
    struct ox_node *made = ox_graph_add_node(graph, "Cast", "", "", &rows, 1, &cast, 1);
    if (!made || !ox_node_set_int(made, "to", real) ||
        !ox_graph_add_node(graph, "Gather", "", gather->name, of_rows, 2, &rows, 1) ||
        !ox_graph_add_node(graph, "Gather", "", "", of_scales, 2, &scale, 1) ||
        !ox_graph_add_node(graph, "Mul", "", "", factors, 2, &out, 1))
        return ox_no_memory(err);
    return OX_OK;
}
