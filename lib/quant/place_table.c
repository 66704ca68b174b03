/* Constant tables that Gather takes rows of. */
#include "graph/match.h"
#include "quant/place_own.h"
#include "quant/row_table.h"

/* A table that is gathered from is stored as integers, gathered as such, and made float after. */
enum ox_status ox_place_table(struct ox_place *place, struct ox_node *node, struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_value *table = node->inputs[0], *out = node->outputs[0], *scale, *zero;
    const struct ox_stored *stored = ox_value_stored(table);
    const char *reason = ox_quant_unwanted(q, node);
    if (!stored || !ox_quant_is_float(stored->dtype) || stored->rank < 2 || !out)
        return OX_OK;
    const bool carried = ox_quant_is_before(place->before.body, out);
    if (ox_row_table_serves(node, carried)) {
        if (!reason)
            OX_TRY(ox_row_table_gather(q, node, &reason, err));
        place->gone[node->index] = !reason;
        ox_quant_report_add_node(q->report, node, NULL, reason);
        return OX_OK;
    }
    if (!reason)
        reason = ox_quant_rows_reason(&place->before, place->graph, node);
    struct ox_tensor *values, *integers;
    struct ox_qparams params;
    enum ox_dtype real;
    struct ox_error why = {OX_OK, ""};
    OX_TRY(ox_quant_values(q, table, &values, &real, err));
    const enum ox_dtype type = ox_quant_stored_type(q) == OX_INT16 ? OX_UINT16 : OX_UINT8;
    enum ox_status status =
        ox_qparams_of_tensor(&params, &q->arena, values, -1, type, real, false, false, false, &why);
    if (status == OX_INPUT)
        reason = "its table holds what is no number";
    if (status == OX_OK && !reason)
        status = ox_quantize_tensor(&integers, ox_env_budget(q->model->env), values, &params, err);
    if (status == OX_OK && !reason)
        ox_quant_report_add_constant(q->report, table, "table", values, integers, &params);
    ox_tensor_release(values);
    if (status != OX_OK && status != OX_INPUT)
        return status;
    ox_quant_report_add_node(q->report, node, NULL, reason);
    if (reason)
        return OX_OK;
    struct ox_value **inputs =
        ox_arena_copy(&q->arena, node->inputs, node->n_inputs * sizeof *inputs);
    struct ox_value *rows =
        ox_graph_add_value(place->graph, ox_quant_name(q, out->name, "_quantized"));
    struct ox_value *to =
        ox_quant_add_init(place->graph, ox_quant_name(q, table->name, "_quantized"), integers);
    if (!inputs || !rows || !to)
        return ox_no_memory(err);
    inputs[0] = to;
    OX_TRY(ox_quant_add_params(q, place->graph, &params, ox_quant_name(q, table->name, "_scale"),
                               ox_quant_name(q, table->name, "_zero_point"), &scale, &zero, err));
    struct ox_value *parts[] = {rows, scale, zero};
    struct ox_node *gather = ox_graph_add_node(place->graph, node->op_type, "", node->name, inputs,
                                               node->n_inputs, &rows, 1);
    if (!gather || !ox_quant_copy_attrs(gather, node, NULL) ||
        !ox_graph_add_node(place->graph, "DequantizeLinear", "",
                           ox_quant_name(q, out->name, "_DequantizeLinear"), parts, 3, &out, 1))
        return ox_no_memory(err);
    place->gone[node->index] = true;
    return OX_OK;
}
