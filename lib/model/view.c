/* What the public header shows of a model. */
#include "model/model.h"

int64_t ox_model_ir_version(const struct ox_model *model)
{
    return model->ir_version;
}

size_t ox_model_n_opsets(const struct ox_model *model)
{
    return model->n_opsets;
}

const char *ox_model_opset(const struct ox_model *model, size_t i, int64_t *version)
{
    *version = model->opsets[i].version;
    return *model->opsets[i].domain ? model->opsets[i].domain : "ai.onnx";
}

void ox_model_size(const struct ox_model *model, struct ox_model_size *size)
{
    size->file_bytes = model->file_bytes;
    size->payload_bytes = model->payload_bytes;
}
