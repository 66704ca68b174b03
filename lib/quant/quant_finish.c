/* The end of quantizing: what nobody reads any more leaves, what bodies have alike is stored once, and the model says who wrote it. */
#include <string.h>

#include "quant/quant.h"
#include "quant/tied.h"
#include "quant/unfold.h"

static enum ox_status drop_inits(struct ox_quant *q, struct ox_graph *graph, struct ox_error *err)
{
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    bool *remove = ox_arena_array(&q->arena, graph->n_inits + 1, sizeof *remove);
    if (!remove)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_inits; i++) {
        struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
        remove[i] = value && value->init == graph->inits[i] && !value->is_output &&
                    !ox_quant_n_uses(&uses, value) && !uses.captured[value->id];
        if (!remove[i] || !value->is_input)
            continue;
        size_t kept = 0;
        for (size_t j = 0; j < graph->n_inputs; j++) {
            if (graph->inputs[j] != value)
                graph->inputs[kept++] = graph->inputs[j];
        }
        graph->n_inputs = kept;
        value->is_input = false;
    }
    ox_graph_remove_inits(graph, remove);
    return OX_OK;
}

/* What a body captured and no node of it uses any more. */
static enum ox_status drop_captures(struct ox_quant *q, struct ox_graph *body, struct ox_error *err)
{
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, body, &uses, err));
    for (size_t i = 0; i < body->n_values; i++) {
        struct ox_value *value = body->values[i];
        if (!value->outer || value->is_output || uses.captured[i] || ox_quant_n_uses(&uses, value))
            continue;
        value->outer = NULL;
        value->removed = true;
    }
    return OX_OK;
}

enum ox_status ox_quant_drop_inits(struct ox_quant *q, struct ox_error *err)
{
    for (size_t g = q->model->n_graphs; g-- > 0;) { /* inner ones first */
        if (q->model->graphs[g]->function)
            continue;
        if (ox_quant_is_body(q->model->graphs[g]))
            OX_TRY(drop_captures(q, q->model->graphs[g], err));
        OX_TRY(drop_inits(q, q->model->graphs[g], err));
        OX_TRY(ox_quant_drop_unread(q, q->model->graphs[g], "Constant", "", err));
    }
    return OX_OK;
}

/* IR versions that must go with what the quantizers write: initializers that are no inputs; types. */
static int64_t least_ir(const struct ox_model *model)
{
    int64_t opset = ox_graph_opset(model->graph, "");
    return opset >= 21 ? 10 : 4;
}

/* Of trees and such there is nothing to quantize, of a quantized model nothing is left. */
static void note_nothing(struct ox_quant *q)
{
    bool integers = false;
    for (size_t i = 0; i < q->report->n_nodes; i++) {
        if (q->report->nodes[i].quantized)
            return;
    }
    for (size_t g = 0; g < q->model->n_graphs; g++) {
        const struct ox_graph *graph = q->model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const char *op_type = graph->nodes[i]->op_type;
            integers |= strcmp(op_type, "DequantizeLinear") == 0 ||
                        strncmp(op_type, "QLinear", 7) == 0 ||
                        strcmp(op_type, "MatMulInteger") == 0 ||
                        strcmp(op_type, "ConvInteger") == 0 || strcmp(op_type, "MatMulNBits") == 0;
        }
    }
    if (integers)
        ox_quant_report_add_note(q->report, "the model holds quantized operators already, and "
                                            "nothing else that can be");
    else if (!q->report->n_nodes)
        ox_quant_report_add_note(q->report, "nothing to quantize: no products, convolutions or "
                                            "recurrent layers with constant weights");
}

enum ox_status ox_quant_finish(struct ox_quant *q, struct ox_error *err)
{
    struct ox_model *model = q->model;
    OX_TRY(ox_quant_tie(q, err));
    for (size_t g = 0; g < model->n_graphs && !q->options->compat_ort && !q->options->weight_only;
         g++) {
        if (model->graphs[g]->function)
            continue;
        OX_TRY(ox_quant_shrink_scaled(q, model->graphs[g], err));
        OX_TRY(ox_quant_lone_norms(q, model->graphs[g], err));
    }
    if (!q->options->compat_ort)
        OX_TRY(ox_quant_share_bodies(q, err));
    OX_TRY(ox_quant_drop_inits(q, err));
    OX_TRY(ox_quant_unfold(q, err));
    if (!q->options->compat_ort)
        OX_TRY(ox_quant_drop_traces(q->model, err));
    for (size_t g = 0; g < model->n_graphs; g++) {
        OX_TRY(ox_quant_narrow_weights(q, model->graphs[g], err));
        OX_TRY(ox_graph_sort(model->graphs[g], err));
    }
    if (!ox_model_part_names(model))
        return ox_no_memory(err);
    if (model->ir_version < least_ir(model))
        model->ir_version = least_ir(model);
    model->producer_name = q->options->compat_ort ? "onnx.quantize" : "onnxtool";
    model->producer_version = q->options->compat_ort ? "0.1.0" : OX_VERSION;
    if (q->report)
        note_nothing(q);
    return q->report && !q->report->failed ? OX_OK : ox_no_memory(err);
}
