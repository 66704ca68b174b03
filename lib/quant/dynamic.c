#include <string.h>

#include "model/name.h"
#include "quant/dynamic.h"
#include "quant/equalize.h"
#include "quant/estimate.h"
#include "quant/quant.h"
#include "quant/row_table.h"

/* ---- Gather and Transpose ----------------------------------------------------------------------------------------- */

/* The node itself, on integers. */
static enum ox_status move_integers(struct ox_walk *walk, struct ox_node *node,
                                    const struct ox_walked *from, struct ox_error *err)
{
    struct ox_value *out = node->outputs[0];
    struct ox_value *moved = ox_walk_new(walk, out->name, "_quantized");
    struct ox_value **inputs =
        ox_arena_copy(&walk->q->arena, node->inputs, node->n_inputs * sizeof *inputs);
    if (!moved || !inputs)
        return ox_no_memory(err);
    inputs[0] = from->q;
    struct ox_node *made = ox_walk_add(walk, node->op_type, node->domain, node->name, inputs,
                                       node->n_inputs, &moved, 1);
    if (!made || !ox_quant_copy_attrs(made, node, NULL))
        return ox_no_memory(err);
    struct ox_walked *to = ox_walk_value(walk, out);
    *to = (struct ox_walked){.q = moved, .scale = from->scale, .zero = from->zero};
    ox_walk_drop(walk, node);
    return OX_OK;
}

/* The table is 8 bits an element; what is gathered becomes float where float is needed. */
static enum ox_status walk_gather(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                  struct ox_error *err)
{
    struct ox_walked *table;
    const struct ox_stored *stored = ox_value_stored(node->inputs[0]);
    if (!stored || !ox_quant_is_float(stored->dtype)) {
        *reason = "what it gathers from is no constant of float32";
        return OX_OK;
    }
    const bool carried = ox_quant_is_before(walk->before.body, node->outputs[0]);
    if (!walk->q->options->compat_ort && ox_row_table_serves(node, carried)) {
        OX_TRY(ox_walk_keep(walk, node, err));
        OX_TRY(ox_row_table_gather(walk->q, node, reason, err));
        if (!*reason)
            ox_walk_drop(walk, node);
        return OX_OK;
    }
    *reason = ox_quant_rows_reason(&walk->before, walk->graph, node);
    if (*reason)
        return OX_OK;
    const struct ox_weight_wish wish = {.type = OX_UINT8, .axis = -1, .outputs = -1};
    OX_TRY(ox_walk_weight(walk, node->inputs[0], &wish, &table, reason, err));
    if (!table)
        return OX_OK;
    struct ox_walked from = *table;
    return move_integers(walk, node, &from, err);
}

static enum ox_status walk_transpose(struct ox_walk *walk, struct ox_node *node,
                                     const char **reason, struct ox_error *err)
{
    struct ox_walked *known = node->inputs[0] ? ox_walk_value(walk, node->inputs[0]) : NULL;
    if (!known || !known->q || known->params.axis > 0) {
        *reason = "its input is not quantized";
        return OX_OK;
    }
    struct ox_walked from = *known;
    return move_integers(walk, node, &from, err);
}

/* ---- The walk ----------------------------------------------------------------------------------------------------- */

static const struct handler {
    const char *op_type;
    bool own; /* onnxruntime's quantizer leaves it alone */
    enum ox_status (*walk)(struct ox_walk *walk, struct ox_node *node, const char **reason,
                           struct ox_error *err);
} handlers[] = {
    {"MatMul", false, ox_dynamic_matmul}, {"Gemm", false, ox_dynamic_gemm},
    {"Conv", false, ox_dynamic_conv},     {"Gather", false, walk_gather},
    {"Transpose", false, walk_transpose}, {"LSTM", false, ox_dynamic_lstm},
    {"GRU", true, ox_dynamic_recurrent},  {"RNN", true, ox_dynamic_recurrent},
};

static const struct handler *find_handler(const struct ox_node *node)
{
    for (size_t i = 0; i < OX_COUNT(handlers) && !*node->domain; i++) {
        if (strcmp(handlers[i].op_type, node->op_type) == 0)
            return &handlers[i];
    }
    return NULL;
}

static enum ox_status walk_node(struct ox_walk *walk, struct ox_node *node, struct ox_error *err)
{
    const struct handler *handler = find_handler(node);
    if (!handler || (handler->own && walk->q->options->compat_ort))
        return ox_walk_keep(walk, node, err);
    const char *reason = ox_quant_unwanted(walk->q, node);
    if (!reason && handler->walk != walk_gather && handler->walk != walk_transpose)
        reason = ox_quant_before_reason(&walk->before, node);
    if (!reason)
        OX_TRY(handler->walk(walk, node, &reason, err));
    ox_quant_report_add_node(walk->q->report, node, NULL, reason);
    return reason ? ox_walk_keep(walk, node, err) : OX_OK;
}

static enum ox_status walk_graph(struct ox_quant *q, struct ox_graph *graph, struct ox_error *err)
{
    struct ox_walk walk;
    OX_TRY(ox_graph_sort(graph, err));
    OX_TRY(ox_walk_begin(&walk, q, graph, err));
    if (!q->options->compat_ort) {
        const bool *captured = ox_quant_find_captured(q, graph);
        if (!captured)
            return ox_no_memory(err);
        OX_TRY(ox_quant_find_before(q, graph, captured, OX_BEFORE_LOG, &walk.before, err));
    }
    for (size_t i = 0; i < walk.n_nodes && !q->options->compat_ort; i++)
        OX_TRY(ox_cancel_plan(q, graph->nodes[i], &walk.plans[i], err));
    for (size_t i = 0; i < walk.n_nodes; i++)
        OX_TRY(ox_dynamic_note_product(&walk, graph->nodes[i], err));
    for (size_t i = 0; i < walk.n_nodes; i++)
        OX_TRY(walk_node(&walk, graph->nodes[i], err));
    return ox_walk_end(&walk, err);
}

enum ox_status ox_quant_body(struct ox_quant *q, struct ox_graph *body, struct ox_error *err)
{
    enum ox_dtype type = q->options->weight_type;
    if ((type != OX_INT8 && type != OX_UINT8) || ox_graph_opset(q->model->graph, "") < 11)
        return OX_OK;
    return walk_graph(q, body, err);
}

static enum ox_status check_options(const struct ox_model *model,
                                    const struct ox_quant_options *options, struct ox_error *err)
{
    if (options->weight_type != OX_INT8 && options->weight_type != OX_UINT8)
        return ox_fail(err, OX_USAGE, "weights of %s cannot be used with dynamic quantization",
                       ox_dtype_name(options->weight_type));
    int64_t opset = model->graph ? ox_graph_opset(model->graph, "") : 0;
    if (opset && opset < 11)
        return ox_fail(err, OX_UNSUPPORTED,
                       "DynamicQuantizeLinear needs opset 11, the model is of %lld",
                       (long long)opset);
    return OX_OK;
}

/* Without samples nothing can be judged, so channels are evened out only where they are so uneven that one scale cannot serve them. */
static enum ox_status even_out(struct ox_quant *q, struct ox_error *err)
{
    const float least_ratio = 8;
    struct ox_equalized *changed;
    OX_TRY(ox_quant_equalize(q, NULL, least_ratio, &changed, err));
    return changed ? ox_quant_infer(q, err) : OX_OK;
}

enum ox_status ox_quantize_dynamic(struct ox_model *model, const struct ox_quant_options *options,
                                   struct ox_quant_report **report, struct ox_error *err)
{
    struct ox_quant q;
    struct ox_estimate estimate;
    enum ox_status status = ox_quant_init(&q, model, options, false, err);
    if (status == OX_OK)
        status = check_options(model, options, err);
    if (status == OX_OK)
        status = ox_quant_infer(&q, err);
    if (status == OX_OK)
        status = ox_estimate_begin(&estimate, &q, err);
    if (status == OX_OK && !options->compat_ort && options->accuracy != OX_QUANT_PLAIN)
        status = even_out(&q, err);
    if (status == OX_OK)
        status = walk_graph(&q, model->graph, err);
    for (size_t g = 0; g < q.n_graphs && status == OX_OK && !options->compat_ort; g++) {
        if (ox_quant_is_body(model->graphs[g]))
            status = ox_quant_body(&q, model->graphs[g], err);
    }
    if (status == OX_OK)
        status = ox_quant_finish(&q, err);
    if (status == OX_OK) {
        ox_estimate_end(&estimate, &q, true);
        ox_saturation_note(&q);
    }
    if (status == OX_OK && report) {
        *report = q.report;
        q.report = NULL;
    }
    ox_quant_release(&q);
    return status == OX_OK ? status : ox_fail_model(err, status, model);
}
