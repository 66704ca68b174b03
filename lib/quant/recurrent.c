/* Weights of recurrent layers, and those that styles scale, as integers. What runs is float: Cast and Mul make it of the integers, which
 * runtimes fold when they load the model (they do not fold DequantizeLinear, and pack weights only that are constant). */
#include <string.h>

#include "graph/match.h"
#include "quant/quant.h"

enum { SCALED_LEAST = 4096, SCALED_RANK = 8, SCALED_DEPTH = 12 };

/* With a scale for each place of the axes up to `axis`: of [directions, rows, columns] a row. */
static enum ox_status shrink(struct ox_quant *q, struct ox_node *node, size_t input, unsigned axis,
                             enum ox_dtype type, struct ox_error *err)
{
    struct ox_value *value = node->inputs[input];
    struct ox_budget *budget = ox_env_budget(q->model->env);
    struct ox_tensor *in, *rows = NULL, *integers = NULL, *shaped = NULL;
    struct ox_tensor *scale = NULL, *zero = NULL, *column = NULL;
    struct ox_qparams params;
    enum ox_dtype real;
    OX_TRY(ox_quant_values(q, value, &in, &real, err));
    int64_t flat[] = {1, 1}, scales[SCALED_RANK];
    for (unsigned d = 0; d < in->rank; d++) {
        flat[d > axis] *= in->dims[d];
        scales[d] = d > axis ? 1 : in->dims[d];
    }
    enum ox_status status;
    OX_TRY_CLEANUP(ox_tensor_view(&rows, in, 2, flat, err));
    OX_TRY_CLEANUP(
        ox_qparams_of_tensor(&params, &q->arena, rows, 0, type, real, true, false, false, err));
    OX_TRY_CLEANUP(ox_quantize_tensor(&integers, budget, rows, &params, err));
    ox_quant_report_add_constant(q->report, value, "weight", rows, integers, &params);
    OX_TRY_CLEANUP(ox_tensor_view(&shaped, integers, in->rank, in->dims, err));
    OX_TRY_CLEANUP(ox_qparams_tensors(&params, budget, &scale, &zero, err));
    OX_TRY_CLEANUP(ox_tensor_view(&column, scale, in->rank, scales, err));
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

/* What comes from without may be of very unequal units (powers of a spectrum): a step of 8 bits by the largest weight of a row is then
 * much for columns of large inputs. Where there are few of them, wider ones cost little. */
static bool meets_raw(const struct ox_node *node)
{
    static const char *const moves[] = {"Reshape",   "Transpose", "Squeeze",
                                        "Unsqueeze", "Identity",  NULL};
    enum { MANY = 4 };
    const struct ox_value *value = node->inputs[0];
    while (value && value->producer && ox_is_any_op(value->producer, moves))
        value = value->producer->inputs[0];
    const struct ox_stored *w = ox_value_stored(node->inputs[1]);
    const struct ox_stored *r = ox_value_stored(node->inputs[2]);
    return value && !value->producer && !value->outer && value->is_input &&
           MANY * w->dims[2] <= r->dims[2];
}

enum ox_status ox_quant_shrink_recurrent(struct ox_quant *q, struct ox_node *node, bool wide,
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
    const bool raw = meets_raw(node);
    const enum ox_dtype type = wide ? OX_INT16 : ox_quant_stored_type(q);
    if (!raw || !wide)
        OX_TRY(shrink(q, node, 1, 1, raw ? OX_INT16 : type, err));
    return shrink(q, node, 2, 1, type, err);
}

/* ---- Weights that a style computed at run time scales -------------------------------------------------------------- */

/* A large constant of float32 that the Mul alone reads; its first axis of more than one place. -1: it is none. */
static int scaled_axis(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    const struct ox_stored *stored =
        value && !value->outer && value->id < uses->n_values ? value->init : NULL;
    size_t n;
    if (!stored || stored->dtype != OX_FLOAT32 || value->is_input || value->is_output ||
        uses->captured[value->id] || ox_quant_n_uses(uses, value) != 1 ||
        stored->rank > SCALED_RANK || !ox_dims_count(stored->rank, stored->dims, &n) ||
        n < SCALED_LEAST)
        return -1;
    unsigned axis = 0;
    while (stored->dims[axis] == 1)
        axis++;
    return axis + 1 < stored->rank ? (int)axis : -1;
}

/* What the value is made of by factors and moves alone. */
static enum ox_status shrink_behind(struct ox_quant *q, const struct ox_quant_uses *uses,
                                    const struct ox_value *value, unsigned depth,
                                    struct ox_error *err)
{
    static const char *const moves[] = {
        "Reshape", "Transpose", "Unsqueeze", "Squeeze", "QuantizeLinear", "DequantizeLinear", NULL};
    struct ox_node *node = value && !value->outer ? value->producer : NULL;
    if (!node || !depth)
        return OX_OK;
    if (ox_is_any_op(node, moves))
        return shrink_behind(q, uses, node->inputs[0], depth - 1, err);
    for (size_t i = 0; ox_is_op(node, "Mul") && i < 2; i++) {
        const int axis = scaled_axis(uses, node->inputs[i]);
        if (axis < 0)
            OX_TRY(shrink_behind(q, uses, node->inputs[i], depth - 1, err));
        else if (!ox_value_stored(node->inputs[1 - i]))
            OX_TRY(shrink(q, node, i, (unsigned)axis, ox_quant_stored_type(q), err));
    }
    return OX_OK;
}

enum ox_status ox_quant_shrink_scaled(struct ox_quant *q, struct ox_graph *graph,
                                      struct ox_error *err)
{
    static const char *const convolutions[] = {"Conv", "ConvTranspose", NULL};
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    for (size_t i = 0, n = graph->n_nodes; i < n; i++) {
        const struct ox_node *node = graph->nodes[i];
        if (ox_is_any_op(node, convolutions) && node->n_inputs > 1 && !ox_quant_unwanted(q, node))
            OX_TRY(shrink_behind(q, &uses, node->inputs[1], SCALED_DEPTH, err));
    }
    return OX_OK;
}
