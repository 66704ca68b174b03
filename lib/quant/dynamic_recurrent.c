/* Recurrent layers in dynamic quantization. */
#include "quant/dynamic.h"
#include "quant/quant.h"

enum ox_status ox_dynamic_recurrent(struct ox_walk *walk, struct ox_node *node, const char **reason,
                                    struct ox_error *err)
{
    OX_TRY(ox_walk_keep(walk, node, err));
    return ox_quant_shrink_recurrent(walk->q, node, false, reason, err);
}

/* The weights [directions, rows, columns] as 8 bits [directions, columns, rows], which com.microsoft's LSTM wants, scales
 * [directions, rows], or [directions] as onnxruntime has them by default. uint8 around 128, which no processor adds in pairs that saturate, where int8 could. */
static enum ox_status lstm_weight(struct ox_walk *walk, const struct ox_value *value,
                                  struct ox_value *out[3], const char **reason,
                                  struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    struct ox_budget *budget = ox_env_budget(q->model->env);
    struct ox_tensor *in, *flat = NULL, *rows = NULL, *turned = NULL;
    struct ox_tensor *scale = NULL, *zero = NULL, *scales = NULL, *zeros = NULL;
    struct ox_qparams params;
    enum ox_dtype real;
    OX_TRY(ox_quant_values(q, value, &in, &real, err));
    const bool sevens = q->options->reduce_range;
    const enum ox_dtype type = ox_saturation_avoided(q->options) && !sevens ? OX_UINT8 : OX_INT8;
    const int64_t d = in->dims[0], r = in->dims[1], c = in->dims[2];
    bool fine = q->options->per_channel || !q->options->compat_ort;
    const int64_t folded[] = {d * (fine ? r : 1), fine ? c : r * c}, back[] = {d, c, r};
    const int64_t shape[] = {d, r};
    const struct ox_saturation sums = ox_saturation_of_rows((size_t)(d * r), (size_t)c);
    struct ox_error why = {OX_OK, ""};
    enum ox_status status;
    OX_TRY_CLEANUP(ox_tensor_view(&flat, in, 2, folded, err));
    status = ox_qparams_of_tensor(&params, &q->arena, flat, 0, type, real, true, sevens,
                                  q->options->compat_ort, &why);
    if (status == OX_INPUT) {
        *reason = ox_arena_printf(&q->arena, "its weight '%s' %s", value->name, why.message);
        status = *reason ? OX_OK : ox_no_memory(err);
        goto cleanup;
    }
    OX_TRY_CLEANUP(status);
    OX_TRY_CLEANUP(ox_quantize_tensor(&rows, budget, flat, &params, err));
    ox_quant_report_add_constant(q->report, value, "weight", flat, rows, &params);
    ox_quant_report_add_sums(q->report, type == OX_INT8 && ox_saturation_can(&sums, 1, rows->data),
                             1);
    OX_TRY_CLEANUP(ox_tensor_new(&turned, budget, type, 3, back, err));
    for (int64_t i = 0; i < d * r; i++) {
        for (int64_t j = 0; j < c; j++)
            ((uint8_t *)turned->data)[(i / r * c + j) * r + i % r] =
                ((const uint8_t *)rows->data)[i * c + j];
    }
    OX_TRY_CLEANUP(ox_qparams_tensors(&params, budget, &scale, &zero, err));
    OX_TRY_CLEANUP(ox_tensor_view(&scales, scale, fine ? 2 : 1, shape, err));
    OX_TRY_CLEANUP(ox_tensor_view(&zeros, zero, fine ? 2 : 1, shape, err));
    out[0] = ox_quant_add_init(walk->graph, ox_quant_name(q, value->name, "_quantized"),
                               ox_tensor_ref(turned));
    out[1] = ox_quant_add_init(walk->graph, ox_quant_name(q, value->name, "_scale"),
                               ox_tensor_ref(scales));
    out[2] = ox_quant_add_init(walk->graph, ox_quant_name(q, value->name, "_zero_point"),
                               ox_tensor_ref(zeros));
    if (!out[0] || !out[1] || !out[2])
        status = ox_no_memory(err);
cleanup:
    ox_tensor_release(in);
    ox_tensor_release(flat);
    ox_tensor_release(rows);
    ox_tensor_release(turned);
    ox_tensor_release(scale);
    ox_tensor_release(zero);
    ox_tensor_release(scales);
    ox_tensor_release(zeros);
    return status;
}

/* By com.microsoft's DynamicQuantizeLSTM where that is allowed. */
enum ox_status ox_dynamic_lstm(struct ox_walk *walk, struct ox_node *node, const char **reason,
                               struct ox_error *err)
{
    enum { X, W, R, N_PLAIN = 8, N_ALL = 12 };
    static const char *const but_layout[] = {"layout", NULL};
    const struct ox_quant_options *options = walk->q->options;
    bool layout = ox_quant_int_attr(node, "layout", 0) != 0;
    if (!options->compat_ort && (!options->contrib || layout))
        return ox_dynamic_recurrent(walk, node, reason, err);
    struct ox_value *inputs[N_ALL] = {0}, *made[2][3] = {{0}};
    for (size_t i = 0; i < node->n_inputs && i < N_PLAIN; i++)
        inputs[i] = node->inputs[i];
    for (int i = W; i <= R; i++) {
        const struct ox_stored *stored = ox_value_stored(inputs[i]);
        if (!stored || stored->dtype != OX_FLOAT32 || stored->rank != 3) {
            *reason = "its weights are no constants of float32";
            return OX_OK;
        }
        OX_TRY(lstm_weight(walk, inputs[i], made[i - W], reason, err));
        if (*reason)
            return OX_OK;
    }
    for (int i = 0; i < 2; i++) {
        inputs[W + i] = made[i][0];
        inputs[N_PLAIN + 2 * i] = made[i][1];
        inputs[N_PLAIN + 2 * i + 1] = made[i][2];
    }
    OX_TRY(ox_walk_keep(walk, node, err));
    const char *name = *node->name ? ox_quant_name(walk->q, node->name, "_quant") : "";
    struct ox_node *lstm = name ? ox_walk_add(walk, "DynamicQuantizeLSTM", "com.microsoft", name,
                                              inputs, N_ALL, node->outputs, node->n_outputs)
                                : NULL;
    if (!lstm || !ox_quant_copy_attrs(lstm, node, but_layout) ||
        !ox_quant_set_opset(walk->q->model, "com.microsoft", 1))
        return ox_no_memory(err);
    ox_walk_drop(walk, node);
    return OX_OK;
}
