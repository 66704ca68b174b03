/* Weights of recurrent layers as integers. What runs is float: Cast and Mul make it of the integers, which runtimes fold when they
 * load the model (they do not fold DequantizeLinear, and pack weights only that are constant). */
#include <string.h>

#include "quant/quant.h"

/* [directions, rows, columns] with a scale a row. */
static enum ox_status shrink(struct ox_quant *q, struct ox_node *node, size_t input,
                             struct ox_error *err)
{
    struct ox_value *value = node->inputs[input];
    struct ox_budget *budget = ox_env_budget(q->model->env);
    struct ox_tensor *in, *rows = NULL, *integers = NULL, *shaped = NULL;
    struct ox_tensor *scale = NULL, *zero = NULL, *column = NULL;
    struct ox_qparams params;
    enum ox_dtype real;
    OX_TRY(ox_quant_values(q, value, &in, &real, err));
    const int64_t flat[] = {in->dims[0] * in->dims[1], in->dims[2]};
    const int64_t scales[] = {in->dims[0], in->dims[1], 1};
    enum ox_status status;
    OX_TRY_CLEANUP(ox_tensor_view(&rows, in, 2, flat, err));
    OX_TRY_CLEANUP(ox_qparams_of_tensor(&params, &q->arena, rows, 0, ox_quant_stored_type(q), real,
                                        true, false, false, err));
    OX_TRY_CLEANUP(ox_quantize_tensor(&integers, budget, rows, &params, err));
    ox_quant_report_add_constant(q->report, value, "weight", rows, integers, &params);
    OX_TRY_CLEANUP(ox_tensor_view(&shaped, integers, 3, in->dims, err));
    OX_TRY_CLEANUP(ox_qparams_tensors(&params, budget, &scale, &zero, err));
    OX_TRY_CLEANUP(ox_tensor_view(&column, scale, 3, scales, err));
    struct ox_graph *graph = node->graph;
    const char *name = ox_quant_name(q, value->name, "_quantized");
    const char *scale_name = ox_quant_name(q, value->name, "_scale");
    struct ox_value *stored = ox_quant_add_init(graph, name, ox_tensor_ref(shaped));
    struct ox_value *factor = ox_quant_add_init(graph, scale_name, ox_tensor_ref(column));
    struct ox_value *cast = ox_graph_add_value(graph, ox_quant_name(q, value->name, "_cast"));
    struct ox_value *out = ox_graph_add_value(graph, ox_quant_name(q, value->name, "_float"));
    struct ox_value *factors[] = {cast, factor};
    struct ox_node *made = stored && factor && cast && out
                               ? ox_graph_add_node(graph, "Cast", "", "", &stored, 1, &cast, 1)
                               : NULL;
    if (!made || !ox_node_set_int(made, "to", real) ||
        !ox_graph_add_node(graph, "Mul", "", "", factors, 2, &out, 1))
        status = ox_no_memory(err);
    else
        node->inputs[input] = out;
cleanup:
    ox_tensor_release(in);
    ox_tensor_release(rows);
    ox_tensor_release(integers);
    ox_tensor_release(shaped);
    ox_tensor_release(scale);
    ox_tensor_release(zero);
    ox_tensor_release(column);
    return status;
}

bool ox_quant_is_recurrent(const struct ox_node *node)
{
    return !*node->domain &&
           (strcmp(node->op_type, "LSTM") == 0 || strcmp(node->op_type, "GRU") == 0 ||
            strcmp(node->op_type, "RNN") == 0);
}

enum ox_status ox_quant_shrink_recurrent(struct ox_quant *q, struct ox_node *node,
                                         const char **reason, struct ox_error *err)
{
    for (size_t i = 1; i < 3; i++) {
        const struct ox_stored *stored =
            i < node->n_inputs ? ox_value_stored(node->inputs[i]) : NULL;
        if (!stored || stored->dtype != OX_FLOAT32 || stored->rank != 3) {
            *reason = "its weights are no constants of float32";
            return OX_OK;
        }
    }
    for (size_t i = 1; i < 3; i++)
        OX_TRY(shrink(q, node, i, err));
    return OX_OK;
}
