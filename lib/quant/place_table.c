/* Constant tables that Gather takes rows of. */
#include "graph/match.h"
#include "quant/place_own.h"
#include "quant/row_table.h"

/* A table as integers with one scale, once for all who gather from it. */
struct ox_placed_table {
    const struct ox_value *table;
    struct ox_value *integers, *scale, *zero;
    struct ox_qparams params;
    struct ox_qrange range;
    struct ox_placed_table *next;
};

/* That of activations, so that what products take of it is not rounded once more. */
static enum ox_dtype table_type(const struct ox_quant *q)
{
    const bool wide =
        ox_quant_stored_type(q) == OX_INT16 || ox_dtype_bits(q->options->activation_type) == 16;
    return wide ? OX_UINT16 : q->options->activation_type == OX_INT8 ? OX_INT8 : OX_UINT8;
}

static enum ox_status quantize(struct ox_place *place, const struct ox_value *table,
                               struct ox_placed_table *out, const char **reason,
                               struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_tensor *values, *integers = NULL;
    enum ox_dtype real;
    struct ox_error why = {OX_OK, ""};
    const enum ox_dtype type = table_type(q);
    OX_TRY(ox_quant_values(q, table, &values, &real, err));
    enum ox_status status = ox_qparams_of_tensor(&out->params, &q->arena, values, -1, type, real,
                                                 false, false, false, &why);
    if (status == OX_INPUT)
        *reason = "its table holds what is no number";
    if (status == OX_OK)
        status =
            ox_quantize_tensor(&integers, ox_env_budget(q->model->env), values, &out->params, err);
    if (status == OX_OK) {
        ox_qparams_extremes(values, -1, &out->range.least, &out->range.most);
        ox_quant_report_add_constant(q->report, table, "table", values, integers, &out->params);
    }
    ox_tensor_release(values);
    if (status != OX_OK)
        return status == OX_INPUT ? OX_OK : status;
    out->integers =
        ox_quant_add_init(place->graph, ox_quant_name(q, table->name, "_quantized"), integers);
    return out->integers ? ox_quant_add_params(q, place->graph, &out->params,
                                               ox_quant_name(q, table->name, "_scale"),
                                               ox_quant_name(q, table->name, "_zero_point"),
                                               &out->scale, &out->zero, err)
                         : ox_no_memory(err);
}

static enum ox_status find(struct ox_place *place, const struct ox_value *table,
                           const struct ox_placed_table **out, const char **reason,
                           struct ox_error *err)
{
    struct ox_placed_table *placed = place->tables;
    while (placed && placed->table != table)
        placed = placed->next;
    *out = placed;
    if (placed)
        return OX_OK;
    placed = ox_arena_array(&place->q->arena, 1, sizeof *placed);
    if (!placed)
        return ox_no_memory(err);
    placed->table = table;
    placed->next = place->tables;
    OX_TRY(quantize(place, table, placed, reason, err));
    if (!*reason)
        *out = place->tables = placed;
    return OX_OK;
}

/* Rows are gathered as integers, and made float after. Products behind take them as they are. */
static enum ox_status gather_integers(struct ox_place *place, const struct ox_node *node,
                                      const struct ox_placed_table *table, struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_value *out = node->outputs[0];
    struct ox_value **inputs =
        ox_arena_copy(&q->arena, node->inputs, node->n_inputs * sizeof *inputs);
    struct ox_value *rows =
        ox_graph_add_value(place->graph, ox_quant_name(q, out->name, "_quantized"));
    if (!inputs || !rows)
        return ox_no_memory(err);
    inputs[0] = table->integers;
    struct ox_value *parts[] = {rows, table->scale, table->zero};
    struct ox_node *gather = ox_graph_add_node(place->graph, node->op_type, "", node->name, inputs,
                                               node->n_inputs, &rows, 1);
    if (!gather || !ox_quant_copy_attrs(gather, node, NULL) ||
        !ox_graph_add_node(place->graph, "DequantizeLinear", "",
                           ox_quant_name(q, out->name, "_DequantizeLinear"), parts, 3, &out, 1))
        return ox_no_memory(err);
    place->gone[node->index] = true;
    if (table->params.type == q->options->activation_type && !out->is_output)
        *ox_place_mark(place, out) = (struct ox_mark){.kind = OX_MARK_ACTIVATION,
                                                      .axis = -1,
                                                      .params = table->params,
                                                      .scale = table->scale,
                                                      .zero = table->zero,
                                                      .done = true,
                                                      .has_range = true,
                                                      .range = table->range};
    return OX_OK;
}

enum ox_status ox_place_table(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    const struct ox_value *table = node->inputs[0], *out = node->outputs[0];
    const struct ox_stored *stored = ox_value_stored(table);
    const struct ox_placed_table *placed;
    if (!stored || !ox_quant_is_float(stored->dtype) || stored->rank < 2 || !out)
        return OX_OK;
    const char *reason = ox_quant_unwanted(place->q, node);
    if (!reason && ox_row_table_serves(node, ox_quant_is_before(place->before.body, out))) {
        OX_TRY(ox_row_table_gather(place->q, node, &reason, err));
        place->gone[node->index] = !reason;
    } else if (!reason) {
        reason = ox_quant_rows_reason(&place->before, place->graph, node);
        if (!reason)
            OX_TRY(find(place, table, &placed, &reason, err));
        if (!reason)
            OX_TRY(gather_integers(place, node, placed, err));
    }
    ox_quant_report_add_node(place->q->report, node, NULL, reason);
    return OX_OK;
}
