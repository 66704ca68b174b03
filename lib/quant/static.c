#include <string.h>

#include "quant/place.h"

static enum ox_status check_options(const struct ox_model *model,
                                    const struct ox_quant_options *options, struct ox_error *err)
{
    int64_t opset = model->graph ? ox_graph_opset(model->graph, "") : 0;
    enum ox_dtype a = options->activation_type, w = options->weight_type;
    if (!ox_qtype_known(a) || !ox_qtype_known(w) || a == OX_INT4 || a == OX_UINT4)
        return ox_fail(err, OX_USAGE, "activations of %s and weights of %s cannot be quantized to",
                       ox_dtype_name(a), ox_dtype_name(w));
    if (a == OX_INT8 && w == OX_UINT8)
        return ox_fail(err, OX_USAGE,
                       "no runtime has kernels for int8 activations with uint8 "
                       "weights; take int8 weights");
    bool wide = ox_dtype_bits(a) == 16 || ox_dtype_bits(w) != 8;
    if (wide && options->format == OX_QUANT_QOPERATOR)
        return ox_fail(err, OX_USAGE, "4 and 16 bits are for the format qdq");
    int64_t least = wide ? 21 : options->per_channel ? 13 : 10;
    if (opset < least)
        return ox_fail(err, OX_UNSUPPORTED, "this form needs opset %lld, the model is of %lld",
                       (long long)least, (long long)opset);
    return OX_OK;
}

static enum ox_status quantize(struct ox_quant *q, const struct ox_calibration *calibration,
                               struct ox_error *err)
{
    struct ox_place place;
    OX_TRY(check_options(q->model, q->options, err));
    OX_TRY(ox_quant_infer(q, err));
    OX_TRY(ox_place_begin(&place, q, calibration, err));
    ox_place_ranges(&place);
    if (q->options->compat_ort && q->options->format == OX_QUANT_QOPERATOR) {
        OX_TRY(ox_qoperator_like_ort(&place, err));
        return ox_quant_finish(q, err);
    }
    if (q->options->compat_ort)
        OX_TRY(ox_place_like_ort(&place, err));
    else
        OX_TRY(ox_place_own(&place, err));
    OX_TRY(ox_place_weave(&place, err));
    if (q->options->format == OX_QUANT_QOPERATOR)
        OX_TRY(ox_qoperator_standard(q, place.graph, err));
    return ox_quant_finish(q, err);
}

enum ox_status ox_quantize_static(struct ox_model *model, struct ox_calibration *calibration,
                                  const struct ox_quant_options *options,
                                  struct ox_quant_report **report, struct ox_error *err)
{
    struct ox_quant q;
    enum ox_status status = ox_quant_init(&q, model, options, false, err);
    if (status == OX_OK)
        status = quantize(&q, calibration, err);
    if (status == OX_OK && report) {
        *report = q.report;
        q.report = NULL;
    }
    ox_quant_release(&q);
    if (status != OX_OK && model->path)
        ox_fail_context(err, status, "%s", model->path);
    return status;
}
