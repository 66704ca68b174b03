/* A function by itself, read by the one reader that there is. */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

enum { MODEL_IR_VERSION = 1, MODEL_FUNCTIONS = 25, LENGTH_DELIMITED = 2, PREFIX_BYTES = 24 };

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

enum ox_status ox_model_open_function(struct ox_model **out, struct ox_env *env, const void *bytes,
                                      size_t n, struct ox_error *err)
{
    uint8_t *message = n <= SIZE_MAX - PREFIX_BYTES ? malloc(n + PREFIX_BYTES) : NULL;
    if (!message)
        return ox_no_memory(err);
    size_t at = put_varint(message, MODEL_IR_VERSION << 3);
    message[at++] = OX_ONNX_IR_VERSION;
    at += put_varint(message + at, MODEL_FUNCTIONS << 3 | LENGTH_DELIMITED);
    at += put_varint(message + at, n);
    memcpy(message + at, bytes, n);
    struct ox_model *model;
    enum ox_status status = ox_model_open_memory(&model, env, message, at + n, NULL, err);
    if (status != OX_OK) {
        free(message);
        return status;
    }
    if (model->n_functions != 1 || model->packed) {
        ox_model_release(model);
        free(message);
        return ox_fail(err, OX_INTERNAL, "a function of the standard cannot be read");
    }
    model->packed = message;
    *out = model;
    return OX_OK;
}
